//! What a pipeline as a whole comes to: a pure function of which phases ran, how they ended and what followed from what.
//!
//! The executed graph has the phases that ran and the edges that were taken. A leaf is a phase from which no edge was
//! taken; a critical phase stands on a longest chain of that graph, counted in phases (all of them where several are
//! equally long). Counted in phases and not in seconds, so that the same answers give the same verdict however fast they
//! came.

use std::cmp::Reverse;

/// One phase that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Whether it ended in anything but success.
    pub failed: bool,
    /// Whether it counts whatever its edges led to: a write of it was lost, which no other phase makes good.
    pub counts: bool,
    /// The phases before it from which taken edges lead here, as indexes of the list.
    pub after: Vec<usize>,
    /// Its place in the file: of equal chains the first of the file is named.
    pub place: u32,
}

/// What they come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// A longest chain, in order; one with a failure if there is any.
    pub critical_path: Vec<usize>,
    /// Failed phases that count: leaves, those on a longest chain, and those that always do. Empty means success.
    pub faults: Vec<usize>,
}

/// Judges phases that ran; each stands behind those that it followed.
pub(crate) fn verdict(ran: &[Ran]) -> Verdict {
    let up = lengths(ran);
    let mut down = vec![1; ran.len()];
    let mut is_leaf = vec![true; ran.len()];
    for (ix, phase) in ran.iter().enumerate().rev() {
        for before in &phase.after {
            down[*before] = down[*before].max(down[ix] + 1);
            is_leaf[*before] = false;
        }
    }
    let longest = up.iter().copied().max().unwrap_or(0);
    let is_critical = |ix: usize| up[ix] + down[ix] == longest + 1;
    let is_fault = |ix: &usize| ran[*ix].failed && (ran[*ix].counts || is_leaf[*ix] || is_critical(*ix));
    Verdict { critical_path: chain(ran, &up, longest), faults: (0..ran.len()).filter(is_fault).collect() }
}

/// For each phase, how many phases the longest chain has that ends with it.
fn lengths(ran: &[Ran]) -> Vec<u32> {
    let mut up: Vec<u32> = Vec::with_capacity(ran.len());
    for phase in ran {
        up.push(1 + phase.after.iter().map(|before| up[*before]).max().unwrap_or(0));
    }
    up
}

/// A longest chain; where there are several, one with most failures, then the first of the file.
fn chain(ran: &[Ran], up: &[u32], longest: u32) -> Vec<usize> {
    let mut failures: Vec<u32> = Vec::with_capacity(ran.len());
    let mut before: Vec<Option<usize>> = Vec::with_capacity(ran.len());
    for (ix, phase) in ran.iter().enumerate() {
        let candidates = phase.after.iter().copied().filter(|from| up[*from] + 1 == up[ix]);
        let best = candidates.max_by_key(|from| (failures[*from], Reverse(ran[*from].place)));
        failures.push(u32::from(phase.failed) + best.map_or(0, |from| failures[from]));
        before.push(best);
    }
    let ends = (0..ran.len()).filter(|ix| up[*ix] == longest);
    let last = ends.max_by_key(|ix| (failures[*ix], Reverse(ran[*ix].place)));
    let mut chain: Vec<usize> = std::iter::successors(last, |ix| before[*ix]).collect();
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ran(phases: &[(bool, &[usize])]) -> Vec<Ran> {
        let phase = |(place, (failed, after)): (usize, &(bool, &[usize]))| Ran {
            failed: *failed,
            counts: false,
            after: after.to_vec(),
            place: place as u32,
        };
        phases.iter().enumerate().map(phase).collect()
    }

    #[test]
    fn a_failed_leaf_counts_on_the_critical_path_and_off_it() {
        // 0 -> 1 -> 2 is the longest chain, 0 -> 3 is beside it.
        let beside = verdict(&ran(&[(false, &[]), (false, &[0]), (false, &[1]), (true, &[0])]));
        assert_eq!((beside.critical_path, beside.faults), (vec![0, 1, 2], vec![3]));
        let on_it = verdict(&ran(&[(false, &[]), (false, &[0]), (true, &[1]), (false, &[0])]));
        assert_eq!((on_it.critical_path, on_it.faults), (vec![0, 1, 2], vec![2]));
    }

    #[test]
    fn a_failure_that_was_taken_care_of_counts_only_on_the_critical_path() {
        // 1 failed and 3 took care of it; 0 -> 2 -> 4 -> 5 is longer.
        let beside = verdict(&ran(&[
            (false, &[]),
            (true, &[0]),
            (false, &[0]),
            (false, &[1]),
            (false, &[2]),
            (false, &[4]),
        ]));
        assert_eq!(beside.faults, Vec::<usize>::new());
        let on_it = verdict(&ran(&[(false, &[]), (true, &[0]), (false, &[1])]));
        assert_eq!(on_it.faults, [1]);
    }

    #[test]
    fn of_equally_long_chains_each_counts() {
        let found = verdict(&ran(&[(false, &[]), (false, &[0]), (true, &[0]), (false, &[1]), (false, &[2])]));
        assert_eq!((found.critical_path, found.faults), (vec![0, 2, 4], vec![2]));
    }

    #[test]
    fn nothing_that_ran_is_no_failure() {
        assert_eq!(verdict(&[]), Verdict::default());
    }

    /// Every chain, the slow way.
    fn chains(ran: &[Ran]) -> Vec<Vec<usize>> {
        let mut all: Vec<Vec<usize>> = Vec::new();
        for (ix, phase) in ran.iter().enumerate() {
            let ending: Vec<Vec<usize>> = match phase.after.is_empty() {
                true => vec![vec![ix]],
                false => all
                    .iter()
                    .filter(|chain| phase.after.contains(chain.last().unwrap()))
                    .map(|chain| [chain.as_slice(), &[ix]].concat())
                    .collect(),
            };
            all.extend(ending);
        }
        all
    }

    fn graph() -> impl Strategy<Value = Vec<Ran>> {
        prop::collection::vec(
            (any::<bool>(), any::<bool>(), prop::collection::vec(any::<prop::sample::Index>(), 0..3)),
            1..10,
        )
        .prop_map(|drawn| {
            let phase = |(ix, (failed, counts, after)): (usize, (bool, bool, Vec<prop::sample::Index>))| {
                let mut after: Vec<usize> =
                    after.iter().filter(|_| ix > 0).map(|from| from.index(ix.max(1))).collect();
                after.sort();
                after.dedup();
                Ran { failed, counts, after, place: ix as u32 }
            };
            drawn.into_iter().enumerate().map(phase).collect()
        })
    }

    proptest! {
        #[test]
        fn the_verdict_is_that_of_looking_at_every_chain(ran in graph()) {
            let all = chains(&ran);
            let longest = all.iter().map(Vec::len).max().unwrap_or(0);
            let is_leaf = |ix: usize| !ran.iter().any(|phase| phase.after.contains(&ix));
            let is_critical = |ix: usize| all.iter().any(|chain| chain.len() == longest && chain.contains(&ix));
            let expected: Vec<usize> =
                (0..ran.len()).filter(|ix| ran[*ix].failed && (ran[*ix].counts || is_leaf(*ix) || is_critical(*ix))).collect();
            let found = verdict(&ran);
            prop_assert_eq!(&found.faults, &expected);
            prop_assert!(all.contains(&found.critical_path) && found.critical_path.len() == longest);
        }
    }
}
