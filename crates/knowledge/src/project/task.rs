//! Tasks: their first word, what they are given, and how they end.

use super::outline::{agent_of, model_of};
use super::{Projector, names};
use crate::vocab::{cv, label, prov};
use convoke_model::{
    Cause, CauseKind, ChildKind, ChildSpec, Contract, Failure, LimitAdapted, TaskId, Timestamp,
};
use oxrdf::{Literal, NamedNode};

impl Projector {
    /// The task in its present life.
    pub(super) fn task(&mut self, task: &str) -> NamedNode {
        let life = self.tasks.get(task).map_or(0, |task| task.life);
        self.names.task(&self.outline, task, life)
    }

    /// A task is mentioned; the first time in its life the graph is told of it.
    pub(super) fn tell(&mut self, task: &str, at: Timestamp) {
        let entry = self.tasks.entry(task.to_owned()).or_default();
        entry.started.get_or_insert(at);
        if std::mem::replace(&mut entry.told, true) {
            return;
        }
        let (me, run) = (self.task(task), self.names.run());
        let shown = self.names.id(&self.outline, task);
        self.quads.class(&me, "Task");
        self.quads.text(&me, "taskId", &shown);
        self.quads.add(&me, cv("inExecution"), run);
        self.quads.moment(&me, prov("startedAtTime"), at);
        if let Some(parent) = parent_of(task) {
            let parent = self.task(&parent);
            self.quads.add(&me, cv("parentTask"), parent);
        }
        self.tell_plan(task, &me);
    }

    /// What the plan says of it.
    fn tell_plan(&mut self, task: &str, me: &NamedNode) {
        let Some(found) = self.outline.find(task) else { return self.quads.text(me, "kind", "task") };
        self.quads.text(me, "kind", found.node.kind.word());
        if let Some(agent) = agent_of(found.node) {
            let (service, name) = model_of(agent);
            self.quads.add(me, cv("askedModel"), names::model(service, name));
            let others = agent.settings.fallback.iter().flat_map(|fallback| &fallback.models).cloned();
            let models = std::iter::once(name.to_owned()).chain(others).collect();
            if let Some(entry) = self.tasks.get_mut(task) {
                entry.models = Some((service.to_owned(), models));
            }
            let name = found.node.name.trim_start_matches('$');
            // Tries and children of a phase have its name before a dot.
            let of_phase = || self.roles.get(name.split('.').next()?);
            let known = self.roles.get(name).or_else(of_phase);
            let own = || names::thing("agent", &format!("{}/{name}", self.workflow));
            let role = known.map_or_else(own, |role| NamedNode::new_unchecked(&role.iri));
            self.quads.add(me, prov("wasAssociatedWith"), role.clone());
            self.quads.class(&role, "AgentRole");
            let words = found.node.description.as_deref().unwrap_or(name);
            self.quads.add(&role, label(), Literal::new_simple_literal(words));
            if let Some(department) = known.and_then(|role| role.department.as_ref()) {
                self.quads.add(&role, cv("inDepartment"), NamedNode::new_unchecked(department));
            }
        }
        let before = self.outline.before(&found);
        for before in
            before.into_iter().filter(|before| self.tasks.contains_key(&before.task)).collect::<Vec<_>>()
        {
            let other = self.task(&before.task);
            self.quads.add(me, cv("dependsOn"), other);
            if let Some(entry) = self.tasks.get_mut(task) {
                entry.before.push(before.task.clone());
                if before.passes {
                    entry.add_sources([before.task]);
                }
            }
        }
    }

    pub(super) fn fanned_out(&mut self, task: &str, count: u32, at: Timestamp) {
        self.tell(task, at);
        let me = self.task(task);
        self.quads.number(&me, "fanOut", count.into());
    }

    pub(super) fn merge_started(&mut self, task: &str, strategy: &str, sources: &[TaskId], at: Timestamp) {
        self.tell(task, at);
        let me = self.task(task);
        self.quads.text(&me, "strategy", strategy);
        if let Some(entry) = self.tasks.get_mut(task) {
            entry.add_sources(sources.iter().map(|source| source.0.to_string()));
        }
    }

    pub(super) fn children_spawned(&mut self, task: &str, children: &[ChildSpec], at: Timestamp) {
        self.tell(task, at);
        let parent = TaskId(task.into());
        for child in children {
            let id = child.child_of(&parent).0.to_string();
            self.tasks.entry(id.clone()).or_default().add_sources(given_to(&child.kind));
            // What a child comes to is part of what its asker says.
            if let Some(entry) = self.tasks.get_mut(task) {
                entry.add_sources([id]);
            }
        }
    }

    pub(super) fn contract_resolved(&mut self, task: &str, contract: &Contract, at: Timestamp) {
        self.tell(task, at);
        let me = self.task(task);
        if let Some(persona) = &contract.persona {
            let agent = names::thing("agent", &format!("{}/{persona}", self.workflow));
            self.quads.add(&me, prov("wasAssociatedWith"), agent.clone());
            self.quads.class(&agent, "AgentRole");
        }
        if let (Some(service), Some(entry)) = (&contract.provider, self.tasks.get_mut(task)) {
            let models = std::iter::once(&contract.model).chain(&contract.other_models).cloned().collect();
            entry.models = Some((service.clone(), models));
        }
        for server in &contract.servers {
            self.quads.add(&me, cv("mayUse"), names::thing("server", server));
        }
    }

    /// What every end has.
    pub(super) fn end(&mut self, task: &str, status: &str, at: Timestamp) {
        self.tell(task, at);
        let me = self.task(task);
        let Some(entry) = self.tasks.get_mut(task) else { return };
        entry.ended = Some(at);
        let took = entry.took(at);
        self.ended += 1;
        self.failed += u64::from(status == "Failed");
        self.quads.moment(&me, prov("endedAtTime"), at);
        self.quads.number(&me, "durationMicros", took);
        self.quads.add(&me, cv("status"), cv(status));
    }

    pub(super) fn task_failed(&mut self, task: &str, failure: &Failure, at: Timestamp) {
        self.end(task, "Failed", at);
        let me = self.task(task);
        self.failure(&me, failure);
    }

    pub(super) fn failure(&mut self, of: &NamedNode, failure: &Failure) {
        self.quads.add(of, cv("failureClass"), cv(&format!("failure-{}", failure.class.word())));
        if let Some(reason) = &failure.reason {
            self.quads.text(of, "failureReason", reason);
        }
        if self.telling.contents {
            self.quads.text(of, "message", &failure.message);
        }
    }

    pub(super) fn stopped(&mut self, task: &str, status: &str, cause: &Cause, at: Timestamp) {
        self.end(task, status, at);
        let me = self.task(task);
        self.quads.text(&me, "cause", word_of(cause.kind));
        if let Some(other) = &cause.task {
            let other = self.task(&other.0);
            self.quads.add(&me, cv("causedBy"), other);
        }
    }

    pub(super) fn route_taken(&mut self, from: &str, to: &str) {
        let (here, there) = (self.task(from), self.task(to));
        self.quads.add(&there, prov("wasInformedBy"), here);
        let entry = self.tasks.entry(to.to_owned()).or_default();
        entry.before.push(from.to_owned());
        // Prompts of a workflow see what went before.
        entry.add_sources([from.to_owned()]);
    }

    pub(super) fn decided(&mut self, task: &str, word: &str, seq: u64, at: Timestamp) {
        self.tell(task, at);
        let me = self.task(task);
        let decision = names::part(&self.names.run(), &format!("decision:{seq}"));
        self.quads.class(&decision, "Decision");
        self.quads.add(&decision, cv("decidedIn"), me);
        self.quads.text(&decision, "decided", word);
        self.quads.moment(&decision, prov("startedAtTime"), at);
    }

    /// That a person answered, not who.
    pub(super) fn gate_answered(&mut self, task: &str, at: Timestamp) {
        self.tell(task, at);
        let me = self.task(task);
        self.quads.add(&me, cv("answeredBy"), cv("Person"));
    }

    /// A service that is left alone because its calls fail is a gap in what can be done.
    pub(super) fn limit_adapted(&mut self, adapted: &LimitAdapted, seq: u64, at: Timestamp) {
        if adapted.reason.word() != "breaker_opened" {
            return;
        }
        let run = self.names.run();
        let me = names::part(&run, &format!("gap:{seq}"));
        self.quads.class(&me, "FailureGap");
        self.quads.add(&me, prov("wasGeneratedBy"), run);
        self.quads.add(&me, cv("resource"), names::thing("resource", &adapted.resource));
        self.quads.moment(&me, prov("startedAtTime"), at);
    }
}

/// The task that this one stands in: of an item its fan-out.
fn parent_of(task: &str) -> Option<String> {
    let last = task.rfind('/').map_or(0, |at| at + 1);
    match task[last..].find('[') {
        Some(at) if last == 0 => Some(task[..at].to_owned()),
        _ => task.rsplit_once('/').map(|(parent, _)| parent.to_owned()),
    }
}

/// Whose outputs a child is given.
fn given_to(kind: &ChildKind) -> Vec<String> {
    let of: Vec<&TaskId> = match kind {
        ChildKind::Merge { of } | ChildKind::Choose { of } | ChildKind::Collect { of } => {
            of.iter().map(|piece| &piece.task).collect()
        }
        ChildKind::Assess { answer } => vec![answer],
        ChildKind::Correct { answer, findings } => vec![answer, findings],
        ChildKind::Reshape { of, .. } | ChildKind::Aggregate { of } => vec![of],
        ChildKind::Program { of, .. } => of.iter().collect(),
        ChildKind::Item(item) => item.inputs.iter().collect(),
        ChildKind::Try { after } => after.iter().collect(),
        _ => Vec::new(),
    };
    of.into_iter().map(|task| task.0.to_string()).collect()
}

fn word_of(kind: CauseKind) -> &'static str {
    kind.words()
}
