//! One run, driven to its end.

use crate::attempts::Attempts;
use crate::capacity::client::CapacityClient;
use crate::capacity::durations::Durations;
use crate::clock::Clock;
use crate::core::{Core, Effect};
use crate::error::EngineError;
use crate::fact::{CapacityFact, Fact, What};
use crate::failpoints;
use crate::handle::{Handle, Notice};
use crate::outcome::Outcome;
use crate::project::Projects;
use crate::snapshot::{Keeper, RULES};
use crate::tenure::Tenure;
use convoke_failpoint::failpoint;
use convoke_govern::Learned;
use convoke_journal::{Append, InboxMessage, Message, Writer};
use convoke_model::hash::HashMap;
use convoke_model::{Event, RunStatus, Stamped, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;

/// How often the inbox is looked at for messages of other processes.
pub(crate) const INBOX_PERIOD: Duration = Duration::from_millis(200);
/// How often it is told how capacity is used.
pub(crate) const METRICS_PERIOD: Duration = Duration::from_secs(1);
/// How long attempts may go on once the process was told to let go of the run.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
/// Facts taken into one turn at most: a bound for the size of a commit.
pub(crate) const TURN_LIMIT: usize = 16_384;

/// A run, ready to be driven.
pub struct Run {
    pub(crate) core: Core,
    pub(crate) writer: Arc<Writer>,
    pub(crate) attempts: Attempts,
    pub(crate) client: Option<Arc<CapacityClient>>,
    /// Whether the run is still ours.
    pub(crate) tenure: Arc<Tenure>,
    /// Why it is not, once that was noticed.
    pub(crate) lost: Option<convoke_journal::Error>,
    pub(crate) facts: UnboundedReceiver<Fact>,
    /// For answers to what the run itself asks of the outside.
    pub(crate) handle: Handle,
    /// What it shares with other runs, by the name of its place.
    pub(crate) projects: HashMap<String, Arc<dyn Projects>>,
    pub(crate) clock: Clock,
    pub(crate) watchers: Option<UnboundedSender<Notice>>,
    pub(crate) interrupted_at: Option<Instant>,
    pub(crate) interactive: bool,
    /// How long a journal that takes nothing is waited for.
    pub(crate) patience: Duration,
    pub(crate) next_poll: Instant,
    pub(crate) next_metrics: Instant,
    /// What was heard already and is not in a turn yet: from the inbox when the run was about to park, or during a pause.
    pub(crate) mail: Vec<Fact>,
    /// What the run begins with, not on disk yet.
    pub(crate) opening: Vec<Stamped>,
    /// Has snapshots taken, for a quick start of the next owner.
    pub(crate) snapshots: Keeper,
}

impl Run {
    /// Drives the run to its end, or to a place from which it can be resumed. This is the whole engine in one loop.
    pub async fn drive(mut self) -> Result<Outcome, EngineError> {
        let mut happened = Vec::new();
        loop {
            let now = self.clock.now();
            happened.extend(self.answers_in_time(now).await); // before the time of a question is over
            let turn = self.core.decide(now, happened); // schedule + govern: in memory
            self.commit(turn.events, turn.consumed).await?; // one commit for facts and decisions
            if !turn.effects.is_empty() {
                self.tenure.confirm().await?; // a process that was stopped meanwhile does nothing more
            }
            for effect in turn.effects {
                self.perform(effect); // launch, abort; never waits
            }
            if turn.cut_off {
                self.fold_again().await?; // a decision that was cut off is forgotten
            }
            if let Some(outcome) = self.outcome().await? {
                return Ok(self.concluded(outcome).await);
            }
            happened = self.listen().await; // facts since the last turn, each with its time
            self.lost.take().map_or(Ok(()), Err)?;
        }
    }

    /// Puts the run's beginning on disk before `drive`, for a caller that names the run to others first.
    pub async fn open(&mut self) -> Result<(), EngineError> {
        self.commit(Vec::new(), Vec::new()).await
    }

    /// Tells how capacity was used, keeps what was learned about it, and tells projects what they may forget.
    async fn concluded(&mut self, outcome: Outcome) -> Outcome {
        failpoint!("engine.end.before_settling");
        self.settle_projects(outcome.status).await;
        failpoint!("engine.end.settled");
        self.tell_metrics();
        if let Some(back) = self.core.permits.leave() {
            self.with_client(|client| client.give_back(back));
        }
        failpoint!("engine.end.left_capacity");
        let now = self.clock.now();
        let durations = self.core.permits.paths.durations(&self.core.scheduler, now);
        Outcome { learned: self.core.permits.learned(now), durations, ..outcome }
    }

    fn tell_metrics(&mut self) {
        let metrics = self.core.permits.metrics(self.clock.now());
        if let Some(watchers) = &self.watchers {
            let _ = watchers.send(Notice::Metrics(Box::new(metrics)));
        }
    }

    fn perform(&mut self, effect: Effect) {
        failpoints::before_effect(&effect);
        match effect {
            Effect::Launch(task, assignment, terms) => self.attempts.launch(task, *assignment, terms),
            Effect::Abort(task) => self.attempts.abort(task),
            Effect::Guide(task, text) => self.attempts.guide(task, text),
            Effect::LookUpFiles(task, paths) => self.look_up_files(task, paths),
            Effect::Patch { task, key, patch } => self.patch_project(task, key, patch),
            Effect::LetGo { task, back } => self.let_workspace_go(task, back),
            Effect::LookAtProof(task, look) => self.attempts.look(task, *look),
            Effect::AbortAll => self.attempts.abort_all(),
            // An attempt that is gone meanwhile has nothing left to learn.
            Effect::Acknowledge(written) => drop(written.send(())),
            Effect::StopCalls => self.attempts.stop_calls(),
            Effect::Answer(reply, answer) => drop(reply.send(*answer)),
            Effect::RequestLease { request, wants } => {
                self.with_client(|client| client.request(request, wants))
            }
            Effect::WithdrawRequest(request) => self.with_client(|client| client.withdraw(request)),
            Effect::GiveBack(back) => self.with_client(|client| client.give_back(back)),
            Effect::Subscribe { service, remembered } => {
                self.with_client(|client| client.subscribe(service, remembered));
            }
            Effect::CallStarted(service) => self.with_client(|client| client.call_started(service)),
            Effect::CallEnded(service) => self.with_client(|client| client.call_ended(service)),
            Effect::ReportSample { service, sample } => {
                self.with_client(|client| client.report_sample(service, sample))
            }
            Effect::Pause { service, pause } => self.with_client(|client| client.pause(service, pause)),
            Effect::Allow { budget, limit } => self.with_client(|client| client.allow(budget, limit)),
        }
    }

    /// A run that shares nothing asks for nothing.
    fn with_client(&self, act: impl FnOnce(&CapacityClient)) {
        if let Some(client) = &self.client {
            act(client);
        }
    }

    /// Makes events durable, then tells the watchers.
    async fn commit(
        &mut self,
        events: Vec<Stamped>,
        consumed: Vec<convoke_journal::MessageId>,
    ) -> Result<(), EngineError> {
        let mut all = std::mem::take(&mut self.opening);
        all.extend(events);
        if all.is_empty() {
            return Ok(());
        }
        let append = Append { events: all, blobs: self.core.store.take_pending(), consumed };
        failpoints::before_commit(&append.events);
        let events = self.make_durable(append).await?;
        failpoints::after_commit(&events);
        self.snapshots.note(&events);
        if let Some(watchers) = &self.watchers {
            let _ = watchers.send(Notice::Committed(events.into()));
        }
        Ok(())
    }

    /// Waits for the next facts: at least one, or a moment that something is due.
    async fn listen(&mut self) -> Vec<Fact> {
        let mut facts = std::mem::take(&mut self.mail);
        if !facts.is_empty() {
            return facts;
        }
        let wake = self.wake_at().unwrap_or(self.next_poll).min(self.next_poll);
        tokio::select! {
            biased;
            count = self.facts.recv_many(&mut facts, TURN_LIMIT) => {
                debug_assert!(count > 0, "the run's own handle keeps the channel open");
                self.note(&facts);
            }
            () = tokio::time::sleep_until(wake) => {}
        }
        // However busy the run is, a message of another process waits no longer than the period.
        if self.next_poll <= Instant::now() {
            facts.extend(self.messages().await);
        }
        self.expire_grace();
        if let Some(slept) = self.clock.wake_up() {
            // First of all: nothing may time out by a night in which nothing could run.
            self.tenure.doubt();
            facts.insert(0, Fact { at: self.clock.now(), what: What::Slept { time: slept } });
        }
        if let Some(crowd) = self.crowd() {
            facts.insert(0, crowd); // what ends in this turn gives back for others
        }
        facts
    }

    /// Whether other processes wait for what this one holds, if that has changed.
    fn crowd(&self) -> Option<Fact> {
        let waits = self.client.as_ref()?.is_crowded();
        let what = What::Capacity(CapacityFact::Crowded { waits });
        (waits != self.core.permits.crowded).then(|| Fact { at: self.clock.now(), what })
    }

    /// What changes how the run is driven.
    pub(crate) fn note(&mut self, facts: &[Fact]) {
        for fact in facts {
            match fact.what {
                What::Ended { task, .. } => self.attempts.ended(task),
                What::Mailed => self.next_poll = Instant::now(),
                What::Unattended => self.interactive = false,
                _ => {}
            }
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        if self.core.interrupt.is_some() {
            return self.interrupted_at.map(|at| at + INTERRUPT_GRACE);
        }
        self.core.next_wake().map(|at| self.clock.instant(at))
    }

    /// Attempts that have not ended by themselves when the grace is over are stopped.
    fn expire_grace(&mut self) {
        if self.interrupted_at.is_some_and(|at| at + INTERRUPT_GRACE <= Instant::now()) {
            self.attempts.abort_all();
        }
    }

    /// Takes what other processes have sent.
    async fn messages(&mut self) -> Vec<Fact> {
        self.next_poll = Instant::now() + INBOX_PERIOD;
        let is_due = self.next_metrics <= Instant::now();
        if is_due {
            self.next_metrics = Instant::now() + METRICS_PERIOD;
            self.tell_metrics();
        }
        let (reply, answer) = tokio::sync::oneshot::channel();
        let asked = std::time::Instant::now();
        self.writer.ask(move |journal| {
            let heard = journal.map(|journal| {
                let beat = if is_due { journal.beat() } else { Ok(()) };
                match beat.is_ok() && journal.inbox_changed() {
                    true => (journal.take_inbox().unwrap_or_default(), beat),
                    false => (Vec::new(), beat),
                }
            });
            let _ = reply.send(heard.unwrap_or_else(|error| (Vec::new(), Err(error))));
        });
        let (messages, beat) = answer.await.unwrap_or((Vec::new(), Ok(())));
        if !messages.is_empty() {
            failpoint!("engine.inbox.heard");
        }
        if is_due && beat.is_ok() {
            self.tenure.note(asked);
        }
        self.lost = beat.err().filter(|error| matches!(error, convoke_journal::Error::Fenced { .. }));
        let at = self.clock.now();
        messages.into_iter().map(|message| fact_of(message, at)).collect()
    }

    /// What was left for the run before the time of a question was over, where that is about to be noticed: an answer that was
    /// on disk in time counts, also if no process has driven the run since.
    async fn answers_in_time(&mut self, now: Timestamp) -> Vec<Fact> {
        if !self.core.is_question_due(now) {
            return Vec::new();
        }
        let (reply, answer) = tokio::sync::oneshot::channel();
        self.writer.ask(move |journal| {
            let heard =
                journal.and_then(|journal| journal.take_settled_inbox().or_else(|_| journal.take_inbox()));
            let _ = reply.send(heard);
        });
        // An inbox that cannot be read now is read at the next turn, as ever.
        let messages = answer.await.ok().and_then(Result::ok).unwrap_or_default();
        messages.into_iter().map(|message| fact_of(message, now)).collect()
    }

    /// Whether driving is over, and how.
    async fn outcome(&mut self) -> Result<Option<Outcome>, EngineError> {
        if let Some(finished) = self.core.scheduler.finished() {
            let output = finished.output.as_ref().and_then(|payload| self.core.store.text(payload));
            let outcome = Outcome {
                status: finished.status,
                output,
                failure: finished.failure.clone(),
                waiting: Vec::new(),
                learned: Learned::default(),
                durations: Durations::default(),
            };
            return Ok(Some(outcome));
        }
        if let Some(interrupt) = self.core.interrupt.clone() {
            self.interrupted_at.get_or_insert_with(Instant::now);
            return if self.attempts.len() == 0 { self.let_go(interrupt).await.map(Some) } else { Ok(None) };
        }
        // What nothing follows from any more only waits for the signal that cut it off to be heard here.
        if self.interactive || self.core.is_cut_off() {
            return Ok(None);
        }
        match self.core.scheduler.parked() {
            Some(waiting) if !self.has_mail().await => self.park(waiting).await.map(Some),
            _ => Ok(None),
        }
    }

    /// Whether the inbox has messages, perhaps from before a process drove the run: an answer must not be left behind.
    async fn has_mail(&mut self) -> bool {
        self.mail = self.messages().await;
        !self.mail.is_empty()
    }

    /// Takes the state that the journal stands for, in place of one that knows decisions which were forgotten.
    async fn fold_again(&mut self) -> Result<(), EngineError> {
        let (reply, answer) = tokio::sync::oneshot::channel();
        self.writer.ask(move |journal| {
            let _ = reply.send(journal.and_then(|journal| journal.recover(RULES)));
        });
        let history = answer.await.map_err(|_| convoke_journal::Error::Closed)??;
        let scheduler = crate::setup::fold_into(self.core.scheduler.begun_anew(), history)?;
        self.core.continue_from(scheduler);
        Ok(())
    }

    async fn let_go(&mut self, by: String) -> Result<Outcome, EngineError> {
        let event = self.core.stamp(self.clock.now(), Event::RunInterrupted { by });
        self.commit(vec![event], Vec::new()).await?;
        Ok(resting(RunStatus::Interrupted, Vec::new()))
    }

    async fn park(&mut self, waiting: Vec<convoke_model::TaskId>) -> Result<Outcome, EngineError> {
        let event = self.core.stamp(self.clock.now(), Event::RunParked { waiting: waiting.clone() });
        self.commit(vec![event], Vec::new()).await?;
        Ok(resting(RunStatus::Parked, waiting))
    }
}

/// The outcome of a run that has not come to its end.
fn resting(status: RunStatus, waiting: Vec<convoke_model::TaskId>) -> Outcome {
    let (learned, durations) = (Learned::default(), Durations::default());
    Outcome { status, output: None, failure: None, waiting, learned, durations }
}

fn fact_of(message: InboxMessage, at: Timestamp) -> Fact {
    let id = Some(message.id);
    let what = match message.body {
        Message::Answer(reply) => What::Answered { reply, sent: message.at, message: id },
        Message::Guide { text, by } => What::Guided { task: None, text, by, message: id },
        Message::GuideTask { task, text, by } => What::Guided { task: Some(task), text, by, message: id },
        Message::Stop { now, by } => What::Stop { now, by, message: id },
        Message::Unreadable { .. } => What::Unreadable { message: id },
    };
    Fact { at, what }
}
