//! `convoke policy` as people and programs use it.

use crate::common;

use common::World;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn answers(world: &World, args: &[&str], lines: &[Value]) -> Vec<Value> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    world.write("batch.jsonl", text);
    let said = world.run(&[&["policy", "check", "--batch", "batch.jsonl"], args].concat());
    assert_eq!(said.code, 0, "{}", said.stderr);
    said.stdout.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn the_exit_code_is_the_verdict_and_nothing_runs() {
    let world = World::new();
    for (command, code) in
        [("touch made", 0), ("echo $HOME > made", 5), ("touch .git/hooks/x", 3), ("ls 'unclosed", 3)]
    {
        let said = world.run(&["policy", "check", "--", command]);
        assert_eq!(said.code, code, "{command}: {}{}", said.stdout, said.stderr);
    }
    assert!(!world.path("made").exists());
    let said =
        world.run(&["policy", "check", "--policy", "read-only", "--format", "json", "--", "rm", "a b"]);
    let record: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!((said.code, &record["verdict"]), (3, &json!("deny")));
    assert_eq!(record["plan"]["pipelines"][0]["commands"][0]["argv"], json!(["rm", "a b"]));
}

#[test]
fn every_line_of_a_batch_has_an_answer() {
    let world = World::new();
    world.write("src/main.rs", "fn main() {}\n");
    let lines = [
        json!({"id": 1, "command": "ls"}),
        json!({"id": "two", "command": "touch main.rs", "cwd": "src"}),
        json!({"id": 3, "command": "touch x", "policy": "read-only"}),
        json!({"id": 4, "command": "curl https://docs.example/", "policy": {"extends": "network", "network": {"hosts": ["docs.example"]}}}),
        json!({"id": 5, "path": "src/main.rs"}),
        json!({"id": 6, "path": ".git/config", "access": "write"}),
        json!({"id": 7, "path": "../x", "access": "read"}),
        json!({"id": 8}),
        json!({"id": 9, "command": "ls", "root": "src"}),
        json!({"id": 10, "command": "touch x", "policy": ["develop", "read-only"]}),
        json!({"id": 11, "command": "ls", "policy": {"extend": "develop"}}),
    ];
    let answers = answers(&world, &[], &lines);
    let verdicts: Vec<_> =
        answers.iter().map(|answer| (answer["id"].clone(), answer["verdict"].as_str().unwrap())).collect();
    let expected =
        ["allow", "allow", "deny", "allow", "allow", "deny", "ask", "deny", "allow", "deny", "deny"];
    for ((line, verdict), expected) in lines.iter().zip(&verdicts).zip(expected) {
        assert_eq!((&line["id"], expected), (&verdict.0, verdict.1), "{answers:#?}");
    }
    let write = answers[1]["plan"]["writes"][0].as_str().unwrap();
    assert!(write.ends_with("src/main.rs"), "{write}");
    world.write("broken.jsonl", "{\n");
    let said = world.run(&["policy", "check", "--batch", "broken.jsonl"]);
    let answer: Value = serde_json::from_str(said.stdout.trim()).unwrap();
    assert_eq!((&answer["id"], &answer["verdict"]), (&Value::Null, &json!("deny")));
}

#[test]
fn mistakes_of_a_policy_are_shown_at_their_places() {
    let world = World::new();
    world.write("policy.yaml", "extends: develop\nbinarys:\n  allow: [ls]\npaths: {write: [/etc]}\n");
    let said = world.run(&["policy", "check", "--policy", "policy.yaml", "--", "ls"]);
    assert_eq!(said.code, 3);
    for part in
        ["policy::unknown_key", "did you mean `binaries`?", "policy.yaml:2:1", "policy::bad_path", "2 errors"]
    {
        assert!(said.stderr.contains(part), "no {part} in {}", said.stderr);
    }
    assert_eq!(world.run(&["policy", "check", "--policy", "nowhere.yaml", "--", "ls"]).code, 2);
}

#[test]
fn links_of_the_disk_are_followed_before_a_verdict() {
    let world = World::new();
    world.write("src/a.rs", "x");
    std::os::unix::fs::symlink("../..", world.path("out")).unwrap();
    std::os::unix::fs::symlink("src", world.path("near")).unwrap();
    let lines = [
        json!({"id": 1, "command": "cat out/state/x"}),
        json!({"id": 2, "command": "cat near/a.rs"}),
        json!({"id": 3, "command": "wc src/*.rs"}),
    ];
    let answers = answers(&world, &["--policy", "read-only"], &lines);
    let verdicts: Vec<_> = answers.iter().map(|answer| answer["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["deny", "allow", "allow"]);
    assert_eq!(answers[2]["plan"]["pipelines"][0]["commands"][0]["argv"], json!(["wc", "src/a.rs"]));
}

#[test]
fn what_cedar_rules_say_is_shown() {
    let world = World::new();
    world.write("house.yaml", "extends: develop\ncedar: rules.cedar\n");
    world.write(
        "rules.cedar",
        "permit(principal, action, resource);\n@id(\"no pushes\") forbid(principal == Persona::\"junior\", action in Command::Action::\"git\", resource);\n",
    );
    let check = |args: &[&str]| {
        let all = [&["policy", "check", "--policy", "house.yaml"], args, &["--", "git status"]].concat();
        world.run(&all)
    };
    let said = check(&[]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("permits command `git status`"), "{}", said.stdout);
    let said = check(&["--persona", "junior"]);
    assert_eq!(said.code, 3);
    assert!(said.stdout.contains("forbidden by `no pushes`"), "{}", said.stdout);
    let said: Value =
        serde_json::from_str(&check(&["--persona", "junior", "--format", "json"]).stdout).unwrap();
    assert_eq!(
        (&said["verdict"], &said["opinions"][0]["permitted"]),
        (&json!("deny"), &json!(false)),
        "{said}"
    );
    let said = world.run(&["policy", "explain", "house.yaml"]);
    assert!(
        said.stdout.contains("`rules.cedar` judges everything") && said.stdout.contains("forbid"),
        "{}",
        said.stdout
    );
    world.write("rules.cedar", "permit(principal, action);\n");
    let said = check(&[]);
    assert!(said.code == 3 && said.stderr.contains("rules.cedar"), "{}", said.stderr);
}

#[test]
fn a_policy_is_explained_and_its_schema_printed() {
    let world = World::new();
    let said = world.run(&["policy", "explain", "read-only"]);
    assert!(said.stdout.contains("writes: nothing"), "{}", said.stdout);
    let schema: Value = serde_json::from_str(&world.run(&["schema", "policy"]).stdout).unwrap();
    assert_eq!(schema["title"], "Convoke policy");
}

/// The corpus through the program, on a real disk.
#[test]
fn the_corpus_is_answered_as_it_says() {
    let shared = std::env::var_os("CONVOKE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let Ok(text) = std::fs::read_to_string(shared.join("corpus/shell-attacks.json")) else { return };
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    let world = World::new();
    for (name, content) in [
        ("repo/src/main.rs", "x"),
        ("repo/src/lib.rs", "x"),
        ("repo/a.txt", "x"),
        ("other/secret.txt", "x"),
        ("home/.ssh/id_rsa", "x"),
    ] {
        world.write(name, content);
    }
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/tests/policies");
    let policy = |name: &str| match name {
        "RO" => "read-only".to_owned(),
        "PATH-R" | "PATH-W" => policies.join("path.yaml").display().to_string(),
        other => policies.join(format!("{}.yaml", other.to_lowercase())).display().to_string(),
    };
    std::os::unix::fs::symlink("../other", world.path("repo/link_out")).unwrap();
    std::os::unix::fs::symlink("a", world.path("repo/link_chain")).unwrap();
    std::os::unix::fs::symlink("../other/secret.txt", world.path("repo/a")).unwrap();
    std::fs::hard_link(world.path("home/.ssh/id_rsa"), world.path("repo/hard_secret")).unwrap();
    let folder = world.path("").display().to_string();
    let placed = |text: &str| text.replace("/w/", &folder);
    let lines: Vec<Value> = cases
        .iter()
        .map(|case| {
            let name = case["policy"].as_str().unwrap();
            let access = if name == "PATH-W" { "write" } else { "read" };
            match case["command"].as_str() {
                Some(command) => json!({"id": case["id"], "command": placed(command), "policy": policy(name)}),
                None => json!({"id": case["id"], "path": placed(case["path"].as_str().unwrap()), "access": access, "policy": policy(name)}),
            }
        })
        .collect();
    let answers = answers(&world, &["--root", "repo"], &lines);
    for (case, answer) in cases.iter().zip(&answers) {
        let verdict = answer["verdict"].as_str().unwrap();
        let fine = match (case["expect"].as_str().unwrap(), case["policy"].as_str().unwrap()) {
            ("allow", _) => verdict == "allow",
            (_, "DENY") => verdict == "deny",
            _ => verdict != "allow",
        };
        assert!(fine, "{}: {answer}", case["id"]);
    }
    assert_eq!(answers.len(), cases.len());
}
