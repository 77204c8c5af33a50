//! Header, runtime, groups and output fields, key by key.

use super::{HEADER, assert_one, good, read, step_findings};

type Case = (&'static str, &'static str, &'static [&'static str]);

fn check(cases: &[Case], wrap: impl Fn(&str) -> String) {
    for (body, code, words) in cases {
        assert_one(&read(&wrap(body)).1, code, words, body);
    }
}

#[test]
fn the_header_is_strict() {
    let cases: &[Case] = &[
        ("limits: {max_iteration: 3}", "workflow::unknown_key", &["did you mean `max_iterations`?"]),
        ("limits: {max_iterations: 1000001}", "workflow::out_of_range", &["1000000"]),
        ("limits: {max_iterations: 2.5}", "workflow::wrong_type", &["whole number"]),
        ("limits: {max_iterations: true}", "workflow::wrong_type", &["whole number"]),
        ("limits: {timeout_seconds: 0}", "workflow::out_of_range", &["at least 1"]),
        ("limits: {budget_usd: 0}", "workflow::out_of_range", &["greater than 0"]),
        ("limits: {budget_mode: stop}", "workflow::unknown_value", &["audit, enforce"]),
        ("limits: {budget_tokens: 0}", "workflow::out_of_range", &["at least 1"]),
        (
            "limits: {budget_usd: 1, budget_mode: enforce, when_spent: wait}",
            "workflow::unknown_value",
            &["queue"],
        ),
        ("limits: {budget_usd: 1, when_spent: queue}", "workflow::needs_key", &["budget_mode: enforce"]),
        ("limits: {budget_mode: enforce, when_spent: queue}", "workflow::needs_key", &["without a budget"]),
        (
            "limits: {budget_usd: 1, budget_mode: enforce, when_spent: degrade}",
            "workflow::needs_key",
            &["needs `degrade_to`"],
        ),
        (
            "limits: {budget_usd: 1, budget_mode: enforce, degrade_to: small}",
            "workflow::needs_key",
            &["goes with `when_spent: degrade` only"],
        ),
        ("limits: {max_concurrency: 0}", "workflow::out_of_range", &["at least 1"]),
        ("limits: [3]", "workflow::wrong_type", &["`limits` of workflow", "a mapping"]),
        ("context: {mode: all}", "workflow::unknown_value", &["accumulate, last_only, explicit"]),
        ("context: {trim: x}", "workflow::unknown_key", &["known keys: mode, max_tokens, trim_strategy"]),
        ("cost: {pricing: {m: {input_per_mtok: 1}}}", "workflow::missing_key", &["`m`", "output_per_mtok"]),
        (
            "cost: {pricing: {m: {input_per_mtok: -1, output_per_mtok: 1}}}",
            "workflow::out_of_range",
            &["at least 0"],
        ),
        ("hooks: {on_begin: x}", "workflow::unknown_key", &["on_begin"]),
        ("hooks: {on_start: {command: a, run: b}}", "workflow::excludes", &["`command`", "`run`"]),
        ("hooks: {on_start: {}}", "workflow::missing_key", &["`command`", "`run`"]),
        ("input: {n: {}}", "workflow::missing_key", &["input `n`", "`type`"]),
        (
            "input: {n: {type: integer}}",
            "workflow::unknown_value",
            &["string, number, boolean, array, object"],
        ),
        ("input: {n: {type: number, default: true}}", "workflow::wrong_type", &["`n`", "number"]),
        ("input: {n: {type: array, default: {}}}", "workflow::wrong_type", &["array"]),
        ("input: {n: {type: string, defualt: x}}", "workflow::unknown_key", &["did you mean `default`?"]),
        ("input: {n: string}", "workflow::wrong_type", &["input `n`", "a mapping"]),
        ("metadata: [x]", "workflow::wrong_type", &["`metadata`", "a mapping"]),
        ("instructions: be nice", "workflow::wrong_type", &["`instructions`", "a list"]),
        ("labels: {class: slow}", "workflow::unknown_value", &["interactive, standard, batch"]),
        ("colour: red", "workflow::unknown_key", &["colour", "known keys"]),
    ];
    check(cases, |body| format!("workflow: {{name: w, entry_point: a, {body}}}\nagents: []\n"));
}

#[test]
fn the_top_level_is_strict() {
    let cases: &[Case] = &[
        ("agents: []\nagent: []\n", "workflow::unknown_key", &["did you mean `agents`?"]),
        ("", "workflow::missing_key", &["`agents`"]),
        ("agents:\n", "workflow::missing_key", &["`agents`", "no value"]),
        ("agents: []\ntools: {a: b}\n", "workflow::wrong_type", &["`tools`", "a list"]),
        ("agents: [x]\n", "workflow::wrong_type", &["step 1", "a mapping", "`x`"]),
        ("agents: [{prompt: x}]\n", "workflow::missing_key", &["step 1", "`name`"]),
        ("agents: [{name: \"\"}]\n", "workflow::empty_value", &["`name`"]),
        ("agents: []\noutput: [x]\n", "workflow::wrong_type", &["`output`", "a mapping"]),
        ("agents: []\nkind: flow\n", "workflow::unknown_value", &["`kind`", "workflow"]),
    ];
    check(cases, |body| format!("{HEADER}{body}"));
}

#[test]
fn the_runtime_is_strict() {
    let cases: &[Case] = &[
        ("temperature: 2.1", "workflow::out_of_range", &["temperature", "0 and 2"]),
        ("temperature: warm", "workflow::wrong_type", &["a number"]),
        ("max_tokens: 200001", "workflow::out_of_range", &["200000"]),
        ("timeout: 0.5", "workflow::out_of_range", &["at least 1"]),
        ("default_reasoning_effort: huge", "workflow::unknown_value", &["low, medium, high, xhigh, max"]),
        ("modle: x", "workflow::unknown_key", &["modle"]),
        ("checkpoint: {keep_last: 101}", "workflow::out_of_range", &["1 and 100"]),
        ("tool_output: {max_chars: 999}", "workflow::out_of_range", &["at least 1000"]),
        (
            "skill_injection: {warn_bytes: 9, max_bytes: 3}",
            "workflow::out_of_range",
            &["warn_bytes", "max_bytes"],
        ),
        ("skill_discovery: {sources: [home]}", "workflow::unknown_value", &["personal, project"]),
        ("skill_discovery: {sources: [project, project]}", "workflow::duplicate", &["`project`"]),
        ("plugin_sources: {p: {path: x}}", "workflow::missing_key", &["`source`"]),
        ("plugins: [p, p]", "workflow::duplicate", &["`p`"]),
        ("plugins: [{name: p, skill: true}]", "workflow::unknown_key", &["did you mean `skills`?"]),
        ("default_model: a, models: [b]", "workflow::excludes", &["default_model", "models"]),
        ("models: [\"{{ m }}\"]", "workflow::empty_value", &["models", "template"]),
        (
            "tool_output: {max_chars: 2000}, capabilities: {tool_output: 3000}",
            "workflow::excludes",
            &["tool_output"],
        ),
        ("capabilities: {parallel_tools: 0}", "workflow::out_of_range", &["parallel_tools", "1 and 100"]),
        ("mcp_servers: {s: {}}", "workflow::missing_key", &["MCP server `s`", "`command`"]),
        ("mcp_servers: {s: {type: http}}", "workflow::missing_key", &["MCP server `s`", "`url`"]),
        ("mcp_servers: {s: {type: htp, command: x}}", "workflow::unknown_value", &["did you mean `http`?"]),
        ("mcp_servers: {s: {comand: x, command: y}}", "workflow::unknown_key", &["did you mean `command`?"]),
    ];
    check(cases, |body| format!("workflow: {{name: w, entry_point: a, runtime: {{{body}}}}}\nagents: []\n"));
}

#[test]
fn a_provider_takes_its_own_settings() {
    let cases: &[Case] = &[
        ("name: openai, auth_token: x", "workflow::not_allowed_here", &["auth_token", "`openai`", "claude"]),
        ("name: claude-agent-sdk, api_key: x", "workflow::not_allowed_here", &["api_key"]),
        ("name: openai, base_url: \"\"", "workflow::empty_value", &["base_url"]),
        ("base_url: http://x, azure: {}", "workflow::needs_key", &["azure", "type: azure"]),
        ("type: openai", "workflow::needs_key", &["`type`", "base_url"]),
        ("runtime_token: x", "workflow::needs_key", &["runtime_url"]),
        ("base_url: http://x, headers: {}", "workflow::empty_value", &["headers"]),
        ("base_url: http://x, wire_api: chat", "workflow::unknown_value", &["completions, responses"]),
        ("name: aca", "workflow::missing_key", &["pool_endpoint"]),
        ("name: aca, pool_endpoint: http://x", "workflow::bad_address", &["https"]),
        ("name: aca, pool_endpoint: \"https://x/y?z\"", "workflow::bad_address", &["query"]),
        ("name: cluade", "workflow::unknown_provider", &["did you mean `claude`?"]),
        ("nam: openai", "workflow::unknown_key", &["did you mean `name`?"]),
    ];
    check(cases, |body| {
        format!("workflow: {{name: w, entry_point: a, runtime: {{provider: {{{body}}}}}}}\nagents: []\n")
    });
    for body in [
        "claude",
        "house-model",
        "{name: house-model, base_url: http://x, api_key: k, headers: {a: b}}",
        "{name: scripted, file: replies.yaml, latency_ms: 50}",
        "{name: openai, base_url: http://x, headers: {a: b}}",
    ] {
        good(&format!("workflow: {{name: w, entry_point: a, runtime: {{provider: {body}}}}}\nagents: []\n"));
    }
}

#[test]
fn groups_are_strict() {
    let parallel: &[Case] = &[
        ("agents: [a, b], max_concurrent: 0", "workflow::out_of_range", &["max_concurrent", "100000"]),
        ("agents: [a, b], failure_mode: quorum", "workflow::needs_key", &["`min`"]),
        ("agents: [a, b], min: 1", "workflow::needs_key", &["quorum"]),
        ("agents: [a, b], retry: {}", "workflow::unknown_key", &["retry"]),
        ("", "workflow::missing_key", &["`agents`"]),
    ];
    check(parallel, |body| format!("{HEADER}agents: []\nparallel: [{{name: g, {body}}}]\n"));
    let for_each: &[Case] = &[
        ("source: a.b.c, as: x", "workflow::missing_key", &["`agent`", "`run`"]),
        ("source: a.b.c, as: x, run: a, agent: {name: b}", "workflow::excludes", &["both"]),
        ("source: a.b, as: x, run: a", "workflow::bad_source", &["`a.b`", "three parts"]),
        ("source: a.b.c, as: 2x, run: a", "workflow::bad_name", &["`2x`"]),
        ("source: a.b.c, as: _index, run: a", "workflow::reserved_name", &["`_index`"]),
        ("source: a.b.c, as: x, run: a, max_concurrent: 100001", "workflow::out_of_range", &["100000"]),
        ("as: x, run: a", "workflow::missing_key", &["`source`"]),
        ("source: a.b.c, run: a", "workflow::missing_key", &["`as`"]),
        ("source: a.b.c, as: x, agent: {prompt: x}", "workflow::missing_key", &["inline agent", "`name`"]),
        (
            "source: a.b.c, as: x, agent: {name: i, promt: x}",
            "workflow::unknown_key",
            &["did you mean `prompt`?"],
        ),
    ];
    check(for_each, |body| format!("{HEADER}agents: []\nfor_each: [{{name: g, type: for_each, {body}}}]\n"));
    let untyped = format!("{HEADER}agents: []\nfor_each: [{{name: g, source: a.b.c, as: x, run: a}}]\n");
    assert_one(&read(&untyped).1, "workflow::missing_key", &["`type`"], &untyped);
}

#[test]
fn an_output_field_cannot_contradict_itself() {
    let cases: &[Case] = &[
        ("{}", "workflow::missing_key", &["field `f`", "`type`"]),
        ("{type: integer}", "workflow::unknown_value", &["string, number"]),
        (
            "{type: number, minimum: 3, maximum: 1}",
            "workflow::bad_output_field",
            &["`minimum` 3", "`maximum` 1"],
        ),
        ("{type: string, minLength: 3, maxLength: 1}", "workflow::bad_output_field", &["`minLength` 3"]),
        ("{type: string, minLength: -1}", "workflow::out_of_range", &["minLength", "at least 0"]),
        ("{type: string, pattern: \"(\"}", "workflow::bad_pattern", &["`pattern`", "unclosed"]),
        ("{type: number, pattern: x}", "workflow::bad_output_field", &["`pattern`", "string", "number"]),
        ("{type: string, minimum: 1}", "workflow::bad_output_field", &["`minimum`"]),
        ("{type: string, items: {type: string}}", "workflow::bad_output_field", &["`items`", "array"]),
        ("{type: string, enum: []}", "workflow::bad_output_field", &["empty"]),
        ("{type: string, enum: [a, 1]}", "workflow::bad_output_field", &["number `1`", "string"]),
        ("{type: number, enum: [true]}", "workflow::bad_output_field", &["boolean", "number"]),
        ("{type: string, enum: [~]}", "workflow::bad_output_field", &["nothing"]),
        ("{type: array, enum: [a]}", "workflow::bad_output_field", &["`enum`", "array"]),
        (
            "{type: string, required: false}",
            "workflow::bad_output_field",
            &["`required: false`", "field `f`"],
        ),
        ("{type: string, min_length: 1}", "workflow::unknown_key", &["did you mean `minLength`?"]),
        ("{type: object, properties: {g: {type: txt}}}", "workflow::unknown_value", &["field `g`"]),
        ("{type: array, items: {type: number, maxLength: 1}}", "workflow::bad_output_field", &["maxLength"]),
        ("string", "workflow::wrong_type", &["field `f`", "a mapping"]),
    ];
    for (body, code, words) in cases {
        assert_one(&step_findings(&format!("prompt: x, output: {{f: {body}}}")), code, words, body);
    }
    let nested = "prompt: x, output: {f: {type: object, properties: {g: {type: string, required: false, nullable: true}}}}";
    assert!(step_findings(nested).is_empty());
}
