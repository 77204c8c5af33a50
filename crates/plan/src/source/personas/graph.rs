//! Which phase follows which: circles, what the entry reaches, and the order inside sequential blocks.

use std::collections::HashMap;

use super::{Edge, Manifest};
use crate::graph::circles;
use crate::plan::Topology;

/// The edges of a pipeline whose ends are known.
pub(super) struct Graph<'m> {
    /// Where each name stands first in the list of nodes.
    index: HashMap<&'m str, usize>,
    /// The edges that lead to each node, as written.
    into: Vec<Vec<&'m Edge>>,
    after: Vec<Vec<usize>>,
    /// The same without edges that have a bound on rounds.
    unbounded: Vec<Vec<usize>>,
    reached: Vec<bool>,
    rank: Vec<usize>,
}

impl<'m> Graph<'m> {
    /// Looks at a manifest.
    pub fn new(manifest: &'m Manifest) -> Self {
        let mut index = HashMap::new();
        for (ix, node) in manifest.nodes.iter().enumerate() {
            index.entry(node.id.value.as_str()).or_insert(ix);
        }
        let find = |name: &str| index.get(name).copied();
        let none = || vec![Vec::new(); manifest.nodes.len()];
        let (mut after, mut unbounded, mut into) = (none(), none(), vec![Vec::new(); manifest.nodes.len()]);
        for edge in &manifest.edges {
            if let (Some(from), Some(to)) = (find(&edge.from.value), find(&edge.to.value)) {
                after[from].push(to);
                into[to].push(edge);
                if edge.max_rounds.is_none() {
                    unbounded[from].push(to);
                }
            }
        }
        let entry = manifest.entry.as_ref().and_then(|entry| find(&entry.value));
        let reached = reached(&after, entry);
        let mut waited: Vec<Vec<usize>> = after.clone();
        for (to, node) in manifest.nodes.iter().enumerate() {
            node.after.iter().filter_map(|from| find(&from.value)).for_each(|from| waited[from].push(to));
        }
        let rank = ranks(&waited);
        Self { index, into, after, unbounded, reached, rank }
    }

    /// The node of this name; of several the first.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// The edges that lead to a node from nodes that can run.
    pub fn edges_to(&self, node: usize) -> impl Iterator<Item = &'m Edge> {
        let runs = |edge: &&Edge| self.find(&edge.from.value).is_some_and(|from| self.reached[from]);
        self.into[node].iter().copied().filter(runs)
    }

    /// Whether the entry leads to a node.
    pub fn reaches(&self, node: usize) -> bool {
        self.reached[node]
    }

    /// Circles of edges none of which has a bound, each as the nodes along it.
    pub fn circles(&self) -> Vec<Vec<usize>> {
        circles(self.after.len(), &|node| self.unbounded[node].clone())
    }

    /// The nodes that edges lead to from a node, itself only where it leads back to itself.
    pub fn behind(&self, node: usize) -> Vec<bool> {
        reached_from(&self.after, self.after[node].iter().copied())
    }

    /// The node before which a member of a sequential block waits. Members follow one another in the order of the
    /// file, unless edges say otherwise: the order is one that the edges allow, so it never makes a circle.
    pub fn before_in_block(&self, manifest: &Manifest, node: usize) -> Option<usize> {
        let block = sequential(manifest, node)?;
        let others = (0..manifest.nodes.len()).filter(|other| *other != node && self.reached[*other]);
        others
            .filter(|other| sequential(manifest, *other) == Some(block))
            .filter(|other| self.rank[*other] < self.rank[node])
            .max_by_key(|other| self.rank[*other])
    }
}

fn sequential(manifest: &Manifest, node: usize) -> Option<&str> {
    let block = manifest.nodes[node].block.as_ref()?;
    (block.kind.value == Topology::Sequential).then_some(block.id.as_str())
}

fn reached(after: &[Vec<usize>], entry: Option<usize>) -> Vec<bool> {
    reached_from(after, entry.into_iter())
}

/// These nodes and all that edges lead to from them.
pub(super) fn reached_from(after: &[Vec<usize>], first: impl Iterator<Item = usize>) -> Vec<bool> {
    let mut reached = vec![false; after.len()];
    let mut open: Vec<usize> = first.collect();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut reached[node], true) {
            open.extend(&after[node]);
        }
    }
    reached
}

/// The place of each node in an order that the edges allow; among those that could be next, the first of the file.
fn ranks(after: &[Vec<usize>]) -> Vec<usize> {
    let mut waits = vec![0usize; after.len()];
    after.iter().flatten().for_each(|to| waits[*to] += 1);
    let mut open: std::collections::BTreeSet<usize> =
        (0..after.len()).filter(|node| waits[*node] == 0).collect();
    let mut rank = vec![usize::MAX; after.len()];
    let mut next = 0;
    while let Some(node) = open.pop_first() {
        rank[node] = next;
        next += 1;
        for to in &after[node] {
            waits[*to] -= 1;
            if waits[*to] == 0 {
                open.insert(*to);
            }
        }
    }
    rank
}
