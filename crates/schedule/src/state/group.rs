//! Groups: members side by side, or one node once per item.
//!
//! Keeps the places (`max_concurrent`) and the counts that the failure mode needs. A place is held while a member
//! runs or waits for its children; waiting for a person or a back-off frees it.

use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::state::{End, Place, State, TaskIx, TaskState, Todo};
use convoke_model::{Cause, CauseKind, Class, Event, Failure, Payload, TaskId};
use convoke_plan::{FailureMode, Kind, NodeIx};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a group knows about its members.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Members so far, in the order of the file or of the items.
    pub members: Vec<TaskIx>,
    /// How many there will be.
    pub total: u32,
    /// Members that have not ended.
    pub open: u32,
    pub succeeded: u32,
    pub failed: u32,
    /// Places taken.
    pub active: u32,
    pub limit: Option<u32>,
    /// Members that wait for a place.
    pub held: VecDeque<TaskIx>,
    /// The first member whose failure ends the group.
    pub failing: Option<TaskIx>,
    /// Whether what is left was told to stop.
    pub swept: bool,
    pub items: Option<Payload>,
    pub keys: Option<Vec<Arc<str>>>,
    /// Whether all of a batch end before the next begins.
    pub in_batches: bool,
}

impl Group {
    fn has_place(&self) -> bool {
        self.limit.is_none_or(|limit| self.active < limit)
    }

    /// Whether the next item may come into being: in batches, the last of them must be over.
    fn may_add(&self) -> bool {
        let begins_batch =
            self.limit.is_some_and(|limit| (self.members.len() as u32).is_multiple_of(limit.max(1)));
        !self.in_batches || !begins_batch || self.open == 0
    }

    /// Whether every member there will ever be has ended.
    fn is_done(&self, cancelling: bool) -> bool {
        let complete = self.members.len() as u32 == self.total || self.failing.is_some() || cancelling;
        self.open == 0 && complete
    }
}

/// Items for which room is made at once.
const MOST_ROOM: u32 = 16_384;

/// How many different failures a group's message has, and how many names stand before each.
const MOST_LISTED: usize = 5;

/// The words of the members' failures, each with the members that failed in these words.
fn why_members_failed(failed: &[(String, &Failure)]) -> String {
    let mut listed: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, failure) in failed {
        match listed.iter().position(|(words, _)| *words == failure.message) {
            Some(at) => listed[at].1.push(name),
            // Further ones are only counted, so the search stays short.
            None if listed.len() <= MOST_LISTED => listed.push((&failure.message, vec![name])),
            None => {}
        }
    }
    listed.truncate(MOST_LISTED);
    let names = |names: &[&str]| match names.len().checked_sub(MOST_LISTED) {
        Some(more) if more > 0 => format!("{} and {more} more", names[..MOST_LISTED].join(", ")),
        _ => names.join(", "),
    };
    let counted: usize = listed.iter().map(|(_, names)| names.len()).sum();
    let listed = listed.iter().map(|(words, of)| format!("; {}: {words}", names(of)));
    let more = Some(failed.len() - counted).filter(|more| *more > 0);
    listed.chain(more.map(|more| format!("; and {more} more"))).collect()
}

impl Scheduler {
    /// Decide: does the group end, and how?
    pub(crate) fn process_group(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        if self.tasks[task].state != TaskState::Open || self.tasks[task].group.is_none() {
            return;
        }
        if self.awaits_check(task) {
            return;
        }
        self.sweep_group(task, outputs);
        let cancelling = self.tasks[task].cancelling.is_some();
        if !cancelling && self.composite(task).is_some() {
            return self.advance(task, outputs);
        }
        if !self.group(task).is_done(cancelling) {
            return;
        }
        if cancelling {
            return self.finish_cancel(task);
        }
        match self.group_failure(task) {
            None => self
                .emit(Event::TaskSucceeded { task: self.tasks[task].id.clone(), output: Payload::Gathered }),
            Some(failure) => self.fail_task(task, failure),
        }
    }

    /// Stops what is left of a group that has failed or is cancelled itself.
    fn sweep_group(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let state = self.group(task);
        let because = self.tasks[task].cancelling.as_deref().cloned();
        let cause = match (because, state.failing) {
            (Some(cause), _) => crate::decide::below(cause, CauseKind::GroupFailed),
            (None, Some(member)) => {
                Cause { kind: CauseKind::GroupFailed, task: Some(self.tasks[member].id.clone()) }
            }
            (None, None) => return,
        };
        if !self.begin_group_sweep(task) {
            return;
        }
        for member in self.group(task).members.clone() {
            self.cancel(member, &cause, outputs);
        }
    }
}

impl State {
    /// Fold: the members of a parallel group exist.
    pub(crate) fn open_parallel(&mut self, task: TaskIx) {
        let (plan, frame) = (self.plan.clone(), self.tasks[task].place.frame);
        let workflow = plan.workflow(self.frame(frame).workflow);
        let Kind::Parallel(spec) = &workflow.node(self.tasks[task].node).kind else { return };
        let group =
            Group { total: spec.members.len() as u32, limit: spec.max_concurrent, ..Group::default() };
        self.tasks[task].group = Some(Box::new(group));
        self.tasks[task].state = TaskState::Open;
        let counted = self.group_iterations(task);
        self.frame_mut(frame).count_iterations(counted);
        for (position, member) in spec.members.iter().enumerate() {
            let twice = spec.members[..position].contains(member);
            let key = twice.then(|| position.to_string());
            let name = &workflow.node(*member).name;
            let id = TaskId::new(Some(&self.tasks[task].id.clone()), name, key.as_deref(), 1);
            let added = self.add_member(task, id, *member, None);
            self.arm_input_timeout(added);
        }
        let members = self.group(task).members.clone();
        for member in members {
            let needs = &workflow.node(self.tasks[member].node).needs;
            if !needs.iter().any(|need| spec.members.contains(&need.node)) {
                self.offer(member);
            }
        }
        self.todo(Todo::Group(task));
    }

    /// Fold: a for_each knows its items.
    pub(crate) fn open_fan_out(
        &mut self,
        task: TaskIx,
        count: u32,
        items: &Payload,
        keys: Option<&[String]>,
    ) {
        let frame = self.tasks[task].place.frame;
        let (limit, in_batches) = {
            let workflow = self.workflow_in(frame);
            let Kind::ForEach(spec) = &workflow.node(self.tasks[task].node).kind else { return };
            (spec.max_concurrent, spec.in_batches)
        };
        let counted = self.item_iterations(task, count);
        self.frame_mut(frame).count_iterations(counted);
        let keys = keys.map(|keys| keys.iter().map(|key| Arc::from(key.as_str())).collect());
        // A journal may name more items than there are, so room is made for some of them only.
        let room = count.min(limit).min(MOST_ROOM) as usize;
        self.tasks.reserve(room);
        let (limit, items, members) = (Some(limit), Some(items.clone()), Vec::with_capacity(room));
        let group = Group { total: count, limit, items, keys, in_batches, members, ..Group::default() };
        self.tasks[task].group = Some(Box::new(group));
        self.tasks[task].state = TaskState::Open;
        self.fill(task);
        self.todo(Todo::Group(task));
    }

    pub(crate) fn add_member(
        &mut self,
        group: TaskIx,
        id: TaskId,
        node: NodeIx,
        item: Option<u32>,
    ) -> TaskIx {
        let place = Place { frame: self.tasks[group].place.frame, within: Some(group), item };
        let from = self.tasks[group].from.clone();
        let member = self.tasks.add(id, node, place, from);
        self.tasks[member].after_error = self.tasks[group].after_error;
        let state = self.group_mut(group);
        state.members.push(member);
        state.open += 1;
        member
    }

    /// A member could run: it gets a place, or waits for one.
    pub(crate) fn offer(&mut self, task: TaskIx) {
        let Some(group) = self.tasks[task].place.within else { return self.make_ready(task) };
        let state = self.group_mut(group);
        if state.has_place() {
            state.active += 1;
            self.tasks[task].placed = true;
            self.make_ready(task);
        } else {
            state.held.push_back(task);
            self.tasks[task].state = TaskState::Held;
        }
    }

    /// A member no longer uses its place.
    pub(crate) fn vacate(&mut self, task: TaskIx) {
        if !std::mem::take(&mut self.tasks[task].placed) {
            return;
        }
        let group = self.tasks[task].place.within.expect("only members hold places");
        self.group_mut(group).active -= 1;
        self.fill(group);
    }

    /// Gives free places to tasks that wait for one, then to items that do not exist yet.
    pub(crate) fn fill(&mut self, group: TaskIx) {
        while self.group(group).has_place() {
            let state = self.group_mut(group);
            if let Some(held) = state.held.pop_front() {
                if self.tasks[held].state == TaskState::Held {
                    self.offer(held);
                }
                continue;
            }
            let next = state.members.len() as u32;
            let closed =
                state.failing.is_some() || !state.may_add() || self.tasks[group].cancelling.is_some();
            if next >= self.group(group).total || closed || self.tasks[group].is_ended() {
                return;
            }
            let item = self.add_item(group, next);
            self.offer(item);
        }
    }

    /// Brings the next item into being, without a place; false where all exist.
    pub(crate) fn add_held(&mut self, group: TaskIx) -> bool {
        let state = self.group(group);
        let next = state.members.len() as u32;
        if next >= state.total {
            return false;
        }
        let item = self.add_item(group, next);
        self.tasks[item].state = TaskState::Held;
        self.group_mut(group).held.push_back(item);
        true
    }

    fn add_item(&mut self, group: TaskIx, index: u32) -> TaskIx {
        let frame = self.tasks[group].place.frame;
        let body = {
            let node = self.workflow_in(frame).node(self.tasks[group].node);
            let Kind::ForEach(spec) = &node.kind else { unreachable!("only for_each has items") };
            spec.body
        };
        let id = self.item_id(group, index);
        self.add_member(group, id, body, Some(index))
    }

    /// The id of an item, begun or not.
    pub(crate) fn item_id(&self, group: TaskIx, index: u32) -> TaskId {
        let (id, node) = (&self.tasks[group].id, &self.node(group).name);
        match &self.group(group).keys {
            Some(keys) => id.item(node, &keys[index as usize]),
            None => id.numbered_item(node, index),
        }
    }

    /// An item's key: what `key_by` found, else its index.
    pub(crate) fn key_of(&self, group: TaskIx, index: u32) -> Arc<str> {
        match &self.group(group).keys {
            Some(keys) => keys[index as usize].clone(),
            None => index.to_string().into(),
        }
    }

    /// Fold: a member has ended.
    pub(crate) fn member_ended(&mut self, task: TaskIx, end: End) {
        let Some(group) = self.tasks[task].place.within else { return };
        let mode = self.failure_mode(group);
        let state = self.group_mut(group);
        state.open -= 1;
        match end {
            End::Succeeded => state.succeeded += 1,
            End::Failed => state.failed += 1,
            End::Skipped | End::Cancelled => {}
        }
        let lost = state.members.len() as u32 - state.open - state.succeeded;
        let hopeless = match mode {
            FailureMode::FailFast => end == End::Failed,
            FailureMode::Quorum(min) => state.total - lost < min,
            FailureMode::ContinueOnError | FailureMode::AllOrNothing => false,
        };
        if hopeless && state.failing.is_none() {
            state.failing = Some(task);
        }
        self.vacate(task);
        self.child_ended(task, end);
        self.todo(Todo::Group(group));
    }

    fn group_failure(&self, task: TaskIx) -> Option<Failure> {
        let state = self.group(task);
        let failed = match self.failure_mode(task) {
            FailureMode::FailFast | FailureMode::AllOrNothing => state.failed > 0,
            FailureMode::ContinueOnError => state.succeeded == 0 && state.total > 0,
            FailureMode::Quorum(min) => state.succeeded < min,
        };
        failed.then(|| self.describe_group_failure(task))
    }

    fn describe_group_failure(&self, task: TaskIx) -> Failure {
        let state = self.group(task);
        let node = self.node(task);
        let mode = mode_word(self.failure_mode(task));
        // The cause is told first and gives its class, which `on_error` asks for.
        let first = self.failed_first(state.members.iter().copied()).map(|(member, _)| member);
        let others = state.members.iter().filter(|member| Some(**member) != first);
        let failed: Vec<_> = first
            .iter()
            .chain(others)
            .filter_map(|member| Some((self.member_name(*member), self.tasks[*member].failure.as_deref()?)))
            .collect();
        let why = why_members_failed(&failed);
        let message = format!(
            "group `{}` failed ({mode}): {} of {} failed, {} succeeded{why}",
            node.name, state.failed, state.total, state.succeeded,
        );
        let first = failed.first().map(|(_, failure)| *failure);
        let mut failure = Failure::new(first.map_or(Class::Fatal, |failure| failure.class), message);
        failure.hint = first.and_then(|failure| failure.hint.clone());
        failure
    }

    /// How people know a member: its step, or the item.
    pub(crate) fn member_name(&self, member: TaskIx) -> String {
        match self.tasks[member].place.item {
            Some(index) => {
                let group = self.tasks[member].place.within.expect("an item has a group");
                format!("item {}", self.key_of(group, index))
            }
            None => format!("`{}`", self.node(member).name),
        }
    }

    pub(crate) fn failure_mode(&self, group: TaskIx) -> FailureMode {
        match &self.node(group).kind {
            // What the failure of a child means is a composite's own decision.
            _ if self.own_composite(group).is_some() => FailureMode::ContinueOnError,
            Kind::Parallel(spec) => spec.failure_mode,
            Kind::ForEach(spec) => spec.failure_mode,
            _ => FailureMode::FailFast,
        }
    }

    pub(crate) fn group(&self, task: TaskIx) -> &Group {
        self.tasks[task].group.as_deref().expect("the task is an open group")
    }

    pub(crate) fn group_mut(&mut self, task: TaskIx) -> &mut Group {
        self.tasks[task].group.as_deref_mut().expect("the task is an open group")
    }

    /// The task of a node among what stands beside a task: members of its group, or steps of its workflow.
    pub(crate) fn beside(&self, place: Place, node: NodeIx) -> Option<TaskIx> {
        match place.within {
            Some(group) => {
                self.group(group).members.iter().copied().find(|member| self.tasks[*member].node == node)
            }
            None => self.frame(place.frame).needed.get(&node).copied(),
        }
    }

    /// What the members of a parallel group count, where they count: an item of a for_each counts once, whatever it does.
    pub(crate) fn group_iterations(&self, task: TaskIx) -> u32 {
        match &self.node(task).kind {
            Kind::Parallel(spec) if !self.is_in_item(task) => spec.members.len() as u32,
            _ => 0,
        }
    }

    /// What the items of a for_each count.
    pub(crate) fn item_iterations(&self, task: TaskIx, count: u32) -> u32 {
        if self.is_in_item(task) { 0 } else { count }
    }

    /// Whether a task is an item of a for_each, or stands below one in the same workflow.
    fn is_in_item(&self, task: TaskIx) -> bool {
        let place = self.tasks[task].place;
        place.item.is_some() || place.within.is_some_and(|group| self.is_in_item(group))
    }
}

fn mode_word(mode: FailureMode) -> &'static str {
    match mode {
        FailureMode::FailFast => "fail_fast",
        FailureMode::ContinueOnError => "continue_on_error",
        FailureMode::AllOrNothing => "all_or_nothing",
        FailureMode::Quorum(_) => "quorum",
    }
}
