//! Policy files: every mistake at once, each at its place, with what was probably meant.

use convoke_policy::{OnViolation, Policy};

#[test]
fn every_mistake_is_told_at_once() {
    let text = "extends: devlop\nbinarys: {}\nbinaries:\n  allow: [gti status, \"a;b\", ls]\n  deny: [\"\"]\npaths:\n  write: [/etc, ../x]\n\
                network: {hosts: [\"docs.example/x\", \"*.example\"]}\nenvironment: {assign: [PATH, 1A]}\nlimits: {words: none}\non_violation: explode\nlimits: {}\n";
    let found = Policy::parse(text).unwrap_err();
    let codes: Vec<_> = found.iter().map(|finding| (finding.line, finding.code)).collect();
    assert_eq!(
        codes,
        [
            (1, "policy::unknown_value"),
            (2, "policy::unknown_key"),
            (4, "policy::unknown_program"),
            (4, "policy::bad_program"),
            (5, "policy::bad_program"),
            (7, "policy::bad_path"),
            (7, "policy::bad_path"),
            (8, "policy::bad_host"),
            (8, "policy::bad_host"),
            (9, "policy::dangerous_variable"),
            (9, "policy::bad_variable"),
            (10, "policy::wrong_type"),
            (11, "policy::unknown_value"),
            (12, "yaml::duplicate_key"),
        ]
    );
    assert!(found[0].help.as_deref().unwrap().starts_with("did you mean `develop`?"));
    assert!(found[1].help.as_deref().unwrap().starts_with("did you mean `binaries`?"));
    assert!(found[2].help.as_deref().unwrap().starts_with("did you mean `git status`?"), "{:?}", found[2]);
}

#[test]
fn what_is_no_policy_is_a_finding_and_no_panic() {
    let deep = "a: ".to_owned() + &"[".repeat(1000);
    for text in [
        "",
        "# nothing",
        "- a",
        "x",
        "a: b: c",
        "{",
        "\t",
        "a: &x [*x]",
        "a: *b",
        "!!map {}",
        "--- {}\n--- {}",
        "? [a]\n: b",
        deep.as_str(),
    ] {
        assert!(Policy::parse(text).is_err_and(|found| !found.is_empty()), "{text:.20}");
    }
}

#[test]
fn a_file_adds_to_its_preset_and_replaces_single_values() {
    let policy = Policy::parse("extends: develop\nbinaries: {allow: [curl], deny: [rm]}\npaths: {write: [\"src/**\"], protect: [\"tests/**\"]}\non_violation: hard_abort\n").unwrap();
    let develop = Policy::preset("develop").unwrap();
    assert!(policy.binaries.allow.iter().any(|entry| entry == "curl"));
    assert!(develop.binaries.allow.iter().all(|entry| policy.binaries.allow.contains(entry)));
    assert_eq!(policy.paths.write.len(), 1);
    assert_eq!(policy.on_violation, OnViolation::HardAbort);
    let only = Policy::parse("extends: develop\nbinaries: {only: [ls]}\n").unwrap();
    assert_eq!(only.binaries.allow, ["ls"]);
}

#[test]
fn nothing_is_allowed_where_nothing_is_said() {
    let policy = Policy::parse("name: x\n").unwrap();
    assert!(policy.binaries.allow.is_empty() && policy.paths.write.is_empty() && policy.hosts.is_empty());
    assert_eq!(policy.on_violation, OnViolation::HardAbort);
}

#[test]
fn a_policy_is_explained_in_sentences() {
    let text = Policy::preset("read-only").unwrap().explain();
    assert!(
        text.contains("policy `read-only`") && text.contains("writes: nothing") && text.contains("no host"),
        "{text}"
    );
}

#[test]
fn the_schema_names_every_key() {
    let schema = convoke_policy::schema();
    for key in ["extends", "binaries", "paths", "network", "tools", "environment", "limits", "on_violation"] {
        assert!(schema["properties"][key]["description"].is_string(), "{key}");
    }
    assert_eq!(schema["additionalProperties"], false);
}
