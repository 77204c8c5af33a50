//! What a plan asks for that a cluster does not give: files of one machine, and what the runs of one machine share. Such a plan is
//! refused before anything is spent.

use convoke_model::{KNOWLEDGE_TOOL, Server, Transport};
use convoke_plan::{Condition, Kind, Node, Plan, Probe, ProbeKind};

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
    if node.proof.is_some() {
        return Some("has `ensure` or `protect`, which are checked on the files of one machine");
    }
    if matches!(node.probe.as_deref(), Some(Probe { asks: ProbeKind::Command(probe), .. }) if probe.working_dir.is_some())
    {
        return Some("has a `working_dir` for its `probe`, which is a folder of one machine");
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
            let is_own = |server: &Server| matches!(server.transport, Transport::Own { .. });
            let own = agent.settings.servers.values().find(|server| is_own(server))?;
            let asks_graph = own.tools.iter().flatten().any(|tool| tool == KNOWLEDGE_TOOL);
            Some(match asks_graph {
                true => "has the tool `knowledge_query`, which asks the graph of one machine",
                false => "has files or a shell of one machine (`tools`)",
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_testkit::plan_of;

    fn why(step: &str) -> Option<String> {
        let text = format!(
            "workflow: {{name: w, entry_point: a, runtime: {{provider: scripted}}}}\nagents:\n  - {step}\n"
        );
        unsupported(&plan_of(&text, &[]))
    }

    #[test]
    fn what_needs_one_machine_is_refused_by_the_name_of_its_step_and_its_key() {
        for (step, key) in [
            ("{name: a, prompt: p, workspace: worktree}", "`workspace`"),
            ("{name: a, prompt: p, ensure: [{file_exists: x}]}", "`ensure`"),
            ("{name: a, type: script, command: make, ensure: [{that: output.exit_code == 0}]}", "`ensure`"),
            ("{name: a, type: script, command: make, working_dir: /tmp}", "`working_dir`"),
            ("{name: a, type: script, command: make, survive: true, timeout: 5}", "`survives`"),
            (
                "{name: a, type: script, command: make, on_unknown: probe, probe: {command: ls, working_dir: /tmp}}",
                "`probe`",
            ),
            ("{name: a, prompt: p, tools: [shell]}", "a shell"),
            ("{name: a, prompt: p, tools: [knowledge_query]}", "`knowledge_query`"),
            ("{name: a, type: goal, goal: g, roles: {execute: {ensure: [{file_exists: x}]}}}", "`ensure`"),
        ] {
            let why = why(step).unwrap_or_else(|| panic!("not refused: {step}"));
            assert!(why.starts_with("step `a` ") && why.contains(key), "{step}: {why}");
        }
    }

    #[test]
    fn what_any_worker_can_do_is_not_refused() {
        for step in [
            "{name: a, prompt: p}",
            "{name: a, type: script, command: make, on_unknown: probe, probe: {command: ls}}",
            "{name: a, type: goal, goal: g}",
        ] {
            assert_eq!(why(step), None, "{step}");
        }
    }
}
