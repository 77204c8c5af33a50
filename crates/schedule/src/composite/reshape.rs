//! What a step relies on in the outputs of others, and repairing an output that has another shape.
//!
//! The repair is a child of the step that needs it, so it is governed, recorded and paid for like any answer; the
//! output itself stays as it was, and only this step sees the repaired one.

use crate::composite::{Composite, Step};
use crate::state::{State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::{AgentCall, AgentSettings, ChildKind, ChildSpec, Class, Failure, TaskId, fit};
use convoke_plan::{Expectation, Node, NodeIx};
use serde_json::json;
use std::sync::Arc;

/// Why a step fails that expects another shape.
pub(crate) const INPUT_SHAPE: &str = "input_shape";

/// An output that is not as a step expects it.
struct Misfit<'a> {
    expectation: &'a Expectation,
    of: TaskIx,
    problem: String,
}

/// Repairs of what a step relies on, before the step itself begins. A stage of any step, not a kind of its own.
pub(crate) struct ReshapeTask;

impl Composite for ReshapeTask {
    fn claims(&self, _node: &Node) -> bool {
        false
    }

    fn worker(&self, state: &State, task: TaskIx, child: &ChildKind) -> Option<NodeIx> {
        matches!(child, ChildKind::Reshape { .. }).then(|| state.node(task).repairer)?
    }

    fn begin(&self, view: &View<'_>, task: TaskIx) -> Vec<Step> {
        view.reshape_first(task)
    }

    /// The repairs have ended, well or not: the step begins again and looks.
    fn advance(&self, view: &View<'_>, task: TaskIx, _changed: &[TaskIx]) -> Vec<Step> {
        if view.group(task).open == 0 { vec![Step::Wake(task)] } else { Vec::new() }
    }

    fn prompt(&self, view: &View<'_>, child: TaskIx, call: AgentCall) -> Result<AgentCall, Failure> {
        view.put_repair(child, call)
    }

    fn may_spawn(&self, state: &State, task: TaskIx) -> bool {
        state.state(task) == TaskState::Ready
    }
}

impl View<'_> {
    /// What comes before a step as far as shapes go: repairs, or its failure. Nothing where all fit.
    fn reshape_first(&self, task: TaskIx) -> Vec<Step> {
        let node = self.node(task);
        let misfits: Vec<Misfit<'_>> =
            node.expects.iter().filter_map(|expected| self.misfit(task, expected)).collect();
        if misfits.is_empty() {
            return Vec::new();
        }
        let tried = misfits.iter().any(|misfit| self.repair_of(task, misfit.expectation.node).is_some());
        if node.repairer.is_none() || tried {
            return vec![Step::Fail { on: task, failure: self.misfit_failure(task, &misfits, tried) }];
        }
        let repair = |misfit: &Misfit<'_>| {
            let (of, problem) = (self.tasks[misfit.of].id.clone(), misfit.problem.clone());
            ChildSpec::new(self.node(misfit.of).name.to_string(), ChildKind::Reshape { of, problem })
        };
        vec![Step::Spawn { on: task, children: misfits.iter().map(repair).collect() }]
    }

    fn misfit<'p>(&self, task: TaskIx, expected: &'p Expectation) -> Option<Misfit<'p>> {
        let of = self.ancestor_of(task, expected.node)?;
        let seen = self.repaired(task, expected.node).unwrap_or(of);
        // What failed has no shape: a step that can live without it says so, and it is not made up.
        if !self.tasks[seen].succeeded() {
            return None;
        }
        let problem = match self.json_of(seen) {
            serde_json::Value::Object(fields) => fit::violations(&expected.schema, &fields).join("; "),
            other => format!("expected an object, got {}", fit::describe(&other)),
        };
        (!problem.is_empty()).then_some(Misfit { expectation: expected, of, problem })
    }

    /// Puts the request for a repair into the call that makes it.
    fn put_repair(&self, child: TaskIx, mut call: AgentCall) -> Result<AgentCall, Failure> {
        let not_expected = || Failure::new(Class::Fatal, "a repair of what is not expected");
        let task = self.tasks[child].place.within.ok_or_else(not_expected)?;
        let Some(ChildKind::Reshape { of, problem }) = self.child_kind(child) else {
            return Err(not_expected());
        };
        let source = self.tasks.find(of);
        let expected = source.and_then(|source| {
            self.node(task).expects.iter().find(|expected| expected.node == self.tasks[source].node)
        });
        let (source, expected) = source.zip(expected).ok_or_else(not_expected)?;
        call.settings = Arc::new(AgentSettings {
            schema: Some(expected.schema.clone()),
            raw: false,
            ..(*call.settings).clone()
        });
        let prompt = self.node(task).repair_prompt.as_ref().ok_or_else(not_expected)?;
        let data = serde_json::to_string_pretty(&self.json_of(source)).unwrap_or_default();
        let given = vec![("data", json!(data)), ("problem", json!(problem))];
        call.prompt = self.render_given(task, prompt, "repair_input.prompt", given)?;
        Ok(call)
    }
}

impl State {
    fn misfit_failure(&self, task: TaskIx, misfits: &[Misfit<'_>], tried: bool) -> Failure {
        let words: Vec<String> = misfits
            .iter()
            .map(|misfit| {
                let failed = self.failed_repair(task, misfit.expectation.node);
                let failed = failed.map(|why| format!(" (the repair failed: {why})")).unwrap_or_default();
                format!("output of `{}`: {}{failed}", self.node(misfit.of).name, misfit.problem)
            })
            .collect();
        let repaired = if tried { ", also after a repair" } else { "" };
        let message =
            format!("step `{}` expects another shape{repaired}: {}", self.node(task).name, words.join("; "));
        let failure = Failure::new(Class::InvalidOutput, message).reason(INPUT_SHAPE);
        if tried {
            failure
        } else {
            failure.hint("`repair_input: true` lets a model put the output into shape")
        }
    }

    /// The repair of a node's output that was made for a task, whatever became of it.
    fn repair_of(&self, task: TaskIx, node: NodeIx) -> Option<TaskIx> {
        let name = &self.workflow_of(task).node(node).name;
        self.tasks.find(&TaskId::new(Some(&self.tasks[task].id), "repair_input", Some(name), 1))
    }

    /// Why the repair of a node's output came to nothing.
    fn failed_repair(&self, task: TaskIx, node: NodeIx) -> Option<&str> {
        let repair = self.repair_of(task, node).filter(|repair| !self.tasks[*repair].succeeded())?;
        Some(self.tasks[repair].failure.as_deref().map_or("it was stopped", |failure| &failure.message))
    }

    /// Whether repairs were made for a task, whatever became of them.
    pub(crate) fn asked_for_repairs(&self, task: TaskIx) -> bool {
        self.node(task).expects.iter().any(|expected| self.repair_of(task, expected.node).is_some())
    }

    /// The task whose output a task sees instead of a node's own.
    pub(crate) fn repaired(&self, task: TaskIx, node: NodeIx) -> Option<TaskIx> {
        self.node(task).repairer?;
        self.repair_of(task, node).filter(|repair| self.tasks[*repair].succeeded())
    }

    /// Whether a task waits for repairs of what it needs.
    pub(crate) fn awaits_repair(&self, task: TaskIx) -> bool {
        let asked = |child: &TaskIx| {
            let question = self.tasks[*child].spec.as_ref();
            question.is_some_and(|question| matches!(question.kind, ChildKind::Reshape { .. }))
        };
        // Repairs come before all else that a step asks, so the first member tells; looking at all of them whenever
        // one ends would make a fan-out quadratic.
        let first = self.tasks[task].group.as_deref().and_then(|group| group.members.first());
        self.tasks[task].state == TaskState::Open
            && self.tasks[task].merging.is_none()
            && first.is_some_and(asked)
    }
}
