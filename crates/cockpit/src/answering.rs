//! An answer on its way: the question on the screen, the chosen options and the typed text.
//!
//! Invariant: an answer carries the hash of the text that was on the screen, and no key decides within half a second after that text
//! has changed.

use crate::cursor::Cursor;
use crate::seen::{Asked, Choice, Field};
use crate::typing::Line;
use crate::{Effect, Key};
use convoke_model::{RunId, Timestamp};

/// How long a text stands before a key decides about it, in microseconds.
const GRACE: u64 = 500_000;

/// An answer as `convoke answer` takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// A choice, or `id=text` for each field.
    pub values: Vec<String>,
    /// Texts that the option asks for.
    pub inputs: Vec<(String, String)>,
    /// Fields without an answer are skipped.
    pub skip_rest: bool,
}

/// A question that is open on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Answering {
    /// As it was shown last.
    pub asked: Asked,
    /// Since when it reads so.
    pub since: Timestamp,
    /// The first line of its text that is shown.
    pub scroll: u16,
    /// What is chosen.
    pub choice: Cursor,
    /// What is typed for the option, or for the field.
    pub typed: Option<Line>,
    /// The field that is asked, of a form.
    pub field: usize,
    /// Fields that are answered.
    pub values: Vec<String>,
}

/// What a key came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The question stays open.
    Stays,
    /// It is left alone.
    Leaves,
    /// It is answered.
    Answers(Vec<Effect>),
    /// The key came too soon after the text had changed.
    TooSoon,
}

impl Answering {
    /// A question that was opened now.
    pub fn of(asked: Asked, now: Timestamp) -> Answering {
        let (scroll, choice, typed) = (0, Cursor::default(), None);
        let mut answering =
            Answering { asked, since: now, scroll, choice, typed, field: 0, values: Vec::new() };
        answering.begin_field();
        answering
    }

    /// Takes the newest look at it; whether it reads otherwise now.
    pub fn renew(&mut self, asked: &Asked, now: Timestamp) -> bool {
        if self.asked.shown == asked.shown {
            return false;
        }
        *self = Answering::of(asked.clone(), now);
        true
    }

    /// The options that may be chosen now: of the question, or of the field.
    pub fn choices(&self) -> Vec<Choice> {
        if !self.is_form() {
            return self.asked.options.clone();
        }
        let plain = |value: &String| Choice {
            value: value.clone(),
            label: value.clone(),
            then: None,
            prompt_for: None,
        };
        self.current().map(|field| field.choices.iter().map(plain).collect()).unwrap_or_default()
    }

    /// The field that is asked, of a form.
    pub fn current(&self) -> Option<&Field> {
        if self.is_form() { self.asked.fields.get(self.field) } else { None }
    }

    /// A question with options is answered by one of them, whatever else could be said to parts of it.
    fn is_form(&self) -> bool {
        self.asked.options.is_empty()
    }

    /// Takes a key. `alike` are the other questions that may be answered together with this one.
    pub fn take(&mut self, key: Key, now: Timestamp, alike: &[Asked]) -> Step {
        if let Some(typed) = &mut self.typed
            && typed.take(key)
        {
            return Step::Stays;
        }
        let count = self.choices().len();
        match key {
            Key::Escape if self.typed.is_some() && count > 0 => self.typed = None,
            Key::Escape => return Step::Leaves,
            Key::Up | Key::Char('k') => self.choice.step(-1, count),
            Key::Down | Key::Char('j') => self.choice.step(1, count),
            Key::PageUp | Key::Char('K') => self.scroll = self.scroll.saturating_sub(5),
            Key::PageDown | Key::Char('J') => self.scroll = self.scroll.saturating_add(5),
            Key::Enter | Key::Char('A') if now.0.saturating_sub(self.since.0) < GRACE => {
                return Step::TooSoon;
            }
            Key::Enter => return self.decide(&[]),
            Key::Char('A') if !self.is_form() => return self.decide(alike),
            _ => {}
        }
        Step::Stays
    }

    fn decide(&mut self, alike: &[Asked]) -> Step {
        if self.is_form() {
            return self.decide_field();
        }
        let Some(choice) = self.asked.options.get(self.choice.at).cloned() else { return Step::Stays };
        let inputs = match (&choice.prompt_for, &self.typed) {
            (None, _) => Vec::new(),
            (Some(_), None) => {
                self.typed = Some(Line::default());
                return Step::Stays;
            }
            (Some(name), Some(typed)) => vec![(name.clone(), typed.text.clone())],
        };
        let given = Given { values: vec![choice.value], inputs, skip_rest: false };
        let all = std::iter::once(&self.asked).chain(alike);
        Step::Answers(all.map(|asked| answer(asked, given.clone())).collect())
    }

    fn decide_field(&mut self) -> Step {
        let Some(field) = self.current().cloned() else { return self.hand_in() };
        let value = match (&self.typed, field.choices.get(self.choice.at)) {
            (Some(typed), _) => typed.text.trim().to_owned(),
            (None, Some(choice)) => choice.clone(),
            (None, None) => String::new(),
        };
        match (value.is_empty(), field.required) {
            (true, true) => return Step::Stays,
            (true, false) => {}
            (false, _) => self.values.push(format!("{}={value}", field.id)),
        }
        self.field += 1;
        if self.field == self.asked.fields.len() {
            return self.hand_in();
        }
        self.begin_field();
        Step::Stays
    }

    fn hand_in(&self) -> Step {
        let given = Given { values: self.values.clone(), inputs: Vec::new(), skip_rest: true };
        Step::Answers(vec![answer(&self.asked, given)])
    }

    fn begin_field(&mut self) {
        self.choice = Cursor::default();
        let typed = self.current().filter(|field| field.choices.is_empty());
        self.typed = typed.map(|field| Line::of(field.default.as_deref().unwrap_or_default()));
    }
}

fn answer(asked: &Asked, given: Given) -> Effect {
    let run: RunId = asked.run.clone();
    Effect::Answer { run, question: asked.id.clone(), shown: asked.shown.clone(), given }
}
