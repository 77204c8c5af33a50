//! Answers for gates: from the person at the terminal, or the first option where gates are to be skipped.

use super::Inflow;
use crate::gate::{self, Asked, Keyboard, Terminal};
use crate::given_plan;
use convoke_engine::Handle;
use convoke_journal::{Reader, StateDir};
use convoke_model::{Answer, Ask, JsonText, Payload, RunId, TaskId};
use convoke_plan::Plan;
use indexmap::IndexMap;
use std::sync::Arc;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// The person at the terminal.
    Terminal,
    /// Nobody: the first option, and no answer to questions.
    FirstOption,
}

/// Takes what people say to a run.
pub trait Hearer: Send {
    /// Takes the answer to a gate; in words why not, where it cannot be passed on.
    fn answer(&self, task: &TaskId, answer: Answer, by: &str) -> Result<(), String>;
    /// The person wants to be asked nothing more.
    fn leave(&self, by: &str);
}

/// The person at the terminal of the run's own process.
impl Hearer for Handle {
    fn answer(&self, task: &TaskId, answer: Answer, by: &str) -> Result<(), String> {
        Handle::answer(self, task.clone(), answer, by);
        Ok(())
    }

    fn leave(&self, by: &str) {
        self.interrupt(false, by);
    }
}

/// Answers the gates of one run.
pub struct Asker {
    /// Who answers.
    pub manner: Manner,
    /// Who hears the answers.
    pub hearer: Box<dyn Hearer>,
    /// Ring the bell when somebody is asked.
    pub bell: bool,
    /// Where the run is kept.
    pub state: StateDir,
    /// The run.
    pub run: RunId,
    /// What it goes by.
    pub plan: Arc<Plan>,
    /// Recorded with the answer.
    pub by: String,
}

impl Asker {
    /// Sees to one gate: an answer is handed over, a closed terminal lets go of the run.
    pub fn see_to(&self, inflow: &mut Inflow, task: &TaskId, ask: &Payload) {
        let again = !inflow.asked(task);
        let asked = match (self.question(ask), self.manner) {
            (Some(ask), Manner::Terminal) => self.ask_at_terminal(inflow, task, &ask),
            // What was refused once would be refused again.
            (Some(ask), Manner::FirstOption) if !again && !is_wish(inflow, task, &ask) => {
                Asked::Answered(first_option(&ask))
            }
            _ => Asked::Closed,
        };
        match asked {
            Asked::Answered(answer) => {
                if let Err(why) = self.hearer.answer(task, answer, &self.by) {
                    inflow.lines.push(why);
                }
            }
            Asked::Closed => self.hearer.leave(&self.by),
            Asked::Moot => {}
        }
    }

    fn question(&self, ask: &Payload) -> Option<Ask> {
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
    fn ask_at_terminal(&self, inflow: &mut Inflow, task: &TaskId, ask: &Ask) -> Asked {
        let judge = |text: &str| given_plan::complaints(given_plan::goal_of(&self.plan, task)?, text);
        let mut keyboard = Keyboard::new(|| {
            inflow.take_what_is_there();
            !inflow.is_open(task)
        });
        if self.bell {
            gate::ring();
        }
        let asked = gate::ask(&mut keyboard, task, ask, &judge);
        if !matches!(asked, Asked::Answered(_)) {
            // What follows must not stand behind the prompt.
            keyboard.show("\n");
        }
        asked
    }
}

/// Whether a coding agent asks for permission. Skipping gates is no word on what programs may do.
fn is_wish(inflow: &Inflow, task: &TaskId, ask: &Ask) -> bool {
    matches!(ask, Ask::Choice { .. }) && inflow.state.kind(task) == Some("agent")
}

/// What `--skip-gates` answers.
fn first_option(ask: &Ask) -> Answer {
    match ask {
        Ask::Choice { options, .. } => {
            let value = options.first().map(|option| option.value.clone()).unwrap_or_default();
            Answer::Choice { value, input: IndexMap::new() }
        }
        Ask::Questions { .. } => {
            Answer::Questions { answers: IndexMap::new(), aborted: false, skipped_rest: false }
        }
        Ask::Plan { plan, .. } => Answer::Plan { plan: plan.clone() },
        Ask::Unknown { .. } => Answer::Retry,
    }
}
