//! Execution manifests as people run them: oracles of the original engine, failures, teams, presets.

mod support;

use serde_json::{Value, json};
use support::model::Model;
use support::{Said, World};

/// A world with a manifest whose agents answer from a file.
fn scripted(manifest: &str, replies: &str) -> World {
    let world =
        World::with_workflow(&format!("provider: {{name: scripted, file: replies.yaml}}\n{manifest}"));
    world.write("replies.yaml", replies);
    world
}

fn run(world: &World) -> Said {
    world.convoke(&["run", "w.yaml", "--silent"])
}

fn shown(world: &World) -> Value {
    world.convoke(&["show", &world.runs()[0], "--format", "json"]).exits(0).json()
}

fn task<'a>(shown: &'a Value, name: &str) -> &'a Value {
    let tasks = shown["tasks"].as_array().expect("tasks");
    tasks.iter().find(|task| task["task"] == name).unwrap_or_else(|| panic!("no task {name} in {tasks:#?}"))
}

fn attempts(shown: &Value, name: &str) -> usize {
    task(shown, name)["attempts"].as_array().expect("attempts").len()
}

/// What an agent was asked.
fn prompt(world: &World, task: &str) -> String {
    let said = world.convoke(&["show", &world.runs()[0], task, "--format", "json"]).exits(0).json();
    said["asked"]["prompt"].as_str().unwrap_or_else(|| panic!("no prompt in {said:#}")).to_owned()
}

#[test]
fn pe_1_a_result_reports_levels_critical_path_and_ratio() {
    let world = scripted(
        "agents:\n  - {id: a, task: t}\n  - {id: b, task: t, depends_on: [a]}\n  - {id: c, task: t, depends_on: [b]}\n  - {id: d, task: t}\n  - {id: e, task: t}\n",
        "default: [done]\n",
    );
    let result = run(&world).exits(0).json();
    assert_eq!(result["waves"], json!([["a", "d", "e"], ["b"], ["c"]]));
    assert_eq!((&result["critical_path_length"], &result["parallelism_ratio"]), (&json!(3), &json!(1.67)));
    let shown = shown(&world);
    assert_eq!(shown["levels"], json!([["a", "d", "e"], ["b"], ["c"]]));
    assert_eq!(shown["critical_path"], json!(["a", "b", "c"]));
    assert_eq!((&shown["critical_path_length"], &shown["parallelism_ratio"]), (&json!(3), &json!(1.67)));
    assert_eq!(shown["verification"], json!({}));
}

#[test]
fn pe_4_criteria_are_judged_before_consumers_and_retries_counted() {
    let world = scripted(
        "verify: criteria\nagents:\n  - {id: a, task: t, success_criteria: good}\n  - {id: b, task: t, success_criteria: good, depends_on: [a], max_retries: 2}\n  - {id: c, task: t, success_criteria: good, depends_on: [b]}\n",
        "replies:\n  a: from a\n  b: [{fail: transient, message: once}, from b]\n  c: [bad, better]\n  a/verifier: {passed: true, issues: []}\n  b/verifier: {passed: true, issues: []}\n  c/verifier: [{passed: false, issues: [too bad]}, {passed: true, issues: []}]\n",
    );
    let result = run(&world).exits(0).json();
    assert!(result["answer"].as_str().unwrap().ends_with("## c\n\nbetter"), "{result}");
    let shown = shown(&world);
    assert_eq!(shown["verification"], json!({"checked": 3, "passed": 3, "failed": 0, "redispatched": 1}));
    assert_eq!((attempts(&shown, "b"), shown["critical_path_length"].as_u64()), (2, Some(3)));
    assert_eq!(shown["levels"].as_array().unwrap().len(), 3);
}

#[test]
fn pe_5_criteria_without_verify_are_not_judged() {
    let world = scripted("agents:\n  - {id: a, task: t, success_criteria: good}\n", "replies: {a: fine}\n");
    assert_eq!(run(&world).exits(0).json()["answer"], "fine");
    assert_eq!(shown(&world)["verification"], json!({}));
}

#[test]
fn pe_6_to_9_retries_are_as_many_as_stated() {
    let with = |retries: u32, replies: &str| {
        let manifest = format!("agents:\n  - {{id: a, task: t, max_retries: {retries}}}\n");
        scripted(&manifest, &format!("replies:\n  a: {replies}\n"))
    };
    let once = with(1, "[{fail: transient, message: nope}, done]");
    assert_eq!(run(&once).exits(0).json()["answer"], "done");
    assert_eq!(attempts(&shown(&once), "a"), 2);
    let always = with(1, "{fail: transient, message: nope}");
    always.convoke(&["run", "w.yaml"]).exits(1).mentions(&["nope"]);
    assert_eq!(attempts(&shown(&always), "a"), 2);
    let never = with(0, "{fail: transient, message: kaput}");
    never.convoke(&["run", "w.yaml"]).exits(1).mentions(&["kaput"]);
    assert_eq!(attempts(&shown(&never), "a"), 1, "0 means none, not the default");
    let clean = with(3, "done");
    run(&clean).exits(0);
    assert_eq!(attempts(&shown(&clean), "a"), 1);
}

#[test]
fn pe_10_answers_are_held_against_their_shape() {
    let fits = |schema: &str, answer: &str| {
        let manifest = format!(
            "agents:\n  - {{id: a, task: t, output_schema: {schema}, retry: {{max_attempts: 1, max_parse_recovery_attempts: 0}}}}\n"
        );
        run(&scripted(&manifest, &format!("replies:\n  a:\n    - say: {}\n", json!(answer)))).code == Some(0)
    };
    let requires_a = r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}"#;
    assert!(fits(requires_a, r#"{"a": 1}"#));
    assert!(!fits(requires_a, r#"{"b": 1}"#));
    assert!(!fits("'a,b'", "just prose"));
    assert!(fits("a", "```json\n{\"a\": 1}\n```"));
    // Valid for a schema that requires nothing; the original wanted `type` and `properties` in the answer.
    assert!(fits(r#"{"type": "object", "properties": {"a": {"type": "integer"}}}"#, r#"{"b": 1}"#));
    assert!(!fits(requires_a, "[1, 2]"));
}

#[test]
fn a_failure_skips_its_dependents_and_the_answer_says_what_is_missing() {
    let world = scripted(
        "agents:\n  - {id: a, task: t, max_retries: 0}\n  - {id: b, task: t, depends_on: [a]}\n  - {id: c, task: t}\n",
        "replies: {a: {fail: fatal, message: broke}, c: fine}\n",
    );
    let said = run(&world).exits(1);
    let result = said.json();
    assert_eq!(result["answer"], "fine");
    assert_eq!(result["missing"][0]["task"], "a");
    assert_eq!(result["missing"][1], json!({"task": "b", "cause": "skipped: something it needs failed (a)"}));
    assert_eq!(world.status(), "partial");
    assert_eq!(attempts(&shown(&world), "c"), 1);
    world.convoke(&["run", "w.yaml", "--silent", "--allow-partial"]).exits(0);
}

#[test]
fn a_failure_that_only_the_synthesis_sees_is_partial_too_and_all_are_a_failure() {
    let manifest = "agents:\n  - {id: a, task: t, max_retries: 0}\n  - {id: b, task: t, max_retries: 0}\n";
    let one = scripted(manifest, "replies: {a: {fail: fatal}, b: fine}\n");
    assert_eq!(run(&one).exits(1).json()["missing"][0]["task"], "a");
    assert_eq!(one.status(), "partial");
    let all = scripted(manifest, "replies: {a: {fail: fatal}, b: {fail: fatal}}\n");
    run(&all).exits(1).prints_nothing();
    assert_eq!(all.status(), "failed");
}

#[test]
fn fan_in_after_fan_out_sees_every_partition_in_order() {
    let world = scripted(
        "agents:\n  - {id: r, task: 'on {{partition}}', partitions: [z, a]}\n  - {id: sum, task: add up, depends_on: [r]}\n",
        "match:\n  - {pattern: 'on z', replies: [Z]}\n  - {pattern: 'on a', replies: [A]}\n  - {pattern: 'add up', replies: [both]}\n",
    );
    let result = run(&world).exits(0).json();
    assert_eq!(result["waves"], json!([["r:z", "r:a"], ["sum"]]));
    let asked = prompt(&world, "sum");
    let block = asked.split_once("## DEPENDENCY OUTPUTS").expect("a block").1;
    assert_eq!(block.trim(), "### r [z]\n\nZ\n\n### r [a]\n\nA");
}

#[test]
fn replies_of_a_fan_out_go_by_its_name() {
    let world = scripted(
        "agents:\n  - {id: r, task: 'on {{partition}}', partitions: [a]}\n",
        "replies: {r: found}\n",
    );
    assert_eq!(run(&world).exits(0).json()["answer"], "found");
}

#[test]
fn order_alone_passes_nothing_on() {
    let world = scripted(
        "mode: sequential\nagents:\n  - {id: a, task: t}\n  - {id: b, task: t}\n  - {id: c, task: t, depends_on: [a]}\n",
        "replies: {a: from a, b: from b, c: from c}\n",
    );
    run(&world).exits(0);
    let started: Vec<String> = shown(&world)["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|task| Some(task["task"].as_str()?.to_owned()))
        .collect();
    assert_eq!(started[..3], ["a", "b", "c"]);
    let asked = prompt(&world, "c");
    assert!(asked.contains("from a") && !asked.contains("from b"), "{asked}");
    assert!(!prompt(&world, "b").contains("DEPENDENCY"));
}

#[test]
fn sixty_agents_run_at_once() {
    let replies = json!({"m": {"say": "done", "delay_ms": 1500}});
    let model = Model::start(replies.as_object().unwrap());
    let agents: String = (0..60).map(|number| format!("  - {{id: a{number}, task: t}}\n")).collect();
    let world = World::with_workflow(&format!(
        "provider: {{name: openai, base_url: '{}', api_key: none}}\nmodel: m\nsynthesis: flat\nagents:\n{agents}",
        model.url()
    ));
    run(&world).exits(0);
    assert_eq!((model.asked().len(), model.most_at_once()), (60, 60), "waves of 25 would never come to this");
}

#[test]
fn the_query_can_be_given_and_must_be_where_nobody_stated_it() {
    let world = scripted(
        "agents:\n  - {id: a}\n  - {id: b, task: 'say {{ query }} and {{ context }}'}\n",
        "default: [ok]\n",
    );
    world.convoke(&["run", "w.yaml"]).exits(3).mentions(&["input `query` is required"]);
    world.convoke(&["run", "w.yaml", "-s", "-i", "query=why {{ x }}?", "-i", "context=facts"]).exits(0);
    assert_eq!(prompt(&world, "a"), "why {{ x }}?\n\nContext:\nfacts");
    assert_eq!(prompt(&world, "b"), "say why {{ x }}? and facts");
}

const VOTERS: &str = "query: which?\ncoordination_protocol: voting\nagents:\n  - {id: m1}\n  - {id: m2}\n  - {id: m3}\n  - {id: m4}\n  - {id: m5, max_retries: 0}\n";

#[test]
fn five_members_vote_with_an_abstention_and_a_failure() {
    let world = scripted(
        VOTERS,
        "replies:\n  m1: {vote: red, reason: warm}\n  m2: {vote: blue, reason: cool}\n  m3: {vote: red, reason: loud}\n  m4: {vote: null, reason: none}\n  m5: {fail: fatal, message: gone}\n",
    );
    let said = run(&world).exits(1);
    let result = said.json();
    assert_eq!(result["answer"], "red");
    let vote = &result["vote"];
    assert_eq!(vote["tally"], json!({"red": 2, "blue": 1}));
    assert_eq!(vote["votes"], json!({"m1": "red", "m2": "blue", "m3": "red"}));
    assert_eq!((&vote["abstained"], &vote["dissent"]), (&json!(["m4"]), &json!(["m2"])));
    assert!(vote["failed"]["m5"].as_str().unwrap().contains("gone"), "{vote}");
    assert_eq!((world.status().as_str(), &vote["decided"]), ("partial", &json!(true)));
}

#[test]
fn a_tie_is_what_the_team_says() {
    let replies = "replies:\n  m1: {vote: blue, reason: r}\n  m2: {vote: red, reason: r}\n  m3: {vote: blue, reason: r}\n  m4: {vote: red, reason: r}\n  m5: {vote: abstain, reason: r}\n";
    let result = run(&scripted(VOTERS, replies)).exits(0).json();
    assert_eq!((&result["answer"], &result["vote"]["decided"]), (&Value::Null, &json!(false)));
    assert_eq!(result["vote"]["tie"], json!(["blue", "red"]));
    let first = format!("team: {{vote: {{options: [red, blue], tie: first}}}}\n{VOTERS}");
    assert_eq!(run(&scripted(&first, replies)).exits(0).json()["answer"], "red");
    let fail = format!("team: {{vote: {{tie: fail}}}}\n{VOTERS}");
    run(&scripted(&fail, replies)).exits(1);
    let all = format!("team: {{vote: {{method: unanimous}}}}\n{VOTERS}");
    assert_eq!(run(&scripted(&all, replies)).exits(0).json()["answer"], Value::Null);
}

#[test]
fn ranked_votes_run_off() {
    let manifest = format!("team: {{vote: {{method: ranked, options: [a, b, c]}}}}\n{VOTERS}");
    let replies = "replies:\n  m1: {ranking: [a, b], reason: r}\n  m2: {ranking: [a, b], reason: r}\n  m3: {ranking: [b, a], reason: r}\n  m4: {ranking: [b, a], reason: r}\n  m5: {ranking: [c, b], reason: r}\n";
    let result = run(&scripted(&manifest, replies)).exits(0).json();
    assert_eq!((&result["answer"], result["vote"]["rounds"].as_array().unwrap().len()), (&json!("b"), 2));
}

const BOARD: &str =
    "query: ship?\ncoordination_protocol: consensus\nagents: [{id: ann}, {id: bob-2}, {id: cy}]\n";

#[test]
fn consensus_goes_on_until_enough_agree() {
    let world = scripted(
        &format!("team: {{rounds: 5}}\n{BOARD}"),
        "replies:\n  ann: [{vote: yes, reason: ready}]\n  bob-2: [{vote: no, reason: bugs}, {vote: yes, reason: convinced}]\n  cy: [{vote: later, reason: hm}]\n",
    );
    let result = run(&world).exits(0).json();
    assert_eq!((&result["answer"], &result["round_count"]), (&json!("yes"), &json!(2)));
    assert_eq!(result["vote"]["dissent"], json!(["cy"]));
    assert_eq!(result["rounds"][0]["said"]["bob-2"]["reason"], "bugs");
    let second = prompt(&world, "positions#2/ann");
    assert!(second.contains("POSITIONS OF ROUND 1") && second.contains("bugs"), "{second}");
    assert!(!prompt(&world, "positions/ann").contains("POSITIONS OF"));
}

#[test]
fn consensus_ends_undecided_when_its_rounds_are_used_up() {
    let world = scripted(
        &format!("team: {{rounds: 2}}\n{BOARD}"),
        "replies:\n  ann: [{vote: a, reason: r}]\n  bob-2: [{vote: b, reason: r}]\n  cy: [{vote: c, reason: r}]\n",
    );
    let result = run(&world).exits(0).json();
    assert_eq!((&result["answer"], &result["round_count"]), (&Value::Null, &json!(2)));
    assert_eq!(result["vote"]["decided"], json!(false));
    let verified = scripted(
        &format!("verify: true\nteam: {{rounds: 1}}\n{BOARD}"),
        "replies:\n  verification/assess: {findings: []}\ndefault: [{vote: a, reason: r}]\n",
    );
    assert_eq!(run(&verified).exits(0).json()["verification"]["verdict"], "clean");
}

#[test]
fn a_debate_has_rounds_in_which_sides_see_each_other_and_a_judge_who_sees_all() {
    let world = scripted(
        "query: cats?\nteam: {protocol: debate, rounds: 2}\nagents: [{id: pro}, {id: contra}, {id: judge}]\n",
        "replies:\n  pro: [soft, fast]\n  contra: [scratch, allergies]\n  judge: cats it is\n",
    );
    let result = run(&world).exits(0).json();
    assert_eq!((&result["answer"], &result["round_count"]), (&json!("cats it is"), &json!(2)));
    assert_eq!(result["transcript"][1]["said"]["contra"]["result"], "allergies");
    let second = prompt(&world, "sides#2/pro");
    assert!(second.contains("scratch") && !second.contains("allergies"), "{second}");
    let judge = prompt(&world, "judge");
    assert!(["soft", "scratch", "fast", "allergies"].iter().all(|word| judge.contains(word)), "{judge}");
}

#[test]
fn a_lead_gives_out_the_work_and_merges_what_comes_back() {
    let world = scripted(
        "query: plan a party\nteam: {protocol: delegation, lead: boss}\nagents: [{id: cook}, {id: boss, role: host}, {id: d-j}]\n",
        "replies:\n  assignments: {cook: make soup, d-j: play jazz}\n  cook: soup is ready\n  d-j: jazz is on\n  synthesis/merge: soup and jazz [S1, S2]\n",
    );
    let result = run(&world).exits(0).json();
    assert_eq!(result["answer"], "soup and jazz [S1, S2]");
    assert_eq!(result["assignments"], json!({"cook": "make soup", "d-j": "play jazz"}));
    let (cook, music) = (prompt(&world, "cook"), prompt(&world, "d-j"));
    assert!(cook.contains("make soup") && !cook.contains("play jazz"), "{cook}");
    assert!(music.contains("play jazz"), "{music}");
}

#[test]
fn work_is_handed_on_and_a_message_goes_to_all() {
    let members = "query: write\nagents: [{id: a}, {id: b}, {id: c}]\n";
    let replies = "replies: {a: first, b: second, c: third}\n";
    let chain = scripted(&format!("coordination_protocol: handoff\n{members}"), replies);
    assert_eq!(run(&chain).exits(0).json()["answer"], "third");
    assert!(prompt(&chain, "c").contains("second") && !prompt(&chain, "c").contains("first"));
    let broken = scripted(
        &format!("coordination_protocol: handoff\n{members}"),
        "replies: {a: first, b: {fail: fatal, message: dropped}, c: third}\n",
    );
    run(&broken).exits(1).prints_nothing();
    let all = scripted(&format!("team: {{protocol: broadcast, lead: a}}\n{members}"), replies);
    assert_eq!(run(&all).exits(0).json()["answer"], "## b\n\nsecond\n\n---\n\n## c\n\nthird");
    assert!(prompt(&all, "b").contains("first"));
}

#[test]
fn a_team_file_a_plan_and_a_skill_run_as_they_are() {
    let world = World::new();
    world.write("convoke.toml", "[provider]\nname = \"scripted\"\n");
    world.write("team.yaml", "goal: hi\nprotocol: handoff\nmembers: [a, {name: b}]\n");
    world.write(
        "plan.json",
        r#"{"query": "q", "steps": [{"id": "s", "refined_subtask": "x"}, {"id": "t", "depends_on": ["s"]}]}"#,
    );
    world.write(
        "skill.md",
        "# S\n\n### Step 1: One [depends_on: none]\nDo.\n\n### Step 2: Two [depends_on: one]\nThen.\n",
    );
    for file in ["team.yaml", "plan.json", "skill.md"] {
        world.convoke(&["check", file]).exits(0);
        world.convoke(&["run", file, "-s"]).exits(0);
        let saved = world.convoke(&["run", file, "--print-manifest"]).exits(0);
        world.write("saved.yaml", &saved.stdout);
        world.convoke(&["run", "saved.yaml", "-s"]).exits(0);
        let again = world.convoke(&["run", "saved.yaml", "--print-manifest"]).exits(0);
        assert_eq!(again.stdout, saved.stdout, "{file}");
    }
    world.write("w.yaml", "workflow: {name: w, entry_point: a}\nagents: [{name: a, type: set, value: x}]\n");
    world
        .convoke(&["run", "w.yaml", "--print-manifest"])
        .exits(3)
        .mentions(&["no manifest stands behind it"]);
}

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
fn a_manifest_that_is_wrong_is_refused_with_places() {
    let world = World::with_workflow(
        "agents:\n  - {id: a, taks: t, depends_on: [b]}\n  - {id: b, depends_on: [a]}\nsynthesis: {ratio: 1}\n",
    );
    world.convoke(&["check", "w.yaml"]).exits(3).mentions(&[
        "unknown key `taks` in agent `a`",
        "did you mean `task`?",
        "needs go in a circle: a → b → a",
        "`ratio` of `synthesis` of the manifest must be between 2 and 100",
        "w.yaml:2",
    ]);
}

#[test]
fn votes_off_the_list_are_spoilt_and_case_does_not_matter() {
    let world = scripted(
        "query: q\nteam: {protocol: voting, vote: {options: [ship, wait]}}\nagents: [{id: a}, {id: b}, {id: c}, {id: d}]\n",
        "replies:\n  a: {vote: SHIP, reason: r}\n  b: {vote: perhaps, reason: r}\n  c: {vote: ship, reason: r}\n  d: {vote: '', reason: r}\n",
    );
    let result = run(&world).exits(0).json();
    assert_eq!((&result["answer"], &result["vote"]["cast"]), (&json!("ship"), &json!(2)));
    assert_eq!(result["vote"]["abstained"], json!(["d"]));
    assert!(result["vote"]["spoilt"]["b"].as_str().unwrap().contains("perhaps"), "{result}");
}

#[test]
fn many_agents_beside_a_partitioned_one_are_an_ordinary_run() {
    let agents: String = (1..=11).map(|number| format!("  - {{id: a{number}}}\n")).collect();
    let world = scripted(
        &format!("query: q\nsynthesis: flat\nagents:\n{agents}  - {{id: p, partitions: [x, y]}}\n"),
        "default: [done]\n",
    );
    assert_eq!(run(&world).exits(0).json()["agent_count"], 13);
}

#[test]
fn naming_one_partition_changes_nothing_about_its_agent() {
    let world = scripted(
        "query: q\nagents:\n  - {id: a, partitions: [x, y]}\n  - {id: b, depends_on: ['a:x']}\n  - {id: c, task: '{{ a.outputs | length }}', depends_on: [a]}\n",
        "replies: {a: from a, b: from b, c: from c}\n",
    );
    let result = run(&world).exits(0).json();
    let answer = result["answer"].as_str().unwrap();
    assert!(answer.contains("## a [x]\n\nfrom a") && answer.contains("## a [y]"), "{answer}");
    assert_eq!(task(&shown(&world), "a[x]")["status"], "succeeded");
    let asked = prompt(&world, "b");
    assert!(asked.contains("### a [x]") && !asked.contains("### a [y]"), "{asked}");
    assert_eq!(prompt(&world, "c").lines().next(), Some("2"));
}

#[test]
fn lists_that_are_given_name_their_partitions_and_are_checked_before_the_run() {
    let world = scripted(
        "query: q\ninputs: {topics: {type: array}}\nagents:\n  - {id: a, partitions: workflow.input.topics}\n  - {id: b, depends_on: [a]}\n",
        "replies: {a: from a, b: from b}\n",
    );
    let given =
        |topics: &str| world.convoke(&["run", "w.yaml", "--silent", "-i", &format!("topics={topics}")]);
    for refused in ["[]", r#"["x", "x"]"#, r#"[""]"#] {
        given(refused).exits(3);
    }
    let result = given(r#"["sun", "wind"]"#).exits(0).json();
    assert_eq!(result["waves"], json!([["a:sun", "a:wind"], ["b"]]));
    assert_eq!((&result["mode"], &result["agent_count"]), (&json!("wave"), &json!(3)));
    world.convoke(&["show", &world.runs()[0], "a:wind"]).exits(0);
}

#[test]
fn an_empty_query_is_refused_where_somebody_is_asked_it() {
    let world = scripted("query: what?\nagents: [{id: a}]\n", "default: [done]\n");
    world.convoke(&["run", "w.yaml", "--silent", "-i", "query="]).exits(3);
    assert!(world.runs().is_empty(), "nothing was begun");
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
