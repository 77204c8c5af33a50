//! Tools of our own in every front-end: an agent reads, edits, patches and searches beneath its folder, and nowhere else.

use crate::support;

use serde_json::{Value, json};
use std::fs;
use support::World;
use support::goals::{answer, done, task};

/// One agent with replies; the file's other keys come first.
fn agent(head: &str, keys: &str, replies: &Value) -> World {
    let world = World::with_workflow(&format!(
        "workflow: {{name: hands, entry_point: coder, runtime: {{provider: {{name: scripted, file: replies.yaml}}}}}}\n\
         {head}agents:\n  - {{name: coder, prompt: Do it., {keys}}}\noutput: {{said: '{{{{ coder.output.result }}}}'}}\n"
    ));
    world.write("replies.yaml", json!({ "replies": { "coder": replies } }).to_string());
    world
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "name": format!("convoke__{tool}"), "arguments": arguments })
}

fn calls(calls: &[Value]) -> Value {
    json!({ "tool_calls": calls })
}

/// What the calls of a task came to: whether each failed, and its words.
fn results(world: &World, task: &str) -> Vec<(bool, String)> {
    let shown = world.convoke(&["show", &world.run(), task, "--format", "json"]).exits(0).json();
    let messages = shown["conversations"][0]["messages"].as_array().expect("messages").clone();
    let of = |message: &Value| {
        let result = message.get("result_of")?;
        let failed = result["failed"].as_bool().unwrap_or(false);
        Some((failed, message["text"].as_str().unwrap_or_default().to_owned()))
    };
    messages.iter().filter_map(of).collect()
}

#[test]
fn an_agent_reads_edits_patches_and_searches_without_any_server() {
    let patch = "*** Begin Patch\n*** Update File: src/lib.rs\n@@ fn two() {\n-    1\n+    2\n*** Add File: NOTES.md\n+done\n*** End Patch";
    let world = agent(
        "",
        "tools: [files]",
        &json!([
            calls(&[call("list_files", json!({})), call("read_file", json!({"path": "src/lib.rs"}))]),
            calls(&[call(
                "edit_file",
                json!({"path": "src/lib.rs", "old_string": "fn one()", "new_string": "pub fn one()"})
            )]),
            calls(&[call("apply_patch", json!({"patch": patch}))]),
            calls(&[call("write_file", json!({"path": "deep/er/new.txt", "content": "new\n"}))]),
            calls(&[call("search_files", json!({"pattern": "^pub fn"}))]),
            "I have done it.",
        ]),
    );
    fs::create_dir(world.work().join("src")).unwrap();
    world.write("src/lib.rs", "fn one() {\n    1\n}\nfn two() {\n    1\n}\n");
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(world.read("src/lib.rs"), "pub fn one() {\n    1\n}\nfn two() {\n    2\n}\n");
    assert_eq!((world.read("NOTES.md"), world.read("deep/er/new.txt")), ("done\n".into(), "new\n".into()));
    let results = results(&world, "coder");
    assert!(results.iter().all(|(failed, _)| !failed), "{results:#?}");
    let text: Vec<&str> = results.iter().map(|(_, text)| text.as_str()).collect();
    assert!(text.iter().any(|text| text.contains("     4\tfn two() {")), "{text:#?}");
    assert!(
        text.iter().any(|text| text.contains("changed src/lib.rs") && text.contains("added NOTES.md")),
        "{text:#?}"
    );
    assert!(text.iter().any(|text| text.contains("     1: pub fn one() {")), "{text:#?}");
    let events = world.convoke(&["events", &world.run(), "--format", "json"]).exits(0).stdout;
    assert!(events.contains("convoke__apply_patch"), "{events}");
}

#[test]
fn the_root_is_the_folder_of_the_step_and_nothing_leads_out_of_it() {
    let outside =
        ["../other/secret.txt", "out/secret.txt", "/etc/passwd", "/proc/self/environ", ".env", "../w.yaml"];
    let turns = outside.iter().map(|path| {
        calls(&[
            call("read_file", json!({"path": path})),
            call("list_files", json!({"path": path})),
            call("search_files", json!({"path": path, "pattern": "."})),
            call("write_file", json!({"path": path, "content": "evil"})),
            call("edit_file", json!({"path": path, "old_string": "secret", "new_string": "evil"})),
            call(
                "apply_patch",
                json!({"patch": format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-secret\n+evil\n")}),
            ),
        ])
    });
    let protected = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".mcp.json",
        ".convoke/policy.yaml",
        ".github/workflows/ci.yml",
        ".bashrc",
        ".CARGO/config.toml",
    ];
    let writes = protected.iter().map(|path| {
        let add = format!("*** Begin Patch\n*** Add File: {path}\n+evil\n*** End Patch");
        calls(&[
            call("write_file", json!({"path": path, "content": "evil"})),
            call("apply_patch", json!({"patch": add})),
        ])
    });
    let turns: Vec<Value> = turns.chain(writes).chain([json!("I give up.")]).collect();
    let world = agent("", "tools: [convoke__files], working_dir: repo", &json!(turns));
    for folder in ["repo", "other"] {
        fs::create_dir(world.work().join(folder)).unwrap();
    }
    world.write("other/secret.txt", "secret\n");
    world.write("repo/.env", "KEY=canary-value\n");
    std::os::unix::fs::symlink("../other", world.work().join("repo/out")).unwrap();
    world.convoke(&["run", "w.yaml"]).exits(0);
    let results = results(&world, "coder");
    assert_eq!(results.len(), outside.len() * 6 + protected.len() * 2);
    assert!(results.iter().all(|(failed, _)| *failed), "{results:#?}");
    assert!(
        results.iter().all(|(_, text)| !text.contains("canary-value") && !text.contains("root:")),
        "{results:#?}"
    );
    assert_eq!(world.read("other/secret.txt"), "secret\n");
    let mut left: Vec<_> =
        fs::read_dir(world.work().join("repo")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".env", "out"], "no folder and no file was made");
}

#[test]
fn the_state_of_the_engine_is_out_of_reach_also_where_it_lies_in_the_folder() {
    let read = |path: &str| {
        calls(&[
            call("read_file", json!({"path": path})),
            call("write_file", json!({"path": path, "content": ""})),
        ])
    };
    let world = agent("", "tools: [files]", &json!([read("kept/here/anything"), "No."]));
    let state = world.work().join("kept");
    let mut command = world.command(&["run", "w.yaml"]);
    command.env("CONVOKE_STATE_DIR", &state);
    assert!(command.status().unwrap().success());
    assert!(fs::read_dir(&state).unwrap().count() > 0);
    assert!(!state.join("here").exists(), "nothing was written into it");
}

#[test]
fn only_what_is_named_is_offered() {
    let world = agent(
        "tools: [files]\n",
        "tools: [read_file]",
        &json!([
            calls(&[
                call("read_file", json!({"path": "w.yaml"})),
                call("write_file", json!({"path": "made", "content": "x"}))
            ]),
            "Done.",
        ]),
    );
    world.convoke(&["run", "w.yaml"]).exits(0);
    let results = results(&world, "coder");
    assert!(!results[0].0 && results[1].0, "{results:#?}");
    assert!(
        results[1].1.contains("there is no tool `convoke__write_file`; the tools are convoke__read_file"),
        "{results:#?}"
    );
    assert!(!world.work().join("made").exists());
    // Without a list that names them there are none.
    let world = agent(
        "",
        "temperature: 0",
        &json!([calls(&[call("read_file", json!({"path": "w.yaml"}))]), "Done."]),
    );
    world.convoke(&["run", "w.yaml"]).exits(1).mentions(&["tool"]);
}

#[test]
fn a_shell_runs_nothing_outside_a_sandbox() {
    let world = agent(
        "",
        "tools: [shell]",
        &json!([
            calls(&[call("shell", json!({"command": "echo $CONVOKE_STATE_DIR > /tmp/x; touch made"}))]),
            "Done."
        ]),
    );
    world.convoke(&["run", "w.yaml"]);
    assert!(!world.work().join("made").exists());
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that cannot run must say so")]
fn a_plain_command_is_run_in_the_sandbox_and_any_other_waits_for_a_person() {
    let shell = |command: &str| calls(&[call("shell", json!({ "command": command }))]);
    let world = agent(
        "",
        "tools: [shell]",
        &json!([
            shell("echo two > made; echo one >> made && cat made | sort"),
            shell("echo x > .git/hooks/pre-commit"),
            shell("for n in 1 2; do echo $n >> loop; done; echo evil > ../outside; echo evil > .bashrc"),
            "Done.",
        ]),
    );
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    let ran = results(&world, "coder");
    if ran[0].1.contains("without a sandbox") {
        return eprintln!("skipped: {}", ran[0].1);
    }
    assert_eq!(ran[0].1, "one\ntwo\n[exit code 0]", "{ran:#?}");
    assert!(ran[1].0 && ran[1].1.contains("protected"), "{ran:#?}");
    assert!(!world.work().join("loop").exists(), "nobody has allowed it");
    let asked = world.convoke(&["answer", &run]).exits(0).stdout;
    assert!(asked.contains("for n in 1 2") && asked.contains("policy develop"), "{asked}");
    world.convoke(&["answer", &run, "coder~1", "approve", "--resume"]).exits(0);
    assert_eq!(world.read("loop"), "1\n2\n");
    assert!(!world.work().join("../outside").exists() && !world.work().join(".bashrc").exists());
}

#[test]
fn the_strictest_policy_holds_for_commands_and_files() {
    let replies = json!([
        calls(&[
            call("shell", json!({"command": "touch made"})),
            call("write_file", json!({"path": "made", "content": "x"}))
        ]),
        calls(&[call("read_file", json!({"path": "w.yaml"}))]),
        "Done.",
    ]);
    for (head, keys) in [("read-only", "policy: develop"), ("develop", "policy: ./own.yaml")] {
        let world = agent("", &format!("tools: [files, shell], {keys}"), &replies);
        world.write("own.yaml", "extends: read-only\n");
        world.write(
            "w.yaml",
            world.read("w.yaml").replace("runtime: {", &format!("runtime: {{policy: {head}, ")),
        );
        world.convoke(&["run", "w.yaml"]).exits(0);
        let results = results(&world, "coder");
        assert!(results[0].0 && results[1].0 && !results[2].0, "{head} {results:#?}");
        assert!(!world.work().join("made").exists());
    }
    let world = agent("", "tools: [files], policy: read-olny", &replies);
    let said = world.convoke(&["check", "w.yaml"]).exits(3).stderr;
    assert!(
        said.contains("workflow::unknown_policy") && said.contains("did you mean `read-only`?"),
        "{said}"
    );
}

/// An agent under a policy, with a step that an error would lead to.
fn under(policy: &str, turns: &Value) -> World {
    let world = World::with_workflow(
        "workflow: {name: hands, entry_point: coder, runtime: {provider: {name: scripted, file: replies.yaml}, policy: strict.yaml}}\n\
         agents:\n  - {name: coder, prompt: Do it., tools: [files, shell], on_error: [{to: after}]}\n\
         \x20 - {name: after, type: script, command: touch, args: [after]}\noutput: {said: 'it is over'}\n",
    );
    world.write("strict.yaml", policy);
    world.write("replies.yaml", json!({ "replies": { "coder": turns } }).to_string());
    world
}

#[test]
fn a_policy_that_aborts_ends_the_run_and_nothing_comes_behind_it() {
    for forbidden in [
        call("shell", json!({"command": "frobnicate"})),
        call("write_file", json!({"path": ".git/config", "content": "evil"})),
    ] {
        let write = |name: &str| call("write_file", json!({"path": name, "content": "x"}));
        let turns = json!([calls(&[write("a.txt")]), calls(&[write("b.txt"), forbidden.clone()]), "Done."]);
        let world = under("extends: develop\non_violation: hard_abort\n", &turns);
        world.convoke(&["run", "w.yaml"]).exits(1).mentions(&["is forbidden", "hard_abort"]);
        let made = |name: &str| world.work().join(name).exists();
        assert!(made("a.txt"), "{forbidden}");
        assert!(
            !made("b.txt") && !made("after"),
            "none of the turn's calls is made, and no route is taken: {forbidden}"
        );
        let events = world.convoke(&["events", &world.run(), "--format", "json"]).exits(0).stdout;
        assert!(events.contains("policy_violation") && events.contains("security_violation"), "{events}");
        // The run can be taken up again, once what it was asked has changed.
        world.write(
            "replies.yaml",
            json!({ "replies": { "coder": ["Done.", "Done.", "Done."] } }).to_string(),
        );
        world.convoke(&["resume", &world.run()]).exits(0);
        assert_eq!(world.status(), "succeeded");
    }
}

#[test]
fn a_policy_that_fails_a_validation_tells_the_agent() {
    let turns = json!([calls(&[call("shell", json!({"command": "frobnicate"}))]), "Done."]);
    let world = under("extends: develop\non_violation: validation_fail\n", &turns);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let results = results(&world, "coder");
    assert!(results[0].0 && results[0].1.contains("frobnicate"), "{results:#?}");
}

#[test]
fn a_policy_of_the_project_only_makes_less_possible() {
    let turns = json!([
        calls(&[call("write_file", json!({"path": "kept/x", "content": "x"}))]),
        calls(&[call("shell", json!({"command": "frobnicate"}))]),
        "Done."
    ]);
    let world = agent("", "tools: [files, shell]", &turns);
    // It allows every program, and protects a folder: only the second counts.
    world.write(
        "house.yaml",
        "binaries: {allow: [\"*\"]}\npaths: {write: [\"**\"], protect: [\"kept/**\"]}\non_violation: ask\n",
    );
    world.write("convoke.toml", "policy = 'house.yaml'\n");
    world.convoke(&["run", "w.yaml"]).exits(5);
    let results = results(&world, "coder");
    assert!(results[0].0 && results[0].1.contains("protects"), "{results:#?}");
    let asked = world.convoke(&["answer", &world.run()]).exits(0).stdout;
    assert!(asked.contains("frobnicate") && asked.contains("develop"), "{asked}");
    world.write("house.yaml", "binarys: {}\n");
    world.convoke(&["run", "w.yaml"]).mentions(&["policy", "binarys"]);
}

#[test]
fn cedar_rules_of_a_policy_are_asked_about_what_agents_do() {
    let write = |name: &str| calls(&[call("write_file", json!({"path": name, "content": "x"}))]);
    let turns = json!([write("notes/a.md"), write("src/a.rs"), "Done."]);
    let world = under("extends: develop\ncedar: rules.cedar\n", &turns);
    world.write(
        "rules.cedar",
        "permit(principal == Step::\"coder\", action, resource);\n@id(\"notes\") forbid(principal, action, resource in Path::\"notes\");\n",
    );
    world.convoke(&["run", "w.yaml"]).exits(0);
    let results = results(&world, "coder");
    assert!(results[0].0 && results[0].1.contains("forbidden by `notes`"), "{results:#?}");
    assert!(!results[1].0 && world.work().join("src/a.rs").exists(), "{results:#?}");
    std::fs::remove_file(world.work().join("rules.cedar")).unwrap();
    world.convoke(&["run", "w.yaml"]).mentions(&["rules.cedar"]);
}

#[test]
fn lists_that_name_our_tools_wrongly_are_found() {
    let checked = |head: &str, keys: &str| {
        let world = agent(head, keys, &json!("x"));
        let said = world.convoke(&["check", "w.yaml"]);
        format!("{}{}", said.stdout, said.stderr)
    };
    assert!(checked("", "tools: [files, shell, convoke__read_file]").starts_with("ok: "));
    assert!(checked("", "tools: [read_fiel]").contains("did you mean `read_file`?"));
    let unknown = checked("", "tools: [convoke__reed_file]");
    assert!(
        unknown.contains("workflow::unknown_tool") && unknown.contains("did you mean `convoke__read_file`?"),
        "{unknown}"
    );
    let beyond = checked("tools: [read_file]\n", "tools: [write_file]");
    assert!(
        beyond.contains("uses the tool `convoke__write_file`, which the workflow does not offer"),
        "{beyond}"
    );
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a, runtime: {mcp_servers: {convoke: {command: x}, fs: {command: y}}}}\n\
         agents: [{name: a, prompt: Hello, tools: [read_file]}]\n",
    );
    let said = world.convoke(&["check", "w.yaml"]).exits(3).stderr;
    assert!(said.contains("workflow::reserved_name") && said.contains("workflow::own_tool"), "{said}");
    assert!(said.contains("write `fs__read_file` for the server's, `convoke__read_file` for ours"), "{said}");
}

#[test]
fn a_name_that_a_server_states_is_the_servers() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a, runtime: {provider: {name: scripted, file: replies.yaml}, mcp_servers: \
         {box: {type: scripts, scripts: {read_file: {command: echo, args: [from the box]}}}}}}\n\
         agents: [{name: a, prompt: Hello, tools: [read_file, list_files]}]\noutput: {said: '{{ a.output.result }}'}\n",
    );
    let replies = json!({"replies": {"a": [calls(&[json!({"name": "box__read_file"}), call("list_files", json!({}))]), "Done."]}});
    world.write("replies.yaml", replies.to_string());
    world.convoke(&["run", "w.yaml"]).exits(0);
    let results = results(&world, "a");
    assert_eq!(
        (results[0].0, results[0].1.trim(), results[1].0),
        (false, "from the box", false),
        "{results:#?}"
    );
}

#[test]
fn a_tool_of_ours_is_a_step_too() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, type: tool, server: convoke, tool: read_file, arguments: {path: note.txt}}\n\
         output: {said: '{{ a.output.result }}'}\n",
    );
    world.write("note.txt", "words\n");
    let said = world.convoke(&["run", "w.yaml", "-q"]).exits(0).stdout;
    assert!(said.contains("1\\twords"), "{said}");
    world.write("w.yaml", world.read("w.yaml").replace("read_file", "reed_file"));
    assert!(world.convoke(&["check", "w.yaml"]).exits(3).stderr.contains("did you mean `read_file`?"));
}

#[test]
fn the_tasks_of_a_goal_use_files() {
    let mut wants = task("a", "write it", &[]);
    wants["tools"] = json!(["write_file"]);
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: goal, runtime: {provider: {name: scripted, file: replies.yaml}}}\n\
         agents: [{name: goal, type: goal, goal: write it, tools: [files]}]\noutput: {said: '{{ goal.output.message }}'}\n",
    );
    let replies = json!({"replies": {
        "goal/plan": { "json": { "tasks": [wants] } },
        "goal/execute": [calls(&[call("write_file", json!({"path": "made.txt", "content": "by a goal"}))]), { "json": done("ok") }],
        "goal/finalise": { "json": answer("Written.") },
    }});
    world.write("replies.yaml", replies.to_string());
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(world.read("made.txt"), "by a goal");
    let shown = world.convoke(&["show", &world.run(), "goal/1/execute[1]"]).exits(0).stdout;
    assert!(shown.contains("tools: convoke__write_file"), "{shown}");
}

#[test]
fn a_goal_of_the_command_line_has_the_tools_that_it_names() {
    let replies = json!({
        "goal/plan": { "json": { "tasks": [task("a", "write it", &[])] } },
        "goal/execute": [calls(&[call("write_file", json!({"path": "made.txt", "content": "x"}))]), { "json": done("ok") }],
        "goal/finalise": { "json": answer("Written.") },
    });
    let world = support::goals::scripted(&replies, "");
    world.convoke(&["goal", "write it", "--tools", "files"]).exits(0);
    assert_eq!(world.read("made.txt"), "x");
    fs::remove_file(world.work().join("made.txt")).unwrap();
    world.convoke(&["goal", "write it", "--tools", "none"]);
    assert!(!world.work().join("made.txt").exists());
    world.convoke(&["goal", "write it", "--tools", "fiels"]).exits(2).mentions(&["there is no tool `fiels`"]);
}

#[test]
fn an_agent_of_a_manifest_uses_files() {
    let world = World::with_workflow(
        "name: m\nprovider: {name: scripted, file: replies.yaml}\nquery: do it\ntools: [files]\n\
         agents: [{id: scout, task: look}, {id: writer, task: write, tools: [write_file], depends_on: [scout]}]\n",
    );
    let replies = json!({"replies": {
        "scout": [calls(&[call("read_file", json!({"path": "w.yaml"}))]), "seen"],
        "writer": [calls(&[call("write_file", json!({"path": "made.txt", "content": "by a manifest"}))]), "written"],
    }});
    world.write("replies.yaml", replies.to_string());
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(world.read("made.txt"), "by a manifest");
    assert!(!results(&world, "scout")[0].0);
}

#[test]
fn a_persona_uses_what_its_clearance_leaves_and_a_ban_wins() {
    let pipeline = |clearance: &str, actors: &str| {
        let world = World::with_workflow(&format!(
            "schemaVersion: '1'\nproject: false\nprovider: {{name: scripted, file: replies.yaml}}\n{actors}\
             personas: [{{id: coder, displayName: Coder, systemPromptTemplate: You write., toolClearance: {clearance}}}]\n\
             pipeline: {{entryNodeId: code, nodes: [{{id: code, actorId: m, personaId: coder}}], edges: []}}\n"
        ));
        let replies = json!({"replies": {"code/try": [
            calls(&[call("write_file", json!({"path": "made.txt", "content": "by a persona"}))]),
            { "json": { "status": "success" } },
        ]}});
        world.write("replies.yaml", replies.to_string());
        world
    };
    for (clearance, actors) in [
        ("{allowlist: [write_file]}", ""),
        ("{banlist: [shell]}", "actors: {m: {type: agent, tools: [files, shell]}}\n"),
    ] {
        let world = pipeline(clearance, actors);
        world.convoke(&["run", "w.yaml"]).exits(0);
        assert_eq!(world.read("made.txt"), "by a persona");
        let shown = world.convoke(&["show", &world.run(), "code/try[1]", "--format", "json"]).exits(0).json();
        let allowed = shown["contracts"][0]["contract"]["allowed_tools"].to_string();
        assert!(allowed.contains("convoke__write_file") && !allowed.contains("convoke__shell"), "{allowed}");
    }
    let world = pipeline("{banlist: [files]}", "actors: {m: {type: agent, tools: [files, shell]}}\n");
    world.convoke(&["run", "w.yaml"]).exits(1);
    assert!(!world.work().join("made.txt").exists());
}

#[test]
fn a_recorded_run_is_had_again_without_touching_a_file() {
    let world = agent(
        "",
        "tools: [files]",
        &json!([calls(&[call("write_file", json!({"path": "made.txt", "content": "once"}))]), "Done.",]),
    );
    world.convoke(&["run", "w.yaml", "--record", "tape"]).exits(0);
    fs::remove_file(world.work().join("made.txt")).unwrap();
    world.convoke(&["run", "w.yaml", "--replay", "tape"]).exits(0);
    assert!(!world.work().join("made.txt").exists(), "the cassette has answered");
}

/// Kills the process at a place of the second call, and resumes.
#[cfg(debug_assertions)]
fn killed_at(place: &str, second: Value) -> World {
    let world = agent(
        "",
        "tools: [files]",
        &json!([
            calls(&[call("write_file", json!({"path": "log.txt", "content": "start\n"}))]),
            calls(&[second]),
            "Done.",
        ]),
    );
    let mut command = world.command(&["run", "w.yaml"]);
    command.env("CONVOKE_FAILPOINT", format!("{place}:2"));
    assert!(!command.status().unwrap().success());
    world.convoke(&["resume", &world.run()]).exits(0);
    world
}

#[test]
#[cfg(debug_assertions)]
fn a_whole_file_is_written_again_after_a_crash_and_an_edit_is_not() {
    for place in ["agent.call.before", "agent.call.done"] {
        let write = call("write_file", json!({"path": "log.txt", "content": "whole\n"}));
        let world = killed_at(place, write);
        assert_eq!(world.read("log.txt"), "whole\n", "{place}");
        assert!(!results(&world, "coder")[1].0, "{place}");

        let edit =
            call("edit_file", json!({"path": "log.txt", "old_string": "start", "new_string": "start+"}));
        let world = killed_at(place, edit);
        let expected = if place == "agent.call.done" { "start+\n" } else { "start\n" };
        assert_eq!(world.read("log.txt"), expected, "{place}: never twice");
        let results = results(&world, "coder");
        assert!(
            results[1].1.contains("outcome of this call of `convoke__edit_file` is unknown"),
            "{results:#?}"
        );
    }
}
