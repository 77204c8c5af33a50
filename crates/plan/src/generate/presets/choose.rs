//! Many attempts at one answer, of which the best counts.

use super::{Given, Number, Preset, PresetInput, QUERY, Text, Value, escape, json, numbered};

const CRITERIA: PresetInput = PresetInput::optional(
    "criteria",
    Text,
    "\"correct, complete and clear\"",
    "what the best answer is like",
);

/// One judge sees all answers.
pub(super) const BEST_OF_N: Preset = Preset {
    name: "best_of_n",
    about: "several answers to one question, of which a judge chooses the best",
    inputs: &[QUERY, PresetInput::optional("n", Number, "5", "how many answers, 2 to 100"), CRITERIA],
    make: |given| choose(given, given.count("n", 2, 100)?, "judge"),
};

/// Answers meet in pairs.
pub(super) const TOURNAMENT: Preset = Preset {
    name: "tournament",
    about: "several answers to one question; a judge chooses the better of each pair until one is left",
    inputs: &[QUERY, PresetInput::optional("n", Number, "8", "how many answers, 2 to 1024"), CRITERIA],
    make: |given| choose(given, given.count("n", 2, 1024)?, "tournament"),
};

fn choose(given: &Given<'_>, count: u64, strategy: &str) -> Result<Value, String> {
    let criteria = escape::template(&given.text("criteria")?);
    let mut synthesis = json!({
        "strategy": strategy, "instructions": format!("The best answer is {criteria}."),
    });
    if strategy == "judge" {
        synthesis["ratio"] = json!(count.clamp(2, 100));
    }
    Ok(json!({
        "query": given.text("query")?,
        "agents": [{
            "id": "candidate", "partitions": numbered(count),
            "task": format!(
                "{{{{ query }}}}\n\nYour answer (number {{{{ partition }}}} of {count}) is compared with others, and the best \
                 one is used. The best answer is {criteria}."
            ),
        }],
        "synthesis": synthesis,
    }))
}
