//! Execution manifests: how they are read, and the workflow that they become.

mod world;

use convoke_plan::*;
use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};
use serde_json::{Value, json};
use world::{World, compiled, findings, shown};

fn plan(text: &str) -> Plan {
    let result = compiled(text);
    let found = shown(&result);
    result.plan.unwrap_or_else(|| panic!("no plan:{found}"))
}

fn node<'a>(plan: &'a Plan, name: &str) -> &'a Node {
    plan.root().nodes.iter().find(|node| &*node.name == name).unwrap_or_else(|| panic!("no node {name}"))
}

fn agent<'a>(plan: &'a Plan, name: &str) -> &'a Agent {
    match &node(plan, name).kind {
        Kind::Agent(agent) => agent,
        other => panic!("{name} is {}", other.word()),
    }
}

fn reduce(plan: &Plan) -> &Reduce {
    match &node(plan, "synthesis").kind {
        Kind::Reduce(reduce) => reduce,
        other => panic!("synthesis is {}", other.word()),
    }
}

/// The names of what a node waits for, each with how it must end.
fn needs(plan: &Plan, name: &str) -> Vec<(String, Requires)> {
    let workflow = plan.root();
    let named = |need: &Need| (workflow.node(need.node).name.to_string(), need.requires);
    node(plan, name).needs.iter().map(named).collect()
}

fn successes(names: &[&str]) -> Vec<(String, Requires)> {
    names.iter().map(|name| ((*name).to_owned(), Requires::Success)).collect()
}

/// What the result says that is known before the run.
fn known(plan: &Plan, key: &str) -> Value {
    let output = plan.root().output.as_ref().expect("a manifest has an output");
    let (_, text) = output.iter().find(|(name, _)| name == key).unwrap_or_else(|| panic!("no {key}"));
    match text {
        Text::Literal(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text.to_string())),
        Text::Template(_) => panic!("{key} is a template"),
    }
}

fn text<'a>(plan: &'a Plan, text: &'a convoke_plan::Text) -> &'a str {
    match text {
        Text::Literal(text) => text,
        Text::Template(id) => &plan.templates[id.0 as usize].text,
    }
}

/// Code and line of every error.
fn errors(result: &convoke_plan::compile::Compiled) -> Vec<(&'static str, usize)> {
    let is_error = |found: &&Diagnostic| found.severity == diagnostic::Severity::Error;
    let place = |found: &Diagnostic| (found.code, found.labels[0].span.line_column().0);
    result.diagnostics.iter().filter(is_error).map(place).collect()
}

/// A manifest of agents without anything else to say.
fn agents(count: usize) -> String {
    let lines = (0..count).map(|number| format!("  - {{id: a{number}, task: t}}\n"));
    format!("agents:\n{}", lines.collect::<String>())
}

#[test]
fn pe_1_levels_critical_path_and_ratio() {
    let plan = plan(
        "query: q\nagents:\n  - {id: a}\n  - {id: b, depends_on: [a]}\n  - {id: c, depends_on: [b]}\n  - {id: d}\n  - {id: e}\n",
    );
    assert_eq!(known(&plan, "waves"), json!([["a", "d", "e"], ["b"], ["c"]]));
    assert_eq!(known(&plan, "critical_path_length"), json!(3));
    assert_eq!(known(&plan, "parallelism_ratio"), json!(1.67));
    assert_eq!(known(&plan, "mode"), json!("wave"));
    assert_eq!(needs(&plan, "b"), successes(&["a"]));
}

#[test]
fn pe_2_and_3_independent_agents_and_a_diamond() {
    let six = plan(&agents(6));
    assert_eq!(known(&six, "critical_path_length"), json!(1));
    let diamond = plan(
        "agents:\n  - {id: a, task: t}\n  - {id: b, task: t, depends_on: a}\n  - {id: c, task: t, depends_on: [a]}\n  - {id: d, task: t, depends_on: [b, c]}\n",
    );
    assert_eq!(known(&diamond, "waves"), json!([["a"], ["b", "c"], ["d"]]));
    assert_eq!(needs(&diamond, "d"), successes(&["b", "c"]));
}

#[test]
fn auto_chooses_mode_and_strategy_by_number_and_dependencies() {
    let cases = [
        (1, "sequential", Strategy::Flat),
        (2, "parallel", Strategy::Flat),
        (5, "parallel", Strategy::Flat),
        (6, "wave", Strategy::Flat),
        (10, "wave", Strategy::Flat),
        (11, "wave", Strategy::Hierarchical),
        (50, "wave", Strategy::Hierarchical),
        (51, "wave", Strategy::Rlm),
    ];
    for (count, mode, strategy) in cases {
        let plan = plan(&agents(count));
        assert_eq!((known(&plan, "mode"), reduce(&plan).strategy), (json!(mode), strategy), "{count}");
    }
    let with = plan("agents:\n  - {id: a, task: t}\n  - {id: b, task: t, depends_on: [a]}\n");
    assert_eq!((known(&with, "mode"), reduce(&with).strategy), (json!("wave"), Strategy::Flat));
    let partitions: Vec<String> = (0..12).map(|number| format!("p{number}")).collect();
    let fanned = plan(&format!(
        "agents:\n  - {{id: a, task: '{{{{partition}}}}', partitions: [{}]}}\n",
        partitions.join(", ")
    ));
    assert_eq!(
        (known(&fanned, "agent_count"), reduce(&fanned).strategy),
        (json!(12), Strategy::Hierarchical)
    );
}

#[test]
fn a_dependency_on_a_partitioned_agent_means_all_its_partitions() {
    let plan = plan(
        "agents:\n  - {id: r, task: 'about {{partition}}', partitions: [a, b]}\n  - {id: sum, task: t, depends_on: [r]}\n",
    );
    let Kind::ForEach(fan_out) = &node(&plan, "r").kind else { panic!("a fan-out") };
    assert_eq!(fan_out.items.as_deref(), Some(&vec![json!("a"), json!("b")]));
    assert_eq!(fan_out.failure_mode, FailureMode::ContinueOnError);
    assert_eq!(needs(&plan, "sum"), successes(&["r"]));
    assert_eq!(known(&plan, "waves"), json!([["r:a", "r:b"], ["sum"]]));
    assert_eq!(
        (known(&plan, "critical_path_length"), known(&plan, "parallelism_ratio")),
        (json!(2), json!(1.5))
    );
    assert!(agent(&plan, "sum").dependency_outputs.is_some());
}

#[test]
fn a_dependency_may_be_on_one_partition() {
    let plan = plan(
        "agents:\n  - {id: r, task: '{{ partition }}', partitions: [a, b:c]}\n  - {id: x, task: t, depends_on: ['r:b:c']}\n  - {id: y, task: t, depends_on: [r]}\n",
    );
    assert_eq!(needs(&plan, "x"), successes(&["r"]));
    let items = |name: &str| node(&plan, name).needs.iter().map(|need| need.item).collect::<Vec<_>>();
    assert_eq!((items("x"), items("y")), (vec![Some(1)], vec![None]));
    assert!(matches!(node(&plan, "r").kind, Kind::ForEach(_)), "the agent stays what it is");
    assert_eq!(known(&plan, "waves"), json!([["r:a", "r:b:c"], ["x", "y"]]));
}

#[test]
fn sequential_mode_follows_dependencies_and_then_the_file() {
    let plan = plan(
        "mode: sequential\nagents:\n  - {id: c, task: t, depends_on: [a]}\n  - {id: a, task: t}\n  - {id: b, task: t}\n",
    );
    assert_eq!(known(&plan, "waves"), json!([["a"], ["c"], ["b"]]));
    assert_eq!(needs(&plan, "c"), successes(&["a"]));
    assert_eq!(needs(&plan, "b"), [("c".to_owned(), Requires::Any)]);
    assert!(agent(&plan, "b").dependency_outputs.is_none(), "order alone passes nothing on");
    assert!(node(&plan, "b").needs[0].order && !node(&plan, "c").needs[0].order);
}

#[test]
fn a_barrier_holds_levels_and_batches_apart() {
    let text = "barrier: true\nbatch_size: 2\nagents:\n  - {id: a, task: t}\n  - {id: b, task: t}\n  - {id: c, task: t}\n  - {id: d, task: t, depends_on: [a]}\n";
    let plan = plan(text);
    assert_eq!(known(&plan, "waves"), json!([["a", "b"], ["c"], ["d"]]));
    assert_eq!(needs(&plan, "c"), [("a".to_owned(), Requires::Any), ("b".to_owned(), Requires::Any)]);
    assert_eq!(needs(&plan, "d"), [("a".to_owned(), Requires::Success), ("c".to_owned(), Requires::Any)]);
    let free = self::plan(&text.replace("barrier: true\n", ""));
    assert!(needs(&free, "c").is_empty(), "without a barrier a batch is only a word");
}

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
fn prompts_have_task_context_and_role() {
    let plan = plan(
        "query: the question\ncontext: the facts\nagents:\n  - {id: a, role: '{{ clerk }}', department: law}\n  - {id: b, task: 'for {{ query }}, given {{ context }}'}\n",
    );
    let first = agent(&plan, "a");
    assert!(text(&plan, &first.prompt).starts_with("{{ workflow.input.query }}"));
    assert!(text(&plan, &first.prompt).contains("Context:"));
    let system = text(&plan, first.system.as_ref().unwrap());
    assert_eq!(system, "You are {{ '{{' }} clerk }}, a specialist agent in the law department.");
    let second = text(&plan, &agent(&plan, "b").prompt);
    assert!(
        second.starts_with(
            "{% set query = workflow.input.query %}{% set context = workflow.input.context %}for"
        )
    );
    assert!(!second.contains("Context:"), "{second}");
    let inputs = plan.root().inputs.as_ref().unwrap();
    assert_eq!(inputs["query"].default, Some(json!("the question")));
    assert_eq!(inputs["context"].default, Some(json!("the facts")));
}

#[test]
fn a_query_that_nobody_stated_must_be_given() {
    let plan = plan("agents:\n  - {id: a}\n  - {id: b, task: t}\n");
    assert!(plan.root().inputs.as_ref().unwrap()["query"].required);
    let none = self::plan(&agents(2));
    assert!(!none.root().inputs.as_ref().unwrap()["query"].required);
}

#[test]
fn with_declared_inputs_the_query_may_be_a_template() {
    let plan = plan(
        "inputs: {topic: {type: string}, parts: {type: array}}\nquery: 'what about {{ workflow.input.topic }}?'\nagents:\n  - {id: a, partitions: workflow.input.parts}\n",
    );
    let inputs: Vec<&String> = plan.root().inputs.as_ref().unwrap().keys().collect();
    assert_eq!(inputs, ["query", "context", "topic", "parts"]);
    let body = agent(&plan, "a.a");
    assert!(text(&plan, &body.prompt).contains(
        "{% else %}what about {{ workflow.input.topic }}?{% endif %}\n\nFocus on: {{ partition }}"
    ));
    assert_eq!(reduce(&plan).strategy, Strategy::Auto, "their number is known when they run");
    let unknown = compiled("query: '{{ x }}'\nagents:\n  - {id: a, task: '{{ qeury }}'}\n");
    assert_eq!(findings(&unknown), [("workflow::unknown_reference", 3)], "{}", shown(&unknown));
}

#[test]
fn retries_and_bounds_are_what_was_stated() {
    let plan = plan(
        "max_retries: 4\nagents:\n  - {id: a, task: t, max_retries: 0, timeout: 30}\n  - {id: b, task: t}\n  - {id: c, task: t, retry: {max_attempts: 2}}\n",
    );
    assert_eq!(node(&plan, "a").retry.max_attempts, 1);
    assert_eq!(node(&plan, "a").timeout, Some(Span::Millis(30_000)));
    assert_eq!(node(&plan, "b").retry.max_attempts, 5);
    assert!(node(&plan, "b").retry.on.contains(convoke_model::Class::InvalidOutput));
    assert_eq!(node(&plan, "c").retry.max_attempts, 2);
    assert_eq!(agent(&plan, "b").settings.session_timeout, Some(std::time::Duration::from_secs(120)));
    let silent = self::plan(&agents(2));
    assert_eq!(node(&silent, "a0").retry, convoke_model::Retry::agent_default());
    assert_eq!(silent.root().limits.max_concurrency, Some(60));
}

#[test]
fn models_are_named_by_themselves_by_service_or_by_role() {
    let plan = plan(
        "model: openai:base\nmodel_roles: {fast: 'anthropic:small', odd: plain}\nagents:\n  - {id: a, task: t, model_id: 'google:big'}\n  - {id: b, task: t, model_role: fast}\n  - {id: c, task: t, model_role: odd, model: 'llama3:8b'}\n  - {id: d, task: t}\n",
    );
    let of = |name: &str| {
        let agent = agent(&plan, name);
        (
            agent.settings.provider.name.clone(),
            agent.model.as_ref().map(|model| text(&plan, model).to_owned()),
        )
    };
    assert_eq!(of("a"), ("gemini".to_owned(), Some("big".to_owned())));
    assert_eq!(of("b"), ("anthropic".to_owned(), Some("small".to_owned())));
    assert_eq!(of("c"), ("openai".to_owned(), Some("llama3:8b".to_owned())));
    assert_eq!(of("d"), ("openai".to_owned(), Some("base".to_owned())));
}

#[test]
fn pe_11_a_role_without_a_model_is_never_an_error() {
    let result =
        compiled("agents:\n  - {id: a, task: t, model_role: nobody}\n  - {id: b, task: t, model_role: ''}\n");
    assert!(result.plan.is_some(), "{}", shown(&result));
    assert_eq!(findings(&result), [("workflow::no_effect", 2)]);
}

#[test]
fn shapes_of_answers_come_in_four_forms() {
    let schema = |form: &str| {
        let plan = plan(&format!("agents:\n  - {{id: a, task: t, output_schema: {form}}}\n"));
        agent(&plan, "a").settings.schema.clone().expect("a shape").json_schema()
    };
    let any = json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]});
    assert_eq!(schema("'a, b'"), any);
    assert_eq!(schema("{a: the first, b: 2}"), any);
    let stated = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}}, "required": ["a"]});
    let json = r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}}, "required": ["a"]}"#;
    assert_eq!(schema(json), stated);
    assert_eq!(schema(&format!("'{json}'")), stated);
    assert_eq!(schema("{a: {type: number}}")["required"], json!(["a"]));
    // The original wanted the keys `type` and `properties` of an answer when nothing was required.
    let open = r#"{"type": "object", "properties": {"a": {"type": "integer"}}}"#;
    assert_eq!(schema(open)["required"], json!([]));
}

#[test]
fn criteria_are_judged_only_where_the_manifest_says_so() {
    let text = "agents:\n  - {id: a, task: t, success_criteria: be brief}\n  - {id: b, task: t}\n";
    let silent = plan(text);
    assert!(agent(&silent, "a").settings.success_criteria.is_none(), "PE-5");
    assert!(self::text(&silent, &agent(&silent, "a").prompt).contains("be brief"));
    for on in ["verify: criteria\n", "metadata: {verify: true}\n", "verify: true\n", "verify: {rounds: 1}\n"]
    {
        let plan = plan(&format!("{on}{text}"));
        assert!(agent(&plan, "a").settings.success_criteria.is_some(), "{on}");
        let examined = plan.root().nodes.iter().any(|node| &*node.name == "verification");
        assert_eq!(examined, !on.contains("criteria") && !on.contains("metadata"), "{on}");
    }
}

#[test]
fn a_synthesis_may_be_of_some_and_by_any_strategy() {
    let plan = plan(
        "query: q\nagents:\n  - {id: a, role: thinker}\n  - {id: b, role: thinker}\n  - {id: c, depends_on: [a, b]}\nsynthesis: {of: [c], strategy: judge, model: m, instructions: 'mind {{ query }}'}\n",
    );
    let merged = reduce(&plan);
    assert_eq!(merged.of.iter().map(|node| &*plan.root().node(*node).name).collect::<Vec<_>>(), ["c"]);
    assert_eq!(merged.strategy, Strategy::Judge);
    assert!(text(&plan, merged.instructions.as_ref().unwrap()).starts_with("{% set query"));
    let all = self::plan(
        "agents:\n  - {id: a, task: t, role: x}\n  - {id: b, task: t, role: x}\n  - {id: c, task: t, role: y}\n",
    );
    let titles: Vec<_> = reduce(&all).titles.iter().flatten().map(String::as_str).collect();
    assert_eq!(titles, ["x (a)", "x (b)", "y"]);
    let unknown =
        compiled("agents:\n  - {id: abc, task: t}\n  - {id: b, task: t}\nsynthesis: {of: [abd, b]}\n");
    assert_eq!(findings(&unknown), [("workflow::unknown_value", 4)], "{}", shown(&unknown));
}

#[test]
fn an_agent_may_be_called_like_our_own_steps() {
    let plan = plan("verify: true\nagents:\n  - {id: synthesis, task: t}\n  - {id: verification, task: t}\n");
    assert!(matches!(node(&plan, "synthesis_").kind, Kind::Reduce(_)));
    assert!(matches!(node(&plan, "verification_").kind, Kind::Verify(_)));
}

#[test]
fn tools_may_be_servers() {
    let plan = plan(
        "mcp_servers: {files: {command: f}}\nagents:\n  - {id: a, task: t, tools: [files, files__read]}\n  - {id: b, task: t, tools: []}\n",
    );
    assert_eq!(
        agent(&plan, "a").settings.tools.as_deref(),
        Some(&["files__*".to_owned(), "files__read".to_owned()][..])
    );
    assert_eq!(agent(&plan, "b").settings.tools.as_deref(), Some(&[][..]));
}

#[test]
fn partitions_that_no_text_asks_about_are_worth_a_word() {
    let result = compiled("agents:\n  - {id: a, task: same, partitions: [x, y]}\n");
    assert_eq!(findings(&result), [("workflow::no_effect", 2)], "{}", shown(&result));
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
    let page = include_str!("../../../docs/manifests.md");
    let mut seen = 0;
    for block in page.split("```yaml\n").skip(1).chain(page.split("```json\n").skip(1)) {
        let text = block.split("```").next().unwrap();
        let result = compiled(text);
        assert!(result.diagnostics.is_empty(), "{}\n{text}", shown(&result));
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn the_schema_beside_the_documents_is_the_one_of_manifests() {
    let written: Value = serde_json::from_str(include_str!("../../../docs/manifest.schema.json")).unwrap();
    let same = written == convoke_plan::source::manifest_schema();
    assert!(same, "write it anew: convoke schema manifest > docs/manifest.schema.json");
}

proptest! {
    /// Whatever the order of the file: no agent stands on the level of something it waits for, or before it.
    #[test]
    fn levels_respect_dependencies(edges in prop::collection::vec((0usize..12, 0usize..12), 0..30), by in 1usize..12) {
        // A number that is coprime to 13 makes an order of 12 names that has nothing to do with the edges.
        let place = |number: usize| (number + 1) * by % 13;
        let mut lines: Vec<(usize, String)> = (0..12).map(|number| {
            let before: Vec<String> = edges.iter().filter(|(from, to)| *to == number && from < to).map(|(from, _)| format!("a{from}")).collect();
            (place(number), format!("  - {{id: a{number}, task: t, depends_on: [{}]}}\n", before.join(", ")))
        }).collect();
        lines.sort();
        let text: String = lines.into_iter().map(|(_, line)| line).collect();
        let plan = plan(&format!("agents:\n{text}"));
        let waves = known(&plan, "waves");
        let level = |number: usize| waves.as_array().unwrap().iter().position(|wave| wave.as_array().unwrap().contains(&json!(format!("a{number}"))));
        for (from, to) in edges.iter().filter(|(from, to)| from < to) {
            prop_assert!(level(*from) < level(*to));
        }
        prop_assert_eq!(waves.as_array().unwrap().iter().map(|wave| wave.as_array().unwrap().len()).sum::<usize>(), 12);
    }
}

#[test]
fn three_hundred_agents_and_ten_thousand_partitions_are_ordinary() {
    let many = plan(&agents(300));
    assert_eq!((known(&many, "agent_count"), reduce(&many).of.len()), (json!(300), 300));
    let partitions: Vec<String> = (0..10_000).map(|number| format!("p{number}")).collect();
    let wide = plan(&format!(
        "agents:\n  - {{id: a, task: '{{{{partition}}}}', partitions: [{}]}}\n",
        partitions.join(", ")
    ));
    assert_eq!(known(&wide, "agent_count"), json!(10_000));
}

#[test]
fn in_sequence_each_partition_has_its_turn() {
    let plan = plan(
        "mode: sequential\nagents:\n  - {id: late, task: t, depends_on: [p]}\n  - {id: p, task: '{{ partition }}', partitions: [x, y]}\n  - {id: z, task: t}\n",
    );
    assert_eq!(known(&plan, "waves"), json!([["p:x"], ["p:y"], ["late"], ["z"]]));
    assert_eq!(
        (known(&plan, "critical_path_length"), known(&plan, "parallelism_ratio")),
        (json!(4), json!(1.0))
    );
}

#[test]
fn partitions_count_as_agents_of_a_batch() {
    let plan = plan(
        "barrier: true\nbatch_size: 2\nagents:\n  - {id: a, task: t}\n  - {id: p, task: '{{ partition }}', partitions: [x, y, z]}\n  - {id: q, task: '{{ partition }}', partitions: [u, v]}\n",
    );
    assert_eq!(known(&plan, "waves"), json!([["a"], ["p:x", "p:y"], ["p:z"], ["q:u", "q:v"]]));
    let Kind::ForEach(fan_out) = &node(&plan, "p").kind else { panic!("a fan-out") };
    assert!(fan_out.in_batches && fan_out.max_concurrent == 2);
    assert_eq!(needs(&plan, "q"), [("p".to_owned(), Requires::Any)]);
}

#[test]
fn partitions_by_path_are_names_and_are_counted_at_run_time() {
    let plan = plan(
        "inputs: {topics: {type: array}}\nagents:\n  - {id: a, task: '{{ partition }}', partitions: workflow.input.topics}\n  - {id: b, task: t}\n",
    );
    let Kind::ForEach(fan_out) = &node(&plan, "a").kind else { panic!("a fan-out") };
    assert!(fan_out.named);
    let given = |topics: Value| {
        let given = [("topics".to_owned(), convoke_plan::compile::GivenInput::Json(topics))];
        convoke_plan::compile::check_inputs(plan.root(), &given).map_err(|errors| errors[0].message.clone())
    };
    assert!(given(json!(["x", "y"])).is_ok());
    assert!(given(json!([])).unwrap_err().contains("empty"));
    assert!(given(json!(["x", "y", "x"])).unwrap_err().contains("twice"));
    assert!(given(json!(["x", " "])).unwrap_err().contains("empty text"));
    let text = compiled(
        "inputs: {topics: {type: string}}\nagents:\n  - {id: a, task: '{{ partition }}', partitions: workflow.input.topics}\n",
    );
    assert_eq!(errors(&text), [("workflow::wrong_type", 3)], "{}", shown(&text));
}

#[test]
fn ten_thousands_of_partitions_are_read_in_linear_time() {
    let manifest = |count: usize| {
        let listed: Vec<String> = (0..count).map(|number| format!("p{number}")).collect();
        format!("agents:\n  - {{id: a, task: '{{{{ partition }}}}', partitions: [{}]}}\n", listed.join(", "))
    };
    let time = |count: usize| {
        let text = manifest(count);
        let begun = std::time::Instant::now();
        assert_eq!(known(&plan(&text), "agent_count"), json!(count));
        begun.elapsed()
    };
    let (few, many) = (time(5_000), time(40_000));
    assert!(many < few * 30, "8 times as many took {many:?} after {few:?}");
}

#[test]
fn a_quorum_larger_than_the_partitions_is_an_error() {
    let found = compiled(
        "agents:\n  - {id: h, task: '{{ partition }}', partitions: [x], failure_mode: quorum, min: 3}\n  - {id: e, task: t}\n",
    );
    assert_eq!(errors(&found), [("workflow::out_of_range", 2)], "{}", shown(&found));
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
fn a_voter_whose_shape_has_no_vote_is_an_error() {
    let text = "query: q\ncoordination_protocol: voting\nagents:\n  - {id: a, output_schema: 'title, score'}\n  - {id: b, output_schema: 'vote, why'}\n";
    let found = compiled(text);
    assert_eq!(errors(&found), [("workflow::missing_key", 4)], "{}", shown(&found));
    assert!(shown(&found).contains("could only abstain"), "{}", shown(&found));
}

#[test]
fn votes_are_told_their_options_and_not_bound_to_them() {
    let plan = plan(
        "query: q\nteam: {protocol: voting, vote: {options: [ship, wait]}}\nagents: [{id: a}, {id: b}]\n",
    );
    let schema = agent(&plan, "a").settings.schema.clone().unwrap();
    assert!(schema.fields["vote"].choices.is_none());
    assert!(schema.fields["vote"].description.as_ref().unwrap().contains("ship, wait"));
}

#[test]
fn a_query_that_somebody_is_asked_may_not_be_empty() {
    let given = |text: &str, query: Option<&str>| {
        let plan = plan(text);
        let given =
            query.map(|query| ("query".to_owned(), convoke_plan::compile::GivenInput::Text(query.into())));
        let given: Vec<_> = given.into_iter().collect();
        convoke_plan::compile::check_inputs(plan.root(), &given).is_ok()
    };
    let asked = "agents: [{id: a}]\n";
    assert!(given(asked, Some("what?")) && !given(asked, Some(" ")) && !given(asked, None));
    let stated = "query: what?\nagents: [{id: a}]\n";
    assert!(given(stated, None) && !given(stated, Some("")));
    assert!(!given("query: ''\nagents: [{id: a}]\n", None), "an empty query is none");
    assert!(given("query: ''\nagents: [{id: a, task: t}]\n", None));
    assert!(given("agents: [{id: a, task: t}]\n", Some("")));
}

#[test]
fn a_query_that_is_a_template_yields_to_what_is_given() {
    let plan = plan(
        "inputs: {who: {type: string, default: all}}\nquery: 'For {{ workflow.input.who }}?'\nagents: [{id: a}]\n",
    );
    let given = [("query".to_owned(), convoke_plan::compile::GivenInput::Text("else".into()))];
    let inputs = convoke_plan::compile::check_inputs(plan.root(), &given).expect("it is taken");
    assert_eq!(inputs["query"], json!("else"));
    assert!(text(&plan, &agent(&plan, "a").prompt).starts_with("{% if workflow.input.query %}"));
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
        &["abstains"],
    );
    let circle =
        compiled("query: q\nagents: [{id: a, depends_on: [b]}, {id: b, depends_on: [a]}, {id: c}]\n");
    assert_eq!(findings(&circle).len(), 1, "{}", shown(&circle));
}
