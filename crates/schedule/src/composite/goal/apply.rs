//! Carries decisions out: each is recorded with its reason, then what follows from it.

use super::gather::Past;
use super::routing::decision::{Act, Decision};
use super::routing::route;
use crate::composite::Step;
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::excerpt::clipped;
use convoke_model::{Ask, ChildKind, ChildSpec, Event, GoalDecided, Item, Role};
use serde_json::json;

/// Characters of a reason; a failure may have a long text.
const REASON: usize = 600;

impl View<'_> {
    /// Something about a goal has changed: all that follows.
    pub(super) fn next_of_goal(&self, goal: TaskIx, changed: &[TaskIx]) -> Vec<Step> {
        // A role that was asked for a task and has ended has changed the task.
        let dirty: Vec<TaskIx> = changed.iter().copied().filter(|task| self.is_goal_task(*task)).collect();
        let mut steps: Vec<Step> = dirty.iter().flat_map(|on| self.collect_further(*on, changed)).collect();
        let decisions = self.decisions(goal, &dirty);
        debug_assert!(
            !decisions.is_empty() || !steps.is_empty() || self.is_settled(goal),
            "something was overlooked"
        );
        steps.extend(decisions.into_iter().flat_map(|decision| self.carried_out(goal, decision)));
        steps
    }

    fn carried_out(&self, goal: TaskIx, decision: Decision) -> Vec<Step> {
        let on = decision.about.as_ref().and_then(|id| self.tasks.find(id)).unwrap_or(goal);
        if let Some(steps) = self.collect_first(on, &decision.act) {
            return steps;
        }
        let mut steps = vec![Step::record(Event::GoalDecided(GoalDecided {
            task: self.tasks[goal].id.clone(),
            chosen: decision.chosen,
            reason: clipped(&decision.reason, REASON),
            about: decision.about,
            role: decision.role,
        }))];
        match decision.act {
            Act::Ask { role, note } => {
                steps.push(self.ask_role(on, role, note));
                steps.push(Step::then(move |view| view.note_inputs_in_part(on).into_iter().collect()));
            }
            Act::Add(items) => steps.extend(self.ask_items(goal, on, items)),
            Act::Skip(cause) => steps.push(Step::Skip { on, cause }),
            Act::Retry => steps.push(self.retry_item(goal, on)),
            Act::Escalate(prompt) => steps.push(Step::Gate { on, ask: Ask::Unknown { prompt } }),
            Act::Fail(failure) => steps.push(Step::Fail { on, failure }),
            Act::Succeed => steps.push(self.succeed_as(on, self.children(on).last().copied())),
            Act::Join { children, why } => steps.extend(self.succeed_joined(on, &children, &why)),
            Act::Inherit(child) => steps.push(self.succeed_as(on, self.tasks.find(&child))),
            Act::Approve { prompt, plan } => {
                steps.push(Step::Gate { on: goal, ask: Ask::Plan { prompt, plan } });
            }
            Act::Planned(mut plan) => {
                plan["status"] = json!("planned");
                steps.push(Step::Succeed { on: goal, output: plan });
            }
            Act::Conclude => steps.push(self.conclude(goal)),
            Act::Abandon(failure) => steps.push(Step::Fail { on: goal, failure: self.named(goal, failure) }),
        }
        steps
    }

    fn ask_role(&self, on: TaskIx, role: Role, note: Option<String>) -> Step {
        let is_asked = |member: &&TaskIx| self.goal_role(**member).is_some_and(|(asked, _)| asked == role);
        let asked = self.children(on).iter().filter(is_asked).count();
        let question = ChildSpec::new((asked + 1).to_string(), ChildKind::Role { role, note });
        Step::Spawn { on, children: vec![question] }
    }

    fn ask_items(&self, goal: TaskIx, on: TaskIx, items: Vec<Item>) -> Vec<Step> {
        let first = self.children(on).iter().filter(|member| self.item_of(**member).is_some()).count() + 1;
        let (mut children, mut dropped) = (Vec::new(), Vec::new());
        for (index, item) in items.into_iter().enumerate() {
            let (item, unknown) = self.with_known_tools(goal, item);
            children.push(ChildSpec::new((first + index).to_string(), ChildKind::Item(Box::new(item))));
            dropped.extend(unknown);
        }
        let note = |tool: String| {
            let message = format!("there is no tool `{tool}`: the task does without it");
            let task = Some(self.tasks[on].id.clone());
            Step::record(Event::Noted { task, code: "unknown_tool".into(), message })
        };
        std::iter::once(Step::Spawn { on, children }).chain(dropped.into_iter().map(note)).collect()
    }

    /// The same again after the back-off of its worker: base x 2^(failures - 1).
    fn retry_item(&self, goal: TaskIx, item: TaskIx) -> Step {
        let executor = self.goal_of(goal).and_then(|(_, spec)| spec.roles.get(&Role::Execute).copied());
        let retry = executor.map(|node| self.workflow_of(goal).node(node).retry.clone());
        let delay = retry.map(|retry| retry.backoff(self.tasks[item].failures + 1)).unwrap_or_default();
        Step::RetryAt { on: item, at: self.now + self.with_jitter(item, delay) }
    }

    /// What another task gave is what this one gives.
    fn succeed_as(&self, task: TaskIx, other: Option<TaskIx>) -> Step {
        let output = other.and_then(|other| self.tasks[other].output.clone()).expect("it succeeded");
        Step::SucceedWith { on: task, output }
    }

    /// What follows from what has changed: for the goal once no role works for it any more, else for those tasks.
    fn decisions(&self, goal: TaskIx, dirty: &[TaskIx]) -> Vec<Decision> {
        let Some((_, spec)) = self.goal_of(goal) else { return Vec::new() };
        if self.group(goal).open == 0 {
            return route::route(&self.goal_state(goal, spec, Past::Open, Some(self.outputs)));
        }
        let changed: Vec<TaskIx> = dirty.iter().copied().filter(|task| self.is_undecided(*task)).collect();
        match changed.is_empty() {
            true => Vec::new(),
            false => {
                route::about_items(&self.goal_state(goal, spec, Past::Of(&changed), Some(self.outputs))).0
            }
        }
    }

    /// Whether nothing could be decided about a whole goal. Looks at all of it: where that is too much, it is believed.
    fn is_settled(&self, goal: TaskIx) -> bool {
        const MOST: usize = 100;
        self.tasks.len() > MOST
            || self.goal_of(goal).is_none_or(|(_, spec)| {
                route::route(&self.goal_state(goal, spec, Past::Open, Some(self.outputs))).is_empty()
            })
    }
}

impl State {
    /// A task with the tools that may be used, and those that may not.
    fn with_known_tools(&self, goal: TaskIx, mut item: Item) -> (Item, Vec<String>) {
        let Some((_, spec)) = self.goal_of(goal) else { return (item, Vec::new()) };
        let (wanted, mut unknown) = (std::mem::take(&mut item.tools), Vec::new());
        for tool in wanted {
            match spec.allowed(&tool) {
                allowed if allowed.is_empty() => unknown.push(tool),
                allowed => item.tools.extend(allowed),
            }
        }
        // No tools named means any: a task that was to have one of them must not get all the others instead.
        item.toolless |= item.tools.is_empty() && !unknown.is_empty();
        (item, unknown)
    }
}
