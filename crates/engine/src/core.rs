//! Deciding, apart from doing: facts in, decisions and effects out.
//!
//! The scheduler and the governor behind one door. No clock, no disk, no runtime: [`Run`](crate::Run) gives it facts and
//! carries out its effects, and so does the simulated world of the tests.

use crate::fact::{Fact, What};
use crate::services::Services;
use crate::store::Store;
use convoke_agent::{Page, Report};
use convoke_govern::{
    Adapted, Admission, Amount, Demand, Governor, Outcome, Rank, ResourceId, Setting, Used,
};
use convoke_journal::MessageId;
use convoke_model::{
    Answer, Ask, Assignment, AttemptEnd, Blob, Class, Digest, Event, Failure, JsonText, Payload, Stamped,
    TaskId, Timestamp, reason,
};
use convoke_plan::Labels;
use convoke_schedule::{Command, Launch, Outputs, Scheduler, TaskIx, TaskState};
use tokio::sync::oneshot;

/// What one turn came to.
#[derive(Default)]
pub struct Turn {
    /// Facts and decisions, for one commit.
    pub events: Vec<Stamped>,
    /// What to do once they are on disk.
    pub effects: Vec<Effect>,
    /// Messages of the inbox that the events deal with.
    pub consumed: Vec<MessageId>,
}

/// What to do once a turn is on disk.
pub enum Effect {
    /// Start an attempt.
    Launch(TaskIx, Box<Assignment>),
    /// Stop an attempt.
    Abort(TaskIx),
    /// Stop every attempt.
    AbortAll,
    /// Tell an attempt that what it wrote down is on disk.
    Acknowledge(oneshot::Sender<()>),
}

/// The deciding half of a run.
pub struct Core {
    /// Plan and events to decisions.
    pub scheduler: Scheduler,
    /// Who may start.
    pub governor: Governor,
    /// Large values.
    pub store: Store,
    next_seq: u64,
    last: Timestamp,
    /// Who told the process to let go of the run.
    pub interrupt: Option<String>,
    slots: ResourceId,
    services: Services,
    /// Who waits for what, at the end of the last turn.
    blocked: Option<(TaskIx, ResourceId)>,
    /// When it is worth asking the governor again though nothing has happened.
    opens: Option<Timestamp>,
    was_blocked: bool,
}

impl Core {
    /// A core that goes on from a state.
    pub fn new(
        scheduler: Scheduler,
        governor: Governor,
        store: Store,
        next_seq: u64,
        last: Timestamp,
    ) -> Core {
        let slots = governor.resource("slots").expect("a run's governor has slots");
        let services = Services::new(governor.limit(slots));
        Core {
            scheduler,
            governor,
            store,
            next_seq,
            last,
            interrupt: None,
            slots,
            services,
            blocked: None,
            opens: None,
            was_blocked: false,
        }
    }

    /// The next moment at which something is due though nothing happens.
    pub fn next_wake(&self) -> Option<Timestamp> {
        let timer = self.scheduler.next_wake();
        timer.into_iter().chain(self.opens).min()
    }

    /// Decides everything that follows from what happened.
    pub fn decide(&mut self, now: Timestamp, happened: Vec<Fact>) -> Turn {
        let mut turn = Turn::default();
        for fact in happened {
            self.take(fact, &mut turn);
        }
        loop {
            let decided = self.scheduler.decide(now, &self.store);
            decided.events.into_iter().for_each(|event| self.push(now, event, &mut turn));
            decided.commands.into_iter().for_each(|command| self.obey(now, command, &mut turn));
            if !self.admit(now, &mut turn) {
                break;
            }
        }
        self.note_blocked(now, &mut turn);
        turn
    }

    fn take(&mut self, fact: Fact, turn: &mut Turn) {
        match fact.what {
            What::Ended { task, attempt, end } => self.take_end(fact.at, task, attempt, end, turn),
            What::Reported { task, attempt, report } => {
                self.take_report(fact.at, task, attempt, report, turn)
            }
            What::Turned { task, attempt, page, written } => {
                self.take_page(fact.at, task, attempt, page, turn);
                turn.effects.push(Effect::Acknowledge(written));
            }
            What::Answered { task, answer, by, message } => {
                turn.consumed.extend(message);
                self.take_answer(fact.at, task, &answer, by, turn);
            }
            What::Stop { now, by, message } => {
                turn.consumed.extend(message);
                self.happen(fact.at, Event::StopRequested { now, by }, turn);
            }
            What::Unreadable { message } => {
                turn.consumed.extend(message);
                let message = "a message in the inbox was written by a newer version and is ignored".into();
                self.happen(
                    fact.at,
                    Event::Noted { task: None, code: "unreadable_message".into(), message },
                    turn,
                );
            }
            What::Interrupt { now, by } => {
                if now || self.interrupt.is_some() {
                    turn.effects.push(Effect::AbortAll);
                }
                self.interrupt = Some(by);
            }
        }
    }

    fn take_end(&mut self, at: Timestamp, task: TaskIx, attempt: u32, end: AttemptEnd, turn: &mut Turn) {
        let outcome = match &end {
            AttemptEnd::Finished { .. } => Outcome::Succeeded,
            AttemptEnd::Failed { failure, .. } => Outcome::of(failure),
            AttemptEnd::Suspended { .. } => Outcome::Unknown,
        };
        let id = self.scheduler.id(task).clone();
        let event = match end {
            AttemptEnd::Finished { output, usage } => {
                Event::AttemptFinished { task: id, attempt, output: self.store.payload(output), usage }
            }
            AttemptEnd::Failed { failure, usage, partial } => {
                let partial = partial.map(|partial| self.store.payload(partial));
                Event::AttemptFailed {
                    task: id,
                    attempt,
                    failure: self.interrupted(task, failure),
                    usage,
                    partial,
                }
            }
            AttemptEnd::Suspended { state, waits_for, usage } => {
                let state = self.store.payload(state);
                Event::AttemptSuspended { task: id, attempt, state, waits_for, usage }
            }
        };
        self.happen(at, event, turn);
        self.free(task, outcome, at, turn);
    }

    /// Gives a task's permit back, and records what was learned from how its attempt fared.
    fn free(&mut self, task: TaskIx, outcome: Outcome, at: Timestamp, turn: &mut Turn) {
        let freed = self.governor.release(task.0.into(), Used::AsReserved, outcome, at);
        debug_assert!(freed.is_ok(), "an attempt holds a permit");
        freed.unwrap_or_default().into_iter().for_each(|adapted| self.adapted(adapted, turn));
    }

    fn adapted(&mut self, adapted: Adapted, turn: &mut Turn) {
        let setting = match adapted.setting {
            Setting::Limit => "limit",
            Setting::ShutUntil => "shut_until",
        };
        let event = Event::LimitAdapted {
            resource: self.governor.name(adapted.resource).to_owned(),
            setting: setting.into(),
            from: adapted.from,
            to: adapted.to,
            reason: adapted.reason.word().into(),
        };
        self.push(adapted.at, event, turn);
    }

    /// A part of a conversation, and the large values that it names.
    fn take_page(&mut self, at: Timestamp, task: TaskIx, attempt: u32, page: Page, turn: &mut Turn) {
        let kept = page.kept.into_iter().map(|text| {
            let digest = Digest::of(text.as_str().as_bytes());
            self.store.put(Blob { digest, text });
            digest
        });
        let kept = kept.collect();
        let (task, piece) = (self.scheduler.id(task).clone(), self.store.payload(page.piece));
        self.happen(at, Event::TurnRecorded { task, attempt, piece, kept, usage: page.usage }, turn);
    }

    /// An attempt that ended because we let go of the run did not fail: it is tried again on resume.
    fn interrupted(&self, task: TaskIx, failure: Failure) -> Failure {
        let ours = failure.class == Class::Cancelled
            && self.interrupt.is_some()
            && !self.scheduler.is_cancelling(task);
        if ours { failure.reason(reason::INTERRUPTED) } else { failure }
    }

    fn take_report(&mut self, at: Timestamp, task: TaskIx, attempt: u32, report: Report, turn: &mut Turn) {
        let id = self.scheduler.id(task).clone();
        let event = match report {
            Report::ProcessStarted { pid, start } => Event::ProcessStarted { task: id, attempt, pid, start },
            Report::ToolCalled { tool, ms, failed } => {
                Event::ToolCalled { task: id, attempt, tool, ms, failed }
            }
            Report::Noted { code, message } => Event::Noted { task: Some(id), code: code.into(), message },
            Report::LimitsSeen(limits) => Event::LimitsSeen {
                provider: limits.provider,
                model: limits.model,
                requests: [limits.requests.limit, limits.requests.remaining],
                tokens: [limits.tokens.limit, limits.tokens.remaining],
            },
            Report::Progress { .. } | Report::Usage(_) => return,
        };
        self.happen(at, event, turn);
    }

    /// An answer that does not fit is told and changes nothing.
    fn take_answer(&mut self, at: Timestamp, id: TaskId, answer: &Answer, by: String, turn: &mut Turn) {
        let event = match self.refusal(&id, answer) {
            None => {
                let answer = self.store.payload(JsonText::of(answer));
                Event::GateAnswered { task: id, answer, by }
            }
            Some(why) => {
                let message = format!("an answer to `{id}` was refused: {why}");
                Event::Noted { task: Some(id), code: "answer_refused".into(), message }
            }
        };
        self.happen(at, event, turn);
    }

    fn refusal(&self, id: &TaskId, answer: &Answer) -> Option<String> {
        let task = match self.scheduler.find(id) {
            Some(task) if self.scheduler.state(task) == TaskState::Asking => task,
            _ => return Some("it does not wait for an answer".into()),
        };
        let ask = self.scheduler.ask(task).and_then(|payload: &Payload| self.store.text(payload));
        let ask: Option<Ask> = ask.and_then(|text| serde_json::from_str(text.as_str()).ok());
        answer.refusal(&ask?)
    }

    fn happen(&mut self, at: Timestamp, event: Event, turn: &mut Turn) {
        let stamped = self.stamp(at, event);
        if let Err(illegal) = self.scheduler.apply(&stamped) {
            // A fact that cannot be (an attempt's second end, say) is recorded as what it is and changes nothing.
            let message = illegal.to_string();
            let event = Event::Noted { task: None, code: "stale_fact".into(), message };
            turn.events.push(Stamped { event, ..stamped });
            return;
        }
        turn.events.push(stamped);
    }

    fn push(&mut self, at: Timestamp, event: Event, turn: &mut Turn) {
        let stamped = self.stamp(at, event);
        turn.events.push(stamped);
    }

    /// Gives an event its number and its time; time never goes back.
    pub fn stamp(&mut self, at: Timestamp, event: Event) -> Stamped {
        self.last = self.last.max(at);
        let seq = self.next_seq;
        self.next_seq += 1;
        Stamped { seq, at: self.last, event }
    }

    fn obey(&mut self, now: Timestamp, command: Command, turn: &mut Turn) {
        match command {
            Command::Admit { task, labels } => self.demand(now, task, &labels),
            Command::Withdraw(task) => {
                self.governor.withdraw(task.0.into());
            }
            Command::Abort(task) => turn.effects.push(Effect::Abort(task)),
        }
    }

    /// Asks for a permit. A run's queue has no bound but the number of its tasks, so no demand is refused but a second
    /// one of the same task.
    fn demand(&mut self, now: Timestamp, task: TaskIx, labels: &Labels) {
        let tenant = labels.tenant.as_deref().map(|name| self.governor.tenant(name)).unwrap_or_default();
        let (class, priority) = (labels.class as u8, labels.priority as u8);
        let rank = Rank { class, tenant, priority, path: 0 };
        let one = |resource| Amount::of(resource, 1);
        let service = self.services.of(self.scheduler.node(task), &mut self.governor);
        let needs = [one(self.slots), one(service.unwrap_or(self.slots))];
        let needs = &needs[..if service.is_some() { 2 } else { 1 }];
        let _ = self.governor.demand(Demand { key: task.0.into(), rank, needs }, now);
    }

    /// Grants what can be granted; true if the scheduler has to look again.
    fn admit(&mut self, now: Timestamp, turn: &mut Turn) -> bool {
        let mut granted = false;
        (self.blocked, self.opens) = (None, None);
        while self.interrupt.is_none() {
            let key = match self.governor.admit(now) {
                Admission::Granted(key) => key,
                Admission::Blocked { key, on, until } => {
                    (self.blocked, self.opens) = (Some((task_of(key), on)), until);
                    break;
                }
                Admission::Spent { .. } | Admission::Idle => break,
            };
            granted = true;
            let task = task_of(key);
            match self.scheduler.launch(task, &self.store) {
                Launch::Start(assignment) => turn.effects.push(Effect::Launch(task, assignment)),
                Launch::Refused => self.free(task, Outcome::Unknown, now, turn),
            }
        }
        granted
    }

    /// Says what the queue waits for, when that changes.
    fn note_blocked(&mut self, now: Timestamp, turn: &mut Turn) {
        if let (Some((task, on)), false) = (self.blocked, self.was_blocked) {
            let (task, on) = (self.scheduler.id(task).clone(), self.governor.name(on).to_owned());
            self.push(now, Event::Blocked { task, on }, turn);
        }
        self.was_blocked = self.blocked.is_some();
    }
}

/// The task that a permit is for.
fn task_of(key: u64) -> TaskIx {
    TaskIx(u32::try_from(key).expect("keys of a run are numbers of tasks"))
}
