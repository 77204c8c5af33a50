//! The structure of a run: how its work was divided, and the verdicts in it.

use super::InspectedRun;
use convoke_engine::report::{TaskReport, TaskWord};
use convoke_model::{Event, TaskId, reason};
use convoke_plan::view::{Waves, waves};
use convoke_plan::{Kind, Plan, Workflow};
use serde_json::{Value, json};

impl InspectedRun {
    /// Levels, critical path and how many tasks could run at once, counted with the items that there were.
    pub(super) fn waves(&self) -> Option<Waves> {
        let plan: &Plan = self.plan.as_deref()?;
        let counts = |name: &str| {
            self.stored.events.iter().find_map(|stamped| match &stamped.event {
                Event::FannedOut { task, count, .. } if &*task.0 == name => Some(u64::from(*count)),
                _ => None,
            })
        };
        Some(waves(plan, plan.root(), &counts))
    }

    /// Of all tasks that have success criteria: how many were judged, passed and failed, and how often one was asked
    /// for again. Empty where nothing is judged.
    pub(super) fn verification(&self) -> Value {
        let root = self.plan.as_deref().map(Plan::root);
        let Some(root) = root.filter(|root| root.nodes.iter().any(|node| is_judged(&node.kind))) else {
            return json!({});
        };
        let tasks = self.report.tasks.iter().filter(|(id, _)| belongs_to_judged(root, id));
        let (mut passed, mut failed) = (0, 0);
        for (_, task) in tasks {
            passed += u64::from(task.state == TaskWord::Succeeded);
            failed += u64::from(was_rejected(task));
        }
        let again =
            |event: &Event| matches!(event, Event::Noted { code, .. } if code == reason::CRITERIA_UNMET);
        let redispatched = self.stored.events.iter().filter(|stamped| again(&stamped.event)).count();
        json!({"checked": passed + failed, "passed": passed, "failed": failed, "redispatched": redispatched})
    }
}

fn is_judged(kind: &Kind) -> bool {
    matches!(kind, Kind::Agent(agent) if agent.settings.success_criteria.is_some())
}

/// Whether a task is one of a step with criteria, or an item of a fan-out whose body has them.
fn belongs_to_judged(root: &Workflow, id: &TaskId) -> bool {
    let Some(part) = id.segments().last() else { return false };
    root.nodes.iter().filter(|node| *node.name == *part.node).any(|node| match &node.kind {
        Kind::ForEach(fan_out) => part.key.is_some() && is_judged(&root.node(fan_out.body).kind),
        kind => is_judged(kind),
    })
}

fn was_rejected(task: &TaskReport) -> bool {
    let reason = task.failure.as_ref().and_then(|failure| failure.reason.as_deref());
    matches!(reason, Some(reason::CRITERIA_UNMET | reason::NO_VERDICT))
}
