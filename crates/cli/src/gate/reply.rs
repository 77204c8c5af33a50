//! An answer as it is typed on a command line, checked against what is asked.

use super::approval;
use convoke_model::{Answer, Ask, AskOption, Question};
use convoke_plan::value::{SetType, read_set};
use indexmap::IndexMap;

/// What was given.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// A choice, or `id=text` per question.
    pub values: Vec<String>,
    /// Texts that an option asks for.
    pub inputs: Vec<(String, String)>,
    /// Questions without an answer are skipped.
    pub skip_rest: bool,
    /// The form is given up.
    pub abort: bool,
}

/// The answer, or what is wrong with it in words.
pub fn reply(ask: &Ask, given: &Given) -> Result<Answer, String> {
    let answer = match ask {
        Ask::Choice { options, .. } => choice(options, given)?,
        Ask::Questions { .. } => form(given)?,
        Ask::Plan { plan, .. } => planned(plan, given)?,
        Ask::Unknown { .. } => unknown(given)?,
        Ask::Approval { calls, .. } => approval::answer(calls, given)?,
    };
    match answer.refusal(ask) {
        Some(why) => Err(why),
        None => Ok(answer),
    }
}

/// The option that a value names.
pub fn choose<'a>(options: &'a [AskOption], value: &str) -> Result<&'a AskOption, String> {
    options.iter().find(|option| option.value == value).ok_or_else(|| {
        let known: Vec<_> = options.iter().map(|option| format!("`{}`", option.value)).collect();
        format!("`{value}` is not among the options: {}", known.join(", "))
    })
}

fn choice(options: &[AskOption], given: &Given) -> Result<Answer, String> {
    let [value] = given.values.as_slice() else {
        return Err("a gate takes exactly one option".to_owned());
    };
    let option = choose(options, value)?;
    let mut input = IndexMap::new();
    for (name, text) in &given.inputs {
        if option.prompt_for.as_ref() != Some(name) {
            return Err(format!("option `{value}` asks for no text named `{name}`"));
        }
        input.insert(name.clone(), text.clone());
    }
    match &option.prompt_for {
        Some(name) if !input.contains_key(name) => {
            Err(format!("option `{value}` asks for a text: --input {name}=TEXT"))
        }
        _ => Ok(Answer::Choice { value: value.clone(), input }),
    }
}

fn planned(plan: &str, given: &Given) -> Result<Answer, String> {
    match given.values.as_slice() {
        [word] if word == "approve" => Ok(Answer::Plan { plan: plan.to_owned() }),
        [word] if word == "fail" => Ok(Answer::Fail),
        [text] if is_plan(text) => Ok(Answer::Plan { plan: text.clone() }),
        _ => {
            Err("a plan takes one answer: `approve`, `fail`, or `@FILE`, the plan as it should be".to_owned())
        }
    }
}

/// Whether a text is meant as a plan: words are a slip, whatever they say.
pub fn is_plan(text: &str) -> bool {
    [SetType::Dict, SetType::List].into_iter().any(|kind| read_set(text, kind).is_ok())
}

fn form(given: &Given) -> Result<Answer, String> {
    if given.abort {
        return Ok(aborted());
    }
    let mut answers = IndexMap::new();
    for value in &given.values {
        let (id, text) =
            value.split_once('=').ok_or_else(|| format!("`{value}` is no answer: write ID=TEXT"))?;
        answers.insert(id.to_owned(), text.to_owned());
    }
    Ok(Answer::Questions { answers, aborted: false, skipped_rest: given.skip_rest })
}

/// An answer to one question, if it fits.
pub fn accept(question: &Question, text: &str) -> Result<String, String> {
    let listed = question.choices.iter().any(|choice| choice == text);
    if !question.choices.is_empty() && !listed && !question.allow_free_text {
        return Err(format!("question `{}` takes one of: {}", question.id, question.choices.join(", ")));
    }
    if text.is_empty() && question.required {
        return Err(format!("question `{}` must be answered", question.id));
    }
    Ok(text.to_owned())
}

/// A form that was given up.
pub fn aborted() -> Answer {
    Answer::Questions { answers: IndexMap::new(), aborted: true, skipped_rest: false }
}

fn unknown(given: &Given) -> Result<Answer, String> {
    match given.values.as_slice() {
        [word] if word == "retry" => Ok(Answer::Retry),
        [word] if word == "fail" => Ok(Answer::Fail),
        _ => Err("answer `retry` to try it again or `fail` to take it as failed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Ask {
        let option = |value: &str, prompt_for: Option<&str>| AskOption {
            label: value.to_uppercase(),
            value: value.to_owned(),
            prompt_for: prompt_for.map(str::to_owned),
            multiline: false,
        };
        Ask::Choice {
            prompt: "go on?".into(),
            options: vec![option("yes", None), option("no", Some("why"))],
            default: None,
        }
    }

    fn question(id: &str, choices: &[&str], required: bool) -> Question {
        Question {
            id: id.into(),
            text: format!("{id}?"),
            hint: None,
            choices: choices.iter().map(|choice| choice.to_string()).collect(),
            allow_free_text: choices.is_empty(),
            default: None,
            required,
            multiline: false,
        }
    }

    fn questions(required: bool) -> Ask {
        let questions = vec![question("name", &[], required), question("size", &["s", "l"], false)];
        Ask::Questions {
            prompt: None,
            questions,
            allow_back: true,
            allow_skip: true,
            allow_skip_all: true,
            allow_abort: true,
            default_on_timeout: false,
        }
    }

    fn given(values: &[&str]) -> Given {
        Given { values: values.iter().map(|value| value.to_string()).collect(), ..Given::default() }
    }

    #[test]
    fn a_choice_must_be_an_option() {
        let yes = Answer::Choice { value: "yes".into(), input: IndexMap::new() };
        assert_eq!(reply(&gate(), &given(&["yes"])), Ok(yes));
        let error = reply(&gate(), &given(&["maybe"])).unwrap_err();
        assert_eq!(error, "`maybe` is not among the options: `yes`, `no`");
    }

    #[test]
    fn an_option_may_ask_for_a_text() {
        assert!(reply(&gate(), &given(&["no"])).unwrap_err().contains("--input why=TEXT"));
        let with = Given { inputs: vec![("why".into(), "late".into())], ..given(&["no"]) };
        let input = IndexMap::from([("why".to_owned(), "late".to_owned())]);
        assert_eq!(reply(&gate(), &with), Ok(Answer::Choice { value: "no".into(), input }));
        let wrong = Given { inputs: vec![("why".into(), "late".into())], ..given(&["yes"]) };
        assert!(reply(&gate(), &wrong).is_err());
    }

    #[test]
    fn a_form_takes_answers_by_id() {
        let answers = IndexMap::from([("name".to_owned(), "Ada = x".to_owned())]);
        let expected = Answer::Questions { answers, aborted: false, skipped_rest: false };
        assert_eq!(reply(&questions(true), &given(&["name=Ada = x"])), Ok(expected));
        assert!(
            reply(&questions(true), &given(&["size=s"])).unwrap_err().contains("`name` must be answered")
        );
        assert!(reply(&questions(true), &given(&["name=a", "size=m"])).unwrap_err().contains("s, l"));
        assert!(reply(&questions(true), &given(&["nmae=a"])).unwrap_err().contains("name, size"));
        assert!(reply(&questions(false), &given(&["size=s"])).is_ok());
        assert!(reply(&questions(true), &given(&["Ada"])).unwrap_err().contains("ID=TEXT"));
    }

    #[test]
    fn a_form_may_be_given_up_or_skipped() {
        let abort = Given { abort: true, ..Given::default() };
        assert_eq!(reply(&questions(true), &abort), Ok(aborted()));
        let skip = Given { skip_rest: true, ..Given::default() };
        assert!(matches!(reply(&questions(false), &skip), Ok(Answer::Questions { skipped_rest: true, .. })));
        assert!(reply(&questions(true), &skip).is_err());
    }

    #[test]
    fn a_plan_is_approved_given_up_or_changed_and_anything_else_is_a_slip() {
        let ask = Ask::Plan { prompt: "may it?".into(), plan: "tasks: []".into() };
        let planned = |plan: &str| Ok(Answer::Plan { plan: plan.to_owned() });
        assert_eq!(reply(&ask, &given(&["approve"])), planned("tasks: []"));
        assert_eq!(reply(&ask, &given(&["- description: x"])), planned("- description: x"));
        assert_eq!(reply(&ask, &given(&["fail"])), Ok(Answer::Fail));
        for slip in ["whatever", "aprove", "yes please"] {
            assert!(reply(&ask, &given(&[slip])).unwrap_err().contains("`approve`, `fail`, or `@FILE`"));
        }
    }

    #[test]
    fn a_lost_attempt_is_tried_again_or_given_up() {
        let ask = Ask::Unknown { prompt: "did it happen?".into() };
        assert_eq!(reply(&ask, &given(&["retry"])), Ok(Answer::Retry));
        assert!(reply(&ask, &given(&["perhaps"])).is_err());
    }
}
