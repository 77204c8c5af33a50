//! The plan of a run as a graph.

use convoke_view::{Graph, GraphEdge, GraphNode};
use serde::Serialize;
use utoipa::ToSchema;

/// A graph.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct GraphBody {
    pub nodes: Vec<NodeBody>,
    pub edges: Vec<EdgeBody>,
    pub entry: Vec<String>,
    /// Whether some nodes were left out.
    pub cut: bool,
    /// Why the journal cannot be read on.
    pub problem: Option<String>,
}

/// A node: what all tasks of one step have in common.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct NodeBody {
    pub id: String,
    pub kind: String,
    pub title: String,
    pub description: Option<String>,
    pub parent: Option<String>,
    pub model: Option<String>,
    pub needs: Vec<String>,
    /// The items of a fan-out, once they are known.
    pub count: Option<u64>,
}

/// A way from one node to another.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct EdgeBody {
    pub from: String,
    pub to: String,
    pub label: Option<String>,
    /// `route`, `need`, `error` or `back`.
    pub kind: String,
}

impl GraphBody {
    pub fn of(graph: &Graph, count: &dyn Fn(&str) -> Option<u64>, problem: Option<&str>) -> GraphBody {
        let node = |node: &GraphNode| NodeBody {
            id: node.id.clone(),
            kind: node.kind.to_owned(),
            title: node.title.clone(),
            description: node.description.clone(),
            parent: node.parent.clone(),
            model: node.model.clone(),
            needs: node.needs.clone(),
            count: count(&node.id),
        };
        let edge = |edge: &GraphEdge| EdgeBody {
            from: edge.from.clone(),
            to: edge.to.clone(),
            label: edge.label.clone(),
            kind: edge.way.word().to_owned(),
        };
        GraphBody {
            nodes: graph.nodes.iter().map(node).collect(),
            edges: graph.edges.iter().map(edge).collect(),
            entry: graph.entry.clone(),
            cut: graph.cut,
            problem: problem.map(str::to_owned),
        }
    }
}
