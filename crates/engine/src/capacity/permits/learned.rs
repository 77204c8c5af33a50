//! What is found out about services, by their answers and by other processes, and the numbers about permits.

use super::Permits;
use crate::capacity::metrics::Metrics;
use convoke_govern::{Adapted, Learned};
use convoke_model::Timestamp;
use convoke_plan::Agent;

/// Where the table keeps to a service's limit: so many attempts more than that are begun, so that one of them waits
/// there when a call ends. An attempt has to be on disk before it can ask.
const AHEAD: u64 = 4;

impl Permits {
    /// What an answer says about the limits of its service bounds the rates that are configured for it.
    pub(crate) fn limits_seen(
        &mut self,
        agent: &Agent,
        seen: &convoke_agent::Limits,
        now: Timestamp,
    ) -> Vec<Adapted> {
        let Some(service) = self.services.of(agent, &seen.model, &mut self.governor, now) else {
            return Vec::new();
        };
        let requests = service.request_rates().map(|id| (id, seen.requests));
        let rates: Vec<_> = requests.chain(service.token_rates().map(|id| (id, seen.tokens))).collect();
        let adapted = rates
            .into_iter()
            .filter_map(|(id, meter)| self.governor.limits_seen(id, meter.limit, meter.remaining, now));
        adapted.collect()
    }

    /// Another process was told to come back later.
    pub(crate) fn pause(&mut self, name: &str, until: Timestamp, now: Timestamp) -> Option<Adapted> {
        let resource = self.governor.resource(name)?;
        self.governor.pause(resource, until, now)
    }

    /// All processes together know something else of a service.
    pub(crate) fn know(&mut self, learned: &crate::fact::Learned) {
        if let Some(resource) = self.governor.resource(&learned.service) {
            let ahead = if learned.limited { AHEAD } else { 0 };
            self.governor.know(resource, learned.knowledge, ahead);
            self.services.limit(resource, learned.limited);
        }
    }

    /// Numbers about permits: how many demands wait, how much is in use, how long waiting took.
    pub fn metrics(&mut self, now: Timestamp) -> Metrics {
        let mut governed = self.governor.metrics(now);
        self.attempt_leases.utilisation(&self.governor, &mut governed.utilisation);
        Metrics::new(governed, self.attempts, self.calls.flow)
    }

    /// What was learned about services so far, to be kept for later runs.
    pub fn learned(&self, now: Timestamp) -> Learned {
        self.governor.learned(now)
    }
}
