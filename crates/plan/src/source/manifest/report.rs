//! The result of a manifest: the answer, and how the work was done.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::super::text::{Spanned, Text};
use super::super::workflow::{Entry, Templates};
use super::Mode;
use super::lower::Work;
use super::order::Order;
use super::synthesis::Answer;
use super::texts::literal;

/// How the work was done, as far as the manifest tells it; what is counted at run time is a template.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    /// What is known now, in the order of the result.
    pub known: Map<String, Value>,
    /// What is known at the end.
    pub counted: Vec<(&'static str, String)>,
}

/// Agents by dependency levels.
pub(super) fn by_levels(mode: Mode, order: &Order<'_>, turns: &[Vec<usize>]) -> Shape {
    let mut known = Map::new();
    known.insert("mode".to_owned(), json!(mode.word()));
    let names = |unit: &usize| order.expanded(*unit).unwrap_or_else(|| vec![order.name(*unit)]);
    let waves: Vec<Vec<String>> = turns.iter().map(|turn| turn.iter().flat_map(names).collect()).collect();
    let length = waves.len();
    let mut counted = Vec::new();
    if let Some(count) = order.count() {
        known.insert("agent_count".to_owned(), json!(count));
        known.insert("parallelism_ratio".to_owned(), json!(ratio(count, length)));
    } else {
        let count = counted_at_run_time(order);
        counted.push(("agent_count", format!("{{{{ {count} }}}}")));
        counted.push(("parallelism_ratio", format!("{{{{ (({count}) / {}) | round(2) }}}}", length.max(1))));
    }
    known.insert("critical_path_length".to_owned(), json!(length));
    known.insert("wave_count".to_owned(), json!(length));
    known.insert("waves".to_owned(), json!(waves));
    Shape { known, counted }
}

/// Agents to levels, as the original rounds it.
fn ratio(count: usize, levels: usize) -> f64 {
    (count as f64 / levels.max(1) as f64 * 100.0).round() / 100.0
}

/// An expression for how many agents ran: those that are known, and the items of fan-outs.
fn counted_at_run_time(order: &Order<'_>) -> String {
    let mut terms =
        vec![(0..order.units.len()).filter_map(|unit| order.expanded(unit)).flatten().count().to_string()];
    for unit in (0..order.units.len()).filter(|unit| order.expanded(*unit).is_none()) {
        let name = order.name(unit);
        if is_identifier(&name) {
            terms.push(format!("({name}.count if {name} is defined else 0)"));
        }
    }
    terms.join(" + ")
}

fn is_identifier(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The templates of the result.
pub(super) fn output(work: &Work, answer: &Answer) -> Templates {
    let merged = &answer.merged;
    let from = answer.verified.as_ref().unwrap_or(merged);
    let mut result: Vec<(&str, String)> = vec![
        ("answer", format!("{{{{ {from}.output.result | json }}}}")),
        ("strategy", format!("{{{{ {merged}.output.strategy }}}}")),
    ];
    if answer.votes {
        result.push(("vote", format!("{{{{ {merged}.output.vote | json }}}}")));
    }
    if let Some(verified) = &answer.verified {
        let parts = ["verdict", "findings", "rounds"].map(|key| format!("'{key}': {verified}.output.{key}"));
        result.push(("verification", format!("{{{{ {{{}}} | json }}}}", parts.join(", "))));
    }
    for key in ["missing", "sources"] {
        result.push((key, format!("{{{{ {merged}.output.{key} | default([]) | json }}}}")));
    }
    result.extend(work.shape.known.iter().map(|(key, value)| (key.as_str(), literal(&value.to_string()))));
    result.extend(work.shape.counted.iter().map(|(key, text)| (*key, text.clone())));
    let entry = |(key, text): (&str, String)| {
        let span = answer.span.clone();
        let value = Text::opaque(text, span.clone());
        (key.to_owned(), Entry { key: Spanned::new(key.to_owned(), span), value })
    };
    result.into_iter().map(entry).collect::<IndexMap<_, _>>()
}

/// What is kept with the run: counts, not names, because there may be ten thousand.
pub(super) fn record(work: &Work, batch_size: Option<&Spanned<u64>>) -> Value {
    let small = work.shape.known.iter().filter(|(_, value)| !value.is_array());
    let small = small.map(|(key, value)| (key.clone(), value.clone()));
    let batch = batch_size.map(|size| ("batch_size".to_owned(), json!(size.value)));
    Value::Object(small.chain(batch).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_rounded_to_two_places() {
        assert_eq!((ratio(5, 3), ratio(6, 1), ratio(4, 3), ratio(0, 0)), (1.67, 6.0, 1.33, 0.0));
    }
}
