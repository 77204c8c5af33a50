//! What a parked run waits for, and the exact command that answers it.

use super::approval::OPTIONS as APPROVALS;
use convoke_model::{Ask, AskOption, AskedCall, GateId, Question, RunId, asked_text, is_control};
use std::fmt::Write as _;

/// The question, the options and how to answer. The commands name the gate, so that they answer this question or none.
pub fn explain(run: &RunId, question: &convoke_view::Question, ask: &Ask) -> String {
    let gate = &question.id;
    let mut text = format!("{} waits for a person:\n", gate.task);
    match ask {
        Ask::Choice { prompt, options, .. } => choice(&mut text, run, gate, prompt, options),
        Ask::Questions { prompt, questions, .. } => form(&mut text, run, gate, prompt.as_deref(), questions),
        Ask::Plan { prompt, plan } => planned(&mut text, run, gate, prompt, plan),
        Ask::Unknown { prompt } => unknown(&mut text, run, gate, prompt),
        Ask::Approval { prompt, calls, .. } => approval(&mut text, run, gate, prompt, calls),
    }
    let mut facts = vec![format!("gate {gate}")];
    facts.extend(question.shown.map(|shown| format!("shown {}", &shown.to_string()[..SHOWN_DIGITS])));
    facts.extend(question.until.map(|until| format!("until {}{}", until.rfc3339(), at_timeout(ask))));
    line(&mut text, &format!("({})", facts.join(", ")));
    text
}

/// So many digits of a hash are shown to people.
const SHOWN_DIGITS: usize = 12;

/// What follows when the time is over.
fn at_timeout(ask: &Ask) -> String {
    match ask {
        Ask::Choice { default: Some(value), .. } => format!(", then {value}"),
        Ask::Questions { default_on_timeout: true, .. } => ", then the defaults".to_owned(),
        Ask::Approval { .. } => ", then it counts as refused".to_owned(),
        _ => ", then it fails".to_owned(),
    }
}

fn choice(text: &mut String, run: &RunId, gate: &GateId, prompt: &str, options: &[AskOption]) {
    indent(text, prompt);
    for option in options {
        let asks = option.prompt_for.as_ref().map(|name| format!("  (asks for {name})")).unwrap_or_default();
        line(text, &format!("- {}: {}{asks}", option.value, option.label));
    }
    for option in options {
        let input = option.prompt_for.as_ref().map(|name| format!(" --input {}=TEXT", word(name)));
        command(text, run, gate, &format!("{}{}", word(&option.value), input.unwrap_or_default()));
    }
}

fn form(text: &mut String, run: &RunId, gate: &GateId, prompt: Option<&str>, questions: &[Question]) {
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
    command(text, run, gate, &answers.join(" "));
}

fn planned(text: &mut String, run: &RunId, gate: &GateId, prompt: &str, plan: &str) {
    indent(text, prompt);
    indent(text, plan);
    command(text, run, gate, "approve");
    command(text, run, gate, "@FILE");
    command(text, run, gate, "fail");
}

fn unknown(text: &mut String, run: &RunId, gate: &GateId, prompt: &str) {
    indent(text, prompt);
    command(text, run, gate, "retry");
    command(text, run, gate, "fail");
}

fn approval(text: &mut String, run: &RunId, gate: &GateId, prompt: &str, calls: &[AskedCall]) {
    indent(text, &asked_text(prompt, calls));
    for (word, label) in APPROVALS {
        line(text, &format!("- {word}: {label}"));
    }
    command(text, run, gate, "approve");
    command(text, run, gate, "remember");
    command(text, run, gate, "deny --input words=TEXT");
    if calls.len() > 1 {
        let each: Vec<String> = calls.iter().map(|call| format!("{}=WORD", word(&call.id))).collect();
        command(text, run, gate, &each.join(" "));
    }
    line(text, "(--alike answers every question of this kind in the run)");
}

fn command(text: &mut String, run: &RunId, gate: &GateId, answer: &str) {
    line(text, &format!("$ convoke answer {run} {} {answer} --resume", word(&gate.to_string())));
}

fn indent(text: &mut String, words: &str) {
    words.trim().lines().for_each(|words| line(text, words));
}

fn line(text: &mut String, words: &str) {
    writeln!(text, "  {words}").expect("text takes text");
}

/// A word as a shell takes it.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:@%+,~".contains(c);
    if !text.is_empty() && !text.starts_with('~') && text.chars().all(plain) {
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
        let ask = Ask::Choice { prompt: "ship?\nreally?".into(), options, default: None };
        let event = convoke_model::Event::GateOpened {
            task: convoke_model::TaskId("g[0]".into()),
            question: 2,
            ask: convoke_model::Payload::Gathered,
            shown: Some(ask.shown()),
            until: Some(convoke_model::Timestamp(1_000_000)),
        };
        let events = [convoke_model::Stamped { seq: 1, at: convoke_model::Timestamp(1), event }];
        let text = explain(&RunId("r1".into()), &convoke_view::all_questions(&events)[0], &ask);
        let expected = "\
g[0] waits for a person:
  ship?
  really?
  - ship it: ship it!
  - stop: stop!  (asks for why)
  $ convoke answer r1 'g[0]~2' 'ship it' --resume
  $ convoke answer r1 'g[0]~2' stop --input why=TEXT --resume
";
        let facts = format!(
            "  (gate g[0]~2, shown {}, until 1970-01-01T00:00:01.000Z, then it fails)\n",
            &ask.shown().to_string()[..12]
        );
        assert_eq!(text, format!("{expected}{facts}"));
    }
}
