//! What an owner and a thief say to each other.
//!
//! ```text
//! thief: Hello ─► owner: Task (or Gone) ─► thief: Ready (or Refused) ─► owner: Go ─► everything on the line ─► thief: End
//! ```
//!
//! Questions on the line carry a number that their answers repeat.

use super::needs::Needs;
use crate::driving::Gear;
use convoke_agent::{CallDemand, Limits, Report, TurnRecord};
use convoke_model::{Assignment, AttemptEnd, Digest, Failure, JsonText, Usage};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Mutex;

/// An attempt and what it is performed with.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    /// What to do.
    pub assignment: Assignment,
    /// The providers and servers of the run.
    pub gear: Gear,
    /// What the thief must have.
    pub needs: Needs,
}

/// What a thief says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromThief {
    /// It has claimed an offer.
    Hello { offer: u64, fence: u64, pid: u32 },
    /// It has what the task needs, and begins when it is told to.
    Ready,
    /// It has not.
    Refused { why: String },
    /// The attempt has something to say.
    Said(Saying),
    /// The attempt asks for a call.
    Admit { number: u64, demand: CallDemand },
    /// A call has ended.
    Settled { number: u64, usage: Usage, failure: Option<Failure> },
    /// Nobody knows how a call ended.
    Dropped { number: u64 },
    /// A record of the turn log.
    Record { number: u64, record: TurnRecord },
    /// The tools that the attempt may use, by their names.
    SettleTools { number: u64, allowed: Vec<String> },
    /// A large value is wanted back.
    Recall { number: u64, digest: Digest },
    /// The attempt has ended.
    End(Box<AttemptEnd>),
}

/// What an owner says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromOwner {
    /// The task: a [`Task`] as text, of which the offer has the digest.
    Task(JsonText),
    /// There is no such task any more.
    Gone,
    /// Begin.
    Go,
    /// Stop.
    Cancel,
    /// A call may be made, or not.
    Admitted { number: u64, answer: Result<Permission, Failure> },
    /// A record, or what was settled, is on disk, or not.
    Recorded { number: u64, answer: Result<(), Failure> },
    /// The large value.
    Recalled { number: u64, text: Option<JsonText> },
    /// The end has arrived.
    Done,
}

/// The answer to a call's demand.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// It may be made.
    Go,
    /// One to this model may be.
    Instead(String),
}

/// A [`Report`], as it travels.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Saying {
    /// A piece of an answer.
    Progress { text: String },
    /// One call has used this much.
    Usage(Usage),
    /// What a service allows.
    LimitsSeen(Limits),
    /// Whoever performs it has it performed elsewhere; nobody does.
    TakenBy { pid: u32 },
    /// A command runs.
    ProcessStarted { pid: u32, start: u64 },
    /// A tool is about to be called.
    ToolStarted { tool: String },
    /// A tool was called.
    ToolCalled { tool: String, ms: u64, failed: bool },
    /// Something for people.
    Noted { code: String, message: String },
}

impl From<Report> for Saying {
    fn from(report: Report) -> Saying {
        match report {
            Report::Progress { text } => Saying::Progress { text },
            Report::Usage(usage) => Saying::Usage(usage),
            Report::LimitsSeen(limits) => Saying::LimitsSeen(limits),
            Report::TakenBy { pid } => Saying::TakenBy { pid },
            // An owner's own words.
            Report::Silent | Report::LetGo => Saying::Progress { text: String::new() },
            Report::ProcessStarted { pid, start } => Saying::ProcessStarted { pid, start },
            Report::ToolStarted { tool } => Saying::ToolStarted { tool },
            Report::ToolCalled { tool, ms, failed } => Saying::ToolCalled { tool, ms, failed },
            Report::Noted { code, message } => Saying::Noted { code: code.to_owned(), message },
        }
    }
}

impl From<Saying> for Report {
    fn from(saying: Saying) -> Report {
        match saying {
            Saying::Progress { text } => Report::Progress { text },
            Saying::Usage(usage) => Report::Usage(usage),
            Saying::LimitsSeen(limits) => Report::LimitsSeen(limits),
            Saying::TakenBy { pid } => Report::TakenBy { pid },
            Saying::ProcessStarted { pid, start } => Report::ProcessStarted { pid, start },
            Saying::ToolStarted { tool } => Report::ToolStarted { tool },
            Saying::ToolCalled { tool, ms, failed } => Report::ToolCalled { tool, ms, failed },
            Saying::Noted { code, message } => Report::Noted { code: word(code), message },
        }
    }
}

/// The codes of our own program are a few; another program's are not kept beyond this.
const MOST_WORDS: usize = 256;

/// Codes are words of the program, which live as long as it does; so do those of the other process, each once.
fn word(code: String) -> &'static str {
    static WORDS: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut words = WORDS.lock().expect("nobody panics while holding it");
    let words = words.get_or_insert_default();
    match words.get(code.as_str()) {
        Some(known) => known,
        None if words.len() >= MOST_WORDS => "noted",
        None => {
            let new: &'static str = code.leak();
            words.insert(new);
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reports_arrive_as_they_were_said() {
        let reports = [
            Report::Progress { text: "a\nb".into() },
            Report::Usage(Usage { input_tokens: 3, ..Usage::default() }),
            Report::LimitsSeen(Limits { provider: "openai".into(), ..Limits::default() }),
            Report::ProcessStarted { pid: 7, start: 8 },
            Report::ToolStarted { tool: "t".into() },
            Report::ToolCalled { tool: "t".into(), ms: 1, failed: true },
            Report::Noted { code: "model_fallback", message: "m".into() },
        ];
        for report in reports {
            let text = serde_json::to_string(&FromThief::Said(report.clone().into())).unwrap();
            let FromThief::Said(said) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
            assert_eq!(Report::from(said), report);
        }
    }

    #[test]
    fn ends_and_refusals_survive_the_way() {
        let output = JsonText::of(&json!({"n": 1.5}));
        let end = AttemptEnd::Finished { output: output.clone(), usage: Usage::default() };
        let text = serde_json::to_string(&FromThief::End(Box::new(end))).unwrap();
        let FromThief::End(end) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        assert!(matches!(*end, AttemptEnd::Finished { output: arrived, .. } if arrived == output));
        let failure = Failure::new(convoke_model::Class::Budget, "spent").reason("r").hint("h");
        let answer = FromOwner::Admitted { number: 1, answer: Err(failure.clone()) };
        let text = serde_json::to_string(&answer).unwrap();
        let FromOwner::Admitted { answer: Err(arrived), .. } = serde_json::from_str(&text).unwrap() else {
            panic!("{text}")
        };
        assert_eq!(arrived, failure);
    }
}
