//! `${NAME}` and `${NAME:-default}` in values that become part of the plan.
//!
//! What a reference looks like and stands for is `convoke_model::reference`'s; here every one of a text is followed, and
//! the rest keeps its places in the file.

use super::super::text::Segment;
use convoke_model::reference::{self, Lookup, Unresolved};

/// A text after substitution.
#[derive(Debug, Default)]
pub(in crate::source) struct Substituted {
    /// The text.
    pub text: String,
    /// What was copied: places in the new text (`value_start`) and in the old one (`source_start`).
    pub copied: Vec<Segment>,
    /// What could not be followed, with the byte range of the reference in the old text.
    pub problems: Vec<(std::ops::Range<usize>, Unresolved)>,
}

/// Whether a text can contain a reference at all.
pub(in crate::source) fn has_reference(text: &str) -> bool {
    text.contains("${")
}

/// Follows every reference of a text.
pub(in crate::source) fn substitute(text: &str, lookup: Lookup<'_>) -> Substituted {
    let mut result = Substituted::default();
    let mut done = 0;
    while let Some(found) = reference::next(text, done) {
        result.copy(text, done..found.range.start);
        done = found.range.end;
        match found.follow(lookup) {
            Ok(value) => result.text.push_str(&value),
            Err(problem) => result.problems.push((found.range, problem)),
        }
    }
    result.copy(text, done..text.len());
    result
}

impl Substituted {
    fn copy(&mut self, text: &str, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (value_start, source_start, length) = (self.text.len(), range.start, range.len());
        self.copied.push(Segment { value_start, source_start, length });
        self.text.push_str(&text[range]);
    }

    /// Places of the new text in the file, given those of the old one.
    pub fn places(&self, old: &[Segment]) -> Vec<Segment> {
        self.copied.iter().flat_map(|copy| touching(copy, old)).collect()
    }
}

fn touching<'a>(copy: &'a Segment, old: &'a [Segment]) -> impl Iterator<Item = Segment> + 'a {
    let first = old.partition_point(|segment| segment.value_start + segment.length <= copy.source_start);
    let end = copy.source_start + copy.length;
    let near = old[first..].iter().take_while(move |segment| segment.value_start < end);
    near.filter_map(|segment| overlap(copy, segment))
}

fn overlap(copy: &Segment, segment: &Segment) -> Option<Segment> {
    let start = copy.source_start.max(segment.value_start);
    let end = (copy.source_start + copy.length).min(segment.value_start + segment.length);
    (start < end).then(|| Segment {
        value_start: copy.value_start + (start - copy.source_start),
        source_start: segment.source_start + (start - segment.value_start),
        length: end - start,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(name: &str) -> Option<String> {
        let known = [("A", "1"), ("EMPTY", ""), ("OUTER", "<${A}>"), ("LOOP", "${LOOP}")];
        known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn references_are_followed_and_nothing_else_is_touched() {
        let cases = [
            ("x${A}y", "x1y"),
            ("${EMPTY:-d}", ""),
            ("${NO:-d}", "d"),
            ("${NO:-}", ""),
            ("${NO:-${A}}z", "1z"),
            ("${OUTER}", "<1>"),
            ("$A $${ ${1x} ${a.b} ${A", "$A $${ ${1x} ${a.b} ${A"),
            ("{{ '$' }}{x}", "{{ '$' }}{x}"),
        ];
        for (text, expected) in cases {
            assert_eq!(substitute(text, &world).text, expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_named_with_its_place() {
        let found = substitute("a ${NO} ${LOOP}", &world).problems;
        let expected =
            vec![(2..7, Unresolved::Unset("NO".into())), (8..15, Unresolved::TooDeep("LOOP".into()))];
        assert_eq!(found, expected);
    }

    #[test]
    fn copied_parts_keep_their_places() {
        let found = substitute("ab${OUTER}cd", &world);
        let old = [Segment { value_start: 0, source_start: 100, length: 12 }];
        let places = found.places(&old);
        assert_eq!(found.text, "ab<1>cd");
        assert_eq!(places[1], Segment { value_start: 5, source_start: 110, length: 2 });
    }
}
