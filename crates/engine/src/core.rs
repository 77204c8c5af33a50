//! Deciding, apart from doing: facts in, decisions and effects out.
//!
//! The scheduler and the permits behind one interface. No clock, no disk, no runtime: [`Run`](crate::Run) gives it facts and
//! carries out its effects, and so does the simulated world of the tests. What each kind of fact means is in `take`.

mod attending;
mod cut_off;
mod guidance;
mod proof;
mod take;
mod waiting;
mod workspace;

pub use guidance::MOST_GUIDANCE;

pub use take::stopping;

use crate::capacity::budget::accounts::SpentNote;
use crate::capacity::calls::too_much;
use crate::capacity::permits::{Next, Owner, Permits, Precedence, owner_of};
use crate::capacity::terms::{RequestNo, Return, Terms, Want};
use crate::fact::{CallReply, Fact};
use crate::store::Store;
use convoke_agent::Admitted;
use convoke_govern::{Adapted, LearnedLimit, Outcome, Refused, Sample};
use convoke_journal::MessageId;
use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{
    Assignment, BudgetSpent, Class, Event, Failure, LimitAdapted, LimitReason, LimitSetting, MergeMode,
    ProofLook, Stamped, TaskId, Timestamp, reason,
};
use convoke_schedule::{Command, Launch, Scheduler, TaskIx};
use std::time::Duration;
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
    /// Whether a rendering was cancelled, so that only what had happened is left of the turn. The state is to be folded
    /// again from the journal ([`Core::continue_from`]).
    pub cut_off: bool,
}

/// What to do once a turn is on disk.
pub enum Effect {
    /// Start an attempt, on these terms.
    Launch(TaskIx, Box<Assignment>, Terms),
    /// Stop an attempt.
    Abort(TaskIx),
    /// Stop every attempt.
    AbortAll,
    /// Tell an attempt what a person said to its task.
    Guide(TaskIx, String),
    /// Look whether files exist. The answer is a fact.
    LookUpFiles(TaskIx, Vec<String>),
    /// Change what the runs of the project share. The answer is a fact.
    Patch {
        /// The task that changes it.
        task: TaskIx,
        /// Names the change in this run.
        key: String,
        /// The change.
        patch: convoke_model::JsonText,
    },
    /// Let go of a task's workspace, after bringing its work back where that is said. The answer is a fact.
    LetGo {
        /// The task.
        task: TaskIx,
        /// How its work comes back before.
        back: Option<MergeMode>,
    },
    /// Look at the work of a task that has parts, where it must be proven. The answer is a fact.
    LookAtProof(TaskIx, Box<ProofLook>),
    /// Tell an attempt that what it wrote down is on disk.
    Acknowledge(oneshot::Sender<()>),
    /// Let attempts make no further call: the run is stopping.
    StopCalls,
    /// Tell an attempt whether it may make a call.
    Answer(CallReply, Box<Result<Admitted, Failure>>),
    /// Ask for capacity that all processes share, all of it at once. The answer is a fact.
    RequestLease {
        /// Names the request.
        request: RequestNo,
        /// What is wanted.
        wants: Vec<Want>,
    },
    /// Take a lease request back.
    WithdrawRequest(RequestNo),
    /// Give shared capacity back.
    GiveBack(Return),
    /// Take part in what processes learn of a service together, and pause when another one is told to.
    Subscribe {
        /// The service's resource.
        service: String,
        /// What earlier runs have learned, used if no live process knows anything yet.
        remembered: Option<LearnedLimit>,
    },
    /// A call is made to a service of which nothing is known yet, and without a lease of it.
    CallStarted(String),
    /// Such a call has ended.
    CallEnded(String),
    /// Report how a call to a service fared, for all processes.
    ReportSample {
        /// The service's resource.
        service: String,
        /// How it fared.
        sample: Sample,
    },
    /// Tell other processes that a service said to come back after so long.
    Pause {
        /// The service's resource.
        service: String,
        /// How long from now on.
        pause: Duration,
    },
    /// A person allows so much of a budget, for all processes if they share it.
    Allow {
        /// The budget.
        budget: String,
        /// How much in all: millionths of a dollar, or tokens.
        limit: u64,
    },
}

/// The deciding half of a run.
pub struct Core {
    /// Plan and events to decisions.
    pub scheduler: Scheduler,
    /// Which attempts and calls may start.
    pub permits: Permits,
    /// Large values.
    pub store: Store,
    next_seq: u64,
    last: Timestamp,
    /// The names of places where projects are kept, those of one place together where it has several.
    pub same_places: Vec<Vec<String>>,
    /// The number of the event that opened each task's last question.
    questions: HashMap<TaskId, u64>,
    /// The author of the request to let go of the run, once there is one.
    pub interrupt: Option<String>,
    /// Attempts that are stopped because their lease ran out.
    fenced: HashSet<TaskIx>,
    /// Attempts whose performers are silent: what they hold may be in use after their end.
    silent: HashSet<TaskIx>,
    /// How much of what was said to its task each running attempt has heard.
    heard: HashMap<TaskIx, usize>,
    /// Attempts that went on while the state was folded anew and for which no permit was to be had again.
    unheld: HashSet<TaskIx>,
    /// A task that waits for a permit and the resource that it waits for, at the end of the last turn.
    blocked: Option<(TaskIx, String)>,
    /// When it is worth asking for permits again though nothing has happened.
    opens: Option<Timestamp>,
    was_blocked: bool,
    /// A breaker has opened, and the tasks that wait for it were not looked at yet.
    breaker_opened: bool,
    /// A rendering was cancelled: facts are recorded, and nothing is decided any more.
    cut_off: bool,
}

impl Core {
    /// A core that goes on from a state.
    pub fn new(scheduler: Scheduler, permits: Permits, store: Store, next_seq: u64, last: Timestamp) -> Core {
        Core {
            scheduler,
            permits,
            store,
            next_seq,
            last,
            same_places: Vec::new(),
            questions: HashMap::default(),
            interrupt: None,
            fenced: HashSet::default(),
            silent: HashSet::default(),
            heard: HashMap::default(),
            unheld: HashSet::default(),
            blocked: None,
            opens: None,
            was_blocked: false,
            breaker_opened: false,
            cut_off: false,
        }
    }

    /// The next moment at which something is due though nothing happens.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.is_cut_off() {
            return None;
        }
        let timer = self.scheduler.next_wake();
        let postponed = self.permits.calls.next_postponed();
        timer.into_iter().chain(self.opens).chain(self.permits.waits.next()).chain(postponed).min()
    }

    /// Whether a timer is due while a task waits for an answer, so that what was answered before is to be heard first.
    pub fn is_question_due(&self, now: Timestamp) -> bool {
        !self.is_cut_off()
            && self.scheduler.is_asking()
            && self.scheduler.next_wake().is_some_and(|at| at <= now)
    }

    /// Decides everything that follows from what happened.
    pub fn decide(&mut self, now: Timestamp, happened: Vec<Fact>) -> Turn {
        let mut turn = Turn::default();
        // As a rule a fact is an event, and the start that follows from it is another and an effect.
        turn.events.reserve(2 * happened.len());
        turn.effects.reserve(happened.len());
        for fact in happened {
            if self.is_heard(&fact) {
                self.take(fact, &mut turn);
            }
        }
        let facts = self.facts_of(&turn);
        if !self.is_cut_off() {
            self.follow(now, &mut turn);
        }
        if self.is_cut_off() {
            self.keep_facts(&facts, &mut turn);
        }
        turn
    }

    /// Decides what follows from the facts of a turn.
    fn follow(&mut self, now: Timestamp, turn: &mut Turn) {
        loop {
            let mut decided = self.scheduler.decide(now, &self.store);
            if self.is_rendering_cancelled() {
                return;
            }
            decided.events.drain(..).for_each(|event| self.push(now, event, turn));
            let decided_so_far = turn.events.len();
            decided.commands.drain(..).for_each(|command| self.execute(now, command, turn));
            self.scheduler.reuse(decided);
            self.fail_those_that_wait(now, turn);
            self.turn_waiting_away(now, turn);
            self.permits.admit_postponed(now, &mut turn.effects);
            if !self.admit(now, turn) && turn.events.len() == decided_so_far {
                break;
            }
        }
        self.note_reserved(now, turn);
        self.note_spent(now, turn);
        self.permits.settle_turn(now, &mut turn.effects);
        let remembered = std::mem::take(&mut self.permits.services.adapted);
        remembered.into_iter().for_each(|adapted| self.adapted(adapted, turn));
        self.note_blocked(now, turn);
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
        let stamped = Stamped { seq, at: self.last, event };
        self.note_question(&stamped);
        stamped
    }

    /// Remembers which question a task asks, for answers from outside.
    pub fn note_question(&mut self, stamped: &Stamped) {
        if let Event::GateOpened { task, .. } = &stamped.event {
            self.questions.insert(task.clone(), stamped.seq);
        }
    }

    fn adapted(&mut self, adapted: Adapted, turn: &mut Turn) {
        let heard = adapted.reason == LimitReason::Shared;
        if adapted.reason == LimitReason::BreakerOpened {
            self.breaker_opened = true;
            self.note_breaker(&adapted, turn);
        }
        if adapted.setting == LimitSetting::PausedUntil && adapted.to > adapted.at.0 && !heard {
            let service = self.permits.governor.name(adapted.resource).to_owned();
            let pause = Duration::from_micros(adapted.to - adapted.at.0);
            turn.effects.push(Effect::Pause { service, pause });
        }
        let event = LimitAdapted {
            resource: self.permits.governor.name(adapted.resource).to_owned(),
            setting: adapted.setting,
            from: adapted.from,
            to: adapted.to,
            reason: adapted.reason,
            origin: None,
        };
        self.push(adapted.at, Event::LimitAdapted(event), turn);
    }

    /// A breaker has opened: it is said how long it is waited for.
    fn note_breaker(&mut self, adapted: &Adapted, turn: &mut Turn) {
        let breaker = self.permits.governor.name(adapted.resource);
        let pause = Duration::from_micros(adapted.to.saturating_sub(adapted.at.0)).as_secs();
        let most = self.permits.services.longest_wait().as_secs();
        let message = format!(
            "`{breaker}` is open for {pause} s after failures in a row; a step without another way waits for a probe that goes \
             well, for {most} s at most, or for its `max_wait` if that is shorter"
        );
        self.push(adapted.at, Event::Noted { task: None, code: reason::BREAKER_OPEN.into(), message }, turn);
    }

    fn execute(&mut self, now: Timestamp, command: Command, turn: &mut Turn) {
        match command {
            // A process that was told to let go of the run begins nothing more.
            Command::Admit(_) if self.interrupt.is_some() => {}
            Command::Admit(task) => self.demand(now, task, turn),
            Command::Withdraw(task) => {
                self.permits.withdraw(task);
            }
            Command::Abort(task) => turn.effects.push(Effect::Abort(task)),
            Command::LookUpFiles { task, paths } => turn.effects.push(Effect::LookUpFiles(task, paths)),
            Command::LetGo { task, back } => turn.effects.push(Effect::LetGo { task, back }),
            Command::LookAtProof { task, look } => turn.effects.push(Effect::LookAtProof(task, look)),
            Command::Patch { task, key, patch } => {
                if let Some(patch) = self.store.text(&patch) {
                    turn.effects.push(Effect::Patch { task, key, patch });
                }
            }
        }
    }

    /// Asks for a permit. A task whose permit can never be had fails.
    fn demand(&mut self, now: Timestamp, task: TaskIx, turn: &mut Turn) {
        if self.fails_at_once(now, task, turn) {
            return;
        }
        self.permits.pay(task, &self.scheduler);
        // What is done for a goal holds up what the goal holds up, each in the goal's own order.
        let (of, order) = self.scheduler.priority_in_goal(task).unwrap_or((task, 0));
        let path = self.permits.paths.of(of, &self.scheduler);
        let precedence = Precedence { labels: self.scheduler.labels(task), path, order };
        let refused = self.permits.demand(task, self.scheduler.node(task), precedence, now).err();
        match refused {
            Some(refused) => self.not_admitted(now, task, &refused, turn),
            None => self.bound_wait(task, now),
        }
    }

    /// A task fails whose permit can never be had.
    fn never_starts(&mut self, now: Timestamp, task: TaskIx, why: &Refused, turn: &mut Turn) {
        let step = &self.scheduler.node(task).name;
        let failure = Failure::new(Class::Capacity, format!("step `{step}` cannot start: {why}"))
            .reason("never_fits")
            .hint("convoke capacity shows every limit and where it comes from");
        let event = Event::TaskFailed { task: self.scheduler.id(task).clone(), failure };
        self.happen(now, event, turn);
    }

    /// A limit has changed: an attempt or call that waits for more than there will ever be fails instead.
    fn turn_away(&mut self, now: Timestamp, turn: &mut Turn) {
        for (owner, why) in self.permits.impossible(now) {
            match owner {
                Owner::Attempt(task) => self.never_starts(now, task, &why, turn),
                Owner::Call(call) => self.permits.refuse(call, Err(too_much(&why)), &mut turn.effects),
            }
        }
    }

    /// Grants what can be granted; true if the scheduler has to look again.
    fn admit(&mut self, now: Timestamp, turn: &mut Turn) -> bool {
        let mut granted = false;
        (self.blocked, self.opens) = (None, None);
        loop {
            let task = match self.permits.admit(now, &mut turn.effects) {
                Next::Start(task) => task,
                Next::Blocked(key, on, until) => {
                    let worth_telling = self.permits.is_worth_telling(on);
                    let on = self.permits.governor.name(on).to_owned();
                    self.blocked = self.task_of(key).filter(|_| worth_telling).map(|task| (task, on));
                    self.opens = until;
                    break;
                }
                Next::Idle => break,
            };
            granted = true;
            self.launch(task, now, turn);
        }
        granted
    }

    fn launch(&mut self, task: TaskIx, now: Timestamp, turn: &mut Turn) {
        let lease = self.permits.lease_of(task);
        match self.scheduler.launch(task, lease, &self.store) {
            Launch::Start(assignment) => {
                self.permits.paths.begin(task, now);
                let (node, agent) = (self.scheduler.node(task), self.scheduler.agent_of(task));
                let terms = self.permits.terms(task, node, agent, now, &mut turn.effects);
                turn.effects.push(Effect::Launch(task, assignment, terms));
            }
            Launch::Refused => drop(self.permits.end(task, Outcome::Unknown, now, &mut turn.effects)),
        }
    }

    fn task_of(&self, key: u64) -> Option<TaskIx> {
        match owner_of(key) {
            Owner::Attempt(task) => Some(task),
            Owner::Call(call) => self.permits.calls.task_of(call),
        }
    }

    /// Writes down what calls can cost before they are made: their process may not live to say what they did.
    fn note_reserved(&mut self, now: Timestamp, turn: &mut Turn) {
        for (task, worst) in self.permits.calls.take_reserved() {
            let (task, attempt) = (self.scheduler.id(task).clone(), self.scheduler.attempts(task));
            self.push(now, Event::CallReserved { task, attempt, worst }, turn);
        }
    }

    /// Says which budgets are spent, and what follows.
    fn note_spent(&mut self, now: Timestamp, turn: &mut Turn) {
        for SpentNote { budget, then, by_all } in self.permits.accounts.take_notes() {
            let governor = &mut self.permits.governor;
            let spent = governor.spent_of(budget, now);
            // What this process has set aside for the refused call itself is not among what all have used.
            let used = by_all.unwrap_or_else(|| governor.used(budget, now)).max(spent);
            let limit = governor.limit(budget);
            let budget = governor.name(budget).to_owned();
            self.push(now, Event::BudgetSpent(BudgetSpent { budget, used, limit, then }), turn);
        }
    }

    /// Says what the queue waits for, when that changes.
    fn note_blocked(&mut self, now: Timestamp, turn: &mut Turn) {
        if let (Some((task, on)), false) = (self.blocked.clone(), self.was_blocked) {
            let task = self.scheduler.id(task).clone();
            self.push(now, Event::Blocked { task, on }, turn);
        }
        self.was_blocked = self.blocked.is_some();
    }
}
