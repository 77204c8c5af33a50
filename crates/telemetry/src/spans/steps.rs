//! What the stored plan says about the steps of a run: their kinds, and what agents are asked with.

use convoke_model::{AgentSettings, TaskId};
use convoke_plan::{Kind, Plan, Text};
use std::collections::HashMap;
use std::sync::Arc;

/// The steps of a plan, by workflow and name.
#[derive(Debug, Default)]
pub(super) struct Steps(Vec<HashMap<Arc<str>, Step>>);

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The word for its kind, to be told.
    pub kind: &'static str,
    /// Whether it runs a command.
    pub is_script: bool,
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What is fixed about an agent.
    pub agent: Option<Arc<AgentSettings>>,
    /// The model of an agent, where the file names one.
    pub model: Option<Arc<str>>,
    /// How much that is to think.
    pub reasoning: Option<Arc<str>>,
    /// The program of a script, where the file names one.
    pub program: Option<String>,
    /// The tool of a tool step.
    pub tool: Option<String>,
    /// The workflow that it runs.
    below: Option<usize>,
    /// The kind of a fan-out's items.
    items: Option<Arc<str>>,
}

impl Step {
    /// Whether it runs a workflow of its own.
    pub fn is_workflow(&self) -> bool {
        self.below.is_some()
    }
}

impl Steps {
    /// Those of a plan. A plan of another version that cannot be read says nothing.
    pub fn read(plan: &str) -> Steps {
        serde_json::from_str::<Plan>(plan).map(|plan| Steps::of(&plan)).unwrap_or_default()
    }

    fn of(plan: &Plan) -> Steps {
        let workflows = plan.workflows.iter().map(|workflow| {
            let steps = workflow.nodes.iter().map(|node| {
                let (below, items) = match &node.kind {
                    Kind::SubPlan(sub) => (Some(sub.workflow.0 as usize), None),
                    Kind::ForEach(group) => (None, Some(workflow.node(group.body).name.clone())),
                    _ => (None, None),
                };
                let (mut model, mut reasoning, mut program) = (None, None, None);
                match &node.kind {
                    Kind::Agent(agent) => {
                        model = agent.model.as_ref().and_then(literal);
                        reasoning = agent.reasoning_effort.as_ref().and_then(literal);
                    }
                    Kind::Script(script) => program = literal(&script.command).as_deref().map(file_name),
                    _ => {}
                }
                let step = Step {
                    model,
                    reasoning,
                    program,
                    kind: node.kind.word(),
                    is_script: matches!(node.kind, Kind::Script(_)),
                    name: node.step_name().to_owned(),
                    description: node.description.clone(),
                    agent: match &node.kind {
                        Kind::Agent(agent) => Some(agent.settings.clone()),
                        _ => None,
                    },
                    tool: match &node.kind {
                        Kind::Tool(tool) => Some(tool.tool.clone()),
                        _ => None,
                    },
                    below,
                    items,
                };
                (node.name.clone(), step)
            });
            steps.collect()
        });
        Steps(workflows.collect())
    }

    /// The step of a task; `None` for children that a step spawns, and where the plan says nothing.
    pub fn find(&self, task: &TaskId) -> Option<&Step> {
        let (mut workflow, mut found) = (self.0.first()?, None);
        for segment in task.segments() {
            let mut step = workflow.get(segment.node.as_str());
            // An item of a fan-out goes by the name of the fan-out.
            if let Some(body) = step.filter(|_| segment.key.is_some()).and_then(|step| step.items.as_ref()) {
                step = workflow.get(body);
            }
            found = step;
            if let Some(below) = step.and_then(|step| step.below) {
                workflow = self.0.get(below)?;
            }
        }
        found
    }
}

/// What is written, where nothing of it is filled in when the step runs.
fn literal(text: &Text) -> Option<Arc<str>> {
    match text {
        Text::Literal(text) => Some(text.clone()),
        Text::Template(_) => None,
    }
}

fn file_name(program: &str) -> String {
    program.rsplit('/').next().unwrap_or(program).to_owned()
}
