//! A plan as a graph: the nodes that a run's tasks belong to, and the ways between them.
//!
//! A node is named by the path of its tasks, without visits and with `[]` where a key stands: the items of a fan-out `review` are
//! the node `review[]`, a member of theirs `review[]/check`. So a task's node follows from its id alone ([`node_of`]), and what a task
//! asks on its way belongs to the nearest node above it ([`Graph::nearest`]). Helpers that only answer questions of a step are no nodes.

use convoke_model::TaskId;
use convoke_plan::view::{EdgeKind, edges, levels};
use convoke_plan::{Kind, NodeIx, Plan, Text, Workflow};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Sub-workflows may stand in each other, and a plan may call itself: so many levels are drawn.
const DEPTH: usize = 8;

/// The most nodes; a plan that has more is drawn in part, and says so.
const MOST: usize = 5_000;

/// The end of a branch.
pub const END: &str = "$end";

/// The whole plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// Every node, those around others before what is in them.
    pub nodes: Vec<GraphNode>,
    /// The ways between nodes of one workflow.
    pub edges: Vec<GraphEdge>,
    /// Where the run begins.
    pub entry: Vec<String>,
    /// Whether some nodes were left out.
    pub cut: bool,
    known: HashSet<String>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphNode {
    /// Its id.
    pub id: String,
    /// The word for its kind.
    pub kind: &'static str,
    /// Its name as its author wrote it.
    pub title: String,
    /// What it is for.
    pub description: Option<String>,
    /// The group or sub-workflow that it stands in.
    pub parent: Option<String>,
    /// The model that it asks, where the file names one.
    pub model: Option<String>,
    /// The nodes that it waits for.
    pub needs: Vec<String>,
}

/// What a way is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A route, or what a person chooses.
    Route,
    /// A dependency.
    Need,
    /// After a failure.
    Error,
    /// It leads back to a node before it.
    Back,
}

impl Way {
    /// The word for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Way::Route => "route",
            Way::Need => "need",
            Way::Error => "error",
            Way::Back => "back",
        }
    }
}

/// One way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphEdge {
    /// Where it begins.
    pub from: String,
    /// Where it leads.
    pub to: String,
    /// A few words beside it.
    pub label: Option<String>,
    /// What it is.
    pub way: Way,
}

/// The node that a task would have, by its id alone.
pub fn node_of(task: &TaskId) -> String {
    let mut node = String::with_capacity(task.0.len());
    for part in task.0.split('/') {
        if !node.is_empty() {
            node.push('/');
        }
        let (name, keyed) = match part.find('[') {
            Some(at) => (&part[..at], part[at..].matches('[').count()),
            None => (part.split('#').next().unwrap_or(part), 0),
        };
        node.push_str(name);
        (0..keyed).for_each(|_| node.push_str("[]"));
    }
    node
}

impl Graph {
    /// Of a plan.
    pub fn of(plan: &Plan) -> Graph {
        let mut drawing = Drawing { plan, graph: Graph::default() };
        drawing.workflow(plan.root(), None, 0);
        let mut graph = drawing.graph;
        if graph.edges.iter().any(|edge| edge.to == END) {
            let end = GraphNode { title: "end".to_owned(), ..GraphNode::new(END.to_owned(), "end", None) };
            graph.nodes.push(end);
        }
        graph.known = graph.nodes.iter().map(|node| node.id.clone()).collect();
        graph
    }

    /// The node that a task belongs to, or the nearest one around it.
    pub fn nearest(&self, task: &TaskId) -> String {
        let node = node_of(task);
        let mut at = node.as_str();
        while !self.known.contains(at) {
            match at.rsplit_once('/').map(|(above, _)| above).or(at.strip_suffix("[]")) {
                Some(above) => at = above,
                None => return node,
            }
        }
        at.to_owned()
    }
}

impl GraphNode {
    fn new(id: String, kind: &'static str, parent: Option<&str>) -> GraphNode {
        let parent = parent.map(str::to_owned);
        GraphNode { title: id.clone(), id, kind, description: None, parent, model: None, needs: Vec::new() }
    }
}

struct Drawing<'a> {
    plan: &'a Plan,
    graph: Graph,
}

impl Drawing<'_> {
    fn workflow(&mut self, workflow: &Workflow, within: Option<&str>, depth: usize) {
        let reached = levels(self.plan, workflow, &BTreeMap::new());
        let reached: HashSet<&str> = reached.nodes.iter().map(|node| node.name.as_str()).collect();
        let owned = owned(workflow);
        let mut ids = HashMap::new();
        for (ix, node) in workflow.indexed() {
            if !owned.contains(&ix) && reached.contains(&*node.name) {
                let id = below(within, &node.name);
                self.node(workflow, ix, id, within, depth, &mut ids);
            }
        }
        if within.is_none() {
            self.graph.entry = workflow.entry.iter().filter_map(|ix| ids.get(ix).cloned()).collect();
        }
        for (ix, id) in &ids {
            let needs = workflow.node(*ix).needs.iter().filter_map(|need| ids.get(&need.node).cloned());
            let needs: Vec<String> = needs.collect();
            if let Some(node) = self.graph.nodes.iter_mut().find(|node| node.id == *id) {
                node.needs = needs;
            }
        }
        self.edges(workflow, &ids);
    }

    fn node(
        &mut self,
        workflow: &Workflow,
        ix: NodeIx,
        id: String,
        parent: Option<&str>,
        depth: usize,
        ids: &mut HashMap<NodeIx, String>,
    ) {
        if self.graph.nodes.len() >= MOST {
            self.graph.cut = true;
            return;
        }
        let node = workflow.node(ix);
        self.graph.nodes.push(GraphNode {
            title: node.name.to_string(),
            description: node.description.clone(),
            model: model(&node.kind),
            ..GraphNode::new(id.clone(), kind(&node.kind), parent)
        });
        ids.insert(ix, id.clone());
        match &node.kind {
            Kind::Parallel(group) => {
                for member in &group.members {
                    let inside = below(Some(&id), &workflow.node(*member).name);
                    self.node(workflow, *member, inside, Some(&id), depth, ids);
                }
            }
            Kind::ForEach(group) => {
                // The items of a fan-out that is itself an item stand below it.
                let item = match id.ends_with(']') {
                    true => format!("{}[]", below(Some(&id), &node.name)),
                    false => format!("{id}[]"),
                };
                self.node(workflow, group.body, item, Some(&id), depth, ids);
            }
            Kind::SubPlan(step) if depth < DEPTH => {
                let inner = &self.plan.workflows[step.workflow.0 as usize];
                self.workflow(inner, Some(&id), depth + 1);
            }
            _ => {}
        }
    }

    fn edges(&mut self, workflow: &Workflow, ids: &HashMap<NodeIx, String>) {
        let all = edges(self.plan, workflow);
        let back = back_edges(workflow, &all);
        for (place, edge) in all.iter().enumerate() {
            let Some(from) = ids.get(&edge.from) else { continue };
            let to = match edge.to {
                Some(to) => ids.get(&to).cloned(),
                None => Some(END.to_owned()),
            };
            let Some(to) = to else { continue };
            let way = match edge.kind {
                _ if back.contains(&place) => Way::Back,
                EdgeKind::Need(_) | EdgeKind::Trigger(_) => Way::Need,
                EdgeKind::Error => Way::Error,
                EdgeKind::Route(_) | EdgeKind::Option(_) | EdgeKind::Abort => Way::Route,
            };
            self.graph.edges.push(GraphEdge { from: from.clone(), to, label: edge.kind.label(), way });
        }
    }
}

/// Members and bodies: they stand inside their group.
fn owned(workflow: &Workflow) -> HashSet<NodeIx> {
    let inside = workflow.nodes.iter().flat_map(|node| match &node.kind {
        Kind::Parallel(group) => group.members.clone(),
        Kind::ForEach(group) => vec![group.body],
        _ => Vec::new(),
    });
    inside.collect()
}

fn below(parent: Option<&str>, name: &str) -> String {
    let parent = parent.map(|parent| TaskId(parent.into()));
    TaskId::new(parent.as_ref(), name, None, 1).to_string()
}

fn kind(kind: &Kind) -> &'static str {
    match kind {
        Kind::Parallel(_) => "group",
        Kind::Gate(_) => "gate",
        Kind::Terminate(_) => "end",
        other => other.word(),
    }
}

fn model(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Agent(agent) => match agent.model.as_ref()? {
            Text::Literal(model) => Some(model.to_string()),
            Text::Template(_) => None,
        },
        _ => None,
    }
}

/// The places of edges that lead to a node from which their own beginning was reached.
fn back_edges(workflow: &Workflow, all: &[convoke_plan::view::Edge]) -> HashSet<usize> {
    let mut ways: HashMap<NodeIx, Vec<(usize, NodeIx)>> = HashMap::new();
    for (place, edge) in all.iter().enumerate() {
        if let Some(to) = edge.to {
            ways.entry(edge.from).or_default().push((place, to));
        }
    }
    let (mut back, mut done, mut open) = (HashSet::new(), HashSet::new(), HashSet::new());
    let others = workflow.indexed().map(|(ix, _)| ix);
    for start in workflow.entry.iter().copied().chain(others) {
        // Each step of the walk: a node and how many of its ways were taken.
        let mut walk = vec![(start, 0usize)];
        while let Some((ix, taken)) = walk.last_mut() {
            if *taken == 0 && (done.contains(ix) || !open.insert(*ix)) {
                walk.pop();
                continue;
            }
            let next = ways.get(ix).and_then(|ways| ways.get(*taken)).copied();
            *taken += 1;
            match next {
                Some((place, to)) if open.contains(&to) => drop(back.insert(place)),
                Some((_, to)) if !done.contains(&to) => walk.push((to, 0)),
                Some(_) => {}
                None => {
                    let (ix, _) = walk.pop().unwrap_or((start, 0));
                    open.remove(&ix);
                    done.insert(ix);
                }
            }
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_testkit::plan_of;

    const FILE: &str = "
workflow: {name: w, entry_point: plan}
agents:
  - {name: plan, prompt: p, output: {parts: {type: array}}, routes: [{to: each}]}
  - {name: check, prompt: c, routes: [{to: plan, when: '{{ check.output.result }}'}, {to: $end}]}
for_each:
  - name: each
    type: for_each
    source: plan.output.parts
    as: part
    max_concurrent: 2
    agent: {name: one, model: m, prompt: '{{ part }}'}
    routes: [{to: check}]
";

    #[test]
    fn a_node_is_named_by_its_tasks() {
        let node = |task: &str| node_of(&TaskId(task.into()));
        assert_eq!(node("review[api.rs]"), "review[]");
        assert_eq!(node("review[a%2Fb]/check#2"), "review[]/check");
        assert_eq!(node("goal/2/execute[1]"), "goal/2/execute[]");
        assert_eq!(node("a#3/g[0]#2/x"), "a/g[]/x");
    }

    #[test]
    fn bodies_stand_in_their_fan_out_and_ways_back_are_told_apart() {
        let graph = Graph::of(&plan_of(FILE, &[]));
        let nodes: Vec<_> =
            graph.nodes.iter().map(|node| (node.id.as_str(), node.kind, node.parent.as_deref())).collect();
        let has = |id, kind, parent| assert!(nodes.contains(&(id, kind, parent)), "{id} in {nodes:?}");
        has("plan", "agent", None);
        has("each", "for_each", None);
        has("each[]", "agent", Some("each"));
        has(END, "end", None);
        let way = |from: &str, to: &str| {
            graph.edges.iter().find(|edge| edge.from == from && edge.to == to).map(|edge| edge.way)
        };
        assert_eq!((way("plan", "each"), way("check", "plan")), (Some(Way::Route), Some(Way::Back)));
        assert_eq!((way("check", END), graph.entry.as_slice()), (Some(Way::Route), &["plan".to_owned()][..]));
        let nearest = |task: &str| graph.nearest(&TaskId(task.into()));
        assert_eq!(nearest("each[3]#2/merge[1]"), "each[]");
        assert_eq!((nearest("plan#2"), nearest("nowhere/x")), ("plan".to_owned(), "nowhere/x".to_owned()));
    }
}
