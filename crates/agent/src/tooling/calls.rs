//! Calls the tools that a model asked for: some at a time, results in the order of the calls.
//!
//! Whatever goes wrong with a call is told to the model, which may know another way. Cancellation ends the talk, and so does
//! a call of a tool that there is and that the persona may not use: then no call of the turn is made. Where the contract
//! has it told, the model is told instead. Only the settled contract says whether a tool may be used.
//! A call that a crash cut off, and that may not be made twice, gets a result which says that its outcome is unknown.

use crate::approving::Clearance;
use crate::capability::recall::{self, ReadRequest};
use crate::{Asker, Conversation, EngineLink, Offer, Report, Tool, ToolCall, ToolResult, Toolbox};
use convoke_failpoint::failpoint;
use convoke_model::{
    AgentSettings, Class, Contract, Digest, EffectClaim, EffectCommit, EffectKind, Failure, JsonText,
    KnownResult, Violation, reason,
};
use futures::future::join_all;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Names of tools that are told to a model which made one up.
const MOST_NAMES: usize = 50;

/// Makes the tool calls of one attempt, with all that they need.
pub(crate) struct Caller<'a> {
    pub toolbox: &'a dyn Toolbox,
    pub asker: Asker<'a>,
    pub settings: &'a AgentSettings,
    pub offer: &'a Offer,
    /// What the attempt may do and use, where that is stated.
    pub contract: Option<&'a Contract>,
    pub link: &'a dyn EngineLink,
    /// Fires when the talk is cut off.
    pub stop: &'a CancellationToken,
    /// An attempt before this one may have made the calls already.
    pub was_cut_off: bool,
    /// Calls that are known to have been made, with what came of them.
    pub known: &'a [KnownResult],
    /// What may become of each call of the turn; nothing where none was looked at.
    pub clearances: &'a [Clearance],
}

/// What came of the calls of a turn.
pub(crate) struct Made {
    pub results: Vec<ToolResult>,
    /// Effects whose outcome goes on disk with the results.
    pub committed: Vec<EffectCommit>,
}

/// A call's result as it is kept until its turn is recorded.
#[derive(Serialize, Deserialize)]
struct KeptResult {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structured: Option<JsonText>,
    failed: bool,
}

impl Caller<'_> {
    /// The calls that change the world and are made now, claimed.
    pub fn claims(&self, conversation: &Conversation) -> Vec<EffectClaim> {
        let calls = conversation.calls().iter().enumerate();
        let claim = |(at, call): (usize, &ToolCall)| {
            let tool = self.effect(at, call)?;
            let key = self.key_of(at, call, conversation);
            let is_made = !self.was_cut_off || self.may_repeat(at, tool) && self.known(&key).is_none();
            is_made.then(|| EffectClaim::of_tool(key, EffectKind::Call, tool.spec.name.clone()))
        };
        calls.filter_map(claim).collect()
    }

    /// Makes the calls, and gives a result for each.
    pub async fn make(&self, calls: &[ToolCall], conversation: &Conversation) -> Result<Made, Failure> {
        self.keep_to_contract(calls).await?;
        let at_once = Semaphore::new(self.settings.capabilities.parallel_tools.max(1) as usize);
        let is_alone = calls.len() == 1;
        let made = calls.iter().enumerate().map(|(at, call)| async move {
            let key = self.key_of(at, call, conversation);
            if let Some(known) = self.known(&key) {
                return Ok((known, None));
            }
            let result = self.make_one(at, call, &key, conversation).await?;
            Ok((result.clone(), self.commit(at, call, key, &result, is_alone)))
        });
        let at_once = &at_once;
        let made = made.map(|making| async move {
            let _turn = at_once.acquire().await;
            making.await
        });
        let made: Vec<(ToolResult, Option<EffectCommit>)> =
            join_all(made).await.into_iter().collect::<Result<_, Failure>>()?;
        let (results, committed): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        Ok(Made { results, committed: committed.into_iter().flatten().collect() })
    }

    /// Fails where a call is of a tool that there is and that the persona may not use.
    pub async fn keep_to_contract(&self, calls: &[ToolCall]) -> Result<(), Failure> {
        let Some(violation) = self.violation(calls).await else { return Ok(()) };
        self.link.report(Report::Noted { code: "security_violation", message: violation.message.clone() });
        Err(violation)
    }

    fn clearance(&self, at: usize) -> &Clearance {
        self.clearances.get(at).unwrap_or(&Clearance::Free)
    }

    /// The tool that a call changes the world by: what a person was asked about does, whatever its server says of it.
    fn effect(&self, at: usize, call: &ToolCall) -> Option<&Tool> {
        match self.clearance(at) {
            Clearance::Free => self.offer.effect(call),
            Clearance::Approved(_) => self.offer.find(&call.name),
            Clearance::Denied(_) => None,
        }
    }

    /// Whether a call may be made again when its outcome is unknown. A person allowed it once.
    fn may_repeat(&self, at: usize, tool: &Tool) -> bool {
        tool.repeatable && *self.clearance(at) == Clearance::Free
    }

    /// Says that a call has its outcome: with the turn's record where it is the turn's only call, at once and with its result
    /// where others of the turn may still be cut off.
    fn commit(
        &self,
        at: usize,
        call: &ToolCall,
        key: String,
        result: &ToolResult,
        is_alone: bool,
    ) -> Option<EffectCommit> {
        if result.unknown || self.effect(at, call).is_none() {
            return None;
        }
        let failed = result.failed;
        if is_alone {
            return Some(EffectCommit { key, failed, result: None });
        }
        let kept = KeptResult { text: result.text.clone(), structured: result.structured.clone(), failed };
        let result = Some(JsonText::of(&kept));
        self.link.report(Report::EffectCommitted(EffectCommit { key, failed, result }));
        None
    }

    /// The result that an attempt before this one had of a call.
    fn known(&self, key: &str) -> Option<ToolResult> {
        let known = self.known.iter().find(|known| known.key == key)?;
        let KeptResult { text, structured, failed } = serde_json::from_str(known.result.as_str()).ok()?;
        Some(ToolResult { text, structured, failed, unknown: false })
    }

    /// A call of a tool that a persona may not use: one that there was when its tools were settled. Where no tools were
    /// settled, the toolbox is asked for them now.
    async fn violation(&self, calls: &[ToolCall]) -> Option<Failure> {
        let contract = self.contract.filter(|contract| contract.violation != Violation::Reported)?;
        let persona = contract.persona.as_ref()?;
        let unknown: Vec<&ToolCall> = calls.iter().filter(|call| !self.is_offered(call)).collect();
        if unknown.is_empty() || self.settings.servers.is_empty() {
            return None;
        }
        let listed = match self.offer.barred() {
            Some(_) => Vec::new(),
            None => self.toolbox.list(self.asker, &self.settings.servers).await.unwrap_or_default(),
        };
        let tools = self.offer.barred().unwrap_or(&listed);
        let tool = unknown.iter().find_map(|call| barred(contract, tools, &call.name))?;
        Some(violation(persona, &tool.spec.name))
    }

    /// The tool that a call means, where there is one and the contract does not admit it.
    fn refused(&self, call: &ToolCall) -> Option<&Tool> {
        barred(self.contract?, self.offer.barred()?, &call.name)
    }

    /// Whether a name stands for something that the model was shown, if only nearly. What is nearly one tool's and wholly
    /// another's is the other's.
    fn is_offered(&self, call: &ToolCall) -> bool {
        let is_whole = |tool: &Tool| tool.spec.name == call.name;
        let is_of_another = || self.offer.barred().is_some_and(|barred| barred.iter().any(is_whole));
        let is_nearly = |tool: &Tool| tool.names().is_in_any_case(&call.name);
        call.name == recall::NAME
            || self.offer.find(&call.name).is_some()
            || self.offer.tools().any(is_nearly) && !is_of_another()
    }

    async fn make_one(
        &self,
        at: usize,
        call: &ToolCall,
        key: &str,
        conversation: &Conversation,
    ) -> Result<ToolResult, Failure> {
        let (arguments, begun) = match self.clearance(at) {
            Clearance::Free => (&call.arguments, Instant::now()),
            Clearance::Approved(arguments) => (arguments, Instant::now()),
            Clearance::Denied(why) => return Ok(went_wrong(format!("This call was not made: {why}."))),
        };
        let result = match self.offer.find(&call.name) {
            Some(tool) if self.was_cut_off && !self.may_repeat(at, tool) => Ok(unknown_outcome(tool)),
            Some(tool) => {
                let (servers, stop) = (&self.settings.servers, self.stop.clone());
                self.link.report(Report::ToolStarted { tool: call.name.clone() });
                let asker = Asker { key, ..self.asker };
                failpoint!("agent.call.before");
                let result = self.toolbox.call(asker, servers, tool, arguments, stop).await;
                failpoint!("agent.call.done");
                result
            }
            None if call.name == recall::NAME => Ok(self.read_back(call, conversation).await),
            None => Ok(self.made_up(call)),
        };
        self.link.report(told(call, &result, begun.elapsed()));
        result.map(in_words).or_else(unless_cancelled)
    }

    /// The idempotency key of a call: the same when an attempt that goes on with the conversation makes the call again, and
    /// different for every other call. Not every service gives calls names of their own, so the place in the turn counts.
    fn key_of(&self, at: usize, call: &ToolCall, conversation: &Conversation) -> String {
        let words = format!("{}\0{}\0{at}\0{}", self.asker.key, conversation.turn_name(), call.id);
        Digest::of(words.as_bytes()).to_string()
    }

    async fn read_back(&self, call: &ToolCall, conversation: &Conversation) -> ToolResult {
        let request = match ReadRequest::of(call) {
            Ok(request) => request,
            Err(why) => return went_wrong(why),
        };
        let Some(digest) = conversation.kept(&request.name) else {
            return went_wrong(format!("nothing is kept as `{}`", request.name));
        };
        failpoint!("agent.recall.before");
        match self.link.recall(digest).await {
            Some(kept) => request.read(&kept, self.settings.capabilities.tool_output),
            None => went_wrong(format!("`{}` can no longer be read", request.name)),
        }
    }

    fn made_up(&self, call: &ToolCall) -> ToolResult {
        let names: Vec<&str> = self.offer.names().take(MOST_NAMES).collect();
        let known = match names.is_empty() {
            true => "there are no tools".to_owned(),
            false => format!("the tools are {}", names.join(", ")),
        };
        let Some(refused) = self.refused(call) else {
            return went_wrong(format!("there is no tool `{}`; {known}", call.name));
        };
        let name = &refused.spec.name;
        let message = format!("the tool `{name}` was called and not used: the contract does not admit it");
        self.link.report(Report::Noted { code: "tool_refused", message });
        went_wrong(format!("the tool `{name}` may not be used here; {known}"))
    }
}

/// The tool that a name stands for, where there is one and it may not be used.
fn barred<'t>(contract: &Contract, listed: &'t [Tool], name: &str) -> Option<&'t Tool> {
    let is_name = !name.contains(['*', '&']);
    let barred = |tool: &&Tool| tool.names().is_in_any_case(name) && !contract.admits(tool.names());
    listed.iter().filter(|_| is_name).find(barred)
}

/// A persona used, or wanted to use, what it may not.
pub(crate) fn violation(persona: &str, tool: &str) -> Failure {
    let message = format!("persona `{persona}` called the tool `{tool}`, which it may not use");
    Failure::new(Class::Security, message)
        .reason(reason::TOOL_NOT_ALLOWED)
        .hint("`toolClearance` of the persona and `tools` of its actor say what it may use")
}

/// What is told of a call. One whose outcome is unknown was not made now, so it took no time and did not fail.
fn told(call: &ToolCall, result: &Result<ToolResult, Failure>, took: Duration) -> Report {
    let tool = call.name.clone();
    if result.as_ref().is_ok_and(|result| result.unknown) {
        let message =
            format!("the outcome of a call of `{tool}` is unknown: Convoke was stopped while it ran");
        return Report::Noted { code: "outcome_unknown", message };
    }
    let failed = result.as_ref().map_or(true, |result| result.failed);
    Report::ToolCalled { tool, ms: took.as_millis() as u64, failed }
}

fn unknown_outcome(tool: &Tool) -> ToolResult {
    let text = format!(
        "The outcome of this call of `{}` is unknown: the engine was stopped while it ran. It may have taken effect or \
         not. Check that before you do it again.",
        tool.spec.name
    );
    ToolResult { unknown: true, ..went_wrong(text) }
}

/// The server may be back by the next turn, so the model learns of it and goes on.
fn unless_cancelled(failure: Failure) -> Result<ToolResult, Failure> {
    match failure.class {
        Class::Cancelled => Err(failure),
        _ => Ok(went_wrong(format!("the call failed: {}", failure.message))),
    }
}

/// Data counts where a tool gives no words.
fn in_words(mut result: ToolResult) -> ToolResult {
    if let Some(structured) = result.structured.as_ref().filter(|_| result.text.trim().is_empty()) {
        result.text = structured.as_str().to_owned();
    }
    result
}

fn went_wrong(text: String) -> ToolResult {
    ToolResult { text, failed: true, ..ToolResult::default() }
}
