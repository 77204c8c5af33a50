//! How long things took, to within an eighth, in a fixed number of counters.

/// Counters per doubling.
const STEPS: u64 = 8;
const COUNTERS: usize = 512;

#[derive(Debug)]
pub(crate) struct Histogram {
    counters: Box<[u64; COUNTERS]>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counters: Box::new([0; COUNTERS]), total: 0 }
    }
}

impl Histogram {
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.counters[index(value)] += 1;
        self.total += 1;
    }

    /// The value that `percent` of a hundred do not exceed, rounded up to the end of its counter.
    pub fn quantile(&self, percent: u64) -> u64 {
        let rank = (self.total * percent).div_ceil(100);
        let mut seen = 0;
        for (at, count) in self.counters.iter().enumerate() {
            seen += count;
            if *count > 0 && seen >= rank {
                return largest(at as u64);
            }
        }
        0
    }
}

/// Small values have a counter each; larger ones share one with those that agree in the first four bits.
fn index(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let doublings = u64::from(value.ilog2()) - 3;
    ((doublings + 1) * STEPS + (value >> doublings) - STEPS) as usize
}

fn largest(index: u64) -> u64 {
    if index < STEPS {
        return index;
    }
    let doublings = index / STEPS - 1;
    let first = (STEPS + index % STEPS) << doublings;
    first + ((1 << doublings) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_thousand() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(95), 0, "nothing waited");
        (1..=1_000).for_each(|value| histogram.add(value));
        assert!((500..=563).contains(&histogram.quantile(50)), "{}", histogram.quantile(50));
        assert!((950..=1_069).contains(&histogram.quantile(95)), "{}", histogram.quantile(95));
    }

    proptest! {
        #[test]
        fn a_counter_holds_values_within_an_eighth(value in 0u64..) {
            let end = largest(index(value) as u64);
            prop_assert!(end >= value && end - value <= value / 8);
        }
    }
}
