//! Presets: of the program and of a project.

use crate::support::World;
use serde_json::json;

#[test]
fn presets_are_listed_run_printed_and_resumed() {
    let world = World::new();
    world.write("convoke.toml", "[provider]\nname = \"scripted\"\nfile = \"replies.yaml\"\n");
    world.write("replies.yaml", "replies:\n  researcher: [{fail: fatal, message: down}, found]\n");
    world.convoke(&["presets"]).exits(0);
    let listed = world.convoke(&["presets", "--format", "json"]).json();
    let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    for name in [
        "fan_out_research",
        "fan_out_audit",
        "map_reduce",
        "debate",
        "red_team",
        "best_of_n",
        "tournament",
        "heavy_thinking",
    ] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    let asked = ["run", "preset:fan_out_research", "-i", "topics=[\"sun\"]"];
    let printed = world.convoke(&[&asked[..], &["--print-manifest"]].concat()).exits(0);
    assert!(printed.stdout.contains("Focus on: {{ partition }}") && world.runs().is_empty(), "{printed}");
    world.convoke(&asked).exits(1).mentions(&["down"]);
    let resumed = world.convoke(&["resume", "-s", &world.run()]).exits(0).json();
    assert_eq!(resumed["answer"], "found");
    world.write("saved.yaml", &printed.stdout);
    world.write("replies.yaml", "replies: {researcher: found}\n");
    assert_eq!(world.convoke(&["run", "saved.yaml", "-s"]).exits(0).json()["answer"], "found");
    world
        .convoke(&["run", "preset:fan_out_reserch"])
        .exits(3)
        .mentions(&["did you mean `fan_out_research`?"]);
    world
        .convoke(&["run", "preset:debate", "-i", "rounds=0", "-i", "query=x"])
        .exits(3)
        .mentions(&["`rounds` must be"]);
}

#[test]
fn presets_are_checked_and_planned_as_they_are_run() {
    let world = World::new();
    world.write("convoke.toml", "[provider]\nname = \"scripted\"\n");
    let topics = ["-i", "topics=[\"sun\", \"wind\"]"];
    let checked = world.convoke(&[&["check", "preset:fan_out_research"], &topics[..]].concat()).exits(0);
    assert!(checked.stderr.contains("ok: preset:fan_out_research: 3 steps"), "{checked}");
    let planned = world.convoke(&[&["plan", "preset:fan_out_research"], &topics[..]].concat()).exits(0);
    assert!(planned.stdout.contains("researcher                   agent       per item"), "{planned}");
    assert!(!planned.stdout.contains("researcher.researcher"), "{planned}");
    for command in ["run", "check", "plan"] {
        world.convoke(&[command, "preset:fan_out_research"]).exits(3).mentions(&["`topics` is required"]);
        world.convoke(&[command, "preset:fan_out_reserch"]).exits(3).mentions(&["did you mean"]);
    }
    assert!(world.runs().is_empty());
}

#[test]
fn inputs_of_a_file_are_checked_where_they_are_given() {
    let world = World::new();
    world.write("convoke.toml", "[provider]\nname = \"scripted\"\n");
    let text = "inputs: {many: {type: array}}\nagents: [{id: a, task: 'do {{ partition }}', partitions: workflow.input.many}]\n";
    world.write("m.yaml", text);
    for command in ["check", "plan"] {
        world.convoke(&[command, "m.yaml"]).exits(0);
        world.convoke(&[command, "m.yaml", "-i", "many=[1]"]).exits(0);
        world.convoke(&[command, "m.yaml", "-i", "many=7"]).exits(3).mentions(&["many"]);
    }
}

#[test]
fn a_project_has_presets_of_its_own() {
    let world = World::new();
    world.write("convoke.toml", "[provider]\nname = \"scripted\"\n");
    std::fs::create_dir_all(world.work().join(".convoke/presets")).unwrap();
    world.write(
        ".convoke/presets/greet.yaml",
        "description: greets somebody\ninputs: {who: {type: string}, places: {type: array, default: [here]}}\nquery: 'Greet {{ workflow.input.who }}'\nagents:\n  - {id: greeter, task: '{{ query }} at {{ partition }}', partitions: workflow.input.places}\n",
    );
    world.write(".convoke/presets/debate.yaml", "agents: [{id: x, tsk: t}]\n");
    let listed = world.convoke(&["presets"]).exits(0);
    assert!(listed.stdout.contains("greets somebody (project)  [who]"), "{listed}");
    assert!(
        listed.stdout.contains("cannot be used: see `convoke check"),
        "a broken one is listed too\n{listed}"
    );
    let answer = world.convoke(&["run", "preset:greet", "-s", "-i", "who=${USER} {{ x }}"]).exits(0).json();
    assert_eq!(answer["answer"], "Scripted answer to: Greet ${USER} {{ x }} at here");
    let printed = world.convoke(&["run", "preset:greet", "-i", "who=${USER}", "--print-manifest"]).exits(0);
    world.write("saved.yaml", &printed.stdout);
    let saved = world.convoke(&["run", "saved.yaml", "-s"]).exits(0).json();
    assert_eq!(saved["answer"], "Scripted answer to: Greet ${USER} at here");
    assert_eq!((&saved["agent_count"], &saved["parallelism_ratio"]), (&json!(1), &json!(1.0)));
    world.convoke(&["run", "preset:greet"]).exits(3).mentions(&["input `who` is required"]);
}

#[test]
fn two_files_of_one_preset_and_a_broken_one_are_refused() {
    let world = World::with_workflow("");
    std::fs::create_dir_all(world.work().join(".convoke/presets")).unwrap();
    world.write(".convoke/presets/compare.yaml", "query: q\nprovider: scripted\nagents: [{id: x}]\n");
    world.write(".convoke/presets/compare.json", "{}");
    world.write(".convoke/presets/broken.yaml", "agents: [{id: x, tsk: t}]\n");
    let said = world.convoke(&["run", "preset:compare"]).exits(3);
    assert!(said.stderr.contains("compare.json") && said.stderr.contains("compare.yaml"), "{}", said.stderr);
    world.convoke(&["presets", "broken"]).exits(3);
    let listed = world.convoke(&["presets", "debate", "--format", "json"]).exits(0).json();
    assert_eq!(listed[0]["inputs"]["rounds"]["type"], "number");
}

#[test]
fn files_that_a_preset_names_stand_in_the_prompt() {
    let world = World::new();
    world.write("convoke.toml", "[provider]\nname = \"scripted\"\n");
    world.write("a.rs", "fn answer() -> u8 { 42 } // ${HOME} {{ x }}\n");
    let query = "query=Is {{ this }} ${right}?";
    let run =
        |files: &str| world.convoke(&["run", "preset:fan_out_code_review", "-s", "-i", query, "-i", files]);
    let answer = run("files=[\"a.rs\"]").exits(0).json()["answer"].to_string();
    let prompt = world.convoke(&["show", "last", "reviewer[a.rs]"]).exits(0).stdout;
    assert!(prompt.contains("Is {{ this }} ${right}?"), "{prompt}");
    assert!(prompt.contains("fn answer() -> u8 { 42 } // ${HOME} {{ x }}"), "{prompt}");
    let made =
        ["run", "preset:fan_out_code_review", "-i", query, "-i", "files=[\"a.rs\"]", "--print-manifest"];
    world.write("saved.yaml", &world.convoke(&made).exits(0).stdout);
    std::fs::remove_file(world.work().join("a.rs")).unwrap();
    assert_eq!(world.convoke(&["run", "saved.yaml", "-s"]).exits(0).json()["answer"].to_string(), answer);
    let runs = world.runs().len();
    run("files=[\"a.rs\"]").exits(3).mentions(&["`files`: `a.rs`: not found"]);
    run("files=[\"*.py\"]").exits(3).mentions(&["`*.py`: no file matches"]);
    run("files=[\"/etc/passwd\"]").exits(3).mentions(&["outside the project"]);
    world.write("b.bin", b"a\0b");
    run("files=[\"b.bin\"]").exits(3).mentions(&["binary"]);
    assert_eq!(world.runs().len(), runs, "nothing was started");
}

#[test]
fn an_own_preset_reads_the_files_of_an_input_that_declares_it() {
    let world = World::new();
    world.write("convoke.toml", "[provider]\nname = \"scripted\"\n");
    std::fs::create_dir_all(world.work().join(".convoke/presets")).unwrap();
    std::fs::create_dir_all(world.work().join("src")).unwrap();
    world.write("src/a.rs", "fn answer() -> u8 { 42 }\n");
    world.write("src/b.rs", "fn question() {}\n");
    let preset = "inputs: {code: {type: array, files: true}}\nquery: q\nsynthesis: flat\nagents: [{id: reader, task: 'Look at {{ partition.path }}: {{ partition.text }}', partitions: workflow.input.code}]\n";
    world.write(".convoke/presets/own.yaml", preset);
    let checked = world.convoke(&["check", "preset:own", "-i", "code=[\"src\"]"]).exits(0);
    assert!(!checked.stderr.contains("bare_file_name"), "{checked}");
    world.convoke(&["run", "preset:own", "-s", "-i", "code=[\"src/*.rs\"]"]).exits(0);
    let shown = world.convoke(&["show", "last", "--format", "json"]).exits(0).stdout;
    assert!(
        shown.contains("reader[0]") && shown.contains("reader[1]") && !shown.contains("reader[2]"),
        "{shown}"
    );
    let prompt = world.convoke(&["show", "last", "reader[0]"]).exits(0).stdout;
    assert!(prompt.contains("Look at src/a.rs: fn answer() -> u8 { 42 }"), "{prompt}");
    world
        .convoke(&["run", "preset:own", "-i", "code=[\"gone.rs\"]"])
        .exits(3)
        .mentions(&["`gone.rs`: not found"]);
}

#[test]
fn a_file_that_reaches_a_model_as_a_bare_name_is_warned_of() {
    let world = World::new();
    world.write("convoke.toml", "[provider]\nname = \"scripted\"\n");
    world.write("notes.md", "x");
    std::fs::create_dir_all(world.work().join(".convoke/presets")).unwrap();
    let preset = "inputs: {what: {type: array, default: []}}\nquery: q\nagents: [{id: a, task: 'read {{ workflow.input.what }}'}]\n";
    world.write(".convoke/presets/own.yaml", preset);
    world.write(".convoke/presets/named.yaml", preset.replace("what", "source_files"));
    let served = format!("{preset}mcp_servers: {{disk: {{command: 'true'}}}}\n");
    world.write(".convoke/presets/served.yaml", served);
    let code = "workflow::bare_file_name";
    let given = ["-i", "what=[\"notes.md\"]"];
    for command in ["check", "run"] {
        let warned = world.convoke(&[&[command, "preset:own"], &given[..]].concat()).exits(0);
        assert!(warned.stderr.contains(code) && warned.stderr.contains("`notes.md`"), "{warned}");
    }
    world.convoke(&[&["run", "preset:own", "--strict"], &given[..]].concat()).exits(3);
    for quiet in [vec!["check", "preset:own"], [&["check", "preset:served"], &given[..]].concat()] {
        let said = world.convoke(&quiet).exits(0);
        assert!(!said.stderr.contains(code), "{said}");
    }
    world.convoke(&["check", "preset:named"]).exits(0).mentions(&[code, "`source_files`"]);
    let audit = ["check", "preset:fan_out_audit", "-i", "targets=[\"notes.md\", \"billing\"]"];
    let said = world.convoke(&audit).exits(0).mentions(&[code, "`billing`"]);
    assert!(!said.stderr.contains("notes.md"), "{said}");
}
