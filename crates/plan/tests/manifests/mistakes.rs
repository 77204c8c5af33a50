//! What is wrong with a manifest, and where it is said to be.

use crate::manifests::kit::{agent, errors};
use crate::manifests::world::{compiled, findings, shown};
use serde_json::{Value, json};

#[test]
fn names_that_stand_twice_lead_nowhere_or_go_in_circles_are_errors() {
    let twice = compiled("agents:\n  - {id: a, task: t}\n  - {id: a, task: t}\n");
    assert_eq!(findings(&twice), [("workflow::duplicate_name", 3)], "{}", shown(&twice));
    let nowhere = compiled("agents:\n  - {id: writer, task: t}\n  - {id: b, task: t, depends_on: [writr]}\n");
    assert_eq!(findings(&nowhere), [("workflow::unknown_dependency", 3)], "{}", shown(&nowhere));
    assert!(shown(&nowhere).contains("writer"), "{}", shown(&nowhere));
    let circle = compiled(
        "agents:\n  - {id: a, task: t, depends_on: [b]}\n  - {id: b, task: t, depends_on: [a]}\n  - {id: c, task: t}\n",
    );
    assert_eq!(errors(&circle), [("workflow::dependency_cycle", 2)], "{}", shown(&circle));
    assert!(shown(&circle).contains("a → b → a"), "{}", shown(&circle));
    let itself = compiled("agents:\n  - {id: a, task: t, depends_on: [a]}\n  - {id: b, task: t}\n");
    assert_eq!(errors(&itself), [("workflow::dependency_cycle", 2)], "{}", shown(&itself));
    let partition = compiled(
        "agents:\n  - {id: r, task: '{{partition}}', partitions: [a, a]}\n  - {id: x, task: t, depends_on: ['r:z']}\n",
    );
    let expected = [("workflow::duplicate", 2), ("workflow::unknown_dependency", 3)];
    assert_eq!(findings(&partition), expected, "{}", shown(&partition));
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let text = "agents:\n  - {id: a, task: t, task_template: t, modle: x, partitions: 3, max_retries: -1}\n  - {role: r}\n  - {id: '', task: t}\nsynthesis: {strategy: flatt, ratio: 1}\nmode: waves\nexecution_mode: wave\nquerry: x\n";
    let result = compiled(text);
    let expected = [
        ("workflow::excludes", 2),
        ("workflow::unknown_key", 2),
        ("workflow::wrong_type", 2),
        ("workflow::out_of_range", 2),
        ("workflow::missing_key", 3),
        ("workflow::empty_value", 4),
        ("workflow::unknown_value", 5),
        ("workflow::out_of_range", 5),
        ("workflow::excludes", 7),
        ("workflow::unknown_value", 6),
        ("workflow::unknown_key", 8),
    ];
    let mut found = findings(&result);
    found.retain(|(code, _)| !matches!(*code, "workflow::missing_input"));
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected, "{}", shown(&result));
    let words = shown(&result);
    for near in ["`model`", "`flat`", "`wave`", "`query`"] {
        assert!(words.contains(&format!("did you mean {near}")), "{near}{words}");
    }
}

#[test]
fn an_empty_list_of_agents_is_refused() {
    let result = compiled("agents: []\n");
    assert_eq!(findings(&result)[0], ("workflow::empty_value", 1), "{}", shown(&result));
}

#[test]
fn a_mistake_in_a_template_points_into_the_manifest() {
    let result = compiled(
        "agents:\n  - id: a\n    task: |\n      first line\n      {{ nobody.output }}\n  - {id: b, task: t}\n",
    );
    let place = result.diagnostics[0].labels[0].span.line_column();
    assert_eq!(
        (findings(&result)[0].0, place),
        ("workflow::unknown_reference", (5, 10)),
        "{}",
        shown(&result)
    );
}

#[test]
fn a_shape_that_nobody_is_asked_for_is_said() {
    for strategy in ["auto", "flat", "vote", "judge", "tournament"] {
        let found = compiled(&format!(
            "agents:\n  - {{id: a, task: t}}\n  - {{id: b, task: t}}\nsynthesis:\n  strategy: {strategy}\n  output_schema: 'title, score'\n"
        ));
        assert_eq!(findings(&found), [("workflow::no_effect", 6)], "{strategy}: {}", shown(&found));
    }
    let asked = compiled(
        "agents:\n  - {id: a, task: t}\n  - {id: b, task: t}\nsynthesis: {strategy: hierarchical, output_schema: 'title, score'}\n",
    );
    assert!(findings(&asked).is_empty(), "{}", shown(&asked));
}

#[test]
fn whole_numbers_are_checked_and_what_is_not_is_said() {
    let found = compiled(
        "agents:\n  - id: a\n    task: t\n    output_schema: {type: object, additionalProperties: false, properties: {n: {type: integer}, m: {type: [integer, 'null']}}}\n",
    );
    assert_eq!(findings(&found), [("workflow::no_effect", 4)], "{}", shown(&found));
    assert!(shown(&found).contains("`additionalProperties` is not checked"), "{}", shown(&found));
    let plan = found.plan.unwrap();
    let schema = agent(&plan, "a").settings.schema.clone().unwrap();
    let said = |value: Value| convoke_model::fit::violations(&schema, value.as_object().unwrap());
    assert!(said(json!({"n": 2.0, "m": null})).is_empty());
    assert_eq!(said(json!({"n": 2.5, "m": 1.5})).len(), 2);
}

#[test]
fn what_has_no_effect_in_a_team_or_without_a_barrier_is_said() {
    let team = compiled(
        "query: q\ncoordination_protocol: broadcast\nmode: wave\nbarrier: true\nbatch_size: 2\nagents: [{id: a}, {id: b}]\n",
    );
    let expected = [("workflow::no_effect", 3), ("workflow::no_effect", 4), ("workflow::no_effect", 5)];
    assert_eq!(findings(&team), expected, "{}", shown(&team));
    let alone = compiled("query: q\nbatch_size: 2\nagents: [{id: a}, {id: b}]\n");
    assert_eq!(findings(&alone), [("workflow::no_effect", 2)], "{}", shown(&alone));
}

#[test]
fn messages_speak_of_the_manifest() {
    let says = |text: &str, words: &[&str]| {
        let found = shown(&compiled(text));
        words.iter().for_each(|word| assert!(found.contains(word), "no {word:?} in {found}"));
    };
    says("query: q\nverify: sometimes\nagents: [{id: a}]\n", &["`criteria`"]);
    says("query: q\nmodel: 'openai:'\nagents: [{id: a}]\n", &["no model"]);
    says(
        "query: q\nagents: [{id: a, task: '{{ partition }}', partitions: a}]\n",
        &["`partitions` of agent `a`"],
    );
    says("query: q\nagents: [{id: a, task: '{{ qery }}'}]\n", &["this manifest", "did you mean `query`"]);
    says("query: q\nagents: [{id: a, task: '{{ partition }}'}]\n", &["where it has `partitions`"]);
    says("query: q\nagents: [{id: a, depends_on: [x]}, {id: b}]\n", &["depends on `x`", "available: a, b)"]);
    says("query: q\nagents: [{id: a, depends_on: [synthesis]}, {id: b}]\n", &["comes after all agents"]);
    says(
        "query: q\ncoordination_protocol: debate\nagents: [{id: a}, {id: b}]\n",
        &["at least 3 agents", "found 2"],
    );
    says(
        "query: q\nteam: {protocol: voting, vote: {options: [abstain, x]}}\nagents: [{id: a}, {id: b}]\n",
        &["abstaining"],
    );
    let circle =
        compiled("query: q\nagents: [{id: a, depends_on: [b]}, {id: b, depends_on: [a]}, {id: c}]\n");
    assert_eq!(findings(&circle).len(), 1, "{}", shown(&circle));
}
