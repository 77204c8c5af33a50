//! Attempts: each asks for its calls, makes them, writes down what it has used, and ends.
//!
//! What the engine's link does for an attempt is done here: before each call its lease is looked at, and a call that is given
//! up says so.

use super::Machine;
use super::agenda::{Happening, Life, Step};
use super::sabotage::Sabotage;
use super::scenario::{INPUT, MODEL, OUTPUT, PRICE, WORST};
use super::service::LONGEST;
use super::table::LeaseStatus;
use convoke_agent::{Admitted, CallDemand, Report, TurnRecord};
use convoke_engine::{Calls, Terms, What};
use convoke_govern::Outcome;
use convoke_model::{Assignment, AttemptEnd, Class, Failure, JsonText, TaskId, Usage, reason};
use convoke_schedule::TaskIx;
use std::time::Duration;
use tokio::sync::oneshot;

/// An attempt that runs.
pub(super) struct Attempt {
    id: TaskId,
    number: u32,
    pub fence: Option<u64>,
    /// Calls that it has yet to make.
    left: u64,
    /// The first call needs no asking, or none does.
    covered: bool,
    free: bool,
    answer: Option<oneshot::Receiver<Result<Admitted, Failure>>>,
    written: Option<oneshot::Receiver<()>>,
    /// The call that is being made.
    call: Option<u64>,
    /// What it has used since its last turn record.
    usage: Usage,
}

impl Attempt {
    /// The call that it makes at the moment.
    pub fn call(&self) -> Option<u64> {
        self.call
    }
}

/// What a service says.
#[derive(Debug)]
pub(super) enum Reply {
    Answered(Usage),
    Refused { retry_after: Option<Duration>, overloaded: bool },
    Broken(Usage),
}

impl Machine<'_> {
    pub(super) fn launch(&mut self, life: Life, task: TaskIx, assignment: &Assignment, terms: Terms) {
        let done = &self.runs[life.run].done;
        assert!(!done.contains(&assignment.task), "{} is finished and begins again", assignment.task);
        let attempt = Attempt {
            id: assignment.task.clone(),
            number: assignment.attempt,
            fence: terms.fence.map(|fence| fence.0),
            left: 1 + self.random.below(3),
            covered: matches!(&terms.calls, Calls::Asked(Some(model)) if **model == *MODEL),
            free: terms.calls == Calls::Free,
            answer: None,
            written: None,
            call: None,
            usage: Usage::default(),
        };
        let before = self.process(life).attempts.insert(task, attempt);
        assert!(before.is_none(), "{} runs twice at once", assignment.task);
        self.soon(200_000, Happening::In(life, Step::GoesOn(task, assignment.attempt)));
    }

    /// The attempt that is meant, if it runs still.
    fn attempt(&mut self, life: Life, task: TaskIx, number: u32) -> Option<&mut Attempt> {
        self.process(life).attempts.get_mut(&task).filter(|attempt| attempt.number == number)
    }

    pub(super) fn goes_on(&mut self, life: Life, task: TaskIx, number: u32) {
        let Some(attempt) = self.attempt(life, task, number) else { return };
        if attempt.left == 0 {
            let (id, usage) = (attempt.id.clone(), attempt.usage);
            let output = JsonText::of(&serde_json::json!({ "said": id.to_string() }));
            self.process(life).finished.push((id, number));
            return self.end(life, task, AttemptEnd::Finished { output, usage });
        }
        if std::mem::take(&mut attempt.covered) || attempt.free {
            return self.sends(life, task, number);
        }
        let (reply, answer) = oneshot::channel();
        attempt.answer = Some(answer);
        let demand = CallDemand {
            task: attempt.id.clone(),
            attempt: number,
            provider: "openai".into(),
            model: MODEL.into(),
            input_tokens: INPUT,
            most_input_tokens: INPUT,
            output_tokens: OUTPUT,
            cost_micros: Some(WORST * PRICE),
            refused: Vec::new(),
        };
        // What an attempt says is heard in its order.
        self.say(life, What::CallAsked { task, attempt: number, demand, reply });
    }

    /// Attempts hear what they have asked: whether a call may be made, whether a turn record is on disk.
    pub(super) fn hear_answers(&mut self, life: Life) {
        let tasks: Vec<_> = self.process(life).attempts.keys().copied().collect();
        for task in tasks {
            let attempt = self.process(life).attempts.get_mut(&task).expect("listed just now");
            let number = attempt.number;
            if attempt.written.as_mut().is_some_and(|written| written.try_recv().is_ok()) {
                attempt.written = None;
                self.soon(200_000, Happening::In(life, Step::GoesOn(task, number)));
                continue;
            }
            let Some(answer) = attempt.answer.as_mut().and_then(|answer| answer.try_recv().ok()) else {
                continue;
            };
            attempt.answer = None;
            match answer {
                Ok(Admitted::Go(_)) => self.soon(1000, Happening::In(life, Step::Sends(task, number))),
                Ok(Admitted::Instead(model)) => panic!("nobody offers {model}"),
                Err(failure) => {
                    self.tally.refused += 1;
                    self.fail(life, task, failure);
                }
            }
        }
    }

    /// A call is sent, unless the lease of the attempt has run out. One that waits for a heartbeat is waited for.
    pub(super) fn sends(&mut self, life: Life, task: TaskIx, number: u32) {
        let now = self.now;
        let Some(attempt) = self.attempt(life, task, number) else { return };
        let fence = attempt.fence;
        let ignores = self.is_sabotaged(Sabotage::IgnoresFence);
        match fence
            .filter(|_| !ignores)
            .map_or(LeaseStatus::Good, |fence| self.table.lease_status(fence, now))
        {
            LeaseStatus::Good => self.call(life, task, number),
            LeaseStatus::Late => {
                self.at(now + Duration::from_millis(20), Happening::In(life, Step::Sends(task, number)));
            }
            LeaseStatus::Lost => {
                let failure = Failure::new(Class::Cancelled, "its lease ran out").reason(reason::FENCED);
                self.tally.fenced += 1;
                self.fail(life, task, failure);
            }
        }
    }

    fn call(&mut self, life: Life, task: TaskIx, number: u32) {
        self.judge_sending(life, task);
        let is_too_much = self.good_for.is_some_and(|good| self.service.in_flight() as u64 >= good);
        let is_refused = is_too_much || self.random.percent(self.weather.refuses);
        let output = (!is_refused).then(|| OUTPUT / 2 + self.random.below(OUTPUT / 2 + 1));
        let call = self.service.arrive(life, task, number, output, self.now);
        self.judge_sent(life);
        self.tally.calls += 1;
        self.attempt(life, task, number).expect("it sends just now").call = Some(call);
        let longest = match self.random.percent(5) {
            _ if is_refused => 100_000,
            true => LONGEST.as_micros() as u64,
            false => 2_000_000,
        };
        let takes = 1 + self.random.below(longest);
        let counted = 1 + self.random.below(takes);
        self.at(self.now + Duration::from_micros(counted), Happening::Counts(call));
        self.at(self.now + Duration::from_micros(takes), Happening::Answers(call));
        if self.random.percent(self.weather.silent) {
            self.fall_silent(life, task, number);
        }
    }

    /// The performer of an attempt is not heard of any more; its call goes on.
    fn fall_silent(&mut self, life: Life, task: TaskIx, attempt: u32) {
        self.tally.silent += 1;
        let process = self.process(life);
        let fence = process.attempts.remove(&task).expect("it runs").fence;
        process.silent.insert((task, attempt), fence);
        self.say(life, What::Reported { task, attempt, report: Report::Silent });
        self.say(life, What::Ended { task, attempt, end: AttemptEnd::Lost });
    }

    /// The service is done with a call. Its answer reaches the process when that goes on.
    pub(super) fn answers(&mut self, number: u64) {
        let Some(call) = self.service.answer(number, self.now) else { return };
        let Some(process) = self.runs[call.life.run].process.as_ref() else { return };
        if process.life != call.life {
            return;
        }
        if process.silent.contains_key(&(call.task, call.attempt)) {
            let (task, attempt) = (call.task, call.attempt);
            let gone = What::Reported { task, attempt, report: Report::LetGo };
            return self.soon(100_000, Happening::In(call.life, Step::Hears(gone)));
        }
        let used = call.output.map(|output_tokens| Usage {
            calls: 1,
            input_tokens: INPUT,
            output_tokens,
            cost_micros: (INPUT + output_tokens) * PRICE,
            ..Usage::default()
        });
        let reply = match used {
            None => {
                self.tally.pushed_back += 1;
                let (says, seconds) = (self.random.percent(50), 1 + self.random.below(15));
                let retry_after = says.then(|| Duration::from_secs(seconds));
                Reply::Refused { retry_after, overloaded: self.random.percent(30) }
            }
            Some(usage) if self.random.percent(self.weather.fails) => Reply::Broken(usage),
            Some(usage) => Reply::Answered(usage),
        };
        self.soon(1000, Happening::In(call.life, Step::Gets(call.task, call.attempt, number, reply)));
    }

    /// The answer of the service reaches an attempt.
    pub(super) fn gets(&mut self, life: Life, task: TaskIx, number: u32, call: u64, reply: Reply) {
        let Some(attempt) = self.attempt(life, task, number).filter(|attempt| attempt.call == Some(call))
        else {
            return;
        };
        attempt.call = None;
        let (usage, failure) = match reply {
            Reply::Answered(usage) => (usage, None),
            Reply::Broken(usage) => (usage, Some(Failure::new(Class::Transient, "simulated"))),
            Reply::Refused { retry_after, overloaded } => {
                let class = if overloaded { Class::Capacity } else { Class::RateLimit };
                let mut failure = Failure::new(class, "refused");
                failure.retry_after_ms = retry_after.map(|wait| wait.as_millis() as u64);
                (Usage::default(), Some(failure))
            }
        };
        attempt.usage += usage;
        attempt.left -= 1;
        let outcome = failure.as_ref().map_or(Outcome::Succeeded, Outcome::of);
        self.say(life, What::CallEnded { task, attempt: number, usage: Some(usage), outcome });
        match failure {
            Some(failure) => self.end_badly(life, task, failure),
            None if self.random.percent(30) => self.writes(life, task, number),
            None => self.soon(200_000, Happening::In(life, Step::GoesOn(task, number))),
        }
    }

    /// An attempt writes down what it has used so far, and goes on once that is on disk.
    fn writes(&mut self, life: Life, task: TaskIx, number: u32) {
        let Some(attempt) = self.attempt(life, task, number) else { return };
        let (written, answer) = oneshot::channel();
        attempt.written = Some(answer);
        let usage = std::mem::take(&mut attempt.usage);
        let record = TurnRecord::new(JsonText::of(&serde_json::json!({ "n": 1 })), Vec::new(), usage);
        self.say(life, What::Turned { task, attempt: number, record, written });
    }

    /// An attempt ends badly, with its open call.
    fn fail(&mut self, life: Life, task: TaskIx, failure: Failure) {
        let attempt = &self.process(life).attempts[&task];
        let (number, call) = (attempt.number, attempt.call);
        if let Some(call) = call {
            self.service.close(call, self.now);
        }
        self.say(life, What::CallEnded { task, attempt: number, usage: None, outcome: Outcome::Unknown });
        self.end_badly(life, task, failure);
    }

    fn end_badly(&mut self, life: Life, task: TaskIx, failure: Failure) {
        let usage = self.process(life).attempts[&task].usage;
        self.end(life, task, AttemptEnd::Failed { failure, usage, partial: None });
    }

    fn end(&mut self, life: Life, task: TaskIx, end: AttemptEnd) {
        let attempt = self.process(life).attempts.remove(&task).expect("it runs");
        self.say(life, What::Ended { task, attempt: attempt.number, end });
    }

    pub(super) fn abort(&mut self, life: Life, task: TaskIx) {
        if self.process(life).attempts.contains_key(&task) {
            self.fail(life, task, Failure::new(Class::Cancelled, "it was told to stop"));
        }
    }

    pub(super) fn abort_all(&mut self, life: Life) {
        let running: Vec<_> = self.process(life).attempts.keys().copied().collect();
        running.into_iter().for_each(|task| self.abort(life, task));
    }
}
