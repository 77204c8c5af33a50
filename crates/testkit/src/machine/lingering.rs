//! What was used of rates and budgets. It stays taken for a time, also when its process has ended.

use convoke_engine::Want;
use convoke_model::Timestamp;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Lingering {
    sums: BTreeMap<String, u64>,
    ends: BTreeMap<(Timestamp, u64), (String, u64)>,
    order: u64,
}

impl Lingering {
    /// So much of a resource is taken until then.
    pub fn keep(&mut self, want: &Want, until: Timestamp) {
        if want.count == 0 {
            return;
        }
        self.order += 1;
        *self.sums.entry(want.of.name.clone()).or_default() += want.count;
        self.ends.insert((until, self.order), (want.of.name.clone(), want.count));
    }

    /// The use is not reported: all that was reserved counts, for a window from now on.
    pub fn keep_all(&mut self, wants: &[Want], now: Timestamp) {
        let counted = wants.iter().filter_map(|want| Some((want, want.of.window?)));
        counted.for_each(|(want, window)| self.keep(want, now + window));
    }

    pub fn lapse(&mut self, now: Timestamp) {
        while self.ends.first_key_value().is_some_and(|((until, _), _)| *until <= now) {
            let (_, (name, count)) = self.ends.pop_first().expect("looked at just now");
            *self.sums.get_mut(&name).expect("it was added") -= count;
        }
    }

    pub fn of(&self, name: &str) -> u64 {
        self.sums.get(name).copied().unwrap_or(0)
    }

    pub fn next(&self) -> Option<Timestamp> {
        self.ends.first_key_value().map(|((until, _), _)| *until)
    }
}
