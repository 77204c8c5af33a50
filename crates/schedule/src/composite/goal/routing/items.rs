//! What comes next for one task of a goal: done directly or by children, rejoined, recovered, skipped.
//!
//! Pure, and driven by how the last thing went that was done for the task. Invariant: a task ends only when all its
//! children have, and each way to recover is taken at most once.

use super::decision::{Act, Decision};
use crate::composite::goal::accounts;
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::planning::check::{Known, check};
use crate::composite::goal::planning::items::items;
use crate::composite::goal::state::{Entry, GoalState, ItemState, Response, Standing, asked_in_a_row};
use crate::state::End;
use convoke_model::{Cause, CauseKind, Class, Effort, Failure, GoalChoice, Role, Skip, TaskId, counted};
use convoke_plan::SpawnRule;
use convoke_plan::goal_plan::{Proposal, Terms};

/// The reason of a failure: the worker of a task says that its aim was not reached, or a goal was not achieved.
pub const NOT_ACHIEVED: &str = "goal_not_achieved";

/// Tasks that something may be decided about: by priority, then depth, then creation.
pub(crate) fn in_order(state: &GoalState<'_>) -> Vec<usize> {
    let open = |index: &usize| matches!(state.items[*index].standing, Standing::Waiting | Standing::Open);
    let mut open: Vec<usize> = (0..state.items.len()).filter(open).collect();
    open.sort_by_key(|index| (state.items[*index].item.priority, state.items[*index].item.depth, *index));
    open
}

/// The id of a task by its name within the goal.
pub(crate) fn full(state: &GoalState<'_>, short: &str) -> TaskId {
    TaskId(format!("{}/{short}", state.id).into())
}

/// What is decided about a task now, if anything. `left` is how many tasks may still be made.
pub(crate) fn next(state: &GoalState<'_>, index: usize, left: &mut u32) -> Option<Decision> {
    let mut look = Look { state, item: &state.items[index], left };
    if look.item.has_open_child(state) {
        return None;
    }
    if let Some(again) = look.again() {
        return Some(again);
    }
    match look.item.steps.last() {
        None if look.item.standing == Standing::Waiting => look.first(),
        None => None,
        Some(Entry::Child(_)) => look.rejoin(),
        Some(Entry::Role(_, Response::Pending)) => None,
        Some(Entry::Role(Role::Analyse, response)) => Some(look.analysed(response)),
        Some(Entry::Role(Role::Decompose, response)) => Some(look.decomposed(response)),
        Some(Entry::Role(Role::Recover, response)) => Some(look.judged(response)),
        Some(Entry::Role(Role::Collect, response)) => look.not_collected(response),
        Some(Entry::Role(_, response)) => Some(look.worked(response)),
    }
}

/// One task under the router's eyes.
pub(in crate::composite::goal) struct Look<'s, 'a> {
    pub state: &'s GoalState<'a>,
    pub item: &'s ItemState<'a>,
    pub left: &'s mut u32,
}

impl Look<'_, '_> {
    /// No role was asked yet.
    fn first(&mut self) -> Option<Decision> {
        let threshold = self.state.goal.skip_threshold;
        let hopeless = |skip: &&Skip| skip.probability >= threshold && !self.item.insisted;
        if let Some(skip) = self.item.item.skip.as_ref().filter(hopeless) {
            let reason = format!("it is not possible ({} %): {}", skip.probability, skip.reason);
            return Some(self.skip(CauseKind::NotPossible, None, reason));
        }
        let ends = self.item.item.inputs.iter().zip(&self.item.inputs);
        if let Some((input, end)) =
            ends.filter_map(|(input, end)| Some((input, (*end)?))).find(|(_, end)| *end != End::Succeeded)
        {
            return Some(self.without(input, end));
        }
        if self.item.inputs.iter().any(Option::is_none) { None } else { Some(self.start()) }
    }

    fn without(&self, input: &TaskId, end: End) -> Decision {
        let (kind, what) = match end {
            End::Skipped => (CauseKind::NeedSkipped, "was skipped"),
            _ => (CauseKind::NeedFailed, "failed"),
        };
        let reason = format!("it needs task {}, which {what}", self.state.short(input));
        self.skip(kind, Some(input.clone()), reason)
    }

    /// Directly, by children, or as an analysis says.
    fn start(&self) -> Decision {
        let refusal = self.spawn_refusal();
        match (self.size(), refusal) {
            (Size::Large(why), None) => self.spawn(format!("{why}: it is done by children"), None),
            (Size::Large(why), Some(no)) => {
                self.execute(format!("{why}, but {no}: it is done directly"), None)
            }
            (Size::Small, _) => self.execute("it is small enough to be done directly".into(), None),
            (Size::Unclear, Some(no)) => self.execute(format!("{no}: it is done directly"), None),
            (Size::Unclear, None) => self.ask(
                GoalChoice::Analyse,
                Role::Analyse,
                "its size does not say whether it needs children".into(),
                None,
            ),
        }
    }

    fn size(&self) -> Size {
        let (rule, item) = (self.rule(), self.item.item);
        let Effort { tokens, seconds } = item.effort;
        let tools = item.tools.len() as u64;
        if let Some(tokens) = tokens.filter(|tokens| *tokens >= rule.tokens) {
            return Size::Large(format!("it is thought to take {tokens} tokens"));
        }
        if let Some(seconds) = seconds.filter(|seconds| *seconds >= rule.seconds) {
            return Size::Large(format!("it is thought to take {seconds} s"));
        }
        match tools {
            _ if tools >= u64::from(rule.tools) => Size::Large(format!("it needs {tools} tools")),
            0 | 1 => Size::Small,
            _ => Size::Unclear,
        }
    }

    /// From when on it is split without asking: the deeper it stands, the later. What is a part already is seldom better
    /// done in parts.
    fn rule(&self) -> SpawnRule {
        let SpawnRule { tokens, seconds, tools } = self.state.goal.spawn;
        let times = 1u32.checked_shl(self.item.item.depth).unwrap_or(u32::MAX);
        SpawnRule {
            tokens: tokens.saturating_mul(times.into()),
            seconds: seconds.saturating_mul(times.into()),
            tools: tools.saturating_mul(times),
        }
    }

    /// Why it can have no children.
    pub(in crate::composite::goal) fn spawn_refusal(&self) -> Option<String> {
        let bounds = self.state.goal.bounds;
        if !self.item.item.ensure.is_empty() {
            return Some("what it must prove is about the work of one agent (ensure)".into());
        }
        if self.item.recovers(self.state) {
            return Some("a task that recovers another has no children".into());
        }
        if self.item.item.depth >= bounds.max_depth {
            let depth = self.item.item.depth;
            return Some(format!("tasks at depth {depth} are not split (max_depth: {})", bounds.max_depth));
        }
        if self.item.children() >= bounds.max_children {
            return Some(format!(
                "a task has at most {} (max_children)",
                counted(bounds.max_children, "child", "children")
            ));
        }
        if self.state.sub_agents_left() == 0 {
            return Some(format!("no further sub-agent may work (max_subagents: {})", bounds.max_subagents));
        }
        if *self.left == 0 {
            return Some(format!("no further tasks can be made (max_tasks: {})", bounds.max_tasks));
        }
        accounts::refusal(&self.state.accounts, self.item.item.effort)
    }

    fn analysed(&self, response: &Response<'_>) -> Decision {
        let Response::Answered(said) = response else {
            return self.execute("the analysis failed: the task is done directly".into(), None);
        };
        match (&**said, self.spawn_refusal()) {
            (GoalAnswer::Size { spawn: true, reason, .. }, None) => {
                self.spawn(because("it is done by children", reason), None)
            }
            (GoalAnswer::Size { spawn: true, reason, .. }, Some(no)) => self.execute(
                because(&format!("it is to have children, but {no}: it is done directly"), reason),
                None,
            ),
            (GoalAnswer::Size { reason, .. }, _) => {
                self.execute(because("it is done directly", reason), None)
            }
            _ => self.execute("the analysis gave no decision: the task is done directly".into(), None),
        }
    }

    fn decomposed(&mut self, response: &Response<'_>) -> Decision {
        let refused = match response {
            Response::Answered(said) => match &**said {
                GoalAnswer::Tasks(tasks) => match check(tasks, &self.terms(), &self.known()) {
                    Ok(()) => return self.add_children(tasks),
                    Err(why) => why,
                },
                GoalAnswer::Refused(why) => why.clone(),
                _ => "it is no list of tasks".into(),
            },
            Response::Failed(failure) => return self.not_decomposed(&message(*failure)),
            Response::Pending => unreachable!("only answers are looked at"),
        };
        let asked = asked_in_a_row(&self.item.steps, Role::Decompose);
        if asked == 1 && *self.left > 0 {
            let reason = format!("these children cannot be made: {refused}");
            return self.ask(GoalChoice::AskAgain, Role::Decompose, reason, Some(refused));
        }
        self.not_decomposed(&refused)
    }

    /// What its parts may refer to besides one another.
    fn known(&self) -> Known {
        let mut known = Known::built_on(self.item.builds_on.iter().map(|id| self.state.short(id)));
        let above = |item: &&ItemState<'_>| item.parent.map(|parent| &self.state.items[parent]);
        for whole in std::iter::successors(Some(self.item), above) {
            known.split(self.state.short(&whole.id), &whole.item.description);
        }
        known
    }

    fn terms(&self) -> Terms {
        let bounds = self.state.goal.bounds;
        let room = bounds.max_children.saturating_sub(self.item.children());
        let (most, because) = match room <= *self.left {
            true => (room, ("max_children", bounds.max_children)),
            false => (*self.left, ("max_tasks", bounds.max_tasks)),
        };
        let skip_threshold = self.state.goal.skip_threshold;
        Terms { most, because, skip_threshold, vouched: false }
    }

    fn add_children(&mut self, tasks: &Proposal) -> Decision {
        let first = self.item.children() + 1;
        let known = |short: &str| full(self.state, short);
        let items = items(tasks, &self.item.id, first, self.item.item.depth + 1, &known);
        *self.left -= items.len() as u32;
        let reason = format!("it is done by {}", counted(items.len(), "child", "children"));
        self.decide(GoalChoice::AddTasks, reason, None, Act::Add(items))
    }

    /// It could not be taken apart: what failed before stays failed, and what was not done yet is done directly.
    fn not_decomposed(&mut self, why: &str) -> Decision {
        match self.last_failure() {
            Some(failure) => self.after(failure),
            None => self.execute(format!("it cannot be taken apart ({why}): it is done directly"), None),
        }
    }

    /// Its children have changed.
    fn rejoin(&mut self) -> Option<Decision> {
        let batch = self.item.batch(self.state);
        let children: Vec<&ItemState<'_>> = batch.iter().map(|child| &self.state.items[*child]).collect();
        if children.iter().any(|child| child.ended().is_none()) {
            return None;
        }
        let done = children.iter().filter(|child| child.ended() == Some(End::Succeeded)).count();
        Some(match (done, children.as_slice()) {
            (0, _) if children.iter().all(|child| child.ended() == Some(End::Skipped)) => {
                let given_up = children.iter().find(|child| child.was_given_up());
                let kind = given_up.map_or(CauseKind::NeedSkipped, |_| CauseKind::GivenUp);
                let first = given_up.or(children.first()).map(|child| child.id.clone());
                self.skip(kind, first, "all its children were skipped".into())
            }
            (0, _) => self.after(self.last_failure().unwrap_or_else(unknown)),
            (_, [only]) => {
                let act = Act::Inherit(only.id.clone());
                self.decide(GoalChoice::End, "the result of its only child is its own".into(), None, act)
            }
            (done, all) => {
                let reason = format!("all its children have ended, {done} of {} well", all.len());
                self.ask(GoalChoice::Reconcile, Role::Reconcile, reason, None)
            }
        })
    }

    /// A digest of its parts may not be made: no other way to put them together could be taken either.
    fn not_collected(&self, response: &Response<'_>) -> Option<Decision> {
        let Response::Failed(failure) = response else { return None };
        let failure = failure.cloned().unwrap_or_else(unknown);
        let message = format!("its parts could not be put together: {}", failure.message);
        let failure = Failure { message: message.clone(), ..failure };
        Some(self.decide(GoalChoice::End, message, None, self.give_up(failure)))
    }

    /// Its worker, or the role that put its parts together, has ended.
    fn worked(&mut self, response: &Response<'_>) -> Decision {
        if let Response::Answered(said) = response
            && let GoalAnswer::Work { achieved: true, reason } = &**said
        {
            return self.decide(GoalChoice::End, because("it is done", reason), None, Act::Succeed);
        }
        self.after(self.last_failure().unwrap_or_else(unknown))
    }

    fn spawn(&self, reason: String, note: Option<String>) -> Decision {
        self.ask(GoalChoice::Spawn, Role::Decompose, reason, note)
    }

    pub(in crate::composite::goal) fn execute(&self, reason: String, note: Option<String>) -> Decision {
        self.ask(GoalChoice::Execute, self.worker(), reason, note)
    }

    /// The role that does the task.
    pub(in crate::composite::goal) fn worker(&self) -> Role {
        if self.item.recovers(self.state) { Role::Rescue } else { Role::Execute }
    }

    pub(in crate::composite::goal) fn ask(
        &self,
        chosen: GoalChoice,
        role: Role,
        reason: String,
        note: Option<String>,
    ) -> Decision {
        self.decide(chosen, reason, Some(role), Act::Ask { role, note })
    }

    fn skip(&self, kind: CauseKind, task: Option<TaskId>, reason: String) -> Decision {
        self.decide(GoalChoice::Skip, reason, None, Act::Skip(Cause { kind, task }))
    }

    pub(in crate::composite::goal) fn decide(
        &self,
        chosen: GoalChoice,
        reason: String,
        role: Option<Role>,
        act: Act,
    ) -> Decision {
        let chosen = if matches!(act, Act::Join { .. }) { GoalChoice::Join } else { chosen };
        Decision { chosen, reason, about: Some(self.item.id.clone()), role, act }
    }
}

enum Size {
    Large(String),
    Small,
    Unclear,
}

pub(in crate::composite::goal) fn unknown() -> Failure {
    Failure::new(Class::Cancelled, "it was stopped")
}

pub(in crate::composite::goal) fn message(failure: Option<&Failure>) -> String {
    failure.map_or("it was stopped".into(), |failure| failure.message.clone())
}

pub(in crate::composite::goal) fn because(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}
