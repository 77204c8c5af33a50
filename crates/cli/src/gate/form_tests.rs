use super::*;
use std::collections::VecDeque;

/// A person that types these lines and then closes the input.
struct Person {
    lines: VecDeque<String>,
    seen: String,
}

/// What the person's editor does to a plan.
fn changed(plan: &str) -> String {
    plan.replace("first", "second")
}

impl Terminal for Person {
    fn show(&mut self, words: &str) {
        self.seen.push_str(words);
    }

    fn hear(&mut self) -> Heard {
        self.lines.pop_front().map_or(Heard::Closed, Heard::Line)
    }

    fn edit(&mut self, text: &str) -> Result<String, String> {
        Ok(changed(text))
    }
}

fn asked(question: &Ask, lines: &[&str]) -> (AskOutcome, String) {
    let mut person =
        Person { lines: lines.iter().map(|line| line.to_string()).collect(), seen: String::new() };
    let end = ask(&mut person, &TaskId("gate".into()), question, &|plan| {
        plan.contains("broken").then(|| "line 1: it is broken".to_owned())
    });
    (end, person.seen)
}

fn gate() -> Ask {
    let option = |label: &str, value: &str, prompt_for: Option<&str>| AskOption {
        label: label.into(),
        value: value.into(),
        prompt_for: prompt_for.map(str::to_owned),
        multiline: true,
    };
    Ask::Choice {
        prompt: "ship?".into(),
        options: vec![option("Yes", "y", None), option("No", "n", Some("why"))],
        default: None,
    }
}

fn form() -> Ask {
    let question = |id: &str, choices: &[&str], default: Option<&str>, required| Question {
        id: id.into(),
        text: format!("your {id}"),
        hint: None,
        choices: choices.iter().map(|choice| choice.to_string()).collect(),
        allow_free_text: choices.is_empty(),
        default: default.map(str::to_owned),
        required,
        multiline: false,
    };
    let questions = vec![
        question("name", &[], None, true),
        question("size", &["s", "l"], None, true),
        question("note", &[], Some("-"), false),
    ];
    Ask::Questions {
        prompt: None,
        questions,
        allow_back: true,
        allow_skip: false,
        allow_skip_all: true,
        allow_abort: true,
        default_on_timeout: false,
    }
}

fn answers(pairs: &[(&str, &str)], skipped_rest: bool) -> AskOutcome {
    let answers = pairs.iter().map(|(id, text)| (id.to_string(), text.to_string())).collect();
    AskOutcome::Answered(Answer::Questions { answers, aborted: false, skipped_rest })
}

#[test]
fn an_option_is_taken_by_number_value_or_label() {
    let yes = AskOutcome::Answered(Answer::Choice { value: "y".into(), input: IndexMap::new() });
    for typed in ["1", "y", "yes"] {
        assert_eq!(asked(&gate(), &[typed]).0, yes);
    }
}

#[test]
fn a_wrong_answer_is_explained_and_asked_for_again() {
    let (end, seen) = asked(&gate(), &["7", "n", "too", "late", "."]);
    let input = IndexMap::from([("why".to_owned(), "too\nlate".to_owned())]);
    assert_eq!(end, AskOutcome::Answered(Answer::Choice { value: "n".into(), input }));
    assert!(seen.contains("`7` is not among the options"), "{seen}");
}

#[test]
fn a_form_goes_back_and_takes_defaults() {
    let (end, _) = asked(&form(), &["Bob", ":back", "Ada", "2", ""]);
    assert_eq!(end, answers(&[("name", "Ada"), ("size", "l")], false));
}

#[test]
fn a_required_answer_is_asked_for_until_it_is_there() {
    let (end, seen) = asked(&form(), &["", ":skip", "Ada", "m", "s", "x"]);
    assert_eq!(end, answers(&[("name", "Ada"), ("size", "s"), ("note", "x")], false));
    assert!(seen.contains("`name` must be answered") && seen.contains(":skip is not allowed"), "{seen}");
}

#[test]
fn the_rest_may_be_skipped_and_the_form_given_up() {
    assert_eq!(
        asked(&form(), &["Ada", ":skip-all", "s", ":skip-all"]).0,
        answers(&[("name", "Ada"), ("size", "s")], true)
    );
    assert_eq!(asked(&form(), &[":abort"]).0, AskOutcome::Answered(reply::aborted()));
}

#[test]
fn a_closed_input_answers_nothing() {
    assert_eq!(asked(&gate(), &[]).0, AskOutcome::Closed);
    assert_eq!(asked(&form(), &["Ada"]).0, AskOutcome::Closed);
}

#[test]
fn a_plan_is_approved_changed_or_refused() {
    let plan = Ask::Plan { prompt: "may it?".into(), plan: "tasks: [first]".into() };
    let answered = |plan: &str| AskOutcome::Answered(Answer::Plan { plan: plan.into() });
    assert_eq!(asked(&plan, &["what", "1"]).0, answered("tasks: [first]"));
    let (end, seen) = asked(&plan, &["edit", "approve"]);
    assert_eq!(end, answered("tasks: [second]"));
    assert!(seen.contains("tasks: [second]"), "{seen}");
    assert_eq!(asked(&plan, &["3"]).0, AskOutcome::Answered(Answer::Fail));
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_told_and_not_taken() {
    let plan = Ask::Plan { prompt: "may it?".into(), plan: "tasks: [first broken]".into() };
    let (end, seen) = asked(&plan, &["2", "1", "3"]);
    assert_eq!(end, AskOutcome::Answered(Answer::Fail));
    assert!(seen.contains("tasks: [second broken]") && seen.contains("line 1: it is broken"), "{seen}");
}
