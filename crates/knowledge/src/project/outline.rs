//! What the plan says about a task: its node, its kind, its model, and whose outputs it is given.

use convoke_model::TaskId;
use convoke_plan::{Agent, Kind, Node, NodeIx, Plan, Text, WorkflowIx};
use std::collections::HashMap;

/// A plan with its nodes by name.
pub(super) struct Outline {
    plan: Plan,
    names: Vec<HashMap<String, NodeIx>>,
}

/// A task's node.
pub(super) struct Found<'p> {
    pub node: &'p Node,
    workflow: usize,
    /// Where tasks of its neighbours stand: the path of its workflow's own task, with `/` behind it.
    scope: String,
}

/// An output that a task is given, or an end that it waits for.
pub(super) struct Before {
    /// The task.
    pub task: String,
    /// Whether its output is passed on.
    pub passes: bool,
}

impl Outline {
    pub fn new(plan: Plan) -> Outline {
        let names = |workflow: &convoke_plan::Workflow| {
            workflow.indexed().map(|(ix, node)| (node.name.to_string(), ix)).collect()
        };
        let names = plan.workflows.iter().map(names).collect();
        Outline { plan, names }
    }

    /// The node behind a task id such as `chapters[0]/write#2`.
    pub fn find(&self, task: &str) -> Option<Found<'_>> {
        let id = TaskId(task.into());
        let parts: Vec<_> = id.segments().collect();
        let (mut workflow, mut scope) = (0, String::new());
        let mut found: Option<&Node> = None;
        let mut path = String::new();
        for (place, (part, written)) in parts.iter().zip(task.split('/')).enumerate() {
            let mut node = self.named(workflow, &part.node).or_else(|| {
                let parent = found?.name.trim_start_matches('$');
                let beside = |name: String| self.named(workflow, &name);
                beside(format!("${parent}.{}", part.node))
                    .or_else(|| beside(format!("{parent}.{}", part.node)))
            })?;
            if let (Some(_), Kind::ForEach(each)) = (&part.key, &node.kind) {
                node = self.plan.workflow(WorkflowIx(workflow as u32)).node(each.body);
            }
            found = Some(node);
            path.push_str(written);
            path.push('/');
            if place + 1 < parts.len() {
                scope.clone_from(&path);
                if let Kind::SubPlan(sub) = &node.kind {
                    workflow = sub.workflow.0 as usize;
                }
            }
        }
        Some(Found { node: found?, workflow, scope })
    }

    fn named(&self, workflow: usize, name: &str) -> Option<&Node> {
        let ix = self.names.get(workflow)?.get(name)?;
        Some(self.plan.workflow(WorkflowIx(workflow as u32)).node(*ix))
    }

    /// Whether the keys of a fan-out's items stand in the workflow file, and are no values of the run.
    pub fn states_keys(&self, fan_out: &str) -> bool {
        let node = self.find(fan_out).map(|found| &found.node.kind);
        matches!(node, Some(Kind::ForEach(each)) if each.items.is_some())
    }

    /// What stands before a task: what it needs, and what its prompt names.
    pub fn before(&self, found: &Found<'_>) -> Vec<Before> {
        let workflow = self.plan.workflow(WorkflowIx(found.workflow as u32));
        let mut before: Vec<Before> = Vec::new();
        for need in &found.node.needs {
            let task = format!("{}{}", found.scope, workflow.node(need.node).name);
            before.push(Before { task, passes: !need.order });
        }
        for name in self.named_in_prompt(found) {
            let task = format!("{}{name}", found.scope);
            match before.iter_mut().find(|known| known.task == task) {
                Some(known) => known.passes = true,
                None => before.push(Before { task, passes: true }),
            }
        }
        before
    }

    /// Names before `.output` in the template of a prompt that are names of nodes.
    fn named_in_prompt(&self, found: &Found<'_>) -> Vec<String> {
        let Some(Text::Template(id)) = agent_of(found.node).map(|agent| &agent.prompt) else {
            return Vec::new();
        };
        let Some(template) = self.plan.templates.get(id.0 as usize) else { return Vec::new() };
        let names = &self.names[found.workflow];
        let before = template.text.match_indices(".output").map(|(at, _)| {
            let head = &template.text[..at];
            let from =
                head.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).map_or(0, |at| at + 1);
            head.get(from..).unwrap_or_default()
        });
        let mut known: Vec<String> =
            before.filter(|name| names.contains_key(*name)).map(str::to_owned).collect();
        known.dedup();
        known
    }
}

/// The agent that a node is.
pub(super) fn agent_of(node: &Node) -> Option<&Agent> {
    match &node.kind {
        Kind::Agent(agent) => Some(agent),
        _ => None,
    }
}

/// The service and the model that an agent asks; a model that is rendered is not known here.
pub(super) fn model_of(agent: &Agent) -> (&str, &str) {
    let stated = match &agent.model {
        Some(Text::Literal(model)) => Some(&**model),
        _ => None,
    };
    (&agent.settings.provider.name, stated.unwrap_or("default"))
}
