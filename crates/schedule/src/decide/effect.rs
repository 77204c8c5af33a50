//! Effects: what is claimed before it is made, and the question whether it happened.

use super::Launch;
use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::state::TaskIx;
use crate::view::View;
use convoke_model::{
    Assignment, EffectClaim, EffectKind, Event, Failure, JsonText, KnownResult, ProbeCall, ProbeVerdict,
    ProbeWork, Work,
};
use convoke_plan::{Kind, ProbeKind};
use serde_json::Value as Json;

/// What a probe's arguments call the idempotency key.
const KEY: &str = "{key}";

impl Scheduler {
    /// Claims what an attempt does itself, in the commit of its start. The calls of an agent are claimed one by one, when the
    /// agent asks for them. A command that is attached to was claimed when it was started.
    pub(super) fn claim(&mut self, assignment: &Assignment) {
        let Some(EffectClaim { key, kind, what }) = claim_of(assignment) else { return };
        let (task, attempt) = (assignment.task.clone(), assignment.attempt);
        self.emit(Event::EffectClaimed { task, attempt, key, kind, what });
    }

    /// A permit is there for a task whose effect is unknown: it is asked for first.
    pub(super) fn launch_probe(&mut self, task: TaskIx, lease: Option<u64>, outputs: &dyn Outputs) -> Launch {
        let (id, attempt) = (self.tasks[task].id.clone(), self.tasks[task].attempts + 1);
        let key = self.effect_key(task).to_string();
        match self.view(outputs).probe_assignment(task) {
            Ok(assignment) => {
                self.emit(Event::ProbeStarted { task: id, attempt, key, lease });
                Launch::Start(Box::new(assignment))
            }
            Err(failure) => {
                let verdict = ProbeVerdict::Unclear { why: failure.message };
                self.emit(Event::EffectProbed { task: id, attempt, key, verdict });
                Launch::Refused
            }
        }
    }
}

impl View<'_> {
    fn probe_assignment(&self, task: TaskIx) -> Result<Assignment, Failure> {
        let node = self.node(task);
        let Some(probe) = &node.probe else {
            let message = format!("step `{}` states no probe", node.name);
            return Err(Failure::new(convoke_model::Class::Fatal, message));
        };
        let asks = match &probe.asks {
            ProbeKind::Command(script) => {
                let mut call = self.script_call(task, script)?;
                call.args.iter_mut().for_each(|arg| *arg = arg.replace(KEY, &self.effect_key(task)));
                ProbeCall::Command(Box::new(call))
            }
            ProbeKind::Tool(tool) => {
                let mut work = self.tool_work(task, tool)?;
                let mut arguments = work.arguments.value();
                put_key(&mut arguments, &self.effect_key(task));
                work.arguments = JsonText::of(&arguments);
                ProbeCall::Tool(Box::new(work))
            }
        };
        let schema = match &node.kind {
            Kind::Script(script) => script.schema.clone(),
            Kind::Tool(tool) => tool.schema.clone(),
            _ => None,
        };
        self.assignment_of(task, Work::Probe(Box::new(ProbeWork { asks, schema, timeout: probe.timeout })))
    }

    /// Results of calls that earlier attempts came to know and did not record with their turn.
    pub(super) fn known_results(&self, task: TaskIx) -> Vec<KnownResult> {
        let known = self.tasks[task].known_results.iter();
        let read = |(_, key, result): &(u32, Box<str>, convoke_model::Payload)| {
            Some(KnownResult { key: key.to_string(), result: self.read(result)? })
        };
        known.filter_map(read).collect()
    }
}

/// Puts the key into every text that names it.
fn put_key(value: &mut Json, key: &str) {
    match value {
        Json::String(text) => *text = text.replace(KEY, key),
        Json::Array(items) => items.iter_mut().for_each(|item| put_key(item, key)),
        Json::Object(entries) => entries.values_mut().for_each(|entry| put_key(entry, key)),
        _ => {}
    }
}

fn claim_of(assignment: &Assignment) -> Option<EffectClaim> {
    let key = assignment.key.to_string();
    match &assignment.work {
        Work::Script(call) if call.survival.as_ref().is_some_and(|survival| survival.attach) => None,
        Work::Script(call) => {
            let words = std::iter::once(&call.command).chain(&call.args).map(String::as_str);
            Some(EffectClaim::of_command(key, EffectKind::Script, words))
        }
        Work::Tool(work) => {
            let tool = format!("{}__{}", work.server, work.tool);
            Some(EffectClaim::of_tool(key, EffectKind::Tool, tool))
        }
        Work::Agent(call) => {
            let program = call.settings.provider.program.as_ref()?;
            Some(EffectClaim::of_command(key, EffectKind::CodingAgent, [program.command.as_str()]))
        }
        Work::Program(_) | Work::Probe(_) => None,
    }
}
