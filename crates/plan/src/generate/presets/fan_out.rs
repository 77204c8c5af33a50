//! The same work for many things at once, and one answer from all.

use super::super::files::Names;
use super::{Array, Given, Number, Preset, PresetInput, Text, Value, escape, json};

const SYNTHESIS: PresetInput = PresetInput::optional(
    "synthesis",
    Text,
    "\"auto\"",
    "how outputs become one answer: auto, flat, hierarchical, progressive or rlm",
);

/// One researcher for each topic.
pub(super) const RESEARCH: Preset = Preset {
    name: "fan_out_research",
    about: "one researcher for each topic, and one answer from all of them",
    inputs: &[
        PresetInput::required("topics", Array, "the topics, such as [\"solar\", \"wind\"]"),
        PresetInput::optional(
            "query",
            Text,
            "\"Research the topic thoroughly. Report facts with their sources, figures, and what is uncertain.\"",
            "what to find out about each topic",
        ),
        SYNTHESIS,
    ],
    make: |given| fan_out(given, "topics", "researcher", "researcher"),
};

/// One auditor for each target.
pub(super) const AUDIT: Preset = Preset {
    name: "fan_out_audit",
    about: "one auditor for each target, and one report of all findings",
    inputs: &[
        PresetInput::required(
            "targets",
            Array,
            "what is audited: files of the project, which are read, or texts",
        )
        .naming(Names::Things),
        PresetInput::optional(
            "query",
            Text,
            "\"Audit the target. Report each finding with its severity, the evidence for it, and a remedy.\"",
            "what to look for in each target",
        ),
        SYNTHESIS,
    ],
    make: |given| fan_out(given, "targets", "auditor", "auditor"),
};

/// One reviewer for each piece of code.
pub(super) const CODE_REVIEW: Preset = Preset {
    name: "fan_out_code_review",
    about: "one reviewer for each file or change, and one review of all",
    inputs: &[
        PresetInput::required(
            "files",
            Array,
            "what is reviewed: files of the project, which are read, or changes as text",
        )
        .naming(Names::Files),
        PresetInput::optional(
            "query",
            Text,
            "\"Review the code. Report defects with place, consequence and remedy; the worst first.\"",
            "what to look for",
        ),
        SYNTHESIS,
    ],
    make: |given| fan_out(given, "files", "reviewer", "code reviewer"),
};

fn fan_out(given: &Given<'_>, list: &str, id: &str, role: &str) -> Result<Value, String> {
    let task = format!("{{{{ query }}}}\n\nFocus on: {{{{ partition }}}}{}", given.file_of_partition());
    Ok(json!({
        "query": given.text("query")?,
        "agents": [{"id": id, "role": role, "task": task, "partitions": given.list(list)?}],
        "synthesis": {"strategy": given.text("synthesis")?},
    }))
}

/// The same for each item, then merged in groups.
pub(super) const MAP_REDUCE: Preset = Preset {
    name: "map_reduce",
    about: "the same task for each item, and the results merged in groups",
    inputs: &[
        PresetInput::required("items", Array, "the items; those that are files of the project are read")
            .naming(Names::Items),
        PresetInput::required("map", Text, "what is done with each item"),
        PresetInput::optional("reduce", Text, "\"\"", "how results are merged"),
        PresetInput::optional("query", Text, "\"\"", "what the merged result must answer"),
        PresetInput::optional("ratio", Number, "10", "the most results in one merge, 2 to 100"),
    ],
    make: map_reduce,
};

fn map_reduce(given: &Given<'_>) -> Result<Value, String> {
    let map = given.text("map")?;
    let query = given.words("query");
    let mut synthesis = json!({"strategy": "hierarchical", "ratio": given.count("ratio", 2, 100)?});
    let reduce = given.words("reduce");
    if !reduce.trim().is_empty() {
        synthesis["instructions"] = json!(escape::template(&reduce));
    }
    let task = format!("{}\n\n{{{{ partition }}}}{}", escape::template(&map), given.file_of_partition());
    Ok(json!({
        "query": if query.trim().is_empty() { map.clone() } else { query },
        "agents": [{"id": "mapper", "task": task, "partitions": given.list("items")?}],
        "synthesis": synthesis,
    }))
}
