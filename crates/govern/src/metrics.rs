//! Numbers about the whole governor, as values.

use crate::answer::Refused;
use crate::governor::Governor;
use crate::histogram::Histogram;
use crate::spec::{Kind, ResourceId};
use convoke_model::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What has happened so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    granted: u64,
    pub released: u64,
    refused: u64,
    pub overflowed: u64,
    pub spent: u64,
    pub not_held: u64,
    waits: Histogram,
}

impl Tally {
    pub fn grant(&mut self, waited: u64) {
        self.granted += 1;
        self.waits.add(waited);
    }

    pub fn refuse(&mut self, refused: &Refused) {
        match refused {
            Refused::Full { .. } => self.overflowed += 1,
            Refused::Spent { .. } => self.spent += 1,
            Refused::Known(_) | Refused::NeverFits { .. } => self.refused += 1,
        }
    }
}

/// Numbers about the whole governor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    /// Demands that wait.
    pub waiting: usize,
    /// Permits that are out.
    pub active: usize,
    /// Demands that wait, by the first thing that they are short of. Those that are only behind others are not here.
    pub waiting_for: BTreeMap<String, usize>,
    /// How much of each limit is in use, from 0 to 1 (more if the limit was lowered).
    pub utilisation: BTreeMap<String, f64>,
    /// Limits that were learned.
    pub learned: BTreeMap<String, u64>,
    /// What was spent, by budget.
    pub spent: BTreeMap<String, u64>,
    /// Permits granted so far.
    pub granted: u64,
    /// Permits that came back.
    pub released: u64,
    /// Demands refused because they can never fit, or were known already.
    pub refused: u64,
    /// Demands refused, or put out of the queue again, because it was full.
    pub overflowed: u64,
    /// Demands that a budget could not pay.
    pub unpaid: u64,
    /// Permits given back that no demand held; mistakes of the caller.
    pub not_held: u64,
    /// Half of all grants waited no longer than this.
    pub wait_p50: Duration,
    /// Nineteen of twenty waited no longer.
    pub wait_p95: Duration,
}

impl Governor {
    /// Numbers about the whole governor. Costs as much as there are lanes and resources.
    pub fn metrics(&mut self, now: Timestamp) -> Metrics {
        let now = self.tick(now);
        Metrics {
            waiting: self.waiting(),
            active: self.held(),
            waiting_for: self.waiting_for(now).into_iter().map(|(id, n)| (self.name(id).into(), n)).collect(),
            utilisation: self.utilisation(now),
            learned: self.learned_limits(),
            spent: self.spent(now),
            granted: self.tally.granted,
            released: self.tally.released,
            refused: self.tally.refused,
            overflowed: self.tally.overflowed,
            unpaid: self.tally.spent,
            not_held: self.tally.not_held,
            wait_p50: Duration::from_micros(self.tally.waits.quantile(50)),
            wait_p95: Duration::from_micros(self.tally.waits.quantile(95)),
        }
    }

    /// How many wait for what.
    pub(crate) fn waiting_for(&mut self, now: u64) -> BTreeMap<ResourceId, usize> {
        let mut waiting = BTreeMap::new();
        for at in 0..self.lanes.busy().len() {
            let lane = self.lanes.busy()[at];
            if let Some(shortage) = self.shortage(lane, now) {
                *waiting.entry(shortage.on).or_default() += self.lanes[lane].len();
            }
        }
        waiting
    }

    fn utilisation(&mut self, now: u64) -> BTreeMap<String, f64> {
        let counted = self.resources.iter_mut().filter(|r| r.kind != Kind::Breaker && !r.retired);
        let parts = counted.map(|resource| {
            let (used, limit) = (resource.meter.used(now), resource.effective());
            (resource.name.to_string(), if limit == 0 { 1.0 } else { used as f64 / limit as f64 })
        });
        parts.collect()
    }

    fn learned_limits(&self) -> BTreeMap<String, u64> {
        let learned = self.resources.iter().filter(|resource| !resource.retired);
        learned.filter_map(|r| Some((r.name.to_string(), r.learner.as_ref()?.limit()))).collect()
    }

    fn spent(&mut self, now: u64) -> BTreeMap<String, u64> {
        let budgets = self.resources.iter_mut().filter(|resource| !resource.retired);
        budgets.filter_map(|r| Some((r.name.to_string(), r.meter.spent(now)?))).collect()
    }
}
