//! How many tokens a model takes in, and how much of a text it is shown.
//!
//! A call may ask several models: its own and those after it, a cheaper one where a budget is spent, a grader, a model that
//! repairs. Each request is measured by the window of the model that gets it. A window that the file states holds for the
//! step's own models; any other model has the smaller of that and its known one. A coding agent minds its own context.

use convoke_model::catalog::known_window;
use convoke_model::excerpt::{bytes_of_tokens, tokens};
use convoke_model::{AgentCall, MAX_TOKENS, WindowSource};

/// What a text has at least, in bytes: fewer say nothing.
const LEAST: usize = 200;

/// The window of a model that this call may ask, where it is known.
pub(crate) fn window_of(call: &AgentCall, model: &str) -> Option<u64> {
    let (bounds, provider) = (&call.settings.capabilities, &call.settings.provider);
    if provider.program.is_some() {
        return None;
    }
    let known = || known_window(&provider.name, model);
    match bounds.window_source {
        WindowSource::Stated if is_own(call, model) => Some(bounds.context_window),
        WindowSource::Stated => Some(known().unwrap_or(u64::MAX).min(bounds.context_window)),
        WindowSource::Model if is_own(call, model) => known().or(Some(bounds.context_window)),
        WindowSource::Model | WindowSource::Guess => known(),
    }
}

fn is_own(call: &AgentCall, model: &str) -> bool {
    let mut others = call.settings.fallback.iter().flat_map(|fallback| &fallback.models);
    model == call.model || others.any(|other| other == model)
}

/// The bytes that texts may have beside these words, in a request to a model of this call: the window without the answer, and
/// without a sixteenth for headings and for texts that are denser than they are taken for.
pub(crate) fn bytes_beside(call: &AgentCall, model: &str, beside: &[&str]) -> usize {
    let Some(window) = window_of(call, model) else { return usize::MAX };
    let answer = call.settings.max_tokens.unwrap_or(MAX_TOKENS).min(window / 4);
    let words: u64 = beside.iter().map(|text| tokens(text)).sum();
    let left = window.saturating_sub(answer + window / 16 + words);
    bytes_of_tokens(left)
}

/// How many bytes two texts of these lengths may keep of so many: the first a third of them, and each what the other leaves.
pub(crate) fn shared(bytes: usize, first: usize, second: usize) -> (usize, usize) {
    let third = bytes / 3;
    let second_most = bytes.saturating_sub(first.min(third)).max(LEAST);
    let first_most = bytes.saturating_sub(second.min(second_most)).max(LEAST);
    (first_most, second_most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_what_the_other_leaves() {
        assert_eq!(shared(9_000, 100, 20_000), (200, 8_900));
        assert_eq!(shared(9_000, 20_000, 20_000), (3_000, 6_000));
        assert_eq!(shared(9_000, 20_000, 1_000), (8_000, 6_000));
        assert_eq!(shared(usize::MAX, 5, 7).1, usize::MAX - 5);
    }
}
