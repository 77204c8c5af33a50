//! The words that the model which writes programs is told.
//!
//! Kept true: what it is told about a program is never longer than the stated number of characters.

use super::session::Printed;
use super::worker::Trouble;
use convoke_model::excerpt::{first_chars, within};
use convoke_model::{OutputSchema, ProgramCall};
use serde_json::Value;
use std::fmt::Write;

/// How answers are found, and by which functions.
const HOW: &str = "You answer a question from many outputs of other agents. You do not see them, only their \
description: each has an id such as S1, a type and a size. You look into them with programs.

Reply with one Python program in ```python blocks; all such blocks of a reply are run as one program, in order. What it \
prints comes back to you, cut to a few thousand characters, and you write the next one. You are done when a program \
calls final(value). Only that is an answer: words outside of programs are not.

These functions are there:

- outputs(): a list of {\"id\", \"title\", \"task\", \"type\", \"chars\", \"prefix\"}, one for each output.
- get(id): one output; a str if its type is text, else the value itself (a record is a dict).
- slice(id, start, end=None): characters of an output's text, as in Python's text[start:end].
- search(pattern, ids=None, limit=20): where a regular expression occurs (no look-around, no back-references; (?i) \
ignores case), in all outputs or in these: a list of {\"id\", \"start\", \"end\", \"match\", \"context\"}, at most 1000.
- llm(prompt): the answer of a model, a str, that knows nothing but the prompt. Put the text that it is about into the \
prompt. RuntimeError if no answer comes.
- llm_map(prompts): the answers to a list of prompts, asked at the same time, in the same order; in place of an answer \
that did not come, {\"error\": why}. Prefer it to a loop of llm().
- rlm(query, ids=None): the answer to another question from all or some of the outputs, found in this same way. For parts \
that need programs of their own.
- ephemeral_graph_query(turtle, query, limit=50): the rows of a SPARQL query over statements in Turtle that you give, \
as a list of dicts. Nothing is kept.
- owl_query(turtle, query, limit=50): the same over these statements and what follows from them by OWL 2 RL.
- kg_bulk_export(scope=\"run\", limit=500): what is known of this run, or with \"project\" of the runs of its folder: a list \
of {\"s\", \"p\", \"o\"}, no texts of outputs among it. These three raise RuntimeError where no graph is there.
- final(value): ends the work with this result.

Look before you ask: search and slice cost nothing, calls of models are counted. In the result name the outputs that each \
statement came from by their ids in square brackets, such as [S3] or [S2, S7]; ids in answers of rlm() mean the same \
outputs. Say where outputs contradict one another, and invent nothing.";

/// The standing orders: the author's, how it is done, and what programs may use.
pub(super) fn system(call: &ProgramCall, guide: &str, schema: Option<&OutputSchema>) -> String {
    let author = call.agent.system.as_deref().filter(|text| !text.trim().is_empty());
    let mut text = author.map(|author| format!("{author}\n\n")).unwrap_or_default();
    let _ = write!(text, "{HOW}\n\n{}", guide.trim_end());
    if let Some(schema) = schema {
        let _ = write!(
            text,
            "\n\nThe value given to final() must fit this JSON Schema:\n{}",
            schema.json_schema()
        );
    }
    text
}

/// The first message: the question, what there is, and how much may be done.
pub(super) fn opening(call: &ProgramCall, described: &str) -> String {
    format!(
        "{}\n\n## OUTPUTS\n\n{described}\n\n## TASK\n\nAnswer the question from the outputs. You may write {} programs, and \
         they may ask models {} times.",
        call.agent.prompt.trim(),
        call.max_turns,
        call.max_calls
    )
}

/// What is left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub turns: u32,
    pub calls: u32,
}

impl Left {
    fn words(self) -> String {
        let last = if self.turns == 1 { " The next program must call final()." } else { "" };
        format!("\n\nPrograms left: {}. Model calls left: {}.{last}", self.turns, self.calls)
    }
}

/// The reply holds no program.
pub(super) fn no_program(left: Left) -> String {
    let words = "There is no program in your reply, so nothing was run. Write one in a ```python block; it is done when \
                 a program calls final(value).";
    format!("{words}{}", left.words())
}

/// The reply was cut off.
pub(super) fn cut_off(left: Left) -> String {
    let words = "Your reply was cut off at the token limit, so nothing was run. Write a shorter program.";
    format!("{words}{}", left.words())
}

/// The program came to its end.
pub(super) fn ended(printed: &Printed, value: &Value, left: Left, budget: u64) -> String {
    let value = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    told(
        "The program has ended without final().",
        printed,
        ("The value of its last line", &value),
        left,
        budget,
    )
}

/// The program went wrong.
pub(super) fn failed(trouble: &Trouble, lost: bool, printed: &Printed, left: Left, budget: u64) -> String {
    let words = match lost {
        true => "The program was ended. All variables of earlier programs are gone.",
        false => "The program failed. Variables that were set before are still there.",
    };
    let hint = trouble.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    told(words, printed, ("What went wrong", &format!("{}{hint}", trouble.message.trim_end())), left, budget)
}

/// The value that was given to `final` is no result.
pub(super) fn rejected(why: &str, printed: &Printed, left: Left, budget: u64) -> String {
    told("The value given to final() cannot be used.", printed, ("Why", why), left, budget)
}

/// Everything about a program, within the budget: what it came to, then as much of what it printed as there is room for.
fn told(words: &str, printed: &Printed, (what, came): (&str, &str), left: Left, budget: u64) -> String {
    let budget = usize::try_from(budget).unwrap_or(usize::MAX);
    let left = left.words();
    // Beside the parts that are cut: the headings below and the numbers in them.
    let room = budget.saturating_sub(words.chars().count() + left.chars().count() + 160);
    let came = within(came, room / 2);
    let came = if came.is_empty() { String::new() } else { format!("\n\n{what}:\n{came}") };
    let room = room.saturating_sub(came.chars().count());
    let out = match (printed.chars, first_chars(&printed.text, room)) {
        (0, _) => "\n\nIt printed nothing.".to_owned(),
        (chars, shown) if shown.chars().count() as u64 == chars => {
            format!("\n\nIt printed {chars} characters:\n{shown}")
        }
        (chars, shown) => {
            format!(
                "\n\nIt printed {chars} characters, these are the first {}:\n{shown}",
                shown.chars().count()
            )
        }
    };
    format!("{words}{came}{out}{left}")
}

#[cfg(test)]
mod tests {
    use super::super::worker::TroubleKind;
    use super::*;
    use proptest::prelude::*;

    const LEFT: Left = Left { turns: 3, calls: 9 };

    #[test]
    fn what_was_printed_is_shown_with_its_length() {
        let mut printed = Printed::default();
        printed.add("one\n", 0, 100);
        let text = ended(&printed, &Value::Null, LEFT, 500);
        assert!(text.contains("It printed 4 characters:\none\n"), "{text}");
        assert!(text.ends_with("Programs left: 3. Model calls left: 9."), "{text}");
        assert!(
            ended(&Printed::default(), &Value::from(4), LEFT, 500)
                .contains("last line:\n4\n\nIt printed nothing.")
        );
    }

    proptest! {
        #[test]
        fn nothing_that_is_told_is_longer_than_it_may_be(
            out in 0usize..3_000, cut in 0u64..1_000, came in 0usize..3_000, budget in 500u64..2_500
        ) {
            let mut printed = Printed::default();
            printed.add(&"é".repeat(out), cut, budget);
            let came = "ä".repeat(came);
            let trouble = Trouble { kind: TroubleKind::Died, message: came.clone(), hint: Some("h".repeat(50)) };
            for text in [
                ended(&printed, &Value::from(came.as_str()), LEFT, budget),
                failed(&trouble, true, &printed, LEFT, budget),
                rejected(&came, &printed, Left { turns: 1, calls: u32::MAX }, budget),
            ] {
                prop_assert!(text.chars().count() as u64 <= budget, "{}", text.chars().count());
            }
        }
    }
}
