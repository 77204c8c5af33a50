//! The prompt of an attempt, rendered again from the plan and the events before it.
//!
//! Prompts are not stored: the same plan and the same events give the same text.

use super::contract::approvals_in_words;
use crate::changes;
use crate::stored::Stored;
use convoke_journal::StateDir;
use convoke_model::{Digest, Event, ProbeCall, TaskId, Work};
use convoke_schedule::{Scheduler, StoredOutputs, replayable};
use serde_json::{Value, json};
use std::sync::Arc;

/// What the last attempt of a task was asked; `None` if it made none, or if it cannot be told any more.
pub fn rendered(state: &StateDir, stored: &Stored, task: &TaskId) -> Option<Value> {
    let began = stored.events.iter().rposition(
        |stamped| matches!(&stamped.event, Event::AttemptStarted { task: other, .. } if other == task),
    )?;
    let meta = stored.reader.meta().ok()?;
    let plan = changes::stored_plan(state, &stored.run, &meta, || Ok(stored.events.clone())).ok()?;
    let mut scheduler = Scheduler::new(Arc::new(plan));
    let before = replayable(stored.events[..began].to_vec());
    before.iter().try_for_each(|stamped| scheduler.apply(stamped)).ok()?;
    let blob = |digest: &Digest| stored.reader.blob(digest).ok().flatten();
    let outputs = StoredOutputs(&blob);
    let assignment = scheduler.view(&outputs).assignment(scheduler.find(task)?).ok()?;
    Some(match assignment.work {
        Work::Agent(call) => {
            let mut asked = json!({
                "provider": call.settings.provider.name,
                "model": call.model,
                "system": call.system,
                "prompt": call.prompt,
            });
            let approvals = &call.settings.approvals;
            if !approvals.is_default() {
                asked["approvals"] = json!(approvals_in_words(approvals));
            }
            asked
        }
        Work::Program(call) => json!({
            "provider": call.agent.settings.provider.name,
            "model": call.agent.model,
            "system": call.agent.system,
            "prompt": call.agent.prompt,
            "outputs": call.sources.len(),
        }),
        Work::Script(call) => json!({
            "command": call.command,
            "args": call.args,
            "working_dir": call.working_dir,
            "stdin": call.stdin,
        }),
        Work::Probe(probe) => match &probe.asks {
            ProbeCall::Command(call) => json!({ "probe": call.command, "args": call.args }),
            ProbeCall::Tool(call) => json!({ "probe": call.tool, "arguments": call.arguments }),
        },
        Work::Tool(call) => json!({
            "server": call.server,
            "tool": call.tool,
            "arguments": call.arguments,
        }),
    })
}
