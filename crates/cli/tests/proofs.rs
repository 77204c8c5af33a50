//! Proof of work as people have it: what an agent, a script, a goal's task or a persona says to have done is looked at, goes back with the
//! evidence, and fails as `unproven` where it stays undone. A success without proof says so.

use crate::support;

use serde_json::{Value, json};
use std::fs;
use support::World;
use support::goals::{answer, done, task};
use support::journal::Events;

/// One agent with file tools and replies; further keys of the step come as YAML.
fn agent(keys: &str, replies: &Value) -> World {
    let world = World::with_workflow(&format!(
        "workflow: {{name: w, entry_point: coder, runtime: {{provider: {{name: scripted, file: replies.yaml}}}}}}\n\
         agents:\n  - {{name: coder, prompt: Do it., tools: [files], {keys}}}\noutput: {{said: '{{{{ coder.output.result }}}}'}}\n"
    ));
    world.write("replies.yaml", json!({ "replies": { "coder": replies } }).to_string());
    world
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool_calls": [{ "name": format!("convoke__{tool}"), "arguments": arguments }] })
}

fn writes(path: &str, content: &str) -> Value {
    call("write_file", json!({ "path": path, "content": content }))
}

fn shown(world: &World, task: &str) -> Value {
    world.convoke(&["show", &world.run(), task, "--format", "json"]).exits(0).json()
}

fn bodies(world: &World, kind: &str) -> Vec<Value> {
    bodies_of(world, &world.run(), kind)
}

fn bodies_of(world: &World, run: &str, kind: &str) -> Vec<Value> {
    let events = Events::of(world, run);
    events.0.iter().filter_map(|event| event["event"].get(kind).cloned()).collect()
}

/// Whether this machine has a sandbox, without which no command checks anything.
#[allow(clippy::print_stderr, reason = "a test that cannot run must say so")]
fn has_sandbox(world: &World) -> bool {
    let said = world.convoke(&["doctor"]);
    let missing = format!("{}{}", said.stdout, said.stderr).contains("no sandbox");
    if missing {
        eprintln!("skipped: there is no sandbox here");
    }
    !missing
}

#[test]
fn what_does_not_hold_goes_back_with_the_evidence_until_it_does() {
    let world = agent(
        "ensure: [{file_exists: out.txt}, {that: 'output.result | length > 3'}]",
        &json!(["Done.", writes("out.txt", "here\n"), "Now it is there."]),
    );
    let said = world.convoke(&["run", "w.yaml", "-q"]).exits(0);
    assert_eq!(said.json(), json!({"said": "Now it is there."}));
    let task = shown(&world, "coder");
    assert_eq!(task["proven"], true, "{task:#}");
    let checks: Vec<_> =
        task["checks"].as_array().unwrap().iter().map(|check| check["held"].clone()).collect();
    assert_eq!(checks, [json!(false), json!(true)]);
    assert_eq!(task["checks"][0]["findings"][0]["evidence"], "there is no such file");
    let told = task["conversations"][0]["messages"].to_string();
    assert!(
        told.contains("It was checked, and this does not hold") && told.contains("file_exists: out.txt"),
        "{told}"
    );
    let text = world.convoke(&["show", &world.run(), "coder"]).exits(0).stdout;
    assert!(
        text.contains("\nproven\n") && text.contains("check 1 (attempt 1): 1 of 2 do not hold"),
        "{text}"
    );
}

#[test]
fn what_stays_undone_fails_as_unproven_after_so_many_returns() {
    let world = agent(
        "ensure: {conditions: [{file_exists: out.txt}], max_retries: 1}",
        &json!(["Done.", "It is really done."]),
    );
    let said = world.convoke(&["run", "w.yaml"]).exits(1).stderr;
    assert!(said.contains("it is said to be done and is not (checked 2 times)"), "{said}");
    assert!(said.contains("hint: "), "{said}");
    let task = shown(&world, "coder");
    assert_eq!(
        (&task["failure"]["class"], &task["failure"]["reason"]),
        (&json!("invalid_output"), &json!("unproven"))
    );
    assert_eq!(bodies(&world, "proof_begun").len(), 1);
    assert_eq!(bodies(&world, "proof_checked").len(), 2);
    assert_eq!(task["attempts"].as_array().unwrap().len(), 1, "no retry unless it is asked for");
}

#[test]
fn a_success_without_proof_says_so() {
    let world = agent("temperature: 0", &json!(["Done."]));
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(shown(&world, "coder")["proven"], false);
    let text = world.convoke(&["show", &world.run(), "coder"]).exits(0).stdout;
    assert!(text.contains("not proven: the step declares no condition"), "{text}");
}

#[test]
fn a_retry_and_another_way_see_an_unproven_task_as_they_see_an_answer_that_does_not_fit() {
    let keys = "retry: {max_attempts: 2, delay_seconds: 0, retry_on: [invalid_output]}, ensure: {conditions: [{file_exists: out.txt}], max_retries: 0}";
    let world = agent(keys, &json!(["Done.", writes("out.txt", "x"), "Done now."]));
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(shown(&world, "coder")["attempts"].as_array().unwrap().len(), 2);
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: make}\nagents:\n  \
         - {name: make, type: script, command: 'true', ensure: [{file_exists: out.txt}], on_error: [{class: invalid_output, to: other}]}\n  \
         - {name: other, type: script, command: echo, args: [other way]}\noutput: {said: '{{ other.output.stdout }}'}\n",
    );
    let said = world.convoke(&["run", "w.yaml", "-q"]).exits(0).json();
    assert_eq!(said["said"], "other way\n");
}

#[test]
fn an_agent_is_kept_off_what_proves_its_work() {
    let patch = "*** Begin Patch\n*** Delete File: tests/a.txt\n*** End Patch";
    let world = agent(
        "protect: ['tests/**'], ensure: [{file_changed: 'src/*.txt'}]",
        &json!([
            writes("tests/a.txt", "easier\n"),
            writes("tests/new.txt", "easier\n"),
            call("edit_file", json!({"path": "tests/a.txt", "old_string": "hard", "new_string": "easy"})),
            call("apply_patch", json!({"patch": patch})),
            writes("src/a.txt", "right\n"),
            "Done.",
        ]),
    );
    fs::create_dir(world.work().join("tests")).unwrap();
    fs::create_dir(world.work().join("src")).unwrap();
    world.write("tests/a.txt", "hard\n");
    world.write("src/a.txt", "wrong\n");
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(world.read("tests/a.txt"), "hard\n");
    assert!(!world.work().join("tests/new.txt").exists());
    let told = shown(&world, "coder")["conversations"][0]["messages"].to_string();
    assert_eq!(told.matches("protects `tests/**`").count(), 4, "{told}");
    assert_eq!(shown(&world, "coder")["proven"], true);
}

#[test]
fn what_cannot_be_stopped_is_found() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: make}\nagents:\n  \
         - {name: make, type: script, command: sh, args: [-c, 'echo easy >tests/a.txt; echo work >b.txt'], protect: ['tests/**'], ensure: [{file_exists: b.txt}]}\n",
    );
    fs::create_dir(world.work().join("tests")).unwrap();
    world.write("tests/a.txt", "hard\n");
    let said = world.convoke(&["run", "w.yaml"]).exits(1).stderr;
    assert!(said.contains("`protect: tests/**` does not hold (tests/a.txt was changed)"), "{said}");
}

#[test]
fn commands_check_in_the_sandbox_under_the_policy() {
    let world = agent(
        "ensure: [{command: 'diff a.txt b.txt'}, {tests_pass: 'diff a.txt b.txt'}]",
        &json!(["Done.", writes("a.txt", "same\n"), "Done now."]),
    );
    if !has_sandbox(&world) {
        return;
    }
    world.write("a.txt", "one\n");
    world.write("b.txt", "same\n");
    world.convoke(&["run", "w.yaml"]).exits(0);
    let evidence =
        shown(&world, "coder")["checks"][0]["findings"][0]["evidence"].as_str().unwrap().to_owned();
    assert!(evidence.contains("< one") && evidence.ends_with("[exit code 1]"), "{evidence}");
    // What the policy denies is known before a model is asked.
    let world = agent("ensure: [{command: cat .env}]", &json!(["Done."]));
    let said = world.convoke(&["run", "w.yaml"]).exits(1).stderr;
    assert!(said.contains("its proof runs `cat .env`, which is denied"), "{said}");
    assert_eq!(bodies(&world, "turn_recorded").len(), 0, "nothing was asked");
    assert_eq!(shown(&world, "coder")["failure"]["reason"], "unprovable");
}

#[test]
fn a_tool_that_must_be_called_is_called() {
    let world = agent(
        "ensure: [{tool_called: read_file}]",
        &json!(["I have read it.", call("read_file", json!({"path": "a.txt"})), "It says hello."]),
    );
    world.write("a.txt", "hello\n");
    world.convoke(&["run", "w.yaml"]).exits(0);
    let checks = shown(&world, "coder")["checks"].clone();
    assert_eq!((&checks[0]["held"], &checks[1]["held"]), (&json!(false), &json!(true)));
    // A call that failed proves nothing.
    let world = agent(
        "ensure: {conditions: [{tool_called: convoke__read_file}], max_retries: 0}",
        &json!([call("read_file", json!({"path": "missing.txt"})), "I have read it."]),
    );
    world.convoke(&["run", "w.yaml"]).exits(1).mentions(&["no call of it succeeded"]);
}

#[test]
fn each_task_proves_its_work_in_its_own_worktree() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: all}\nagents: []\nfor_each:\n  - name: all\n    type: for_each\n    items: [a, b]\n    as: part\n    \
         failure_mode: continue_on_error\n    agent: {name: make, type: script, workspace: worktree, merge: rebase, \
         ensure: [{file_exists: '{{ part }}.txt'}, diff_not_empty], command: sh, args: [-c, '[ {{ part }} = b ] || echo x >{{ part }}.txt']}\n",
    );
    world.write(".gitignore", ".convoke/\n");
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &["-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "first"],
    ] {
        let ran = std::process::Command::new("git").arg("-C").arg(world.work()).args(args).status().unwrap();
        assert!(ran.success());
    }
    world.convoke(&["run", "w.yaml", "--allow-partial"]);
    assert_eq!(
        (&shown(&world, "all[0]")["proven"], &shown(&world, "all[0]")["status"]),
        (&json!(true), &json!("succeeded"))
    );
    let failed = shown(&world, "all[1]");
    assert_eq!(failed["failure"]["reason"], "unproven", "{failed:#}");
    assert!(world.work().join("a.txt").exists(), "what was proven came back");
}

#[test]
fn a_goal_sees_which_of_its_results_are_proven() {
    let mut planned = task("a", "write it", &[]);
    planned["ensure"] = json!(["file_exists: a.txt"]);
    let file = "workflow: {name: w, entry_point: goal, runtime: {provider: {name: scripted, file: replies.yaml}}}\n\
         agents: [{name: goal, type: goal, goal: write it, tools: [files]ROLES}]\noutput: {tasks: '{{ goal.output.tasks | json }}'}\n";
    let world = World::with_workflow(&file.replace("ROLES", ""));
    let replies = json!({"replies": {
        "goal/plan": { "json": { "tasks": [planned, task("b", "think about it", &["a"])] } },
        "goal/execute": [{ "json": done("ok") }, writes("a.txt", "x"), { "json": done("written") }, { "json": done("thought") }],
        "goal/finalise": { "json": answer("Written.") },
    }});
    world.write("replies.yaml", replies.to_string());
    let said = world.convoke(&["run", "w.yaml", "-q"]).exits(0).json();
    let proven: Vec<_> =
        said["tasks"].as_array().unwrap().iter().map(|task| task["proven"].clone()).collect();
    assert_eq!(proven, [json!(true), json!(false)], "{said:#}");
    let asked = shown(&world, "goal/finalise[1]")["asked"]["prompt"].as_str().unwrap().to_owned();
    assert!(asked.contains("(succeeded, proven)") && asked.contains("(succeeded, not proven)"), "{asked}");
    // The role may ask for it of every task; a task that proves nothing has failed, and with it the goal.
    let roles = ", policies: {any: [fail]}, roles: {execute: {ensure: {conditions: [{file_exists: b.txt}], max_retries: 0}}}";
    let world = World::with_workflow(&file.replace("ROLES", roles));
    world.write("replies.yaml", replies.to_string());
    let said = world.convoke(&["run", "w.yaml"]).exits(1);
    assert!(said.stderr.contains("b.txt"), "{}", said.stderr);
}

#[test]
fn an_agent_of_a_manifest_proves_its_work() {
    let world = World::new();
    world.write(
        "w.yaml",
        "query: What is there?\nmodel: scripted:x\nprovider: {name: scripted, file: replies.yaml}\nagents:\n  \
         - {id: writer, task: Write it., tools: [files], ensure: [{file_exists: a.txt}]}\n",
    );
    let replies = json!({"replies": {"writer": ["Done.", writes("a.txt", "x"), "Written."]}});
    world.write("replies.yaml", replies.to_string());
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(bodies(&world, "proof_checked").len(), 2);
    assert_eq!(world.read("a.txt"), "x");
}

#[test]
fn a_persona_proves_its_work_where_it_says_that_it_is_done() {
    let world = World::new();
    world.write(
        "w.yaml",
        "schemaVersion: '1'\nproject: false\nprovider: {name: scripted, file: replies.yaml}\ntools: [files]\npersonas:\n  \
         - {id: coder, systemPromptTemplate: You code., ensure: {conditions: [{file_exists: a.txt}], max_retries: 1}, protect: ['tests/**']}\n\
         pipeline:\n  entryNodeId: build\n  nodes:\n    - {id: build, actorId: m, personaId: coder, constraints: {maxRetries: 1}}\n",
    );
    let says = |status: &str| json!({ "json": { "status": status, "reason": "r" } });
    // An honest report of a failed try proves nothing and is not asked to.
    let replies = json!({"replies": {"build/try": [
        says("validation_fail"), says("success"), writes("a.txt", "x"), says("success"),
    ]}});
    world.write("replies.yaml", replies.to_string());
    world.convoke(&["run", "w.yaml"]).exits(0);
    let checks: Vec<_> = bodies(&world, "proof_checked").iter().map(|check| check["held"].clone()).collect();
    assert_eq!(checks, [json!(false), json!(true)]);
    assert_eq!(shown(&world, "build/try[2]")["proven"], true);
}

#[cfg(debug_assertions)]
#[test]
fn killed_during_a_check_a_run_goes_on_with_what_is_on_disk() {
    let replies = json!(["Done.", writes("out.txt", "x"), "Now it is there."]);
    let places = ["begin:1", "begun:1", "before:1", "checked:1", "told:1", "before:2", "checked:2", "told:2"];
    for place in places {
        let world = agent("ensure: [{file_exists: out.txt}, diff_not_empty]", &replies);
        let mut command = world.command(&["run", "w.yaml"]);
        command.env("CONVOKE_FAILPOINT", format!("agent.proof.{place}"));
        let killed = world.said_by(command);
        assert_ne!(killed.code, Some(0), "{place}: it was not killed");
        world.convoke(&["resume", &world.run()]).exits(0);
        assert_eq!(shown(&world, "coder")["proven"], true, "{place}");
        assert_eq!(bodies(&world, "proof_begun").len(), 1, "{place}: what was there first counts");
        let checks: Vec<_> =
            bodies(&world, "proof_checked").iter().map(|check| check["check"].clone()).collect();
        let mut once = checks.clone();
        once.dedup();
        assert_eq!(checks, once, "{place}: a check on disk is not made again");
        assert_eq!(checks.len(), 2, "{place}: {checks:?}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_command_that_is_done_is_not_done_again_because_its_check_was_cut_off() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: make}\nagents:\n  \
         - {name: make, type: script, command: sh, args: [-c, 'echo once >>made.txt'], ensure: [{file_exists: made.txt}]}\n",
    );
    let mut command = world.command(&["run", "w.yaml"]);
    command.env("CONVOKE_FAILPOINT", "agent.proof.checked:1");
    world.said_by(command);
    world.convoke(&["resume", &world.run()]).exits(0);
    assert_eq!(world.read("made.txt"), "once\n");
    assert_eq!(shown(&world, "make")["proven"], true);
}

#[test]
fn a_replay_finds_what_was_found() {
    let world = agent(
        "ensure: [{file_exists: out.txt}]",
        &json!(["Done.", writes("out.txt", "here\n"), "Now it is there."]),
    );
    world.convoke(&["run", "w.yaml", "--record", "tape"]).exits(0);
    let before = bodies(&world, "proof_checked");
    fs::remove_file(world.work().join("out.txt")).unwrap();
    world.convoke(&["run", "w.yaml", "--replay", "tape"]).exits(0);
    assert!(!world.work().join("out.txt").exists(), "a replay touches no file");
    let held = |checks: &[Value]| checks.iter().map(|check| check["held"].clone()).collect::<Vec<_>>();
    // Runs are listed newest first.
    assert_eq!(held(&bodies_of(&world, &world.runs()[0], "proof_checked")), held(&before));
}

#[test]
fn conditions_that_can_never_hold_are_found_before_the_start() {
    let checked = |keys: &str| {
        let world = World::with_workflow(&format!(
            "workflow: {{name: w, entry_point: a}}\nagents:\n  - {{name: a, type: script, command: 'true', {keys}}}\n"
        ));
        world.convoke(&["check", "w.yaml"]).exits(3).stderr
    };
    for (keys, words) in [
        ("ensure: [{tool_called: x}]", "`tool_called` is about agents"),
        ("ensure: [{that: 'outptu.x > 3'}]", "sees `output` alone"),
        ("ensure: [{that: 'output.x >'}]", "workflow::condition_syntax"),
        ("ensure: [{file_exists: ../x}]", "workflow::bad_path"),
        ("ensure: [{file_exist: x}]", "did you mean `file_exists`?"),
        ("ensure: [{file_exists: x, command: y}]", "says several things"),
        ("ensure: []", "names no condition"),
        ("ensure: [tests_passed]", "tests_pass"),
        ("ensure: [{tests_pass: false}]", "true or a command"),
        ("protect: [/etc]", "workflow::bad_path"),
    ] {
        let said = checked(keys);
        assert!(said.contains(words), "{keys}: {said}");
    }
}

/// A group, a fan-out, a sub-workflow and a goal, each with a condition of its own.
fn of_parts(ensure: &str) -> World {
    let world = World::with_workflow(&format!(
        "workflow: {{name: w, entry_point: both}}\nparallel:\n  \
         - {{name: both, agents: [a, b], ensure: {ensure}, protect: [keep.txt], routes: [{{to: each}}]}}\nfor_each:\n  \
         - {{name: each, type: for_each, items: [1, 2], as: n, ensure: [{{that: output.count == 2}}, diff_not_empty], routes: [{{to: inner}}],\n     \
            agent: {{name: one, type: script, command: sh, args: [-c, 'echo {{{{ n }}}} > n{{{{ n }}}}.txt']}}}}\nagents:\n  \
         - {{name: a, type: script, command: sh, args: [-c, 'echo a > a.txt']}}\n  \
         - {{name: b, type: script, command: sh, args: [-c, 'echo b > b.txt; $DOES']}}\n  \
         - {{name: inner, type: workflow, workflow: inner.yaml, ensure: [{{file_exists: deep.txt}}]}}\noutput: {{ok: 'yes'}}\n"
    ));
    world.write("keep.txt", "kept\n");
    world.write(
        "inner.yaml",
        "workflow: {name: inner, entry_point: c}\nagents: [{name: c, type: script, command: touch, args: [deep.txt]}]\noutput: {ok: 'yes'}\n",
    );
    world
}

#[test]
fn what_parts_have_done_together_is_proven_before_it_counts() {
    let world = of_parts("[{file_changed: a.txt}, {file_exists: b.txt}]");
    world.convoke(&["run", "w.yaml"]).exits(0);
    for task in ["both", "each", "inner"] {
        assert_eq!(shown(&world, task)["proven"], true, "{task}");
        let text = world.convoke(&["show", &world.run(), task]).exits(0).stdout;
        assert!(text.contains("\nproven\ncheck 1: everything holds\n"), "{text}");
    }
    assert_eq!(bodies(&world, "proof_due").len(), 3);
    assert_eq!(bodies(&world, "proof_checked").len(), 3);
}

#[test]
fn a_group_whose_work_does_not_hold_fails_as_unproven_and_a_resume_checks_it_alone() {
    let world = of_parts("[{file_exists: late.txt}]");
    let said = world.convoke(&["run", "w.yaml"]).exits(1).stderr;
    assert!(said.contains("step `both`: it is said to be done and is not"), "{said}");
    let task = shown(&world, "both");
    assert_eq!(task["failure"]["reason"], "unproven", "{task:#}");
    world.write("late.txt", "here");
    world.convoke(&["resume", &world.run()]).exits(0);
    let checks = shown(&world, "both")["checks"].clone();
    let held: Vec<_> = checks.as_array().unwrap().iter().map(|check| check["held"].clone()).collect();
    assert_eq!(held, [json!(false), json!(true)]);
    let attempts = shown(&world, "both/a")["attempts"].as_array().unwrap().len();
    assert_eq!(attempts, 1, "its members are not done again");
}

#[test]
fn what_proves_the_work_of_parts_must_stay_as_it_was() {
    let world = of_parts("[{file_exists: a.txt}]");
    world.write("w.yaml", world.read("w.yaml").replace("$DOES", "echo changed > keep.txt"));
    let said = world.convoke(&["run", "w.yaml"]).exits(1).stderr;
    assert!(said.contains("`protect: keep.txt` does not hold"), "{said}");
}

#[test]
fn a_goal_as_a_whole_proves_its_work() {
    for (condition, code) in [("{file_exists: there.txt}", 0), ("{file_exists: gone.txt}", 1)] {
        let world = World::with_workflow(&format!(
            "workflow: {{name: w, entry_point: g, runtime: {{provider: scripted}}}}\nagents:\n  \
             - {{name: g, type: goal, goal: Do it, ensure: [{condition}]}}\noutput: {{ok: 'yes'}}\n"
        ));
        world.write("there.txt", "");
        let said = world.convoke(&["run", "w.yaml"]).exits(code).stderr;
        assert_eq!(said.contains("it is said to be done and is not"), code == 1, "{said}");
        assert_eq!(bodies(&world, "proof_checked").len(), 1);
    }
}

#[test]
fn what_cannot_be_said_of_parts_is_refused_with_what_to_do() {
    let found = |group: &str| {
        let world = World::with_workflow(&format!(
            "workflow: {{name: w, entry_point: both}}\nparallel:\n  - {{name: both, agents: [a, b], {group}}}\nagents:\n  \
             - {{name: a, type: script, command: 'true'}}\n  - {{name: b, type: script, command: 'true'}}\noutput: {{ok: 'yes'}}\n"
        ));
        world.convoke(&["check", "w.yaml"]).exits(3).stderr
    };
    let said = found("ensure: [{tool_called: x}]");
    assert!(said.contains("conversation of one agent") && said.contains("agents within"), "{said}");
    let said = found("ensure: {conditions: [{file_exists: a}], max_retries: 1}");
    assert!(said.contains("`max_retries` is about agents"), "{said}");
}

/// Policies of a firm hold for what checks work, as for everything else that is run.
#[cfg(feature = "cedar")]
#[test]
fn a_condition_whose_command_cedar_rules_forbid_is_refused_before_the_work() {
    for group in [false, true] {
        let own = "ensure: [{command: touch made}]";
        let (script, parts) = if group { ("", own) } else { (own, "") };
        let world = World::with_workflow(&format!(
            "workflow: {{name: w, entry_point: both, runtime: {{policy: p.yaml}}}}\nparallel:\n  \
             - {{name: both, agents: [a, b], {parts}}}\nagents:\n  \
             - {{name: a, type: script, command: sh, args: [-c, 'echo ran >> ran.txt'], {script}}}\n  \
             - {{name: b, type: script, command: 'true'}}\noutput: {{ok: 'yes'}}\n"
        ));
        world.write("p.yaml", "extends: develop\ncedar: rules.cedar\n");
        world.write(
            "rules.cedar",
            "permit(principal, action, resource);\nforbid(principal, action == Command::Action::\"touch\", resource);\n",
        );
        if !has_sandbox(&world) {
            return;
        }
        let said = world.convoke(&["run", "w.yaml"]).exits(1).stderr;
        assert!(said.contains("which is denied: policy"), "{said}");
        assert!(!world.work().join("made").exists() && !world.work().join("ran.txt").exists());
    }
}

/// What a step was given stays with the step: its proof has no secret, and what its proof prints is masked.
#[test]
fn a_command_that_checks_work_has_no_secret_of_its_step() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a}\nsecrets: {TOKEN: {env: MY_TOKEN}, KEY: {file: key.txt}}\nagents:\n  \
         - {name: a, type: script, command: sh, args: [-c, 'printf %s \"$TOKEN\" > leaked; true'], secrets: [TOKEN, KEY],\n     \
            ensure: [{command: 'sh -c \"echo [$TOKEN] [$MY_TOKEN] [$KEY]; cat key.txt leaked; false\"'}]}\noutput: {ok: 'yes'}\n",
    )
    .env("MY_TOKEN", "canary-in-a-variable");
    world.write("key.txt", "canary-in-a-file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(world.work().join("key.txt"), mode).unwrap();
    if !has_sandbox(&world) {
        return;
    }
    world.convoke(&["run", "w.yaml"]).exits(1);
    let evidence = shown(&world, "a")["checks"][0]["findings"][0]["evidence"].to_string();
    assert!(evidence.contains("[] [] []") && !evidence.contains("canary"), "{evidence}");
    assert!(evidence.contains("[secret]"), "{evidence}");
}
