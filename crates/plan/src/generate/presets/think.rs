//! Several minds on one question.

use super::{Array, Given, Number, Preset, PresetInput, QUERY, Value, json, numbered};

/// Thinkers that do not know of one another, and one that weighs what they say.
pub(super) const HEAVY_THINKING: Preset = Preset {
    name: "heavy_thinking",
    about: "several thinkers answer by themselves, and a deliberator weighs what they say",
    inputs: &[
        QUERY,
        PresetInput::optional("k", Number, "4", "how many thinkers, 2 to 100"),
        PresetInput::optional("perspectives", Array, "[]", "a thinker for each of these instead of `k`"),
    ],
    make: heavy_thinking,
};

/// Tokens of each thinker's output that the deliberator reads.
const READ: u64 = 8_000;

fn heavy_thinking(given: &Given<'_>) -> Result<Value, String> {
    let perspectives = if given.is_given("perspectives") { given.list("perspectives")? } else { Vec::new() };
    if !perspectives.is_empty() && given.differs("k", 4.0) {
        return Err(
            "`k` and `perspectives` exclude one another: there is a thinker for each perspective".to_owned()
        );
    }
    let (partitions, as_whom) = match perspectives.is_empty() {
        true => (numbered(given.count("k", 2, 100)?), "You are thinker {{ partition }}."),
        false => (perspectives, "Think about it from this perspective: {{ partition }}"),
    };
    let task = format!(
        "{{{{ query }}}}\n\n{as_whom} Others think about the same question and you do not see them. Think it through from \
         the beginning, say how sure you are, and end with your answer."
    );
    Ok(json!({
        "query": given.text("query")?,
        "agents": [
            {"id": "thinker", "role": "independent thinker", "task": task, "partitions": partitions},
            {
                "id": "deliberator", "role": "deliberator", "depends_on": ["thinker"], "dependency_outputs": READ,
                "task": "{{ query }}\n\nSeveral thinkers have answered this by themselves; their outputs stand below. Do \
                         not count heads: find where they part, decide each point by its reasons, look for what all of \
                         them missed, and give the one answer that stands.",
            },
        ],
        "synthesis": {"of": ["deliberator"]},
    }))
}
