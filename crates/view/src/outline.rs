//! What the plan says in advance: the steps of the root workflow and what they wait for.

use convoke_model::TaskId;
use convoke_plan::view::levels;
use convoke_plan::{Kind, Plan, Workflow};
use indexmap::IndexMap;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The steps that a run is expected to have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// By task id: the tasks it waits for. Only first visits; bodies of a for_each are not known in advance.
    pub steps: IndexMap<TaskId, Vec<TaskId>>,
    /// The word for each node's kind, by name. Names are unique per workflow; the root's win.
    pub kinds: HashMap<String, &'static str>,
    /// The word for the kind of each fan-out's items, by the fan-out's name.
    pub items: HashMap<String, &'static str>,
}

impl Outline {
    /// The outline of a plan.
    pub fn of(plan: &Plan) -> Outline {
        let mut outline = Outline::default();
        for workflow in &plan.workflows {
            for node in &workflow.nodes {
                outline.kinds.entry(node.name.to_string()).or_insert(node.kind.word());
                if let Kind::ForEach(group) = &node.kind {
                    let body = workflow.node(group.body).kind.word();
                    outline.items.entry(node.name.to_string()).or_insert(body);
                }
            }
        }
        outline.expect_steps(plan);
        outline
    }

    /// What a run can reach. Nodes that only answer questions of a step (the roles of a goal, judges, repairers) are none.
    fn expect_steps(&mut self, plan: &Plan) {
        let workflow = plan.root();
        let places = places(workflow);
        let levels = levels(plan, workflow, &BTreeMap::new());
        let reached: HashSet<_> = levels.nodes.iter().map(|node| node.name.as_str()).collect();
        for (ix, node) in workflow.nodes.iter().enumerate() {
            let Some(id) = places[ix].as_ref().filter(|_| reached.contains(&*node.name)) else { continue };
            let needs = node.needs.iter().filter_map(|need| places[need.node.0 as usize].clone());
            self.steps.insert(id.clone(), needs.collect());
        }
    }
}

/// The id of each node's first task, where the plan alone tells it.
fn places(workflow: &Workflow) -> Vec<Option<TaskId>> {
    let mut owner: Vec<Option<usize>> = vec![None; workflow.nodes.len()];
    let mut inside_fan_out = vec![false; workflow.nodes.len()];
    for (ix, node) in workflow.nodes.iter().enumerate() {
        match &node.kind {
            Kind::Parallel(group) => group.members.iter().for_each(|m| owner[m.0 as usize] = Some(ix)),
            Kind::ForEach(group) => inside_fan_out[group.body.0 as usize] = true,
            _ => {}
        }
    }
    (0..workflow.nodes.len()).map(|ix| place(workflow, &owner, &inside_fan_out, ix, 0)).collect()
}

fn place(
    workflow: &Workflow,
    owner: &[Option<usize>],
    inside_fan_out: &[bool],
    ix: usize,
    depth: usize,
) -> Option<TaskId> {
    // Groups cannot contain themselves in a checked plan; the bound keeps a damaged one from hanging the view.
    if inside_fan_out[ix] || depth > workflow.nodes.len() {
        return None;
    }
    let parent = match owner[ix] {
        Some(group) => Some(place(workflow, owner, inside_fan_out, group, depth + 1)?),
        None => None,
    };
    Some(TaskId::new(parent.as_ref(), &workflow.nodes[ix].name, None, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_plan::compile::{Options, compile};
    use convoke_plan::source::{SourceReadError, Sources};

    struct Only(&'static str);

    impl Sources for Only {
        fn read(&self, _: &str) -> Result<Vec<u8>, SourceReadError> {
            Ok(self.0.into())
        }
        fn env(&self, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn the_roles_of_a_goal_are_no_steps() {
        let file = "workflow: {name: w, entry_point: g}\nagents:\n  - {name: g, type: goal, goal: x, routes: [{to: a}]}\n  - {name: a, type: set, value: '1'}\n";
        let plan = compile("w.yaml", &Only(file), &Options::default()).plan.expect("it compiles");
        let steps: Vec<_> = Outline::of(&plan).steps.keys().map(TaskId::to_string).collect();
        assert_eq!(steps, ["g", "a"]);
    }
}
