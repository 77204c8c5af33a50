//! The description of the outputs: all that the model sees of them by itself.
//!
//! Kept true: it is never longer than the stated number of characters, however many outputs there are and whatever
//! they are called. Where not all can be described, some from everywhere are; programs list the rest.

use super::library::Library;
use convoke_model::Missing;
use convoke_model::excerpt::first_chars;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Characters of an output's beginning, at most.
const PREFIX: usize = 200;
/// With less than this of each, only some are described.
const SHORT_PREFIX: usize = 40;
/// Characters of a title.
const TITLE: usize = 60;
/// Outputs that are missing and named.
const MISSING: usize = 5;

/// The description, in at most so many characters.
pub(super) fn describe(library: &Library, missing: &[Missing], budget: u64) -> String {
    let budget = usize::try_from(budget).unwrap_or(usize::MAX);
    let mut text = summary(library, missing);
    let room = budget.saturating_sub(text.chars().count() + REST);
    let entries = entries(library, room);
    for entry in &entries {
        text.push_str(entry);
    }
    if entries.len() < library.len() {
        let _ = write!(text, "These are {} of them; outputs() lists all.", entries.len());
    }
    first_chars(text.trim_end(), budget).to_owned()
}

/// Room for the last line.
const REST: usize = 60;

fn summary(library: &Library, missing: &[Missing]) -> String {
    let mut sizes: Vec<usize> = (0..library.len()).map(|index| library.output(index).chars).collect();
    sizes.sort_unstable();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    (0..library.len()).for_each(|index| *kinds.entry(library.output(index).kind()).or_default() += 1);
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let total: usize = sizes.iter().sum();
    let at = |index: usize| sizes.get(index).copied().unwrap_or_default();
    let mut text =
        format!("{} outputs, {total} characters in all. Types: {}.", library.len(), kinds.join(", "));
    let (median, largest) = (at(sizes.len() / 2), at(sizes.len().saturating_sub(1)));
    let _ = write!(text, " Characters of one: {} to {largest}, median {median}.", at(0));
    if !missing.is_empty() {
        let named = missing.iter().take(MISSING);
        let named = named.map(|gone| format!("{} ({})", short(&gone.task.0), short(&gone.cause)));
        let rest = if missing.len() > MISSING { ", …" } else { "" };
        let _ = write!(text, " Missing: {}: {}{rest}.", missing.len(), named.collect::<Vec<_>>().join(", "));
    }
    text.push_str("\n\n");
    text
}

fn short(text: &str) -> &str {
    first_chars(text, TITLE)
}

/// A line for each output, or for as many as there is room for, taken from everywhere.
fn entries(library: &Library, room: usize) -> Vec<String> {
    let bare: usize = (0..library.len()).map(|index| entry(library, index, 0).chars().count()).sum();
    let each = room.saturating_sub(bare) / library.len().max(1);
    if bare <= room && each >= SHORT_PREFIX.min(largest(library)) {
        let of_each = each.min(PREFIX);
        return (0..library.len()).map(|index| entry(library, index, of_each)).collect();
    }
    some(library, room)
}

fn largest(library: &Library) -> usize {
    (0..library.len()).map(|index| library.output(index).chars).max().unwrap_or_default()
}

fn some(library: &Library, room: usize) -> Vec<String> {
    let typical = entry(library, 0, SHORT_PREFIX * 2).chars().count().max(1);
    let count = (room / typical).clamp(1, library.len().max(1));
    let mut left = room;
    let mut entries = Vec::new();
    for place in 0..count.min(library.len()) {
        let line = entry(library, place * library.len() / count, SHORT_PREFIX * 2);
        let Some(after) = left.checked_sub(line.chars().count()) else { break };
        left = after;
        entries.push(line);
    }
    entries
}

fn entry(library: &Library, index: usize, prefix: usize) -> String {
    let (source, output) = (library.source(index), library.output(index));
    let mut line = format!(
        "- {} `{}`: {}, {} characters",
        source.mark,
        short(&source.title),
        output.kind(),
        output.chars
    );
    if prefix > 0 {
        let start = output.prefix(prefix);
        let dots = if output.chars > prefix { "…" } else { "" };
        let _ = write!(line, ": {start}{dots}");
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::super::tests::call_over;
    use super::*;
    use convoke_model::TaskId;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn described(outputs: &[Value], missing: &[Missing], budget: u64) -> String {
        describe(&Library::new(&call_over(outputs).sources), missing, budget)
    }

    #[test]
    fn a_few_outputs_are_all_described() {
        let text = described(&[json!("short words"), json!({"n": 1})], &[], 8_000);
        assert!(text.starts_with("2 outputs, 23 characters in all. Types: 1 record, 1 text."), "{text}");
        assert!(text.contains("- S1 `item 0`: text, 11 characters: short words\n"), "{text}");
        assert!(!text.contains("outputs()"), "{text}");
    }

    #[test]
    fn of_many_some_from_everywhere_are_described() {
        let outputs: Vec<Value> =
            (0..1000).map(|at| json!(format!("{at} {}", "word ".repeat(4_000)))).collect();
        let gone = Missing { task: TaskId("x".into()), cause: "failed".into() };
        let text = described(&outputs, &[gone], 8_000);
        assert!(text.chars().count() <= 8_000 && text.chars().count() > 6_000, "{}", text.chars().count());
        assert!(text.contains("- S1 ") && text.contains("- S9"), "{text}");
        assert!(text.contains("Missing: 1: x (failed)") && text.contains("outputs() lists all"), "{text}");
    }

    proptest! {
        #[test]
        fn it_is_never_longer_than_it_may_be(
            sizes in prop::collection::vec(0usize..3_000, 1..60),
            gone in 0usize..10,
            budget in 500u64..4_000,
        ) {
            let outputs: Vec<Value> = sizes.iter().map(|size| json!("é ".repeat(*size))).collect();
            let one = Missing { task: TaskId("t".repeat(200).into()), cause: "c".repeat(200) };
            let text = described(&outputs, &vec![one; gone], budget);
            prop_assert!(text.chars().count() as u64 <= budget);
            let head = format!("{} outputs", sizes.len());
            prop_assert!(text.starts_with(&head));
        }
    }
}
