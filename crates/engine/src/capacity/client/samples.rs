//! What all processes learn together about how many calls at once a service is good for.
//!
//! The table keeps it, `govern` knows what follows from a sample, and here the two meet: each sample is one step under the
//! table's lock, and its consequence is a fact for every run that asks the service. The table's clock is the boot's, a run's is
//! its own; the run is told on its own clock.

use super::SharedState;
use super::services::NO_LIMIT;
use crate::fact::{CapacityFact, Learned};
use convoke_capacity::{Error, KnownLimit, Words};
use convoke_govern::{Change, Knowledge, LearnedLimit, Sample};
use convoke_model::LimitReason;

impl SharedState {
    /// Begins with what is known: by live processes, else by earlier runs.
    pub(super) fn recall(&self, service: &str, remembered: Option<LearnedLimit>) {
        let now = self.table.now() / 1_000;
        let recalled = self.learn(service, LimitReason::Remembered, |knowledge, _| {
            if let (None, Some(learned)) = (knowledge.known(), remembered) {
                knowledge.remember(learned.limit.max(1), learned.known.or(Some(learned.limit)), now);
            }
        });
        if let Some(Ok(known)) = recalled {
            // The run has said itself what it remembers.
            self.tell_learned(service, &known, None, LimitReason::Remembered);
        }
    }

    /// Learns from a call, and tells the run if that changes something.
    pub(super) fn report_sample(&self, service: &str, sample: Sample) {
        let (sample, mut change) = (sample.shifted(self.ahead()), None);
        let reason = sample.reason;
        let known = self.learn(service, reason, |knowledge, under_way| {
            change = knowledge.take(&sample, under_way);
        });
        if let Some(Ok(known)) = known {
            self.tell_learned(service, &known, change, reason);
        }
    }

    fn learn(
        &self,
        service: &str,
        reason: LimitReason,
        mut update: impl FnMut(&mut Knowledge, u64),
    ) -> Option<Result<KnownLimit, Error>> {
        let id = self.service_id(service)?;
        let origin = format!("learned: {reason}");
        self.insist(|table| {
            table.report_sample(id, &origin, |words: &mut Words, under_way| {
                let mut knowledge = Knowledge::of_words(words);
                update(&mut knowledge, under_way);
                // Also before there is a limit: one refusal says nothing, and the next ones are counted with it.
                *words = knowledge.to_words();
                knowledge.known()?;
                u32::try_from(knowledge.limit()).ok()
            })
        })
    }

    /// Tells the run what other processes have learned.
    pub(super) fn check_samples(&self) {
        let services: Vec<_> =
            self.services().iter().map(|(name, service)| (name.clone(), service.id)).collect();
        for (service, id) in services {
            let Some(Ok(known)) = self.insist(|table| table.learned(id)) else { continue };
            // People are told of each window and round trip, not of every answer in it.
            let told = self.services().get(&service).map(|state| state.told).unwrap_or_default();
            let change = Change { from: told, to: Knowledge::of_words(&known.words).told() };
            let change = Some(change).filter(|change| change.from != change.to);
            self.tell_learned(&service, &known, change, LimitReason::Shared);
        }
    }

    /// Tells the run of another limit than it knows of.
    fn tell_learned(&self, service: &str, known: &KnownLimit, change: Option<Change>, reason: LimitReason) {
        let knowledge = Knowledge::of_words(&known.words).shifted(-self.ahead());
        let before = match self.services().get_mut(service) {
            Some(state) => {
                state.told = knowledge.told();
                std::mem::replace(&mut state.limit, known.limit)
            }
            None => return,
        };
        if before == known.limit && change.is_none() {
            return;
        }
        self.tell(CapacityFact::Learned(Box::new(Learned {
            service: service.to_owned(),
            knowledge,
            limited: known.limit != NO_LIMIT,
            change: change.map(|change| (change.from, change.to)),
            reason,
        })));
    }

    /// By how many microseconds the table's clock is ahead of the run's.
    fn ahead(&self) -> i64 {
        let (table, run) = (self.table.now() / 1_000, self.handle.clock.now().0);
        i64::try_from(i128::from(table) - i128::from(run)).unwrap_or_default()
    }
}
