//! Events that no longer matter to the owner of a run are left out.
//!
//! The owner folds its history in several ways (the state of `schedule`, what was spent, which calls and processes were left
//! open, questions, notes of budgets). An event is left out only where all of these come out the same, whatever follows: also
//! after the run was reopened or its plan changed. An event of a kind that is not named here stays.
//!
//! Invariants: `fold(compact(p) + rest)` is `fold(p + rest)`; `compact(compact(p) + q)` is `compact(p + q)`, so a snapshot can be made
//! from the one before.

use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{Event, JsonText, LimitReason, Payload, Stamped, TaskId, Usage};
use convoke_schedule::begins_ownership;

/// Which rules these are. A snapshot made by others is not used; with every change of what is left out this grows.
pub const RULES: u32 = 2;

/// Microseconds of a day: budgets of a day are counted by the day on which usage became known.
const DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// The same history in fewer events.
pub fn compact(events: Vec<Stamped>) -> Vec<Stamped> {
    let (pinned, repeated) = (pinned(&events), repeated(&events));
    let mut later = Later::default();
    for ((stamped, pinned), repeated) in events.into_iter().zip(pinned).zip(repeated).rev() {
        later.take(stamped, pinned, repeated);
    }
    later.kept.reverse();
    later.kept
}

/// Whether an event may be left out one day: what a snapshot is worth is told by how many of these there are.
pub(crate) fn is_passing(event: &Event) -> bool {
    let counted = matches!(
        event,
        Event::TurnRecorded { .. }
            | Event::ToolCalled { .. }
            | Event::CallReserved { .. }
            | Event::EffectClaimed { .. }
            | Event::EffectCommitted { .. }
    );
    counted || is_told_only(event)
}

/// Events for people: no fold of the owner reads them.
fn is_told_only(event: &Event) -> bool {
    match event {
        Event::Blocked { .. }
        | Event::Fenced { .. }
        | Event::AttemptTaken { .. }
        | Event::ModelCalled { .. }
        | Event::LimitsSeen { .. }
        | Event::ContextTrimmed { .. } => true,
        // What a person has allowed is allowed to the next owner too.
        Event::LimitAdapted(adapted) => adapted.reason != LimitReason::Set,
        // What is noted once is looked for by the next owner.
        Event::Noted { code, .. } => code != crate::bounds::CUT,
        _ => false,
    }
}

/// Whether an event takes earlier ones out of the history that counts, or closes their account.
pub(crate) fn is_boundary(event: &Event) -> bool {
    begins_ownership(event) && !matches!(event, Event::RunOwned { .. })
}

/// The last event, and the last before each new owner: they say since when no process drove the run.
fn pinned(events: &[Stamped]) -> Vec<bool> {
    let owners = events.iter().skip(1).map(|next| begins_ownership(&next.event));
    owners.chain([true]).take(events.len()).collect()
}

/// Calls of a tool that the same task has called before: that it did so again changes nothing.
fn repeated(events: &[Stamped]) -> Vec<bool> {
    let mut called: HashMap<&TaskId, HashSet<&str>> = HashMap::default();
    let mut repeated = Vec::with_capacity(events.len());
    for Stamped { event, .. } in events {
        let again = match event {
            // What a task that has not begun is said to have called is no call of its.
            Event::AttemptStarted { task, .. } => {
                called.entry(task).or_default();
                false
            }
            Event::ToolCalled { task, tool, .. } => {
                called.get_mut(task).is_some_and(|known| !known.insert(tool))
            }
            // A task that begins anew has called nothing.
            event if is_boundary(event) => {
                called.clear();
                false
            }
            _ => false,
        };
        repeated.push(again);
    }
    repeated
}

/// What is known of the events behind the one that is looked at, from the last to the first.
#[derive(Default)]
struct Later {
    /// What stays of them, last first.
    kept: Vec<Stamped>,
    /// Tasks whose attempt succeeded.
    finished: HashMap<TaskId, Records>,
    /// Whether the next event about a task's spending says what its calls used.
    settled: HashMap<TaskId, bool>,
}

/// What stays of the turn records of an attempt that succeeded: its conversation is over, its usage counts.
#[derive(Default)]
struct Records {
    /// One for each day and attempt, by its place in `kept`.
    by_day: HashMap<(u64, u32), usize>,
    /// Attempts of which one stays: it says that what was known for the turn was acted on.
    has_last: HashSet<u32>,
}

impl Later {
    fn take(&mut self, stamped: Stamped, pinned: bool, repeated: bool) {
        let stays = pinned || !repeated && !is_told_only(&stamped.event) && !self.is_over(&stamped.event);
        self.pass(&stamped.event, pinned);
        if !stays {
            return;
        }
        match self.shortened(&stamped).filter(|_| !pinned) {
            Some(record) => self.merge(stamped, record),
            None => self.kept.push(stamped),
        }
    }

    /// Whether what an event opened has ended since.
    fn is_over(&self, event: &Event) -> bool {
        match event {
            Event::CallReserved { task, .. } => self.settled.get(task) == Some(&true),
            Event::ProcessStarted { task, .. }
            | Event::EffectClaimed { task, .. }
            | Event::EffectCommitted { task, .. } => self.finished.contains_key(task),
            _ => false,
        }
    }

    /// Notes an event for those before it.
    fn pass(&mut self, event: &Event, pinned: bool) {
        match event {
            Event::AttemptFinished { task, .. } => {
                self.finished.insert(task.clone(), Records::default());
                self.settled.insert(task.clone(), true);
            }
            Event::TurnRecorded { task, attempt, .. } => {
                if let Some(records) = self.finished.get_mut(task).filter(|_| pinned) {
                    records.has_last.insert(*attempt);
                }
                self.settled.insert(task.clone(), true);
            }
            Event::AttemptFailed { task, .. } | Event::AttemptSuspended { task, .. } => {
                self.settled.insert(task.clone(), true);
            }
            Event::CallLost { task, .. } | Event::AttemptLost { task, .. } => {
                self.settled.insert(task.clone(), false);
            }
            event if is_boundary(event) => {
                self.finished.clear();
                self.settled.clear();
            }
            _ => {}
        }
    }

    /// The task, attempt and usage of a turn record whose conversation is over.
    fn shortened(&self, stamped: &Stamped) -> Option<(TaskId, u32, Usage)> {
        match &stamped.event {
            Event::TurnRecorded { task, attempt, usage, .. } if self.finished.contains_key(task) => {
                Some((task.clone(), *attempt, *usage))
            }
            _ => None,
        }
    }

    /// Counts a record with a later one of its attempt and day; the last one of each stays, without its words.
    fn merge(&mut self, mut stamped: Stamped, (task, attempt, used): (TaskId, u32, Usage)) {
        let Some(records) = self.finished.get_mut(&task) else { return };
        let day = (stamped.at.0 / DAY, attempt);
        if let Some(Event::TurnRecorded { usage, .. }) =
            records.by_day.get(&day).map(|at| &mut self.kept[*at].event)
        {
            *usage += used;
            return;
        }
        let is_last = records.has_last.insert(attempt);
        if !is_last && used.is_zero() {
            return;
        }
        if let Event::TurnRecorded { piece, kept, .. } = &mut stamped.event {
            *piece = Payload::Inline(JsonText::of(&()));
            kept.clear();
        }
        records.by_day.insert(day, self.kept.len());
        self.kept.push(stamped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Timestamp;

    fn stamped(events: Vec<Event>) -> Vec<Stamped> {
        let stamp = |(n, event)| Stamped { seq: n as u64 + 1, at: Timestamp(n as u64), event };
        events.into_iter().enumerate().map(stamp).collect()
    }

    fn task() -> TaskId {
        TaskId("a".into())
    }

    fn cost(cost_micros: u64) -> Usage {
        Usage { calls: 1, cost_micros, ..Usage::default() }
    }

    fn starts() -> Event {
        Event::AttemptStarted { task: task(), attempt: 1, lease: None }
    }

    fn turn(used: u64) -> Event {
        let piece = Payload::Inline(JsonText::of(&"said"));
        Event::TurnRecorded { task: task(), attempt: 1, piece, kept: Vec::new(), usage: cost(used) }
    }

    fn reserves() -> Event {
        Event::CallReserved { task: task(), attempt: 1, worst: cost(9) }
    }

    fn calls(tool: &str) -> Event {
        Event::ToolCalled { task: task(), attempt: 1, tool: tool.into(), ms: 1, failed: false }
    }

    fn ends() -> Event {
        let output = Payload::Inline(JsonText::of(&1));
        Event::AttemptFinished { task: task(), attempt: 1, output, usage: cost(1) }
    }

    fn owned() -> Event {
        Event::RunOwned { epoch: 2, pid: 1, host: "h".into(), uptime: None }
    }

    fn numbers(events: Vec<Event>) -> Vec<u64> {
        compact(stamped(events)).iter().map(|stamped| stamped.seq).collect()
    }

    #[test]
    fn of_a_conversation_that_is_over_its_cost_is_left() {
        let turns = (0..5).flat_map(|n| [reserves(), turn(n), calls("look")]);
        let events = [starts()].into_iter().chain(turns).chain([ends(), owned()]).collect();
        let kept = compact(stamped(events));
        assert_eq!(kept.iter().map(|stamped| stamped.seq).collect::<Vec<_>>(), [1, 4, 15, 17, 18]);
        let Event::TurnRecorded { piece, usage, .. } = &kept[2].event else { panic!("{:?}", kept[2]) };
        assert_eq!((usage.cost_micros, usage.calls), (10, 5));
        assert_eq!(*piece, Payload::Inline(JsonText::of(&())));
    }

    #[test]
    fn usage_counts_on_the_day_on_which_it_became_known() {
        let mut events = stamped(vec![starts(), turn(1), turn(2), turn(4), turn(8), ends()]);
        events[3..].iter_mut().for_each(|stamped| stamped.at.0 += DAY);
        let used = |stamped: &Stamped| match &stamped.event {
            Event::TurnRecorded { usage, .. } => Some((stamped.seq, usage.cost_micros)),
            _ => None,
        };
        let used: Vec<_> = compact(events).iter().filter_map(used).collect();
        assert_eq!(used, [(3, 3), (5, 12)]);
    }

    #[test]
    fn a_conversation_that_goes_on_stays() {
        let events = vec![starts(), turn(1), turn(2), reserves(), turn(3), reserves()];
        assert_eq!(numbers(events), [1, 2, 3, 5, 6]);
    }

    #[test]
    fn the_last_event_before_a_new_owner_says_when_the_old_one_was_gone() {
        let blocked = || Event::Blocked { task: task(), on: "x".into() };
        let events = vec![starts(), blocked(), blocked(), owned(), blocked(), turn(1), ends(), blocked()];
        assert_eq!(numbers(events), [1, 3, 4, 6, 7, 8]);
    }

    #[test]
    fn what_a_reopening_leaves_out_is_not_merged_with_what_follows() {
        let reopened = Event::RunReopened(Default::default());
        let events =
            vec![starts(), turn(1), turn(1), calls("x"), reopened, starts(), turn(1), calls("x"), ends()];
        assert_eq!(numbers(events), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_call_whose_end_is_unknown_stays() {
        let lost = Event::CallLost { task: task(), attempt: 1, worst: cost(9) };
        let events = vec![starts(), reserves(), turn(1), reserves(), lost, ends()];
        assert_eq!(numbers(events), [1, 3, 4, 5, 6]);
    }
}
