//! Edges that lead back: the phases between their ends run again, in rounds, as often as the edges allow.
//!
//! Rounds are written out as nodes of their own (`qa#2`), as the original unrolls its retries: what is run has no circle,
//! and tries, hand-offs, verdicts and resuming are those of any pipeline. `judge` has refused circles without a bound.
//!
//! A loop is everything that lies on a circle with one another; edges that share a phase share its rounds. Inside a round
//! edges lead on as written; an edge that leads back begins the next round at its end, from every round but its last. An edge
//! from outside begins the first round alone, and what it leads from is told to every round. An edge that leads out is judged by
//! the last round that ran, once no further one can begin.

use super::super::text::Spanned;
use super::super::workflow::Round;
use super::graph::{Graph, reached_from};
use super::{Edge, Manifest, Node};

/// Which nodes run in rounds.
struct Loops {
    /// For each node, the first node of its loop.
    of: Vec<Option<usize>>,
    /// For each edge, whether it leads back.
    back: Vec<bool>,
    /// For each node, how many rounds its loop has; 1 where it stands in none.
    rounds: Vec<u32>,
}

/// The manifest with its rounds written out; the same where nothing leads back.
pub(super) fn unrolled(manifest: &Manifest, graph: &Graph<'_>) -> Manifest {
    let loops = Loops::find(manifest, graph);
    let mut unrolled = manifest.clone();
    unrolled.edges.clear();
    for number in 2..=loops.rounds.iter().copied().max().unwrap_or(1) {
        let again = manifest.nodes.iter().enumerate().filter(|(ix, _)| loops.rounds[*ix] >= number);
        unrolled.nodes.extend(again.map(|(_, node)| further(node, number)));
    }
    for (ix, edge) in manifest.edges.iter().enumerate() {
        match ends(graph, edge) {
            Some(ends) => loops.lead(edge, loops.back[ix], ends, &mut unrolled),
            None => unrolled.edges.push(edge.clone()),
        }
    }
    unrolled.edges.iter_mut().for_each(|edge| edge.max_rounds = None);
    unrolled
}

fn ends(graph: &Graph<'_>, edge: &Edge) -> Option<(usize, usize)> {
    Some((graph.find(&edge.from.value)?, graph.find(&edge.to.value)?))
}

/// A further round: it comes after the round before it, and is told what that came to.
fn further(node: &Node, number: u32) -> Node {
    Node {
        id: in_round(&node.id, number),
        round: Some(Round { of: node.id.value.clone(), number }),
        after: vec![in_round(&node.id, number - 1)],
        ..node.clone()
    }
}

fn in_round(name: &Spanned<String>, number: u32) -> Spanned<String> {
    match number {
        1 => name.clone(),
        number => Spanned::new(format!("{}#{number}", name.value), name.span.clone()),
    }
}

impl Loops {
    fn find(manifest: &Manifest, graph: &Graph<'_>) -> Loops {
        let behind: Vec<Vec<bool>> = (0..manifest.nodes.len()).map(|node| graph.behind(node)).collect();
        let first = |node: usize| (0..=node).find(|other| behind[node][*other] && behind[*other][node]);
        let of: Vec<Option<usize>> = (0..manifest.nodes.len()).map(first).collect();
        let back = leads_back(manifest, graph);
        let bound = |node: usize| {
            let bounds = manifest.edges.iter().zip(&back).filter_map(|(edge, back)| {
                let (from, _) = ends(graph, edge).filter(|_| *back)?;
                (of[node].is_some() && of[from] == of[node]).then(|| limit(edge))
            });
            bounds.max().unwrap_or(1)
        };
        let rounds = (0..manifest.nodes.len()).map(bound).collect();
        Loops { of, back, rounds }
    }

    /// Writes an edge out for every round.
    fn lead(&self, edge: &Edge, back: bool, (from, to): (usize, usize), into: &mut Manifest) {
        let rounds = self.rounds[from];
        let between = |first: u32, second: u32, last: bool| Edge {
            from: in_round(&edge.from, first),
            to: in_round(&edge.to, second),
            last,
            ..edge.clone()
        };
        if back {
            let most = limit(edge).min(rounds);
            into.edges.extend((1..most).map(|round| between(round, round + 1, false)));
        } else if self.of[from].is_some() && self.of[from] == self.of[to] {
            into.edges.extend((1..=rounds).map(|round| between(round, round, false)));
        } else {
            into.edges.push(between(1, 1, rounds > 1));
            // A phase behind a loop waits for all of it; every round is told what the first one was.
            let outside = (2..=rounds).map(|round| (1, in_round(&edge.from, round)));
            let inside = (2..=self.rounds[to]).map(|round| (round, edge.from.clone()));
            for (round, waited) in outside.chain(inside).collect::<Vec<_>>() {
                let name = in_round(&edge.to, round).value;
                let node = into.nodes.iter_mut().find(|node| node.id.value == name);
                node.into_iter().for_each(|node| node.after.push(waited.clone()));
            }
        }
    }
}

/// Edges whose bound stands on the way in: what they lead to is reached in no first round.
pub(super) fn misplaced<'m>(manifest: &'m Manifest, graph: &Graph<'_>) -> Vec<&'m Edge> {
    let back = leads_back(manifest, graph);
    let mut onwards: Vec<Vec<usize>> = vec![Vec::new(); manifest.nodes.len()];
    for (edge, _) in manifest.edges.iter().zip(&back).filter(|(_, back)| !**back) {
        ends(graph, edge).into_iter().for_each(|(from, to)| onwards[from].push(to));
    }
    let entry = manifest.entry.as_ref().and_then(|entry| graph.find(&entry.value));
    let first = reached_from(&onwards, entry.into_iter());
    let skips = |to: usize| graph.reaches(to) && !first[to];
    let edges = manifest.edges.iter().zip(&back).filter(|(_, back)| **back);
    edges.map(|(edge, _)| edge).filter(|edge| ends(graph, edge).is_some_and(|(_, to)| skips(to))).collect()
}

/// Edges with a bound that close a circle. Of several that could, those count that stand later in the file.
fn leads_back(manifest: &Manifest, graph: &Graph<'_>) -> Vec<bool> {
    let mut onwards: Vec<Vec<usize>> = vec![Vec::new(); manifest.nodes.len()];
    let known = |edge: &Edge| ends(graph, edge);
    for (from, to) in manifest.edges.iter().filter(|edge| edge.max_rounds.is_none()).filter_map(known) {
        onwards[from].push(to);
    }
    let mut back = vec![false; manifest.edges.len()];
    for (ix, edge) in manifest.edges.iter().enumerate().filter(|(_, edge)| edge.max_rounds.is_some()) {
        let Some((from, to)) = known(edge) else { continue };
        back[ix] = reached_from(&onwards, std::iter::once(to))[from];
        if !back[ix] {
            onwards[from].push(to);
        }
    }
    back
}

fn limit(edge: &Edge) -> u32 {
    edge.max_rounds.as_ref().map_or(1, |bound| bound.value as u32)
}
