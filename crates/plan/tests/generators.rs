//! Generators: what they make is a manifest that compiles, and that runs unchanged when it is saved.

use crate::world;

use convoke_plan::compile::{Compiled, GivenInput, Options, check_declared, compile};
use convoke_plan::generate::files::{self, MOST_OF_A_FILE};
use convoke_plan::generate::{Document, Preset, preset, presets, yaml};
use convoke_plan::source::{manifest_data, skill};
use convoke_plan::*;
use serde_json::{Map, Value, json};
use world::{World, findings, shown};

/// Values for everything that presets ask for.
fn values(preset: &Preset) -> Map<String, Value> {
    let given = [
        ("topics", json!(["solar", "${HOME}", "{{ x }}", 7])),
        ("targets", json!(["a", "b"])),
        ("files", json!(["a.rs"])),
        ("items", json!(["one", "x".repeat(300)])),
        ("map", json!("count {{ things }} in ${HOME}")),
        ("query", json!("what is {{ this }} for ${USER}?")),
    ];
    let declared = preset.declared();
    let given: Vec<(String, GivenInput)> = given
        .into_iter()
        .filter(|(name, _)| declared.contains_key(*name))
        .map(|(name, value)| (name.to_owned(), GivenInput::Json(value)))
        .collect();
    check_declared(&declared, &given).unwrap_or_else(|errors| panic!("{}: {errors:?}", preset.name))
}

fn made(name: &str, more: Value) -> Result<Document, String> {
    let preset = preset(name).unwrap_or_else(|| panic!("no preset {name}"));
    let mut values = values(preset);
    values.extend(Document::from(more).0);
    preset.manifest(&values, &project()).map(|made| made.document)
}

/// The files that presets may read.
fn project() -> World {
    World::default().file("a.rs", "fn main() { ${HOME} {{ x }} }\n")
}

fn compiled(path: &str, text: &str) -> Compiled {
    compile(path, &World::default().file(path, text), &Options::default())
}

fn plan(path: &str, text: &str) -> Plan {
    let result = compiled(path, text);
    assert!(result.diagnostics.is_empty(), "{}\n{text}", shown(&result));
    result.plan.expect("nothing is wrong")
}

fn names(plan: &Plan) -> Vec<&str> {
    let own = plan.root().nodes.iter().map(|node| &*node.name);
    own.filter(|name| !name.starts_with('$') && !name.contains('.')).collect()
}

/// The manifest that a file stands for, printed.
fn printed(path: &str, text: &str) -> String {
    let (data, found) = manifest_data(path, &World::default().file(path, text));
    assert!(found.is_empty(), "{}", found[0].message);
    yaml::print(&data.expect("a manifest"))
}

#[test]
fn every_preset_makes_a_manifest_without_findings() {
    let wanted = [
        "fan_out_research",
        "fan_out_audit",
        "map_reduce",
        "debate",
        "red_team",
        "best_of_n",
        "tournament",
        "heavy_thinking",
    ];
    for name in wanted {
        assert!(preset(name).is_some(), "{name}");
    }
    for preset in presets() {
        let text = preset.manifest(&values(preset), &project()).unwrap().document.yaml();
        let plan = plan("preset.yaml", &text);
        assert_eq!(&*plan.root().name, preset.name);
        assert_eq!(plan.root().metadata["source"], json!(format!("preset:{}", preset.name)));
    }
}

#[test]
fn texts_that_were_given_stand_for_themselves() {
    let text = made("fan_out_research", json!({})).unwrap().yaml();
    let plan = plan("preset.yaml", &text);
    assert_eq!(
        plan.root().inputs.as_ref().unwrap()["query"].default,
        Some(json!("what is {{ this }} for ${USER}?"))
    );
    let node = plan.root().nodes.iter().find(|node| &*node.name == "researcher").unwrap();
    let Kind::ForEach(fan_out) = &node.kind else { panic!("a fan-out") };
    let items = fan_out.items.as_ref().unwrap();
    assert_eq!(items.as_slice(), [json!("solar"), json!("${HOME}"), json!("{{ x }}"), json!("7")]);
}

#[test]
fn a_saved_manifest_is_the_same_manifest() {
    for preset in presets() {
        let text = preset.manifest(&values(preset), &project()).unwrap().document.yaml();
        assert_eq!(printed("saved.yaml", &text), text, "{}", preset.name);
    }
}

#[test]
fn presets_say_what_is_wrong_with_their_inputs() {
    assert_eq!(made("fan_out_research", json!({"topics": []})).unwrap_err(), "`topics` is empty");
    assert_eq!(
        made("fan_out_research", json!({"topics": ["a", "a"]})).unwrap_err(),
        "`a` stands twice in `topics`"
    );
    assert!(made("best_of_n", json!({"n": 1})).unwrap_err().contains("`n` must be a whole number between 2"));
    assert!(made("debate", json!({"sides": ["one"]})).unwrap_err().contains("at least two"));
    assert!(made("debate", json!({"query": " "})).unwrap_err().contains("`query` is empty"));
}

#[test]
fn files_that_presets_name_are_read_or_refused() {
    let long = "é".repeat(MOST_OF_A_FILE);
    let world = project().file("long.rs", &long).file("odd.bin", "a\0b");
    let asked = |name: &str, more: Value| {
        let preset = preset(name).unwrap();
        let mut values = values(preset);
        values.extend(Document::from(more).0);
        preset.manifest(&values, &world)
    };
    let read = asked("fan_out_code_review", json!({"files": ["a.rs", "long.rs", "- a\n+ b"]})).unwrap();
    assert!(read.warnings.is_empty());
    let plan = plan("preset.yaml", &read.document.yaml());
    let texts = plan.root().inputs.as_ref().unwrap()["texts"].default.clone().unwrap();
    assert_eq!(texts["a.rs"], json!("fn main() { ${HOME} {{ x }} }\n"));
    let cut = texts["long.rs"].as_str().unwrap();
    assert!(cut.ends_with("\n[… 65536 more characters]"), "{}", &cut[cut.len() - 60..]);
    assert_eq!(texts.as_object().unwrap().len(), 2, "a change stands for itself");
    for (files, why) in [
        (json!(["gone.rs"]), "`files`: `gone.rs`: not found"),
        (json!(["odd.bin"]), "`files`: `odd.bin`: binary, or not UTF-8 text"),
        (json!(["*.py"]), "`files`: `*.py`: no file matches"),
    ] {
        assert_eq!(asked("fan_out_code_review", json!({"files": files})).unwrap_err(), why);
    }
    let warned = |name: &str, more: Value| -> Vec<String> {
        let made = asked(name, more).unwrap();
        made.warnings.into_iter().map(|found| found.message.split('`').nth(3).unwrap().to_owned()).collect()
    };
    assert_eq!(
        warned("fan_out_audit", json!({"targets": ["a.rs", "billing", "the whole of it"]})),
        ["billing"]
    );
    assert_eq!(warned("map_reduce", json!({"items": ["a.rs", "TCP/IP", "v2.0", "gone.rs"]})), ["gone.rs"]);
    assert_eq!(warned("debate", json!({"query": "a.rs", "context": "why?"})), ["a.rs"]);
}

#[test]
fn folders_and_patterns_stand_for_their_files() {
    let world = project().file("src/b.rs", "b").file("src/deep/c.rs", "c").file("src/odd.bin", "a\0b");
    let preset = preset("fan_out_code_review").unwrap();
    let mut values = values(preset);
    values.insert("files".to_owned(), json!(["src/deep/c.rs", "*.rs", "src", "src/b.rs", "src/**/*.rs"]));
    let made = preset.manifest(&values, &world).unwrap();
    let warned: Vec<_> = made.warnings.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(warned, ["input `files`: `src/odd.bin` is left out: it cannot be read as UTF-8 text"]);
    let plan = plan("preset.yaml", &made.document.yaml());
    let texts = plan.root().inputs.as_ref().unwrap()["texts"].default.clone().unwrap();
    let names: Vec<_> = texts.as_object().unwrap().keys().collect();
    assert_eq!(names, ["src/deep/c.rs", "a.rs", "src/b.rs"], "each once, where it is named first");
}

#[test]
fn inputs_that_declare_it_are_read() {
    let world = project().file("src/b.rs", "b").file("src/c.rs", "c");
    let text = "inputs: {code: {type: array, files: true}}\nquery: q\nagents: [{id: a, task: '{{ partition.path }}: {{ partition.text }}', partitions: workflow.input.code}]\n";
    let plan = plan("own.yaml", text);
    let declared = plan.root().inputs.as_ref();
    let read = |names: Value| {
        let mut values = Map::from_iter([("code".to_owned(), names)]);
        files::read_inputs(declared, &mut values, &world).map(|_| values["code"].clone())
    };
    assert_eq!(
        read(json!(["src"])).unwrap(),
        json!([{"path": "src/b.rs", "text": "b"}, {"path": "src/c.rs", "text": "c"}])
    );
    for (names, why) in [
        (json!(["src", "gone.rs"]), "input `code`: `gone.rs`: not found"),
        (json!(["src/*.py"]), "input `code`: `src/*.py`: no file matches"),
        (json!(["a\nb"]), "not the name of a file"),
    ] {
        let message = read(names).unwrap_err().message;
        assert!(message.contains(why), "{message}");
    }
    let wrong = compiled("own.yaml", &text.replace("type: array", "type: string"));
    assert_eq!(findings(&wrong)[0].0, "workflow::wrong_type", "{}", shown(&wrong));
}

#[test]
fn files_together_have_a_bound() {
    let paths: Vec<String> = (0..40).map(|number| format!("{number}.rs")).collect();
    let whole = "x".repeat(MOST_OF_A_FILE);
    let world = paths.iter().fold(World::default(), |world, path| world.file(path, &whole));
    let preset = preset("fan_out_code_review").unwrap();
    let mut values = values(preset);
    values.insert("files".to_owned(), json!(paths));
    let refused = preset.manifest(&values, &world).unwrap_err();
    assert!(refused.contains("the files together have more than 4194304 bytes"), "{refused}");
}

#[test]
fn heavy_thinking_ends_in_a_deliberator_that_waits_for_all_thinkers() {
    let plan = plan("p.yaml", &made("heavy_thinking", json!({"k": 7})).unwrap().yaml());
    assert_eq!(names(&plan), ["deliberator", "synthesis", "thinker"]);
    let thinkers = plan.root().nodes.iter().find(|node| &*node.name == "thinker").unwrap();
    let Kind::ForEach(fan_out) = &thinkers.kind else { panic!("a fan-out") };
    assert_eq!(fan_out.items.as_ref().unwrap().len(), 7);
}

const TEAM: &str = "name: board\ngoal: ship?\nprotocol: consensus\nrounds: 4\nvote: {options: [yes it is, no]}\nmembers:\n  - ann\n  - {name: bob, role: engineer, model: '${MODEL:-m}'}\n";

#[test]
fn a_team_file_is_a_manifest_in_other_words() {
    let plan = plan("team.yaml", TEAM);
    assert_eq!(names(&plan), ["ann", "bob", "rounds", "synthesis", "positions"]);
    let text = printed("team.yaml", TEAM);
    let again = self::plan("saved.yaml", &text);
    assert_eq!(names(&again), names(&plan));
    assert!(text.contains("${MODEL:-m}"), "references are kept:\n{text}");
    assert!(text.contains("team:\n  protocol: consensus\n  rounds: 4\n"), "{text}");
}

#[test]
fn mistakes_in_a_team_file_are_shown_in_that_file() {
    let result = compiled("team.yaml", "protocol: debat\nmembers: [a, b]\nrounds: 0\nquery: q\n");
    let expected = [("workflow::unknown_value", 1), ("workflow::out_of_range", 3)];
    assert_eq!(findings(&result)[..2], expected, "{}", shown(&result));
    let lonely = compiled("team.yaml", "protocol: debate\nmembers: [a, b]\njudge: c\nquery: q\n");
    assert_eq!(findings(&lonely)[0], ("workflow::unknown_value", 3), "{}", shown(&lonely));
    let both = compiled("team.yaml", "protocol: voting\nquery: q\nmembers: [a, {id: b, depends_on: [a]}]\n");
    assert_eq!(findings(&both), [("workflow::excludes", 3)], "{}", shown(&both));
    for synthesis in ["hierarchical", "{of: [a]}"] {
        let text = format!("protocol: voting\nquery: q\nmembers: [a, b]\nsynthesis: {synthesis}\n");
        let result = compiled("team.yaml", &text);
        assert_eq!(findings(&result), [("workflow::excludes", 4)], "{}", shown(&result));
    }
}

#[test]
fn what_a_planner_put_out_runs() {
    let text = r#"{"goal": "answer", "steps": [
      {"node_id": "search", "refined_subtask": "find {{ it }}", "depends_on": [], "timeout": 3600.0, "is_parallel": true},
      {"node_id": "write", "refined_subtask": "", "depends_on": ["search"], "timeout": 30}
    ]}"#;
    let plan = plan("plan.json", text);
    assert_eq!(names(&plan), ["search", "write", "synthesis"]);
    let node = |name: &str| plan.root().nodes.iter().find(|node| &*node.name == name).unwrap();
    assert_eq!((&node("search").timeout, &node("write").timeout), (&None, &Some(Span::Millis(30_000))));
    assert_eq!(node("write").needs.len(), 1);
    let again = self::plan("saved.yaml", &printed("plan.json", text));
    assert_eq!(names(&again), names(&plan));
}

const SKILL: &str = "# Report\n\nBe kind.\n\n### Step 1: Research Agent [depends_on: none]\nUse `${HOME}` and {{ this }}.\n\n### Step 2: Writer [depends_on: Research Agent]\nWrite.\n";

#[test]
fn a_skill_is_a_file_of_steps() {
    let plan = plan("skill.md", SKILL);
    assert_eq!(names(&plan), ["research-agent", "writer", "synthesis"]);
    assert_eq!(plan.root().inputs.as_ref().unwrap()["context"].default, Some(json!("Be kind.")));
    assert_eq!(names(&self::plan("saved.yaml", &printed("skill.md", SKILL))), names(&plan));
    assert_eq!(skill::steps(SKILL).len(), 2);
}

#[test]
fn a_skill_that_waits_for_nobody_known_is_refused_at_the_heading() {
    let result = compiled("skill.md", &SKILL.replace("Research Agent]", "researcher]"));
    assert_eq!(findings(&result), [("workflow::unknown_dependency", 8)], "{}", shown(&result));
    let none = compiled("skill.md", "# Only prose\n");
    assert_eq!(findings(&none), [("workflow::not_a_workflow", 1)], "{}", shown(&none));
}

#[test]
fn a_workflow_has_no_manifest() {
    let text = "workflow: {name: w, entry_point: a}\nagents: [{name: a, type: set, value: x}]\n";
    let (data, found) = manifest_data("w.yaml", &World::default().file("w.yaml", text));
    assert!(data.is_none());
    assert_eq!(found[0].code, "workflow::unsupported_kind");
}

#[test]
fn a_team_that_says_the_same_twice_is_an_error() {
    for (text, words) in [
        ("roster: [a]\nmembers: [b]\nprotocol: broadcast\ngoal: g\n", "both `roster` and `members`"),
        ("agents: [{id: a}]\nmembers: [b]\nprotocol: broadcast\ngoal: g\n", "both `agents` and `members`"),
        ("members: [b]\nprotocol: broadcast\ngoal: g\ntask: t\n", "both `goal` and `task`"),
        ("members: [b]\nprotocol: broadcast\nquery: g\ngoal: t\n", "both `query` and `goal`"),
        ("members: [a, b]\nprotcol: voting\ngoal: g\n", "did you mean `protocol`?"),
    ] {
        let found = world::compiled(text);
        assert!(
            found.plan.is_none() && world::shown(&found).contains(words),
            "{words}: {}",
            world::shown(&found)
        );
    }
}

#[test]
fn a_skill_whose_dependency_is_misspelt_is_an_error() {
    let skill = |heading: &str| {
        let text = format!("### Step 1: A\n\ndo\n\n### Step 2: {heading}\n\ndo\n");
        let world = world::World::default().file("s.md", &text);
        convoke_plan::compile::compile("s.md", &world, &convoke_plan::compile::Options::default())
    };
    for heading in
        ["F [dependson: a]", "F (depends_on: a)", "F [depends_on a]", "F [after = a, dependencies: b]"]
    {
        let found = skill(heading);
        assert!(found.plan.is_none(), "{heading}");
        assert!(world::shown(&found).contains("[depends_on: "), "{heading}: {}", world::shown(&found));
    }
    for heading in ["F [depends_on: a]", "F [Depends on: a]", "F (again)", "F [optional]"] {
        assert!(skill(heading).plan.is_some(), "{heading}: {}", world::shown(&skill(heading)));
    }
}

#[test]
fn steps_of_a_planner_may_have_numbers_for_names() {
    let found = world::compiled(
        "goal: g\nsteps:\n  - {node_id: 1, subtask: s}\n  - {node_id: 2, subtask: t, depends_on: [1]}\n",
    );
    assert!(found.plan.is_some(), "{}", world::shown(&found));
}

#[test]
fn presets_say_what_they_cannot_take() {
    let made = |name: &str, values: serde_json::Value| {
        let preset = convoke_plan::generate::preset(name).expect("a preset");
        let given: Vec<_> = values
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), convoke_plan::compile::GivenInput::Json(value.clone())))
            .collect();
        let values = convoke_plan::compile::check_declared(&preset.declared(), &given).expect("they fit");
        preset.manifest(&values, &project()).map(|_| ())
    };
    let topics: Vec<String> = (0..100_001).map(|number| number.to_string()).collect();
    assert!(made("fan_out_research", serde_json::json!({"topics": topics})).unwrap_err().contains("100001"));
    assert!(
        made("fan_out_research", serde_json::json!({"topics": ["a", ""]})).unwrap_err().contains("empty")
    );
    assert!(made("best_of_n", serde_json::json!({"query": "q", "n": 1})).unwrap_err().contains("found 1"));
    assert!(
        made("heavy_thinking", serde_json::json!({"query": "q", "k": 3, "perspectives": ["a", "b"]}))
            .is_err()
    );
    assert!(made("heavy_thinking", serde_json::json!({"query": "q", "perspectives": ["a", "b"]})).is_ok());
}
