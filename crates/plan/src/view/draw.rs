//! Drawings of a plan as text for other programs: Mermaid and Graphviz.

use super::edges::{Edge, EdgeKind, edges, members};
use crate::plan::{ForEach, Kind, Node, NodeIx, Plan, Workflow};
use convoke_model::excerpt::{clipped, one_line};
use std::collections::HashSet;
use std::fmt::Write;

/// Labels of edges are cut after this many characters.
const LABEL: usize = 48;

/// The root workflow as a Mermaid flowchart.
pub fn mermaid(plan: &Plan) -> String {
    let drawing = Drawing::new(plan);
    let mut text = String::from("flowchart TD\n");
    for (ix, _) in drawing.outermost() {
        drawing.mermaid_node(ix, 1, &mut text);
    }
    for edge in &drawing.edges {
        drawing.mermaid_edge(edge, &mut text);
    }
    if drawing.edges.iter().any(|edge| edge.to.is_none()) {
        text.push_str("  finish([end])\n");
    }
    text
}

/// The root workflow as a Graphviz digraph.
pub fn dot(plan: &Plan) -> String {
    let drawing = Drawing::new(plan);
    let mut text =
        format!("digraph {} {{\n  rankdir=TB;\n  node [shape=box];\n", quoted(&drawing.workflow.name));
    for (ix, node) in drawing.shown() {
        let shape = dot_shape(&node.kind);
        let _ = writeln!(text, "  n{} [label={}, shape={shape}];", ix.0, quoted(&drawing.title(ix)));
        for member in members(&node.kind) {
            let _ = writeln!(text, "  n{} -> n{} [style=dotted, arrowhead=none];", ix.0, member.0);
        }
    }
    for edge in &drawing.edges {
        drawing.dot_edge(edge, &mut text);
    }
    if drawing.edges.iter().any(|edge| edge.to.is_none()) {
        text.push_str("  finish [label=\"end\", shape=doublecircle];\n");
    }
    text.push_str("}\n");
    text
}

struct Drawing<'a> {
    workflow: &'a Workflow,
    edges: Vec<Edge>,
    /// The group that each node is drawn in.
    inside: Vec<Option<NodeIx>>,
}

impl<'a> Drawing<'a> {
    fn new(plan: &'a Plan) -> Self {
        let workflow = plan.root();
        let mut inside = vec![None; workflow.nodes.len()];
        for (ix, node) in workflow.indexed() {
            for member in members(&node.kind) {
                inside[member.0 as usize].get_or_insert(ix);
            }
        }
        let mut edges = edges(plan, workflow);
        let is_needed: HashSet<NodeIx> = edges
            .iter()
            .filter(|edge| matches!(edge.kind, EdgeKind::Need(_)))
            .map(|edge| edge.from)
            .collect();
        // That a failure ends its own branch says nothing where others wait for how the step ends.
        edges.retain(|edge| {
            edge.kind != EdgeKind::Error || edge.to.is_some() || !is_needed.contains(&edge.from)
        });
        Self { workflow, edges, inside }
    }

    /// Nodes of the file; those of hooks and summaries are not drawn.
    fn shown(&self) -> impl Iterator<Item = (NodeIx, &'a Node)> {
        self.workflow.indexed().filter(|(_, node)| !node.name.starts_with('$'))
    }

    fn outermost(&self) -> impl Iterator<Item = (NodeIx, &'a Node)> {
        self.shown().filter(|(ix, _)| self.inside[ix.0 as usize].is_none())
    }

    /// The name, and the kind where it is not the usual one.
    fn title(&self, ix: NodeIx) -> String {
        let name = self.workflow.known_as(ix, self.inside[ix.0 as usize]);
        match &self.workflow.node(ix).kind {
            Kind::Agent(_) => name.to_string(),
            Kind::ForEach(ForEach { items: Some(items), .. }) => {
                format!("{name} (for each of {} items)", items.len())
            }
            Kind::Reduce(reduce) => format!("{name} (reduce, {})", reduce.strategy.word()),
            Kind::Phase(phase) => format!("{name} ({})", phase.persona),
            Kind::ForEach(group) => format!("{name} (for each {})", group.source.join(".")),
            kind => format!("{name} ({})", kind.word()),
        }
    }

    fn mermaid_node(&self, ix: NodeIx, depth: usize, text: &mut String) {
        let (node, indent) = (self.workflow.node(ix), "  ".repeat(depth));
        let label = escaped(&self.title(ix));
        let inner = members(&node.kind);
        if inner.is_empty() {
            let (open, close) = mermaid_shape(&node.kind);
            let _ = writeln!(text, "{indent}n{}{open}\"{label}\"{close}", ix.0);
            return;
        }
        let _ = writeln!(text, "{indent}subgraph n{} [\"{label}\"]", ix.0);
        for member in inner.iter().filter(|member| self.inside[member.0 as usize] == Some(ix)) {
            self.mermaid_node(*member, depth + 1, text);
        }
        let _ = writeln!(text, "{indent}end");
    }

    fn mermaid_edge(&self, edge: &Edge, text: &mut String) {
        let arrow = match edge.kind {
            EdgeKind::Need(_) => "==>",
            EdgeKind::Error | EdgeKind::Abort => "-.->",
            EdgeKind::Route(_) | EdgeKind::Option(_) | EdgeKind::Trigger(_) => "-->",
        };
        let label =
            edge.kind.label().map(|label| format!("|\"{}\"|", escaped(&short(&label)))).unwrap_or_default();
        let _ = writeln!(text, "  n{} {arrow}{label} {}", edge.from.0, end_of(edge));
    }

    fn dot_edge(&self, edge: &Edge, text: &mut String) {
        let style = match edge.kind {
            EdgeKind::Need(_) => "bold",
            EdgeKind::Error | EdgeKind::Abort => "dashed",
            EdgeKind::Route(_) | EdgeKind::Option(_) | EdgeKind::Trigger(_) => "solid",
        };
        let label =
            edge.kind.label().map(|label| format!(", label={}", quoted(&short(&label)))).unwrap_or_default();
        let _ = writeln!(text, "  n{} -> {} [style={style}{label}];", edge.from.0, end_of(edge));
    }
}

fn end_of(edge: &Edge) -> String {
    edge.to.map_or_else(|| "finish".to_owned(), |to| format!("n{}", to.0))
}

fn mermaid_shape(kind: &Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Gate(_) | Kind::Questions(_) => ("{{", "}}"),
        Kind::SubPlan(_) => ("[[", "]]"),
        Kind::Terminate(_) => ("([", "])"),
        _ => ("[", "]"),
    }
}

fn dot_shape(kind: &Kind) -> &'static str {
    match kind {
        Kind::Gate(_) | Kind::Questions(_) => "hexagon",
        Kind::SubPlan(_) => "box3d",
        Kind::Terminate(_) => "ellipse",
        Kind::Parallel(_) | Kind::ForEach(_) => "folder",
        _ => "box",
    }
}

fn short(label: &str) -> String {
    clipped(&one_line(label), LABEL)
}

/// Mermaid takes entities inside quotes, and nothing else that could end them.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\n', " ")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
}
