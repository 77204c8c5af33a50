//! The work of a workflow by levels, as the result of a run reports it.

use super::levels::Chart;
use crate::plan::{Kind, Plan, Workflow};
use serde::Serialize;

/// The work of a workflow by levels: fan-outs with all their items, and without the steps that
/// make one answer of the others' outputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waves {
    /// The names on each level; a fan-out stands there once.
    pub levels: Vec<Vec<String>>,
    /// The longest chain.
    pub critical_path: Vec<String>,
    /// All work: steps, and items of fan-outs.
    pub tasks: u64,
    /// Tasks to levels of the longest chain, with two places.
    pub parallelism_ratio: f64,
}

/// The work of one workflow by levels. `counts` says how many items a fan-out has, where its file does not.
pub fn waves(plan: &Plan, workflow: &Workflow, counts: &dyn Fn(&str) -> Option<u64>) -> Waves {
    let chart = Chart::new(plan, workflow);
    let counted = |ix: usize| chart.works(ix) && !makes_an_answer(&workflow.nodes[ix].kind);
    let depth = chart.longest(&|ix| if counted(ix) { 1.0 } else { 0.0 });
    let mut levels: Vec<Vec<String>> = Vec::new();
    for ix in (0..chart.count).filter(|ix| counted(*ix)) {
        let level = depth.at[ix * 2] as usize;
        levels.resize(levels.len().max(level + 1), Vec::new());
        levels[level].push(chart.known_as(ix));
    }
    let tasks = (0..chart.count).filter(|ix| counted(*ix)).map(|ix| chart.times(ix, counts)).sum();
    let path = depth.indices(&chart).into_iter().filter(|ix| counted(*ix));
    let critical_path: Vec<String> = path.map(|ix| chart.known_as(ix)).collect();
    let ratio = tasks as f64 / critical_path.len().max(1) as f64;
    Waves { levels, critical_path, tasks, parallelism_ratio: (ratio * 100.0).round() / 100.0 }
}

fn makes_an_answer(kind: &Kind) -> bool {
    matches!(kind, Kind::Reduce(_) | Kind::Verify(_))
}

impl Chart<'_> {
    /// The name of a step; what runs per item goes by the name of its fan-out.
    fn known_as(&self, ix: usize) -> String {
        let fan_out =
            self.parents[ix].filter(|group| matches!(self.workflow.nodes[*group].kind, Kind::ForEach(_)));
        self.workflow.nodes[fan_out.unwrap_or(ix)].name.to_string()
    }

    /// How often a node runs: once, or for each item of the fan-outs around it.
    pub fn times(&self, ix: usize, counts: &dyn Fn(&str) -> Option<u64>) -> u64 {
        let mut times = 1u64;
        let mut around = self.parents[ix];
        while let Some(group) = around {
            let node = &self.workflow.nodes[group];
            if let Kind::ForEach(fan_out) = &node.kind {
                let stated = fan_out.items.as_ref().map(|items| items.len() as u64);
                times = times.saturating_mul(stated.or_else(|| counts(&node.name)).unwrap_or(1));
            }
            around = self.parents[group];
        }
        times
    }
}
