//! Fold: the children of composite tasks, which of them may start, and which have changed.
//!
//! A child waits until its needs have ended; then the frontier starts it, or its composite decides about it. What has
//! changed is noted once, for the outermost composite around it, and stays noted until that is advanced, so that what a
//! composite costs grows with what happens to it and not with how many children it has. Noting too much is harmless, as in
//! a replay, which notes everything.

use super::Composite;
use crate::fold::{Folded, illegal};
use crate::state::{End, Group, State, TaskIx, TaskState, Todo};
use convoke_model::hash::HashMap;
use convoke_model::{CauseKind, ChildKind, ChildSpec, TaskId, Usage};
use std::sync::Arc;

/// What is known of children besides their tasks.
#[derive(Debug, Default)]
pub(crate) struct Children {
    /// By the outermost composite, what has changed since it was last advanced.
    changed: HashMap<TaskIx, Vec<TaskIx>>,
    /// By what they wait for, children that have not started.
    needed_by: HashMap<TaskId, Vec<TaskIx>>,
    /// How many needs of a child have not ended.
    awaits: HashMap<TaskIx, u32>,
}

impl State {
    /// The children of a task so far, in the order of their making.
    pub fn children(&self, task: TaskIx) -> &[TaskIx] {
        self.tasks[task].group.as_deref().map_or(&[], |group| &group.members)
    }

    /// The task that spawned a child.
    pub fn parent_of(&self, child: TaskIx) -> Option<TaskIx> {
        self.tasks[child].spec.as_ref().and(self.tasks[child].place.within)
    }

    /// What a child was spawned for.
    pub fn child_kind(&self, child: TaskIx) -> Option<&ChildKind> {
        self.tasks[child].spec.as_ref().map(|spec| &spec.kind)
    }

    /// Fold: children were spawned.
    pub(crate) fn children_spawned(&mut self, id: &TaskId, children: &[ChildSpec]) -> Folded {
        let task = self.begun(id, "children_spawned")?;
        let unknown = || illegal(&format!("children_spawned of {id}"), "its step has no such children");
        let kind = children.first().map(|spec| &spec.kind);
        let composite = match kind {
            Some(kind) => self.composite_for(task, kind),
            None => self.own_composite(task),
        };
        let composite = composite.ok_or_else(unknown)?;
        composite.before_spawning(self, task);
        if !composite.may_spawn(self, task) {
            let state = self.tasks[task].state;
            return Err(illegal(&format!("children_spawned of {id}"), &format!("the task is {state:?}")));
        }
        self.note_start(task);
        self.open_children(task);
        self.tasks[task].has_open_queries = false;
        for spec in children {
            let node = composite.worker(self, task, &spec.kind).ok_or_else(unknown)?;
            let child = spec.child_of(id);
            if self.tasks.find(&child).is_some() {
                return Err(illegal(&format!("children_spawned of {id}"), "there is such a child already"));
            }
            let member = self.add_member(task, child, node, None);
            self.tasks[member].spec = Some(Arc::new(spec.clone()));
            self.group_mut(task).total += 1;
            composite.spawned(self, task, member);
            self.place_child(&*composite, task, member);
        }
        Ok(())
    }

    /// A task with children, none of them yet.
    pub(crate) fn open_children(&mut self, task: TaskIx) {
        self.tasks[task].group.get_or_insert_with(|| Box::new(Group::default()));
        self.tasks[task].state = TaskState::Open;
    }

    /// A child starts, waits for its needs, or is decided about by its composite.
    fn place_child(&mut self, composite: &dyn Composite, task: TaskIx, child: TaskIx) {
        let spec = self.tasks[child].spec.clone().expect("just set");
        let awaits = self.await_needs(child, spec.waits_for());
        if !composite.starts_when_ready(&spec.kind) {
            self.note_changed(child);
            self.todo(Todo::Group(task));
        } else if let Some((need, kind)) = self.lost_need(spec.waits_for()) {
            self.todo(Todo::Skip(child, kind, Some(need)));
        } else if awaits == 0 {
            self.offer(child);
        }
    }

    /// A need that has ended, and not well.
    fn lost_need(&self, needs: &[TaskId]) -> Option<(TaskIx, CauseKind)> {
        needs.iter().filter_map(|id| self.tasks.find(id)).find_map(|need| Some((need, self.lost(need)?)))
    }

    fn lost(&self, need: TaskIx) -> Option<CauseKind> {
        match self.tasks[need].state {
            TaskState::Ended(End::Failed) => Some(CauseKind::NeedFailed),
            TaskState::Ended(End::Skipped | End::Cancelled) => Some(CauseKind::NeedSkipped),
            _ => None,
        }
    }

    /// How many of its needs a child waits for.
    fn await_needs(&mut self, child: TaskIx, needs: &[TaskId]) -> u32 {
        let has_ended = |task: TaskIx| self.tasks[task].is_ended();
        let open: Vec<TaskId> =
            needs.iter().filter(|id| !self.tasks.find(id).is_some_and(has_ended)).cloned().collect();
        let awaits = open.len() as u32;
        for need in open {
            self.children.needed_by.entry(need).or_default().push(child);
        }
        if awaits > 0 {
            self.children.awaits.insert(child, awaits);
        }
        awaits
    }

    /// Fold: a child of a composite has ended. Its composite hears of it, and so does every child that waits for it.
    pub(crate) fn child_ended(&mut self, child: TaskIx, end: End) {
        if self.tasks[child].spec.is_none() {
            return;
        }
        self.note_changed(child);
        let id = &self.tasks[child].id;
        for waiter in self.children.needed_by.remove(id).unwrap_or_default() {
            self.need_ended(waiter, child, end);
        }
    }

    fn need_ended(&mut self, waiter: TaskIx, need: TaskIx, end: End) {
        let left = self.children.awaits.entry(waiter).or_default();
        *left = left.saturating_sub(1);
        let last = *left == 0;
        if last {
            self.children.awaits.remove(&waiter);
        }
        if !last && end == End::Succeeded {
            return;
        }
        let waits = self.tasks[waiter].state == TaskState::Waiting;
        match self.lost(need) {
            _ if !self.starts_when_ready(waiter) => self.note_changed(waiter),
            Some(kind) => self.todo(Todo::Skip(waiter, kind, Some(need))),
            None if waits => self.offer(waiter),
            None => {}
        }
    }

    fn starts_when_ready(&self, child: TaskIx) -> bool {
        let composite = self.composite_above(child).zip(self.child_kind(child));
        composite.is_none_or(|(composite, about)| composite.starts_when_ready(about))
    }

    /// Fold: something was spent on a task; every composite around it hears of that.
    pub(crate) fn spent_below(&mut self, task: TaskIx, usage: &Usage) {
        let mut next = Some(task);
        while let Some(at) = next {
            let root = self.root_of(at);
            if let Some(composite) = self.own_composite(at) {
                composite.spent(self, root, usage);
            }
            next = self.tasks[root].place.within;
        }
    }

    /// Fold: something about a composite task, or a child of one, has changed.
    pub(crate) fn note_changed(&mut self, task: TaskIx) {
        let own = self.own_composite(task).map(|composite| composite.root(self, task));
        let above = || self.tasks[task].place.within.filter(|above| self.own_composite(*above).is_some());
        let Some(root) = own.or_else(|| above().map(|above| self.root_of(above))) else { return };
        let changed = self.children.changed.entry(root).or_default();
        if changed.last() != Some(&task) {
            changed.push(task);
        }
    }

    pub(crate) fn take_changed(&mut self, root: TaskIx) -> Vec<TaskIx> {
        let mut changed = self.children.changed.remove(&root).unwrap_or_default();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Whether a task works for a composite that waits for its own place.
    pub(crate) fn waits_with_composite(&self, task: TaskIx) -> bool {
        let around = self.tasks[task].place.within.map(|above| self.root_of(above));
        around.is_some_and(|root| matches!(self.tasks[root].state, TaskState::Held | TaskState::Ready))
    }

    /// Whether a task asks people and waits on its way, with its children.
    pub(crate) fn parks(&self, task: TaskIx) -> bool {
        self.own_composite(task).is_some_and(|composite| composite.parks())
    }

    /// Fold: a composite begins, or goes on with the children that it has.
    pub(crate) fn open_composite(&mut self, task: TaskIx) {
        self.open_children(task);
        self.todo(Todo::Group(task));
        self.begin_below(task);
    }

    /// What could begin but for a composite that waited for its place begins now.
    fn begin_below(&mut self, task: TaskIx) {
        for member in self.children(task).to_vec() {
            match self.tasks[member].state {
                TaskState::Ready => self.todo(Todo::Begin(member)),
                TaskState::Open => self.begin_below(member),
                _ => {}
            }
        }
    }

    /// Fold: a parked composite goes on where it stood; one among members of a group when there is a place for it.
    pub(crate) fn wake_composite(&mut self, task: TaskIx) {
        if self.tasks[task].place.within.is_some_and(|group| !self.parks(group)) {
            self.offer(task);
        }
        if self.tasks[task].state != TaskState::Held {
            self.open_composite(task);
        }
    }
}
