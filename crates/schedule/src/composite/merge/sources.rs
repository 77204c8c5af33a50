//! The tasks whose outputs a merge is about: groups stand for their members, items for themselves.

use crate::state::{End, State, TaskIx, TaskState};
use convoke_model::Missing;
use convoke_model::excerpt::first_line;
use convoke_plan::{Kind, NodeIx, Reduce};

/// One source of a merge, there or not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub task: TaskIx,
    pub succeeded: bool,
}

impl State {
    /// Every source of a reduce task that exists, in the order of the file.
    pub(super) fn sources(&self, task: TaskIx, reduce: &Reduce) -> Vec<Found> {
        let roots = reduce.of.iter().filter_map(|node| self.source_of(task, *node));
        let mut found = Vec::new();
        roots.for_each(|root| self.add_source(root, &mut found));
        found
    }

    /// The task of a source: beside the merge where it is needed, else on the way that led to it.
    pub(super) fn source_of(&self, task: TaskIx, node: NodeIx) -> Option<TaskIx> {
        let place = self.tasks[task].place;
        match self.index_in(place.frame).needs(self.tasks[task].node, node).next().is_some() {
            true => self.beside(place, node),
            false => self.ancestor_of(task, node),
        }
    }

    fn add_source(&self, task: TaskIx, found: &mut Vec<Found>) {
        let is_group = self.node(task).kind.is_group();
        match self.tasks[task].group.as_deref().filter(|_| is_group) {
            // What a failed group did have is not what was asked for: it is missing as a whole.
            Some(group) if group.succeeded > 0 && self.tasks[task].state == TaskState::Ended(End::Failed) => {
                found.push(Found { task, succeeded: false });
            }
            Some(group) => group.members.iter().for_each(|member| match self.is_group_item(*member) {
                true => found.push(self.item_source(*member)),
                false => self.add_source(*member, found),
            }),
            // A group that never opened (its list could not be read, it was skipped) has no members to name.
            None => {
                found.push(Found { task, succeeded: self.tasks[task].succeeded() && !is_group });
            }
        }
    }

    /// An item that is a group is one source, once the whole item is done: what its last member gave, of a for_each what all its
    /// items gave.
    fn item_source(&self, item: TaskIx) -> Found {
        let done = self.tasks[item].succeeded();
        match self.last_output(item).filter(|_| done) {
            Some(task) => Found { task, succeeded: true },
            None => Found { task: item, succeeded: false },
        }
    }

    /// The last member with an output, in the order of the file; of a group inside a group, its last one. A for_each is one output.
    fn last_output(&self, task: TaskIx) -> Option<TaskIx> {
        if !matches!(self.node(task).kind, Kind::Parallel(_)) {
            return self.tasks[task].succeeded().then_some(task);
        }
        let group = self.tasks[task].group.as_deref()?;
        group.members.iter().rev().find_map(|member| self.last_output(*member))
    }

    /// Sources without an output, and items that were never begun.
    pub(super) fn missing_of(&self, task: TaskIx, reduce: &Reduce, gone: &[Found]) -> Vec<Missing> {
        let mut missing: Vec<Missing> = gone.iter().map(|source| self.absence(source.task)).collect();
        let roots = reduce.of.iter().filter_map(|node| self.source_of(task, *node));
        for group in roots.filter(|root| matches!(self.node(*root).kind, Kind::ForEach(_))) {
            let Some(state) = self.tasks[group].group.as_deref() else { continue };
            let unbegun = state.members.len() as u32..state.total;
            missing.extend(
                unbegun
                    .map(|index| Missing { task: self.item_id(group, index), cause: "not begun".to_owned() }),
            );
        }
        missing
    }
}

/// Causes that a message tells before it counts the rest.
const MOST_LISTED: usize = 3;
/// Characters of each of them.
const CHARACTERS: usize = 300;

/// Why outputs are not there: the first few and how many more there are.
pub(super) fn causes(missing: &[Missing]) -> String {
    let listed = missing.iter().take(MOST_LISTED).map(|one| format!("{} {}", one.task, brief(&one.cause)));
    with_rest(listed.collect::<Vec<_>>().join("; "), missing.len())
}

/// The first few by name, and how many more there are.
pub(super) fn named(missing: &[Missing]) -> String {
    let listed = missing.iter().take(MOST_LISTED).map(|one| one.task.to_string());
    with_rest(listed.collect::<Vec<_>>().join(", "), missing.len())
}

fn with_rest(listed: String, all: usize) -> String {
    match all.saturating_sub(MOST_LISTED) {
        0 => listed,
        more => format!("{listed}, and {more} more"),
    }
}

/// The first line of a cause.
fn brief(cause: &str) -> String {
    first_line(cause, CHARACTERS)
}
