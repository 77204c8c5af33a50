//! Asks a person on the terminal, one thing after the other.
//!
//! Options and choices are numbered; a number, a value or a label is taken. A wrong answer is explained and asked for
//! again; nothing is guessed.

use super::{Heard, Terminal};
use super::{approval, reply};
use convoke_model::{Answer, Ask, AskOption, Question, TaskId};
use indexmap::IndexMap;

/// What came of asking.
#[derive(Debug, Clone, PartialEq)]
pub enum AskOutcome {
    /// An answer.
    Answered(Answer),
    /// The person closed the input.
    Closed,
    /// The question was answered elsewhere, or the run has ended.
    Moot,
}

/// A way out of a dialogue other than an answer.
enum Way {
    Back,
    Skip,
    SkipAll,
    Abort,
}

pub(super) type Step<T> = Result<T, AskOutcome>;

/// Asks everything that a gate wants to know.
///
/// `judge` says what is wrong with a plan, if anything is.
pub fn ask(
    terminal: &mut dyn Terminal,
    task: &TaskId,
    ask: &Ask,
    judge: &dyn Fn(&str) -> Option<String>,
) -> AskOutcome {
    terminal.show(&format!("\n{task} asks:\n"));
    let answer = match ask {
        Ask::Choice { prompt, options, .. } => choice(terminal, prompt, options),
        Ask::Questions { .. } => form(terminal, ask),
        Ask::Plan { prompt, plan } => planned(terminal, prompt, plan, judge),
        Ask::Unknown { prompt } => unknown(terminal, prompt),
        Ask::Approval { prompt, calls, .. } => approval::ask(terminal, prompt, calls),
    };
    answer.map_or_else(|end| end, AskOutcome::Answered)
}

fn planned(
    terminal: &mut dyn Terminal,
    prompt: &str,
    plan: &str,
    judge: &dyn Fn(&str) -> Option<String>,
) -> Step<Answer> {
    let mut plan = plan.to_owned();
    terminal.show(&format!("{}\n", prompt.trim_end()));
    loop {
        terminal.show(&format!("\n{}\n\n", plan.trim_end()));
        let wrong = judge(&plan).map(|why| format!("this plan cannot be carried out:\n{why}\n"));
        wrong.iter().for_each(|wrong| terminal.show(wrong));
        numbered(terminal, ["carry it out", "change it first", "do not"].into_iter());
        match read(terminal, "> ")?.trim() {
            "1" | "y" | "yes" | "approve" if wrong.is_none() => return Ok(Answer::Plan { plan }),
            "1" | "y" | "yes" | "approve" => terminal.show("change it first\n"),
            "2" | "e" | "edit" | "change" => match terminal.edit(&plan) {
                Ok(changed) => plan = changed,
                Err(why) => terminal.show(&format!("{why}\n")),
            },
            "3" | "n" | "no" | "reject" | "fail" => return Ok(Answer::Fail),
            _ => terminal.show("type a number\n"),
        }
    }
}

fn choice(terminal: &mut dyn Terminal, prompt: &str, options: &[AskOption]) -> Step<Answer> {
    terminal.show(&format!("{}\n", prompt.trim_end()));
    numbered(terminal, options.iter().map(|option| option.label.as_str()));
    let option = loop {
        let line = read(terminal, "> ")?;
        match pick(options, line.trim()) {
            Some(option) => break option,
            None => terminal
                .show(&format!("{}; type a number\n", reply::choose(options, line.trim()).unwrap_err())),
        }
    };
    let mut input = IndexMap::new();
    if let Some(name) = &option.prompt_for {
        input.insert(name.clone(), text(terminal, name, option.multiline)?);
    }
    Ok(Answer::Choice { value: option.value.clone(), input })
}

/// The option that a person means: by number, value or label.
fn pick<'a>(options: &'a [AskOption], typed: &str) -> Option<&'a AskOption> {
    let by_value = options.iter().find(|option| option.value == typed);
    let by_number = || typed.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    let by_label = || options.iter().find(|option| option.label.eq_ignore_ascii_case(typed));
    by_value.or_else(by_number).or_else(by_label)
}

fn unknown(terminal: &mut dyn Terminal, prompt: &str) -> Step<Answer> {
    terminal.show(&format!("{}\n", prompt.trim_end()));
    loop {
        match read(terminal, "retry or fail? ")?.trim() {
            "retry" => return Ok(Answer::Retry),
            "fail" => return Ok(Answer::Fail),
            _ => terminal.show("type `retry` to try it again or `fail` to take it as failed\n"),
        }
    }
}

fn form(terminal: &mut dyn Terminal, ask: &Ask) -> Step<Answer> {
    let Ask::Questions { prompt, questions, .. } = ask else { unreachable!("only forms come here") };
    if let Some(prompt) = prompt {
        terminal.show(&format!("{}\n", prompt.trim_end()));
    }
    terminal.show(&ways(ask));
    let mut answers = IndexMap::new();
    let mut at = 0;
    while let Some(question) = questions.get(at) {
        terminal.show(&format!("[{}/{}] {}\n", at + 1, questions.len(), question.text));
        match answer(terminal, question, ask)? {
            Ok(Some(text)) => drop(answers.insert(question.id.clone(), text)),
            Ok(None) | Err(Way::Skip) => drop(answers.shift_remove(&question.id)),
            Err(Way::SkipAll) => {
                return Ok(Answer::Questions { answers, aborted: false, skipped_rest: true });
            }
            Err(Way::Abort) => return Ok(reply::aborted()),
            Err(Way::Back) => {
                at = at.saturating_sub(1);
                continue;
            }
        }
        at += 1;
    }
    Ok(Answer::Questions { answers, aborted: false, skipped_rest: false })
}

/// The commands that this form allows, in one line.
fn ways(ask: &Ask) -> String {
    let Ask::Questions { allow_back, allow_skip, allow_skip_all, allow_abort, .. } = ask else {
        return String::new();
    };
    let all = [
        (*allow_back, ":back"),
        (*allow_skip, ":skip"),
        (*allow_skip_all, ":skip-all"),
        (*allow_abort, ":abort"),
    ];
    let allowed: Vec<_> = all.into_iter().filter(|(allowed, _)| *allowed).map(|(_, word)| word).collect();
    if allowed.is_empty() { String::new() } else { format!("({})\n", allowed.join(", ")) }
}

/// The way out that was typed, if it was one; those that the form forbids are explained.
fn way(ask: &Ask, typed: &str) -> Option<Result<Way, String>> {
    let Ask::Questions { allow_back, allow_skip, allow_skip_all, allow_abort, .. } = ask else { return None };
    let (allowed, way) = match typed {
        ":back" => (*allow_back, Way::Back),
        ":skip" => (*allow_skip, Way::Skip),
        ":skip-all" => (*allow_skip_all, Way::SkipAll),
        ":abort" => (*allow_abort, Way::Abort),
        _ => return None,
    };
    Some(if allowed { Ok(way) } else { Err(format!("{typed} is not allowed here")) })
}

/// One answer; `None` if the question stays open, or its default holds.
fn answer(terminal: &mut dyn Terminal, question: &Question, ask: &Ask) -> Step<Result<Option<String>, Way>> {
    if let Some(hint) = &question.hint {
        terminal.show(&format!("      {hint}\n"));
    }
    numbered(terminal, question.choices.iter().map(String::as_str));
    loop {
        let typed = typed_answer(terminal, question)?;
        match way(ask, typed.trim()) {
            Some(Ok(Way::Skip | Way::SkipAll)) if must_be_answered(question) => {
                terminal.show(&format!("question `{}` must be answered\n", question.id));
                continue;
            }
            Some(Ok(way)) => return Ok(Err(way)),
            Some(Err(why)) => {
                terminal.show(&format!("{why}\n"));
                continue;
            }
            None => {}
        }
        if typed.is_empty() && !must_be_answered(question) {
            return Ok(Ok(None));
        }
        match reply::accept(question, &chosen(question, &typed)) {
            Ok(text) => return Ok(Ok(Some(text))),
            Err(why) => terminal.show(&format!("{why}\n")),
        }
    }
}

/// Questions with a default have an answer, whatever is typed.
fn must_be_answered(question: &Question) -> bool {
    question.required && question.default.is_none()
}

fn typed_answer(terminal: &mut dyn Terminal, question: &Question) -> Step<String> {
    let default = question.default.as_ref().map(|text| format!("[{text}] ")).unwrap_or_default();
    if question.multiline { lines(terminal) } else { read(terminal, &format!("{default}> ")) }
}

/// A number stands for the choice of that number.
fn chosen(question: &Question, typed: &str) -> String {
    let number = typed.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.and_then(|at| question.choices.get(at)).cloned().unwrap_or_else(|| typed.to_owned())
}

fn text(terminal: &mut dyn Terminal, name: &str, multiline: bool) -> Step<String> {
    terminal.show(&format!("{name}:\n"));
    if multiline { lines(terminal) } else { read(terminal, "> ") }
}

fn lines(terminal: &mut dyn Terminal) -> Step<String> {
    terminal.show("(end with a line that holds only a full stop)\n");
    let mut all = Vec::new();
    loop {
        match read(terminal, "| ")?.as_str() {
            "." => return Ok(all.join("\n")),
            line if line.starts_with(':') && all.is_empty() => return Ok(line.to_owned()),
            line => all.push(line.to_owned()),
        }
    }
}

pub(super) fn read(terminal: &mut dyn Terminal, prompt: &str) -> Step<String> {
    terminal.show(prompt);
    match terminal.hear() {
        Heard::Line(line) => Ok(line),
        Heard::Closed => Err(AskOutcome::Closed),
        Heard::Moot => Err(AskOutcome::Moot),
    }
}

pub(super) fn numbered<'a>(terminal: &mut dyn Terminal, labels: impl Iterator<Item = &'a str>) {
    for (i, label) in labels.enumerate() {
        terminal.show(&format!("  {}. {label}\n", i + 1));
    }
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
