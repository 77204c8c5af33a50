//! What a rate has counted, until it may be forgotten: amounts by the moment at which they end.
//!
//! A rate of so much per window is a limit whose amounts stay taken for a window after they were counted. One slot per call
//! would be tens of thousands for a busy rate, and each would need an owner. So amounts that end at about the same time
//! share a bucket: a ring of [`BUCKETS`], each a [`PARTS`]-th of the window wide. Fixed memory, no owner, and exact in the one
//! direction that counts: an end is rounded up, so nothing is forgotten early, and by less than a bucket's width late.
//!
//! Buckets are the truth about what lingers. They are written under the lock, as whole contents, so that a write that was cut
//! off can be done again (`settle.rs`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets of one resource: twice what a window needs, so that the ring never meets an end that is still to come.
pub const BUCKETS: usize = 64;
/// How many buckets a window is long.
pub const PARTS: u64 = 32;

const _: () = assert!(BUCKETS as u64 >= 2 * PARTS);

/// Amounts that end together.
#[repr(C)]
struct Bucket {
    ends_at: AtomicU64,
    /// Wider than a limit: what has happened is counted, however much it is.
    amount: AtomicU64,
}

/// What lingers of one resource.
#[repr(C, align(64))]
pub struct Buckets {
    ring: [Bucket; BUCKETS],
}

/// What one bucket is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filling {
    /// Which one.
    pub bucket: u32,
    /// When all of it ends.
    pub ends_at: u64,
    /// How much it is.
    pub amount: u64,
}

impl Buckets {
    /// What a bucket will hold with this much more, which lingers until then.
    pub fn filling(&self, amount: u32, until: u64, window: u64) -> Filling {
        let width = (window / PARTS).max(1);
        let round = until.div_ceil(width);
        let bucket = (round % BUCKETS as u64) as u32;
        let (ends_at, before) = self.read(bucket);
        // After a change of the window two ends may meet here. The later one is right for both: never early.
        let ends_at = if before == 0 { round * width } else { ends_at.max(round * width) };
        Filling { bucket, ends_at, amount: before + u64::from(amount) }
    }

    /// Fills a bucket. Twice is as good as once.
    pub fn fill(&self, filling: Filling) {
        let bucket = &self.ring[filling.bucket as usize % BUCKETS];
        bucket.ends_at.store(filling.ends_at, Relaxed);
        bucket.amount.store(filling.amount, Relaxed);
    }

    /// Empties the next bucket whose end has come. Answers with what was in it.
    pub fn lapse(&self, now: u64) -> Option<u64> {
        let ended =
            |bucket: &&Bucket| bucket.amount.load(Relaxed) != 0 && bucket.ends_at.load(Relaxed) <= now;
        self.ring.iter().find(ended).map(|bucket| bucket.amount.swap(0, Relaxed))
    }

    /// How much lingers after this moment.
    pub fn after(&self, now: u64) -> u64 {
        self.filled().filter(|(ends_at, _)| *ends_at > now).map(|(_, amount)| amount).sum()
    }

    /// When the next of it ends after this moment; never, if nothing lingers.
    pub fn next_end(&self, now: u64) -> u64 {
        self.filled().map(|(ends_at, _)| ends_at).filter(|ends_at| *ends_at > now).min().unwrap_or(u64::MAX)
    }

    fn filled(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..BUCKETS as u32).map(|bucket| self.read(bucket)).filter(|(_, amount)| *amount != 0)
    }

    fn read(&self, bucket: u32) -> (u64, u64) {
        let bucket = &self.ring[bucket as usize];
        (bucket.ends_at.load(Relaxed), bucket.amount.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WINDOW: u64 = 60_000;

    fn empty() -> Buckets {
        Buckets {
            ring: [const { Bucket { ends_at: AtomicU64::new(0), amount: AtomicU64::new(0) } }; BUCKETS],
        }
    }

    fn lapse_all(buckets: &Buckets, now: u64) -> u64 {
        std::iter::from_fn(|| buckets.lapse(now)).sum()
    }

    #[test]
    fn a_busy_minute_needs_no_more_room_than_a_quiet_one() {
        let buckets = empty();
        for call in 0..100_000u64 {
            let now = call * WINDOW / 100_000;
            buckets.fill(buckets.filling(7, now + WINDOW, WINDOW));
        }
        assert_eq!(buckets.after(WINDOW - 1), 700_000);
        assert_eq!(lapse_all(&buckets, 2 * WINDOW + WINDOW / PARTS), 700_000);
        assert_eq!((buckets.after(0), buckets.next_end(0)), (0, u64::MAX));
    }

    #[test]
    fn what_ends_late_keeps_what_shares_its_bucket_under_another_window() {
        let buckets = empty();
        buckets.fill(buckets.filling(5, BUCKETS as u64 * 10, PARTS * 10));
        buckets.fill(buckets.filling(2, BUCKETS as u64, PARTS));
        assert_eq!(buckets.after(BUCKETS as u64 * 10 - 1), 7);
        assert_eq!(lapse_all(&buckets, BUCKETS as u64 * 10), 7);
    }

    proptest! {
        /// Against a list of every single amount: nothing is early, nothing later than a bucket's width, nothing lost.
        #[test]
        fn never_early_and_never_a_buckets_width_late(
            window in 1_000..100_000u64,
            calls in prop::collection::vec((0..5_000u64, 1..1_000u32, 0..=100u64), 1..200),
        ) {
            let buckets = empty();
            let (mut now, mut counted) = (0, Vec::new());
            for (pause, amount, percent) in calls {
                now += pause;
                lapse_all(&buckets, now);
                let until = now + window * percent / 100;
                buckets.fill(buckets.filling(amount, until, window));
                counted.push((until, u64::from(amount)));
                let after = |time: u64| counted.iter().filter(|(until, _)| *until > time).map(|(_, n)| n).sum();
                let (least, most): (u64, u64) = (after(now), after(now.saturating_sub(window / PARTS + 1)));
                prop_assert!((least..=most).contains(&buckets.after(now)), "{} of {least}..{most}", buckets.after(now));
            }
        }
    }
}
