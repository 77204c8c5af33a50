//! What a parked run waits for, and the exact command that answers it.

use convoke_model::{Ask, AskOption, Question, RunId, TaskId, is_control};
use std::fmt::Write as _;

/// The question, the options and how to answer.
pub fn explain(run: &RunId, task: &TaskId, ask: &Ask) -> String {
    let mut text = format!("{task} waits for a person:\n");
    match ask {
        Ask::Choice { prompt, options } => choice(&mut text, run, task, prompt, options),
        Ask::Questions { prompt, questions, .. } => form(&mut text, run, task, prompt.as_deref(), questions),
        Ask::Plan { prompt, plan } => planned(&mut text, run, task, prompt, plan),
        Ask::Unknown { prompt } => unknown(&mut text, run, task, prompt),
    }
    text
}

fn choice(text: &mut String, run: &RunId, task: &TaskId, prompt: &str, options: &[AskOption]) {
    indent(text, prompt);
    for option in options {
        let asks = option.prompt_for.as_ref().map(|name| format!("  (asks for {name})")).unwrap_or_default();
        line(text, &format!("- {}: {}{asks}", option.value, option.label));
    }
    for option in options {
        let input = option.prompt_for.as_ref().map(|name| format!(" --input {}=TEXT", word(name)));
        command(text, run, task, &format!("{}{}", word(&option.value), input.unwrap_or_default()));
    }
}

fn form(text: &mut String, run: &RunId, task: &TaskId, prompt: Option<&str>, questions: &[Question]) {
    if let Some(prompt) = prompt {
        indent(text, prompt);
    }
    for question in questions {
        let choices = if question.choices.is_empty() {
            String::new()
        } else {
            format!(" [{}]", question.choices.join(", "))
        };
        let optional = if question.required { "" } else { " (may be left out)" };
        line(text, &format!("- {}: {}{choices}{optional}", question.id, question.text));
    }
    let answers: Vec<_> = questions.iter().map(|question| format!("{}=TEXT", word(&question.id))).collect();
    command(text, run, task, &answers.join(" "));
}

fn planned(text: &mut String, run: &RunId, task: &TaskId, prompt: &str, plan: &str) {
    indent(text, prompt);
    indent(text, plan);
    command(text, run, task, "approve");
    command(text, run, task, "@FILE");
    command(text, run, task, "fail");
}

fn unknown(text: &mut String, run: &RunId, task: &TaskId, prompt: &str) {
    indent(text, prompt);
    command(text, run, task, "retry");
    command(text, run, task, "fail");
}

fn command(text: &mut String, run: &RunId, task: &TaskId, answer: &str) {
    line(text, &format!("$ convoke answer {run} {} {answer} --resume", word(&task.0)));
}

fn indent(text: &mut String, words: &str) {
    words.trim().lines().for_each(|words| line(text, words));
}

fn line(text: &mut String, words: &str) {
    writeln!(text, "  {words}").expect("text takes text");
}

/// A word as a shell takes it.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else if text.contains(is_control) {
        format!("$'{}'", text.chars().map(in_dollar_quotes).collect::<String>())
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// What the terminal would only show as an escape is one that the shell reads, so that the command can still be pasted.
fn in_dollar_quotes(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_control(c) => format!("\\u{:04x}", c as u32),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_a_terminal_would_obey_can_be_pasted_too() {
        assert_eq!(word("it's\u{202e}\\\n"), "$'it\\'s\\u202e\\\\\\u000a'");
    }

    #[test]
    fn the_command_can_be_pasted() {
        let option = |value: &str, prompt_for: Option<&str>| AskOption {
            label: format!("{value}!"),
            value: value.to_owned(),
            prompt_for: prompt_for.map(str::to_owned),
            multiline: false,
        };
        let options = vec![option("ship it", None), option("stop", Some("why"))];
        let ask = Ask::Choice { prompt: "ship?\nreally?".into(), options };
        let text = explain(&RunId("r1".into()), &TaskId("g[0]".into()), &ask);
        let expected = "\
g[0] waits for a person:
  ship?
  really?
  - ship it: ship it!
  - stop: stop!  (asks for why)
  $ convoke answer r1 'g[0]' 'ship it' --resume
  $ convoke answer r1 'g[0]' stop --input why=TEXT --resume
";
        assert_eq!(text, expected);
    }
}
