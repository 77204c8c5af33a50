//! From a manifest to the workflow that runs it.

use std::sync::Arc;

use super::super::text::Spanned;
use super::super::workflow::{
    Edge as StepEdge, Need, PhaseStep, PipelineSettings, Requires, Step, StepKind, Workflow,
};
use super::graph::Graph;
use super::{Edge, Manifest, judge, roles, rounds};
use crate::diagnostic::{Diagnostic, SourceFile};
use crate::plan::On;

/// The workflow of a manifest; what contradicts itself between its parts is added to the findings.
pub(in crate::source) fn workflow(
    manifest: &Manifest,
    file: &Arc<SourceFile>,
    path: &str,
    files: &[Arc<SourceFile>],
    findings: &mut Vec<Diagnostic>,
) -> Workflow {
    let graph = Graph::new(manifest);
    judge::judge(manifest, &graph, findings);
    let mut workflow = manifest.head.workflow(file, path, files);
    workflow.pipeline = Some(settings(manifest));
    // Where phases go in a circle, what could be said about their texts would be wrong.
    if graph.circles().is_empty() && rounds::misplaced(manifest, &graph).is_empty() {
        let unrolled = rounds::unrolled(manifest, &graph);
        let graph = Graph::new(&unrolled);
        let reached = (0..unrolled.nodes.len()).filter(|node| graph.reaches(*node));
        workflow.agents = reached.filter_map(|node| step(&unrolled, &graph, node)).collect();
    }
    workflow
}

/// The step of a node; `None` where its persona is not known (which is reported).
fn step(manifest: &Manifest, graph: &Graph<'_>, ix: usize) -> Option<Step> {
    let node = &manifest.nodes[ix];
    let persona = manifest.persona(&node.persona.value)?;
    let (roles_below, direct) = roles::roles(manifest, node);
    let edges: Vec<&Edge> = graph.edges_to(ix).collect();
    let phase = PhaseStep {
        persona: node.persona.clone(),
        actor: node.actor.clone(),
        worker: roles::own_worker(manifest, node, persona),
        clearance: persona.clearance.clone(),
        max_retries: least(node.max_retries.as_ref(), manifest.max_retries.as_ref()),
        max_depth: manifest.max_depth.as_ref().map(|depth| depth.value),
        block: node.block.as_ref().map(|block| (block.kind.value, block.id.clone())),
        roles: roles_below,
        direct,
        edges: edges.iter().map(|edge| triggered(edge)).collect(),
        round: node.round.clone(),
        resolver: roles::resolver(manifest, node),
    };
    let mut common = node.common.clone();
    // Bounds and retries are those of each try.
    (common.timeout, common.retry) = (None, None);
    (common.workspace, common.ports, common.merge) = (None, None, None);
    (common.ensure, common.protect) = (None, Vec::new());
    common.description = common.description.or_else(|| persona.display_name.clone());
    common.needs = needs(manifest, graph, ix, &edges);
    Some(Step { name: node.id.clone(), kind: StepKind::Phase(Box::new(phase)), common })
}

/// A phase is looked at when all its predecessors have ended, in whatever way.
fn needs(manifest: &Manifest, graph: &Graph<'_>, ix: usize, edges: &[&Edge]) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for edge in edges {
        if !needs.iter().any(|need| need.step == edge.from) {
            needs.push(need(edge.from.clone(), false));
        }
    }
    let runs = |name: &&Spanned<String>| graph.find(&name.value).is_some_and(|from| graph.reaches(from));
    for from in manifest.nodes[ix].after.iter().filter(runs) {
        if !needs.iter().any(|need| need.step.value == from.value) {
            needs.push(need(from.clone(), false));
        }
    }
    if let Some(before) = graph.before_in_block(manifest, ix) {
        let before = &manifest.nodes[before].id;
        if !needs.iter().any(|need| need.step == *before) {
            needs.push(need(Spanned::new(before.value.clone(), manifest.nodes[ix].id.span.clone()), true));
        }
    }
    needs
}

fn need(step: Spanned<String>, order: bool) -> Need {
    let span = step.span.clone();
    Need { step, item: None, requires: Requires::Any, order, span }
}

/// An edge that says nothing is taken after success.
fn triggered(edge: &Edge) -> StepEdge {
    let stated = edge.on.as_ref().map(|on| on.value);
    StepEdge {
        from: edge.from.clone(),
        on: if edge.event.is_none() { Some(stated.unwrap_or(On::Success)) } else { stated },
        event: edge.event.clone(),
        when: edge.when.clone(),
        last: edge.last,
    }
}

fn least(one: Option<&Spanned<u64>>, other: Option<&Spanned<u64>>) -> Option<Spanned<u64>> {
    one.into_iter().chain(other).min_by_key(|bound| bound.value).cloned()
}

fn settings(manifest: &Manifest) -> PipelineSettings {
    PipelineSettings {
        hard_failures: manifest.hard_failures.as_ref().map(|count| count.value),
        events: manifest
            .events
            .iter()
            .map(|event| (event.kind.value.clone(), event.schema.clone()))
            .collect(),
        blocked_any_status: manifest.blocked_any_status(),
        violation: manifest.violation.as_ref().map(|mode| mode.value),
        project: manifest.project.clone(),
    }
}
