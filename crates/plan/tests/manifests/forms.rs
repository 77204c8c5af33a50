//! Ways to write a manifest down, and the documents about them.

use crate::manifests::kit::{agent, node, plan, text};
use crate::manifests::world::{World, compiled, shown};
use serde_json::Value;

#[test]
fn json_is_as_good_as_yaml_and_includes_work() {
    let world = World::default()
        .file("main.yaml", r#"{"agents": [{"agent_id": "a", "task_template": "t"}, {"agent_id": "b", "task_template": "u"}], "max_concurrency": 3}"#);
    let result = world.compile();
    assert_eq!(result.plan.as_ref().unwrap().root().limits.max_concurrency, Some(3), "{}", shown(&result));
    let world = World::default()
        .file("main.yaml", "agents:\n  - {id: a, task: !file a.md}\n")
        .file("a.md", "do {{ query }}");
    let plan = world.compile().plan.unwrap();
    assert!(text(&plan, &agent(&plan, "a").prompt).contains("do {{ query }}"));
}

#[test]
fn a_manifest_that_a_program_wrote_out_in_full_says_no_more_than_it_means() {
    let plan = plan(
        r#"{"manifest_id": "manifest:1", "name": "", "coordination_protocol": "auto", "execution_mode": "auto",
        "max_concurrency": null, "batch_size": null, "query": "q", "context": "", "metadata": {}, "source": "", "kg_template_id": null,
        "synthesis": {"strategy": "auto", "ratio": 10, "model_id": "", "output_schema": null},
        "agents": [{"agent_id": "a", "role": "", "department": "general", "tools": [], "model_id": "", "system_prompt": "",
        "task_template": "", "partitions": [], "depends_on": [], "timeout": null, "memory_channels": ["episodic"],
        "success_criteria": "", "output_schema": null, "model_role": "", "delegation_model_menu": [], "max_retries": 0}]}"#,
    );
    assert_eq!(&*plan.root().name, "main");
    let only = agent(&plan, "a");
    assert_eq!(text(&plan, only.system.as_ref().unwrap()), "You are a specialist agent, called a.");
    assert!(text(&plan, &only.prompt).starts_with("{{ workflow.input.query }}"));
    assert_eq!((only.model.is_none(), node(&plan, "a").retry.max_attempts), (true, 1));
}

#[test]
fn the_examples_of_the_documentation_compile() {
    let page = include_str!("../../../../docs/reference/manifests.md");
    let mut seen = 0;
    for block in page.split("```yaml").skip(1).chain(page.split("```json").skip(1)) {
        // The rest of the first line is the block's title.
        let (_, text) = block.split("```").next().unwrap().split_once('\n').unwrap();
        let result = compiled(text);
        assert!(result.diagnostics.is_empty(), "{}\n{text}", shown(&result));
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn the_schema_beside_the_documents_is_the_one_of_manifests() {
    let written: Value = serde_json::from_str(include_str!("../../../../docs/manifest.schema.json")).unwrap();
    let same = written == convoke_plan::source::manifest_schema();
    assert!(same, "write it anew: convoke schema manifest > docs/manifest.schema.json");
}
