//! What is asked, in the arguments of a command.
//!
//! `{prompt}`, `{system}`, `{model}` and `{schema}` are replaced; no shell is involved, so nothing needs quotes. An
//! argument whose value is absent is left out, and so is the option right before it: `--model {model}` is as good for
//! steps without a model.

use crate::acp::prompt;
use convoke_agent::{Message, Request, Role};

/// A command's arguments, and what it reads.
#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The arguments.
    pub list: Vec<String>,
    /// What goes to standard input: the prompt, where no argument holds it.
    pub input: Option<String>,
}

impl Arguments {
    /// The arguments that a request makes of a template.
    pub fn new(template: &[String], request: &Request<'_>) -> Arguments {
        let holds = |word: &str| template.iter().any(|arg| arg.contains(word));
        let is_order = |message: &&Message| message.role == Role::System;
        let orders: Vec<_> =
            request.messages.iter().filter(is_order).map(|order| order.text.as_str()).collect();
        let said: Vec<Message> =
            request.messages.iter().filter(|message| !is_order(message)).cloned().collect();
        let text = if holds("{system}") { prompt::of(&said) } else { prompt::of(request.messages) };
        let schema = request.schema.map(|schema| schema.json_schema().to_string());
        let values = [
            ("{prompt}", text.clone()),
            ("{system}", orders.join("\n\n")),
            ("{model}", request.model.to_owned()),
            ("{schema}", schema.unwrap_or_default()),
        ];
        let input = (!holds("{prompt}")).then_some(text);
        Arguments { list: filled(template, &values), input }
    }
}

fn filled(template: &[String], values: &[(&str, String)]) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for arg in template {
        let absent = values.iter().find(|(word, value)| value.is_empty() && arg.contains(word));
        match absent {
            None => list.push(fill(arg, values)),
            Some((word, _)) => {
                let is_value = arg == word && list.last().is_some_and(|before| before.starts_with('-'));
                list.truncate(list.len() - usize::from(is_value));
            }
        }
    }
    list
}

/// Replaces in one pass, so that words in a prompt are not taken for places.
fn fill(arg: &str, values: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = arg;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(word, _)| rest.starts_with(word)) {
            Some((word, value)) => {
                out.push_str(value);
                rest = &rest[word.len()..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn places_are_filled_once_and_absent_values_leave_nothing_behind() {
        let values = [("{prompt}", "say {model} and {x}".to_owned()), ("{model}", String::new())];
        let template =
            strings(&["-p", "{prompt}", "--model", "{model}", "--m={model}", "{}", "-v", "{model}", "x"]);
        assert_eq!(filled(&template, &values), ["-p", "say {model} and {x}", "{}", "x"]);
    }
}
