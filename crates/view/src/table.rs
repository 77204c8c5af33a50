//! Every task of a run as one row: how it stands, since when, what it took and what it used.
//!
//! [`State`](crate::State) has what the live view draws; a row has what a page shows of each of a hundred thousand tasks, and the
//! number of the event that changed it last, so that a reader that knows the rows up to an event is given the later ones and no
//! others ([`Table::changed_since`]). Rows are never moved: a row's place is its order of first sight. A task that a restart takes
//! away keeps its place as a row that is gone.

use crate::words;
use convoke_model::excerpt::clipped;
use convoke_model::{Event, Failure, PlanChanged, Stamped, TaskId, Timestamp, Usage, WaitsFor};
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// Characters of a failure that a row has.
const FAILURE: usize = 240;

/// How a task stands, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    /// It waits for a moment, for other tasks, or for its turn.
    Waiting,
    /// It waits for capacity.
    Blocked,
    /// It runs, or what is inside it does.
    Running,
    /// It ended well.
    Done,
    /// It failed.
    Failed,
    /// A person is asked.
    Asks,
    /// It did not run.
    Skipped,
    /// It was stopped.
    Cancelled,
    /// It waits for its next attempt.
    Retrying,
    /// Its process is gone, and no other has taken it up.
    Interrupted,
}

impl Standing {
    /// All of them.
    pub const ALL: [Standing; 10] = [
        Standing::Waiting,
        Standing::Blocked,
        Standing::Running,
        Standing::Done,
        Standing::Failed,
        Standing::Asks,
        Standing::Skipped,
        Standing::Cancelled,
        Standing::Retrying,
        Standing::Interrupted,
    ];

    /// The word for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Standing::Waiting => "waiting",
            Standing::Blocked => "blocked",
            Standing::Running => "running",
            Standing::Done => "done",
            Standing::Failed => "failed",
            Standing::Asks => "asks",
            Standing::Skipped => "skipped",
            Standing::Cancelled => "cancelled",
            Standing::Retrying => "retrying",
            Standing::Interrupted => "interrupted",
        }
    }

    /// Whether nothing more will happen to the task.
    pub const fn is_end(self) -> bool {
        matches!(self, Standing::Done | Standing::Failed | Standing::Skipped | Standing::Cancelled)
    }
}

/// One task.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its id.
    pub task: TaskId,
    /// The number of the event that changed it last; 0: the plan says that it will come.
    pub changed: u64,
    /// How it stands.
    pub standing: Standing,
    /// Since when.
    pub since: Timestamp,
    /// When it was first seen to do something.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How long it waited for capacity, all waits that are over.
    pub queued: Duration,
    /// How long its attempts ran, all that are over.
    pub ran: Duration,
    /// Attempts so far.
    pub attempts: u32,
    /// When attempts after the first began.
    pub retries: Vec<Timestamp>,
    /// The words of its last failure.
    pub failure: Option<String>,
    /// What its attempts used.
    pub usage: Usage,
    /// What it waits for, in words.
    pub waits: Option<String>,
    /// The last sign of life.
    pub last_sign: Timestamp,
    /// Whether it is a question that a step asks on its way, or stands below one.
    pub aside: bool,
    /// Whether a restart took it away.
    pub gone: bool,
}

impl Row {
    fn new(task: &TaskId) -> Row {
        Row {
            task: task.clone(),
            changed: 0,
            standing: Standing::Waiting,
            since: Timestamp(0),
            started: None,
            ended: None,
            queued: Duration::ZERO,
            ran: Duration::ZERO,
            attempts: 0,
            retries: Vec::new(),
            failure: None,
            usage: Usage::default(),
            waits: None,
            last_sign: Timestamp(0),
            aside: false,
            gone: false,
        }
    }

    /// Whether the plan names it and nothing was seen of it yet.
    pub fn is_expected(&self) -> bool {
        self.changed == 0
    }

    /// Leaves the standing that it had for another one. Time counts when it is left, so one that is told again counts once.
    fn enter(&mut self, standing: Standing, at: Timestamp) {
        match self.standing {
            same if same == standing => {}
            Standing::Blocked => self.queued += at.since(self.since),
            Standing::Running => self.ran += at.since(self.since),
            _ => {}
        }
        if self.standing != standing || self.started.is_none() {
            self.since = at;
        }
        (self.standing, self.waits) = (standing, None);
        self.ended = standing.is_end().then_some(at);
        self.started.get_or_insert(at);
    }
}

/// The tasks of a run.
#[derive(Debug, Clone, Default)]
pub struct Table {
    rows: Vec<Row>,
    places: HashMap<TaskId, u32>,
    by_change: BTreeSet<(u64, u32)>,
    counts: [u64; Standing::ALL.len()],
    position: u64,
}

impl Table {
    /// Before the first event: the steps that the plan names.
    pub fn expecting<'a>(steps: impl Iterator<Item = &'a TaskId>) -> Table {
        let mut table = Table::default();
        for step in steps {
            table.place(step);
        }
        table
    }

    /// Every row, in the order of first sight; also those that are gone.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row of a task, and its place.
    pub fn get(&self, task: &TaskId) -> Option<(usize, &Row)> {
        let place = *self.places.get(task)? as usize;
        Some((place, &self.rows[place])).filter(|(_, row)| !row.gone)
    }

    /// How many steps stand so; questions that steps ask on their way are left out.
    pub fn count(&self, standing: Standing) -> u64 {
        self.counts[standing as usize]
    }

    /// The number of the last event.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The places of rows that events after this one have changed, the oldest change first.
    pub fn changed_since(&self, position: u64) -> impl Iterator<Item = usize> {
        self.by_change.range((position + 1, 0)..).map(|(_, place)| *place as usize)
    }

    /// Takes the next event; `aside` says whether a task that is seen for the first time is no step.
    pub fn apply(&mut self, stamped: &Stamped, aside: &dyn Fn(&TaskId) -> bool) {
        self.position = stamped.seq;
        let mut change = Change { table: self, seq: stamped.seq, at: stamped.at, aside };
        change.take(&stamped.event);
    }

    fn place(&mut self, task: &TaskId) -> u32 {
        if let Some(place) = self.places.get(task) {
            return *place;
        }
        let place = self.rows.len() as u32;
        self.rows.push(Row::new(task));
        self.places.insert(task.clone(), place);
        self.counts[Standing::Waiting as usize] += 1;
        place
    }

    fn count_out(&mut self, place: u32) {
        let row = &self.rows[place as usize];
        if !row.aside && !row.gone {
            self.counts[row.standing as usize] -= 1;
        }
    }

    fn count_in(&mut self, place: u32) {
        let row = &self.rows[place as usize];
        if !row.aside && !row.gone {
            self.counts[row.standing as usize] += 1;
        }
    }
}

/// One event on its way into the table.
struct Change<'a> {
    table: &'a mut Table,
    seq: u64,
    at: Timestamp,
    aside: &'a dyn Fn(&TaskId) -> bool,
}

impl Change<'_> {
    fn take(&mut self, event: &Event) {
        match event {
            Event::TaskStarted { task, until, .. } => self.opened(task, *until),
            Event::FannedOut { task, .. }
            | Event::MergeStarted { task, .. }
            | Event::ChildrenSpawned { task, .. } => self.enter(task, Standing::Running),
            Event::AttemptStarted { task, attempt, .. } | Event::ProbeStarted { task, attempt, .. } => {
                self.attempt(task, *attempt)
            }
            Event::AttemptFinished { task, usage, .. } => {
                self.used(task, usage);
                self.enter(task, Standing::Done);
            }
            Event::AttemptFailed { task, usage, failure, .. } => {
                self.used(task, usage);
                self.failed(task, Standing::Retrying, failure);
            }
            Event::AttemptSuspended { task, waits_for, usage, .. } => {
                self.used(task, usage);
                self.suspended(task, waits_for);
            }
            Event::AttemptLost { task, usage, .. } => {
                self.used(task, usage);
                self.enter(task, Standing::Interrupted);
            }
            Event::AttemptDetached { task, .. } | Event::EffectProbed { task, .. } => {
                self.enter(task, Standing::Waiting)
            }
            Event::TurnRecorded { task, usage, .. } => self.used(task, usage),
            Event::ToolCalled { task, .. } | Event::AttemptTaken { task, .. } => self.change(task, |_, _| {}),
            Event::RetryScheduled { task, .. } => self.enter(task, Standing::Retrying),
            Event::TaskWoken { task } => self.enter(task, Standing::Waiting),
            Event::TaskSucceeded { task, .. } | Event::OutputTaken { task, .. } => {
                self.enter(task, Standing::Done)
            }
            Event::TaskFailed { task, failure } => self.failed(task, Standing::Failed, failure),
            Event::TaskSkipped { task, .. } => self.enter(task, Standing::Skipped),
            Event::TaskCancelled { task, .. } => self.enter(task, Standing::Cancelled),
            Event::GateOpened { task, .. } => self.waits(task, Standing::Asks, "a person"),
            Event::GateAnswered { task, .. } => self.enter(task, Standing::Waiting),
            Event::Blocked { task, on } => self.waits(task, Standing::Blocked, on),
            Event::RunReopened(reopened) => self.reopened(&reopened.tasks, &reopened.restarted),
            Event::PlanChanged(changed) => self.replanned(changed),
            Event::RunForked(forked) => {
                self.interrupted();
                self.replanned(&forked.change);
            }
            _ => {}
        }
    }

    /// Changes a row, which comes to be if it is not there.
    fn change(&mut self, task: &TaskId, change: impl FnOnce(&mut Row, Timestamp)) {
        let place = self.table.place(task);
        self.table.count_out(place);
        let (seq, at) = (self.seq, self.at);
        let row = &mut self.table.rows[place as usize];
        let before = row.changed;
        if before == 0 {
            row.aside = (self.aside)(task);
        }
        (row.changed, row.last_sign, row.gone) = (seq, at, false);
        change(row, at);
        self.table.by_change.remove(&(before, place));
        self.table.by_change.insert((seq, place));
        self.table.count_in(place);
    }

    fn enter(&mut self, task: &TaskId, standing: Standing) {
        self.change(task, |row, at| {
            // An end is told once; what is told after it is about what led to it.
            if !(row.standing.is_end() && standing.is_end()) {
                row.enter(standing, at);
            }
        });
    }

    fn opened(&mut self, task: &TaskId, until: Option<Timestamp>) {
        match until {
            Some(moment) => self.waits(task, Standing::Waiting, &moment.rfc3339()),
            None => self.enter(task, Standing::Running),
        }
    }

    fn attempt(&mut self, task: &TaskId, attempt: u32) {
        self.change(task, |row, at| {
            row.enter(Standing::Running, at);
            row.since = at;
            row.attempts = attempt;
            if attempt > 1 {
                row.retries.push(at);
            }
        });
    }

    fn failed(&mut self, task: &TaskId, standing: Standing, failure: &Failure) {
        self.change(task, |row, at| {
            row.enter(standing, at);
            row.failure = Some(clipped(&words::first_line(&failure.message), FAILURE));
        });
    }

    fn suspended(&mut self, task: &TaskId, waits_for: &WaitsFor) {
        match waits_for {
            WaitsFor::Gate(_) => self.waits(task, Standing::Asks, "a person"),
            WaitsFor::Children(_) => self.waits(task, Standing::Waiting, "its questions"),
            WaitsFor::Time(at) => self.waits(task, Standing::Waiting, &at.rfc3339()),
        }
    }

    fn waits(&mut self, task: &TaskId, standing: Standing, what: &str) {
        self.change(task, |row, at| {
            row.enter(standing, at);
            row.waits = Some(what.to_owned());
        });
    }

    fn used(&mut self, task: &TaskId, usage: &Usage) {
        self.change(task, |row, _| row.usage += *usage);
    }

    /// What is open again waits; what lies below a task that begins anew is gone.
    fn reopened(&mut self, tasks: &[TaskId], restarted: &[TaskId]) {
        self.interrupted();
        self.drop_below(restarted);
        for task in tasks.iter().chain(restarted) {
            self.change(task, |row, at| row.enter(Standing::Waiting, at));
        }
    }

    fn replanned(&mut self, changed: &PlanChanged) {
        self.drop_below(&changed.dropped);
        for task in changed.dropped.iter().chain(&changed.opened) {
            self.change(task, |row, at| row.enter(Standing::Waiting, at));
        }
    }

    fn drop_below(&mut self, restarted: &[TaskId]) {
        if restarted.is_empty() {
            return;
        }
        let is_below = |row: &&Row| restarted.iter().any(|above| crate::state::lies_below(&row.task, above));
        let below: Vec<TaskId> =
            self.table.rows.iter().filter(is_below).map(|row| row.task.clone()).collect();
        for task in below {
            self.change(&task, |row, _| row.gone = true);
        }
    }

    /// What ran when the process was gone does not run any more.
    fn interrupted(&mut self) {
        let ran = self.table.rows.iter().filter(|row| row.standing == Standing::Running && row.attempts > 0);
        let ran: Vec<TaskId> = ran.filter(|row| !row.gone).map(|row| row.task.clone()).collect();
        for task in ran {
            self.enter(&task, Standing::Interrupted);
        }
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
