//! The pipeline: its nodes and their bounds.

use super::super::super::keys::personas::NODE;
use super::super::super::personas::{Block, Edge, Node};
use super::super::super::section::Keys;
use super::super::super::text::Spanned;
use super::super::super::tree::Node as Tree;
use super::super::super::workflow::Common;
use super::super::Reader;
use super::super::fields::Fields;
use super::super::header;
use super::{edge, name, not_empty};
use crate::plan::Topology;

/// The entry, the nodes and the edges.
type Graph = (Option<Spanned<String>>, Vec<Node>, Vec<Edge>);

/// Reads `pipeline`.
pub(super) fn pipeline(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Graph {
    let Some(mut fields) = fields.object(cx, "pipeline") else { return (None, Vec::new(), Vec::new()) };
    fields.owner = "the pipeline".to_owned();
    let entry = name(cx, &mut fields, "entryNodeId");
    let nodes = header::items(cx, &mut fields, "nodes", "node", node);
    let edges = header::items(cx, &mut fields, "edges", "edge", edge::edge);
    not_empty(cx, &mut fields, "nodes");
    fields.finish(cx);
    (Some(entry).filter(|entry| !entry.value.is_empty()), nodes, edges)
}

fn node(cx: &mut Reader<'_>, node: &Tree, owner: String) -> Option<Node> {
    let mut fields = Fields::open_extended(cx, node, &NODE, owner)?;
    let id = name(cx, &mut fields, "id");
    if !id.value.is_empty() {
        fields.owner = format!("node `{}`", id.value);
    }
    let read = Node {
        id,
        actor: name(cx, &mut fields, "actorId"),
        persona: name(cx, &mut fields, "personaId"),
        task: fields.template(cx, "task").filter(|task| !task.value.trim().is_empty()),
        max_retries: retries(cx, &mut fields),
        block: block(cx, &mut fields),
        common: Common::take(cx, &mut fields)?,
        round: None,
        after: Vec::new(),
    };
    fields.finish(cx);
    Some(read)
}

fn retries(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<u64>> {
    let mut fields = fields.object(cx, "constraints")?;
    let count = fields.integer(cx, "maxRetries");
    fields.finish(cx);
    count
}

fn block(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Block> {
    let mut fields = fields.object(cx, "topology")?;
    let kind: Option<Spanned<Topology>> = fields.choice(cx, "kind");
    let id = fields.text(cx, "blockId").map(|id| id.value).filter(|id| !id.trim().is_empty());
    fields.finish(cx);
    let kind = kind?;
    let id = id.unwrap_or_else(|| kind.value.word().to_owned());
    Some(Block { kind, id })
}

/// Reads `topologyConstraints`: the most levels, the most further tries.
pub(super) fn constraints(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
) -> (Option<Spanned<u64>>, Option<Spanned<u64>>) {
    let Some(mut fields) = fields.object(cx, "topologyConstraints") else { return (None, None) };
    let bounds = (fields.integer(cx, "maxDepth"), fields.integer(cx, "maxRetries"));
    fields.finish(cx);
    bounds
}
