//! Sub-workflows: what is given to them, and how deep they go.

use crate::checks::world::{World, findings};

#[test]
fn a_call_gives_its_sub_workflow_what_it_declares() {
    let child = "workflow:\n  name: c\n  entry_point: x\n  input: {topic: {type: string}, depth: {type: number, default: 1}}\nagents:\n  - {name: x, prompt: hi}\n";
    let calls = |header: &str, mapping: &str| {
        let root = format!(
            "workflow: {{name: w, entry_point: a{header}}}\nagents:\n  - name: a\n    type: workflow\n    workflow: c.yaml\n{mapping}"
        );
        let result = World::default().file("main.yaml", &root).file("c.yaml", child).compile();
        findings(&result)
    };
    assert_eq!(calls("", ""), []);
    assert_eq!(calls("", "    input_mapping: {topic: x}\n"), []);
    let slip = [("workflow::missing_input", 5), ("workflow::unknown_input", 6)];
    assert_eq!(calls("", "    input_mapping: {topc: x}\n"), slip);
    assert_eq!(calls(", input: {other: {type: string}}", ""), [("workflow::missing_input", 5)]);
}

#[test]
fn sub_workflows_are_followed() {
    let step = |path: &str| {
        format!(
            "workflow: {{name: w, entry_point: a}}\nagents:\n  - name: a\n    type: workflow\n    workflow: {path}\n"
        )
    };
    let circle = World::default()
        .file("main.yaml", &step("sub/b.yaml"))
        .file("sub/b.yaml", &step("../main.yaml"))
        .compile();
    assert_eq!(findings(&circle), [("workflow::circular_sub_workflow", 5)]);
    assert!(circle.diagnostics[0].message.contains("main.yaml → sub/b.yaml → main.yaml"));

    let missing = World::default().file("main.yaml", &step("b.yaml")).compile();
    assert_eq!(findings(&missing), [("workflow::missing_sub_workflow", 5)]);
    let registry = World::default().file("main.yaml", &step("review@team#v2")).compile();
    assert_eq!(findings(&registry), [("workflow::registry_reference", 5)]);

    let broken = World::default()
        .file("main.yaml", &step("b.yaml"))
        .file("b.yaml", "workflow: {name: b, entry_point: x}\nagents: [{name: y, prompt: x}]\n")
        .compile();
    assert_eq!(findings(&broken), [("workflow::unknown_entry_point", 1)]);
    assert_eq!(broken.diagnostics[0].labels[0].span.file.path, "b.yaml");
}

#[test]
fn eleven_levels_are_too_deep() {
    let leaf = "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: x}\n";
    let levels = |count: usize| {
        (0..count).fold(World::default().file(&format!("{count}.yaml"), leaf), |world, level| {
            let text = format!("workflow: {{name: w, entry_point: a}}\nagents:\n  - {{name: a, type: workflow, workflow: {}.yaml}}\n", level + 1);
            let path = if level == 0 { "main.yaml".to_owned() } else { format!("{level}.yaml") };
            world.file(&path, &text)
        })
    };
    assert!(levels(10).compile().plan.is_some());
    assert_eq!(findings(&levels(11).compile()), [("workflow::too_deep", 3)]);
}
