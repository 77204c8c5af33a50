//! A run as it is decided about: the state that its events stand for, and the turn that follows from facts. Waits for nothing but
//! large values that are not at hand.
//!
//! A host may come to be in any process and be forgotten in any: what it knows besides the events is in the [`Book`]. Attempts go on
//! while their run changes hands, so a host that takes the place of another has them hold their permits again.
//!
//! Kept true: what an attempt says after the run knows of its end changes nothing, and is noted where it cost something.

use crate::wire::{
    Act, Begin, Book, ClusterFact, Decided, FORMAT, Head, Home, Interrupt, Launch, OpenCall, Reopen,
    RunOptions, Said, attempt_name,
};
use convoke_agent::Admitted;
use convoke_engine::{Beginning, Changes, Core, Effect, EngineError, Fact, Start, Store, What};
use convoke_handover::Permission;
use convoke_journal::Message;
use convoke_model::{
    AttemptEnd, Class, Digest, Event, Failure, JsonText, RunId, RunStarted, RunStatus, Stamped, TaskId,
    Timestamp, Usage, Work,
};
use convoke_plan::Plan;
use convoke_schedule::{TaskIx, TaskState};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long attempts may go on once the command that watches the run was told to let go of it.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
/// Processes whose batches are remembered; one that was silent for longer has nothing left to send.
const MOST_SENDERS: usize = 256;

/// Looks up large values.
pub type Load = Box<dyn Fn(Digest) -> Option<JsonText> + Send>;

/// A run in memory.
pub struct Hosted {
    run: RunId,
    core: Core,
    options: RunOptions,
    /// How far the run has come in this state.
    head: Head,
    book: Book,
    /// Calls that were asked for and not answered yet.
    waiting: Vec<Waiting>,
    /// What happened before the first facts: of a host that takes the place of another.
    before: Vec<Fact>,
    /// What the run begins with, not recorded yet.
    opening: Vec<Stamped>,
}

struct Waiting {
    /// `None`: it was answered once; the core needs to know of the call all the same.
    awakeable: Option<String>,
    answer: oneshot::Receiver<Result<Admitted, Failure>>,
}

/// What a host is made of.
pub struct Past {
    /// The plan.
    pub plan: Arc<Plan>,
    /// All events.
    pub events: Vec<Stamped>,
    /// How the run is decided about.
    pub options: RunOptions,
}

impl Hosted {
    /// A run that begins.
    pub fn begin(
        run: RunId,
        plan: Plan,
        started: RunStarted,
        begin: &Begin,
        load: Load,
    ) -> Result<Hosted, EngineError> {
        let past = Past { plan: Arc::new(plan), events: Vec::new(), options: begin.options.clone() };
        let owned = owned(1, begin.pid, &begin.host);
        Hosted::taken_up(run, past, Head::default(), Start::Fresh(Box::new(started)), owned, begin.at, load)
    }

    /// A run that has stopped and is resumed.
    pub fn reopen(
        run: RunId,
        past: Past,
        head: Head,
        reopen: &Reopen,
        load: Load,
    ) -> Result<Hosted, EngineError> {
        let past = Past { options: reopen.options.clone(), ..past };
        let owned = owned(head.epoch + 1, reopen.pid, &reopen.host);
        Hosted::taken_up(run, past, head, Start::Resume(Changes::None), owned, reopen.at, load)
    }

    fn taken_up(
        run: RunId,
        past: Past,
        head: Head,
        start: Start,
        owned: Event,
        now: Timestamp,
        load: Load,
    ) -> Result<Hosted, EngineError> {
        let Past { plan, events, options } = past;
        let store = Store::new(load);
        let blob = |digest: &Digest| convoke_schedule::Outputs::get(&store, digest);
        let limits = (options.max_concurrency, &options.limits);
        let beginning = Beginning::of(&plan, events, start, limits, owned, &blob)?;
        let (core, opening) = beginning.core(store, Vec::new(), now)?;
        let head = Head { epoch: head.epoch + 1, ..head };
        let (book, waiting, before) = (Book::default(), Vec::new(), Vec::new());
        Ok(Hosted { run, core, options, head, book, waiting, before, opening })
    }

    /// A run that another process decided about until now.
    pub fn attending(
        run: RunId,
        past: Past,
        (head, book): (Head, Book),
        now: Timestamp,
        load: Load,
    ) -> Result<Hosted, EngineError> {
        let Past { plan, events, options } = past;
        let limits = (options.max_concurrency, &options.limits);
        let beginning = Beginning::attending(&plan, events, limits)?;
        let (mut core, opening) = beginning.core(Store::new(load), Vec::new(), now)?;
        core.hold_running(now);
        let mut hosted =
            Hosted { run, core, options, head, book, waiting: Vec::new(), before: Vec::new(), opening };
        hosted.before = hosted.known_before(now);
        Ok(hosted)
    }

    /// What the book says, as facts.
    fn known_before(&mut self, now: Timestamp) -> Vec<Fact> {
        let mut facts = Vec::new();
        if let Some(Interrupt { by, .. }) = self.book.interrupt.clone() {
            facts.push(Fact { at: now, what: What::Interrupt { now: false, by } });
        }
        for OpenCall { demand, awakeable } in self.book.calls.clone() {
            let asked = self.live(&demand.task, demand.attempt).map(|task| (task, demand));
            facts.extend(
                asked.map(|(task, demand)| Fact { at: now, what: self.asked(task, demand, awakeable) }),
            );
        }
        facts
    }

    /// Whether this is the state after these.
    pub fn is_at(&self, head: &Head, book: &Book) -> bool {
        self.head == *head && self.book == *book
    }

    /// Decides everything that follows from what happened.
    pub fn decide(&mut self, now: Timestamp, facts: Vec<ClusterFact>) -> Decided {
        let mut events = std::mem::take(&mut self.opening);
        let mut happened = std::mem::take(&mut self.before);
        let mut ended = HashSet::new();
        for fact in facts {
            match self.take(fact, now, &mut ended) {
                Taken::Fact(fact) => happened.push(fact),
                Taken::Note(note) => events.extend(self.note(now, *note)),
                Taken::Nothing => {}
            }
        }
        self.grace_is_over(now, &mut happened);
        let turn = self.core.decide(now, happened);
        events.extend(turn.events);
        let mut acts = Vec::new();
        turn.effects.into_iter().for_each(|effect| self.perform(effect, &mut acts));
        self.answer(&mut acts);
        self.forget_ended_calls();
        let status = self.rest(now, &mut events);
        self.wake(now, status, &mut acts);
        self.advance(&events, status, &mut acts);
        let (head, book) = (self.head.clone(), self.book.clone());
        let (blobs, stored) = (self.core.store.take_pending(), Vec::new());
        Decided { events, blobs, stored, head, book, acts }
    }

    fn take(&mut self, fact: ClusterFact, now: Timestamp, ended: &mut HashSet<TaskIx>) -> Taken {
        let at = fact.at.min(now);
        let what = match fact.said {
            Said::Ended { task, attempt, end } => match self.live(&task, attempt) {
                Some(live) if ended.insert(live) => What::Ended { task: live, attempt, end: *end },
                _ => return stale(task, attempt, &end),
            },
            Said::Reported { task, attempt, report } => match self.live(&task, attempt) {
                Some(task) => What::Reported { task, attempt, report: report.into() },
                None => return Taken::Nothing,
            },
            Said::CallAsked { demand, awakeable } => match self.live(&demand.task, demand.attempt) {
                Some(task) => {
                    let call = OpenCall { demand: (*demand).clone(), awakeable: Some(awakeable.clone()) };
                    self.book.calls.push(call);
                    self.asked(task, *demand, Some(awakeable))
                }
                None => {
                    self.waiting.push(Waiting::in_vain(awakeable));
                    return Taken::Nothing;
                }
            },
            Said::CallEnded { task, attempt, usage, outcome } => {
                self.forget_call(&task, attempt);
                match self.live(&task, attempt) {
                    Some(task) => What::CallEnded { task, attempt, usage, outcome },
                    None => return Taken::Nothing,
                }
            }
            Said::Turned { task, attempt, record } => match self.live(&task, attempt) {
                Some(task) => What::Turned { task, attempt, record: *record, written: unheard() },
                None => return Taken::Nothing,
            },
            Said::Proof { task, attempt, told } => match self.live(&task, attempt) {
                Some(task) => What::Proof { task, attempt, told, written: unheard() },
                None => return Taken::Nothing,
            },
            Said::ToolsSettled { task, attempt, allowed } => match self.live(&task, attempt) {
                Some(task) => What::ToolsSettled { task, attempt, allowed, written: unheard() },
                None => return Taken::Nothing,
            },
            Said::Message(message) => match *message {
                Message::Answer(reply) => What::Answered { reply, sent: at, message: None },
                Message::Guide { text, by } => What::Guided { task: None, text, by, message: None },
                Message::Stop { now, by } => What::Stop { now, by, message: None },
                // Refused where it is said; what comes all the same is told as not understood.
                Message::GuideTask { .. } | Message::Unreadable { .. } => What::Unreadable { message: None },
            },
            Said::Interrupt { now: at_once, by } => {
                let until = if at_once { now } else { now + INTERRUPT_GRACE };
                self.book.interrupt = Some(Interrupt { by: by.clone(), until });
                What::Interrupt { now: at_once, by }
            }
        };
        Taken::Fact(Fact { at, what })
    }

    /// The task, if this attempt of it is under way as far as the run knows.
    fn live(&self, task: &TaskId, attempt: u32) -> Option<TaskIx> {
        let scheduler = &self.core.scheduler;
        let is_live = |task: &TaskIx| {
            scheduler.state(*task) == TaskState::Running && scheduler.attempts(*task) == attempt
        };
        scheduler.find(task).filter(is_live)
    }

    fn asked(&mut self, task: TaskIx, demand: convoke_agent::CallDemand, awakeable: Option<String>) -> What {
        let (reply, answer) = oneshot::channel();
        let attempt = demand.attempt;
        self.waiting.push(Waiting { awakeable, answer });
        What::CallAsked { task, attempt, demand, reply }
    }

    /// A remark that changes nothing.
    fn note(&mut self, now: Timestamp, event: Event) -> Option<Stamped> {
        let stamped = self.core.stamp(now, event);
        self.core.scheduler.apply(&stamped).ok().map(|()| stamped)
    }

    /// Attempts that have not ended by themselves when the grace is over are stopped.
    fn grace_is_over(&self, now: Timestamp, happened: &mut Vec<Fact>) {
        if let Some(Interrupt { by, .. }) = self.book.interrupt.as_ref().filter(|order| order.until <= now) {
            happened.push(Fact { at: now, what: What::Interrupt { now: true, by: by.clone() } });
        }
    }

    fn perform(&mut self, effect: Effect, acts: &mut Vec<Act>) {
        match effect {
            Effect::Launch(task, mut assignment, terms) => {
                if let Work::Script(call) = &mut assignment.work {
                    call.survival = None; // a plan that asks for it is refused before it begins
                }
                if let Some(proof) = &mut assignment.proof {
                    proof.baseline = None; // another attempt may have seen the files of another machine
                }
                let name = self.name(task);
                let launch = Launch {
                    run: self.run.clone(),
                    assignment: Some(assignment),
                    stored: None,
                    calls: terms.calls.into(),
                };
                acts.push(Act::Launch { name, launch: Box::new(launch) });
            }
            Effect::Abort(task) => acts.push(Act::Abort { name: self.name(task) }),
            Effect::AbortAll => {
                let running = self.running().map(|task| Act::Abort { name: self.name(task) });
                acts.extend(running.collect::<Vec<_>>());
            }
            Effect::Answer(reply, answer) => drop(reply.send(*answer)),
            Effect::Acknowledge(written) => drop(written.send(())),
            // Attempts look at the run before each call: that it is stopping is in its state.
            Effect::StopCalls => {}
            // The words of a person to one agent are refused where they are said.
            Effect::Guide(..) => {}
            // Plans that need these are refused before they begin.
            Effect::LookUpFiles(..)
            | Effect::Patch { .. }
            | Effect::LetGo { .. }
            | Effect::LookAtProof(..) => {}
            // A run of its own shares nothing yet.
            Effect::RequestLease { .. }
            | Effect::WithdrawRequest(_)
            | Effect::GiveBack(_)
            | Effect::Subscribe { .. }
            | Effect::CallStarted(_)
            | Effect::CallEnded(_)
            | Effect::ReportSample { .. }
            | Effect::Pause { .. }
            | Effect::Allow { .. } => {}
        }
    }

    fn name(&self, task: TaskIx) -> String {
        let scheduler = &self.core.scheduler;
        attempt_name(&self.run, scheduler.id(task), scheduler.attempts(task))
    }

    fn running(&self) -> impl Iterator<Item = TaskIx> {
        let scheduler = &self.core.scheduler;
        scheduler.tasks().filter(|task| scheduler.state(*task) == TaskState::Running)
    }

    /// Sends the answers that the turn has given to those that wait for them.
    fn answer(&mut self, acts: &mut Vec<Act>) {
        let mut still = Vec::new();
        for mut waiting in std::mem::take(&mut self.waiting) {
            let answer = match waiting.answer.try_recv() {
                Ok(answer) => answer,
                Err(oneshot::error::TryRecvError::Empty) => {
                    still.push(waiting);
                    continue;
                }
                Err(oneshot::error::TryRecvError::Closed) => {
                    Err(Failure::new(Class::Cancelled, "the attempt ended before the call could be made"))
                }
            };
            let answer = answer.map(|admitted| match admitted {
                Admitted::Go(_) => Permission::Go,
                Admitted::Instead(model) => Permission::Instead(model),
            });
            let goes = matches!(answer, Ok(Permission::Go));
            if let Some(awakeable) = waiting.awakeable {
                self.note_answer(&awakeable, goes);
                acts.push(Act::Answer { awakeable, answer });
            }
        }
        self.waiting = still;
    }

    fn note_answer(&mut self, awakeable: &str, goes: bool) {
        self.book.calls.retain_mut(|call| {
            if call.awakeable.as_deref() != Some(awakeable) {
                return true;
            }
            call.awakeable = None;
            goes
        });
    }

    fn forget_call(&mut self, task: &TaskId, attempt: u32) {
        let is_it = |call: &OpenCall| call.demand.task == *task && call.demand.attempt == attempt;
        self.book.calls.retain(|call| call.awakeable.is_some() || !is_it(call));
    }

    /// Calls of attempts that are over are over.
    fn forget_ended_calls(&mut self) {
        let calls = std::mem::take(&mut self.book.calls);
        let is_open = |call: &OpenCall| self.live(&call.demand.task, call.demand.attempt).is_some();
        self.book.calls = calls.into_iter().filter(is_open).collect();
    }

    /// How the run stands after a turn; where it stops before its end, that is an event.
    fn rest(&mut self, now: Timestamp, events: &mut Vec<Stamped>) -> RunStatus {
        if let Some(finished) = self.core.scheduler.finished() {
            return finished.status;
        }
        if let Some(by) = self.core.interrupt.clone() {
            if self.running().next().is_some() {
                return RunStatus::Running;
            }
            if self.head.status != Some(RunStatus::Interrupted) {
                events.extend(self.note(now, Event::RunInterrupted { by }));
            }
            return RunStatus::Interrupted;
        }
        match self.core.scheduler.parked() {
            Some(waiting) if !self.options.interactive => {
                if self.head.status != Some(RunStatus::Parked) {
                    events.extend(self.note(now, Event::RunParked { waiting }));
                }
                RunStatus::Parked
            }
            _ => RunStatus::Running,
        }
    }

    /// Has the run woken when something is due, unless that is on its way.
    fn wake(&mut self, now: Timestamp, status: RunStatus, acts: &mut Vec<Act>) {
        if status != RunStatus::Running {
            return self.book.wake = None;
        }
        let grace = self.book.interrupt.as_ref().map(|interrupt| interrupt.until);
        let due = match self.core.interrupt {
            Some(_) => grace.filter(|until| *until > now),
            None => self.core.next_wake(),
        };
        let Some(at) = due else { return };
        if self.book.wake.is_some_and(|under_way| now < under_way && under_way <= at) {
            return;
        }
        self.book.wake = Some(at);
        acts.push(Act::Wake { at, delay: at.since(now).as_micros() as u64 });
    }

    fn advance(&mut self, events: &[Stamped], status: RunStatus, acts: &mut Vec<Act>) {
        if self.head.status != Some(status) {
            acts.push(Act::List);
        }
        self.head.status = Some(status);
        self.head.stopping = self.core.scheduler.is_stopping() || self.core.interrupt.is_some();
        let Some(last) = events.last() else { return };
        let chunk = serde_json::to_vec(events).expect("events are JSON");
        self.head = Head {
            format: FORMAT,
            turns: self.head.turns + 1,
            next_seq: last.seq + 1,
            hash: chain(&self.head.hash, &chunk),
            at: last.at,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..self.head.clone()
        };
    }

    /// The process that has this state at hand from now on.
    pub fn set_home(&mut self, home: Home) {
        self.book.home = Some(home);
    }

    /// Remembers the last batch of a process; false if it was taken before.
    pub fn is_new(book: &Book, sender: &crate::wire::Sender) -> bool {
        book.senders.get(&sender.process).is_none_or(|last| *last < sender.batch)
    }

    /// The batch is taken with the turn that follows.
    pub fn note_sender(&mut self, sender: crate::wire::Sender) {
        self.book.senders.insert(sender.process, sender.batch);
        if self.book.senders.len() > MOST_SENDERS {
            // Names begin with the time at which their process did, so the first is the oldest.
            self.book.senders.pop_first();
        }
    }
}

/// The hash over all turns, with one more.
pub fn chain(before: &str, chunk: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before.as_bytes());
    hasher.update(chunk);
    hasher.finalize().to_hex().to_string()
}

enum Taken {
    Fact(Fact),
    Note(Box<Event>),
    Nothing,
}

impl Waiting {
    /// A call of an attempt that is over: the answer is that it may not be made.
    fn in_vain(awakeable: String) -> Waiting {
        let (_, answer) = oneshot::channel();
        Waiting { awakeable: Some(awakeable), answer }
    }
}

/// What an attempt says that the run does not wait for any more. What it cost is noted, so that no money is spent without a word.
fn stale(task: TaskId, attempt: u32, end: &AttemptEnd) -> Taken {
    let usage = match end {
        AttemptEnd::Finished { usage, .. }
        | AttemptEnd::Failed { usage, .. }
        | AttemptEnd::Suspended { usage, .. } => *usage,
        AttemptEnd::Lost | AttemptEnd::Detached | AttemptEnd::Probed(_) => Usage::default(),
    };
    if usage.is_zero() {
        return Taken::Nothing;
    }
    let tokens = usage.input_tokens + usage.output_tokens;
    let message = format!(
        "attempt {attempt} of `{task}` ended after it was given up; its result is not used ({tokens} tokens)"
    );
    Taken::Note(Box::new(Event::Noted { task: Some(task), code: "stale_result".into(), message }))
}

/// The delivery itself is the acknowledgement.
fn unheard() -> oneshot::Sender<()> {
    oneshot::channel().0
}

fn owned(epoch: u64, pid: u32, host: &str) -> Event {
    Event::RunOwned { epoch, pid, host: host.to_owned(), uptime: None }
}

#[cfg(test)]
mod tests;
