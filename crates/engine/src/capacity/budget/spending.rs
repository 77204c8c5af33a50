//! What a run has spent, and what it may have to pay still: a fold over its events.
//!
//! Usage is recorded with an attempt's records and its end. A call that was made and of which neither tells anything (its process
//! was killed, say) may have been paid for, so what was set aside for it counts as spent. Budget scopes are not known
//! here.

use convoke_model::{Event, Stamped, TaskId, Timestamp, Usage};
use indexmap::IndexMap;

/// Something that was paid for, or may have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The task whose calls they were.
    pub task: TaskId,
    /// How much.
    pub usage: Usage,
    /// When it became known; for calls whose end is unknown, when it was set aside.
    pub at: Timestamp,
}

/// What a run has spent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spending {
    /// What is known to be spent, in order.
    pub known: Vec<Spent>,
    /// The worst case of calls whose end is unknown, in order.
    pub lost: Vec<Spent>,
    /// What is set aside for calls whose usage is not recorded yet, by task, with its attempt.
    open: IndexMap<TaskId, (u32, Spent)>,
}

impl Spending {
    /// Reads the events of a run.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Stamped>) -> Spending {
        let mut spending = Spending::default();
        events.into_iter().for_each(|stamped| spending.take(stamped));
        spending
    }

    /// Takes one event.
    pub fn take(&mut self, stamped: &Stamped) {
        let at = stamped.at;
        match &stamped.event {
            // What was spent before is the other run's, which has its own budgets.
            Event::RunForked(_) => *self = Spending::default(),
            Event::CallReserved { task, attempt, worst } => self.reserve(task, *attempt, worst, at),
            Event::CallLost { task, worst, .. } => self.lose(task, worst, at),
            Event::AttemptLost { task, usage, .. } => self.lost_attempt(task, usage, at),
            Event::AttemptFinished { task, usage, .. }
            | Event::AttemptFailed { task, usage, .. }
            | Event::AttemptSuspended { task, usage, .. }
            | Event::TurnRecorded { task, usage, .. } => self.settle(task, usage, at),
            _ => {}
        }
    }

    /// Everything that is spent, or has to be taken for spent.
    pub fn all(&self) -> impl Iterator<Item = &Spent> {
        self.known.iter().chain(&self.lost).chain(self.reserved())
    }

    /// What is known to be spent, by task.
    pub fn by_task(&self) -> IndexMap<TaskId, Usage> {
        let mut sums: IndexMap<TaskId, Usage> = IndexMap::new();
        self.known.iter().for_each(|spent| *sums.entry(spent.task.clone()).or_default() += spent.usage);
        sums
    }

    /// What is set aside for calls whose usage is not recorded yet.
    pub fn reserved(&self) -> impl Iterator<Item = &Spent> {
        self.open.values().map(|(_, spent)| spent)
    }

    /// What a new owner says of calls that the last one has left open.
    pub fn left_open(&self) -> impl Iterator<Item = Event> {
        self.open.values().map(|(attempt, spent)| Event::CallLost {
            task: spent.task.clone(),
            attempt: *attempt,
            worst: spent.usage,
        })
    }

    fn reserve(&mut self, task: &TaskId, attempt: u32, worst: &Usage, at: Timestamp) {
        let nothing = || (attempt, Spent { task: task.clone(), usage: Usage::default(), at });
        let (number, open) = self.open.entry(task.clone()).or_insert_with(nothing);
        (*number, open.at) = (attempt, at);
        open.usage += *worst;
    }

    fn lose(&mut self, task: &TaskId, worst: &Usage, at: Timestamp) {
        let (rest, at) = match self.open.shift_remove(task) {
            Some((attempt, open)) => (Some((attempt, open.clone())), open.at),
            None => (None, at),
        };
        self.lost.push(Spent { task: task.clone(), usage: *worst, at });
        if let Some((attempt, open)) = rest {
            let usage = open.usage.less(worst);
            if !usage.is_zero() {
                self.open.insert(task.clone(), (attempt, Spent { usage, ..open }));
            }
        }
    }

    /// The usage of calls that were settled before an attempt was lost is recorded only if its process lived on.
    fn lost_attempt(&mut self, task: &TaskId, usage: &Usage, at: Timestamp) {
        match self.open.shift_remove(task) {
            Some((_, open)) if usage.is_zero() => self.lost.push(open),
            _ => self.settle(task, usage, at),
        }
    }

    /// What was used since the last record is known from here on.
    fn settle(&mut self, task: &TaskId, usage: &Usage, at: Timestamp) {
        self.open.shift_remove(task);
        if !usage.is_zero() {
            self.known.push(Spent { task: task.clone(), usage: *usage, at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{JsonText, Payload};

    /// The sum of all of these.
    fn total<'a>(spent: impl IntoIterator<Item = &'a Spent>) -> Usage {
        spent.into_iter().fold(Usage::default(), |mut total, spent| {
            total += spent.usage;
            total
        })
    }

    fn cost(cost_micros: u64) -> Usage {
        Usage { calls: 1, cost_micros, ..Usage::default() }
    }

    fn task() -> TaskId {
        TaskId("a".into())
    }

    fn reserved(worst: u64) -> Event {
        Event::CallReserved { task: task(), attempt: 1, worst: cost(worst) }
    }

    fn lost(worst: u64) -> Event {
        Event::CallLost { task: task(), attempt: 1, worst: cost(worst) }
    }

    fn turned(used: u64) -> Event {
        let (piece, kept) = (Payload::Inline(JsonText::of(&1)), Vec::new());
        Event::TurnRecorded { task: task(), attempt: 1, piece, kept, usage: cost(used) }
    }

    fn gone(usage: Usage) -> Event {
        Event::AttemptLost { task: task(), attempt: 1, usage }
    }

    /// Known, lost and reserved, in millionths of a dollar.
    fn sums(events: &[Event]) -> [u64; 3] {
        let stamp = |(seq, event): (usize, &Event)| Stamped {
            seq: seq as u64,
            at: Timestamp(seq as u64),
            event: event.clone(),
        };
        let events: Vec<_> = events.iter().enumerate().map(stamp).collect();
        let spending = Spending::of(&events);
        let all = total(spending.all()).cost_micros;
        let sums = [total(&spending.known), total(&spending.lost), total(spending.reserved())]
            .map(|usage| usage.cost_micros);
        assert_eq!(all, sums.iter().sum::<u64>());
        sums
    }

    #[test]
    fn a_call_counts_at_worst_until_its_usage_is_known() {
        assert_eq!(sums(&[reserved(100)]), [0, 0, 100]);
        assert_eq!(
            sums(&[reserved(100), reserved(100)]),
            [0, 0, 200],
            "nothing says what the first one used"
        );
        assert_eq!(sums(&[reserved(100), turned(7)]), [7, 0, 0]);
        assert_eq!(sums(&[reserved(100), turned(7), reserved(50)]), [7, 0, 50]);
    }

    #[test]
    fn what_nobody_knows_the_end_of_stays_at_worst() {
        assert_eq!(sums(&[reserved(100), lost(100), gone(Usage::default())]), [0, 100, 0]);
        assert_eq!(sums(&[reserved(100), lost(100), gone(cost(3))]), [3, 100, 0]);
        assert_eq!(
            sums(&[reserved(60), reserved(100), lost(100)]),
            [0, 100, 60],
            "the other one is open still"
        );
        assert_eq!(
            sums(&[reserved(60), gone(Usage::default())]),
            [0, 60, 0],
            "it was settled, but not recorded"
        );
    }
}
