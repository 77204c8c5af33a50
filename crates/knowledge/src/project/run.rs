//! The run as a whole: how it begins, and how it is opened again.

use super::outline::Outline;
use super::quads::Quads;
use super::{Beside, Change, Projector, Role, names};
use crate::project::run_iri;
use crate::project::state::Task;
use crate::vocab::{cv, prov};
use convoke_model::{PlanChanged, RunForked, RunId, RunReopened, RunStarted, TaskId, Timestamp};
use oxrdf::NamedNode;
use serde_json::Value;

impl Projector {
    pub(super) fn run_started(&mut self, started: &RunStarted, at: Timestamp) {
        self.workflow.clone_from(&started.workflow);
        self.learn_roles(started.metadata.get("org"));
        let me = self.names.run();
        let quads = &mut self.quads;
        quads.class(&me, "ParallelExecution");
        quads.text(&me, "runId", &started.run.0);
        quads.text(&me, "workflow", &started.workflow);
        quads.moment(&me, prov("startedAtTime"), at);
        quads.day(&me, at);
        quads.text(&me, "engineVersion", &started.version);
        let plan = names::thing("plan", &started.plan.to_string());
        quads.class(&plan, "ExecutionManifestTemplate");
        quads.add(&me, cv("plan"), plan);
        relations(quads, &me, started);
        counts(quads, &me, &started.metadata);
        if self.telling.contents {
            self.quads.text(&me, "folder", &started.folder);
        }
        self.content(&me, "inputs", &started.inputs);
    }

    /// Which role of an organisation each agent plays.
    fn learn_roles(&mut self, org: Option<&Value>) {
        let of = |key: &str| org.and_then(|org| org.get(key)).and_then(Value::as_object);
        for (agent, iri) in of("roles").into_iter().flatten() {
            let department = of("departments").and_then(|all| all.get(agent)).and_then(Value::as_str);
            if let Some(iri) = iri.as_str() {
                let department = department.map(str::to_owned);
                self.roles.insert(agent.clone(), Role { iri: iri.to_owned(), department });
            }
        }
    }

    /// What was said of the run's end is taken back.
    pub(super) fn open_again(&mut self) -> Option<Change> {
        let ending = std::mem::take(&mut self.ending);
        (!ending.is_empty()).then_some(Change::Remove(ending))
    }

    pub(super) fn reopened(&mut self, reopened: &RunReopened, at: Timestamp) {
        let superseded = reopened.superseded.iter().map(|one| &one.task);
        let whole: Vec<&TaskId> = reopened.restarted.iter().chain(superseded).collect();
        self.begin_anew(&whole, true);
        let open: Vec<&TaskId> = reopened.tasks.iter().collect();
        self.begin_anew(&open, false);
        let me = self.names.run();
        self.quads.moment(&me, cv("reopenedAtTime"), at);
    }

    pub(super) fn plan_changed(&mut self, changed: &PlanChanged, beside: &dyn Beside, at: Timestamp) {
        if let Some(plan) = beside.plan(&changed.plan) {
            self.outline = Outline::new(plan);
        }
        let superseded = changed.superseded.iter().map(|one| &one.task);
        let whole: Vec<&TaskId> = changed.dropped.iter().chain(superseded).collect();
        self.begin_anew(&whole, true);
        let opened: Vec<&TaskId> = changed.opened.iter().collect();
        self.begin_anew(&opened, false);
        let me = self.names.run();
        self.quads.add(&me, cv("plan"), names::thing("plan", &changed.plan.to_string()));
        self.quads.moment(&me, cv("reopenedAtTime"), at);
    }

    /// What the base has done is the base's: a fork says of each task that it has its output from there.
    pub(super) fn forked(&mut self, forked: &RunForked, beside: &dyn Beside, at: Timestamp) {
        let done: Vec<String> =
            self.tasks.iter().filter(|(_, task)| task.ended.is_some()).map(|(id, _)| id.clone()).collect();
        let me = self.names.run();
        for id in done {
            let mine = self.task(&id);
            let mut theirs = names::Names::new(&forked.run, self.telling.contents);
            let base = theirs.task(&self.outline, &id, self.tasks[&id].life);
            let shown = self.names.id(&self.outline, &id);
            self.quads.class(&mine, "Task");
            self.quads.text(&mine, "taskId", &shown);
            self.quads.add(&mine, cv("inExecution"), me.clone());
            self.quads.add(&mine, cv("takenFrom"), base.clone());
            let (result, taken) = (names::part(&mine, "result"), names::part(&base, "result"));
            self.quads.class(&result, "TaskResult");
            self.quads.add(&result, prov("wasGeneratedBy"), mine);
            self.quads.add(&result, prov("wasDerivedFrom"), taken);
        }
        (self.ended, self.failed) = (0, 0);
        self.plan_changed(&forked.change, beside, at);
    }

    /// These tasks begin anew, with everything below them or alone.
    fn begin_anew(&mut self, tasks: &[&TaskId], with_all_below: bool) {
        let is_below = |id: &str, task: &str| {
            id.strip_prefix(task).is_some_and(|rest| rest.starts_with('/') || rest.starts_with('['))
        };
        let again: Vec<String> = self
            .tasks
            .keys()
            .filter(|id| tasks.iter().any(|task| **id == *task.0 || with_all_below && is_below(id, &task.0)))
            .cloned()
            .collect();
        for id in again {
            let old = self.task(&id);
            let entry = self.tasks.entry(id.clone()).or_default();
            *entry = Task { life: entry.life + 1, ..Task::default() };
            let new = self.task(&id);
            self.quads.add(&new, cv("again"), old);
        }
    }

    pub(super) fn budget_spent(&mut self, at: Timestamp) {
        let me = self.names.run();
        self.quads.moment(&me, cv("budgetSpentAtTime"), at);
    }
}

/// The organisation that a run works for, the run that began it, and the run that it is made from.
fn relations(quads: &mut Quads, me: &NamedNode, started: &RunStarted) {
    let org = started.metadata.get("org");
    let organisation = org.and_then(|org| org["company"].as_str()).filter(|iri| NamedNode::new(*iri).is_ok());
    if let Some(organisation) = organisation {
        quads.add(me, cv("onBehalfOf"), NamedNode::new_unchecked(organisation));
    }
    if let Some(parent) = started.metadata.get("parent_run").and_then(Value::as_str) {
        quads.add(me, cv("parentRun"), run_iri(&RunId(parent.into())));
    }
    if let Some(base) = &started.base {
        quads.add(me, prov("wasInformedBy"), run_iri(&base.run));
    }
}

fn counts(quads: &mut Quads, me: &NamedNode, metadata: &indexmap::IndexMap<String, Value>) {
    let manifest = metadata.get("manifest");
    for (key, name) in [("agent_count", "agentCount"), ("wave_count", "waveCount")] {
        if let Some(number) = manifest.and_then(|manifest| manifest[key].as_u64()) {
            quads.number(me, name, number);
        }
    }
}
