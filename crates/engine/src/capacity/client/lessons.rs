//! What all processes learn together about how many calls at once a service is good for.
//!
//! The table keeps it, `govern` knows what a call teaches, and here the two meet: each lesson is one step under the
//! table's lock, and what follows from it is news for every run that asks the service. The table's clock is the boot's, a run's is
//! its own; what is known is told on the run's.

use super::Office;
use super::doors::NO_LIMIT;
use crate::fact::{Capacity as News, Learned};
use convoke_capacity::{Error, Taught, Words};
use convoke_govern::{Change, Knowledge, LearnedLimit, Lesson, Reason};

impl Office {
    /// Begins with what is known: by those who live, else by earlier runs.
    pub(super) fn recall(&self, service: &str, remembered: Option<LearnedLimit>) {
        let now = self.table.now() / 1_000;
        let recalled = self.learn(service, Reason::Remembered.word(), |knowledge, _| {
            if let (None, Some(learned)) = (knowledge.known(), remembered) {
                knowledge.remember(learned.limit.max(1), learned.known.or(Some(learned.limit)), now);
            }
        });
        if let Some(Ok(taught)) = recalled {
            // The run has said itself what it remembers.
            self.tell_learned(service, &taught, None, "");
        }
    }

    /// Learns from a call, and tells the run if that changes something.
    pub(super) fn teach(&self, service: &str, lesson: Lesson) {
        let (lesson, mut change) = (lesson.shifted(self.ahead()), None);
        let reason = lesson.reason.word();
        let taught = self.learn(service, reason, |knowledge, under_way| {
            change = knowledge.take(&lesson, under_way);
        });
        if let Some(Ok(taught)) = taught {
            self.tell_learned(service, &taught, change, reason);
        }
    }

    fn learn(
        &self,
        service: &str,
        reason: &str,
        mut lesson: impl FnMut(&mut Knowledge, u64),
    ) -> Option<Result<Taught, Error>> {
        let id = self.door(service)?;
        let origin = format!("learned: {reason}");
        self.insist(|table| {
            table.teach(id, &origin, |words: &mut Words, under_way| {
                let mut knowledge = Knowledge::of_words(words);
                lesson(&mut knowledge, under_way);
                // Also before there is a limit: one refusal says nothing, and the next ones are counted with it.
                *words = knowledge.to_words();
                knowledge.known()?;
                u32::try_from(knowledge.limit()).ok()
            })
        })
    }

    /// Tells the run what other processes have learned.
    pub(super) fn look_at_lessons(&self) {
        let services: Vec<_> = self.doors().iter().map(|(name, door)| (name.clone(), door.id)).collect();
        for (service, id) in services {
            let Some(Ok(taught)) = self.insist(|table| table.learned(id)) else { continue };
            // People are told of each window and round trip, not of every answer in it.
            let told = self.doors().get(&service).map(|door| door.told).unwrap_or_default();
            let change = Change { from: told, to: Knowledge::of_words(&taught.words).told() };
            let change = Some(change).filter(|change| change.from != change.to);
            self.tell_learned(&service, &taught, change, Reason::Shared.word());
        }
    }

    /// Tells the run of another limit than it knows of.
    fn tell_learned(&self, service: &str, taught: &Taught, change: Option<Change>, reason: &str) {
        let knowledge = Knowledge::of_words(&taught.words).shifted(-self.ahead());
        let before = match self.doors().get_mut(service) {
            Some(door) => {
                door.told = knowledge.told();
                std::mem::replace(&mut door.limit, taught.limit)
            }
            None => return,
        };
        if before == taught.limit && change.is_none() {
            return;
        }
        self.tell(News::Learned(Box::new(Learned {
            service: service.to_owned(),
            knowledge,
            limited: taught.limit != NO_LIMIT,
            change: change.map(|change| (change.from, change.to)),
            reason: reason.to_owned(),
        })));
    }

    /// By how many microseconds the table's clock is ahead of the run's.
    fn ahead(&self) -> i64 {
        let (table, run) = (self.table.now() / 1_000, self.handle.clock.now().0);
        i64::try_from(i128::from(table) - i128::from(run)).unwrap_or_default()
    }
}
