//! Dependency levels and the critical path of a workflow.
//!
//! Routes that lead back to something earlier are not followed: a loop counts as one round. Members of a group lie on
//! the level of their group; whatever follows the group lies behind the last of them. A fan-out counts its body once for
//! each item that the file states, and once where their number is not known yet.

use super::edges::{Edge, edges, members, trigger_words};
use crate::plan::{Kind, NodeIx, Plan, Workflow};
use convoke_model::Budget;
use serde::Serialize;
use std::collections::BTreeMap;

/// A workflow by levels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Levels {
    /// The workflow's name.
    pub workflow: String,
    /// Every node that a run can reach, in the order of the file.
    pub nodes: Vec<PlacedNode>,
    /// The names of the working nodes (all but groups) on each level.
    pub levels: Vec<Vec<String>>,
    /// The chain of nodes that takes longest.
    pub critical_path: Vec<String>,
    /// How long it takes: in nodes, or in the unit of the estimates.
    pub critical_length: f64,
    /// All work: in nodes, or in the unit of the estimates.
    pub work: f64,
    /// Work over critical length: how many nodes could run at once on average.
    pub parallelism: f64,
}

/// One node and where it lies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlacedNode {
    /// Its name. What runs per item may have the name of its fan-out.
    pub name: String,
    /// The word for its kind.
    pub kind: &'static str,
    /// Its level, from 0.
    pub level: u32,
    /// The group around it.
    pub within: Option<String>,
    /// What it waits for.
    pub after: Vec<String>,
    /// The persona of a phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// The edges that can start a phase.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<Start>,
    /// What its tasks, or its members, may spend together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What it needs besides a permit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, u64>,
}

/// An edge that can start a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Start {
    /// The phase that it leads from.
    pub from: String,
    /// What it asks for, in words.
    pub when: String,
}

/// The levels of one workflow. Nodes without an estimate count as 1.
pub fn levels(plan: &Plan, workflow: &Workflow, estimates: &BTreeMap<String, f64>) -> Levels {
    let chart = Chart::new(plan, workflow);
    let depth = chart.longest(&|_| 1.0);
    let timed = chart.longest(&|ix| estimates.get(&*workflow.nodes[ix].name).copied().unwrap_or(1.0));
    let critical_path = timed.path(&chart);
    let times = |ix: usize| chart.times(ix, &|_| None) as f64;
    let work = (0..chart.count).filter(|ix| chart.works(*ix)).map(|ix| timed.weight[ix] * times(ix)).sum();
    let critical_length = timed.length();
    Levels {
        workflow: workflow.name.to_string(),
        nodes: (0..chart.count)
            .filter(|ix| chart.reached[*ix])
            .map(|ix| chart.placed(plan, ix, &depth))
            .collect(),
        levels: chart.rows(&depth),
        critical_path,
        critical_length,
        work,
        parallelism: if critical_length > 0.0 { work / critical_length } else { 1.0 },
    }
}

/// The ways from each node to the end of its workflow, in an order in which lengths add up. They are found once; estimates
/// change while a plan runs.
#[derive(Debug)]
pub struct Ways {
    count: usize,
    steps: Vec<Way>,
}

/// From a point to one behind it. Inside a node that works, what the node takes is added.
#[derive(Debug)]
struct Way {
    from: usize,
    to: usize,
    inside: Option<NodeIx>,
}

impl Ways {
    /// The ways of a workflow.
    pub fn of(plan: &Plan, workflow: &Workflow) -> Ways {
        let chart = Chart::new(plan, workflow);
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); chart.after.len()];
        for (point, after) in chart.after.iter().enumerate() {
            after.iter().for_each(|next| before[*next].push(point));
        }
        let mut open_ways: Vec<usize> = chart.after.iter().map(Vec::len).collect();
        let mut ready: Vec<usize> = (0..open_ways.len()).filter(|point| open_ways[*point] == 0).collect();
        let mut steps = Vec::with_capacity(open_ways.iter().sum());
        while let Some(point) = ready.pop() {
            for earlier in &before[point] {
                let inside = point / 2 == earlier / 2 && chart.works(point / 2);
                let inside = inside.then_some(NodeIx((point / 2) as u32));
                steps.push(Way { from: *earlier, to: point, inside });
                open_ways[*earlier] -= 1;
                if open_ways[*earlier] == 0 {
                    ready.push(*earlier);
                }
            }
        }
        Ways { count: chart.count, steps }
    }

    /// How much is left to do from the start of each node to the end of the workflow, along the longest chain: in the unit
    /// of the estimates, by index of the node.
    pub fn remaining(&self, estimate: &dyn Fn(NodeIx) -> f64) -> Vec<f64> {
        let mut left = vec![0.0f64; self.count * 2];
        for Way { from, to, inside } in &self.steps {
            let own = inside.map_or(0.0, |node| estimate(node).max(0.0));
            left[*from] = left[*from].max(left[*to] + own);
        }
        (0..self.count).map(|ix| left[ix * 2]).collect()
    }
}

/// What must end before what starts, without anything that leads back. Each node has two points: its start (`2n`) and
/// its end (`2n + 1`).
pub(super) struct Chart<'a> {
    pub workflow: &'a Workflow,
    pub count: usize,
    reached: Vec<bool>,
    pub parents: Vec<Option<usize>>,
    forward: Vec<(usize, usize)>,
    after: Vec<Vec<usize>>,
}

impl<'a> Chart<'a> {
    pub fn new(plan: &Plan, workflow: &'a Workflow) -> Self {
        let count = workflow.nodes.len();
        let mut parents = vec![None; count];
        for (ix, node) in workflow.indexed() {
            for member in members(&node.kind) {
                parents[member.0 as usize].get_or_insert(ix.0 as usize);
            }
        }
        let (reached, forward) = first_visits(workflow, &edges(plan, workflow));
        let after = points(workflow, &forward);
        Self { workflow, count, reached, parents, forward, after }
    }

    /// Whether a node does work itself.
    pub fn works(&self, ix: usize) -> bool {
        self.reached[ix] && !self.workflow.nodes[ix].kind.is_group()
    }

    /// The longest way to every point.
    pub fn longest(&self, estimate: &dyn Fn(usize) -> f64) -> Longest {
        let points = self.count * 2;
        let weight: Vec<f64> =
            (0..self.count).map(|ix| if self.works(ix) { estimate(ix).max(0.0) } else { 0.0 }).collect();
        let mut waits = vec![0usize; points];
        self.after.iter().flatten().for_each(|next| waits[*next] += 1);
        let mut found = Longest { at: vec![0.0; points], from: vec![None; points], weight };
        let mut open: Vec<usize> = (0..points).filter(|point| waits[*point] == 0).collect();
        while let Some(point) = open.pop() {
            for next in &self.after[point] {
                found.relax(point, *next);
                waits[*next] -= 1;
                if waits[*next] == 0 {
                    open.push(*next);
                }
            }
        }
        found
    }

    /// The name of a node; the body of a fan-out may share it with its fan-out.
    pub fn name(&self, ix: usize) -> String {
        let node = |ix: usize| NodeIx(ix as u32);
        self.workflow.known_as(node(ix), self.parents[ix].map(node)).to_string()
    }

    fn placed(&self, plan: &Plan, ix: usize, depth: &Longest) -> PlacedNode {
        let node = &self.workflow.nodes[ix];
        let name = |ix: usize| self.name(ix);
        PlacedNode {
            name: self.name(ix),
            kind: node.kind.word(),
            level: depth.at[ix * 2] as u32,
            within: self.parents[ix].map(name),
            after: self.forward.iter().filter(|(_, to)| *to == ix).map(|(from, _)| name(*from)).collect(),
            persona: match &node.kind {
                Kind::Phase(phase) => Some(phase.persona.to_string()),
                _ => None,
            },
            starts: node
                .triggers
                .iter()
                .map(|trigger| Start {
                    from: name(trigger.from.0 as usize),
                    when: trigger_words(plan, trigger),
                })
                .collect(),
            budget: node.budget.clone(),
            resources: node.resources.iter().map(|(name, amount)| (name.to_string(), *amount)).collect(),
        }
    }

    fn rows(&self, depth: &Longest) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> = Vec::new();
        for ix in (0..self.count).filter(|ix| self.works(*ix)) {
            let level = depth.at[ix * 2] as usize;
            if rows.len() <= level {
                rows.resize(level + 1, Vec::new());
            }
            rows[level].push(self.name(ix));
        }
        rows
    }
}

pub(super) struct Longest {
    pub at: Vec<f64>,
    from: Vec<Option<usize>>,
    weight: Vec<f64>,
}

impl Longest {
    fn relax(&mut self, point: usize, next: usize) {
        let inside = point / 2 == next / 2 && point.is_multiple_of(2);
        let length = self.at[point] + if inside { self.weight[point / 2] } else { 0.0 };
        if self.from[next].is_none() || length > self.at[next] {
            self.at[next] = length;
            self.from[next] = Some(point);
        }
    }

    fn length(&self) -> f64 {
        self.at.iter().copied().fold(0.0, f64::max)
    }

    /// The names of the working nodes along the longest way.
    fn path(&self, chart: &Chart<'_>) -> Vec<String> {
        self.indices(chart).into_iter().map(|ix| chart.name(ix)).collect()
    }

    /// The working nodes along the longest way.
    pub fn indices(&self, chart: &Chart<'_>) -> Vec<usize> {
        let ends = (0..chart.count).filter(|ix| chart.works(*ix)).map(|ix| ix * 2 + 1);
        let last = ends.fold(None, |best: Option<usize>, end| match best {
            Some(best) if self.at[best] >= self.at[end] => Some(best),
            _ => Some(end),
        });
        let mut found = Vec::new();
        let mut point = last;
        while let Some(at) = point {
            if at % 2 == 1 && chart.works(at / 2) {
                found.push(at / 2);
            }
            point = self.from[at];
        }
        found.reverse();
        found
    }
}

/// What a run can reach, and the edges by which it first gets there.
fn first_visits(workflow: &Workflow, edges: &[Edge]) -> (Vec<bool>, Vec<(usize, usize)>) {
    let count = workflow.nodes.len();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for edge in edges {
        if let Some(to) = edge.to {
            next[edge.from.0 as usize].push(to.0 as usize);
        }
    }
    let mut walk = Walk { workflow, next: &next, state: vec![State::New; count], forward: Vec::new() };
    for entry in &workflow.entry {
        walk.visit(entry.0 as usize);
    }
    let reached = walk.state.iter().map(|state| *state != State::New).collect();
    walk.forward.sort_unstable();
    walk.forward.dedup();
    (reached, walk.forward)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// A walk in depth that leaves out every edge to something that is still open: those lead back.
struct Walk<'a> {
    workflow: &'a Workflow,
    next: &'a [Vec<usize>],
    state: Vec<State>,
    forward: Vec<(usize, usize)>,
}

impl Walk<'_> {
    fn visit(&mut self, start: usize) {
        if self.state[start] != State::New {
            return;
        }
        self.state[start] = State::Open;
        let mut stack = vec![(start, 0)];
        while let Some((at, taken)) = stack.pop() {
            match self.step(at, taken) {
                Some((to, is_edge)) => {
                    stack.push((at, taken + 1));
                    if is_edge && self.state[to] != State::Open {
                        self.forward.push((at, to));
                    }
                    if self.state[to] == State::New {
                        self.state[to] = State::Open;
                        stack.push((to, 0));
                    }
                }
                None => self.state[at] = State::Done,
            }
        }
    }

    /// The next node to look at: members first, then where edges lead.
    fn step(&self, at: usize, taken: usize) -> Option<(usize, bool)> {
        let inside: &[NodeIx] = members(&self.workflow.nodes[at].kind);
        match inside.get(taken) {
            Some(member) => Some((member.0 as usize, false)),
            None => self.next[at].get(taken - inside.len()).map(|to| (*to, true)),
        }
    }
}

/// Which point comes after which.
fn points(workflow: &Workflow, forward: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); workflow.nodes.len() * 2];
    for (ix, node) in workflow.nodes.iter().enumerate() {
        after[ix * 2].push(ix * 2 + 1);
        if matches!(node.kind, Kind::Parallel(_) | Kind::ForEach(_)) {
            for member in members(&node.kind) {
                let member = member.0 as usize;
                after[ix * 2].push(member * 2);
                after[member * 2 + 1].push(ix * 2 + 1);
            }
        }
    }
    for (from, to) in forward {
        after[from * 2 + 1].push(to * 2);
    }
    after
}
