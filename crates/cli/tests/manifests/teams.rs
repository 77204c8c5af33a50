//! Teams: votes, consensus, debates, leads, work that is handed on.

use crate::manifests::kit::{prompt, run, scripted};
use crate::support::World;
use serde_json::{Value, json};

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
    assert_eq!(run(&broken).exits(1).json()["partial"]["steps"], json!({"a": {"result": "first"}}));
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
