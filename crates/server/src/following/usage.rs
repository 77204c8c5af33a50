//! How much of each limit was in use in the last hour, minute by minute, for the line beside it.
//!
//! Looked at every few seconds for as long as the server lives, and kept in memory: a server that has just started knows no past. Of each
//! minute the most is kept, so that a short peak is seen. Bounded by the limits of the table and by an hour.

use std::collections::{HashMap, VecDeque};

/// Minutes that are kept.
const MINUTES: usize = 60;

/// What was in use.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// The minute of the newest amounts, by whatever clock the caller has.
    minute: u64,
    of: HashMap<String, VecDeque<u32>>,
}

impl Usage {
    /// Takes what is in use of each limit now. A limit that is not there any more is forgotten.
    pub fn take<'a>(&mut self, minute: u64, now: impl Iterator<Item = (&'a str, u32)>) {
        let passed = usize::try_from(minute.saturating_sub(self.minute)).unwrap_or(MINUTES).min(MINUTES);
        self.minute = self.minute.max(minute);
        let mut known = std::mem::take(&mut self.of);
        for (name, amount) in now {
            let mut minutes = known.remove(name).unwrap_or_default();
            // Nothing was seen in the minutes between; before the first look nothing is known.
            if minutes.is_empty() {
                minutes.push_back(0);
            } else {
                minutes.extend(std::iter::repeat_n(0, passed));
            }
            let last = minutes.back_mut().expect("there is one");
            *last = amount.max(*last);
            minutes.drain(..minutes.len().saturating_sub(MINUTES));
            self.of.insert(name.to_owned(), minutes);
        }
    }

    /// The most that was in use of a limit in each minute, the newest last.
    pub fn of(&self, name: &str) -> impl Iterator<Item = u32> {
        self.of.get(name).into_iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(usage: &Usage, name: &str) -> Vec<u32> {
        usage.of(name).collect()
    }

    #[test]
    fn the_most_of_each_minute_of_an_hour_is_kept() {
        let mut usage = Usage::default();
        for (minute, amount) in [(100, 2), (100, 5), (100, 1), (101, 3), (104, 4)] {
            usage.take(minute, [("a", amount)].into_iter());
        }
        assert_eq!(of(&usage, "a"), [5, 3, 0, 0, 4], "a minute without a look had nothing in use");
        usage.take(104, [("a", 1), ("b", 7)].into_iter());
        assert_eq!((of(&usage, "a"), of(&usage, "b")), (vec![5, 3, 0, 0, 4], vec![7]));
        (105..300).for_each(|minute| usage.take(minute, [("a", 9)].into_iter()));
        assert_eq!(
            (of(&usage, "a"), of(&usage, "b")),
            (vec![9; 60], Vec::new()),
            "what is gone is forgotten"
        );
        usage.take(u64::MAX, [("a", 1)].into_iter());
        assert_eq!(of(&usage, "a").iter().sum::<u32>(), 1);
    }
}
