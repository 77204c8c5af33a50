//! Rows of the live view: items of one fan-out that do the same become one row.

use convoke_model::TaskId;
use convoke_view::{State, owner};
use std::collections::HashMap;

/// Items of one fan-out that are shown one by one; more are counted.
const SHOWN: usize = 3;

/// A row of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row<'a> {
    /// One task.
    One(&'a TaskId),
    /// Tasks of a fan-out.
    Many {
        /// The fan-out.
        of: TaskId,
        /// The first of them, as they came.
        first: &'a TaskId,
        /// How many there are.
        count: usize,
    },
}

impl Row<'_> {
    /// The fan-out that it stands for, if it does.
    pub fn fan_out(&self) -> Option<&TaskId> {
        match self {
            Row::One(_) => None,
            Row::Many { of, .. } => Some(of),
        }
    }

    /// How many tasks it stands for.
    pub fn tasks(&self) -> usize {
        match self {
            Row::One(_) => 1,
            Row::Many { count, .. } => *count,
        }
    }
}

/// The tasks as rows, in the order of their first ones.
pub fn folded<'a>(state: &State, tasks: impl Iterator<Item = &'a TaskId>) -> Vec<Row<'a>> {
    let placed: Vec<_> = tasks.map(|task| (task, fan_out(state, task))).collect();
    let mut counts: HashMap<TaskId, usize> = HashMap::new();
    for of in placed.iter().filter_map(|(_, of)| of.as_ref()) {
        *counts.entry(of.clone()).or_default() += 1;
    }
    let mut rows = Vec::new();
    for (task, of) in placed {
        // What was folded already is no longer there.
        match of.map(|of| (counts.get(&of).copied(), of)) {
            Some((Some(count), of)) if count > SHOWN => {
                counts.remove(&of);
                rows.push(Row::Many { of, first: task, count });
            }
            Some((None, _)) => {}
            _ => rows.push(Row::One(task)),
        }
    }
    rows
}

/// The outermost fan-out that a task stands in: `g` of `g[3]` and `g[3]/a`. The questions of a task are no fan-out.
pub fn fan_out(state: &State, task: &TaskId) -> Option<TaskId> {
    let ends = task.0.match_indices('/').map(|(at, _)| at).chain([task.0.len()]);
    ends.map(|end| TaskId(task.0[..end].into()))
        .filter(|above| above.segments().last().is_some_and(|last| last.key.is_some()))
        .filter_map(|item| owner(&item))
        .find(|of| state.tasks.contains_key(of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_testkit::events::{attempt, fan_out as fan, group, id, stamp, started};
    use convoke_view::Outline;

    #[test]
    fn items_fold_when_they_are_many_and_questions_do_not() {
        let mut events = vec![started(), group("g"), fan("g", 9), group("h"), fan("h", 2)];
        events.extend((0..5).map(|i| attempt(&format!("g[{i}]/a"), 1)));
        events.extend([attempt("x", 1), attempt("h[0]", 1), attempt("h[1]", 1)]);
        events.extend((0..5).map(|i| attempt(&format!("goal/execute[{i}]"), 1)));
        let state = State::fold(Outline::default(), &stamp(events));
        let rows = folded(&state, state.running.values());
        let first = &id("g[0]/a");
        assert_eq!(rows[0], Row::Many { of: id("g"), first, count: 5 });
        assert_eq!(rows[1..4], [Row::One(&id("x")), Row::One(&id("h[0]")), Row::One(&id("h[1]"))]);
        assert_eq!(rows.len(), 4 + 5);
        assert_eq!(rows.iter().map(Row::tasks).sum::<usize>(), 13);
    }
}
