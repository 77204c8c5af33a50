//! What a goal does again when its run is resumed.
//!
//! Two rules, for the goal and for each of its tasks. What was *cut off* (stopped, cancelled) goes on where it stood, as
//! if it had not been stopped. What *ended* and did not end well is done again: a task without children from its beginning;
//! one with children by those of the children made last that lack something, and whatever was asked and decided after
//! them (putting together, other ways, waiting, a person's answer; for the goal: whether more is needed, and the answer)
//! is forgotten. What needs a task that is done again begins anew. Everything else stays: what succeeded and was made
//! from nothing that changes is never asked twice. A task for which another was made instead is left to that one,
//! unless something still lacks it as its input.

use super::outcome::Status;
use super::routing::cause::NOT_ANSWERED;
use crate::resume::Reopening;
use crate::state::{End, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{CauseKind, Class, Failure, Role, TaskId};
use convoke_plan::Kind;

/// A person did not let the plan be carried out.
const NOT_APPROVED: &str = "not_approved";

impl View<'_> {
    /// Why a goal, or a task of one, fails that a person does not let go on.
    pub(crate) fn refused_goal(&self, task: TaskIx) -> Failure {
        if matches!(self.node(task).kind, Kind::Goal(_)) {
            let failure = Failure::new(Class::Cancelled, "the plan was not approved").reason(NOT_APPROVED);
            return self.named(task, failure);
        }
        let stopped = || Failure::new(Class::Cancelled, "a person gave it up").reason("given_up");
        self.item_failure(task).unwrap_or_else(stopped)
    }
}

impl State {
    pub(super) fn loss(&self, goal: TaskIx) -> Option<String> {
        let name = &self.node(goal).name;
        match self.tasks[goal].state {
            TaskState::Ended(End::Failed) => {
                let failure = self.tasks[goal].failure.as_deref();
                Some(failure.map_or(format!("goal step `{name}` failed"), |failure| failure.message.clone()))
            }
            TaskState::Ended(End::Succeeded) => (self.goal_status(goal) == Some(Status::SkippedAll))
                .then(|| format!("goal step `{name}` skipped everything")),
            _ => None,
        }
    }

    /// Whether a goal had begun when something else ended it. A goal that lost a race was done without on purpose.
    pub(crate) fn was_cut_short(&self, task: TaskIx) -> bool {
        let kind = self.tasks[task].cancelling.as_ref().map(|cause| cause.kind);
        let had_begun = self.tasks[task].group.is_some();
        matches!(self.node(task).kind, Kind::Goal(_)) && had_begun && kind != Some(CauseKind::JoinDecided)
    }

    /// Opens a goal or a task of one again.
    pub(crate) fn reopen_goal_task(&self, task: TaskIx, found: &mut Reopening) {
        match self.was_stopped(task) {
            true => self.goes_on(task, found),
            false => self.is_done_again(task, found),
        }
    }

    /// Whether a task ended by no decision about itself.
    fn was_stopped(&self, task: TaskIx) -> bool {
        let kind = self.tasks[task].cancelling.as_ref().map(|cause| cause.kind);
        match self.tasks[task].state {
            TaskState::Ended(End::Cancelled) => true,
            TaskState::Ended(End::Skipped) => {
                use CauseKind::*;
                !matches!(kind, Some(NotPossible | GivenUp | NeedFailed | NeedSkipped))
            }
            _ => false,
        }
    }

    /// Everything below a task that was cut off with it goes on.
    fn goes_on(&self, task: TaskIx, found: &mut Reopening) {
        found.tasks.insert(self.tasks[task].id.clone());
        for member in self.members_of(task).iter().filter(|member| self.was_stopped(**member)) {
            match self.item_of(*member) {
                Some(_) => self.goes_on(*member, found),
                None => {
                    found.tasks.insert(self.tasks[*member].id.clone());
                }
            }
        }
    }

    fn is_done_again(&self, task: TaskIx, found: &mut Reopening) {
        let (id, batch) = (self.tasks[task].id.clone(), self.last_batch(task));
        found.tasks.insert(id.clone());
        found.rewound.push(id.clone());
        if batch.is_empty() {
            // Of a plan that a person refused only the person's answer is forgotten.
            let refused = self.reason_of(task) == Some(NOT_APPROVED);
            return found.restarted.extend((!refused).then_some(id));
        }
        let again = self.again_among(&batch);
        for (child, anew) in &again {
            match anew {
                true => self.begins_anew_below(*child, found),
                false => self.reopen_goal_task(*child, found),
            }
        }
        self.forget_later(task, again.is_empty(), found);
    }

    fn begins_anew_below(&self, item: TaskIx, found: &mut Reopening) {
        let id = &self.tasks[item].id;
        found.begin_anew(id);
        found.rewound.push(id.clone());
    }

    /// A role that was asked after the last child is asked anew, when the time comes.
    fn forget_later(&self, task: TaskIx, unchanged: bool, found: &mut Reopening) {
        // Where only the answer is missing, whether more is needed was said.
        let only_answer = unchanged && self.reason_of(task) == Some(NOT_ANSWERED);
        let later = self.members_of(task).iter().rev().take_while(|member| self.item_of(**member).is_none());
        let later = later.copied().filter(|role| self.pieces_of(*role).is_none());
        for role in later.filter(|role| !only_answer || self.is_role(*role, Role::Finalise)) {
            found.restarted.insert(self.tasks[role].id.clone());
        }
        self.forget_digests(task, found);
    }

    /// Digests that failed are asked for anew, and those of what changes. All others stay.
    fn forget_digests(&self, task: TaskIx, found: &mut Reopening) {
        let mut changed: HashSet<TaskId> = HashSet::default();
        // The role that puts digests together was asked after the digests.
        for digest in self.members_of(task) {
            let Some(pieces) = self.pieces_of(*digest) else { continue };
            let changes = |task: &TaskId| found.tasks.contains(task) || changed.contains(task);
            if !self.tasks[*digest].succeeded() || pieces.iter().any(|piece| changes(&piece.task)) {
                changed.insert(self.tasks[*digest].id.clone());
                found.restarted.insert(self.tasks[*digest].id.clone());
            }
        }
    }

    /// Those of a batch that are done again, in order, and whether what they are made from changes.
    fn again_among(&self, batch: &[TaskIx]) -> Vec<(TaskIx, bool)> {
        let items = || batch.iter().filter_map(|item| Some((*item, self.item_of(*item)?)));
        let replaced: HashSet<&TaskId> = items().flat_map(|(_, item)| &item.replaces).collect();
        // What a task that is left to no other lacks as its input.
        let lacks = |item: TaskIx| !self.tasks[item].succeeded() && !replaced.contains(&self.tasks[item].id);
        let missed: HashSet<&TaskId> =
            items().filter(|(item, _)| lacks(*item)).flat_map(|(_, item)| &item.inputs).collect();
        let left = |item: &TaskIx| {
            let id = &self.tasks[*item].id;
            !replaced.contains(id) || missed.contains(id)
        };
        let open: Vec<TaskIx> = batch.iter().copied().filter(left).collect();
        let mut again: HashSet<TaskIx> = open.iter().copied().filter(|item| self.lacks(*item)).collect();
        let mut anew: HashSet<TaskIx> = HashSet::default();
        let needed_by = self.needed_by(&open);
        // Each task is taken once, however long a chain of inputs is.
        let mut changed: Vec<TaskIx> = again.iter().copied().collect();
        while let Some(input) = changed.pop() {
            for item in needed_by.get(&input).into_iter().flatten() {
                anew.insert(*item);
                if again.insert(*item) {
                    changed.push(*item);
                }
            }
        }
        open.into_iter()
            .filter(|item| again.contains(item))
            .map(|item| (item, anew.contains(&item)))
            .collect()
    }

    /// For each input of these items, the items that have it.
    fn needed_by(&self, items: &[TaskIx]) -> HashMap<TaskIx, Vec<TaskIx>> {
        let mut needed_by: HashMap<TaskIx, Vec<TaskIx>> = HashMap::default();
        for item in items {
            let inputs = self.item_of(*item).map_or(&[][..], |item| &item.inputs);
            for input in inputs.iter().filter_map(|id| self.tasks.find(id)) {
                needed_by.entry(input).or_default().push(*item);
            }
        }
        needed_by
    }

    /// Whether something of a task is missing, other than for lack of an input.
    fn lacks(&self, item: TaskIx) -> bool {
        match self.tasks[item].state {
            TaskState::Ended(End::Succeeded) => self.is_incomplete_item(item),
            TaskState::Ended(End::Skipped) => !self.lacked_an_input(item),
            _ => true,
        }
    }

    fn lacked_an_input(&self, item: TaskIx) -> bool {
        let because = self.tasks[item].cancelling.as_ref().and_then(|cause| cause.task.as_ref());
        let inputs = self.item_of(item).map_or(&[][..], |item| &item.inputs);
        because.is_some_and(|input| inputs.contains(input))
    }

    /// Whether a task succeeded without some of the children that it is made of, or with heads of them only.
    fn is_incomplete_item(&self, item: TaskIx) -> bool {
        let mut later =
            self.members_of(item).iter().rev().take_while(|member| self.item_of(**member).is_none());
        let done_otherwise = later.any(|role| self.is_role(*role, Role::Execute));
        let lacks_some = || !self.again_among(&self.last_batch(item)).is_empty();
        self.lacks_digests(item) || self.is_unreconciled(item) || !done_otherwise && lacks_some()
    }

    /// The tasks that a goal is made of; of a task, the children that were made together last.
    fn last_batch(&self, task: TaskIx) -> Vec<TaskIx> {
        let members = self.members_of(task);
        let is_item = |member: &&TaskIx| self.item_of(**member).is_some();
        if matches!(self.node(task).kind, Kind::Goal(_)) {
            return members.iter().filter(is_item).copied().collect();
        }
        let recovers = |member: TaskIx| {
            self.item_of(member).is_some_and(|item| item.replaces.contains(&self.tasks[task].id))
        };
        let mut children = members.iter().rev().skip_while(|member| !is_item(member)).copied().peekable();
        let last = children.peek().map(|child| recovers(*child));
        let same = |child: &TaskIx| self.item_of(*child).is_some() && Some(recovers(*child)) == last;
        let mut batch: Vec<TaskIx> = children.take_while(same).collect();
        batch.reverse();
        batch
    }

    fn members_of(&self, task: TaskIx) -> &[TaskIx] {
        self.tasks[task].group.as_ref().map_or(&[], |group| &group.members)
    }

    fn is_role(&self, task: TaskIx, role: Role) -> bool {
        self.goal_role(task).is_some_and(|(own, _)| own == role)
    }

    fn reason_of(&self, task: TaskIx) -> Option<&str> {
        self.tasks[task].failure.as_deref().and_then(|failure| failure.reason.as_deref())
    }
}
