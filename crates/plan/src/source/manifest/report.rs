//! The result of a manifest: the answer, and how the work was done.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::super::text::{Spanned, Text};
use super::super::workflow::{Entry, Templates};
use super::Mode;
use super::lower::{Turns, Work};
use super::order::Order;
use super::synthesis::Answer;
use super::texts::literal;

/// What the output sees of all agents at the end: `missing`, and the `names` of what fan-outs ran.
pub(super) const WORK: &str = "_work";

/// How the work was done, as far as the manifest tells it; what is counted at run time is a template.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    /// What is known now, in the order of the result.
    pub known: Map<String, Value>,
    /// What is known at the end.
    pub counted: Vec<(&'static str, String)>,
}

/// Agents by dependency levels.
pub(super) fn by_levels(stated: Mode, mode: Mode, order: &Order<'_>, turns: &Turns) -> Shape {
    match order.count() {
        Some(count) => known_levels(mode, order, turns, count),
        None => counted_levels(stated, mode, order, turns),
    }
}

fn known_levels(mode: Mode, order: &Order<'_>, turns: &Turns, count: usize) -> Shape {
    let names = |agents: &Vec<usize>| -> Vec<String> {
        agents.iter().filter_map(|agent| order.expanded(*agent)).flatten().collect()
    };
    let rows = turns.agents.iter().map(names);
    let waves: Vec<Vec<String>> = match turns.size {
        Some(size) => {
            rows.flat_map(|row| row.chunks(size).map(<[String]>::to_vec).collect::<Vec<_>>()).collect()
        }
        None => rows.collect(),
    };
    let length = waves.len();
    let mut known = Map::new();
    known.insert("mode".to_owned(), json!(mode.word()));
    known.insert("agent_count".to_owned(), json!(count));
    known.insert("parallelism_ratio".to_owned(), json!(ratio(count, length)));
    known.insert("critical_path_length".to_owned(), json!(length));
    known.insert("wave_count".to_owned(), json!(length));
    known.insert("waves".to_owned(), json!(waves));
    Shape { known, counted: Vec::new() }
}

/// The same where only the run tells how many partitions there are.
fn counted_levels(stated: Mode, mode: Mode, order: &Order<'_>, turns: &Turns) -> Shape {
    let rows: Vec<String> = turns.agents.iter().map(|agents| rows_of(agents, order, turns.size)).collect();
    let head = format!(
        "{{% set waves = {} %}}{{% set count = waves | map('length') | sum %}}",
        if rows.is_empty() { "[]".to_owned() } else { rows.join(" + ") }
    );
    let text = |rest: &str| format!("{head}{rest}");
    let in_parallel = "'sequential' if count == 1 else 'parallel' if count <= 5 else 'wave'";
    let mode = match (stated, order.has_dependencies()) {
        (Mode::Auto, false) => text(&format!("{{{{ {in_parallel} }}}}")),
        _ => mode.word().to_owned(),
    };
    let counted = vec![
        ("mode", mode),
        ("agent_count", text("{{ count }}")),
        ("parallelism_ratio", text("{{ (count / ([waves | length, 1] | max)) | round(2) }}")),
        ("critical_path_length", text("{{ waves | length }}")),
        ("wave_count", text("{{ waves | length }}")),
        ("waves", text("{{ waves | json }}")),
    ];
    Shape { known: Map::new(), counted }
}

/// An expression for the rows of agents that are one turn.
fn rows_of(agents: &[usize], order: &Order<'_>, size: Option<usize>) -> String {
    let term = |agent: &usize| match order.expanded(*agent) {
        Some(names) => json!(names).to_string(),
        None => format!("{WORK}.names[{}]", json!(order.name(*agent))),
    };
    let names = agents.iter().map(term).collect::<Vec<_>>().join(" + ");
    match size {
        Some(size) => format!("(({names}) | batch({size}) | map('list') | list)"),
        None => format!("[{names}]"),
    }
}

/// Agents to levels, as the original rounds it.
fn ratio(count: usize, levels: usize) -> f64 {
    (count as f64 / levels.max(1) as f64 * 100.0).round() / 100.0
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
        let parts =
            ["verdict", "findings", "rounds", "notes"].map(|key| format!("'{key}': {verified}.output.{key}"));
        result.push(("verification", format!("{{{{ {{{}}} | json }}}}", parts.join(", "))));
    }
    if answer.chooses {
        for key in ["winner", "reason"] {
            result.push((key, format!("{{{{ {merged}.output.{key} | default(none) | json }}}}")));
        }
    }
    result.push(("missing", format!("{{{{ {WORK}.missing | json }}}}")));
    // What a correction names is known from the examination.
    result.push(("sources", format!("{{{{ {from}.output.sources | default([]) | json }}}}")));
    let parts = ["rounds", "calls", "usage", "notes"].map(|key| format!("'{key}': {merged}.output.{key}"));
    result.push(("synthesis", format!("{{{{ {{{}}} | json }}}}", parts.join(", "))));
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
