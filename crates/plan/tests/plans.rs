//! What a plan holds: defaults, edges, texts, providers, hashes.

use crate::world;

use convoke_model::{Budget, Class, Classes, Fallback, Price, ProviderSettings, Retry, WhenSpent};
use convoke_plan::compile::{GivenInput, Options, PriceBook, check_inputs};
use convoke_plan::*;
use serde_json::json;
use std::collections::BTreeMap;
use world::{World, compiled, shown};

fn plan(text: &str) -> Plan {
    let result = compiled(text);
    let found = shown(&result);
    result.plan.unwrap_or_else(|| panic!("no plan:{found}"))
}

fn node<'a>(plan: &'a Plan, name: &str) -> &'a Node {
    plan.root().nodes.iter().find(|node| &*node.name == name).expect(name)
}

fn agent<'a>(plan: &'a Plan, name: &str) -> &'a Agent {
    match &node(plan, name).kind {
        Kind::Agent(agent) => agent,
        other => panic!("{name} is {}", other.word()),
    }
}

#[test]
fn defaults_of_the_language_are_filled_in() {
    let plan = plan(
        "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: hi, routes: [{to: s}]}\n  - {name: s, type: script, command: ls}\n",
    );
    let workflow = plan.root();
    assert_eq!(workflow.entry, [NodeIx(0)]);
    assert_eq!((workflow.limits.max_iterations, workflow.limits.iterations_stated), (10, false));
    assert_eq!(workflow.limits.max_tasks, 100_000);
    assert_eq!(workflow.dir, ".");
    let first = agent(&plan, "a");
    assert_eq!(first.settings.request_timeout.as_secs(), 600);
    assert_eq!(first.settings.parse_recovery, 2);
    assert_eq!(first.settings.provider, ProviderSettings::default());
    assert_eq!(node(&plan, "a").retry, Retry::agent_default());
    assert_eq!(node(&plan, "s").retry, Retry::once());
    assert_eq!(node(&plan, "a").on_unknown, OnUnknown::Retry);
    assert_eq!(node(&plan, "s").on_unknown, OnUnknown::Ask);
    assert_eq!(node(&plan, "a").routes, [Route { to: Some(NodeIx(1)), when: None, output: vec![] }]);
    assert_eq!((node(&plan, "s").place.line, node(&plan, "s").place.column), (4, 5));
}

#[test]
fn a_stated_retry_is_kept() {
    let plan = plan(
        "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: hi, timeout_seconds: 5, retry: {max_attempts: 4, delay_seconds: 60, backoff: fixed, retry_on: [timeout]}}\n",
    );
    let expected = Retry {
        max_attempts: 4,
        max_rate_limited: 4,
        base_ms: 60_000,
        factor: 1,
        cap_ms: 60_000,
        on: Classes::of(&[Class::Timeout]),
    };
    assert_eq!(node(&plan, "a").retry, expected);
    assert_eq!(node(&plan, "a").timeout, Some(Span::Millis(5000)));
}

#[test]
fn without_entry_point_everything_starts_that_waits_for_nothing() {
    let plan = plan(
        "workflow: {name: w, hooks: {on_complete: {run: tidy}}}\nparallel:\n  - {name: g, agents: [m, n]}\nagents:\n  - {name: a, prompt: x}\n  - {name: b, prompt: x, needs: [a]}\n  - {name: m, prompt: x}\n  - {name: n, prompt: x}\n  - {name: tidy, type: script, command: ls}\n",
    );
    let names: Vec<&str> = plan.root().entry.iter().map(|ix| &*plan.root().node(*ix).name).collect();
    assert_eq!(names, ["a", "g"]);
}

#[test]
fn inline_bodies_keep_their_own_name_unless_it_is_taken() {
    let plan = plan(
        "workflow: {name: w, entry_point: g}\nfor_each:\n  - {name: g, type: for_each, source: workflow.input.i, as: x, agent: {name: g, prompt: x}, routes: [{to: h}]}\n  - {name: h, type: for_each, source: workflow.input.i, as: x, agent: {name: do, prompt: x}}\nagents: []\n",
    );
    let names: Vec<&str> = plan.root().nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(names, ["g", "h", "g.g", "do"]);
}

#[test]
fn equal_texts_are_kept_once() {
    let plan = plan(
        "workflow: {name: w, entry_point: g}\nparallel:\n  - {name: g, agents: [a, b]}\nagents:\n  - {name: a, prompt: '{{ workflow.name }}'}\n  - {name: b, prompt: '{{ workflow.name }}'}\n",
    );
    assert_eq!(plan.templates.len(), 1);
    assert_eq!(agent(&plan, "a").prompt, agent(&plan, "b").prompt);
}

#[test]
fn references_of_explicit_mode_are_resolved() {
    let plan = plan(
        "workflow: {name: w, entry_point: a, context: {mode: explicit}}\nagents:\n  - {name: a, prompt: x, routes: [{to: b}]}\n  - {name: b, prompt: x, input: [a.output.x, 'a.y?', workflow.input.k]}\n",
    );
    let targets: Vec<&InputTarget> = node(&plan, "b").inputs.iter().map(|input| &input.target).collect();
    let of_a = |field: &str| InputTarget::Node { node: NodeIx(0), path: vec!["output".into(), field.into()] };
    assert_eq!(targets, [&of_a("x"), &of_a("y"), &InputTarget::Input("k".into())]);
    assert_eq!(
        node(&plan, "b").inputs.iter().map(|input| input.optional).collect::<Vec<_>>(),
        [false, true, false]
    );
}

#[test]
fn providers_come_from_the_file_the_flag_or_the_configuration() {
    let file = "workflow:\n  name: w\n  entry_point: a\n  runtime: {provider: {name: openai, base_url: 'http://x', api_key: '${KEY}'}}\nagents:\n  - {name: a, prompt: x, routes: [{to: b}]}\n  - {name: b, prompt: x, provider: copilot}\n";
    let world = World::default().file("main.yaml", file).env("KEY", "secret");
    let named = |name: &str| ProviderSettings { name: name.into(), ..Default::default() };
    let of = |options: &Options, name: &str| {
        let plan = world.compile_with(options).plan.unwrap();
        agent(&plan, name).settings.provider.clone()
    };
    let plain = Options::default();
    let own = ProviderSettings {
        base_url: Some("http://x".into()),
        api_key: Some("${KEY}".into()),
        ..named("openai")
    };
    assert_eq!(of(&plain, "a"), own);
    assert_eq!(of(&plain, "b"), named("copilot"));
    let mapped =
        Options { provider_map: BTreeMap::from([("copilot".into(), named("openai"))]), ..plain.clone() };
    assert_eq!(of(&mapped, "b"), named("openai"));
    let flag = Options { provider_override: Some(named("scripted")), ..plain };
    assert_eq!(of(&flag, "a"), named("scripted"));
    assert_eq!(of(&flag, "b"), named("scripted"));
}

#[test]
fn a_chain_of_models_is_a_first_one_and_the_rest() {
    let file = "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: x, models: [big, small, tiny], routes: [{to: b}]}\n  - {name: b, prompt: x, models: [big, small], retry: {max_attempts: 5, retry_on: [timeout]}}\n";
    let plan = plan(file);
    let of = |name: &str| (agent(&plan, name).model.clone(), agent(&plan, name).settings.fallback.clone());
    let chain = |models: &[&str], attempts| {
        Some(Fallback { models: models.iter().map(|model| model.to_string()).collect(), attempts })
    };
    assert_eq!(of("a"), (Some(Text::Literal("big".into())), chain(&["small", "tiny"], 3)));
    assert_eq!(of("b").1, chain(&["small"], 1));
}

#[test]
fn a_key_may_be_in_a_file_and_a_token_has_a_header_of_its_own() {
    let of = |provider: &str| {
        let file = format!(
            "workflow: {{name: w, entry_point: a, runtime: {{provider: {provider}}}}}\nagents:\n  - {{name: a, prompt: x}}\n"
        );
        let plan = World::default().file("main.yaml", &file).env("T", "secret").compile().plan.unwrap();
        agent(&plan, "a").settings.provider.clone()
    };
    assert_eq!(of("{name: anthropic, api_key_file: key}").api_key_file.as_deref(), Some("key"));
    let token = of("{name: claude, auth_token: '${T}'}");
    assert_eq!((token.api_key, token.headers), (None, vec![("Authorization".into(), "Bearer ${T}".into())]));
}

#[test]
fn prices_of_the_configuration_stand_behind_those_of_the_file() {
    let file = "workflow: {name: w, entry_point: a, cost: {pricing: {m: {input_per_mtok: 1, output_per_mtok: 2}}}}\nagents:\n  - {name: a, prompt: x}\n";
    let price = |input| Price { input_per_mtok: input, ..Price::default() };
    let prices = BTreeMap::from([("m".into(), price(9.0)), ("n".into(), price(3.0))]);
    let options = Options { prices: stated(prices), ..Options::default() };
    let plan = World::default().file("main.yaml", file).compile_with(&options).plan.unwrap();
    let known = agent(&plan, "a").settings.pricing.clone();
    let input = |model| known.get(model).map(|price| price.input_per_mtok);
    assert_eq!((input("m"), input("n"), input("o")), (Some(1.0), Some(3.0), None));
}

fn stated(stated: BTreeMap<String, Price>) -> PriceBook {
    PriceBook { stated, ..PriceBook::default() }
}

/// A file that calls another, with these prices and this budget.
fn calling(other: &str, header: &str) -> String {
    format!(
        "workflow: {{name: w, entry_point: a{header}}}\nagents:\n  - {{name: a, type: workflow, workflow: {other}}}\n"
    )
}

const PRICED: &str = "workflow: {name: c, entry_point: x, cost: {pricing: {large: {input_per_mtok: 7, output_per_mtok: 7}}}}\nagents:\n  - {name: x, prompt: hi}\n";

#[test]
fn prices_of_the_files_around_one_stand_behind_its_own_nearest_first() {
    let cost = |models: &[(&str, u32)]| {
        let prices = models
            .iter()
            .map(|(model, usd)| format!("{model}: {{input_per_mtok: {usd}, output_per_mtok: 1}}"));
        format!(", cost: {{pricing: {{{}}}}}", prices.collect::<Vec<_>>().join(", "))
    };
    let root = calling("mid.yaml", &cost(&[("large", 1), ("small", 2), ("tiny", 3)]));
    let mid = calling("sub.yaml", &cost(&[("small", 4)]));
    let world = World::default().file("main.yaml", &root).file("mid.yaml", &mid).file("sub.yaml", PRICED);
    let prices = BTreeMap::from([("tiny".into(), Price { input_per_mtok: 9.0, ..Price::default() })]);
    let plan = world.compile_with(&Options { prices: stated(prices), ..Options::default() }).plan.unwrap();
    let Kind::Agent(inner) = &plan.workflows[2].nodes[0].kind else { panic!("an agent") };
    let known =
        ["large", "small", "tiny"].map(|model| inner.settings.pricing.get(model).unwrap().input_per_mtok);
    assert_eq!(known, [7.0, 4.0, 3.0]);
    assert_eq!(plan.workflows[1].pricing["large"].input_per_mtok, 1.0, "what is below says nothing above");
}

#[test]
fn a_file_without_a_provider_takes_the_default() {
    let world = World::default()
        .file("main.yaml", "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: x}\n");
    let default = ProviderSettings { name: "scripted".into(), ..Default::default() };
    let options = Options { default_provider: Some(default.clone()), ..Default::default() };
    let plan = world.compile_with(&options).plan.unwrap();
    assert_eq!(agent(&plan, "a").settings.provider, default);
}

#[test]
fn sub_workflows_stand_once_and_use_the_roots_provider() {
    let root = "workflow: {name: w, entry_point: a, runtime: {provider: openai, default_model: m}}\nagents:\n  - {name: a, type: workflow, workflow: sub/c.yaml, routes: [{to: b}]}\n  - {name: b, type: workflow, workflow: ./sub/c.yaml}\n";
    let child = "workflow: {name: c, entry_point: x}\nagents:\n  - {name: x, prompt: hi}\n";
    let plan = World::default().file("main.yaml", root).file("sub/c.yaml", child).compile().plan.unwrap();
    assert_eq!(plan.workflows.len(), 2);
    assert_eq!((plan.workflows[1].file.as_str(), plan.workflows[1].dir.as_str()), ("sub/c.yaml", "sub"));
    let Kind::Agent(inner) = &plan.workflows[1].nodes[0].kind else { panic!("an agent") };
    assert_eq!(inner.settings.provider.name, "openai");
    assert_eq!(inner.model, Some(Text::Literal("m".into())));
    assert_eq!(
        plan.sources.iter().map(|source| source.path.as_str()).collect::<Vec<_>>(),
        ["main.yaml", "sub/c.yaml"]
    );
}

#[test]
fn partials_and_skills_are_read_into_the_plan() {
    let root = "workflow: {name: w, entry_point: a, runtime: {skills: [skills/tidy]}}\nagents:\n  - name: a\n    prompt: !file prompts/a.md\n";
    let world = World::default()
        .file("main.yaml", root)
        .file("prompts/a.md", "{% include 'head.md' %} go")
        .file("prompts/head.md", "{% include 'inner.md' %}")
        .file("prompts/inner.md", "inner ${WHO}")
        .env("WHO", "me")
        .file("skills/tidy/SKILL.md", "Be tidy.\n");
    let result = world.compile();
    let plan = result.plan.clone().unwrap_or_else(|| panic!("{}", shown(&result)));
    assert_eq!(plan.partials.keys().collect::<Vec<_>>(), ["prompts/head.md", "prompts/inner.md"]);
    assert_eq!(plan.partials["prompts/inner.md"], "inner me");
    let stored: Vec<&str> = plan.sources.iter().map(|source| source.path.as_str()).collect();
    let read = ["main.yaml", "prompts/a.md", "prompts/head.md", "prompts/inner.md", "skills/tidy/SKILL.md"];
    assert_eq!(stored, read);
    assert_eq!(agent(&plan, "a").skills.as_deref(), Some("# Skill: tidy\n\nBe tidy."));
}

#[test]
fn a_missing_partial_is_reported_at_its_place() {
    let world = World::default()
        .file(
            "main.yaml",
            "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: !file a.md}\n",
        )
        .file("a.md", "x\n{% include 'none.md' %}\n");
    let result = world.compile();
    assert_eq!(world::findings(&result), [("workflow::template_syntax", 2)]);
    assert!(result.diagnostics[0].message.contains("none.md"));
}

#[test]
fn hooks_that_run_commands_become_nodes() {
    let plan = plan(
        "workflow:\n  name: w\n  entry_point: a\n  hooks: {on_start: 'starting', on_complete: {command: echo, args: ['{{ workflow.name }}']}}\nagents:\n  - {name: a, prompt: x}\n",
    );
    let hooks = &plan.root().hooks;
    assert_eq!(hooks.on_start, Some(Hook::Text(Text::Literal("starting".into()))));
    assert_eq!(hooks.on_complete, Some(Hook::Run(NodeIx(1))));
    assert_eq!(plan.root().nodes[1].kind.word(), "script");
}

#[test]
fn a_summary_has_a_node_of_its_own() {
    let plan = plan(
        "workflow:\n  name: w\n  entry_point: a\n  context: {max_tokens: 100, trim_strategy: summarize}\nagents:\n  - {name: a, prompt: x}\n",
    );
    let summary = plan.root().summary.expect("a node");
    assert_eq!(&*plan.root().node(summary).name, "$summary");
}

#[test]
fn a_hash_changes_with_what_a_node_does_and_with_nothing_else() {
    let file = |prompt: &str, extra: &str, more: &str| {
        format!(
            "workflow: {{name: w, entry_point: g, instructions: [be kind]}}\nparallel:\n  - {{name: g, agents: [a, b]}}\nagents:\n{extra}  - {{name: a, prompt: '{prompt}'{more}}}\n  - {{name: b, prompt: '{{{{ workflow.name }}}}'}}\n"
        )
    };
    let hashes = |text: &str| {
        let plan = plan(text);
        ["g", "a", "b"].map(|name| node(&plan, name).hash)
    };
    let before = hashes(&file("x", "", ""));
    let moved = hashes(&file(
        "x",
        "  - {name: other, prompt: '{{ workflow.dir }}'}\n",
        ", retry: {max_attempts: 2}, timeout_seconds: 9",
    ));
    assert_eq!(before, moved);
    let changed = hashes(&file("y", "", ""));
    assert_ne!(before[0], changed[0]);
    assert_ne!(before[1], changed[1]);
    assert_eq!(before[2], changed[2]);
}

#[test]
fn a_plan_survives_being_written_down() {
    let plan = plan(
        "workflow: {name: w, entry_point: a, input: {n: {type: number, default: 2}}}\nagents:\n  - {name: a, prompt: '{{ workflow.input.n }}', output: {x: {type: number, minimum: 1}}, routes: [{to: $end, when: 'x > 1'}, {to: a}]}\noutput: {r: '{{ a.output.x }}'}\n",
    );
    let text = serde_json::to_string(&plan).unwrap();
    let read: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert_eq!(read.digest(), plan.digest());
}

#[test]
fn inputs_are_read_by_their_declared_type() {
    let declared = plan(
        "workflow:\n  name: w\n  entry_point: a\n  input:\n    code: {type: string}\n    count: {type: number, default: 3}\n    tags: {type: array, required: false}\nagents:\n  - {name: a, prompt: x}\n",
    );
    let text = |name: &str, value: &str| (name.to_owned(), GivenInput::Text(value.to_owned()));
    let given = check_inputs(declared.root(), &[text("code", "007")]).unwrap();
    assert_eq!(json!(given), json!({"code": "007", "count": 3, "tags": []}));
    let wrong = check_inputs(declared.root(), &[text("count", "many"), text("tag", "x")]).unwrap_err();
    let found: Vec<(&str, Option<&str>)> =
        wrong.iter().map(|error| (error.name.as_str(), error.help.as_deref())).collect();
    assert_eq!(found, [("tag", Some("did you mean `tags`?")), ("code", None), ("count", None)]);
    let value = ("count".to_owned(), GivenInput::Json(json!(true)));
    let wrong = check_inputs(declared.root(), &[text("code", ""), value]).unwrap_err();
    assert_eq!(wrong[0].message, "input `count` must be of type number, not boolean");
}

#[test]
fn without_a_declaration_inputs_are_read_by_their_look() {
    let open = plan("workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: x}\n");
    let given = check_inputs(open.root(), &[("n".into(), GivenInput::Text("5".into()))]).unwrap();
    assert_eq!(json!(given), json!({"n": 5}));
}

#[test]
fn bounds_policies_and_approval_of_a_goal_are_not_in_its_hash() {
    let hash = |keys: &str| {
        let text = format!(
            "workflow: {{name: w, entry_point: a}}\nagents:\n  - {{name: a, type: goal, goal: g{keys}}}\n"
        );
        let plan = World::default().file("main.yaml", &text).compile().plan.unwrap();
        node(&plan, "a").hash
    };
    let bounds = ", max_depth: 2, max_children: 3, max_tasks: 9, max_rounds: 1, max_recoveries: 0";
    for keys in [bounds, ", policies: {any: [fail]}", ", approve: true", ", backoff: 9s"] {
        assert_eq!(hash(""), hash(keys), "{keys}");
    }
    for keys in [", context: c", ", plan: [{description: x}]", ", roles: {plan: {prompt: p}}"] {
        assert_ne!(hash(""), hash(keys), "{keys}");
    }
}

#[test]
fn budgets_and_resources_are_in_the_plan_and_not_in_the_hash() {
    let file = |limits: &str, step: &str, group: &str| {
        format!(
            "workflow: {{name: w, entry_point: g, limits: {{{limits}}}, cost: {{pricing: {{small: {{input_per_mtok: 0, output_per_mtok: 1}}}}}}}}\nparallel:\n  - {{name: g, agents: [a, b]{group}}}\n\
             agents:\n  - {{name: a, prompt: x{step}}}\n  - {{name: b, type: script, command: ls}}\n"
        )
    };
    let bare = plan(&file("", "", ""));
    let said = plan(&file(
        "budget_usd: 2, budget_tokens: 900, budget_mode: enforce, when_spent: queue",
        ", budget: {usd: 0.25, when_spent: degrade, degrade_to: small}, resources: {gpu: 2, disk: 1}",
        ", budget: {tokens: 500, when_spent: ask}",
    ));
    let limit = Budget {
        micros: Some(2_000_000),
        tokens: Some(900),
        when_spent: WhenSpent::Queue,
        ..Budget::default()
    };
    assert_eq!((bare.root().limits.budget.clone(), said.root().limits.budget.clone()), (None, Some(limit)));
    let degrade = WhenSpent::Degrade("small".into());
    let own = Budget { micros: Some(250_000), when_spent: degrade, ..Budget::default() };
    assert_eq!(node(&said, "a").budget, Some(own));
    assert_eq!(node(&said, "a").resources, [("gpu".into(), 2), ("disk".into(), 1)]);
    let group = Budget { tokens: Some(500), when_spent: WhenSpent::Ask, ..Budget::default() };
    assert_eq!(node(&said, "g").budget, Some(group));
    for name in ["g", "a", "b"] {
        assert_eq!(node(&bare, name).hash, node(&said, name).hash, "{name}");
    }
}

#[test]
fn a_budget_is_only_reported_unless_it_is_enforced() {
    let plan = plan(
        "workflow: {name: w, entry_point: a, limits: {budget_usd: 1}}\nagents:\n  - {name: a, prompt: x}\n",
    );
    let expected = Budget { micros: Some(1_000_000), audit: true, lenient: true, ..Budget::default() };
    assert_eq!(plan.root().limits.budget, Some(expected));
}
