//! A question to a person, as the inbox shows it.

use convoke_model::{Ask, AskOption, AskedCall, RunId, TaskId, Timestamp, Verdict, asked_text};
use convoke_view::{END, Graph, Question as ViewedQuestion, Way};
use serde::Serialize;
use std::collections::HashMap;
use utoipa::ToSchema;

/// All questions of all runs.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct InboxBody {
    /// Oldest first.
    pub questions: Vec<Question>,
    /// Alike ones.
    pub groups: Vec<QuestionGroup>,
    /// Whether more runs have not ended than are looked into: questions may be missing.
    pub cut: bool,
}

/// Questions that ask the same.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct QuestionGroup {
    /// Their `group_key`.
    pub key: String,
    /// How many there are.
    pub count: usize,
    /// Each as `RUN/TASK~NUMBER`.
    pub ids: Vec<String>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Question {
    /// The run.
    pub run: String,
    /// Its workflow.
    pub workflow: String,
    /// The task that asks.
    pub task: String,
    /// `TASK~NUMBER`, never given to another question of the run.
    pub id: String,
    /// The hash of what is shown. An answer must carry it.
    pub shown: String,
    /// `choice`, `questions`, `plan`, `unknown` or `approval`.
    pub kind: String,
    /// A short name of the question.
    pub title: String,
    /// What is asked.
    pub text: String,
    /// Fields of a form.
    pub fields: Vec<QuestionField>,
    /// What may be chosen.
    pub options: Vec<QuestionOption>,
    /// The option that is taken when the time is over.
    pub default: Option<String>,
    /// When it was asked.
    #[schema(value_type = u64)]
    pub opened: Timestamp,
    /// When the time to answer is over.
    #[schema(value_type = Option<u64>)]
    pub until: Option<Timestamp>,
    /// What its agent did last; of a gate, what ended just before it.
    pub last_steps: Vec<String>,
    /// Whether an agent asks on its way, and not a step that is there to ask.
    pub by_agent: bool,
    /// The same for questions that can be answered together.
    pub group_key: String,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct QuestionField {
    pub id: String,
    pub text: String,
    pub hint: Option<String>,
    pub choices: Vec<String>,
    /// Whether other text than the choices may be given.
    pub free_text: bool,
    pub default: Option<String>,
    pub required: bool,
    pub multiline: bool,
}

/// An option of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct QuestionOption {
    pub value: String,
    pub label: String,
    /// What follows, in a few words, where that is known.
    pub then: Option<String>,
    /// A text to ask for when it is chosen: the name under which `inputs` has it.
    pub prompt_for: Option<String>,
    pub multiline: bool,
}

impl Question {
    /// Of a gate that is open.
    pub fn of(
        run: &RunId,
        workflow: &str,
        asked: &ViewedQuestion,
        ask: &Ask,
        last_steps: Vec<String>,
        graph: &Graph,
    ) -> Question {
        let follows = Consequences::of(graph, &asked.id.task, ask);
        let shown = asked.shown.unwrap_or_else(|| ask.shown());
        let text = text(ask);
        Question {
            run: run.0.to_string(),
            workflow: workflow.to_owned(),
            task: asked.id.task.to_string(),
            id: asked.id.to_string(),
            shown: shown.to_string(),
            kind: convoke_view::kind(ask).to_owned(),
            title: convoke_view::words::task(&asked.id.task),
            text,
            fields: fields(ask),
            options: options(ask, &follows),
            default: match ask {
                Ask::Choice { default, .. } => default.clone(),
                _ => None,
            },
            opened: asked.at,
            until: asked.until,
            last_steps,
            by_agent: follows.by_agent,
            group_key: format!("{workflow}/{}", convoke_view::alike_key(&asked.id.task, ask)),
        }
    }

    /// What names it among all questions of all runs.
    pub fn key(&self) -> (&str, &str) {
        (&self.run, &self.id)
    }
}

fn text(ask: &Ask) -> String {
    match ask {
        Ask::Choice { prompt, .. } | Ask::Unknown { prompt } => prompt.clone(),
        Ask::Questions { prompt, .. } => prompt.clone().unwrap_or_default(),
        Ask::Plan { prompt, plan } => format!("{prompt}\n\n{plan}"),
        Ask::Approval { prompt, calls, .. } => asked_text(prompt, calls),
    }
}

fn fields(ask: &Ask) -> Vec<QuestionField> {
    let questions = match ask {
        Ask::Questions { questions, .. } => questions,
        // Of several calls each may be decided by itself.
        Ask::Approval { calls, .. } if calls.len() > 1 => return calls.iter().map(decision).collect(),
        _ => return Vec::new(),
    };
    let field = |question: &convoke_model::Question| QuestionField {
        id: question.id.clone(),
        text: question.text.clone(),
        hint: question.hint.clone(),
        choices: question.choices.clone(),
        free_text: question.allow_free_text,
        default: question.default.clone(),
        required: question.required,
        multiline: question.multiline,
    };
    questions.iter().map(field).collect()
}

/// The field by which one of several calls is decided.
fn decision(call: &AskedCall) -> QuestionField {
    QuestionField {
        id: call.id.clone(),
        text: format!("{}: {} {}", call.id, call.tool, call.arguments),
        hint: None,
        choices: Verdict::WORDS.map(str::to_owned).to_vec(),
        free_text: false,
        default: None,
        required: true,
        multiline: false,
    }
}

/// What answers to one question lead to, as far as the plan says it.
#[derive(Debug, Default)]
pub(crate) struct Consequences {
    by_agent: bool,
    /// By the label of an option.
    ways: HashMap<String, String>,
}

impl Consequences {
    fn of(graph: &Graph, task: &TaskId, ask: &Ask) -> Consequences {
        let node = convoke_view::node_of(task);
        let known = graph.nodes.iter().find(|known| known.id == graph.nearest(task));
        let asks = known.is_some_and(|known| known.kind == "agent" || known.id != node);
        let by_agent = asks && matches!(ask, Ask::Choice { .. });
        let title = |id: &str| {
            let to = graph.nodes.iter().find(|known| known.id == id);
            to.map_or_else(|| id.to_owned(), |to| to.title.clone())
        };
        let ways = graph.edges.iter().filter(|edge| edge.from == node);
        let ways = ways.filter_map(|edge| {
            let words = match (edge.to.as_str(), edge.way) {
                (END, _) => "the run goes to its end".to_owned(),
                (to, Way::Back) => format!("back to {}", title(to)),
                (to, _) => format!("{} comes next", title(to)),
            };
            Some((edge.label.clone()?, words))
        });
        Consequences { by_agent, ways: ways.collect() }
    }

    fn then(&self, option: &AskOption) -> Option<String> {
        let after = self.ways.get(&option.label).cloned();
        after.or_else(|| self.by_agent.then(|| "the agent is told and goes on".to_owned()))
    }
}

fn options(ask: &Ask, follows: &Consequences) -> Vec<QuestionOption> {
    let stated = |value: &str, label: &str, then: &str| QuestionOption {
        value: value.to_owned(),
        label: label.to_owned(),
        then: Some(then.to_owned()),
        prompt_for: None,
        multiline: false,
    };
    match ask {
        Ask::Choice { options, .. } => options.iter().map(|one| option(one, follows)).collect(),
        Ask::Questions { .. } => Vec::new(),
        Ask::Plan { .. } => vec![
            stated("approve", "Carry it out", "its tasks begin"),
            stated("fail", "Do not", "the goal fails"),
        ],
        Ask::Unknown { .. } => vec![
            stated("retry", "Try it again", "it is done again, maybe twice"),
            stated("fail", "Take it as failed", "the step fails, and its routes decide"),
        ],
        Ask::Approval { .. } => {
            let because = stated(
                "deny-because",
                "Do not make it, and tell the agent why",
                "the agent is told and goes on",
            );
            vec![
                stated("approve", "Make it, once", "the call is made, and the agent goes on"),
                stated(
                    "remember",
                    "Make it, and this very call again in this run without asking",
                    "the call is made, and the agent goes on",
                ),
                stated("deny", "Do not make it", "the agent is told and goes on"),
                QuestionOption { prompt_for: Some("words".to_owned()), multiline: true, ..because },
            ]
        }
    }
}

fn option(option: &AskOption, follows: &Consequences) -> QuestionOption {
    QuestionOption {
        value: option.value.clone(),
        label: option.label.clone(),
        then: follows.then(option),
        prompt_for: option.prompt_for.clone(),
        multiline: option.multiline,
    }
}

/// Alike ones of these, two or more of each kind.
pub(crate) fn grouped<'a>(questions: impl Iterator<Item = &'a Question>) -> Vec<QuestionGroup> {
    let mut groups: indexmap::IndexMap<&str, Vec<String>> = indexmap::IndexMap::new();
    for question in questions {
        groups.entry(&question.group_key).or_default().push(format!("{}/{}", question.run, question.id));
    }
    let many = groups.into_iter().filter(|(_, ids)| ids.len() > 1);
    many.map(|(key, ids)| QuestionGroup { key: key.to_owned(), count: ids.len(), ids }).collect()
}
