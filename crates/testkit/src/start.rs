//! How simulated runs begin.

use convoke_model::{JsonText, Payload, RunId, RunStarted};
use convoke_plan::Plan;

/// The first event of a simulated run.
pub(crate) fn started(plan: &Plan, inputs: &serde_json::Value, seed: u64) -> RunStarted {
    RunStarted {
        run: RunId("simulated".into()),
        workflow: plan.root().name.to_string(),
        file: plan.root().file.clone(),
        folder: "/simulated".into(),
        plan: plan.digest(),
        inputs: Payload::Inline(JsonText::of(inputs)),
        seed,
        skip_gates: false,
        version: "simulated".into(),
        metadata: Default::default(),
        configuration: Default::default(),
        base: None,
    }
}
