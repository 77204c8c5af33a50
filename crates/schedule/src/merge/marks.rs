//! Marks: how a synthesis points to the outputs that it came from.
//!
//! The n-th source of a merge has the mark `Sn`. Prompts show it before each output, models put it behind what they
//! took from there, and the result lists which sources its text names.

use std::collections::BTreeSet;

/// The mark of a source, counted from 0.
pub(super) fn mark(index: usize) -> String {
    format!("S{}", index + 1)
}

/// The sources, counted from 0, that a text names in square brackets: `[S3]`, `[S3, S7]`.
pub(super) fn cited(text: &str, sources: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for inside in text.split('[').skip(1).filter_map(|rest| rest.split(']').next()) {
        for word in inside.split([',', ' ', ';']).filter(|word| !word.is_empty()) {
            found.extend(
                Some(word)
                    .filter(|word| word.starts_with(['S', 's']))
                    .and_then(|word| index_of(word, sources)),
            );
        }
    }
    found
}

/// The source that a mark stands for, however a model spells it: `S3`, `[S3]`, `s3`, `3`.
pub(super) fn index_of(spelt: &str, sources: usize) -> Option<usize> {
    let bare = spelt.trim().trim_matches(['[', ']']);
    let number = bare.strip_prefix(['S', 's']).unwrap_or(bare);
    let number: usize = number.parse().ok()?;
    (1..=sources).contains(&number).then(|| number - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_where_they_stand_in_brackets() {
        let text = "One [S1]. Two [S2, S10] and [s3]. Not [S99], not S4, not [see 5 notes]… [S2]";
        let found: Vec<_> = cited(text, 10).into_iter().collect();
        assert_eq!(found, [0, 1, 2, 9]);
        assert_eq!(index_of("[S3]", 3), Some(2));
        assert_eq!(index_of("S4", 3), None);
    }
}
