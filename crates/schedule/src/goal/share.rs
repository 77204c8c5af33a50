//! How much of each result a prompt shows, so that all of them together stay within bounds.
//!
//! Pure. What short results leave over is given to long ones; what is cut says how the rest can be read. Invariant: the
//! heads of up to [`SHOWN`] results together take no more than [`ALL`] characters; more are not shown.

use crate::merge::Bounds;

/// Characters of one result, of all that a prompt shows, and what every result has whatever their number.
const MOST: usize = 8_000;
/// The same for somebody who has no tool to read on, such as a program with tools of its own.
const MOST_AT_ONCE: usize = 4 * MOST;
const ALL: usize = 16 * MOST;
const LEAST: usize = 200;

/// Tasks that a prompt lists, and results that it shows: as many as have their [`LEAST`] within [`ALL`].
pub(super) const SHOWN: usize = ALL / LEAST;

/// Characters of one thing that is said about a task: what it is, what it came to in a sentence, why.
const LINE: usize = 400;

/// Characters of what whoever is asked is told about the last try.
const NOTE: usize = 4_000;

/// What is said about a task, as lists of tasks show it.
pub(super) fn line(text: &str) -> String {
    clipped(text, LINE)
}

/// What went wrong, or is advised, as whoever is asked next is told.
pub(super) fn note(text: &str) -> String {
    clipped(text, NOTE)
}

fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Results and digests that one question makes a digest of, at most: each has some hundred characters of it.
const GROUP: usize = 64;

/// Characters of a digest, and of what stands in its place where nobody could make it.
pub(super) const DIGEST: usize = MOST;

/// Whether results of these lengths are put together by one question: all are listed, and none is shown shorter because
/// of the others.
pub(super) fn fit(mut lengths: Vec<usize>, reads_on: bool) -> bool {
    lengths.sort_unstable();
    lengths.len() <= SHOWN && level(&lengths, most(reads_on)) == most(reads_on)
}

/// What one question takes of results that do not.
pub(super) fn bounds() -> Bounds {
    Bounds { ratio: GROUP, tokens: tokens(ALL), reshapes: false }
}

/// So many characters in tokens, as everywhere in this crate.
pub(super) fn tokens(characters: usize) -> u64 {
    (characters as u64).div_ceil(4)
}

/// Characters that what is said about a task takes beside its result.
pub(super) fn beside(texts: [usize; 2]) -> usize {
    const HEADING: usize = 64;
    HEADING + texts.into_iter().map(|length| length.min(LINE)).sum::<usize>()
}

/// How many bytes of each text are shown: all of it, or its head. Who cannot read on is shown more at once.
pub(super) fn heads(texts: &[String], reads_on: bool) -> Vec<usize> {
    let mut lengths: Vec<usize> = texts.iter().map(String::len).collect();
    lengths.sort_unstable();
    let most = level(&lengths, most(reads_on));
    texts
        .iter()
        .map(|text| if text.len() <= most { text.len() } else { text.floor_char_boundary(most) })
        .collect()
}

fn most(reads_on: bool) -> usize {
    if reads_on { MOST } else { MOST_AT_ONCE }
}

/// The height at which texts are cut: as high as what they share allows. They come sorted.
fn level(lengths: &[usize], most: usize) -> usize {
    let (mut left, mut open) = (ALL, lengths.len());
    for length in lengths {
        let fair = (left / open).clamp(LEAST, most);
        if *length > fair {
            return fair;
        }
        (left, open) = (left.saturating_sub(*length), open - 1);
    }
    most
}

/// The head of a text, and how to read on, for who can.
pub(super) fn cut(text: &str, head: usize, number: Option<usize>) -> String {
    let left = text[head..].chars().count();
    let how = number.map(|number| format!("; `read_result` with the name `r{number}` reads it"));
    format!("{}\n[… {left} more characters{}]", &text[..head], how.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(lengths: &[usize]) -> Vec<usize> {
        let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
        heads(&texts, true)
    }

    #[test]
    fn who_cannot_read_on_is_shown_more_and_told_of_no_tool() {
        let long = ["x".repeat(40_000)];
        assert_eq!((heads(&long, true), heads(&long, false)), (vec![MOST], vec![4 * MOST]));
        assert!(
            cut(&long[0], MOST, Some(2))
                .ends_with("[… 32000 more characters; `read_result` with the name `r2` reads it]")
        );
        assert!(cut(&long[0], MOST, None).ends_with("x\n[… 32000 more characters]"));
    }

    #[test]
    fn what_short_results_leave_over_goes_to_long_ones() {
        assert_eq!(of(&[10, 9_000]), [10, MOST]);
        let mut lengths = vec![100; 20];
        lengths.extend([8_000; 15]);
        assert_eq!(of(&lengths), lengths, "all of it fits");
        assert!(of(&[8_000; 32]).iter().all(|head| *head == ALL / 32));
    }

    proptest! {
        #[test]
        fn together_they_stay_within_bounds(lengths in prop::collection::vec(0usize..20_000, 0..60)) {
            let heads = of(&lengths);
            prop_assert!(heads.iter().sum::<usize>() <= ALL);
            prop_assert!(heads.iter().zip(&lengths).all(|(head, length)| head <= length && *head <= MOST));
            prop_assert!(heads.iter().zip(&lengths).all(|(head, length)| *head >= LEAST.min(*length)));
        }
    }
}
