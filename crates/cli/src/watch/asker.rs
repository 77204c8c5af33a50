//! Answers for gates: from the person at the terminal, or the first option where gates are to be skipped.

use super::EventFeed;
use crate::gate::{self, AskOutcome, Keyboard, Submission, Terminal};
use crate::given_plan;
use crate::stored;
use convoke_engine::Handle;
use convoke_journal::{Reader, StateDir};
use convoke_model::{Answer, AnswerOrigin, Ask, Digest, JsonText, Payload, RunId, TaskId};
use convoke_plan::Plan;
use convoke_view::Question;
use indexmap::IndexMap;
use std::sync::Arc;

/// What answers gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// The person at the terminal.
    Terminal,
    /// No person: the first option, and no answer to questions that have none.
    FirstOption,
}

/// Receives the outcome of a question to a person.
pub trait Hearer: Send {
    /// An answer was handed in.
    fn answered(&self);
    /// No person is asked here any more; what becomes of the question, in words.
    fn leave(&self) -> &'static str;
}

/// The person at the terminal of the run's own process.
impl Hearer for Handle {
    fn answered(&self) {
        self.mailed();
    }

    fn leave(&self) -> &'static str {
        self.unattended();
        "the run parks when nothing else is left to do"
    }
}

/// Answers the gates of one run.
pub struct Asker {
    /// What answers.
    pub manner: Manner,
    /// The receiver of the answers.
    pub hearer: Box<dyn Hearer>,
    /// Ring the bell when a person is asked.
    pub bell: bool,
    /// Where the run is kept.
    pub state: StateDir,
    /// The run.
    pub run: RunId,
    /// What it goes by.
    pub plan: Arc<Plan>,
    /// Recorded with the answer.
    pub by: String,
    /// By which way an answer comes from here.
    pub origin: AnswerOrigin,
}

impl Asker {
    /// Sees to one gate: an answer is handed in. Where there is none the gate stays open, and the run parks when nothing
    /// else is left to do.
    pub fn see_to(&self, feed: &mut EventFeed, question: &Question) {
        let task = &question.id.task;
        let again = !feed.asked(task);
        let ask = self.ask(&question.ask);
        let asked = match (&ask, self.manner) {
            (Some(ask), Manner::Terminal) => self.ask_at_terminal(feed, task, ask),
            // What was refused once would be refused again.
            (Some(ask), Manner::FirstOption) if !again => {
                first_option(feed, task, ask).map_or(AskOutcome::Closed, AskOutcome::Answered)
            }
            _ => AskOutcome::Closed,
        };
        match asked {
            AskOutcome::Answered(answer) => self.submit(feed, question, ask.map(|ask| ask.shown()), answer),
            AskOutcome::Closed => self.leave(feed, task),
            AskOutcome::Moot => {}
        }
    }

    /// Hands an answer in, bound to what was shown.
    fn submit(&self, feed: &mut EventFeed, question: &Question, shown: Option<Digest>, answer: Answer) {
        let (state, run, by, task) = (&self.state, &self.run, self.by.as_str(), &question.id.task);
        let from = stored::source(self.origin);
        match (Submission { state, run, question, shown, by, from }).send(answer) {
            Ok(Ok(())) => self.hearer.answered(),
            Ok(Err(refused)) => feed.lines.push(refused.words(run, &question.id.to_string())),
            Err(error) => {
                feed.lines.push(format!("the answer to `{task}` could not be kept: {error}"));
                self.leave(feed, task);
            }
        }
    }

    /// Says that no person answers here any more.
    fn leave(&self, feed: &mut EventFeed, task: &TaskId) {
        let why = match self.manner {
            Manner::Terminal => "the input was closed (Ctrl-D)",
            Manner::FirstOption => "--skip-gates does not answer this",
        };
        feed.ask_nobody();
        feed.lines.push(format!("{why}: `{task}` stays unanswered; {}", self.hearer.leave()));
    }

    fn ask(&self, ask: &Payload) -> Option<Ask> {
        let text: JsonText = match ask {
            Payload::Inline(text) => text.clone(),
            Payload::Blob { digest, .. } => {
                Reader::open(&self.state, &self.run).ok()?.blob(digest).ok()??
            }
            Payload::Gathered => return None,
        };
        serde_json::from_str(text.as_str()).ok()
    }

    /// What is typed and changed is judged before it is handed over.
    fn ask_at_terminal(&self, feed: &mut EventFeed, task: &TaskId, ask: &Ask) -> AskOutcome {
        let judge = |text: &str| given_plan::complaints(given_plan::goal_of(&self.plan, task)?, text);
        let mut keyboard = Keyboard::new(|| {
            feed.take_what_is_there();
            !feed.is_open(task)
        });
        if self.bell {
            gate::ring();
        }
        let asked = gate::ask(&mut keyboard, task, ask, &judge);
        if !matches!(asked, AskOutcome::Answered(_)) {
            // What follows must not stand behind the prompt.
            keyboard.show("\n");
        }
        asked
    }
}

/// What `--skip-gates` answers. It is no word on what programs may do (a coding agent asks for permission), nor on whether
/// something that may have happened is done again or more money is spent.
fn first_option(feed: &EventFeed, task: &TaskId, ask: &Ask) -> Option<Answer> {
    match ask {
        Ask::Choice { .. } if feed.state.kind(task) == Some("agent") => None,
        Ask::Choice { options, .. } => {
            let value = options.first().map(|option| option.value.clone()).unwrap_or_default();
            Some(Answer::Choice { value, input: IndexMap::new() })
        }
        Ask::Questions { .. } => {
            Some(Answer::Questions { answers: IndexMap::new(), aborted: false, skipped_rest: false })
        }
        Ask::Plan { plan, .. } => Some(Answer::Plan { plan: plan.clone() }),
        Ask::Unknown { .. } | Ask::Approval { .. } => None,
    }
}
