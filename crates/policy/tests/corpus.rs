//! The corpus of published attacks, whole: what it denies is not allowed, and what it allows is.

use convoke_policy::{Access, Judgement, Kind, Lexical, Policy, Verdict, World};
use serde_json::Value;
use std::path::{Path, PathBuf};

const ROOT: &str = "/w/repo";

/// The corpus, if it is on this machine.
fn corpus() -> Option<Vec<Value>> {
    let shared = std::env::var_os("CONVOKE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let text = std::fs::read_to_string(shared.join("corpus/shell-attacks.json")).ok()?;
    Some(serde_json::from_str(&text).expect("the corpus is JSON"))
}

/// A repository as the cases suppose it.
fn world(fixture: Option<&str>) -> Lexical {
    let file = Kind::File { names: 1 };
    let mut world = Lexical::new(ROOT);
    for path in [
        "src/main.rs",
        "src/lib.rs",
        "Cargo.toml",
        "a.txt",
        "b.txt",
        "data.csv",
        "build.sh",
        "docs/..notes.md",
        "environment.md",
    ] {
        world = world.with(path, file);
    }
    for path in [".git", "docs", "target", ".engine"] {
        world = world.with(path, Kind::Folder);
    }
    for part in fixture.into_iter().flat_map(|text| text.split("; ")) {
        if let Some((link, to)) = part.split_once(" -> ") {
            world = world.link(link, to);
        } else if part.starts_with("ln ") {
            world = world.with("hard_secret", Kind::File { names: 2 });
        }
    }
    world
}

fn judge(policy: &Policy, case: &Value) -> Judgement {
    let world = world(case["fixture"].as_str());
    match case["command"].as_str() {
        Some(command) => policy.judge(command, Path::new(ROOT), &world),
        None => {
            let access = if case["policy"] == "PATH-W" { Access::Write } else { Access::Read };
            policy.judge_path(Path::new(case["path"].as_str().unwrap()), access, &world as &dyn World)
        }
    }
}

/// Checks every case, each under the policy of its name.
fn check(policy_of: impl Fn(&str) -> Policy) {
    let Some(cases) = corpus() else {
        // Left out: CONVOKE_SHARED names the folder in which it is.
        return;
    };
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case["policy"].as_str().unwrap();
        let judgement = judge(&policy_of(name), case);
        let fine = match (case["expect"].as_str().unwrap(), name) {
            ("allow", _) => judgement.verdict == Verdict::Allow,
            (_, "DENY") => judgement.verdict == Verdict::Deny,
            _ => judgement.verdict != Verdict::Allow,
        };
        if !fine {
            let text = case["command"].as_str().or(case["path"].as_str()).unwrap();
            wrong.push(format!(
                "{} {name} {text:?}: {:?} {:?}",
                case["id"], judgement.verdict, judgement.reasons
            ));
        }
        assert_eq!(judgement.verdict == Verdict::Allow, judgement.reasons.is_empty(), "{}", case["id"]);
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_case_ends_as_the_corpus_says_under_its_own_policy() {
    check(|name| match name {
        "RO" => Policy::preset("read-only").unwrap(),
        "DEV" => Policy::parse(include_str!("policies/dev.yaml")).unwrap(),
        "NET" => Policy::parse(include_str!("policies/net.yaml")).unwrap(),
        "WRAP" => Policy::parse(include_str!("policies/wrap.yaml")).unwrap(),
        "DENY" => Policy::parse(include_str!("policies/deny.yaml")).unwrap(),
        _ => Policy::parse(include_str!("policies/path.yaml")).unwrap(),
    });
}

#[test]
fn the_preset_for_developing_denies_and_allows_the_same() {
    check(|name| match name {
        "RO" => Policy::preset("read-only").unwrap(),
        "NET" => Policy::parse(include_str!("policies/net.yaml")).unwrap(),
        "WRAP" => Policy::parse(include_str!("policies/wrap.yaml")).unwrap(),
        "DENY" => Policy::parse(include_str!("policies/deny.yaml")).unwrap(),
        _ => Policy::preset("develop").unwrap(),
    });
}
