//! Reading never panics, whatever the bytes are, and places are always inside their file.

use proptest::prelude::*;

use super::super::{CODES, read_workflow, testing::Memory};
use crate::diagnostic::Diagnostic;

fn findings(bytes: &[u8]) -> Vec<Diagnostic> {
    let memory = Memory::default().file("w.yaml", bytes).file("p.md", "x: [1, 2]").env("A", "1");
    read_workflow("w.yaml", &memory).1
}

fn assert_sound(findings: &[Diagnostic]) {
    for finding in findings {
        assert!(CODES.iter().any(|(code, _)| *code == finding.code), "{} has no meaning", finding.code);
        assert!(!finding.message.ends_with('.'), "{}", finding.message);
        for label in &finding.labels {
            let text = &label.span.file.text;
            assert!(text.get(label.span.range.clone()).is_some(), "{:?} in {text:?}", label.span.range);
        }
    }
}

/// Pieces of workflow files, right and wrong, to be put together at random.
const PIECES: &[&str] = &[
    "workflow:",
    "agents:",
    "parallel:",
    "for_each:",
    "output:",
    "name: a",
    "type: script",
    "type: wait",
    "type: reduce",
    "type: verify",
    "of: [a]",
    "vote: {method: threshold, threshold: 2}",
    "expects: {a: {x: {type: string}}}",
    "repair_input: true",
    "items: [1]",
    "prompt: |",
    "  ",
    "    ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\n  ",
    "\n    ",
    "\"",
    "'",
    "&x ",
    "*x",
    "<<: ",
    "!file p.md",
    "!file w.yaml",
    "${A}",
    "${B}",
    "${B:-c}",
    "{{ x }}",
    "retry: {max_attempts: 3}",
    "\t",
    "#",
    "---",
    "é",
    "\u{1F600}",
    "input: {n: {type: number, default: 1}}",
    "routes: [{to: $end}]",
    "\\u00e9",
    "\r\n",
    "~",
    "1.5",
    ">",
    "? ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        assert_sound(&findings(&bytes));
    }

    #[test]
    fn arbitrary_text_below_a_header_never_panics(text in "[ -~\n\t{}\\[\\]:é]{0,200}") {
        assert_sound(&findings(format!("workflow: {{name: w, entry_point: a}}\n{text}").as_bytes()));
    }

    #[test]
    fn pieces_of_workflows_never_panic(pieces in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        assert_sound(&findings(text.as_bytes()));
    }

    #[test]
    fn every_word_of_a_prompt_leads_back_to_itself(
        words in proptest::collection::vec("[a-z]{1,6}", 1..12),
        style in 0..4usize,
    ) {
        let body = match style {
            0 => format!("|\n      {}\n", words.join("\n      ")),
            1 => format!(">\n      {}\n", words.join("\n      ")),
            2 => format!("\"{}\"\n", words.join("\\n")),
            _ => format!("'{}'\n", words.join("\n      ")),
        };
        let text = format!("workflow: {{name: w, entry_point: a}}\nagents:\n  - name: a\n    prompt: {body}");
        let workflow = super::good(&text);
        let super::StepKind::Agent(agent) = &workflow.agents[0].kind else { panic!("not an agent") };
        let prompt = agent.prompt.as_ref().unwrap();
        let mut from = 0;
        for word in &words {
            let offset = from + prompt.value[from..].find(word.as_str()).unwrap();
            from = offset + word.len();
            let place = prompt.place_of(offset..from);
            prop_assert_eq!(&place.file.text[place.range], word.as_str());
        }
    }
}
