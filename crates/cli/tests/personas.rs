//! Persona manifests as people run them: the order of events, hand-offs, programs as actors, bounds, wrong manifests.

use crate::support;

use serde_json::{Value, json};
use support::journal::Events;
use support::{Said, World};

const TWO: &str = r#"
  - {id: writer, displayName: Writer, systemPromptTemplate: You write.}
  - {id: copier, displayName: Copier, systemPromptTemplate: You copy.}
"#;

/// A manifest of two personas with this pipeline and whatever else, whose models answer from a file.
fn scripted(more: &str, pipeline: &str, replies: &str) -> World {
    let world = World::with_workflow(&format!(
        "schemaVersion: '1'\nproject: false\nprovider: {{name: scripted, file: replies.yaml}}\n{more}\npersonas:{TWO}pipeline:\n{pipeline}"
    ));
    world.write("replies.yaml", replies);
    world
}

fn run(world: &World) -> Said {
    world.convoke(&["run", "w.yaml", "--silent"])
}

fn prompt(world: &World, task: &str) -> String {
    let said = world.convoke(&["show", &world.run(), task, "--format", "json"]).exits(0).json();
    said["asked"]["prompt"].as_str().unwrap_or_else(|| panic!("no prompt in {said:#}")).to_owned()
}

const WRITE_AND_COPY: &str = r#"
  entryNodeId: write
  nodes:
    - {id: write, actorId: m, personaId: writer, task: Write it.}
    - {id: copy, actorId: m, personaId: copier, task: Copy it.}
  edges:
    - {from: write, to: copy}
"#;

/// The events that a session of personas is told by.
fn told(events: &Events) -> Vec<String> {
    let told = events.0.iter().filter_map(|event| {
        let (kind, body) = event["event"].as_object().and_then(|event| event.iter().next())?;
        let task = || body["task"].as_str().unwrap_or_default();
        match kind.as_str() {
            "run_started" => Some("session.started".to_owned()),
            "attempt_finished" => Some(format!("node.attempt.completed {}", task())),
            "announced" => Some(format!("domain.{} {}", body["kind"].as_str()?, task())),
            "run_ended" | "run_finished" => Some("session.completed".to_owned()),
            _ => None,
        }
    });
    told.collect()
}

#[test]
fn a_run_of_two_phases_tells_its_events_in_order() {
    let replies = "replies:\n  write/try: {status: success, payload: {text: hello}, events: [{type: tasks_planned}]}\n  \
                   copy/try: {status: success, payload: {text: hello}}\n";
    let world = scripted("", WRITE_AND_COPY, replies);
    let result = run(&world).exits(0).json();
    assert_eq!((&result["status"], &result["critical_path"]), (&json!("success"), &json!(["write", "copy"])));
    let events = told(&Events::of(&world, &world.run()));
    assert_eq!(
        events,
        [
            "session.started",
            "node.attempt.completed write/try[1]",
            "domain.validation_passed write",
            "domain.tasks_planned write",
            "node.attempt.completed copy/try[1]",
            "domain.validation_passed copy",
            "session.completed",
        ]
    );
}

#[test]
fn a_phase_sees_what_was_handed_on_and_no_conversation() {
    let replies = "replies:\n  write/try: {status: success, payload: {text: the secret word is plum}, flags: {done: true}}\n  \
                   copy/try: {status: success, payload: {}}\n";
    let world = scripted("", WRITE_AND_COPY, replies);
    run(&world).exits(0);
    let asked = prompt(&world, "copy/try[1]");
    assert!(asked.starts_with("Copy it."), "{asked}");
    for word in ["the secret word is plum", "\"done\"", "\"write\"", "validation_passed"] {
        assert!(asked.contains(word), "no {word} in {asked}");
    }
    assert!(!asked.contains("Write it."), "what others were asked is not handed on: {asked}");
}

#[test]
fn fan_in_keeps_every_payload() {
    let pipeline = r#"
  entryNodeId: a
  nodes:
    - {id: a, actorId: m, personaId: writer}
    - {id: b, actorId: m, personaId: writer, topology: {kind: parallel, blockId: p}}
    - {id: c, actorId: m, personaId: writer, topology: {kind: parallel, blockId: p}}
    - {id: d, actorId: m, personaId: copier}
  edges:
    - {from: a, to: b}
    - {from: a, to: c}
    - {from: b, to: d}
    - {from: c, to: d, on: always}
"#;
    let replies = "replies:\n  b/try: {status: success, payload: {fruit: plum}}\n  c/try: {status: failure, reason: broken, payload: {fruit: pear}}\n\
                   default: [{status: success, payload: {}}]\n";
    let world = scripted("", pipeline, replies);
    run(&world).exits(1);
    let asked = prompt(&world, "d/try[1]");
    assert!(asked.contains("plum") && asked.contains("pear"), "{asked}");
}

#[test]
fn a_try_that_is_not_accepted_is_followed_by_one_that_knows_it() {
    let replies = "replies:\n  write/try:\n    - {status: validation_fail, reason: too short, payload: {n: 1}}\n    \
                   - {status: validation_fail, reason: still too short, payload: {n: 2}}\n    - {status: success, payload: {n: 3}}\n  \
                   copy/try: {status: success, payload: {}}\n";
    let world = scripted("", WRITE_AND_COPY, replies);
    let result = run(&world).exits(0).json();
    assert_eq!(result["phases"]["write"]["tries"], 3);
    let asked = prompt(&world, "write/try[3]");
    assert!(asked.contains("too short") && asked.contains("still too short"), "{asked}");
    let shown = world.convoke(&["show", &world.run(), "write", "--format", "json"]).exits(0).json();
    let attempts = shown["output"]["attempts"].as_array().unwrap_or_else(|| panic!("{shown:#}"));
    let payloads: Vec<&Value> = attempts.iter().map(|one| &one["payload"]["n"]).collect();
    assert_eq!(payloads, [1, 2, 3], "every try is kept");
}

/// What the run says about bounds that were not granted, in `show`.
fn cut(world: &World) -> Vec<String> {
    let shown = world.convoke(&["show", &world.run(), "--format", "json"]).exits(0).json();
    let notes = shown["notes"].as_array().unwrap_or_else(|| panic!("{shown:#}"));
    let notes = notes.iter().filter(|note| note["code"] == "bounds_cut");
    let words = notes.filter_map(|note| note["message"].as_str()?.split("`maxRetries` is ").nth(1));
    words.filter_map(|words| Some(words.split(" (").next()?.to_owned())).collect()
}

#[test]
fn the_environment_bounds_tries() {
    let replies = "replies:\n  write/try: {status: validation_fail, reason: never good}\ndefault: [{status: success}]\n";
    for (retries, tries) in [("0", 1), ("1", 2), ("9", 5)] {
        let more = "topologyConstraints: {maxDepth: 1, maxRetries: 4}\n";
        let world = scripted(more, WRITE_AND_COPY, replies).env("AGENT_TOPOLOGY_MAX_RETRIES", retries);
        run(&world).exits(1);
        let events = Events::of(&world, &world.run());
        assert_eq!(events.count("attempt_started"), tries, "AGENT_TOPOLOGY_MAX_RETRIES={retries}");
        assert_eq!(
            cut(&world),
            [format!("{retries} instead of 4")].into_iter().filter(|_| tries < 5).collect::<Vec<_>>()
        );
    }
    let wrong = scripted("", WRITE_AND_COPY, "").env("AGENT_MAX_RECURSIVE_DEPTH", "0");
    run(&wrong).exits(2).mentions(&["AGENT_MAX_RECURSIVE_DEPTH", "from 1 to"]).prints_nothing();
}

#[test]
fn programs_play_roles_with_json_in_and_out() {
    let more = "actors:\n  m: {type: script, command: sh, args: [-c, 'tee -a seen.jsonl | grep -q plum && echo \
                ''{\"status\": \"success\", \"payload\": {\"fruit\": \"plum\"}, \"flags\": {\"ripe\": true}}'' || echo ''{\"status\": \"success\"}'''], idempotent: true}\n";
    let pipeline = WRITE_AND_COPY.replace("Write it.", "Find a plum.").replace(
        "to: copy}",
        "to: copy, when: [{type: state_flag, key: ripe, equals: true}, \"write.output.payload.fruit == 'plum'\", {type: file_exists, path: seen.jsonl}]}",
    );
    let world = scripted(more, &pipeline, "");
    let result = run(&world).exits(0).json();
    assert_eq!(result["phases"]["copy"]["status"], "success", "{result:#}");
    let seen = world.read("seen.jsonl");
    let mut given =
        serde_json::Deserializer::from_str(&seen).into_iter::<Value>().map(|one| one.expect("JSON"));
    let (first, second) = (given.next().expect("two"), given.next().expect("two"));
    assert_eq!((&first["task"], &first["attempt"]), (&json!("Find a plum."), &json!(1)));
    assert_eq!(second["handoff"]["from"][0]["payload"], json!({"fruit": "plum"}));
    assert_eq!(second["state"]["flags"], json!({"ripe": true}));
    assert_eq!(second["phase"]["persona"], "copier");
}

#[test]
fn a_phase_that_nothing_starts_is_skipped_and_says_why() {
    let pipeline = WRITE_AND_COPY.replace("to: copy}", "to: copy, event: code_committed}");
    let world = scripted("", &pipeline, "default: [{status: success}]\n");
    let result = run(&world).exits(0).json();
    assert_eq!(result["phases"]["copy"]["status"], "skipped", "{result:#}");
    let events = Events::of(&world, &world.run());
    let decided = events.0.iter().filter_map(|event| event["event"].get("phase_decided"));
    let skip = decided.clone().find(|decided| decided["task"] == "copy").expect("a decision");
    assert_eq!(skip["chosen"], "skip");
    assert!(skip["reason"].as_str().unwrap().contains("code_committed"), "{skip}");
}

#[test]
fn show_says_what_the_edges_of_a_phase_waited_for_and_why_one_was_taken() {
    let waits = WRITE_AND_COPY.replace("to: copy}", "to: copy, event: code_committed}");
    let (all, one) = (shown_copy(&waits, &[]), shown_copy(&waits, &["copy"]));
    let why = "`write` did not announce code_committed";
    let row = all.lines().find(|line| line.starts_with("copy ")).unwrap_or_else(|| panic!("{all}"));
    assert!(row.contains("skipped") && row.ends_with(why), "{all}");
    assert_eq!(one, format!("copy skipped\nbecause {why}\n"));
    let taken = shown_copy(WRITE_AND_COPY, &["copy"]);
    assert!(taken.contains("started: `write` on success\n"), "{taken}");
    let record: Value = serde_json::from_str(&shown_copy(&waits, &["copy", "--format", "json"])).unwrap();
    assert_eq!(record["decided"], why);
}

/// What `show` prints about a run of two phases.
fn shown_copy(pipeline: &str, more: &[&str]) -> String {
    let world = scripted("", pipeline, "default: [{status: success}]\n");
    run(&world).exits(0);
    let id = world.run();
    let args: Vec<&str> = ["show", &id].into_iter().chain(more.iter().copied()).collect();
    world.convoke(&args).exits(0).stdout.clone()
}

#[test]
fn work_is_handed_down_with_one_permit() {
    let more =
        "limits: {max_concurrency: 1}\nrelationships: [{parentPersonaId: writer, childPersonaId: copier}]\n";
    let pipeline = "  entryNodeId: write\n  nodes: [{id: write, actorId: m, personaId: writer}]\n";
    let replies = "replies:\n  write/try: {status: success, children: [{persona: copier, task: one}, {persona: copier, task: two}, {persona: copier, task: three}]}\n  \
                   write/child: {status: success, payload: {copied: true}}\n  write/aggregate: {status: success, payload: {all: 3}}\n";
    let world = scripted(more, pipeline, replies);
    let result = run(&world).exits(0).json();
    assert_eq!(result["phases"]["write"]["payload"], json!({"all": 3}), "{result:#}");
    let asked = prompt(&world, "write/aggregate[1]");
    assert!(asked.contains("three") && asked.contains("copied"), "{asked}");
}

#[test]
fn too_many_children_are_refused_by_the_bound_that_they_break() {
    let more = "relationships: [{parentPersonaId: writer, childPersonaId: copier}]\n";
    let pipeline = "  entryNodeId: write\n  nodes: [{id: write, actorId: m, personaId: writer, constraints: {maxRetries: 0}}]\n";
    let replies = "replies:\n  write/try: {status: success, children: [{persona: copier, task: one}, {persona: copier, task: two}]}\n";
    let world = scripted(more, pipeline, replies).env("AGENT_RELATIONSHIP_MAX_CHILDREN", "1");
    run(&world).exits(1).mentions(&["copier", "1"]);
    assert_eq!(Events::of(&world, &world.run()).count("attempt_started"), 1);
}

#[test]
fn wrong_manifests_are_refused_with_places_before_anything_runs() {
    let good = format!("schemaVersion: '1'\nprovider: scripted\npersonas:{TWO}pipeline:{WRITE_AND_COPY}");
    let cases: [(&str, &str, &[&str]); 6] = [
        ("personaId: copier", "personaId: copyer", &["copyer", "did you mean `copier`", "w.yaml:10"]),
        (
            "- {from: write, to: copy}",
            "- {from: write, to: copy}\n    - {from: copy, to: write}",
            &["write → copy → write"],
        ),
        ("entryNodeId: write", "entryNodeId: wirte", &["wirte", "did you mean `write`"]),
        (
            "to: copy}",
            "to: copy, when: {type: state_flag, key: x, equals: 'yes'}}",
            &["`equals`", "true or false"],
        ),
        ("You write.", "'  '", &["systemPromptTemplate", "empty"]),
        (
            "pipeline:",
            "relationships: [{parentPersonaId: writer, childPersonaId: writer}]\npipeline:",
            &["writer → writer"],
        ),
    ];
    for (from, to, words) in cases {
        let world = World::with_workflow(&good.replacen(from, to, 1));
        for command in ["check", "run", "plan"] {
            let said = world.convoke(&[command, "w.yaml"]).exits(3);
            let all = format!("{}{}", said.stdout, said.stderr);
            for word in words {
                assert!(support::said(&all, word), "{command} does not mention `{word}`\n{said}");
            }
        }
        assert!(world.runs().is_empty(), "nothing ran");
    }
}

#[test]
fn a_plan_shows_phases_with_their_edges_and_what_these_ask_for() {
    let pipeline = WRITE_AND_COPY.replace(
        "to: copy}",
        "to: copy, on: always, event: tasks_planned, when: {type: state_flag, key: ready, equals: false}}",
    );
    let world = scripted("", &pipeline, "");
    let words = "always, on event tasks_planned, when not flag ready";
    let text = world.convoke(&["plan", "w.yaml"]).exits(0).stdout;
    assert!(text.contains("phase") && text.contains("as copier"), "{text}");
    assert!(text.contains(&format!("from write: {words}")), "{text}");
    let drawn = world.convoke(&["plan", "w.yaml", "--format", "mermaid"]).exits(0).stdout;
    assert!(drawn.contains("copy (copier)") && drawn.contains("always, on event tasks_planned"), "{drawn}");
    let json = world.convoke(&["plan", "w.yaml", "--format", "json"]).exits(0).json();
    assert_eq!(json["workflows"][0]["nodes"][1]["starts"], json!([{"from": "write", "when": words}]));
}

#[test]
fn what_runs_of_a_project_share_is_where_the_manifest_says() {
    let shared = |world: &World, file: &str| serde_json::from_str::<Value>(&world.read(file)).ok();
    let replies = "replies:\n  write/try: {status: success, project: {globalFlags: {built: true}}}\ndefault: [{status: success}]\n";
    let world = scripted("", WRITE_AND_COPY, replies);
    let text = world.read("w.yaml");
    world.write("w.yaml", text.replace("project: false", "project: shared.json"));
    run(&world).exits(0);
    let context = shared(&world, "shared.json").expect("the context");
    assert_eq!(context["globalFlags"]["built"], true, "{context:#}");
    assert!(prompt(&world, "copy/try[1]").contains("globalFlags"), "the next phase sees it");
    let usual = scripted("", WRITE_AND_COPY, replies);
    usual.write("w.yaml", text.replace("project: false\n", ""));
    run(&usual).exits(0);
    assert!(shared(&usual, ".convoke/project-context.json").is_some());
    let nowhere = scripted("", WRITE_AND_COPY, "default: [{status: success}]\n");
    run(&nowhere).exits(0);
    assert!(shared(&nowhere, ".convoke/project-context.json").is_none());
}

#[test]
fn json_manifests_run_too() {
    let world = World::new();
    let manifest = json!({
        "schemaVersion": "1", "project": false,
        "provider": {"name": "scripted", "file": "replies.yaml"},
        "personas": [{"id": "p", "displayName": "P", "systemPromptTemplate": "You work.", "toolClearance": {"allowlist": [], "banlist": []}}],
        "relationships": [], "topologies": ["sequential"],
        "pipeline": {"entryNodeId": "a", "nodes": [{"id": "a", "actorId": "x", "personaId": "p"}], "edges": []},
        "topologyConstraints": {"maxDepth": 1, "maxRetries": 1}
    });
    world.write("manifest.json", manifest.to_string());
    world.write("replies.yaml", "replies: {a/try: {status: success, payload: {n: 1}}}\n");
    let result = world.convoke(&["run", "manifest.json", "--silent"]).exits(0).json();
    assert_eq!(result["phases"]["a"]["payload"], json!({"n": 1}));
}

#[test]
fn a_phase_that_ran_before_the_run_was_resumed_stays_to_be_seen() {
    let pipeline = WRITE_AND_COPY.replace("{from: write, to: copy}", "{from: write, to: copy, on: failure}");
    let replies = "replies:\n  write/try: {status: failure, reason: no paper}\n  copy/try: {status: success, payload: {fruit: plum}}\n";
    let world = scripted("", &pipeline, replies);
    let result = run(&world).exits(1).json();
    assert_eq!(result["phases"]["copy"]["status"], "success");
    let id = world.run();
    world.write("replies.yaml", "replies:\n  write/try: {status: success}\n");
    let result = world.convoke(&["resume", &id, "--silent"]).exits(0).json();
    let copy = &result["phases"]["copy"];
    let before = json!([{"status": "success", "tries": 1}]);
    assert_eq!((&copy["status"], &copy["superseded"]), (&json!("skipped"), &before));
    let shown = world.convoke(&["show", &id, "copy/try[1]", "--format", "json"]).exits(0).json();
    assert_eq!((&shown["superseded"], &shown["output"]["payload"]["fruit"]), (&json!(true), &json!("plum")));
    assert!(world.convoke(&["show", &id]).exits(0).stdout.contains("superseded"));
}

#[test]
fn the_environment_of_now_bounds_a_resumed_run() {
    let pipeline = WRITE_AND_COPY.replace("task: Write it.", "task: Write it., constraints: {maxRetries: 2}");
    let refuses = "replies:\n  write/try: {status: validation_fail, reason: never good}\n  copy/try: {status: success}\n";
    for (retries, tries) in [("0", 1), ("1", 2), ("9", 3)] {
        let world = scripted("", &pipeline, refuses);
        run(&world).exits(1);
        let id = world.run();
        let before = Events::of(&world, &id).count("attempt_started");
        let world = world.env("AGENT_TOPOLOGY_MAX_RETRIES", retries);
        world.convoke(&["resume", &id, "--silent"]).exits(1);
        let made = Events::of(&world, &id).count("attempt_started") - before;
        assert_eq!((before, made), (3, tries), "AGENT_TOPOLOGY_MAX_RETRIES={retries}");
        world.convoke(&["resume", &id, "--silent"]).exits(1);
        let told: Vec<String> =
            [format!("{retries} instead of 2")].into_iter().filter(|_| tries < 3).collect();
        assert_eq!(cut(&world), told, "it is said once");
    }
}

#[test]
fn each_pipeline_of_a_plan_has_its_own_project() {
    let world = scripted("", WRITE_AND_COPY, "");
    let text = world.read("w.yaml");
    for (file, project, change) in [
        ("l", "project: l.json", ", project: {globalFlags: {left: true}}"),
        ("r", "project: ./r.json", ", project: {globalFlags: {right: true}}"),
        ("n", "project: false", ""),
    ] {
        let text =
            text.replace("project: false", project).replace("replies.yaml", &format!("{file}-replies.yaml"));
        world.write(&format!("{file}.yaml"), text);
        let replies =
            format!("replies:\n  write/try: {{status: success{change}}}\ndefault: [{{status: success}}]\n");
        world.write(&format!("{file}-replies.yaml"), replies);
    }
    let step =
        |name: &str, file: &str| format!("  - {{name: {name}, type: workflow, workflow: ./{file}.yaml}}\n");
    let steps = [step("left", "l"), step("right", "r"), step("nowhere", "n")].concat();
    world.write("w.yaml", format!("workflow: {{name: outer, entry_point: all}}\nparallel:\n  - {{name: all, agents: [left, right, nowhere]}}\nagents:\n{steps}"));
    run(&world).exits(0);
    let shared = |file: &str| serde_json::from_str::<Value>(&world.read(file)).expect("a context");
    assert_eq!(shared("l.json")["globalFlags"], json!({"left": true}));
    assert_eq!(shared("r.json")["globalFlags"], json!({"right": true}));
    let told = |phase: &str| prompt(&world, &format!("{phase}/copy/try[1]"));
    assert!(told("all/left").contains("\"left\"") && !told("all/left").contains("\"right\""));
    assert!(told("all/right").contains("\"right\"") && !told("all/right").contains("\"left\""));
    assert!(!told("all/nowhere").contains("globalFlags"), "what is kept nowhere is not told");
    assert!(!world.work().join(".convoke/project-context.json").exists());
}

#[test]
fn one_project_under_several_names_is_one() {
    let world = scripted("", WRITE_AND_COPY, "");
    let text = world.read("w.yaml");
    std::fs::create_dir(world.work().join("sub")).unwrap();
    world.write("sub/kept.json", "{\"schemaVersion\": 1}");
    std::os::unix::fs::symlink("sub/kept.json", world.work().join("link.json")).unwrap();
    let files = [("a", "sub/kept.json"), ("b", "sub/../sub/kept.json"), ("c", "link.json")];
    for (file, project) in files {
        let text = text.replace("project: false", &format!("project: {project}"));
        world.write(&format!("{file}.yaml"), text.replace("replies.yaml", &format!("{file}-replies.yaml")));
        let change = format!("{{globalFlags: {{by_{file}: true}}}}");
        let replies = format!(
            "replies:\n  write/try: {{status: success, project: {change}}}\ndefault: [{{status: success}}]\n"
        );
        world.write(&format!("{file}-replies.yaml"), replies);
    }
    let step = |(file, next): (&str, &str)| {
        format!("  - {{name: {file}, type: workflow, workflow: ./{file}.yaml, routes: [{{to: {next}}}]}}\n")
    };
    let steps: String = [("a", "b"), ("b", "c"), ("c", "$end")].map(step).concat();
    world.write("w.yaml", format!("workflow: {{name: outer, entry_point: a}}\nagents:\n{steps}"));
    run(&world).exits(0);
    let kept: Value = serde_json::from_str(&world.read("sub/kept.json")).expect("a context");
    assert_eq!(kept["globalFlags"], json!({"by_a": true, "by_b": true, "by_c": true}));
    assert!(world.work().join("link.json").is_symlink(), "a link stays one");
    for (phase, sees) in [("b", "by_a"), ("c", "by_b")] {
        let told = prompt(&world, &format!("{phase}/write/try[1]"));
        assert!(told.contains(sees), "{phase} is not told of {sees}: {told}");
    }
}

#[test]
fn a_program_that_breaks_off_has_failed_and_says_why() {
    let more =
        "actors:\n  m: {type: script, command: sh, args: [-c, 'echo no module named plum >&2; exit 3']}\n";
    let world = scripted(more, WRITE_AND_COPY, "");
    let result = run(&world).exits(1).json();
    let write = &result["phases"]["write"];
    assert_eq!((&write["status"], &write["tries"]), (&json!("failure"), &json!(1)), "{result:#}");
    let reason = write["reason"].as_str().expect("a reason");
    assert!(reason.contains("exit code 3: no module named plum") && !reason.contains("schema"), "{reason}");
    assert_eq!(result["events"][0]["type"], "task_blocked");
}

#[test]
fn a_try_is_shown_as_what_it_came_to_and_steps_are_what_people_wrote() {
    let replies = "replies:\n  write/try:\n    - {status: validation_fail, reason: too short}\n    - {status: success, payload: {n: 2}}\n  \
                   copy/try: {status: failure, reason: no paper}\n";
    let world = scripted("", WRITE_AND_COPY, replies);
    let said = world.convoke(&["run", "w.yaml", "-q"]).exits(1);
    assert!(said.stderr.contains(": 1 step done, 1 failed, about "), "{said}");
    let shown = world.convoke(&["show", &world.run()]).exits(0).stdout;
    let row = |task: &str| {
        let row = shown.lines().find(|line| line.split_whitespace().next() == Some(task));
        row.unwrap_or_else(|| panic!("no {task} in {shown}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(shown.contains("steps     1 done, 1 failed\n"), "{shown}");
    assert!(row("write/try[1]").starts_with("write/try[1] refused"), "{shown}");
    assert!(row("write/try[1]").ends_with("too short"), "{shown}");
    assert!(row("write/try[2]").starts_with("write/try[2] succeeded"), "{shown}");
    assert!(row("copy/try[1]").starts_with("copy/try[1] failed"), "{shown}");
    let task = world.convoke(&["show", &world.run(), "write", "--format", "json"]).exits(0).json();
    let first = world.convoke(&["show", &world.run(), "write/try[1]", "--format", "json"]).exits(0).json();
    assert_eq!((&first["status"], &first["came_to"]), (&json!("succeeded"), &json!("refused")));
    assert!(
        task["started_at"].as_str() <= first["started_at"].as_str(),
        "a phase begins when it asks first: {task:#}"
    );
    assert_ne!(task["started_at"], task["ended_at"], "a phase lasts as long as its tries: {task:#}");
}

#[test]
fn the_last_try_that_was_not_accepted_is_not_shown_as_a_success() {
    let replies = "replies:\n  write/try: {status: success, flags: {ready: 1}}\n";
    let world = scripted("", WRITE_AND_COPY, replies);
    world.convoke(&["run", "w.yaml", "-q"]).exits(1);
    let shown = world.convoke(&["show", &world.run()]).exits(0).stdout;
    let tries: Vec<&str> = shown.lines().filter(|line| line.starts_with("write/try[")).collect();
    assert!(!tries.is_empty() && tries.iter().all(|row| row.contains(" refused ")), "{shown}");
}

#[test]
fn a_cheaper_model_of_the_configuration_that_a_persona_excludes_is_told_before_it_is_needed() {
    let world = scripted(
        "",
        WRITE_AND_COPY,
        "replies:\n  write/try: {status: success}\n  copy/try: {status: success}\n",
    );
    let text = world.read("w.yaml");
    world.write("w.yaml", text.replace("You write.", "You write., modelConstraint: large"));
    world.write(
        "convoke.toml",
        "[budgets]\nday = {tokens = 900000, when_spent = 'degrade', degrade_to = 'small'}\n",
    );
    let words = ["workflow::model_excluded", "`budgets.day.degrade_to` of the configuration names `small`"];
    world.convoke(&["check", "w.yaml"]).exits(0).mentions(&words);
    world.convoke(&["check", "w.yaml", "--strict"]).exits(3);
    world.convoke(&["run", "w.yaml"]).exits(0).mentions(&words);
}
