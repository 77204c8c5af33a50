//! A question to a person, as the inbox shows it.

use convoke_model::{Ask, AskOption, AskedCall, RunId, Timestamp, Verdict, asked_text};
use convoke_view::Question as Asked;
use serde::Serialize;
use utoipa::ToSchema;

/// All questions of all runs.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct InboxBody {
    /// Oldest first.
    pub questions: Vec<Question>,
    /// Alike ones.
    pub groups: Vec<QuestionGroup>,
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
pub(crate) struct Question {
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
    /// What its agent did last.
    pub last_steps: Vec<String>,
    /// The same for questions that can be answered together.
    pub group_key: String,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct QuestionField {
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
pub(crate) struct QuestionOption {
    pub value: String,
    pub label: String,
    /// A text to ask for when it is chosen: the name under which `inputs` has it.
    pub prompt_for: Option<String>,
    pub multiline: bool,
}

impl Question {
    /// Of a gate that is open.
    pub fn of(run: &RunId, workflow: &str, asked: &Asked, ask: &Ask, last_steps: Vec<String>) -> Question {
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
            options: options(ask),
            default: match ask {
                Ask::Choice { default, .. } => default.clone(),
                _ => None,
            },
            opened: asked.at,
            until: asked.until,
            last_steps,
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

fn options(ask: &Ask) -> Vec<QuestionOption> {
    let stated = |value: &str, label: &str| QuestionOption {
        value: value.to_owned(),
        label: label.to_owned(),
        prompt_for: None,
        multiline: false,
    };
    match ask {
        Ask::Choice { options, .. } => options.iter().map(option).collect(),
        Ask::Questions { .. } => Vec::new(),
        Ask::Plan { .. } => vec![stated("approve", "Carry it out"), stated("fail", "Do not")],
        Ask::Unknown { .. } => vec![stated("retry", "Try it again"), stated("fail", "Take it as failed")],
        Ask::Approval { .. } => {
            let because = stated("deny-because", "Do not make it, and tell the agent why");
            vec![
                stated("approve", "Make it, once"),
                stated("remember", "Make it, and this very call again in this run without asking"),
                stated("deny", "Do not make it"),
                QuestionOption { prompt_for: Some("words".to_owned()), multiline: true, ..because },
            ]
        }
    }
}

fn option(option: &AskOption) -> QuestionOption {
    QuestionOption {
        value: option.value.clone(),
        label: option.label.clone(),
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
