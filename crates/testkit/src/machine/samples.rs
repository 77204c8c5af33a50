//! What all processes know of the service together, as a model of `capacity`: what one call shows holds for all.

use super::agenda::Life;
use super::table::Table;
use convoke_govern::{Change, Knowledge, LearnedLimit, Sample};
use convoke_model::Timestamp;
use std::collections::BTreeMap;

/// Nothing is known.
pub(super) const NO_LIMIT: u64 = u32::MAX as u64;

/// The name in the table of what is learned of a service.
pub(super) fn learned_name(service: &str) -> String {
    format!("learned:{service}")
}

#[derive(Debug, Default)]
pub(super) struct Samples {
    words: BTreeMap<String, [u64; 19]>,
    /// Calls that are made without a lease, by service and process.
    unleased: BTreeMap<(String, Life), u64>,
}

impl Samples {
    pub fn known(&self, service: &str) -> Knowledge {
        Knowledge::of_words(&self.words.get(service).copied().unwrap_or([0; 19]))
    }

    /// Begins with what an earlier run knew, if no process knows anything.
    pub fn recall(
        &mut self,
        service: &str,
        remembered: Option<LearnedLimit>,
        table: &mut Table,
        now: Timestamp,
    ) -> bool {
        let mut knowledge = self.known(service);
        if let (None, Some(learned)) = (knowledge.known(), remembered) {
            knowledge.remember(learned.limit.max(1), learned.known.or(Some(learned.limit)), now.0);
        }
        self.note(service, &knowledge, table)
    }

    /// A call teaches: how the limit changed for people, and whether it did for the table.
    pub fn report(&mut self, service: &str, sample: &Sample, table: &mut Table) -> (Option<Change>, bool) {
        let unleased = self.unleased.iter().filter(|((name, _), _)| name == service);
        let under_way = table.out(&learned_name(service)) + unleased.map(|(_, count)| count).sum::<u64>();
        let mut knowledge = self.known(service);
        let change = knowledge.take(sample, under_way);
        (change, self.note(service, &knowledge, table))
    }

    fn note(&mut self, service: &str, knowledge: &Knowledge, table: &mut Table) -> bool {
        self.words.insert(service.to_owned(), knowledge.to_words());
        match knowledge.known() {
            Some(_) => table.set_limit(&learned_name(service), knowledge.limit()),
            None => false,
        }
    }

    pub fn call_started(&mut self, service: String, life: Life) {
        *self.unleased.entry((service, life)).or_default() += 1;
    }

    pub fn call_ended(&mut self, service: String, life: Life) {
        let count = self.unleased.get_mut(&(service, life));
        let count = count.filter(|count| **count > 0);
        *count.expect("a call that ends has begun") -= 1;
    }

    /// Calls of a process that are made without a lease. One is counted on its model and perhaps on its provider.
    pub fn unleased(&self, life: Life) -> u64 {
        let own = self.unleased.iter().filter(|((_, of), _)| *of == life);
        own.map(|(_, count)| *count).max().unwrap_or(0)
    }

    /// A process is gone.
    pub fn forget(&mut self, life: Life) {
        self.unleased.retain(|(_, of), _| *of != life);
    }
}
