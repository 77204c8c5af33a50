//! What a plan asks for that a cluster cannot give yet. Such a plan is refused before anything is spent.

use convoke_plan::{Kind, Plan};

/// Why a plan cannot run on a cluster, in words that name the step.
pub fn unsupported(plan: &Plan) -> Option<String> {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    nodes.into_iter().find_map(|node| {
        let step = node.step_name();
        match &node.kind {
            Kind::Script(script) if script.survives.is_some() => {
                Some(format!("step `{step}` goes on when its engine ends (`survives`), and a worker's commands end with it"))
            }
            _ => None,
        }
    })
}
