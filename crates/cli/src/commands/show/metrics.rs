//! A run in numbers, for programs. What happened is from its events, over all processes that drove it; what is under way at this
//! moment is told by the process that drives it, and is nothing where none does.

use super::InspectedRun;
use convoke_engine::Summary;
use convoke_model::RunStatus;
use serde_json::{Value, json};

impl InspectedRun {
    pub(super) fn metrics_json(&self) -> Value {
        let summary = Summary::of(&self.report, &self.stored.events);
        let live = self.metrics.as_ref().filter(|_| self.status == RunStatus::Running);
        let told = |key: &str| live.map_or(Value::Null, |metrics| metrics[key].clone());
        let active = if live.is_some() { summary.attempts.saturating_sub(summary.ended) } else { 0 };
        let calls_active = live.and_then(|metrics| metrics["calls"]["active"].as_u64()).unwrap_or(0);
        let mut record = json!({
            "live": live.is_some(),
            "active": active,
            "granted": summary.attempts,
            "released": summary.attempts - active,
            "calls": {
                "active": calls_active,
                "granted": summary.calls + calls_active,
                "released": summary.calls,
            },
            "tasks": summary.tasks,
            "retried": summary.retried,
            "failed_attempts": summary.failed_attempts,
            "sub_agents": summary.sub_agents,
            "latency_ms": summary.latency_ms,
            "waiting": told("waiting").as_u64().unwrap_or(0),
            "waiting_for": live.map_or_else(|| json!({}), |metrics| metrics["waiting_for"].clone()),
            "utilisation": live.map_or_else(|| json!({}), |metrics| metrics["utilisation"].clone()),
        });
        // What the last process that drove it has counted or learned.
        let last = self.metrics.as_ref().and_then(Value::as_object).into_iter().flatten();
        let kept = ["learned", "spent", "refused", "overflowed", "unpaid", "wait_ms"];
        for (key, value) in last.filter(|(key, _)| kept.contains(&key.as_str())) {
            record[key] = value.clone();
        }
        record
    }
}
