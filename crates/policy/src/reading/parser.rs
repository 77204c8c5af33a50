//! Puts tokens together to pipelines, and finds what is grammar though it looks like a word.

use super::lexer::{Stop, Token};
use super::script::{Join, Pipeline, Script, Simple};
use super::word::Word;
use std::borrow::Cow;

/// Words that are grammar where a command begins.
const KEYWORDS: [&str; 21] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
    "select", "function", "coproc", "time", "{", "}", "!", "[[",
];

/// Puts tokens together.
pub fn parse(tokens: Vec<Token<'_>>) -> Result<Script<'_>, Stop> {
    let mut parser =
        Parser { script: Script::default(), commands: Vec::new(), current: None, join: Some(Join::Then) };
    for token in tokens {
        parser.take(token)?;
    }
    parser.end()
}

struct Parser<'a> {
    script: Script<'a>,
    /// Commands of the pipeline that is being read, but for the last.
    commands: Vec<Simple<'a>>,
    current: Option<Simple<'a>>,
    /// How the pipeline that is being read is joined; nothing between a finished one and its separator.
    join: Option<Join>,
}

impl<'a> Parser<'a> {
    fn take(&mut self, token: Token<'a>) -> Result<(), Stop> {
        match token {
            Token::Word(word) => self.word(word)?,
            Token::Redirect(redirect) => self.current.get_or_insert_default().redirects.push(redirect),
            Token::Pipe => {
                let command = self.current.take().ok_or_else(|| broken("`|`"))?;
                self.commands.push(checked(command)?);
            }
            Token::And => self.join(Join::And, "`&&`")?,
            Token::Or => self.join(Join::Or, "`||`")?,
            Token::Semicolon => {
                if self.current.is_none() {
                    return Err(broken("`;`"));
                }
                self.finish()?;
                self.join = Some(Join::Then);
            }
            // A line break ends a command, or is nothing after an operator.
            Token::Newline if self.current.is_some() => {
                self.finish()?;
                self.join = Some(Join::Then);
            }
            Token::Newline => {}
        }
        Ok(())
    }

    fn word(&mut self, word: Word<'a>) -> Result<(), Stop> {
        let command = self.current.get_or_insert_default();
        if command.words.is_empty() {
            if let Some((name, value)) = assignment(&word)? {
                command.assignments.push((name, value));
                return Ok(());
            }
            if !word.quoted && KEYWORDS.contains(&&*word.text) {
                let what = format!("`{}`, a word of the shell's grammar", word.text);
                return Err(complex(what, "write commands one after another"));
            }
            if word.pattern.is_some() {
                return Err(complex(
                    format!("a pattern as the name of a command, `{}`", word.raw),
                    "write the name",
                ));
            }
        }
        command.words.push(word);
        Ok(())
    }

    fn join(&mut self, join: Join, sign: &str) -> Result<(), Stop> {
        if self.current.is_none() {
            return Err(broken(sign));
        }
        self.finish()?;
        self.join = Some(join);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Stop> {
        let command = self.current.take().expect("asked before");
        self.commands.push(checked(command)?);
        let join = self.join.take().unwrap_or(Join::Then);
        self.script.pipelines.push(Pipeline { join, commands: std::mem::take(&mut self.commands) });
        Ok(())
    }

    fn end(mut self) -> Result<Script<'a>, Stop> {
        match self.current.is_some() {
            true => self.finish()?,
            false if !self.commands.is_empty() => return Err(broken("the end of the text")),
            false if matches!(self.join, Some(Join::And | Join::Or)) => {
                return Err(broken("the end of the text"));
            }
            false => {}
        }
        Ok(self.script)
    }
}

fn broken(sign: &str) -> Stop {
    Stop::Broken(format!("there is no command before {sign}"))
}

fn complex(what: String, instead: &'static str) -> Stop {
    Stop::Complex { what, instead, at: 0 }
}

fn checked(command: Simple<'_>) -> Result<Simple<'_>, Stop> {
    match command.words.is_empty() {
        false => Ok(command),
        true if command.redirects.is_empty() => Err(complex(
            "an assignment without a command".to_owned(),
            "put the assignment before the command that needs it",
        )),
        true => Err(complex("a redirect without a command".to_owned(), "put a command before it")),
    }
}

/// `NAME=value`, if the word is one. `NAME+=` and `NAME[..]=` compute, so they are not plain.
fn assignment<'a>(word: &Word<'a>) -> Result<Option<(&'a str, Word<'a>)>, Stop> {
    let name = word.raw.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let starts = word.raw.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !starts {
        return Ok(None);
    }
    let raw = word.raw;
    let rest = &raw[name..];
    match rest.as_bytes() {
        [b'=', ..] => {
            let (key, mut value) = (&raw[..name], word.clone());
            if word.pattern.is_some() {
                return Err(complex(
                    format!("a pattern in the value of `{key}`"),
                    "put the value in single quotes",
                ));
            }
            value.text = match &word.text {
                Cow::Borrowed(text) => Cow::Borrowed(&text[name + 1..]),
                Cow::Owned(text) => Cow::Owned(text[name + 1..].to_owned()),
            };
            Ok(Some((key, value)))
        }
        [b'+', b'=', ..] => {
            Err(complex(format!("`{}`, which adds to a variable", word.raw), "write the whole value"))
        }
        [b'[', ..] if rest.contains(']') && rest.contains('=') => {
            Err(complex(format!("`{}`, which sets an element", word.raw), "write a plain variable"))
        }
        _ => Ok(None),
    }
}
