//! Names for new runs.

use convoke_model::{RunId, Timestamp};

/// Letters that are not mistaken for each other when read aloud or copied by hand.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A name such as `20261115-101532-7k3q`: sorts by time, the rest is from `entropy`.
///
/// Two runs of one second collide once in a million; creating the second fails, and another name is then tried.
pub fn run_id(at: Timestamp, entropy: u64) -> RunId {
    let text = at.rfc3339();
    let digits: String = text.chars().filter(char::is_ascii_digit).take(14).collect();
    let suffix: String =
        (0..4).map(|i| char::from(ALPHABET[(entropy >> (5 * i)) as usize % ALPHABET.len()])).collect();
    RunId(format!("{}-{}-{suffix}", &digits[..8], &digits[8..]).into())
}

/// Whether a name can be a folder of ours: nothing that climbs, hides or surprises.
pub(crate) fn is_safe(run: &RunId) -> bool {
    let name = &run.0;
    (1..=100).contains(&name.len())
        && !name.starts_with(['.', '-'])
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_differ_by_entropy() {
        let at = Timestamp(1_794_700_800_000_000);
        assert_eq!(&*run_id(at, 0).0, "20261115-000000-0000");
        assert_ne!(run_id(at, 1), run_id(at, 2));
        assert!(run_id(at, u64::MAX) < run_id(Timestamp(at.0 + 1_000_000), 0));
        assert!(is_safe(&run_id(at, 77)));
    }

    #[test]
    fn names_that_climb_or_hide_are_not_ours() {
        for name in ["", "..", "a/b", ".hidden", "-rf", "a b", "é", &"x".repeat(101)] {
            assert!(!is_safe(&RunId(name.into())), "{name}");
        }
    }
}
