//! A task of a goal failed: what follows, which role judges, and which way is taken.
//!
//! Pure. Which ways there are is `recover`'s answer; here it becomes a decision about the task.

use super::decision::{Act, Decision};
use super::items::{Look, NOT_ACHIEVED, because, message, unknown};
use super::recover::{self, Case, Next};
use super::tools;
use crate::composite::goal::outcome::is_made_up_for;
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::state::{Entry, GoalState, ItemState, Response, asked_in_a_row};
use crate::state::End;
use convoke_model::{Cause, CauseKind, Class, Effort, Failure, GoalChoice, Item, Role};
use convoke_plan::Action;

/// The ways that the judge of a failed task may choose from.
pub(crate) fn ways(state: &GoalState<'_>, index: usize) -> Vec<Action> {
    let mut left = state.tasks_left();
    let look = Look { state, item: &state.items[index], left: &mut left };
    match look.last_failure().map(|failure| recover::next(&look.case(&failure))) {
        Some(Next::Judge(ways)) => ways,
        Some(Next::Take(action)) => vec![action],
        _ => Vec::new(),
    }
}

impl Look<'_, '_> {
    /// The time to wait is over, or a person wants it: the same again, whatever else there would be.
    pub(in crate::composite::goal) fn again(&self) -> Option<Decision> {
        let why = match self.item.due? {
            Action::Retry => "the time to wait is over",
            Action::Escalate => "a person wants another try",
            _ => return None,
        };
        let failure = self.last_failure().unwrap_or_else(unknown);
        let note = Some(format!("the last try failed: {}", failure.message));
        let role = self.last_work();
        Some(self.ask(role.into(), role, why.into(), note))
    }

    /// What is done again: putting results together where that failed, else the task.
    fn last_work(&self) -> Role {
        match self.item.steps.iter().rev().find(is_work) {
            Some(Entry::Role(Role::Reconcile, _)) => Role::Reconcile,
            _ => self.worker(),
        }
    }

    /// A failure: what follows.
    pub(in crate::composite::goal) fn after(&mut self, failure: Failure) -> Decision {
        match recover::next(&self.case(&failure)) {
            Next::Take(action) => self.take(action, &failure, failure.message.clone(), None),
            Next::GiveUp(why) => {
                let reason = format!("{}; {why}", failure.message);
                self.decide(GoalChoice::Fail, reason, None, self.give_up(failure))
            }
            Next::Judge(ways) => {
                let words: Vec<_> = ways.iter().map(|action| action.word()).collect();
                let reason = format!("{}; what is left: {}", failure.message, words.join(", "));
                self.ask(GoalChoice::Recover, Role::Recover, reason, None)
            }
        }
    }

    fn case<'c>(&'c self, failure: &Failure) -> Case<'c> {
        let goal = self.state.goal;
        let (may_decompose, recovers) = (self.spawn_refusal().is_none(), self.item.recovers(self.state));
        Case {
            policy: goal.policies.get(&failure.class).map_or(&[], Vec::as_slice),
            tried: self.item.tried,
            max_recoveries: goal.bounds.max_recoveries,
            may_repeat: failure.reason.as_deref() == Some(NOT_ACHIEVED),
            may_decompose,
            may_spawn: may_decompose,
            other_tools: !recovers
                && self.last_work() == Role::Execute
                && !goal.tools_besides(&tools::used(self.state, self.item)).is_empty(),
            attended: !self.state.unattended,
        }
    }

    /// A role said which way to take.
    pub(in crate::composite::goal) fn judged(&mut self, response: &Response<'_>) -> Decision {
        let failure = self.last_failure().unwrap_or_else(unknown);
        let ways = match recover::next(&self.case(&failure)) {
            Next::Judge(ways) => ways,
            Next::Take(action) => vec![action],
            // What was possible when it was asked is possible no more.
            Next::GiveUp(_) => return self.after(failure),
        };
        let refused = match self.way(response, &ways) {
            Ok((action, reason, note)) => return self.take(action, &failure, reason, note),
            Err(why) => why,
        };
        if asked_in_a_row(&self.item.steps, Role::Recover) == 1 && matches!(response, Response::Answered(_)) {
            let reason = format!("the answer cannot be used: {refused}");
            return self.ask(GoalChoice::Recover, Role::Recover, reason, Some(refused));
        }
        // A task is left out only for a reason, and this is none.
        let first = ways.iter().copied().find(|way| *way != Action::Skip).unwrap_or(Action::Fail);
        self.take(first, &failure, format!("{refused}; the first way that is left is taken"), None)
    }

    fn way(
        &self,
        response: &Response<'_>,
        ways: &[Action],
    ) -> Result<(Action, String, Option<String>), String> {
        let said = match response {
            Response::Answered(said) => said,
            Response::Failed(failure) => return Err(format!("the judge failed: {}", message(*failure))),
            Response::Pending => unreachable!("only answers are looked at"),
        };
        match &**said {
            GoalAnswer::Way { action, reason, next_steps, tool } if ways.contains(action) => {
                self.check_tool(*action, tool.as_deref())?;
                let note = Some(next_steps.clone()).filter(|note| !note.is_empty());
                Ok((*action, reason.clone(), note.or_else(|| Some(reason.clone()))))
            }
            GoalAnswer::Way { action, .. } => {
                let words: Vec<_> = ways.iter().map(|action| action.word()).collect();
                Err(format!("`{}` is not among what is left: {}", action.word(), words.join(", ")))
            }
            GoalAnswer::Refused(why) => Err(why.clone()),
            _ => Err("it names no strategy".into()),
        }
    }

    fn check_tool(&self, action: Action, tool: Option<&str>) -> Result<(), String> {
        match (action, tool) {
            (Action::AlternativeTool, Some(tool)) => {
                let (allowed, used) = (self.state.goal.allowed(tool), tools::used(self.state, self.item));
                match allowed.iter().all(|tool| used.contains(tool)) {
                    _ if allowed.is_empty() => Err(format!("there is no tool `{tool}`")),
                    true => Err(format!("`{tool}` is the tool that failed")),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, action: Action, failure: &Failure, reason: String, note: Option<String>) -> Decision {
        let reason = match action {
            Action::Skip => format!("{}; it is left out: {reason}", failure.message),
            _ => reason,
        };
        let way = advice(action);
        let way = note.map_or_else(|| format!("{way}."), |note| format!("{way}: {note}"));
        let note = Some(format!("{way}\nThe last try failed: {}", failure.message));
        let (role, act) = match action {
            Action::Retry => (None, Act::Retry),
            Action::RepairParameters | Action::AlternativeTool => {
                let role = self.last_work();
                (Some(role), Act::Ask { role, note })
            }
            Action::Decompose => (Some(Role::Decompose), Act::Ask { role: Role::Decompose, note }),
            Action::SpawnRecovery => {
                // Others that fail in the same turn may not count on this place.
                *self.left = self.left.saturating_sub(1);
                (None, Act::Add(vec![self.recovery(note)]))
            }
            Action::Escalate => (None, Act::Escalate(self.escalation(failure))),
            Action::Skip => (None, Act::Skip(Cause { kind: CauseKind::GivenUp, task: None })),
            Action::Fail => (None, self.give_up(failure.clone())),
        };
        self.decide(action.choice(), reason, role, act)
    }

    /// Nothing is left to try. Children whose results could not be put together are not lost with that: the task ends
    /// with them. A reconciler that says that the aim was not reached is believed.
    pub(in crate::composite::goal) fn give_up(&self, failure: Failure) -> Act {
        let last = self.item.steps.iter().rev().find(is_work);
        let not_reconciled = match last {
            Some(Entry::Role(Role::Reconcile | Role::Collect, Response::Failed(_))) => true,
            Some(Entry::Role(Role::Reconcile, Response::Answered(said))) => {
                matches!(**said, GoalAnswer::Refused(_))
            }
            _ => false,
        };
        let must_end = matches!(failure.class, Class::Budget | Class::Security | Class::Cancelled);
        let batch = self.item.batch(self.state).into_iter().map(|child| &self.state.items[child]);
        let done = batch.filter(|child| child.ended() == Some(End::Succeeded)).map(|child| child.id.clone());
        let children: Vec<_> = if not_reconciled && !must_end { done.collect() } else { Vec::new() };
        match children.is_empty() {
            true => Act::Fail(failure),
            false => Act::Join { children, why: failure.message },
        }
    }

    /// A task of its own for what failed: with the same inputs and tools, what was advised, and no children.
    fn recovery(&self, note: Option<String>) -> Item {
        let item = self.item.item;
        Item {
            description: item.description.clone(),
            inputs: item.inputs.clone(),
            tools: tools::named(self.state, self.item),
            toolless: item.toolless,
            priority: item.priority,
            skip: None,
            ensure: item.ensure.clone(),
            effort: Effort::default(),
            replaces: vec![self.item.id.clone()],
            note,
            depth: item.depth + 1,
        }
    }

    fn escalation(&self, failure: &Failure) -> String {
        let (id, what) = (self.state.short(&self.item.id), &self.item.item.description);
        format!("task {id} ({what}) failed: {}; `retry` tries it again, `fail` gives it up", failure.message)
    }

    pub(in crate::composite::goal) fn last_failure(&self) -> Option<Failure> {
        last_failure(self.state, self.item)
    }
}

/// A way as the agent that takes it is told: the word of the policy says nothing to a model.
fn advice(action: Action) -> &'static str {
    match action {
        Action::Retry => "Do the same again",
        Action::RepairParameters => "Do it the same way with other values",
        Action::AlternativeTool => "Do it with another tool",
        Action::Decompose => "Split it into smaller tasks",
        Action::SpawnRecovery => "First remove what stood in the way",
        Action::Escalate => "A person decides",
        Action::Skip => "Leave it out",
        Action::Fail => "It cannot be done",
    }
}

/// Whether a step did the task, or a part of it.
fn is_work(step: &&Entry<'_>) -> bool {
    !matches!(step, Entry::Role(Role::Recover | Role::Decompose | Role::Analyse, _))
}

/// Why the last work on a task failed, if it did: judging it or taking it apart is no work on it.
pub(crate) fn last_failure(state: &GoalState<'_>, item: &ItemState<'_>) -> Option<Failure> {
    match item.steps.iter().rev().find(is_work)? {
        Entry::Child(last) => child_failure(state, *last, item),
        Entry::Role(_, Response::Failed(failure)) => Some(failure.cloned().unwrap_or_else(unknown)),
        Entry::Role(_, Response::Answered(said)) => match &**said {
            GoalAnswer::Work { achieved: false, reason } => {
                let message = because("its aim was not reached", reason);
                Some(Failure::new(Class::InvalidOutput, message).reason(NOT_ACHIEVED))
            }
            GoalAnswer::Refused(why) => {
                Some(Failure::new(Class::InvalidOutput, why.clone()).reason("contract"))
            }
            _ => None,
        },
        Entry::Role(_, Response::Pending) => None,
    }
}

fn child_failure(state: &GoalState<'_>, last: usize, item: &ItemState<'_>) -> Option<Failure> {
    let of = |child: &ItemState<'_>| {
        let failure = child.failure?;
        let message = format!("child {} failed: {}", state.short(&child.id), failure.message);
        Some(Failure { message, ..failure.clone() })
    };
    let children = item.steps.iter().filter_map(|step| match step {
        Entry::Child(child) if *child <= last => Some(&state.items[*child]),
        _ => None,
    });
    // Of the children that were made together last, the one that failed first is the cause.
    let batch: Vec<_> = item.batch(state).into_iter().map(|child| &state.items[child]).collect();
    let has_failed = |child: &&ItemState<'_>| child.ended() == Some(End::Failed);
    let is_open = |child: &&ItemState<'_>| has_failed(child) && !is_made_up_for(state, child);
    let first = batch.into_iter().filter(is_open).min_by_key(|child| child.order);
    first.or_else(|| children.rev().find(has_failed)).and_then(of)
}
