//! How much of each result a prompt shows, so that all of them together stay within bounds.
//!
//! Pure. Sizes are bytes, which tokens are estimated from (`excerpt`). What short results leave over is given to long
//! ones; what is cut says how the rest can be read. Invariant: the heads of the results that are shown together take no more
//! than the room for them, with the marks before their lines no more than [`with_marks`] of it; more are not shown. The room
//! follows from the window of the model that is asked.

use crate::composite::merge::Bounds;
use crate::context::level;
use convoke_model::excerpt::{bytes_of_tokens, clipped, place_of, tokens_of_bytes};

/// Bytes of one result, of all that a prompt shows, and what every result has whatever their number.
const MOST: usize = 8_000;
const ALL: usize = 16 * MOST;
const LEAST: usize = 200;
/// Less than this is no room: the request is refused where it would be sent.
const SMALLEST: usize = 4_000;

/// Characters of one thing that is said about a task: what it is, what it came to in a sentence, why.
const LINE: usize = 400;

/// Bytes of what stands around the things that are said about a task.
const HEADING: usize = 64;

/// Characters of what the model is told about the last try.
const NOTE: usize = 4_000;

/// Results and digests that one question makes a digest of, at most: each has some hundred characters of it.
const GROUP: usize = 64;

/// Heads that stand in the place of a digest: as many as one question would have made it of.
pub(in crate::composite::goal) const HEADS: usize = GROUP;

/// What a prompt has for one list of results or tasks, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::composite::goal) struct Room {
    pub all: usize,
}

impl Room {
    /// Of a model whose prompt may have so many tokens. A prompt has two lists at most, each with marks before its lines;
    /// the rest is for the goal, its context and what is to be done.
    pub fn within(tokens: u64) -> Room {
        let all = bytes_of_tokens(tokens) / 7 * 2;
        Room { all: all.clamp(SMALLEST, ALL) }
    }

    /// Tasks that a prompt lists, and results that it shows: as many as have their [`LEAST`].
    pub fn shown(self) -> usize {
        self.all / LEAST
    }

    /// Of one result.
    fn most(self) -> usize {
        MOST.min(self.all / 4)
    }

    /// Bytes of what stands in the place of a digest that could not be made.
    pub fn digest(self) -> usize {
        self.most()
    }

    /// Bytes of a digest that are shown: two of them fit side by side.
    pub fn longest_digest(self) -> usize {
        self.all / 4
    }

    fn line_length(self) -> usize {
        LINE.min(self.all / 32)
    }

    /// What is said about a task, as lists of tasks show it.
    pub fn line(self, text: &str) -> String {
        clipped(text, self.line_length())
    }

    /// What went wrong, or is advised, as the next model is told.
    pub fn note(self, text: &str) -> String {
        clipped(text, NOTE.min(self.all / 8))
    }

    /// The size of a result.
    pub fn size(self, text: &str, beside: usize, listed: usize, reads_on: bool) -> Size {
        let head = self.most_of(text, reads_on);
        Size { head, marked_head: marked(&text[..head]), result: marked(text), beside, listed }
    }

    /// Whether results of these sizes are put together by one question: all are listed, none is shown shorter because of
    /// the others, and none is cut for a model that cannot read on.
    pub fn fit(self, sizes: &[Size]) -> bool {
        let total = |size: fn(&Size) -> usize| sizes.iter().map(size).sum::<usize>();
        sizes.len() <= self.shown()
            && total(|size| size.head) <= self.all
            && total(|size| size.marked_head) <= with_marks(self.all)
            && total(|size| size.listed) <= self.all
    }

    /// What one question takes of results that do not.
    pub fn bounds(self) -> Bounds {
        Bounds { ratio: GROUP, tokens: tokens_of_bytes(self.all as u64), reshapes: false }
    }

    /// Bytes that what is said about a task takes beside its result.
    pub fn beside(self, texts: &[&str]) -> usize {
        let most = self.line_length();
        let length = |text: &&str| match place_of(text, most) {
            end if end < text.len() => end + 2,
            end => end,
        };
        HEADING + texts.iter().map(length).sum::<usize>()
    }

    /// The same of a digest.
    pub fn beside_digest(self) -> usize {
        HEADING + self.line_length()
    }

    /// How many bytes of each text are shown where all share so many: all of it, or its head. A model that cannot read on
    /// is shown as much as there is room for.
    pub fn heads(self, texts: &[String], reads_on: bool, all: usize) -> Vec<usize> {
        let ends: Vec<usize> = texts.iter().map(|text| self.most_of(text, reads_on)).collect();
        let mut sizes: Vec<usize> =
            texts.iter().zip(&ends).map(|(text, end)| marked(&text[..*end])).collect();
        if ends.iter().sum::<usize>() <= all && sizes.iter().sum::<usize>() <= with_marks(all) {
            return ends;
        }
        sizes.sort_unstable();
        let most = level(&sizes, all, LEAST);
        texts.iter().zip(ends).map(|(text, end)| head(&text[..end], most)).collect()
    }

    /// Of what a task builds on, how many are shown, given what is said beside each and the size of its result: those that
    /// have their [`LEAST`].
    pub fn inputs(self, sizes: impl Iterator<Item = (usize, usize)>) -> Inputs {
        let (mut shown, mut beside, mut least) = (0, 0, 0);
        for (said, result) in sizes.take(self.shown()) {
            (beside, least) = (beside + said, least + result.min(LEAST));
            if beside + least > self.all {
                beside -= said;
                break;
            }
            shown += 1;
        }
        Inputs { shown, all: self.all.min(with_marks(self.all) - beside) }
    }

    /// Shortens what is said about tasks so that a list of them stays within bounds.
    pub fn shorten(self, rows: &mut [[String; 3]]) {
        let room = self.all.saturating_sub(rows.len() * HEADING);
        let mut lengths: Vec<usize> = Vec::new();
        for text in rows.iter_mut().flatten() {
            *text = self.line(text);
            lengths.push(marked(text));
        }
        lengths.sort_unstable();
        let most = level(&lengths, room, HEADING / 4);
        for text in rows.iter_mut().flatten().filter(|text| marked(text) > most) {
            text.truncate(head(text, most - "…".len()));
            text.push('…');
        }
    }

    /// The end of what is shown of a text however few there are.
    fn most_of(self, text: &str, reads_on: bool) -> usize {
        if reads_on { text.floor_char_boundary(self.most()) } else { text.len() }
    }
}

/// How large a result and what is said about its task are in prompts.
#[derive(Debug, Clone, Copy)]
pub(in crate::composite::goal) struct Size {
    /// As much of the result as the last prompt shows at most, and the same with its marks.
    pub head: usize,
    pub marked_head: usize,
    /// All of the result, with the marks.
    pub result: usize,
    /// What is said about the task where its result becomes a part of a digest.
    pub beside: usize,
    /// What the last prompt says about the task.
    pub listed: usize,
}

/// What texts of so many bytes may take with the mark before each line: of usual lines it is much less.
fn with_marks(bytes: usize) -> usize {
    bytes + bytes / 8
}

/// Bytes that a text takes where `> ` stands before each of its lines.
pub(in crate::composite::goal) fn marked(text: &str) -> usize {
    if text.is_empty() {
        0
    } else {
        text.len() + 2 * (1 + text.bytes().filter(|byte| *byte == b'\n').count())
    }
}

/// Where the head of a text ends that takes at most so many bytes with its marks.
pub(in crate::composite::goal) fn head(text: &str, most: usize) -> usize {
    if marked(text) <= most {
        return text.len();
    }
    let mut taken = 2;
    let is_over = |(_, letter): &(usize, char)| {
        taken += letter.len_utf8() + if *letter == '\n' { 2 } else { 0 };
        taken > most
    };
    text.char_indices().find(is_over).map_or(text.len(), |(end, _)| end)
}

/// How many results are shown, and what they share.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::composite::goal) struct Inputs {
    pub shown: usize,
    pub all: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::excerpt::{headed, read_by};
    use proptest::prelude::*;

    /// Of a model with the usual window.
    const FULL: Room = Room { all: ALL };

    fn of(lengths: &[usize]) -> Vec<usize> {
        let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
        FULL.heads(&texts, true, ALL)
    }

    #[test]
    fn who_cannot_read_on_is_shown_all_that_there_is_room_for_and_told_of_no_tool() {
        let long = ["x".repeat(40_000)];
        assert_eq!((FULL.heads(&long, true, ALL), FULL.heads(&long, false, ALL)), (vec![MOST], vec![40_000]));
        assert!(
            headed(&long[0], MOST, read_by(Some(2)))
                .ends_with("[… 32000 more characters; `read_result` with the name `r2` reads it]")
        );
        assert!(headed(&long[0], MOST, read_by(None)).ends_with("x\n[… 32000 more characters]"));
    }

    #[test]
    fn what_short_results_leave_over_goes_to_long_ones() {
        assert_eq!(of(&[10, 9_000]), [10, MOST]);
        let mut lengths = vec![100; 20];
        lengths.extend([8_000; 15]);
        assert_eq!(of(&lengths), lengths, "all of it fits");
        assert!(of(&[8_000; 32]).iter().all(|head| *head == ALL / 32 - 2));
    }

    fn fits(results: &[&str], listed: usize, reads_on: bool) -> bool {
        let sizes: Vec<Size> = results.iter().map(|text| FULL.size(text, 0, listed, reads_on)).collect();
        FULL.fit(&sizes)
    }

    #[test]
    fn as_much_as_is_shown_whole_side_by_side_fits() {
        let long = "x".repeat(20_000);
        assert!(fits(&[long.as_str(); 16], 100, true));
        assert!(!fits(&[long.as_str(); 17], 100, true));
    }

    #[test]
    fn what_is_said_beside_results_counts() {
        assert!(fits(&["short"; 600], 200, true));
        assert!(!fits(&["short"; 600], 1_500, true), "900 000 characters are no question");
    }

    #[test]
    fn the_marks_before_lines_count() {
        let lines = "x\n".repeat(4_000);
        assert!(fits(&[lines.as_str(); 8], 100, true));
        assert!(!fits(&[lines.as_str(); 16], 100, true), "twice as much as its letters");
        let cut = &lines[..head(&lines, 1_000)];
        assert!(marked(cut) <= 1_000 && marked(cut) > 990, "{}", marked(cut));
    }

    #[test]
    fn who_cannot_read_on_is_asked_about_whole_results_only() {
        let (long, longer) = ("x".repeat(60_000), "x".repeat(130_000));
        assert!(fits(&[&long, &long], 100, false));
        assert!(!fits(&[&long, &long, &long], 100, false) && fits(&[&long, &long, &long], 100, true));
        assert!(!fits(&[&longer], 100, false));
    }

    #[test]
    fn inputs_are_shown_as_long_as_each_has_its_least() {
        assert_eq!(FULL.inputs(std::iter::repeat_n((100, 3_000), 10)), Inputs { shown: 10, all: ALL });
        let many = FULL.inputs(std::iter::repeat_n((364, 3_000), 1_500));
        assert_eq!(many.shown, ALL / 564);
        assert!(many.all + many.shown * 364 <= with_marks(ALL));
        assert_eq!(FULL.inputs(std::iter::repeat_n((1, 1), 1_500)).shown, FULL.shown());
    }

    proptest! {
        #[test]
        fn together_they_stay_within_bounds(lengths in prop::collection::vec(0usize..20_000, 0..60)) {
            let heads = of(&lengths);
            prop_assert!(heads.iter().sum::<usize>() <= ALL);
            prop_assert!(heads.iter().zip(&lengths).all(|(head, length)| head <= length && *head <= MOST));
            prop_assert!(heads.iter().zip(&lengths).all(|(head, length)| *head >= (LEAST - 2).min(*length)));
        }
    }

    // Each has up to four megabytes.
    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn a_list_of_tasks_stays_within_bounds(lengths in prop::collection::vec(0usize..1_000, 1..640)) {
            let row = |length: &usize| [(); 3].map(|()| "é".repeat(*length));
            let mut rows: Vec<[String; 3]> = lengths.iter().map(row).collect();
            FULL.shorten(&mut rows);
            let total: usize = rows.iter().flatten().map(|text| marked(text)).sum();
            prop_assert!(total + rows.len() * HEADING <= ALL, "{}", total);
            prop_assert!(rows.iter().flatten().zip(lengths.iter().flat_map(|length| [length; 3]))
                .all(|(text, length)| !text.is_empty() || *length == 0));
        }
    }
}
