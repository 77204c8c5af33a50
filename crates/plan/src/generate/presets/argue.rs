//! Answers that must stand against others.

use super::{Array, Given, Number, Preset, PresetInput, QUERY, Value, escape, json};
use crate::source::skill::kebab;

/// Sides in rounds, then a judge.
pub(super) const DEBATE: Preset = Preset {
    name: "debate",
    about: "sides answer one another in rounds, then a judge decides",
    inputs: &[
        QUERY,
        PresetInput::optional("sides", Array, "[\"for\", \"against\"]", "what each side stands for"),
        PresetInput::optional("rounds", Number, "2", "how often each side speaks, 1 to 50"),
    ],
    make: debate,
};

fn debate(given: &Given<'_>) -> Result<Value, String> {
    let sides = given.list("sides")?;
    if sides.len() < 2 {
        return Err("`sides` must name at least two".to_owned());
    }
    let mut agents: Vec<Value> = sides.iter().enumerate().map(side).collect();
    agents.push(json!({"id": "judge", "role": "judge"}));
    Ok(json!({
        "query": given.text("query")?,
        "coordination_protocol": "debate",
        "team": {"judge": "judge", "rounds": given.count("rounds", 1, 50)?},
        "agents": agents,
    }))
}

fn side((index, side): (usize, &String)) -> Value {
    let id = match kebab(side) {
        short if short.is_empty() || short.len() > 40 || short == "judge" => format!("side-{}", index + 1),
        short => short,
    };
    json!({"id": id, "role": side, "task": format!("{{{{ query }}}}\n\nYour side: {}", escape::template(side))})
}

/// An answer, attacks on it, and an answer that stands them.
pub(super) const RED_TEAM: Preset = Preset {
    name: "red_team",
    about: "an answer is attacked from several angles, then corrected",
    inputs: &[
        QUERY,
        PresetInput::optional(
            "angles",
            Array,
            "[\"facts and sources\", \"logic and consistency\", \"security and misuse\", \"what is missing\"]",
            "from where it is attacked",
        ),
    ],
    make: red_team,
};

/// Tokens of draft and attacks that are read.
const READ: u64 = 8_000;

fn red_team(given: &Given<'_>) -> Result<Value, String> {
    Ok(json!({
        "query": given.text("query")?,
        "agents": [
            {"id": "author", "role": "author"},
            {
                "id": "attacker", "role": "red team", "partitions": given.list("angles")?, "depends_on": ["author"],
                "dependency_outputs": READ,
                "task": "{{ query }}\n\nAn author has answered this; the answer stands below. Attack it from this angle and no \
                         other: {{ partition }}. Quote what is wrong, say why, and what would be right. Say so if nothing \
                         is.",
            },
            {
                "id": "defender", "role": "author", "dependency_outputs": READ,
                "depends_on": ["author", {"agent": "attacker", "requires": "any"}],
                "task": "{{ query }}\n\nBelow stand your first answer and the attacks on it. Correct what they rightly name, \
                         keep what stands, and answer anew. Do not speak of the attacks.",
            },
        ],
        "synthesis": {"of": ["defender"]},
    }))
}
