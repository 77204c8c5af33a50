//! The messages between an owner and a claimant.
//!
//! ```text
//! claimant: Hello ─► owner: Task (or Gone) ─► claimant: Ready (or Refused) ─► owner: Go ─► the link ─► claimant: End ─► owner: Done
//! ```
//!
//! Questions on the link carry a number that their answers repeat.

use crate::Requirements;
use convoke_agent::{CallDemand, Limits, Report, TurnRecord};
use convoke_model::{Assignment, AttemptEnd, Digest, EffectCommit, Failure, JsonText, ModelCall, Usage};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Mutex;

/// An attempt and what it is performed with.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    /// What to do.
    pub assignment: Assignment,
    /// The settings of the run's providers and servers, for [`Performers`](crate::Performers).
    pub settings: JsonText,
    /// What the claimant must have.
    pub requirements: Requirements,
}

/// What a claimant sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromClaimant {
    /// The process has claimed an offer.
    Hello { offer: u64, fence: u64, pid: u32 },
    /// It meets the requirements, and begins on `Go`.
    Ready,
    /// It does not.
    Refused { why: String },
    /// A report of the attempt.
    Reported(WireReport),
    /// The attempt asks for a call.
    Admit { number: u64, demand: CallDemand },
    /// A call has ended.
    Settled { number: u64, usage: Usage, failure: Option<Failure> },
    /// A call ended in an unknown way.
    Dropped { number: u64 },
    /// A turn record.
    Record { number: u64, record: TurnRecord },
    /// The tools that the attempt may use, by their names.
    SettleTools { number: u64, allowed: Vec<String> },
    /// The attempt asks for a large value that was recorded earlier.
    Recall { number: u64, digest: Digest },
    /// The attempt has ended.
    End(Box<AttemptEnd>),
}

/// What an owner sends.
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
    /// The answer to `Admit`.
    Admitted { number: u64, answer: Result<Permission, Failure> },
    /// The answer to `Record` and `SettleTools`: it is on disk, or it failed.
    Recorded { number: u64, answer: Result<(), Failure> },
    /// The answer to `Recall`.
    Recalled { number: u64, text: Option<JsonText> },
    /// The end has arrived.
    Done,
}

/// The answer to the demand of a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// The call may be made.
    Go,
    /// A call to this model may be made instead.
    Instead(String),
}

/// A [`Report`] in a message.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of `Report`")]
pub enum WireReport {
    /// A piece of an answer.
    Progress { text: String },
    /// One call has used this much.
    Usage(Usage),
    /// What a service allows.
    LimitsSeen(Limits),
    /// Never sent: a claimant hands nothing over.
    TakenBy { pid: u32 },
    /// A command runs.
    ProcessStarted { pid: u32, start: u64 },
    /// Never sent: commands that survive are not handed over.
    SurvivorStarted { pid: u32, start: u64 },
    /// The outcome of a call is known.
    EffectCommitted(EffectCommit),
    /// A model call has ended.
    ModelCalled(Box<ModelCall>),
    /// A tool is about to be called.
    ToolStarted { tool: String },
    /// A tool was called.
    ToolCalled { tool: String, ms: u64, failed: bool },
    /// So much of what people said is part of the conversation.
    GuidanceHeard { count: usize },
    /// A remark for people.
    Noted { code: String, message: String },
}

impl From<Report> for WireReport {
    fn from(report: Report) -> WireReport {
        match report {
            Report::Progress { text } => WireReport::Progress { text },
            Report::Usage(usage) => WireReport::Usage(usage),
            Report::LimitsSeen(limits) => WireReport::LimitsSeen(limits),
            Report::TakenBy { pid } => WireReport::TakenBy { pid },
            // Reports that only an owner makes.
            Report::Silent | Report::LetGo => WireReport::Progress { text: String::new() },
            Report::ProcessStarted { pid, start } => WireReport::ProcessStarted { pid, start },
            Report::SurvivorStarted { pid, start } => WireReport::SurvivorStarted { pid, start },
            Report::EffectCommitted(commit) => WireReport::EffectCommitted(commit),
            Report::ModelCalled(call) => WireReport::ModelCalled(call),
            Report::ToolStarted { tool } => WireReport::ToolStarted { tool },
            Report::ToolCalled { tool, ms, failed } => WireReport::ToolCalled { tool, ms, failed },
            Report::GuidanceHeard { count } => WireReport::GuidanceHeard { count },
            Report::Noted { code, message } => WireReport::Noted { code: code.to_owned(), message },
        }
    }
}

impl From<WireReport> for Report {
    fn from(report: WireReport) -> Report {
        match report {
            WireReport::Progress { text } => Report::Progress { text },
            WireReport::Usage(usage) => Report::Usage(usage),
            WireReport::LimitsSeen(limits) => Report::LimitsSeen(limits),
            WireReport::TakenBy { pid } => Report::TakenBy { pid },
            WireReport::ProcessStarted { pid, start } => Report::ProcessStarted { pid, start },
            WireReport::SurvivorStarted { pid, start } => Report::SurvivorStarted { pid, start },
            WireReport::EffectCommitted(commit) => Report::EffectCommitted(commit),
            WireReport::ModelCalled(call) => Report::ModelCalled(call),
            WireReport::ToolStarted { tool } => Report::ToolStarted { tool },
            WireReport::ToolCalled { tool, ms, failed } => Report::ToolCalled { tool, ms, failed },
            WireReport::GuidanceHeard { count } => Report::GuidanceHeard { count },
            WireReport::Noted { code, message } => Report::Noted { code: static_code(code), message },
        }
    }
}

/// Codes that are kept. This program has fewer; another program's codes beyond this are dropped.
const MOST_CODES: usize = 256;

/// A code as a static text, as reports hold it. Each code of the other process is leaked once.
fn static_code(code: String) -> &'static str {
    static KNOWN: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut known = KNOWN.lock().expect("a panic poisoned this lock");
    let known = known.get_or_insert_default();
    match known.get(code.as_str()) {
        Some(code) => code,
        None if known.len() >= MOST_CODES => "noted",
        None => {
            let new: &'static str = code.leak();
            known.insert(new);
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reports_arrive_unchanged() {
        let reports = [
            Report::Progress { text: "a\nb".into() },
            Report::Usage(Usage { input_tokens: 3, ..Usage::default() }),
            Report::LimitsSeen(Limits { provider: "openai".into(), ..Limits::default() }),
            Report::ProcessStarted { pid: 7, start: 8 },
            Report::ModelCalled(Box::new(ModelCall { ms: 3, ..ModelCall::default() })),
            Report::ToolStarted { tool: "t".into() },
            Report::EffectCommitted(EffectCommit { key: "k".into(), failed: true, result: None }),
            Report::ToolCalled { tool: "t".into(), ms: 1, failed: true },
            Report::Noted { code: "model_fallback", message: "m".into() },
        ];
        for report in reports {
            let text = serde_json::to_string(&FromClaimant::Reported(report.clone().into())).unwrap();
            let FromClaimant::Reported(said) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
            assert_eq!(Report::from(said), report);
        }
    }

    #[test]
    fn ends_and_refusals_arrive_unchanged() {
        let output = JsonText::of(&json!({"n": 1.5}));
        let end = AttemptEnd::Finished { output: output.clone(), usage: Usage::default() };
        let text = serde_json::to_string(&FromClaimant::End(Box::new(end))).unwrap();
        let FromClaimant::End(end) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
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
