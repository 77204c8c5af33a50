//! What `check` and `plan` say about workflow files, good and bad.

use crate::common;

use common::World;
use insta::assert_snapshot;
use serde_json::Value;

const BROKEN: &str = "\
workflow:
  name: broken
  entry_point: frist
agents:
  - name: first
    type: script
    command: echo
    routes:
      - to: secnod
  - name: second
    type: script
    command: echo
";

#[test]
fn everything_wrong_is_shown_with_its_place() {
    let said = World::with(BROKEN).run(&["check", "w.yaml"]);
    assert_eq!((said.code, said.stdout.as_str()), (3, ""));
    for part in ["w.yaml:3:16", "w.yaml:9:13", "did you mean `first`?", "did you mean `second`?", "2 errors"]
    {
        assert!(said.stderr.contains(part), "no {part} in {}", said.stderr);
    }
    assert!(!said.stderr.contains('\x1b'));
}

#[test]
fn a_program_gets_an_array() {
    let world = World::with(BROKEN);
    let said = world.run(&["validate", "w.yaml", "--format", "json"]);
    assert_eq!(said.code, 3);
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    let keys: Vec<_> = found[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["code", "severity", "message", "file", "line", "column", "help"]);
    let places: Vec<_> =
        found.as_array().unwrap().iter().map(|one| (&one["severity"], &one["line"])).collect();
    assert_eq!(places, [(&Value::from("error"), &Value::from(3)), (&Value::from("error"), &Value::from(9))]);
}

#[test]
fn run_refuses_what_check_refuses() {
    let said = World::with(BROKEN).run(&["run", "w.yaml", "-s"]);
    assert_eq!((said.code, said.stdout.as_str()), (3, ""));
    assert!(said.stderr.contains("w.yaml:3:16"), "{}", said.stderr);
}

#[test]
fn a_part_that_needs_its_callers_servers_can_be_checked_and_not_run() {
    let world = World::with(
        "workflow: {name: p, entry_point: t}\nagents:\n  - {name: t, type: tool, server: s, tool: read}\n",
    );
    assert_eq!(world.run(&["check", "w.yaml"]).code, 0);
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!((said.code, said.stdout.as_str()), (3, ""));
    assert!(
        said.stderr.contains("step `t` calls a tool, and the workflow declares no MCP server"),
        "{}",
        said.stderr
    );
}

#[test]
fn warnings_stop_only_the_strict() {
    let world = World::with(
        "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, type: set, value: x}\n  - {name: lost, type: set, value: y}\n",
    );
    assert_eq!(world.run(&["check", "w.yaml"]).code, 0);
    assert_eq!(world.run(&["check", "w.yaml", "--strict"]).code, 3);
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!(said.code, 0);
    assert!(said.stderr.contains("lost"), "{}", said.stderr);
    assert_eq!(world.run(&["run", "w.yaml", "--strict"]).code, 3);
}

#[test]
fn bad_files_get_a_clear_error() {
    let world = World::new();
    world.write("broken.yaml", "workflow: {name: [\n");
    world.write("binary.yaml", [0u8, 159, 146, 150, 255, 0, 1]);
    world.write("empty.yaml", "");
    world.write("list.yaml", "- a\n");
    let bomb: String = (1..12).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, n| {
        let before = format!("*a{}", n - 1);
        format!("{text}a{n}: &a{n} [{}]\n", [before.as_str(); 9].join(", "))
    });
    world.write("bomb.yaml", bomb);
    for name in ["broken.yaml", "binary.yaml", "empty.yaml", "list.yaml", "bomb.yaml", "missing.yaml", "."] {
        let said = world.run(&["run", name]);
        assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{name}: {}", said.stderr);
        assert!(said.stderr.contains(name), "{name}: {}", said.stderr);
        assert!(said.stderr.len() < 5_000, "{name}: {} bytes", said.stderr.len());
        assert!(!said.stderr.contains("panicked"), "{name}: {}", said.stderr);
    }
}

#[test]
fn several_files_are_checked_at_once() {
    let world = World::with(BROKEN);
    world.write(
        "good.yaml",
        "workflow: {name: g, entry_point: a}\nagents:\n  - {name: a, type: set, value: x}\n",
    );
    let said = world.run(&["check", "good.yaml", "w.yaml"]);
    assert_eq!(said.code, 3);
    assert!(said.stderr.contains("ok: good.yaml: 1 step"), "{}", said.stderr);
}

const DIAMOND: &str = "\
workflow: {name: diamond}
agents:
  - {name: a, type: set, value: '1'}
  - {name: b, type: set, value: '2', needs: [a]}
  - {name: c, type: set, value: '3', needs: [a]}
  - {name: d, type: set, value: '4', needs: [b, c]}
";

#[test]
fn a_plan_shows_levels_and_what_bounds_it() {
    let said = World::with(DIAMOND).run(&["plan", "w.yaml"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_snapshot!(said.stdout, @r"
    diamond (w.yaml)
      level 1
        a                            set
      level 2
        b                            set         after a
        c                            set         after a
      level 3
        d                            set         after b, c
      critical path: a -> c -> d
      parallelism: 1.33 (4 steps, longest chain 3)
      limits: 10 visits of a step, 100000 tasks
    at most 60 attempts at once
    ");
}

#[test]
fn a_plan_has_forms_for_programs_and_drawings() {
    let world = World::with(DIAMOND);
    let json: Value =
        serde_json::from_str(&world.run(&["plan", "w.yaml", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["workflows"][0]["levels"], serde_json::json!([["a"], ["b", "c"], ["d"]]));
    assert!(world.run(&["plan", "w.yaml", "--format", "mermaid"]).stdout.contains("flowchart"));
    assert!(world.run(&["plan", "w.yaml", "--format", "dot"]).stdout.starts_with("digraph"));
}

const SYNTHESIS: &str = "\
workflow: {name: synthesis, input: {topics: {type: array}}}
for_each:
  - {name: each, type: for_each, source: workflow.input.topics, as: it, agent: {name: look, prompt: '{{ it }}'}}
agents:
  - {name: merge, type: reduce, needs: [each], query: what}
  - {name: examine, type: verify, needs: [merge]}
  - {name: use, type: script, command: cat, needs: [examine], expects: {examine: {result: {type: string}}}, repair_input: true}
";

#[test]
fn models_that_steps_ask_on_their_way_are_no_steps() {
    let world = World::with(SYNTHESIS);
    assert_snapshot!(world.run(&["check", "w.yaml"]).stderr, @"ok: w.yaml: 5 steps");
    assert_snapshot!(world.run(&["plan", "w.yaml"]).stdout, @r"
    synthesis (w.yaml)
      level 1
        look                         agent       in each
      level 2
        merge                        reduce      after each
          merges each: one entry per item
      level 3
        examine                      verify      after merge
      level 4
        use                          script      after examine
      critical path: look -> merge -> examine -> use
      parallelism: 1.00 (4 steps, longest chain 4)
      limits: 10 visits of a step, 100000 tasks
    at most 60 attempts at once
    ");
    let said = world.run(&["run", "w.yaml", "-i", "topics=[]"]);
    assert!(said.stderr.contains("step `merge` asks a model, and no provider is set"), "{}", said.stderr);
}

#[test]
fn what_cannot_be_merged_or_examined_is_shown_with_its_place() {
    let said = World::with(
        "\
workflow: {name: w}
parallel:
  - {name: g, agents: [a, b]}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: x}
  - {name: m, type: reduce, strategy: vote, needs: [g], of: [a, gg], model: large}
  - {name: v, type: verify, needs: [g]}
",
    )
    .run(&["check", "w.yaml"]);
    assert_eq!(said.code, 3);
    assert_snapshot!(said.stderr, @r"
    workflow::never_before

      × step `m`: `of` names `a`, which cannot have run by then
       ╭─[w.yaml:7:62]
     4 │ agents:
     5 │   - {name: a, prompt: x}
       ·            ┬
       ·            ╰── `a` stands here
     6 │   - {name: b, prompt: x}
     7 │   - {name: m, type: reduce, strategy: vote, needs: [g], of: [a, gg], model: large}
       ·                                                              ┬
       ·                                                              ╰── has no output here
     8 │   - {name: v, type: verify, needs: [g]}
       ╰────
      help: members have their outputs in their group: name `g`
    workflow::unknown_reference

      × step `m`: `of` names `gg`, which is not in this workflow
       ╭─[w.yaml:7:65]
     6 │   - {name: b, prompt: x}
     7 │   - {name: m, type: reduce, strategy: vote, needs: [g], of: [a, gg], model: large}
       ·                                                                 ─┬
       ·                                                                  ╰── no step or group has this name
     8 │   - {name: v, type: verify, needs: [g]}
       ╰────
      help: did you mean `g`? available: a, b, m, v, g
    workflow::no_effect

      ⚠ `model` of step `m` has no effect with `strategy: vote`
       ╭─[w.yaml:7:70]
     6 │   - {name: b, prompt: x}
     7 │   - {name: m, type: reduce, strategy: vote, needs: [g], of: [a, gg], model: large}
       ·                                                                      ──┬──
       ·                                                                        ╰── has no effect
     8 │   - {name: v, type: verify, needs: [g]}
       ╰────
      help: no model is asked; `hierarchical`, `progressive`, `judge` and others ask one
    workflow::not_one_answer

      × step `v` examines `g`: a group, which has many outputs
       ╭─[w.yaml:3:12]
     2 │ parallel:
     3 │   - {name: g, agents: [a, b]}
       ·            ┬
       ·            ╰── this one
     4 │ agents:
       ╰────
       ╭─[w.yaml:8:37]
     7 │   - {name: m, type: reduce, strategy: vote, needs: [g], of: [a, gg], model: large}
     8 │   - {name: v, type: verify, needs: [g]}
       ·                                     ┬
       ·                                     ╰── not one answer
       ╰────
      help: merge them in a reduce step, and examine that
    error: workflow file `w.yaml` is refused: 3 errors and 1 warning
    ");
}

#[test]
fn a_file_that_is_not_there_is_told_without_a_frame_and_with_a_next_step() {
    let world = World::with(BROKEN);
    let said = world.run(&["check", "v.yaml"]);
    assert_eq!(said.code, 3);
    assert_snapshot!(said.stderr, @"
    file::missing

      × workflow file `v.yaml` does not exist
    error: workflow file `v.yaml` is refused: 1 error
    hint: did you mean `w.yaml`?
    ");
    let nowhere = world.run(&["plan", "flows/w.yaml"]).stderr;
    assert!(nowhere.ends_with("hint: there is no folder `flows`"), "{nowhere}");
    let unlike = world.run(&["run", "something-else.yaml"]).stderr;
    assert!(unlike.contains("hint: `convoke presets` lists what runs without a file"), "{unlike}");
}

/// Blocks of YAML in a page that are whole files: they have a `workflow` with `agents`, or are a manifest by their `query`.
fn whole_files(page: &str) -> Vec<&str> {
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let begins = |block: &str, key: &str| block.lines().any(|line| line.starts_with(key));
    let is_workflow = |block: &str| begins(block, "workflow:") && begins(block, "agents:");
    blocks.filter(|block| is_workflow(block) || begins(block, "query:")).collect()
}

#[test]
fn examples_of_the_documentation_pass_the_check() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    // Pages about errors show files that are refused, and have a test of their own.
    let folders =
        ["explanation", "how-to", "reference", "tutorial"].map(|name| format!("{root}/docs/{name}"));
    let pages = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder of docs"));
    let pages = pages.map(|entry| entry.unwrap().path());
    let pages = pages.filter(|page| page.extension().is_some_and(|extension| extension == "md"));
    let mut seen = 0;
    for page in pages.chain([format!("{root}/README.md").into()]) {
        let text = std::fs::read_to_string(&page).expect("a page");
        for file in whole_files(&text) {
            let said = World::with(file).run(&["check", "w.yaml", "--format", "json"]);
            let found: Vec<serde_json::Value> = serde_json::from_str(&said.stdout).expect("findings");
            // Keys of services are the reader's.
            let wrong: Vec<_> = found.iter().filter(|found| found["code"] != "env::unset_secret").collect();
            assert!(wrong.is_empty(), "{}:\n{file}\n{wrong:#?}", page.display());
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen} examples");
}
