//! How much work still depends on a task, along the longest chain: among equals, the one that holds up most goes first.
//!
//! Steps take as long as their attempts have taken so far in this run, else as in earlier ones, and a second where nothing is
//! known. Chains are measured again each time twice as many attempts have ended, so that knowing better never costs more than
//! the work.

use crate::capacity::durations::{Durations, Known};
use convoke_model::Timestamp;
use convoke_model::hash::HashMap;
use convoke_plan::view::Ways;
use convoke_plan::{Node, NodeIx, Plan, WorkflowIx};
use convoke_schedule::{Scheduler, TaskIx};
use std::time::Duration;

/// What an attempt takes of which nothing is known.
const UNKNOWN: Duration = Duration::from_secs(1);

type Place = (WorkflowIx, NodeIx);

#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// The ways through each workflow; empty before anything was measured.
    ways: Vec<Ways>,
    /// Milliseconds from the start of each node to the end of its workflow; empty before they were measured.
    left: Vec<Vec<f64>>,
    began: HashMap<TaskIx, Timestamp>,
    took: HashMap<Place, Took>,
    /// How long steps took in earlier runs.
    earlier: Durations,
    known: HashMap<Place, Duration>,
    ended: u64,
    measured_at: u64,
    /// Durations do not count: the order must be that of the recording.
    is_fixed: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Took {
    total: Duration,
    count: u32,
}

impl Paths {
    /// `is_fixed`: as if nothing were ever known about durations.
    pub fn new(is_fixed: bool, earlier: Durations) -> Paths {
        let earlier = if is_fixed { Durations::default() } else { earlier };
        Paths { is_fixed, earlier, ..Paths::default() }
    }

    /// How long steps took in this run.
    pub fn durations(&self, scheduler: &Scheduler, now: Timestamp) -> Durations {
        let plan = scheduler.plan();
        let seen = self.took.iter().map(|((workflow, node), took)| {
            let node = &plan.workflows[workflow.0 as usize].nodes[node.0 as usize];
            let ms = u64::try_from((took.total / took.count.max(1)).as_millis()).unwrap_or(u64::MAX);
            (step_of(node), Known { ms, count: took.count.into(), at: now })
        });
        Durations(seen.collect())
    }

    /// Finds the steps of this plan among what is known.
    fn recall(&mut self, plan: &Plan) {
        let earlier = std::mem::take(&mut self.earlier);
        if earlier.0.is_empty() {
            return;
        }
        for (workflow, at) in plan.workflows.iter().zip(0..) {
            for (node, ix) in workflow.nodes.iter().zip(0..) {
                let known = earlier.0.get(&step_of(node)).map(Known::about);
                self.known.extend(known.map(|known| ((WorkflowIx(at), NodeIx(ix)), known)));
            }
        }
    }

    /// An attempt has begun.
    pub fn begin(&mut self, task: TaskIx, at: Timestamp) {
        if !self.is_fixed {
            self.began.insert(task, at);
        }
    }

    /// An attempt has ended.
    pub fn end(&mut self, task: TaskIx, at: Timestamp, scheduler: &Scheduler) {
        let (Some(began), Some(place)) = (self.began.remove(&task), scheduler.places(task).next()) else {
            return;
        };
        let took = self.took.entry(place).or_default();
        took.total += at.since(began);
        took.count += 1;
        self.ended += 1;
    }

    /// How long it takes at least from the start of a task to the end of the run, in milliseconds.
    pub fn of(&mut self, task: TaskIx, scheduler: &Scheduler) -> u32 {
        if self.left.is_empty() || self.ended >= self.measured_at * 2 + 8 {
            self.measure(scheduler);
        }
        let mut places = scheduler.places(task);
        let own = places.next().map_or(0.0, |place| self.left_at(place));
        let after: f64 = places.map(|place| self.left_at(place) - self.takes(place)).sum();
        (own + after).clamp(0.0, f64::from(u32::MAX - 1)) as u32
    }

    fn measure(&mut self, scheduler: &Scheduler) {
        self.measured_at = self.ended;
        let plan = scheduler.plan();
        self.recall(plan);
        if self.ways.is_empty() {
            self.ways = plan.workflows.iter().map(|workflow| Ways::of(plan, workflow)).collect();
        }
        let ways = self.ways.iter().zip(0..);
        let left = ways.map(|(ways, ix)| ways.remaining(&|node| self.takes((WorkflowIx(ix), node))));
        self.left = left.collect();
    }

    fn left_at(&self, (workflow, node): Place) -> f64 {
        self.left[workflow.0 as usize][node.0 as usize]
    }

    fn takes(&self, place: Place) -> f64 {
        let mean = self.took.get(&place).map(|took| took.total / took.count.max(1));
        let mean = mean.or_else(|| self.known.get(&place).copied()).unwrap_or(UNKNOWN);
        mean.as_secs_f64() * 1000.0
    }
}

/// The name of a step that does the same in another run.
fn step_of(node: &Node) -> String {
    let mut hash = node.hash.to_string();
    hash.truncate(16);
    hash
}
