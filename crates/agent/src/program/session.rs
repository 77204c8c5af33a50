//! One model's work with programs, between two steps of it: what was said, what was answered, what is left. Data.
//!
//! A turn is a reply of the model. Its program is in the reply, so it is not kept apart. Answers of models are kept with
//! the call that they answer, so that programs can be run again to the place where they stood.

use super::blocks;
use super::functions::Form;
use super::wording::{self, Left};
use super::worker::{ErrorKind, Given, Trouble, TroubleKind};
use crate::transcript::Transcript;
use crate::{Finish, Message, Reply, Role};
use convoke_model::excerpt::first_chars;
use convoke_model::{Class, Digest, Failure, ProgramAnswer, ProgramCall, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// Programs in a row that may take their worker with them.
const DEATHS_IN_A_ROW: u32 = 2;

/// Programs of one session that were refused before anything of them was run, and that count as no turn. A model that does
/// not learn from what it is told is bounded by its turns as before.
const REFUSALS: u32 = 2;

/// The work of one task, over all its attempts.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) transcript: Transcript,
    /// Answers that programs were given, in order.
    pub(super) answers: Vec<Recorded>,
    pub(super) state: State,
    pub(super) unwritten: super::record::Unwritten,
}

/// What is small, and written down each time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub stage: Stage,
    /// Replies so far.
    pub turns: u32,
    /// Questions to models so far.
    pub asked: u32,
    /// Of these, those without an answer.
    pub unanswered: u32,
    /// How long programs have computed.
    pub spent: Duration,
    /// Workers that were lost, since a program last went well.
    pub lost_in_a_row: u32,
    /// Results that the validator has sent back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub regraded: u32,
    /// Results that did not meet the success criteria and were asked for again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retried: u32,
    /// Programs that were refused before they were run, and count as no turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub excused: u32,
    /// Questions to graphs so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub inquiries: u32,
    /// Workers that were lost.
    pub lost: u32,
    /// The first turn whose variables are still there.
    pub since: u32,
    /// What all calls used, up to the last record.
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// The model is to speak.
    Asking,
    /// The program of the last reply is to be run.
    Running,
    /// The program waits for answers of models.
    Waiting(Box<Waiting>),
}

/// A program that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// Which call of the program.
    pub call: u64,
    /// What it called.
    pub digest: Digest,
    pub form: Form,
    /// How many answers there will be.
    pub sub_queries: u32,
    /// Where the waiting program is kept, if it is.
    pub saved: Option<Digest>,
    /// What it printed so far.
    pub printed: Printed,
}

/// An answer that a program was given by models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Recorded {
    pub turn: u32,
    pub digest: Digest,
    pub given: Given,
}

/// Most results are not sent back, and records need not say so.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What a program printed: the beginning, and how much in all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Printed {
    pub text: String,
    pub chars: u64,
}

impl Printed {
    /// Adds what was printed and counts what the worker cut off; keeps at most so many characters.
    pub fn add(&mut self, text: &str, cut: u64, most: u64) {
        let kept = self.text.chars().count() as u64;
        let is_whole = kept == self.chars;
        if is_whole {
            let room = usize::try_from(most.saturating_sub(kept)).unwrap_or(usize::MAX);
            self.text.push_str(first_chars(text, room));
        }
        self.chars += text.chars().count() as u64 + cut;
    }
}

impl Session {
    pub fn new() -> Session {
        let state = State {
            stage: Stage::Asking,
            turns: 0,
            asked: 0,
            unanswered: 0,
            spent: Duration::ZERO,
            lost_in_a_row: 0,
            regraded: 0,
            retried: 0,
            excused: 0,
            inquiries: 0,
            lost: 0,
            since: 1,
            usage: Usage::default(),
        };
        let unwritten = super::record::Unwritten::default();
        Session { transcript: Transcript::new(Vec::new()), answers: Vec::new(), state, unwritten }
    }

    /// The messages so far; none before it is opened.
    pub fn messages(&self) -> &[Message] {
        self.transcript.messages()
    }

    /// Says what it is about.
    pub fn open(&mut self, system: String, opening: String) {
        self.transcript.push(Message::new(Role::System, system));
        self.transcript.push(Message::new(Role::User, opening));
    }

    /// How much may still be done.
    pub fn left(&self, call: &ProgramCall) -> Left {
        let most = call.max_turns.saturating_add(self.state.excused);
        let turns = most.saturating_sub(self.state.turns);
        Left { turns, calls: call.max_calls.saturating_sub(self.state.asked) }
    }

    /// The model spoke.
    pub fn heard(&mut self, call: &ProgramCall, reply: &Reply) {
        self.unwritten.moved = true;
        self.state.turns += 1;
        // Only words: no tools were offered.
        let said = Message { tool_calls: Vec::new(), ..Message::of_reply(reply) };
        self.transcript.push(said);
        let left = self.left(call);
        if reply.finish == Finish::Length {
            return self.tell(wording::cut_off(left));
        }
        match blocks::program(&reply.text) {
            Some(_) => self.state.stage = Stage::Running,
            None => self.tell(wording::no_program(left)),
        }
    }

    /// The program of a turn, from 1.
    pub fn program(&self, turn: u32) -> Option<String> {
        let mut replies = self.messages().iter().filter(|message| message.role == Role::Assistant);
        blocks::program(&replies.nth(turn.checked_sub(1)? as usize)?.text)
    }

    /// The last program, where it is in no record: a failed attempt keeps it as its partial output.
    pub fn unwritten_program(&self) -> Option<String> {
        self.program(self.state.turns).filter(|_| self.unwritten.moved)
    }

    /// The answers that the program of a turn was given.
    pub fn answers_in(&self, turn: u32) -> impl Iterator<Item = &Recorded> {
        self.answers.iter().filter(move |answer| answer.turn == turn)
    }

    /// A program was given an answer to what it asked models.
    pub fn record(&mut self, digest: Digest, given: Given) {
        self.unwritten.moved = true;
        self.answers.push(Recorded { turn: self.state.turns, digest, given });
    }

    /// The program came to its end, and it was not the last.
    pub fn ended(&mut self, call: &ProgramCall, printed: &Printed, value: &Value) {
        self.state.lost_in_a_row = 0;
        self.tell(wording::ended(printed, value, self.left(call), call.metadata_chars));
    }

    /// What the program gave as its result cannot be used.
    pub fn rejected(&mut self, call: &ProgramCall, printed: &Printed, why: &str) {
        self.state.lost_in_a_row = 0;
        self.tell(wording::rejected(why, printed, self.left(call), call.metadata_chars));
    }

    /// The program went wrong, and the model that wrote it is told. Too many lost workers in a row fail the attempt.
    pub fn failed(
        &mut self,
        call: &ProgramCall,
        printed: &Printed,
        trouble: &Trouble,
    ) -> Result<(), Failure> {
        let lost = trouble.kind.is_loss();
        if trouble.kind == TroubleKind::Refused && self.state.excused < REFUSALS {
            self.state.excused += 1;
        }
        self.state.lost_in_a_row = if lost { self.state.lost_in_a_row + 1 } else { 0 };
        if lost {
            self.state.lost += 1;
            self.state.since = self.state.turns + 1;
        }
        if self.state.lost_in_a_row >= DEATHS_IN_A_ROW {
            return Err(lost_too_many(trouble));
        }
        self.tell(wording::failed(trouble, lost, printed, self.left(call), call.metadata_chars));
        Ok(())
    }

    fn tell(&mut self, words: String) {
        self.unwritten.moved = true;
        self.transcript.push(Message::new(Role::User, words));
        self.state.stage = Stage::Asking;
    }

    /// The program waits from here on.
    pub fn wait(&mut self, waiting: Waiting) {
        self.unwritten.moved = true;
        self.state.asked += waiting.sub_queries;
        self.state.stage = Stage::Waiting(Box::new(waiting));
    }

    /// The answers came: the program that waited for them, and what it is given.
    pub fn answered(&mut self, answers: &[ProgramAnswer]) -> Result<Option<(Waiting, Given)>, Failure> {
        let Stage::Waiting(waiting) = self.state.stage.clone() else { return Ok(None) };
        if answers.len() != waiting.sub_queries as usize {
            let message = format!("{} answers came to {} questions", answers.len(), waiting.sub_queries);
            return Err(Failure::new(Class::Fatal, message).reason("damaged_conversation"));
        }
        answers.iter().for_each(|answer| self.state.usage += answer.usage);
        self.state.unanswered += answers.iter().filter(|answer| answer.answer.is_err()).count() as u32;
        let given = given(waiting.form, answers);
        self.record(waiting.digest, given.clone());
        self.state.stage = Stage::Running;
        Ok(Some((*waiting, given)))
    }
}

/// The answers as the program gets them.
fn given(form: Form, answers: &[ProgramAnswer]) -> Given {
    match (form, answers) {
        (Form::One, [ProgramAnswer { answer: Ok(value), .. }]) => Given::Value(value.value()),
        (Form::One, [ProgramAnswer { answer: Err(why), .. }]) => {
            Given::error(ErrorKind::Runtime, format!("no answer came: {why}"))
        }
        (_, answers) => Given::Value(answers.iter().map(value).collect()),
    }
}

fn value(answer: &ProgramAnswer) -> Value {
    match &answer.answer {
        Ok(value) => value.value(),
        Err(why) => json!({ "error": why }),
    }
}

fn lost_too_many(trouble: &Trouble) -> Failure {
    let (reason, how) = match trouble.kind {
        TroubleKind::Memory => ("rlm_memory", "ran out of memory"),
        TroubleKind::Time => ("rlm_time", "ran out of time"),
        TroubleKind::Program | TroubleKind::Refused | TroubleKind::Died => {
            ("rlm_died", "took their worker with them")
        }
    };
    // The last line of a traceback says what happened; the first would be all that a log shows.
    let last = trouble.message.trim_end().lines().next_back().unwrap_or_default().trim();
    let message = format!("{DEATHS_IN_A_ROW} programs in a row {how}: {last}");
    Failure::new(Class::Fatal, message).reason(reason)
}
