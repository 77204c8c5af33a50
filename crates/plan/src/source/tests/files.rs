//! `!file` and `${NAME}`.

use super::super::workflow::StepKind;
use super::super::{Workflow, read_workflow, testing::Memory};
use super::{HEADER, assert_one};
use crate::diagnostic::{Diagnostic, Severity};

fn read(memory: Memory, text: &str) -> (Option<Workflow>, Vec<Diagnostic>) {
    read_workflow("flows/w.yaml", &memory.file("flows/w.yaml", text))
}

fn prompt_of(workflow: &Workflow) -> super::super::Text {
    let StepKind::Agent(agent) = &workflow.agents[0].kind else { panic!("not an agent") };
    agent.prompt.clone().expect("a prompt")
}

const ONE: &str = "agents: [{name: a, prompt: !file p.md}]\n";

#[test]
fn prose_becomes_text_that_remembers_its_file() {
    let memory = Memory::default().file("flows/p.md", "Do {{ this }}.\n- and: [that\n").env("X", "1");
    let (workflow, findings) = read(memory, &format!("{HEADER}{ONE}"));
    assert!(findings.is_empty(), "{}", super::messages(&findings));
    let workflow = workflow.unwrap();
    let prompt = prompt_of(&workflow);
    assert_eq!(prompt.value, "Do {{ this }}.\n- and: [that\n");
    assert_eq!(prompt.base.as_deref(), Some("flows/p.md"));
    let place = prompt.place(prompt.value.find("and").unwrap());
    assert_eq!((place.file.path.as_str(), place.line_column()), ("flows/p.md", (2, 3)));
    assert_eq!(prompt.span.file.path, "flows/w.yaml");
    assert_eq!(workflow.files.len(), 2);
}

#[test]
fn prose_that_reads_as_a_list_is_still_a_prompt() {
    let memory = Memory::default().file("flows/p.md", "- one\n- two\n");
    let (workflow, findings) = read(memory, &format!("{HEADER}{ONE}"));
    assert!(findings.is_empty(), "{}", super::messages(&findings));
    assert_eq!(prompt_of(&workflow.unwrap()).value, "- one\n- two\n");
}

#[test]
fn structure_is_inlined_and_paths_are_relative_to_their_file() {
    let memory = Memory::default()
        .file("flows/parts/agents.yaml", "- {name: a, prompt: !file ../p.md}\n- {name: b, promt: x}\n")
        .file("flows/p.md", "hi");
    let (workflow, findings) = read(memory, &format!("{HEADER}agents: !file parts/agents.yaml\n"));
    assert_one(&findings, "workflow::unknown_key", &["promt"], "inlined");
    assert_eq!(findings[0].labels[0].span.file.path, "flows/parts/agents.yaml");
    assert_eq!(findings[0].labels[0].span.line_column(), (2, 13));
    assert_eq!(prompt_of(&workflow.unwrap()).base.as_deref(), Some("flows/p.md"));
}

#[test]
fn what_cannot_be_included_is_named_with_path_and_chain() {
    let memory = || {
        Memory::default()
            .file("flows/loop.yaml", "[!file loop.yaml]")
            .file("flows/one.yaml", "[!file two.yaml]")
            .file("flows/two.yaml", "[!file one.yaml]")
            .file("flows/sub.yaml", "[!file gone.md]")
            .file("flows/bytes.md", b"\xff\xff")
    };
    let cases: &[(&str, &str, &[&str])] = &[
        ("agents: !file gone.yaml\n", "file::missing", &["`!file gone.yaml`", "`flows/gone.yaml`"]),
        ("agents: !file sub.yaml\n", "file::missing", &["`flows/gone.md`", "flows/w.yaml → flows/sub.yaml"]),
        ("agents: !file loop.yaml\n", "file::cycle", &["circular", "flows/loop.yaml → flows/loop.yaml"]),
        ("agents: !file one.yaml\n", "file::cycle", &["flows/one.yaml → flows/two.yaml → flows/one.yaml"]),
        ("agents: !file bytes.md\n", "file::not_utf8", &["`flows/bytes.md`"]),
        ("agents: !file\n", "file::no_path", &["`!file`"]),
        ("agents: !file [x]\n", "file::no_path", &["path"]),
    ];
    for (text, code, words) in cases {
        let findings = read(memory(), &format!("{HEADER}{text}")).1;
        let found: Vec<_> = findings.into_iter().filter(|finding| finding.code == *code).collect();
        assert_one(&found, code, words, text);
    }
}

#[test]
fn a_file_that_is_missing_twice_is_reported_twice() {
    let findings =
        read(Memory::default(), &format!("{HEADER}agents: []\ninstructions: 1\ntools: [!file x, !file x]\n"))
            .1;
    assert_eq!(findings.iter().filter(|finding| finding.code == "file::missing").count(), 2);
}

#[test]
fn variables_are_followed_in_values_and_never_in_keys() {
    let text = "workflow:\n  name: ${NAME}\n  entry_point: a\n  limits: {max_iterations: \"${N}\"}\n  metadata: {\"${K}\": \"${N:-0}\", deep: [\"${MISSING:-x}\"]}\nagents: []\n";
    let memory = Memory::default().env("NAME", "flow").env("N", "12");
    let (workflow, findings) = read(memory, text);
    assert!(findings.is_empty(), "{}", super::messages(&findings));
    let workflow = workflow.unwrap();
    assert_eq!(workflow.name.value, "flow");
    assert_eq!(workflow.limits.max_iterations.as_ref().unwrap().value, 12);
    assert_eq!(
        serde_json::Value::Object(workflow.metadata),
        serde_json::json!({"${K}": "12", "deep": ["x"]})
    );
}

#[test]
fn an_unset_variable_is_named_at_its_place() {
    let text = format!("{HEADER}agents:\n  - name: a\n    prompt: |\n      one\n      two ${{NOPE}}\n");
    let findings = read(Memory::default(), &text).1;
    assert_one(&findings, "env::unset", &["`NOPE`"], &text);
    assert_eq!(findings[0].labels[0].span.line_column(), (6, 11));
}

#[test]
fn credentials_stay_references() {
    let text = "workflow:\n  name: w\n  entry_point: a\n  runtime:\n    provider: {name: openai, base_url: \"${URL}\", api_key: \"${KEY}\"}\n    mcp_servers:\n      s: {command: run, env: {TOKEN: \"${NO_TOKEN}\"}}\nagents: []\n";
    let memory = Memory::default().env("URL", "http://x").env("KEY", "hidden-value");
    let (workflow, findings) = read(memory, text);
    let workflow = workflow.unwrap();
    let provider = workflow.runtime.provider.as_ref().unwrap();
    assert_eq!(provider.base_url.as_ref().unwrap().value, "http://x");
    assert_eq!(provider.api_key.as_ref().unwrap().raw.value, "${KEY}");
    assert_eq!(workflow.runtime.mcp_servers["s"].value.env["TOKEN"].value.raw.value, "${NO_TOKEN}");
    assert!(!format!("{workflow:?}").contains("hidden-value"));
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].code, findings[0].severity), ("env::unset_secret", Severity::Warning));
    assert!(findings[0].message.contains("`NO_TOKEN`"));
}

#[test]
fn what_programs_are_started_with_stays_a_reference_and_must_be_there() {
    let text = format!(
        "{HEADER}agents:\n  - name: a\n    type: script\n    command: c\n    env: {{T: \"x ${{KEY}}\", U: \"${{GONE}}\"}}\n  - name: b\n    provider: {{name: cli, command: c, args: [\"--t=${{KEY}}\", \"${{LOST}}\"]}}\n    prompt: p\n"
    );
    let (workflow, findings) = read(Memory::default().env("KEY", "hidden-value"), &text);
    assert!(!format!("{workflow:?}").contains("hidden-value"));
    let found: Vec<_> = findings.iter().map(|finding| (finding.code, finding.message.as_str())).collect();
    let missing = |name| format!("environment variable `{name}` is not set");
    assert_eq!(found, [("env::unset", &*missing("GONE")), ("env::unset", &*missing("LOST"))]);
    let (line, column) = findings[0].labels[0].span.line_column();
    assert_eq!((line, &text.lines().nth(line - 1).unwrap()[column - 1..][..7]), (6, "${GONE}"));
}

#[test]
fn an_empty_setting_is_not_a_setting() {
    let text = "workflow:\n  name: w\n  entry_point: a\n  runtime: {provider: {name: openai, base_url: \"${URL}\"}}\nagents: []\n";
    let findings = read(Memory::default().env("URL", ""), text).1;
    assert_one(&findings, "workflow::empty_value", &["`base_url`", "variable"], text);
}

#[test]
fn a_partial_is_text_with_its_variables_followed() {
    let memory = Memory::default().file("p.md", "hi ${A}\n${B}\n").file("bad.md", b"\xff").env("A", "x");
    let at = super::good("workflow: {name: w, entry_point: a}\nagents: []\n").span;
    let (text, findings) = super::super::read_partial("p.md", &memory, &at);
    assert_eq!(text.unwrap().value, "hi x\n\n");
    assert_one(&findings, "env::unset", &["`B`"], "partial");
    assert_eq!(findings[0].labels[0].span.line_column(), (2, 1));
    let (text, findings) = super::super::read_partial("gone.md", &memory, &at);
    assert!(text.is_none() && findings.is_empty());
    let (text, findings) = super::super::read_partial("bad.md", &memory, &at);
    assert!(text.is_none());
    assert_one(&findings, "file::not_utf8", &["`bad.md`"], "bytes");
}
