//! One service: what calls to one model are counted on, in this process and on the machine.

use crate::capacity::limits::{ServiceLimit, Stated};
use crate::capacity::terms::{Counts as Counted, Shared, Want};
use convoke_agent::CallDemand;
use convoke_govern::{Amount, Counts, Governor, Origin, ResourceId, Spec};
use convoke_model::hash::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// The window of everything that is said per minute.
const MINUTE: Duration = Duration::from_secs(60);

/// What a call takes of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// One, for as long as it lasts.
    Slot,
    /// One, of a rate.
    Request,
    /// All its tokens, of a rate.
    Tokens,
}

impl Measure {
    fn of(self, call: &CallDemand) -> u64 {
        match self {
            Measure::Slot | Measure::Request => 1,
            Measure::Tokens => call.input_tokens.saturating_add(call.output_tokens).max(1),
        }
    }
}

/// What calls to one model are counted on.
#[derive(Debug, Default)]
pub(crate) struct Service {
    counted: Vec<(ResourceId, Measure)>,
    shared: Vec<(Arc<Shared>, Measure)>,
    /// What is learned of it by all processes together, and what calls need a lease of once something is known.
    pub(super) learned: Vec<(ResourceId, Arc<Shared>)>,
}

impl Service {
    /// What is taken for as long as a call lasts.
    pub fn slots(&self) -> impl Iterator<Item = ResourceId> {
        self.counted.iter().filter(|(_, measure)| *measure == Measure::Slot).map(|(id, _)| *id)
    }

    /// What a call takes of rates.
    pub fn rates(&self, call: &CallDemand) -> impl Iterator<Item = Amount> {
        let rates = self.counted.iter().filter(|(_, measure)| *measure != Measure::Slot);
        rates.map(|(id, measure)| Amount::of(*id, measure.of(call)))
    }

    /// The rates of requests.
    pub fn request_rates(&self) -> impl Iterator<Item = ResourceId> {
        self.counted.iter().filter(|(_, measure)| *measure == Measure::Request).map(|(id, _)| *id)
    }

    /// The rates of tokens.
    pub fn token_rates(&self) -> impl Iterator<Item = ResourceId> {
        self.counted.iter().filter(|(_, measure)| *measure == Measure::Tokens).map(|(id, _)| *id)
    }

    /// Whether a call takes nothing but slots of this process, where these limits are known to all.
    pub fn is_plain(&self, limited: &HashSet<ResourceId>) -> bool {
        let free = self.learned.iter().all(|(id, _)| !limited.contains(id));
        free && self.shared.is_empty() && self.counted.iter().all(|(_, measure)| *measure == Measure::Slot)
    }

    /// What a call takes of what all processes share, where these limits are known to all.
    pub fn wants(&self, call: &CallDemand, limited: &HashSet<ResourceId>) -> Vec<Want> {
        let shared = self.shared.iter().map(|(of, measure)| Want { of: of.clone(), count: measure.of(call) });
        let learned = self.learned.iter().filter(|(id, _)| limited.contains(id));
        shared.chain(learned.map(|(_, of)| Want { of: of.clone(), count: 1 })).collect()
    }

    /// Its learned resources that are not among these, because their limit was not known yet.
    pub fn without_lease<'a>(&'a self, held: &'a [Want]) -> impl Iterator<Item = ResourceId> + 'a {
        let leased = |of: &Arc<Shared>| held.iter().any(|want| want.of.name == of.name);
        self.learned.iter().filter(move |(_, of)| !leased(of)).map(|(id, _)| *id)
    }
}

impl Service {
    /// Counts calls on a resource besides, which is made if it is new.
    pub(super) fn take(&mut self, spec: Spec, governor: &mut Governor) {
        let id = match governor.resource(&spec.name) {
            Some(known) => known,
            None => governor.add(spec).expect("a run has at least one slot, and the name is new"),
        };
        if !self.counted.iter().any(|(known, _)| *known == id) {
            self.counted.push((id, Measure::Slot));
        }
    }

    /// Adds what the configuration says of a service.
    pub(super) fn add(&mut self, limit: &ServiceLimit, of: &str, kind: &str, governor: &mut Governor) {
        if let Some(stated) = &limit.concurrency {
            // How many are good for is learned within what is said.
            let spec = |name| Spec::slots(name, stated.limit).learn_from(stated.limit);
            self.count(format!("{kind}:{of}"), stated, Measure::Slot, governor, spec);
        }
        if let Some(stated) = &limit.requests_per_minute {
            let spec = |name| Spec::per_minute(name, stated.limit, Counts::Arrivals);
            self.count(format!("requests:{of}"), stated, Measure::Request, governor, spec);
        }
        if let Some(stated) = &limit.tokens_per_minute {
            let spec = |name| Spec::per_minute(name, stated.limit, Counts::Ends);
            self.count(format!("tokens:{of}"), stated, Measure::Tokens, governor, spec);
        }
    }

    fn count(
        &mut self,
        name: String,
        stated: &Stated,
        measure: Measure,
        governor: &mut Governor,
        spec: impl Fn(String) -> Spec,
    ) {
        let id = match governor.resource(&name) {
            Some(known) => known,
            None => governor
                .add(spec(name.clone()).origin(Origin::Config))
                .expect("limits of the configuration were checked when it was read"),
        };
        self.counted.push((id, measure));
        let window = (measure != Measure::Slot).then_some(MINUTE);
        let (limit, origin) = (stated.limit, stated.origin.clone());
        let counts = match measure {
            Measure::Slot => Counted::Slots,
            Measure::Request => Counted::Requests,
            Measure::Tokens => Counted::Tokens,
        };
        let shared = Shared { name, limit, origin, counts, window, says_spent: false };
        self.shared.push((Arc::new(shared), measure));
    }
}
