//! The YAML itself: aliases, merges, duplicates, budgets, encodings.

use super::super::{read_workflow, testing::Memory};
use super::{HEADER, assert_one, good, line, read};

#[test]
fn a_duplicate_key_shows_both_places() {
    let text = format!("{HEADER}agents:\n  - name: a\n    prompt: one\n    prompt: two\n");
    let findings = read(&text).1;
    assert_one(&findings, "yaml::duplicate_key", &["`prompt`", "already"], &text);
    let lines: Vec<_> = findings[0].labels.iter().map(|label| label.span.line_column().0).collect();
    assert_eq!(lines, [5, 4]);
}

#[test]
fn a_duplicate_key_is_found_in_a_large_mapping_too() {
    let mut text = format!("{HEADER}agents: []\noutput:\n");
    (0..40).for_each(|n| text.push_str(&format!("  k{n}: x\n")));
    text.push_str("  k3: y\n");
    assert_one(&read(&text).1, "yaml::duplicate_key", &["`k3`"], &text);
}

#[test]
fn anchors_and_merge_keys_are_written_out() {
    let text = format!(
        "{HEADER}agents:\n  - &base {{name: a, prompt: hi, model: m}}\n  - {{<<: *base, name: b}}\n  - *base\n"
    );
    let names: Vec<_> = good(&text).agents.into_iter().map(|step| step.name.value).collect();
    assert_eq!(names, ["a", "b", "a"]);
}

#[test]
fn earlier_sources_of_a_merge_win() {
    let text = "workflow:\n  name: w\n  entry_point: a\n  metadata:\n    one: &one {x: 1}\n    two: &two {x: 2, y: 2}\n    all: {<<: [*one, *two], z: 3}\nagents: []\n";
    assert_eq!(good(text).metadata["all"], serde_json::json!({"z": 3, "x": 1, "y": 2}));
}

#[test]
fn broken_structures_have_their_own_words() {
    let deep = format!("{HEADER}agents: []\noutput: {}1{}\n", "[".repeat(200), "]".repeat(200));
    let bomb = alias_bomb();
    let cases = [
        (format!("{HEADER}agents: []\n---\nworkflow: {{}}\n"), "yaml::multiple_documents"),
        (format!("{HEADER}agents: *nobody\n"), "yaml::unknown_anchor"),
        (format!("{HEADER}agents: &x [*x]\n"), "yaml::recursive_alias"),
        (format!("{HEADER}agents: !include x.yaml\n"), "yaml::unknown_tag"),
        (format!("{HEADER}agents: []\ntools: [a, {{<<: 3}}]\n"), "yaml::bad_merge"),
        (deep, "yaml::too_deep"),
        (bomb, "yaml::alias_bomb"),
    ];
    for (text, code) in cases {
        let findings = read(&text).1;
        let head: String = text.chars().take(100).collect();
        assert!(
            findings.iter().any(|finding| finding.code == code),
            "{code}: {head}: {}",
            super::messages(&findings)
        );
    }
}

fn alias_bomb() -> String {
    let mut text = format!("{HEADER}agents: []\nx0: &x0 [a, a, a, a, a, a, a, a, a, a]\n");
    for level in 1..12 {
        let aliases = vec![format!("*x{}", level - 1); 10].join(", ");
        text.push_str(&format!("x{level}: &x{level} [{aliases}]\n"));
    }
    text
}

#[test]
fn a_chain_of_aliases_cannot_become_too_deep() {
    let mut text = format!("{HEADER}agents: []\nx0: &x0 [a]\n");
    for level in 1..5000 {
        text.push_str(&format!("x{level}: &x{level} [*x{}]\n", level - 1));
    }
    assert_one(&read(&text).1, "yaml::too_deep", &["128"], "a chain");
}

#[test]
fn json_is_read_like_yaml() {
    let text = "{\n\t\"workflow\": {\"name\": \"w\", \"entry_point\": \"a\"},\n\t\"agents\": [\n\t\t{\"name\": \"a\", \"prompt\": \"caf\\u00e9 \\ud83d\\ude00\"}\n\t]\n}\n";
    let workflow = good(text);
    assert_eq!(workflow.agents[0].name.span.line_column(), (4, 12));
}

#[test]
fn line_ends_and_byte_order_marks_do_not_matter() {
    let text = "\u{feff}workflow: {name: w, entry_point: a}\r\nagents:\r\n  - name: a\r\n    promt: x\r\n";
    let findings = read(text).1;
    assert_one(&findings, "workflow::unknown_key", &["promt"], text);
    assert_eq!(line(&findings[0]), 4);
}

#[test]
fn what_is_no_workflow_says_so() {
    let cases: &[(&[u8], &str, &str)] = &[
        (b"", "file::empty", "w.yaml"),
        (b"# only a comment\n", "file::empty", "empty"),
        (b"~\n", "file::empty", "empty"),
        (b"- a\n- b\n", "file::not_a_mapping", "a list"),
        (b"just text\n", "file::not_a_mapping", "a single value"),
        (b"\xff\xfew\x00", "file::not_utf8", "UTF-16"),
        (b"a: \xff\n", "file::not_utf8", "line 1"),
        (b"\x7fELF\x00\x01", "file::not_utf8", "binary"),
        (b"a: 1\n", "workflow::not_a_workflow", "`workflow`"),
    ];
    for (bytes, code, word) in cases {
        let (workflow, findings) = read_workflow("w.yaml", &Memory::default().file("w.yaml", bytes));
        assert!(workflow.is_none());
        assert_one(&findings, code, &[word], &String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_missing_file_is_named() {
    let (_, findings) = read_workflow("./x/../w.yaml", &Memory::default());
    assert_one(&findings, "file::missing", &["`w.yaml`", "does not exist"], "missing");
}

#[test]
fn a_large_prompt_is_fine_and_a_huge_file_is_not() {
    let line = "      all work and no play makes a dull agent\n";
    let large =
        format!("{HEADER}agents:\n  - name: a\n    prompt: |\n{}", line.repeat((10 << 20) / line.len()));
    assert_eq!(good(&large).agents.len(), 1);
    let huge = format!("{HEADER}#{}", " ".repeat(super::super::MAX_FILE_BYTES));
    assert_one(&read(&huge).1, "file::too_large", &["too large", "16777216"], "huge");
}
