//! Rounds: everything that is compared is measured in turn, so that a busy moment hits all of it.

use crate::error::Error;

/// How often things are measured.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// What takes milliseconds.
    pub many: usize,
    /// What takes a second.
    pub some: usize,
    /// What takes many seconds.
    pub few: usize,
}

impl Rounds {
    /// Enough for figures to publish.
    pub const FULL: Rounds = Rounds { many: 21, some: 7, few: 5 };
    /// Enough to see a change of a quarter.
    pub const QUICK: Rounds = Rounds { many: 7, some: 3, few: 1 };
}

/// Measures `cases` in turn, `rounds` times; what each case gave, in the order of the rounds.
pub fn interleave<C, T>(
    rounds: usize,
    cases: &[C],
    mut measure: impl FnMut(&C) -> Result<T, Error>,
) -> Result<Vec<Vec<T>>, Error> {
    let mut taken: Vec<Vec<T>> = cases.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (case, taken) in cases.iter().zip(&mut taken) {
            taken.push(measure(case)?);
        }
    }
    Ok(taken)
}

/// The middle of some numbers; between two, the mean.
pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn cases_take_turns() {
        let mut order = Vec::new();
        let taken = interleave(2, &['a', 'b'], |case| {
            order.push(*case);
            Ok(order.len())
        });
        assert_eq!(taken.unwrap(), [[1, 3], [2, 4]]);
        assert_eq!(order, ['a', 'b', 'a', 'b']);
    }
}
