//! What a process begins with: the state that the journal stands for, and permits that know what was spent. Pure.
//!
//! `prepare` takes it for a real run, and the simulated machine of the tests for its processes, so both resume alike.
//! Opening the journal, owning it and performing attempts is left to them.

use crate::bounds;
use crate::capacity::budget::spending::Spending;
use crate::capacity::limits::Limits;
use crate::capacity::permits::{BudgetNote, Permits};
use crate::core::Core;
use crate::error::EngineError;
use crate::setup::{Start, fold, replay};
use crate::store::Store;
use convoke_model::{Digest, Event, JsonText, LimitReason, Stamped, TaskId, Timestamp};
use convoke_plan::Plan;
use convoke_schedule::{Reusable, Scheduler};
use std::sync::Arc;

/// What a core is made of.
pub struct Beginning {
    scheduler: Scheduler,
    permits: Permits,
    /// What the process says first.
    events: Vec<Event>,
    /// The events that opened questions.
    questions: Vec<Stamped>,
    next_seq: u64,
    last: Timestamp,
}

impl Beginning {
    /// Reads a journal. `owned` is the event by which the process takes the run; `blob` looks up large values. A run that shares
    /// nothing has limits without a machine.
    pub fn of(
        plan: &Arc<Plan>,
        history: Vec<Stamped>,
        start: Start,
        (max_concurrency, limits): (u32, &Limits),
        owned: Event,
        blob: &dyn Fn(&Digest) -> Option<JsonText>,
    ) -> Result<Beginning, EngineError> {
        let (next_seq, last) =
            history.last().map_or((1, Timestamp::default()), |newest| (newest.seq + 1, newest.at));
        let (spending, notes) = (Spending::of(&history), budget_notes(&history));
        let cut = bounds::untold(plan, &history);
        let is_question = |stamped: &&Stamped| matches!(stamped.event, Event::GateOpened { .. });
        let questions = history.iter().filter(is_question).cloned().collect();
        let (mut scheduler, opening) = match start {
            Start::Fresh(started) => (Scheduler::new(plan.clone()), vec![Event::RunStarted(started)]),
            Start::Resume(changes) => replay(plan, history, &changes, blob)?,
        };
        scheduler.set_configured_budgets(limits.configured_budgets());
        let permits = permits(max_concurrency, limits, &spending, &notes, &scheduler);
        let events = opening.into_iter().chain([owned]).chain(cut).chain(spending.left_open()).collect();
        Ok(Beginning { scheduler, permits, events, questions, next_seq, last })
    }

    /// Reads the journal of a run whose attempts go on elsewhere while its state is folded anew: nothing is lost, nothing is said
    /// first, and [`Core::hold_running`] has what runs hold its permits again.
    pub fn attending(
        plan: &Arc<Plan>,
        history: Vec<Stamped>,
        (max_concurrency, limits): (u32, &Limits),
    ) -> Result<Beginning, EngineError> {
        let (next_seq, last) =
            history.last().map_or((1, Timestamp::default()), |newest| (newest.seq + 1, newest.at));
        let (spending, notes) = (Spending::of(&history), budget_notes(&history));
        let is_question = |stamped: &&Stamped| matches!(stamped.event, Event::GateOpened { .. });
        let questions = history.iter().filter(is_question).cloned().collect();
        let mut scheduler = fold(plan, history)?;
        scheduler.set_configured_budgets(limits.configured_budgets());
        let permits = permits(max_concurrency, limits, &spending, &notes, &scheduler);
        Ok(Beginning { scheduler, permits, events: Vec::new(), questions, next_seq, last })
    }

    /// Has tasks take outputs of another run.
    pub fn reusing(mut self, reusable: Option<Arc<Reusable>>) -> Beginning {
        self.scheduler.set_reusable(reusable);
        self
    }

    /// Whether the next attempt of a task attaches to a command that went on without an engine.
    pub fn attaches(&self, task: &TaskId) -> bool {
        self.scheduler.find(task).is_some_and(|task| self.scheduler.attaches(task))
    }

    /// The core, and the events that it begins with, which are not on disk yet. `seen` comes last among them.
    pub fn core(
        self,
        store: Store,
        seen: Vec<Event>,
        now: Timestamp,
    ) -> Result<(Core, Vec<Stamped>), EngineError> {
        let mut core = Core::new(self.scheduler, self.permits, store, self.next_seq, self.last);
        self.questions.iter().for_each(|question| core.note_question(question));
        let mut opening = Vec::new();
        for event in self.events.into_iter().chain(seen) {
            let stamped = core.stamp(now, event);
            core.scheduler.apply(&stamped)?;
            opening.push(stamped);
        }
        Ok((core, opening))
    }
}

/// The permits of a run, with what it has spent so far.
fn permits(
    max_concurrency: u32,
    limits: &Limits,
    spending: &Spending,
    notes: &[BudgetNote],
    scheduler: &Scheduler,
) -> Permits {
    let mut permits = Permits::new(max_concurrency, limits);
    notes.iter().for_each(|note| permits.note_before(note));
    spending.all().for_each(|spent| permits.spent_before(spent, scheduler));
    permits
}

/// What people have allowed beyond what was stated, and which budgets were said to be spent, in order.
fn budget_notes(history: &[Stamped]) -> Vec<BudgetNote> {
    let notes = history.iter().filter_map(|stamped| match &stamped.event {
        Event::LimitAdapted(adapted) if adapted.reason == LimitReason::Set => {
            Some(BudgetNote::Allowed(adapted.resource.clone(), adapted.to))
        }
        Event::BudgetSpent(spent) => Some(BudgetNote::Spent(spent.budget.clone(), spent.then)),
        _ => None,
    });
    notes.collect()
}
