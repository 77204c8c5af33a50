//! Broken files, with the line that each finding must point at.

use super::{assert_one, line, read};

struct Broken {
    text: &'static str,
    code: &'static str,
    line: usize,
    words: &'static [&'static str],
}

const BROKEN: &[Broken] = &[
    Broken {
        text: "workflow:\n  entry_point: a\nagents:\n  - {name: a, prompt: x}\n",
        code: "workflow::missing_key",
        line: 2,
        words: &["workflow", "`name`"],
    },
    Broken {
        text: "workflow:\n  name: w\nagents:\n  - {name: a, prompt: x}\n",
        code: "workflow::missing_key",
        line: 2,
        words: &["entry_point"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents:\n  - name: a\n    type: script\n    args: [\"-l\"]\n",
        code: "workflow::missing_key",
        line: 3,
        words: &["`a`", "`command`"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents:\n  - name: a\n    prompt: x\n    routes: [{to: $end}\noutput:\n  r: \"1\"\n",
        code: "yaml::syntax",
        line: 6,
        words: &["yaml syntax", "expected"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents:\n  - name: a\n    promt: hello\n",
        code: "workflow::unknown_key",
        line: 4,
        words: &["`promt`", "did you mean `prompt`?"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents:\n  - name: a\n    prompt: x\n    retry:\n      max_attempt: 5\n",
        code: "workflow::unknown_key",
        line: 6,
        words: &["`max_attempt`", "did you mean `max_attempts`?"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: e}\nfor_each:\n  - name: e\n    type: for_each\n    source: workflow.input.items\n    as: output\n    agent: {name: w, prompt: x}\nagents: []\n",
        code: "workflow::reserved_name",
        line: 6,
        words: &["`output`", "reserved"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: e}\nfor_each:\n  - name: e\n    type: for_each\n    source: workflow.input.items\n    as: it\n    max_concurrent: 0\n    agent: {name: w, prompt: x}\nagents: []\n",
        code: "workflow::out_of_range",
        line: 7,
        words: &["`max_concurrent`", "between 1 and 100000"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents:\n  - name: a\n    type: wait\n    duration: 5 minutes\n",
        code: "workflow::bad_duration",
        line: 5,
        words: &["`duration`", "5 minutes"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents:\n  - name: a\n    type: human_gate\n    prompt: ok?\n",
        code: "workflow::missing_key",
        line: 3,
        words: &["`a`", "`options`"],
    },
    Broken {
        text: "workflow:\n  name: w\n  entry_point: a\n  input:\n    count:\n      type: number\n      default: \"many\"\nagents: []\n",
        code: "workflow::wrong_type",
        line: 7,
        words: &["`count`", "number"],
    },
    Broken {
        text: "workflow:\n  name: w\n  entry_point: a\n  limits:\n    max_iterations: 0\nagents: []\n",
        code: "workflow::out_of_range",
        line: 5,
        words: &["`max_iterations`", "between 1 and 1000000"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents:\n  - name: a\n\tprompt: one\n",
        code: "yaml::tab",
        line: 4,
        words: &["tab"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents:\n  a: {prompt: x}\n",
        code: "workflow::wrong_type",
        line: 3,
        words: &["`agents`", "a list", "a mapping"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents:\n  - name: a\n    prompt: \"x\n  - name: b\n",
        code: "yaml::syntax",
        line: 4,
        words: &["quote"],
    },
    Broken {
        text: "workflow:\n  name: w\n  version: 1.0\n  entry_point: a\nagents: []\n",
        code: "workflow::wrong_type",
        line: 3,
        words: &["`version`", "text", "number `1.0`", "quotes"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: g}\nagents: []\nparallel:\n  - name: g\n    agents: [a]\n",
        code: "workflow::out_of_range",
        line: 5,
        words: &["`g`", "at least 2"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: g}\nagents: []\nparallel:\n  - name: g\n    agents: [a, b]\n    failure_mode: fast_fail\n",
        code: "workflow::unknown_value",
        line: 6,
        words: &["`failure_mode`", "fail_fast", "`fast_fail`"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents: []\noutput:\n  n: 3\n",
        code: "workflow::wrong_type",
        line: 4,
        words: &["`n`", "text", "`3`"],
    },
    Broken {
        text: "workflow: {name: w, entry_point: a}\nagents: []\noutput:\n  n: {{ a.output }}\n",
        code: "yaml::complex_key",
        line: 4,
        words: &["quotes"],
    },
];

#[test]
fn each_broken_file_has_its_one_finding_at_its_line() {
    for broken in BROKEN {
        let findings = read(broken.text).1;
        assert_one(&findings, broken.code, broken.words, broken.text);
        assert_eq!(line(&findings[0]), broken.line, "{}", broken.text);
    }
}

#[test]
fn all_findings_of_a_file_come_at_once_in_the_order_of_the_text() {
    let text = "workflow: {nam: w, entry_point: a, limits: {max_iteration: 3}}\nagents:\n  - {name: a, promt: x}\n  - {name: b, type: skript, command: x}\n  - {type: wait, duration: 1s, routes: [{too: x}]}\n";
    let codes: Vec<_> = read(text).1.iter().map(|finding| (finding.code, line(finding))).collect();
    let expected = [
        ("workflow::unknown_key", 1),
        ("workflow::unknown_key", 1),
        ("workflow::unknown_key", 3),
        ("workflow::unknown_value", 4),
        ("workflow::missing_key", 5),
        ("workflow::unknown_key", 5),
    ];
    assert_eq!(codes, expected);
}

#[test]
fn a_step_of_unknown_type_keeps_its_name_and_edges() {
    let text = "workflow: {name: w, entry_point: a}\nagents:\n  - {name: b, type: skript, command: x, routes: [{to: $end}]}\n";
    let (workflow, findings) = read(text);
    assert_one(&findings, "workflow::unknown_value", &["skript", "did you mean `script`?"], text);
    let step = &workflow.unwrap().agents[0];
    assert_eq!((step.name.value.as_str(), step.common.routes.len()), ("b", 1));
}
