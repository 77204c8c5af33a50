//! MCP servers, tools, the step that calls one, coding agents: what is found in files, and what plans hold.

use crate::world;

use convoke_model::{
    Compaction, Permissions, Program, ProviderSettings, Retry, Server, StuckAction, StuckLoop,
    SuccessCriteria, Transport, WindowSource,
};
use convoke_plan::compile::{Degrade, DegradeOf, Options};
use convoke_plan::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use world::{World, compiled, findings, shown};

fn plan(text: &str) -> Plan {
    let result = compiled(text);
    let found = shown(&result);
    assert!(result.diagnostics.is_empty(), "{found}\n{text}");
    result.plan.expect("a file without findings has a plan")
}

/// A workflow with two servers and these steps.
fn with_servers(steps: &str) -> String {
    let entry = if steps.contains("needs:") { "" } else { "  entry_point: a\n" };
    format!(
        "workflow:\n  name: w\n{entry}  runtime:\n    mcp_servers:\n      fs: {{command: npx, args: [-y, server], tools: [read, list]}}\n      web: {{type: http, url: 'https://x.test/mcp'}}\nagents:\n{steps}"
    )
}

fn node<'a>(plan: &'a Plan, name: &str) -> &'a Node {
    plan.workflows.iter().flat_map(|w| &w.nodes).find(|node| &*node.name == name).expect(name)
}

fn agent<'a>(plan: &'a Plan, name: &str) -> &'a Agent {
    match &node(plan, name).kind {
        Kind::Agent(agent) => agent,
        other => panic!("{name} is {}", other.word()),
    }
}

fn tool<'a>(plan: &'a Plan, name: &str) -> &'a Tool {
    match &node(plan, name).kind {
        Kind::Tool(tool) => tool,
        other => panic!("{name} is {}", other.word()),
    }
}

/// The message and the help of the only finding, an error or a warning with this code.
fn only(text: &str, code: &str) -> String {
    let result = compiled(text);
    assert_eq!(result.diagnostics.len(), 1, "{}", shown(&result));
    assert_eq!(result.diagnostics[0].code, code, "{}", shown(&result));
    shown(&result)
}

#[test]
fn servers_become_data_and_credentials_stay_references() {
    let text = "workflow:\n  name: w\n  runtime:\n    mcp_servers:\n      fs:\n        command: npx\n        args: [-y, server, '${SECRET}']\n        env: {TOKEN: '${SECRET}', MODE: stdio}\n        timeout: 1500\n        tools: ['*']\n      search: {type: http, url: 'https://x.test/mcp?key=${SECRET}', headers: {Authorization: 'Bearer ${SECRET}'}, tools: [search]}\n      here: {command: run, working_dir: ../up}\nagents:\n  - {name: a, prompt: x}\n  - {name: b, prompt: x, needs: [a]}\n";
    let world = World::default().file("flows/main.yaml", text).env("SECRET", "hush");
    let result = compile::compile("flows/main.yaml", &world, &Options::default());
    let plan = result.plan.clone().unwrap_or_else(|| panic!("{}", shown(&result)));
    let servers = &agent(&plan, "a").settings.servers;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let fs = Server {
        transport: Transport::Stdio {
            command: "npx".into(),
            args: vec!["-y".into(), "server".into(), "${SECRET}".into()],
            env: vec![pair("TOKEN", "${SECRET}"), pair("MODE", "stdio")],
            working_dir: Some("flows".into()),
        },
        timeout: Some(Duration::from_millis(1500)),
        tools: None,
    };
    let search = Server {
        transport: Transport::Http {
            url: "https://x.test/mcp?key=${SECRET}".into(),
            headers: vec![pair("Authorization", "Bearer ${SECRET}")],
        },
        timeout: None,
        tools: Some(vec!["search".into()]),
    };
    assert_eq!((&servers["fs"], &servers["search"]), (&fs, &search));
    let Transport::Stdio { working_dir, .. } = &servers["here"].transport else { panic!("stdio") };
    assert_eq!(working_dir.as_deref(), Some("up"));
    assert!(Arc::ptr_eq(servers, &agent(&plan, "b").settings.servers), "one list for all agents");
    assert!(!serde_json::to_string(&plan).unwrap().contains("hush"));
}

#[test]
fn a_server_beside_the_run_works_in_its_folder() {
    let plan = plan(&with_servers("  - {name: a, prompt: x}\n"));
    let Transport::Stdio { working_dir, .. } = &agent(&plan, "a").settings.servers["fs"].transport else {
        panic!("stdio")
    };
    assert_eq!(working_dir.as_deref(), Some("."));
}

#[test]
fn sse_is_read_as_streamable_http() {
    let text = "workflow:\n  name: w\n  entry_point: a\n  runtime: {mcp_servers: {s: {type: sse, url: 'https://x.test/sse'}}}\nagents:\n  - {name: a, prompt: x}\n";
    assert!(only(text, "workflow::no_effect").contains("streamable HTTP"));
    let plan = compiled(text).plan.expect("a warning refuses nothing");
    assert!(matches!(agent(&plan, "a").settings.servers["s"].transport, Transport::Http { .. }));
}

#[test]
fn a_sub_workflow_without_servers_has_those_of_the_root() {
    let root = "workflow:\n  name: w\n  runtime: {mcp_servers: {s: {command: run}}}\ntools: [one]\nagents:\n  - {name: r, type: workflow, workflow: sub/none.yaml}\n  - {name: q, type: workflow, workflow: sub/own.yaml, needs: [r]}\n";
    let none = "workflow: {name: n, entry_point: a}\nagents:\n  - {name: a, prompt: x, routes: [{to: t}]}\n  - {name: t, type: tool, tool: one}\n";
    let own = "workflow: {name: o, entry_point: b, runtime: {mcp_servers: {own: {command: run}}}}\nagents:\n  - {name: b, prompt: x}\n";
    let world =
        World::default().file("main.yaml", root).file("sub/none.yaml", none).file("sub/own.yaml", own);
    let result = world.compile();
    assert!(result.diagnostics.is_empty(), "{}", shown(&result));
    let plan = result.plan.unwrap();
    let names = |name: &str| agent(&plan, name).settings.servers.keys().cloned().collect::<Vec<_>>();
    assert_eq!((names("a"), names("b")), (vec!["s".to_owned()], vec!["own".to_owned()]));
    let Transport::Stdio { working_dir, .. } = &agent(&plan, "a").settings.servers["s"].transport else {
        panic!("stdio")
    };
    assert_eq!(working_dir.as_deref(), Some("."), "the folder of the file that declares it");
    assert_eq!(agent(&plan, "a").settings.tools.as_deref(), Some(["one".to_owned()].as_slice()));
    assert_eq!(agent(&plan, "b").settings.tools, None);
    assert_eq!(tool(&plan, "t").server, "s");
}

#[test]
fn tools_that_no_server_offers_are_said_once() {
    let text = "workflow: {name: w, entry_point: a}\ntools: [read, write]\nagents:\n  - {name: a, prompt: x, tools: [read]}\n";
    assert!(only(text, "workflow::no_effect").contains("no MCP server"));
    assert_eq!(findings(&compiled(text)), [("workflow::no_effect", 2)]);
    let none =
        "workflow: {name: w, entry_point: a}\ntools: []\nagents:\n  - {name: a, prompt: x, tools: []}\n";
    plan(none);
}

#[test]
fn an_agent_without_tools_has_no_servers() {
    let text = with_servers(
        "  - {name: a, prompt: x, tools: []}\n  - {name: b, prompt: x, tools: [fs__read], needs: [a]}\n",
    );
    let plan = plan(&text);
    assert!(agent(&plan, "a").settings.servers.is_empty());
    assert_eq!(agent(&plan, "b").settings.servers.len(), 2);
}

#[test]
fn a_star_in_the_list_of_the_workflow_stands_for_many() {
    let file = |tool: &str| {
        with_servers(&format!("  - {{name: a, prompt: x, tools: [{tool}]}}\ntools: [fs__*, search]\n"))
    };
    plan(&file("fs__read"));
    plan(&file("'fs__*'"));
    only(&file("web__get"), "workflow::unknown_tool");
}

#[test]
fn a_tool_step_names_what_exists() {
    let step = |body: &str| with_servers(&format!("  - {{name: a, type: tool, {body}}}\n"));
    let unknown = only(&step("server: fz, tool: read"), "workflow::unknown_server");
    assert!(unknown.contains("did you mean `fs`?"), "{unknown}");
    let which = only(&step("tool: read"), "workflow::missing_key");
    assert!(which.contains("fs, web"), "{which}");
    let left_out = only(&step("server: fs, tool: raed"), "workflow::unknown_tool");
    assert!(left_out.contains("did you mean `read`?"), "{left_out}");
    only(&step("server: web, arguments: {}"), "workflow::missing_key");
    let nobody = "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, type: tool, tool: t}\n";
    only(nobody, "workflow::unknown_server");
    plan(&step("server: web, tool: whatever it has"));
}

#[test]
fn references_in_arguments_are_followed() {
    let steps = "  - {name: a, prompt: x, output: {t: {type: string}}}\n  - name: b\n    type: tool\n    server: fs\n    tool: read\n    needs: [a]\n    arguments:\n      path: '{{ a.output.t }}'\n      deep: [1, {x: '{{ a.output.u }}', y: '{{ nobody.output }}'}]\n";
    let result = compiled(&with_servers(steps));
    let expected = [("workflow::undeclared_field", 16), ("workflow::unknown_reference", 16)];
    assert_eq!(findings(&result), expected, "{}", shown(&result));
    let broken =
        with_servers("  - {name: a, type: tool, server: fs, tool: read, arguments: {p: '{{ a. }}'}}\n");
    only(&broken, "workflow::template_syntax");
}

#[test]
fn the_output_of_a_tool_is_what_it_declares() {
    let steps = "  - {name: a, type: tool, server: fs, tool: list, output: {n: {type: number}}, routes: [{to: b, when: n > 1}, {to: $end, when: output.m}, {to: $end}]}\n  - {name: b, prompt: '{{ a.output.n }}'}\n";
    let result = compiled(&with_servers(steps));
    assert_eq!(findings(&result), [("workflow::undeclared_field", 9)], "{}", shown(&result));
}

#[test]
fn a_tool_step_becomes_a_node_that_takes_a_permit() {
    let steps = "  - name: a\n    type: tool\n    server: fs\n    tool: read\n    arguments: {path: 'x/{{ workflow.name }}', lines: 3, all: [a, {b: null}], some: [1, '{{ workflow.input }}']}\n    output: {text: {type: string}}\n  - {name: b, type: tool, server: web, tool: get, idempotent: true, timeout: 5s, needs: [a]}\n  - {name: c, type: tool, server: web, tool: get, on_unknown: fail, retry: {max_attempts: 2}, needs: [b]}\n";
    let plan = plan(&with_servers(steps));
    let call = tool(&plan, "a");
    assert_eq!((call.server.as_str(), call.tool.as_str(), call.servers.len()), ("fs", "read", 2));
    let arguments: BTreeMap<_, _> = call.arguments.iter().cloned().collect();
    assert!(matches!(arguments["path"], Argument::Template(_)));
    assert_eq!(arguments["lines"], Argument::Value(json!(3)));
    assert_eq!(arguments["all"], Argument::Value(json!(["a", {"b": null}])));
    assert!(matches!(&arguments["some"], Argument::List(items) if items.len() == 2));
    assert!(call.schema.is_some());
    for name in ["a", "b", "c"] {
        assert!(node(&plan, name).kind.takes_permit());
        assert_eq!(node(&plan, name).kind.word(), "tool");
    }
    let unknown = ["a", "b", "c"].map(|name| node(&plan, name).on_unknown);
    assert_eq!(unknown, [OnUnknown::Ask, OnUnknown::Retry, OnUnknown::Fail]);
    assert_eq!(node(&plan, "a").retry, Retry::once());
    assert_eq!(node(&plan, "c").retry.max_attempts, 2);
    let text = serde_json::to_string(&plan).unwrap();
    let read: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[test]
fn tools_stand_in_groups_and_fan_outs() {
    let steps = "  - {name: a, type: tool, server: fs, tool: read}\n  - {name: b, type: tool, server: fs, tool: list}\nparallel:\n  - {name: g, agents: [a, b]}\nfor_each:\n  - {name: e, needs: [g], type: for_each, source: workflow.input.i, as: x, agent: {name: c, type: tool, server: web, tool: get, arguments: {url: '{{ x }}'}}}\n";
    let plan = plan(&with_servers(steps));
    let drawn = view::mermaid(&plan);
    assert!(drawn.contains("a (tool)"), "{drawn}");
    assert_eq!(tool(&plan, "c").server, "web");
}

#[test]
fn capabilities_of_an_agent_go_over_those_of_the_runtime_key_by_key() {
    let text = "workflow:\n  name: w\n  runtime:\n    context_window: 32000\n    max_agent_iterations: 7\n    tool_output: {max_chars: 2000}\n    capabilities: {stuck_loop: {action: fail}, compaction: false, parallel_tools: 2}\nagents:\n  - {name: plain, prompt: x}\n  - {name: own, needs: [plain], prompt: x, context_window: 9000, max_agent_iterations: 9, capabilities: {stuck_loop: {repeats: 5}, tool_output: false, compaction: {at: 60}, context_warnings: [95, 50, 95]}}\n  - {name: off, needs: [own], prompt: x, capabilities: {stuck_loop: false, context_warnings: false, max_iterations: 1}}\n  - {name: on, needs: [off], prompt: x, capabilities: {compaction: true, tool_output: true, stuck_loop: true}}\n";
    let plan = plan(text);
    let of = |name: &str| agent(&plan, name).settings.capabilities.clone();
    let plain = of("plain");
    assert_eq!((plain.context_window, plain.max_iterations, plain.parallel_tools), (32_000, 7, 2));
    assert_eq!((plain.tool_output, plain.compaction), (Some(2000), None));
    assert_eq!(plain.stuck_loop, Some(StuckLoop { repeats: 3, action: StuckAction::Fail }));
    assert_eq!(plain.context_warnings, [70, 90]);
    let own = of("own");
    assert_eq!((own.context_window, own.max_iterations, own.parallel_tools), (9000, 9, 2));
    assert_eq!(own.stuck_loop, Some(StuckLoop { repeats: 5, action: StuckAction::Fail }));
    assert_eq!((own.tool_output, own.compaction), (None, Some(Compaction { at: 60, to: 50 })));
    assert_eq!(own.context_warnings, [50, 95]);
    let off = of("off");
    assert_eq!((off.stuck_loop, off.max_iterations), (None, 1));
    assert!(off.context_warnings.is_empty());
    let on = of("on");
    assert_eq!((on.compaction, on.tool_output), (Some(Compaction::default()), Some(2000)));
    assert_eq!(on.stuck_loop, plain.stuck_loop);
}

#[test]
fn compaction_must_leave_something_out() {
    let file = |runtime: &str, agent: &str| {
        format!(
            "workflow:\n  name: w\n  entry_point: a\n  runtime: {{capabilities: {{{runtime}}}}}\nagents:\n  - {{name: a, prompt: x, capabilities: {{{agent}}}}}\n"
        )
    };
    assert_eq!(findings(&compiled(&file("compaction: {at: 40}", ""))), [("workflow::out_of_range", 4)]);
    assert_eq!(findings(&compiled(&file("", "compaction: {at: 50}"))), [("workflow::out_of_range", 6)]);
    plan(&file("compaction: {at: 40, to: 20}", "compaction: {at: 30}"));
}

#[test]
fn the_other_keys_of_agents_have_defaults_in_the_runtime() {
    let text = "workflow:\n  name: w\n  runtime: {models: [big, small], temperature: 0.5, max_tokens: 100, repair_model: mend}\nagents:\n  - {name: a, prompt: x}\n  - {name: b, needs: [a], prompt: x, model: own, temperature: 1, max_tokens: 7, repair_model: other, success_criteria: It is short.}\n  - {name: c, needs: [b], prompt: x, success_criteria: {criteria: It is long., model: judge, max_retries: 3}}\n";
    let plan = plan(text);
    let a = agent(&plan, "a");
    assert_eq!(a.model, Some(Text::Literal("big".into())));
    assert_eq!(
        a.settings.fallback.as_ref().map(|chain| chain.models.clone()),
        Some(vec!["small".to_owned()])
    );
    assert_eq!((a.settings.temperature, a.settings.max_tokens), (Some(0.5), Some(100)));
    assert_eq!((a.settings.repair_model.as_deref(), &a.settings.success_criteria), (Some("mend"), &None));
    let b = agent(&plan, "b");
    assert_eq!((&b.model, &b.settings.fallback), (&Some(Text::Literal("own".into())), &None));
    assert_eq!((b.settings.temperature, b.settings.max_tokens), (Some(1.0), Some(7)));
    assert_eq!(b.settings.repair_model.as_deref(), Some("other"));
    let criteria = |criteria: &str, model: Option<&str>, max_retries| {
        Some(SuccessCriteria { criteria: criteria.into(), model: model.map(str::to_owned), max_retries })
    };
    assert_eq!(b.settings.success_criteria, criteria("It is short.", None, 1));
    assert_eq!(agent(&plan, "c").settings.success_criteria, criteria("It is long.", Some("judge"), 3));
}

#[test]
fn a_window_follows_the_model_wherever_its_name_comes_from() {
    let text = "workflow:\n  name: w\n  runtime: {provider: openai}\nagents:\n  - {name: a, prompt: x}\n  - {name: b, needs: [a], prompt: x, context_window: 9000}\n  - {name: c, needs: [b], prompt: x, models: [gpt-4.1, gpt-4o]}\n";
    let world = World::default().file("main.yaml", text);
    let openai = ProviderSettings { name: "openai".into(), ..ProviderSettings::default() };
    let configured =
        |model: &str| Options { models: vec![(openai.clone(), model.to_owned())], ..Options::default() };
    let overridden = Options { model_override: Some("gpt-4".into()), ..configured("gpt-4o") };
    let windows = |plan: &Plan| {
        ["a", "b", "c"].map(|name| {
            let bounds = &agent(plan, name).settings.capabilities;
            (bounds.context_window, bounds.window_source)
        })
    };
    use WindowSource::{Guess, Model, Stated};
    let known = [(1_000_000, Model), (9000, Stated), (128_000, Model)];
    let mut plan = world.compile_with(&configured("gpt-4.1")).plan.unwrap();
    assert_eq!(windows(&plan), known);
    // The command line goes over all, also where a stored plan goes on.
    convoke_plan::compile::renew(&mut plan, &overridden);
    assert_eq!(windows(&plan), [(8192, Model), (9000, Stated), (8192, Model)]);
    let unknown = world.compile_with(&configured("my-own")).plan.unwrap();
    assert_eq!(windows(&unknown), [(128_000, Guess), (9000, Stated), (128_000, Model)]);
}

#[test]
fn a_coding_agent_is_a_program() {
    let text = "workflow:\n  name: w\n  runtime: {provider: openai}\nagents:\n  - {name: a, prompt: x}\n  - {name: b, needs: [a], prompt: x, provider: {name: acp, command: coder, args: [--acp], env: {KEY: '${KEY}'}, permissions: deny}}\n";
    let world = World::default().file("main.yaml", text).env("KEY", "hush");
    let of = |options: &Options, name: &str| {
        let plan = world.compile_with(options).plan.unwrap();
        agent(&plan, name).settings.provider.clone()
    };
    let program = Program {
        command: "coder".into(),
        args: vec!["--acp".into()],
        env: vec![("KEY".into(), "${KEY}".into())],
        permissions: Permissions::Deny,
    };
    let own = of(&Options::default(), "b");
    assert_eq!((own.name.as_str(), own.program), ("acp", Some(Box::new(program))));
    assert_eq!(of(&Options::default(), "a").program, None);
    let scripted = ProviderSettings { name: "scripted".into(), ..Default::default() };
    let flag = Options { provider_override: Some(scripted.clone()), ..Options::default() };
    assert_eq!((of(&flag, "a"), of(&flag, "b")), (scripted.clone(), scripted));
}

#[test]
fn the_configuration_may_name_the_program() {
    let program = Program { command: "coder".into(), args: vec!["-a".into()], ..Program::default() };
    let acp = |program: Option<Program>| ProviderSettings {
        name: "acp".into(),
        program: program.map(Box::new),
        ..Default::default()
    };
    let options = Options {
        provider_map: BTreeMap::from([("house".into(), acp(Some(program)))]),
        ..Options::default()
    };
    let text = |provider: &str| {
        format!(
            "workflow: {{name: w, entry_point: a}}\nagents:\n  - {{name: a, prompt: x, provider: {provider}}}\n"
        )
    };
    let of = |provider: &str| {
        let result = World::default().file("main.yaml", &text(provider)).compile_with(&options);
        assert!(result.diagnostics.is_empty(), "{}", shown(&result));
        *agent(&result.plan.unwrap(), "a").settings.provider.program.clone().unwrap()
    };
    assert_eq!(of("house").command, "coder");
    let asked = of("{name: house, permissions: allow}");
    assert_eq!((asked.args.len(), asked.permissions), (1, Permissions::Allow));
    let other = of("{name: house, command: other}");
    assert_eq!((other.command.as_str(), other.args.len()), ("other", 0));
}

#[test]
fn a_coding_agent_without_a_program_is_refused() {
    let agent = |provider: &str| {
        format!(
            "workflow: {{name: w, entry_point: a}}\nagents:\n  - {{name: a, prompt: x, provider: {provider}}}\n"
        )
    };
    for provider in ["acp", "cli", "{name: acp, args: [x]}"] {
        let found = only(&agent(provider), "workflow::missing_key");
        assert!(found.contains("command: …"), "{found}");
    }
    let runtime = "workflow: {name: w, entry_point: a, runtime: {provider: cli}}\nagents:\n  - {name: a, prompt: x, tools: []}\n";
    only(runtime, "workflow::missing_key");
    let chosen = ProviderSettings { name: "cli".into(), ..Default::default() };
    let flag = Options { provider_override: Some(chosen), ..Options::default() };
    let result = World::default().file("main.yaml", &agent("anthropic")).compile_with(&flag);
    assert!(result.diagnostics.is_empty(), "a flag is not the file's fault:{}", shown(&result));
    let useless = only(&agent("{name: openai, command: x}"), "workflow::no_effect");
    assert!(useless.contains("`command`"), "{useless}");
}

#[test]
fn a_hash_follows_what_an_agent_can_do_and_not_its_bounds() {
    let hash = |runtime: &str, agent: &str| {
        let text = format!(
            "workflow: {{name: w, entry_point: a, runtime: {{{runtime}}}}}\nagents:\n  - {{name: a, prompt: x{agent}}}\n"
        );
        let plan = World::default().file("main.yaml", &text).env("K", "k").compile().plan.unwrap();
        node(&plan, "a").hash
    };
    let base = hash("mcp_servers: {s: {command: run}}", "");
    for (runtime, agent) in [
        ("mcp_servers: {s: {command: run, timeout: 5, env: {K: '${K}'}}}", ""),
        ("mcp_servers: {s: {command: run}}", ", capabilities: {compaction: false}"),
        ("mcp_servers: {s: {command: run}}", ", max_agent_iterations: 3, context_window: 5000"),
        ("mcp_servers: {s: {command: run}}, repair_model: m", ""),
    ] {
        assert_eq!(base, hash(runtime, agent), "{runtime}{agent}");
    }
    for (runtime, agent) in [
        ("", ""),
        ("mcp_servers: {s: {command: walk}}", ""),
        ("mcp_servers: {s: {command: run, tools: [t]}}", ""),
        ("mcp_servers: {s: {command: run}}", ", tools: [t]"),
        ("mcp_servers: {s: {command: run}}", ", success_criteria: short"),
        ("mcp_servers: {s: {command: run}}", ", temperature: 1"),
    ] {
        assert_ne!(base, hash(runtime, agent), "{runtime}{agent}");
    }
    let program = |args: &str| hash("", &format!(", provider: {{name: acp, command: c, {args}}}"));
    assert_eq!(program("permissions: ask"), program("permissions: allow"));
    assert_ne!(program("args: [a]"), program("args: [b]"));
}

#[test]
fn a_hash_follows_what_a_tool_is_called_with() {
    let hash = |body: &str| {
        let plan = plan(&with_servers(&format!("  - {{name: a, type: tool, {body}}}\n")));
        node(&plan, "a").hash
    };
    let base = hash("server: fs, tool: read, arguments: {x: '{{ workflow.name }}', y: 1}");
    assert_eq!(
        base,
        hash("server: fs, tool: read, arguments: {x: '{{ workflow.name }}', y: 1}, timeout: 5s")
    );
    for other in [
        "server: web, tool: read, arguments: {x: '{{ workflow.name }}', y: 1}",
        "server: fs, tool: list, arguments: {x: '{{ workflow.name }}', y: 1}",
        "server: fs, tool: read, arguments: {x: '{{ workflow.dir }}', y: 1}",
        "server: fs, tool: read, arguments: {x: '{{ workflow.name }}', y: 2}",
        // What looks like a number in the plan's table of texts is a value all the same.
        "server: fs, tool: read, arguments: {x: {template: 7}, y: {when: 9}}",
    ] {
        assert_ne!(base, hash(other), "{other}");
    }
}

#[test]
fn a_plan_says_nothing_about_what_its_file_does_not_use() {
    let plain = plan("workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, prompt: x}\n");
    let text = serde_json::to_string(&plain.workflows).unwrap();
    for key in ["servers", "capabilities", "success_criteria", "repair_model", "program", "fallback"] {
        assert!(!text.contains(key), "{key} in {text}");
    }
}

#[test]
fn servers_and_tools_as_files_for_conductor_write_them_pass() {
    let one = r#"
workflow:
  name: search
  entry_point: planner
  runtime:
    provider: copilot
    default_model: m
    max_agent_iterations: 20
    tool_output:
      enabled: true
      max_chars: 20000
      spill_to_file: true
      spill_dir: null
    mcp_servers:
      web-search:
        command: sh
        args: ["-c", "MODE=stdio exec npx -y some-search@latest"]
        tools: ["*"]
      docs:
        type: stdio
        command: npx
        args: ["-y", "some-docs@latest"]
        env:
          MODE: stdio
          ENGINES: one,two
        timeout: 30000
      remote:
        type: http
        url: https://search.test/mcp
        headers: {Authorization: "Bearer ${TOKEN}"}
        tools: ["search"]
  context:
    mode: explicit
tools:
  - web_search
  - document_retrieval
  - citation_lookup
agents:
  - name: planner
    tools: []
    prompt: Plan it.
    routes: [{to: researcher}]
  - name: researcher
    input: [planner.output]
    tools: [web_search, document_retrieval]
    max_agent_iterations: 5
    prompt: "Look into {{ planner.output.result }}"
"#;
    let result = World::default().file("main.yaml", one).env("TOKEN", "hush").compile();
    assert!(result.diagnostics.is_empty(), "{}", shown(&result));
    let plan = result.plan.unwrap();
    let researcher = &agent(&plan, "researcher").settings;
    assert_eq!(researcher.servers.keys().collect::<Vec<_>>(), ["web-search", "docs", "remote"]);
    assert_eq!(
        (researcher.capabilities.max_iterations, researcher.capabilities.tool_output),
        (5, Some(20_000))
    );
    assert_eq!(agent(&plan, "planner").settings.tools.as_deref(), Some([].as_slice()));
}

#[test]
fn what_only_conductor_needs_is_known_and_said() {
    let text = "workflow: {name: w, entry_point: a, runtime: {tool_output: {enabled: false, spill_dir: /tmp/x}}}\nagents:\n  - {name: a, prompt: x}\n";
    assert!(only(text, "workflow::no_effect").contains("spill_dir"));
    let plan = compiled(text).plan.expect("a warning refuses nothing");
    assert_eq!(agent(&plan, "a").settings.capabilities.tool_output, None);
}

#[test]
fn the_roots_list_holds_for_agents_of_a_sub_workflow_that_uses_its_servers() {
    let root = "workflow:\n  name: w\n  entry_point: s\n  runtime: {mcp_servers: {fs: {command: npx}}}\ntools: [look, fs__read]\nagents:\n  - {name: s, type: workflow, workflow: sub.yaml}\n";
    let tools = |sub: &str| {
        let result = World::default().file("main.yaml", root).file("sub.yaml", sub).compile();
        let plan = result.plan.clone().unwrap_or_else(|| panic!("{}", shown(&result)));
        let agent = plan.workflows[1].nodes.iter().find_map(|node| match &node.kind {
            Kind::Agent(agent) => Some(agent.settings.tools.clone()),
            _ => None,
        });
        agent.expect("it asks a model").map(|mut tools| {
            tools.sort();
            tools
        })
    };
    let sub = |more: &str, own: &str| {
        format!("workflow: {{name: c, entry_point: x}}\n{more}agents:\n  - {{name: x, prompt: hi{own}}}\n")
    };
    let words = |words: &[&str]| Some(words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
    assert_eq!(tools(&sub("", "")), words(&["fs__read", "look"]));
    assert_eq!(tools(&sub("", ", tools: [look, drop]")), words(&["look"]));
    assert_eq!(tools(&sub("", ", tools: ['fs__*']")), words(&["fs__* & look", "fs__read"]));
    assert_eq!(
        tools(&sub("tools: [drop]\n", ", tools: [drop]")),
        words(&["drop"]),
        "its own stands for the root's"
    );
    let persona = "schemaVersion: '1'\nproject: false\npersonas:\n  - {id: p, displayName: P, systemPromptTemplate: You., toolClearance: {allowlist: [look, drop]}}\npipeline:\n  entryNodeId: x\n  nodes: [{id: x, actorId: m, personaId: p}]\n  edges: []\n";
    assert_eq!(tools(persona), words(&["look"]));
}

#[test]
fn a_model_that_a_budget_goes_on_with_counts_for_the_window() {
    let spent = |model: &str| format!("{{tokens: 9, when_spent: degrade, degrade_to: {model}}}");
    let text = format!(
        "workflow:\n  name: w\n  runtime: {{provider: openai, default_model: gpt-4.1}}\nagents:\n  - {{name: a, prompt: x, budget: {}}}\n  - {{name: b, needs: [a], prompt: x}}\n  - {{name: c, needs: [b], prompt: x, labels: {{tenant: t}}}}\nparallel:\n  - {{name: g, agents: [d, e], needs: [c], budget: {}}}\n",
        spent("gpt-4"),
        spent("gpt-4o"),
    );
    let text = text.replace("parallel:", "  - {name: d, prompt: x}\n  - {name: e, prompt: x}\nparallel:");
    let degrade = |of| Degrade { of, model: "gpt-4o-mini".to_owned() };
    let windows = |degrades: Vec<Degrade>| {
        let options = Options { degrades, ..Options::default() };
        let result = World::default().file("main.yaml", &text).compile_with(&options);
        let plan = result.plan.clone().unwrap_or_else(|| panic!("{}", shown(&result)));
        ["a", "b", "c", "d"].map(|name| agent(&plan, name).settings.capabilities.context_window)
    };
    assert_eq!(windows(vec![]), [8_192, 1_000_000, 1_000_000, 128_000]);
    assert_eq!(
        windows(vec![degrade(DegradeOf::Tenant("t".into()))]),
        [8_192, 1_000_000, 128_000, 128_000],
        "a tenant's budget pays for its own steps"
    );
    assert_eq!(windows(vec![degrade(DegradeOf::Day)]), [8_192, 128_000, 128_000, 128_000]);
}
