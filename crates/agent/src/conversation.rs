//! Decides what is said next; says nothing itself.
//!
//! A conversation takes replies and results of tools, and gives requests and calls until it is done. It knows no clock
//! and no network, and what it holds between two turns is data: it can be written down piece by piece (`record`) and go
//! on elsewhere. Its parts: tools (`turns`), answers that cannot be used (`ladder`), answers that others look at
//! (`review`), room in the model's context (`room`), requests without tools (`retold`). Tokens, time and cancellation
//! are the driver's.

mod approval;
mod guidance;
mod ladder;
mod past;
mod proving;
mod question;
mod record;
mod retold;
mod review;
mod room;
mod turns;

pub(crate) use question::Grading;
pub use question::Question;
pub(crate) use record::Piece;
pub use record::Written;

use crate::capability::Memory;
use crate::shelf::Shelf;
use crate::transcript::Transcript;
use crate::{Answered, Asks, Finish, Message, Misfit, Offer, Reply, Role, ToolCall, wording};
use convoke_model::{
    AgentCall, Answer, Ask, Contract, Digest, Failure, JsonText, OutputSchema, ProofCall, Ruling,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What stays the same throughout a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Premise<'a> {
    /// What is asked.
    pub call: &'a AgentCall,
    /// The step's name, for messages.
    pub step: &'a str,
    /// The tools that may be used.
    pub offer: &'a Offer,
    /// What the attempt may do and use, where that is stated.
    pub contract: Option<&'a Contract>,
    /// What it must prove, if anything.
    pub proof: Option<&'a ProofCall>,
}

impl Premise<'_> {
    /// The most rounds of tool calls: the contract's, where there is one.
    pub(crate) fn max_iterations(&self) -> u32 {
        let agreed = self.contract.and_then(|contract| contract.max_iterations);
        agreed.unwrap_or(self.call.settings.capabilities.max_iterations)
    }

    /// The most tokens of an answer, where that is stated.
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        self.contract.and_then(|contract| contract.max_tokens).or(self.call.settings.max_tokens)
    }
}

/// One agent's conversation with its model.
#[derive(Debug, Clone)]
pub struct Conversation {
    transcript: Transcript,
    shelf: Shelf,
    /// Answers that could not be used, as they came.
    rejected: Vec<String>,
    state: State,
    /// Conversations of the task before this one.
    before: u32,
    /// What is not written down yet.
    unwritten: record::Unwritten,
    /// The calls of this turn were waited for, and none of them was begun.
    begins_calls: bool,
    /// What people should know and were not told yet.
    notes: Vec<Note>,
    /// What people said to the task, as far as it is known here.
    said: Vec<String>,
}

/// What is neither a message nor a kept value: small, so that it can be written down each time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    stage: Stage,
    /// Whether the next answer is graded.
    graded: bool,
    /// How often an answer that does not fit may still be sent back.
    recoveries: u32,
    /// How often a graded answer may still be asked for again.
    regrades: u32,
    /// How often an answer that misses the success criteria may still be asked for again.
    retrials: u32,
    /// How often its work was looked at.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    checks: u32,
    /// How often it was told that it is not done.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    returns: u32,
    /// Entries of tools that were called with success and had to be.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    called: BTreeSet<String>,
    /// Requests made so far.
    calls: u32,
    /// The answer before was cut off at the token limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    was_cut: bool,
    /// The last time that the agent is asked: without tools, with all means for the shape.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    last_chance: bool,
    /// A placeholder was sent back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    was_filler: bool,
    /// What the validator rejected, and what counts all the same if nothing better comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<JsonText>,
    /// What was said about calls of the turn, with their places; used up with the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rulings: Vec<(usize, Ruling)>,
    /// How much of what people said to the task is part of the conversation.
    #[serde(default, skip_serializing_if = "guidance::is_none")]
    heard: usize,
    memory: Memory,
}

fn is_none_yet(count: &u32) -> bool {
    *count == 0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    /// The step's own model is to speak, perhaps with a person's answer to what it asked.
    Asking { answered: Option<Box<Answered>> },
    /// The tools that the last message asks for are to be called.
    Calling,
    /// A person is to allow some of these tools first.
    Approving(Box<approval::Approving>),
    /// A person is to decide.
    Waiting(Box<Asks>),
    /// The work that this output stands for is to be looked at.
    Proving { output: JsonText },
    /// The grader is to speak about this output.
    Grading { output: JsonText },
    /// The verifier is to speak about this output.
    Verifying { output: JsonText },
    /// Another model is to put the last answer into shape.
    Repairing(Misfit),
    /// The conversation is over: no model, tool or person is asked any more.
    Over(Ending),
}

impl Stage {
    const ASKING: Stage = Stage::Asking { answered: None };

    fn failed(failure: Failure) -> Stage {
        Stage::Over(Ending::Failed(failure))
    }
}

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With an output.
    Output(JsonText),
    /// With a failure.
    Failed(Failure),
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next<'a> {
    /// Ask this and feed the reply.
    Ask(Question<'a>),
    /// Call these tools and feed the results, in the same order.
    Call(&'a [ToolCall]),
    /// Let a person decide, and go on with the answer.
    Suspend(&'a Asks),
    /// Let a person allow calls of tools, and go on with the answer.
    Approve(&'a Ask),
    /// Look at the work, and feed what is found.
    Prove,
    /// Nothing; it has ended.
    Done(&'a Ending),
}

/// Something that a person should know about a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// A stable word.
    pub code: &'static str,
    /// The words.
    pub message: String,
}

impl Conversation {
    /// A conversation that begins.
    pub fn new(premise: &Premise<'_>) -> Conversation {
        Conversation::after(premise, &[])
    }

    /// A conversation that begins after others, written down in these pieces, that came to nothing.
    fn after(premise: &Premise<'_>, past: &[JsonText]) -> Conversation {
        let settings = &premise.call.settings;
        let state = State {
            stage: Stage::ASKING,
            graded: settings.validator.is_some(),
            recoveries: settings.parse_recovery,
            regrades: settings.validator.as_ref().map_or(0, |validator| validator.max_retries),
            retrials: settings.success_criteria.as_ref().map_or(0, |criteria| criteria.max_retries),
            checks: 0,
            returns: 0,
            called: past::called(past),
            calls: 0,
            was_cut: false,
            last_chance: false,
            was_filler: false,
            before: None,
            rulings: Vec::new(),
            heard: 0,
            memory: Memory::default(),
        };
        let prompt = &premise.call.prompt;
        let prompt = match past::told(premise.offer, past) {
            Some(words) => Cow::Owned(format!("{prompt}\n\n{words}")),
            None => Cow::Borrowed(prompt.as_str()),
        };
        Conversation {
            transcript: Transcript::new(opening(premise.call, &prompt)),
            shelf: Shelf::of(premise.call.kept.clone()),
            rejected: Vec::new(),
            state,
            before: past.iter().filter_map(Piece::read).filter(|piece| piece.is_first).count() as u32,
            unwritten: record::Unwritten::beginning(),
            begins_calls: false,
            notes: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Tells this turn from every other turn of the task, whichever conversation it belongs to.
    pub(crate) fn turn_name(&self) -> String {
        format!("{}.{}", self.before, self.state.calls)
    }

    /// The calls that are to be made.
    pub(crate) fn calls(&self) -> &[ToolCall] {
        if self.state.stage == Stage::Calling { self.open_calls() } else { &[] }
    }

    /// What to do next. Asking again without feeding gives the same answer.
    pub fn next<'a>(&'a self, premise: &Premise<'a>) -> Next<'a> {
        match &self.state.stage {
            Stage::Over(ending) => Next::Done(ending),
            Stage::Calling => Next::Call(self.open_calls()),
            Stage::Proving { .. } => Next::Prove,
            Stage::Waiting(asks) => Next::Suspend(asks),
            Stage::Approving(approving) => Next::Approve(&approving.ask),
            Stage::Asking { answered } => Next::Ask(self.own_question(premise, answered.as_deref())),
            Stage::Grading { output } => Next::Ask(self.grader_question(premise, output)),
            Stage::Verifying { output } => Next::Ask(self.verifier_question(premise, output)),
            Stage::Repairing(misfit) => Next::Ask(self.repair_question(premise, misfit)),
        }
    }

    /// Takes the answer to the last question, or why there is none.
    pub fn feed(&mut self, premise: &Premise<'_>, reply: Result<Reply, Failure>) {
        self.state.calls += 1;
        self.unwritten.moved = true;
        self.state.stage = match std::mem::replace(&mut self.state.stage, Stage::ASKING) {
            Stage::Asking { .. } => {
                let stage = self.heard(premise, reply);
                self.or_the_one_before(premise, stage)
            }
            Stage::Grading { output } => self.graded(premise, output, reply),
            Stage::Verifying { output } => self.verified(premise, output, reply),
            Stage::Repairing(misfit) => {
                let stage = self.repaired(premise, &misfit, reply);
                self.or_the_one_before(premise, stage)
            }
            unasked => unasked,
        };
        self.make_room(premise);
    }

    /// Takes a person's answer to what the agent asked for.
    pub fn answer(&mut self, answer: Answer) {
        self.take_rulings(&answer);
        if let Stage::Waiting(asks) = &self.state.stage {
            let answered = Some(Box::new(Answered { state: asks.state.clone(), answer }));
            self.state.stage = Stage::Asking { answered };
        }
    }

    /// The answers that could not be used. A failed attempt keeps them as its partial output.
    pub fn rejected(&self) -> &[String] {
        &self.rejected
    }

    /// Where the value that the agent knows by this name is kept.
    pub fn kept(&self, name: &str) -> Option<Digest> {
        self.shelf.find(name)
    }

    /// What people should know since this was last asked.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// The step's own model spoke.
    fn heard(&mut self, premise: &Premise<'_>, reply: Result<Reply, Failure>) -> Stage {
        let reply = match reply {
            Ok(reply) => reply,
            Err(failure) => return self.unanswered(premise, failure),
        };
        self.measure(premise, &reply);
        if let Some(asks) = reply.asks {
            return Stage::Waiting(asks);
        }
        if reply.finish == Finish::Refusal {
            return self.refused(premise.step, reply);
        }
        match (reply.tool_calls.is_empty(), reply.finish) {
            (true, _) => self.answered(premise, reply),
            (false, Finish::Length) => self.wants_too_much(premise, reply),
            (false, _) => self.wants_tools(premise, &reply),
        }
    }

    fn note(&mut self, code: &'static str, message: String) {
        self.notes.push(Note { code, message });
    }
}

/// The first messages: the system message if there is anything to say, then the prompt.
fn opening(call: &AgentCall, prompt: &str) -> Vec<Message> {
    let shape = declared(call).map(|schema| wording::declared(&call.settings, schema));
    let system = wording::system(call.system.as_deref(), shape.as_deref());
    let mut messages: Vec<_> = system.map(|text| Message::new(Role::System, text)).into_iter().collect();
    messages.push(Message::new(Role::User, prompt));
    messages
}

/// The shape that the answer must have; none where the text itself is the answer.
fn declared(call: &AgentCall) -> Option<&OutputSchema> {
    call.settings.schema.as_ref().filter(|schema| !schema.is_empty() && !call.settings.raw)
}

/// What is kept of a conversation that failed.
pub fn leftovers(rejected: &[String], unfinished: &str) -> Option<JsonText> {
    match (rejected.is_empty(), unfinished.is_empty()) {
        (true, true) => None,
        (false, true) => Some(JsonText::of(&json!({ "answers": rejected }))),
        (true, false) => Some(JsonText::of(&json!({ "text": unfinished }))),
        (false, false) => Some(JsonText::of(&json!({ "answers": rejected, "text": unfinished }))),
    }
}

#[cfg(test)]
mod tests;
