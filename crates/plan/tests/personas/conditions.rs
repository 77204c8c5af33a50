//! Conditions of edges and texts: what they may name, and what contradicts itself.

use crate::personas::kit::{piped, plan, refused, warned};
use crate::personas::world::{compiled, findings};

#[test]
fn a_flag_is_compared_with_true_or_false_and_nothing_else() {
    for wrong in ["\"true\"", "1", "yes please", "[true]"] {
        let edge = format!("from: a, to: b, when: {{type: state_flag, key: x, equals: {wrong}}}");
        refused(&piped("", &["a", "b"], &[&edge]), &[("workflow::wrong_type", "`equals`")]);
    }
    let missing = "from: a, to: b, when: {type: state_flag, key: x}";
    refused(&piped("", &["a", "b"], &[missing]), &[("workflow::missing_key", "`equals`")]);
    let misplaced = "from: a, to: b, when: {type: always, key: x}";
    refused(&piped("", &["a", "b"], &[misplaced]), &[("workflow::needs_key", "`key`")]);
}

#[test]
fn a_file_is_looked_for_below_the_folder_of_the_run_only() {
    for outside in ["/etc/passwd", "../x", "a/../../x", "'C:\\x'", "'..\\x'", "'~/x'"] {
        let edge = format!("from: a, to: b, when: {{type: file_exists, path: {outside}}}");
        let text = piped("", &["a", "b"], &[&edge]);
        refused(&text, &[("workflow::bad_path", "the folder of the run")]);
        assert_eq!(findings(&compiled(&text))[0].1, 12, "at the path");
    }
    plan(&piped("", &["a", "b"], &["from: a, to: b, when: {type: file_exists, path: ./x/..y/z.md}"]));
}

#[test]
fn conditions_that_contradict_each_other_are_refused() {
    let edge = "from: a, to: b, when: [{type: state_flag, key: x, equals: true}, {type: state_flag, key: x, equals: false}]";
    refused(&piped("", &["a", "b"], &[edge]), &[("workflow::never_holds", "`x`")]);
    let other = edge.replace("key: x, equals: false", "key: y, equals: false");
    plan(&piped("", &["a", "b"], &[&other]));
}

#[test]
fn edges_that_are_probably_never_taken_are_warned_of() {
    let never = |edge: &str| warned(&piped("", &["a", "b"], &[edge]), &[("workflow::never_holds", "")]);
    never("from: a, to: b, when: 1 > 2");
    never("from: a, to: b, when: {type: expression, expr: 'false'}");
    never("from: a, to: b, on: failure, event: validation_passed");
    never("from: a, to: b, on: success, event: task_blocked");
    plan(&piped("", &["a", "b"], &["from: a, to: b, on: success, event: validation_failed"]));
    plan(&piped("", &["a", "b"], &["from: a, to: b, on: success, event: validation_passed, when: 2 > 1"]));
}

#[test]
fn texts_of_a_pipeline_see_its_state_and_nothing_else() {
    let prompt = "'{{ handoff.from }} {{ state.flags }} {{ project }} {{ attempt }} {{ previous }} {{ children }} {{ phase.id }}'";
    plan(&piped("", &["a"], &[]).replace("You lead.", prompt));
    let unknown = piped("", &["a"], &[]).replace("You lead.", "'{{ conversation }}'");
    refused(&unknown, &[("workflow::unknown_reference", "`conversation`")]);
    let later =
        piped("", &["a", "b"], &["from: a, to: b"]).replace("id: a,", "id: a, task: '{{ b.output }}',");
    refused(&later, &[("workflow::never_before", "`b`")]);
    let syntax = piped("", &["a", "b"], &["from: a, to: b, when: 'x =='"]);
    refused(&syntax, &[("workflow::condition_syntax", "cannot be read")]);
}

#[test]
fn conditions_name_only_what_can_be_there() {
    let edge = |when: &str| piped("", &["a", "b"], &[&format!("from: a, to: b, when: \"{when}\"")]);
    let wrong = [
        ("stat.flags.f", "did you mean `state`?"),
        ("zzz.output.payload.y > 1", "the edge from `a` to `b`: when refers to `zzz`"),
        ("state.flag.f", "did you mean `flags`?"),
        ("output.payloud.x == 1", "did you mean `payload`?"),
        ("attempt > 1", "`attempt`"),
        ("nothing", "`nothing`"),
    ];
    for (when, words) in wrong {
        let text = edge(when);
        refused(&text, &[("workflow::unknown_reference", words)]);
        assert_eq!(findings(&compiled(&text))[0].1, 12, "at the condition");
    }
    for right in [
        "state.flags.f",
        "not state.flags['f']",
        "a.output.payload.x > 1",
        "status == 'success'",
        "payload.n > 1",
        "'tasks_planned' in events",
        "project.globalFlags.x",
        "workflow.input.n > 2",
        "zzz is defined and zzz.y",
    ] {
        plan(&edge(right));
    }
    let task = piped("", &["a task: '{{ zzz }}'"], &[]);
    refused(&task, &[("workflow::unknown_reference", "node `a`: task refers to `zzz`")]);
}

#[test]
fn a_condition_that_cannot_be_read_is_told_with_everything_else() {
    let edges = ["from: a, to: b, when: 'x =='", "from: b, to: a"];
    refused(
        &piped("", &["a", "b"], &edges),
        &[("workflow::condition_syntax", "the edge from `a` to `b`"), ("workflow::pipeline_cycle", "a → b")],
    );
}
