//! Carries decisions out: each is recorded with its reason, then what follows from it.

use super::decision::{Act, Decision};
use super::gather::Past;
use super::route;
use crate::outputs::{Outputs, store};
use crate::scheduler::Scheduler;
use crate::state::State;
use crate::task::TaskIx;
use crate::view::View;
use convoke_model::{About, Ask, Duty, Event, Inquiry, Item};
use serde_json::json;

/// Characters of a reason; a failure may say more than anybody reads.
const REASON: usize = 600;

impl Scheduler {
    /// Decide: something about a goal has changed. All that follows is decided at once.
    pub(crate) fn go_on_goal(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let Some((goal, _)) = self.goal_of(task) else { return };
        while self.may_route(goal) {
            let touched = self.take_touched(goal);
            if touched.is_empty() {
                return;
            }
            touched.iter().for_each(|on| self.collect_further(*on, outputs));
            let decisions = self.view(outputs).decisions(goal, &touched);
            debug_assert!(
                !decisions.is_empty() || self.view(outputs).is_settled(goal),
                "something was overlooked"
            );
            decisions.into_iter().for_each(|decision| self.carry_out(goal, decision, outputs));
        }
    }

    fn carry_out(&mut self, goal: TaskIx, decision: Decision, outputs: &dyn Outputs) {
        let on = decision.about.as_ref().and_then(|id| self.tasks.find(id)).unwrap_or(goal);
        if self.collects_first(on, &decision.act, outputs) {
            return;
        }
        self.emit(Event::Routed {
            task: self.tasks[goal].id.clone(),
            chosen: decision.chosen.to_owned(),
            reason: clipped(&decision.reason),
            about: decision.about,
            role: decision.role.map(|duty| duty.word().to_owned()),
            from: Vec::new(),
        });
        match decision.act {
            Act::Ask { duty, note } => {
                self.ask_duty(on, duty, note);
                self.note_inputs_in_part(on, outputs);
            }
            Act::Add(items) => self.ask_items(goal, on, items),
            Act::Skip(cause) => self.emit(Event::TaskSkipped { task: self.tasks[on].id.clone(), cause }),
            Act::Retry => self.retry_item(goal, on),
            Act::Escalate(prompt) => self.open_ask(on, &Ask::Unknown { prompt }, outputs),
            Act::Fail(failure) => self.fail_task(on, failure),
            Act::Succeed => self.succeed_as(
                on,
                self.tasks[on].group.as_ref().and_then(|group| group.members.last().copied()),
            ),
            Act::Join { children, why } => self.succeed_joined(on, &children, &why, outputs),
            Act::Inherit(child) => self.succeed_as(on, self.tasks.find(&child)),
            Act::Approve { prompt, plan } => self.open_ask(goal, &Ask::Plan { prompt, plan }, outputs),
            Act::Planned(mut plan) => {
                plan["status"] = json!("planned");
                self.succeed(goal, &plan, outputs);
            }
            Act::Conclude => self.conclude(goal, outputs),
            Act::Abandon(failure) => self.fail_task(goal, self.named(goal, failure)),
        }
    }

    fn ask_duty(&mut self, on: TaskIx, duty: Duty, note: Option<String>) {
        let members = self.tasks[on].group.iter().flat_map(|group| &group.members);
        let asked =
            members.filter(|member| self.duty_of(**member).is_some_and(|(asked, _)| asked == duty)).count();
        let question = Inquiry { key: (asked + 1).to_string(), about: About::Duty { duty, note } };
        self.emit(Event::Asked { task: self.tasks[on].id.clone(), questions: vec![question] });
    }

    fn ask_items(&mut self, goal: TaskIx, on: TaskIx, items: Vec<Item>) {
        let members = self.tasks[on].group.iter().flat_map(|group| &group.members);
        let first = members.filter(|member| self.item_of(**member).is_some()).count() + 1;
        let question = |(index, item): (usize, Item)| Inquiry {
            key: (first + index).to_string(),
            about: About::Item(Box::new(self.with_known_tools(goal, item).0)),
        };
        let dropped: Vec<String> =
            items.iter().flat_map(|item| self.with_known_tools(goal, item.clone()).1).collect();
        let questions = items.into_iter().enumerate().map(question).collect();
        self.emit(Event::Asked { task: self.tasks[on].id.clone(), questions });
        for tool in dropped {
            let message = format!("there is no tool `{tool}`: the task does without it");
            self.emit(Event::Noted {
                task: Some(self.tasks[on].id.clone()),
                code: "unknown_tool".into(),
                message,
            });
        }
    }

    /// The same again after the back-off of whoever does it: base x 2^(failures - 1).
    fn retry_item(&mut self, goal: TaskIx, item: TaskIx) {
        let executor = self.goal_of(goal).and_then(|(_, spec)| spec.duties.get(&Duty::Execute).copied());
        let retry = executor.map(|node| self.workflow_of(goal).node(node).retry.clone());
        let delay = retry.map(|retry| retry.backoff(self.tasks[item].failures + 1)).unwrap_or_default();
        let at = self.now + self.with_jitter(item, delay);
        self.emit(Event::RetryScheduled { task: self.tasks[item].id.clone(), at });
    }

    fn open_ask(&mut self, task: TaskIx, ask: &Ask, outputs: &dyn Outputs) {
        let ask = store(outputs, &serde_json::to_value(ask).expect("an ask is JSON"));
        self.emit(Event::GateOpened { task: self.tasks[task].id.clone(), ask });
    }

    /// What another task gave is what this one gives.
    fn succeed_as(&mut self, task: TaskIx, other: Option<TaskIx>) {
        let output = other.and_then(|other| self.tasks[other].output.clone()).expect("it succeeded");
        self.emit(Event::TaskSucceeded { task: self.tasks[task].id.clone(), output });
    }
}

impl View<'_> {
    /// What follows from what has changed: for the goal once nobody works for it any more, else for those tasks.
    fn decisions(&self, goal: TaskIx, touched: &[TaskIx]) -> Vec<Decision> {
        let Some((_, spec)) = self.goal_of(goal) else { return Vec::new() };
        if self.group(goal).open == 0 {
            return route::route(&self.goal_state(goal, spec, Past::Open, Some(self.outputs)));
        }
        let changed: Vec<TaskIx> = touched.iter().copied().filter(|task| self.is_undecided(*task)).collect();
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
        // No tools named means any: whoever was to have one of them must not get all the others instead.
        item.toolless |= item.tools.is_empty() && !unknown.is_empty();
        (item, unknown)
    }
}

fn clipped(reason: &str) -> String {
    match reason.char_indices().nth(REASON) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}
