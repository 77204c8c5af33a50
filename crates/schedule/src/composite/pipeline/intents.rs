//! Work that a try hands to children: to which personas, how much and how deep.
//!
//! A limit that is passed is named, and the answer that passes it is not accepted; nothing of it is carried out in part.

use super::answer::WorkerAnswer;
use super::trigger::Status;
use crate::outputs::store;
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::{ChildKind, ChildSpec, ProjectPatch, TaskId, fit};
use convoke_plan::{ChildRole, NodeIx, Phase, ProjectPlace, follows_from};
use indexmap::IndexMap;

impl View<'_> {
    /// The questions that a child's sub-queries become.
    pub(super) fn intents(&self, child: TaskIx, said: &WorkerAnswer) -> Vec<ChildSpec> {
        let above = self.tasks[child].spec.as_ref().expect("a child of a phase is asked");
        let depth = self.depth_of(child) + 1;
        let intent = |(number, wanted): (usize, &super::answer::Wanted)| {
            let (persona, task) = (wanted.persona.clone(), store(self.outputs, &wanted.task));
            ChildSpec::new(
                format!("{}.{}", above.key, number + 1),
                ChildKind::Intent { persona, task, depth },
            )
        };
        said.children.iter().enumerate().map(intent).collect()
    }
}

impl State {
    /// The children that a child has handed work to.
    pub(super) fn intents_of(&self, task: TaskIx, child: TaskIx, count: usize) -> Vec<TaskIx> {
        let Some(above) = self.tasks[child].spec.as_ref() else { return Vec::new() };
        let id = |number: usize| {
            let key = format!("{}.{number}", above.key);
            TaskId::new(Some(&self.tasks[task].id), "child", Some(&key), 1)
        };
        (1..=count).filter_map(|number| self.tasks.find(&id(number))).collect()
    }

    /// The role that puts together what came of the work that a child has handed out.
    pub(super) fn aggregate_of(&self, task: TaskIx, child: TaskIx) -> Option<TaskIx> {
        let key = &self.tasks[child].spec.as_ref()?.key;
        self.tasks.find(&TaskId::new(Some(&self.tasks[task].id), "aggregate", Some(key), 1))
    }

    /// The task that has handed its work to a child; for an aggregation, the task that has handed out what it puts together.
    pub(super) fn handed_by(&self, task: TaskIx, child: TaskIx) -> Option<TaskIx> {
        let question = self.tasks[child].spec.as_ref()?;
        match &question.kind {
            ChildKind::Aggregate { of } => self.tasks.find(of),
            ChildKind::Intent { .. } => {
                let (above, _) = question.key.rsplit_once('.')?;
                let role = if above.contains('.') { "child" } else { "try" };
                self.tasks.find(&TaskId::new(Some(&self.tasks[task].id), role, Some(above), 1))
            }
            _ => None,
        }
    }

    /// How deep a child of a phase stands: a try not at all.
    pub(crate) fn depth_of(&self, child: TaskIx) -> u32 {
        match self.child_kind(child) {
            Some(ChildKind::Intent { depth, .. }) => *depth,
            Some(ChildKind::Aggregate { of }) => self.tasks.find(of).map_or(0, |of| self.depth_of(of)),
            _ => 0,
        }
    }

    /// The role that a child plays; the phase's own where there is none.
    pub(crate) fn role_of<'p>(&self, phase: &'p Phase, about: &ChildKind) -> Option<&'p ChildRole> {
        match about {
            ChildKind::Intent { persona, .. } => {
                phase.children.iter().find(|role| *role.persona == **persona)
            }
            ChildKind::Aggregate { of } => {
                let of = self.tasks.find(of).and_then(|of| self.child_kind(of))?;
                self.role_of(phase, of)
            }
            _ => None,
        }
    }

    /// The node that answers a question of a phase.
    pub(crate) fn phase_worker(&self, phase: &Phase, about: &ChildKind) -> Option<NodeIx> {
        match (about, self.role_of(phase, about)) {
            (ChildKind::Try { .. }, _) => Some(phase.worker),
            (ChildKind::Intent { .. }, role) => role.map(|role| role.worker),
            (ChildKind::Aggregate { .. }, role) => Some(role.map_or(phase.worker, |role| role.worker)),
            _ => None,
        }
    }

    /// Why an answer is not accepted though it can be read.
    pub(super) fn not_allowed(
        &self,
        task: TaskIx,
        phase: &Phase,
        child: TaskIx,
        said: &WorkerAnswer,
    ) -> Option<String> {
        contradiction(said)
            .or_else(|| self.unknown_event(task, said))
            .or_else(|| self.false_event(task, child, said))
            .or_else(|| self.wrong_project(task, child, said))
            .or_else(|| self.too_much_handed_out(task, phase, child, said))
    }

    /// Events are those of the standard or of the manifest, and what is said about them has their shape.
    fn unknown_event(&self, task: TaskIx, said: &WorkerAnswer) -> Option<String> {
        let pipeline = self.workflow_of(task).pipeline.as_ref()?;
        said.events.iter().find_map(|(kind, payload)| {
            if !pipeline.knows(kind) {
                return Some(format!("there is no event `{kind}`: `events` of the manifest can define it"));
            }
            let (schema, fields) = pipeline.shape(kind).zip(payload.as_object())?;
            let wrong = fit::violations(schema, fields);
            (!wrong.is_empty()).then(|| format!("event `{kind}`: {}", wrong.join("; ")))
        })
    }

    /// What follows from a status is announced by the end of a try alone: not with another status (but for `task_blocked` where
    /// the manifest says so), not before handed out work has come back, and not by a child that does a part of it.
    fn false_event(&self, task: TaskIx, child: TaskIx, said: &WorkerAnswer) -> Option<String> {
        let implied = || said.events.iter().filter_map(|(kind, _)| Some((kind, follows_from(kind)?.word())));
        let (kind, _) = implied().next()?;
        if self.depth_of(child) > 0 {
            return Some(format!(
                "event `{kind}`: it follows from how the phase ends, and this is a part of it"
            ));
        }
        if !said.children.is_empty() {
            return Some(format!(
                "event `{kind}`: it follows from how the phase ends, and work is handed out first"
            ));
        }
        let (pipeline, status) = (self.workflow_of(task).pipeline.as_ref()?, said.status.word());
        let (kind, follows) = implied().find(|(kind, _)| !pipeline.fits(kind, status))?;
        Some(format!("event `{kind}` with status {status}: it follows from status {follows}"))
    }

    /// What the runs of a project share is changed by phases themselves, where there is such a thing, and in its form.
    fn wrong_project(&self, task: TaskIx, child: TaskIx, said: &WorkerAnswer) -> Option<String> {
        let patch = said.project.as_ref()?;
        let place = &self.workflow_of(task).pipeline.as_ref()?.project;
        if *place == ProjectPlace::Nowhere {
            return Some("`project`: this pipeline shares nothing with other runs".to_owned());
        }
        if self.depth_of(child) > 0 {
            return Some("`project`: only the phase itself changes what runs share".to_owned());
        }
        let read: Result<ProjectPatch, _> = serde_json::from_value(patch.clone());
        read.err().map(|wrong| format!("`project`: {wrong}"))
    }

    /// What was handed out already was within the bounds of its time; a resumed run may have tighter ones.
    fn too_much_handed_out(
        &self,
        task: TaskIx,
        phase: &Phase,
        child: TaskIx,
        said: &WorkerAnswer,
    ) -> Option<String> {
        if said.children.is_empty() {
            return None;
        }
        if said.status != Status::Success {
            return Some(format!("`children` with status {}", said.status.word()));
        }
        let about = self.child_kind(child)?;
        if matches!(about, ChildKind::Aggregate { .. }) {
            return Some("what is put together hands out no further work".to_owned());
        }
        if !self.intents_of(task, child, said.children.len()).is_empty() {
            return None;
        }
        let depth = self.depth_of(child) + 1;
        if depth > phase.max_depth {
            return Some(format!("children at depth {depth}: the limit is {} (maxDepth)", phase.max_depth));
        }
        let own = self.role_of(phase, about);
        let mut counts: IndexMap<&str, usize> = IndexMap::new();
        said.children.iter().for_each(|wanted| *counts.entry(&wanted.persona).or_default() += 1);
        counts.into_iter().find_map(|(persona, count)| role_refuses(phase, own, persona, depth, count))
    }
}

/// An answer with success has no failure: whichever of both is meant, the other is wrong.
fn contradiction(said: &WorkerAnswer) -> Option<String> {
    let field = match (said.hard, said.code.as_deref()) {
        (Some(_), _) => "failure_kind",
        (None, Some(code)) if !code.is_empty() => "failure_code",
        _ => return None,
    };
    (said.status == Status::Success).then(|| format!("`{field}` with status success"))
}

/// Why a persona may not be handed so much.
fn role_refuses(
    phase: &Phase,
    own: Option<&ChildRole>,
    persona: &str,
    depth: u32,
    count: usize,
) -> Option<String> {
    let from = own.map_or(&phase.persona, |role| &role.persona);
    let Some(role) = relationship(phase, own, persona) else {
        return Some(format!("`{from}` may not hand work to `{persona}` (relationships)"));
    };
    if depth > role.max_depth {
        return Some(format!("`{persona}` at depth {depth}: the limit is {} (maxDepth)", role.max_depth));
    }
    if count > role.max_children as usize {
        return Some(format!(
            "{count} children `{persona}`: the limit is {} (maxChildren)",
            role.max_children
        ));
    }
    None
}

/// What the manifest says about work from one role to another.
fn relationship<'p>(phase: &'p Phase, own: Option<&'p ChildRole>, persona: &str) -> Option<&'p ChildRole> {
    let open = own.map_or(&phase.direct, |own| &own.children);
    let mut roles = open.iter().filter_map(|ix| phase.children.get(*ix as usize));
    roles.find(|role| *role.persona == *persona)
}
