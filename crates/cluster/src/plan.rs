//! What a plan asks for that a cluster does not give: files of one machine, and what the runs of one machine share. Such a plan is
//! refused before anything is spent.

use convoke_model::Transport;
use convoke_plan::{Condition, Kind, Node, Plan};

/// Why a plan cannot run on a cluster, in words that name the step.
pub fn unsupported(plan: &Plan) -> Option<String> {
    plan.workflows.iter().find_map(|workflow| {
        if workflow.project_place().is_some() {
            return Some(
                "its pipeline shares a project context with other runs, which is a file of one machine"
                    .to_owned(),
            );
        }
        let why = workflow.nodes.iter().find_map(|node| Some((node, of_node(node)?)));
        why.map(|(node, why)| format!("step `{}` {why}", node.step_name()))
    })
}

fn of_node(node: &Node) -> Option<&'static str> {
    if node.workspace.is_some() {
        return Some("has a `workspace`, which is a folder of one machine");
    }
    if node.is_looked_at() {
        return Some(
            "must prove the work of its parts (`ensure`, `protect`), and workers have no folder in common",
        );
    }
    let looks_for_files = |condition: &Condition| matches!(condition, Condition::FileExists { .. });
    if node.triggers.iter().any(|trigger| trigger.when.iter().any(looks_for_files)) {
        return Some("starts when a file exists, and workers have no folder in common");
    }
    match &node.kind {
        Kind::Script(script) if script.survives.is_some() => {
            Some("goes on when its engine ends (`survives`), and the commands of a worker end with it")
        }
        Kind::Script(script) if script.working_dir.is_some() => {
            Some("has a `working_dir`, which is a folder of one machine")
        }
        Kind::Agent(agent) if agent.settings.provider.program.is_some() => {
            Some("is a coding agent, which works on the files of one machine")
        }
        Kind::Agent(agent) => {
            let hands = |server: &convoke_model::Server| matches!(server.transport, Transport::Own { .. });
            agent
                .settings
                .servers
                .values()
                .any(hands)
                .then_some("has files or a shell of one machine (`tools`)")
        }
        _ => None,
    }
}
