//! Circles of a graph whose nodes are numbers.
//!
//! Linear in nodes and edges, and without recursion: a row of a hundred thousand nodes is no deeper than one of three.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::{HashMap, HashSet, VecDeque};

/// One circle for each knot of edges, as the items along it; the first is the earliest of the file.
pub(crate) fn circles(count: usize, next: &dyn Fn(usize) -> Vec<usize>) -> Vec<Vec<usize>> {
    let edges: Vec<Vec<usize>> = (0..count).map(next).collect();
    let mut graph = DiGraph::<(), ()>::with_capacity(count, count);
    for _ in 0..count {
        graph.add_node(());
    }
    for (from, targets) in edges.iter().enumerate() {
        for to in targets {
            graph.add_edge(NodeIndex::new(from), NodeIndex::new(*to), ());
        }
    }
    let mut circles: Vec<Vec<usize>> =
        kosaraju_scc(&graph).into_iter().filter_map(|knot| circle_in(&knot, &edges)).collect();
    circles.sort();
    circles
}

/// The shortest way from the earliest item of a knot back to itself.
fn circle_in(knot: &[NodeIndex], edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    let start = knot.iter().map(|ix| ix.index()).min()?;
    // No way leads back from outside of the knot.
    let members: HashSet<usize> = knot.iter().map(|ix| ix.index()).collect();
    let mut came_from: HashMap<usize, usize> = HashMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        for next in edges[at].iter().filter(|next| members.contains(next)) {
            if *next == start {
                return Some(way_back(start, at, &came_from));
            }
            came_from.entry(*next).or_insert_with(|| {
                open.push_back(*next);
                at
            });
        }
    }
    None
}

fn way_back(start: usize, last: usize, came_from: &HashMap<usize, usize>) -> Vec<usize> {
    let mut circle = vec![last];
    let mut at = last;
    while at != start {
        at = came_from[&at];
        circle.push(at);
    }
    circle.reverse();
    circle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_given_in_order_from_its_earliest_item() {
        let edges = [vec![1], vec![2], vec![3, 4], vec![1], vec![], vec![5]];
        let next = |ix: usize| edges[ix].clone();
        assert_eq!(circles(edges.len(), &next), vec![vec![1, 2, 3], vec![5]]);
    }

    /// Recursion would end the process here, and a search of the whole graph for each node would take minutes.
    #[test]
    fn a_long_row_is_looked_through_as_readily_as_a_short_one() {
        let count = 100_000;
        let row = |ix: usize| if ix + 1 < count { vec![ix + 1] } else { Vec::new() };
        assert!(circles(count, &row).is_empty());
        let round = |ix: usize| vec![(ix + 1) % count];
        assert_eq!(circles(count, &round), vec![(0..count).collect::<Vec<_>>()]);
    }
}
