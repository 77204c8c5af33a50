//! What a changed plan means for a run: what it would do again.
//!
//! Invariant: whatever follows from something that is done again is done again too, in whichever order tasks came into
//! being.

use crate::state::{FrameIx, State, TaskIx, TaskState};
use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{Superseded, TaskId};
use convoke_plan::{Condition, Kind, Node, NodeIx, Plan, Trigger, Workflow};

/// What a changed plan means for the tasks there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// They run again, with everything below them.
    pub dropped: Vec<TaskId>,
    /// Groups that are open again; members that are unchanged stay finished.
    pub opened: Vec<TaskId>,
    /// Phases that ran, and of which that is all that is left.
    pub superseded: Vec<Superseded>,
}

/// Finds what a changed plan would do again: what changed, and what depends on it.
pub fn changed(state: &State, plan: &Plan) -> Changed {
    changed_and_set(state, plan, &[])
}

/// The same where outputs were set besides: their tasks take these, and what followed from them is done again.
pub fn changed_and_set(state: &State, plan: &Plan, set: &[TaskId]) -> Changed {
    let found = Stale::find(state, plan, set);
    let ids = |tasks: HashSet<TaskIx>| {
        let mut ids: Vec<_> = tasks.into_iter().map(|task| state.tasks[task].id.clone()).collect();
        ids.sort();
        ids
    };
    let (dropped, opened) = (ids(found.dropped), ids(found.opened));
    Changed { superseded: state.superseded_by(&dropped.iter().collect()), dropped, opened }
}

/// What does not count any more.
#[derive(Default)]
struct Stale {
    dropped: HashSet<TaskIx>,
    opened: HashSet<TaskIx>,
}

impl Stale {
    fn find(state: &State, plan: &Plan, set: &[TaskId]) -> Stale {
        let mut found = Stale::default();
        let mut changed = Vec::new();
        for task in state.tasks.indices().filter(|task| !state.is_same(*task, plan)) {
            let kept = state.is_same_group(task, plan);
            let into = if kept { &mut found.opened } else { &mut found.dropped };
            into.insert(task);
            changed.push(task);
        }
        for task in set.iter().filter_map(|id| state.tasks.find(id)) {
            changed.extend(found.set(state, task));
        }
        // With the plan the end of the run may be another one, and with it what is run then.
        found.dropped.extend(state.closing_hooks(FrameIx(0)));
        found.spread(state, changed);
        let summaries = state.summaries_for(|waiter| found.dropped.contains(&waiter));
        found.dropped.extend(summaries);
        found
    }

    /// A task begins anew to take what was set; groups and sub-workflows around it are open again. All of these.
    fn set(&mut self, state: &State, task: TaskIx) -> Vec<TaskIx> {
        let around = std::iter::successors(state.above(task), |task| state.above(*task));
        let around: Vec<TaskIx> = around.filter(|group| !self.dropped.contains(group)).collect();
        for group in &around {
            self.opened.insert(*group);
            if let Some(frame) = state.tasks[*group].frame {
                self.dropped.extend(state.closing_hooks(frame));
            }
        }
        self.dropped.insert(task);
        self.opened.remove(&task);
        [vec![task], around].concat()
    }

    /// Drops what follows from what is stale, and what lies below what is dropped.
    fn spread(&mut self, state: &State, mut stale: Vec<TaskIx>) {
        let (followers, below) = (state.followers(), state.all_below());
        while let Some(task) = stale.pop() {
            let lower = below.get(&task).filter(|_| self.dropped.contains(&task));
            for next in followers.get(&task).into_iter().chain(lower).flatten() {
                if self.dropped.insert(*next) {
                    self.opened.remove(next);
                    stale.push(*next);
                }
            }
        }
    }
}

impl State {
    /// For each task, those that followed from it: by a route, as one of their needs, or as a merge's source. What has not
    /// been looked at yet follows from nothing.
    fn followers(&self) -> HashMap<TaskIx, Vec<TaskIx>> {
        let mut followers: HashMap<TaskIx, Vec<TaskIx>> = HashMap::default();
        for task in self.tasks.indices() {
            let (node, place) = (self.node(task), self.tasks[task].place);
            // A member's predecessors are its group's: what is stale there concerns the group.
            let merged = self.tasks[task].merging.iter().flat_map(|merging| merging.sources.iter().copied());
            let decided = self.tasks[task].state != TaskState::Waiting;
            let needs = node.needs.iter().filter(|need| decided && !need.order);
            let needed = needs.filter_map(|need| self.beside(place, need.node));
            for before in self.tasks[task].from.iter().copied().chain(merged).chain(needed) {
                followers.entry(before).or_default().push(task);
            }
        }
        followers
    }

    /// For each group, step or sub-workflow, what stands directly below it.
    fn all_below(&self) -> HashMap<TaskIx, Vec<TaskIx>> {
        let mut below: HashMap<TaskIx, Vec<TaskIx>> = HashMap::default();
        for task in self.tasks.indices() {
            if let Some(above) = self.above(task) {
                below.entry(above).or_default().push(task);
            }
        }
        below
    }

    /// Whether a task would do the same under another plan.
    fn is_same(&self, task: TaskIx, plan: &Plan) -> bool {
        self.counterpart(task, plan).is_some_and(|(workflow, node)| {
            node.hash == self.node(task).hash && self.is_reached_alike(task, plan, workflow, node)
        })
    }

    /// Whether under another plan a task waits for nothing new and the same edges lead to it: what has run before
    /// something that it must now wait for, or was judged by other edges, is decided anew.
    fn is_reached_alike(&self, task: TaskIx, plan: &Plan, workflow: &Workflow, node: &Node) -> bool {
        let (own, before) = (self.workflow_of(task), self.node(task));
        let waited = |name: &str| before.needs.iter().any(|need| &*own.node(need.node).name == name);
        let waits_alike = node.needs.iter().all(|need| waited(&workflow.node(need.node).name));
        let edges = |plan: &Plan, workflow: &Workflow, node: &Node| -> Vec<_> {
            node.triggers.iter().map(|trigger| edge(plan, workflow, trigger)).collect()
        };
        waits_alike && edges(&self.plan, own, before) == edges(plan, workflow, node)
    }

    /// Whether a group has the same members, or goes through the same list, under another plan.
    fn is_same_group(&self, task: TaskIx, plan: &Plan) -> bool {
        let Some((workflow, node)) = self.counterpart(task, plan) else { return false };
        let name = |workflow: &Workflow, node: &NodeIx| workflow.node(*node).name.clone();
        match (&self.node(task).kind, &node.kind) {
            (Kind::Parallel(old), Kind::Parallel(new)) => {
                let before = old.members.iter().map(|member| name(self.workflow_of(task), member));
                before.eq(new.members.iter().map(|member| name(workflow, member)))
            }
            (Kind::ForEach(old), Kind::ForEach(new)) => {
                let head =
                    (&old.source, &old.variable, &old.key_by) == (&new.source, &new.variable, &new.key_by);
                head && old.items == new.items
                    && name(self.workflow_of(task), &old.body) == name(workflow, &new.body)
            }
            _ => false,
        }
    }

    /// The node of another plan that a task would be an instance of.
    fn counterpart<'p>(&self, task: TaskIx, plan: &'p Plan) -> Option<(&'p Workflow, &'p Node)> {
        let workflow = plan.workflows.get(self.frame(self.tasks[task].place.frame).workflow.0 as usize)?;
        let name = &self.node(task).name;
        Some((workflow, workflow.nodes.iter().find(|node| node.name == *name)?))
    }
}

/// An edge in words that mean the same in every plan.
fn edge(plan: &Plan, workflow: &Workflow, trigger: &Trigger) -> String {
    let condition = |condition: &Condition| match condition {
        Condition::Expression { when } => plan.conditions[when.0 as usize].text.to_string(),
        other => format!("{other:?}"),
    };
    let when: Vec<String> = trigger.when.iter().map(condition).collect();
    let from = &workflow.node(trigger.from).name;
    format!("{from} {:?} {:?} {when:?} {}", trigger.on, trigger.event, trigger.last)
}
