//! What comes next for one task of a goal: done directly or by children, rejoined, recovered, skipped.
//!
//! Pure, and driven by how the last thing went that was done for the task. Invariant: a task ends only when all its
//! children have, and each way to recover is taken at most once.

use super::contract::Said;
use super::decision::{Act, Decision};
use super::proposal::{Proposal, Terms};
use super::recover::{self, Case, Next};
use super::state::{ItemState, Standing, State, Step, Told, asked_in_a_row};
use crate::task::End;
use convoke_model::{Cause, CauseKind, Class, Duty, Effort, Failure, Item, TaskId};
use convoke_plan::Action;

/// Whoever did a task says that its aim was not reached.
pub(crate) const NOT_ACHIEVED: &str = "goal_not_achieved";

/// Tasks that something may be decided about: by priority, then depth, then creation.
pub(crate) fn in_order(state: &State<'_>) -> Vec<usize> {
    let open = |index: &usize| matches!(state.items[*index].standing, Standing::Waiting | Standing::Open);
    let mut open: Vec<usize> = (0..state.items.len()).filter(open).collect();
    open.sort_by_key(|index| (state.items[*index].item.priority, state.items[*index].item.depth, *index));
    open
}

/// The id of a task by its name within the goal.
pub(crate) fn full(state: &State<'_>, short: &str) -> TaskId {
    TaskId(format!("{}/{short}", state.id).into())
}

/// What is decided about a task now, if anything. `left` is how many tasks may still be made.
pub(crate) fn next(state: &State<'_>, index: usize, left: &mut u32) -> Option<Decision> {
    let mut look = Look { state, item: &state.items[index], left };
    match look.item.steps.last() {
        None => look.first(),
        Some(Step::Child(_)) => look.rejoin(),
        Some(Step::Duty(_, Told::Nothing)) => None,
        Some(Step::Duty(Duty::Analyse, told)) => Some(look.analysed(told)),
        Some(Step::Duty(Duty::Decompose, told)) => Some(look.decomposed(told)),
        Some(Step::Duty(Duty::Recover, told)) => Some(look.judged(told)),
        Some(Step::Duty(_, told)) => Some(look.worked(told)),
    }
}

/// The ways that whoever judges a failed task may choose from.
pub(crate) fn ways(state: &State<'_>, index: usize) -> Vec<Action> {
    let mut left = state.tasks_left();
    let look = Look { state, item: &state.items[index], left: &mut left };
    match look.last_failure().map(|failure| recover::next(&look.case(&failure))) {
        Some(Next::Judge(ways)) => ways,
        Some(Next::Take(action)) => vec![action],
        _ => Vec::new(),
    }
}

/// One task under the router's eyes.
struct Look<'s, 'a> {
    state: &'s State<'a>,
    item: &'s ItemState<'a>,
    left: &'s mut u32,
}

impl Look<'_, '_> {
    /// Nobody was asked yet.
    fn first(&mut self) -> Option<Decision> {
        let threshold = self.state.goal.skip_threshold;
        if let Some(skip) = self.item.item.skip.as_ref().filter(|skip| skip.probability >= threshold) {
            let reason = format!("it is not possible ({} %): {}", skip.probability, skip.reason);
            return Some(self.skip(CauseKind::NotPossible, None, reason));
        }
        for input in &self.item.item.inputs {
            match self.state.end_of(input) {
                Some(End::Succeeded) => {}
                Some(end) => return Some(self.without(input, end)),
                None => return None,
            }
        }
        Some(self.start())
    }

    fn without(&self, input: &TaskId, end: End) -> Decision {
        let (kind, what) = match end {
            End::Skipped => (CauseKind::NeedSkipped, "was skipped"),
            _ => (CauseKind::NeedFailed, "failed"),
        };
        let reason = format!("it needs task {}, which {what}", self.state.short(input));
        self.skip(kind, Some(input.clone()), reason)
    }

    /// Directly, by children, or as somebody says.
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
                "analyse",
                Duty::Analyse,
                "its size does not say whether it needs children".into(),
                None,
            ),
        }
    }

    fn size(&self) -> Size {
        let (rule, item) = (self.state.goal.spawn, self.item.item);
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

    /// Why it can have no children.
    fn spawn_refusal(&self) -> Option<String> {
        let bounds = self.state.goal.bounds;
        if self.item.recovers(self.state) {
            return Some("a task that recovers another has no children".into());
        }
        if self.item.item.depth >= bounds.max_depth {
            return Some(format!("tasks stand at most {} deep (max_depth)", bounds.max_depth));
        }
        if self.item.children() >= bounds.max_children {
            return Some(format!("a task has at most {} children (max_children)", bounds.max_children));
        }
        (*self.left == 0).then(|| format!("no further tasks can be made (max_tasks: {})", bounds.max_tasks))
    }

    fn analysed(&self, told: &Told<'_>) -> Decision {
        let Told::Said(said) = told else {
            return self
                .execute("nobody could say whether it needs children: it is done directly".into(), None);
        };
        match (&**said, self.spawn_refusal()) {
            (Said::Size { spawn: true, reason, .. }, None) => {
                self.spawn(because("it is done by children", reason), None)
            }
            (Said::Size { spawn: true, reason, .. }, Some(no)) => self.execute(
                because(&format!("it is to have children, but {no}: it is done directly"), reason),
                None,
            ),
            (Said::Size { reason, .. }, _) => self.execute(because("it is done directly", reason), None),
            _ => self.execute("nobody said whether it needs children: it is done directly".into(), None),
        }
    }

    fn decomposed(&mut self, told: &Told<'_>) -> Decision {
        let refused = match told {
            Told::Said(said) => match &**said {
                Said::Tasks(tasks) => match tasks.check(self.terms()) {
                    Ok(()) => return self.add_children(tasks),
                    Err(why) => why,
                },
                Said::Refused(why) => why.clone(),
                _ => "it is no list of tasks".into(),
            },
            Told::Failed(failure) => return self.not_decomposed(&message(*failure)),
            Told::Nothing => unreachable!("only answers are looked at"),
        };
        let asked = asked_in_a_row(&self.item.steps, Duty::Decompose);
        if asked == 1 && *self.left > 0 {
            let reason = format!("these children cannot be made: {refused}");
            return self.ask("ask_again", Duty::Decompose, reason, Some(refused));
        }
        self.not_decomposed(&refused)
    }

    fn terms(&self) -> Terms<'static> {
        let bounds = self.state.goal.bounds;
        let room = bounds.max_children.saturating_sub(self.item.children());
        let (most, because) = match room <= *self.left {
            true => (room, "max_children"),
            false => (*self.left, "max_tasks"),
        };
        Terms { most, because, known: &[], skip_threshold: self.state.goal.skip_threshold }
    }

    fn add_children(&mut self, tasks: &Proposal) -> Decision {
        let first = self.item.children() + 1;
        let nothing_else = |short: &str| TaskId::new(Some(&self.item.id), short, None, 1);
        let items = tasks.items(&self.item.id, first, self.item.item.depth + 1, &nothing_else);
        *self.left -= items.len() as u32;
        let reason = format!("it is done by {} children", items.len());
        self.decide("add_tasks", reason, None, Act::Add(items))
    }

    /// It could not be taken apart: what failed before stays failed, and what was not done yet is done directly.
    fn not_decomposed(&self, why: &str) -> Decision {
        match self.last_failure() {
            Some(failure) => self.after(failure),
            None => self.execute(format!("it cannot be taken apart ({why}): it is done directly"), None),
        }
    }

    /// Its children have changed.
    fn rejoin(&self) -> Option<Decision> {
        let batch = self.item.batch(self.state);
        let children: Vec<&ItemState<'_>> = batch.iter().map(|child| &self.state.items[*child]).collect();
        if children.iter().any(|child| child.ended().is_none()) {
            return None;
        }
        let done = children.iter().filter(|child| child.ended() == Some(End::Succeeded)).count();
        Some(match (done, children.as_slice()) {
            (0, _) if children.iter().all(|child| child.ended() == Some(End::Skipped)) => {
                let first = children.first().map(|child| child.id.clone());
                self.skip(CauseKind::NeedSkipped, first, "all its children were skipped".into())
            }
            (0, _) => self.after(self.last_failure().unwrap_or_else(unknown)),
            (_, [only]) => {
                let act = Act::Inherit(only.id.clone());
                self.decide("end", "the result of its only child is its own".into(), None, act)
            }
            (done, all) => {
                let reason = format!("all its children have ended, {done} of {} well", all.len());
                self.ask("reconcile", Duty::Reconcile, reason, None)
            }
        })
    }

    /// Whoever did it, or put its parts together, has ended.
    fn worked(&self, told: &Told<'_>) -> Decision {
        if let Told::Said(said) = told
            && let Said::Work { achieved: true, reason } = &**said
        {
            return self.decide("end", because("it is done", reason), None, Act::Succeed);
        }
        self.after(self.last_failure().unwrap_or_else(unknown))
    }

    /// A failure: what follows.
    fn after(&self, failure: Failure) -> Decision {
        if let Some(due @ (Action::Retry | Action::Escalate)) = self.item.due {
            let why =
                if due == Action::Retry { "the time to wait is over" } else { "a person wants another try" };
            return self.execute(why.into(), Some(format!("the last try failed: {}", failure.message)));
        }
        match recover::next(&self.case(&failure)) {
            Next::Take(action) => self.take(action, &failure, failure.message.clone(), None),
            Next::GiveUp(why) => {
                let reason = format!("{}; {why}", failure.message);
                self.decide(Action::Fail.word(), reason, None, Act::Fail(failure))
            }
            Next::Judge(ways) => {
                let words: Vec<_> = ways.iter().map(|action| action.word()).collect();
                let reason = format!("{}; what is left: {}", failure.message, words.join(", "));
                self.ask("recover", Duty::Recover, reason, None)
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
            other_tools: goal.tools.iter().any(|tool| !self.item.item.tools.contains(tool)) && !recovers,
            attended: !self.state.unattended,
        }
    }

    /// Somebody said which way to take.
    fn judged(&self, told: &Told<'_>) -> Decision {
        let failure = self.last_failure().unwrap_or_else(unknown);
        let ways = match recover::next(&self.case(&failure)) {
            Next::Judge(ways) => ways,
            Next::Take(action) => vec![action],
            // What was possible when it was asked is possible no more.
            Next::GiveUp(_) => return self.after(failure),
        };
        let refused = match self.way(told, &ways) {
            Ok((action, reason, note)) => return self.take(action, &failure, reason, note),
            Err(why) => why,
        };
        if asked_in_a_row(&self.item.steps, Duty::Recover) == 1 && matches!(told, Told::Said(_)) {
            let reason = format!("the answer cannot be used: {refused}");
            return self.ask("recover", Duty::Recover, reason, Some(refused));
        }
        self.take(ways[0], &failure, format!("{refused}; the first way that is left is taken"), None)
    }

    fn way(&self, told: &Told<'_>, ways: &[Action]) -> Result<(Action, String, Option<String>), String> {
        let said = match told {
            Told::Said(said) => said,
            Told::Failed(failure) => return Err(format!("nobody could judge: {}", message(*failure))),
            Told::Nothing => unreachable!("only answers are looked at"),
        };
        match &**said {
            Said::Way { action, reason, next_steps, tool } if ways.contains(action) => {
                self.check_tool(*action, tool.as_deref())?;
                let note = Some(next_steps.clone()).filter(|note| !note.is_empty());
                Ok((*action, reason.clone(), note.or_else(|| Some(reason.clone()))))
            }
            Said::Way { action, .. } => {
                let words: Vec<_> = ways.iter().map(|action| action.word()).collect();
                Err(format!("`{}` is not among what is left: {}", action.word(), words.join(", ")))
            }
            Said::Refused(why) => Err(why.clone()),
            _ => Err("it names no strategy".into()),
        }
    }

    fn check_tool(&self, action: Action, tool: Option<&str>) -> Result<(), String> {
        match (action, tool) {
            (Action::AlternativeTool, Some(tool)) if self.state.goal.allowed(tool).is_empty() => {
                Err(format!("there is no tool `{tool}`"))
            }
            _ => Ok(()),
        }
    }

    fn take(&self, action: Action, failure: &Failure, reason: String, note: Option<String>) -> Decision {
        let way = note.map_or_else(|| action.word().to_owned(), |note| format!("{}: {note}", action.word()));
        let note = Some(format!("{way}\nThe last try failed: {}", failure.message));
        let (role, act) = match action {
            Action::Retry => (None, Act::Retry),
            Action::RepairParameters | Action::AlternativeTool => {
                (Some(Duty::Execute), Act::Ask { duty: Duty::Execute, note })
            }
            Action::Decompose => (Some(Duty::Decompose), Act::Ask { duty: Duty::Decompose, note }),
            Action::SpawnRecovery => (None, Act::Add(vec![self.recovery(failure)])),
            Action::Escalate => (None, Act::Escalate(self.escalation(failure))),
            Action::Skip => (None, Act::Skip(Cause { kind: CauseKind::NotPossible, task: None })),
            Action::Fail => (None, Act::Fail(failure.clone())),
        };
        self.decide(action.word(), reason, role, act)
    }

    /// A task of its own for what failed: with the same tools and no children.
    fn recovery(&self, failure: &Failure) -> Item {
        let item = self.item.item;
        Item {
            description: format!("{} (it failed before: {})", item.description, failure.message),
            inputs: Vec::new(),
            tools: item.tools.clone(),
            priority: item.priority,
            skip: None,
            effort: Effort::default(),
            replaces: vec![self.item.id.clone()],
            depth: item.depth + 1,
        }
    }

    fn escalation(&self, failure: &Failure) -> String {
        let (id, what) = (self.state.short(&self.item.id), &self.item.item.description);
        format!("task {id} ({what}) failed: {}; `retry` tries it again, `fail` gives it up", failure.message)
    }

    fn last_failure(&self) -> Option<Failure> {
        last_failure(self.state, self.item)
    }

    fn spawn(&self, reason: String, note: Option<String>) -> Decision {
        self.ask("spawn", Duty::Decompose, reason, note)
    }

    fn execute(&self, reason: String, note: Option<String>) -> Decision {
        self.ask("execute", Duty::Execute, reason, note)
    }

    fn ask(&self, chosen: &'static str, duty: Duty, reason: String, note: Option<String>) -> Decision {
        self.decide(chosen, reason, Some(duty), Act::Ask { duty, note })
    }

    fn skip(&self, kind: CauseKind, task: Option<TaskId>, reason: String) -> Decision {
        self.decide("skip", reason, None, Act::Skip(Cause { kind, task }))
    }

    fn decide(&self, chosen: &'static str, reason: String, role: Option<Duty>, act: Act) -> Decision {
        Decision { chosen, reason, about: Some(self.item.id.clone()), role, act }
    }
}

enum Size {
    Large(String),
    Small,
    Unclear,
}

/// Why the last work on a task failed, if it did: who judges or takes apart does no work on it.
pub(crate) fn last_failure(state: &State<'_>, item: &ItemState<'_>) -> Option<Failure> {
    let is_work =
        |step: &&Step<'_>| !matches!(step, Step::Duty(Duty::Recover | Duty::Decompose | Duty::Analyse, _));
    match item.steps.iter().rev().find(is_work)? {
        Step::Child(last) => child_failure(state, *last, item),
        Step::Duty(_, Told::Failed(failure)) => Some(failure.cloned().unwrap_or_else(unknown)),
        Step::Duty(_, Told::Said(said)) => match &**said {
            Said::Work { achieved: false, reason } => {
                let message = because("its aim was not reached", reason);
                Some(Failure::new(Class::InvalidOutput, message).reason(NOT_ACHIEVED))
            }
            Said::Refused(why) => Some(Failure::new(Class::InvalidOutput, why.clone()).reason("contract")),
            _ => None,
        },
        Step::Duty(_, Told::Nothing) => None,
    }
}

fn child_failure(state: &State<'_>, last: usize, item: &ItemState<'_>) -> Option<Failure> {
    let of = |child: &ItemState<'_>| {
        let failure = child.failure?;
        let message = format!("child {} failed: {}", state.short(&child.id), failure.message);
        Some(Failure { message, ..failure.clone() })
    };
    let children = item.steps.iter().filter_map(|step| match step {
        Step::Child(child) if *child <= last => Some(&state.items[*child]),
        _ => None,
    });
    children.rev().find(|child| child.ended() == Some(End::Failed)).and_then(of)
}

fn unknown() -> Failure {
    Failure::new(Class::Cancelled, "it was stopped")
}

fn message(failure: Option<&Failure>) -> String {
    failure.map_or("it was stopped".into(), |failure| failure.message.clone())
}

fn because(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}
