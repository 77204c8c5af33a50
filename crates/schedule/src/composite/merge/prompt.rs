//! What a child is asked, made from outputs when it starts.

use super::Merging;
use crate::context::{binding_room, level};
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::excerpt::{clipped, headed, read_by, tokens};
use convoke_model::synthesis::mark;
use convoke_model::{AgentCall, AgentSettings, ChildKind, Class, Failure, Piece};
use convoke_plan::{Reduce, Text};
use serde_json::{Value, json};
use std::sync::Arc;

/// Tokens of what is to be done, and of a piece's heading.
const TASK_TOKENS: u64 = 150;
/// Tokens of a template that is as long as ours, with its tags.
const TEMPLATE_TOKENS: u64 = 300;
const HEADING_TOKENS: u64 = 32;
/// Bytes of a piece's head, at least.
const LEAST: usize = 200;

impl View<'_> {
    /// Puts what is merged or chosen from into the call that asks it.
    pub(super) fn put_merge_question(
        &self,
        child: TaskIx,
        mut call: AgentCall,
    ) -> Result<AgentCall, Failure> {
        let asked = self.parent_of(child).and_then(|task| Some((task, self.reduce(task)?)));
        let (task, reduce) = asked.ok_or_else(not_asked)?;
        let prompt = match self.child_kind(child) {
            Some(ChildKind::Merge { of }) => {
                let room = binding_room(&call.settings).map(|room| room.saturating_sub(tokens(&call.prompt)));
                let (prompt, cut) = self.merge_prompt(task, reduce, of, room)?;
                let kept = cut.into_iter().filter(|_| self.can_read_on(child));
                call.kept.extend(kept.filter_map(|task| self.kept_whole(task)));
                prompt
            }
            Some(ChildKind::Choose { of }) => {
                call.settings = Arc::new(self.one_of(task, of, &call.settings));
                self.choice_prompt(task, reduce, of)?
            }
            Some(ChildKind::Prompt { text }) => self.prompt_text(text)?,
            _ => return Err(not_asked()),
        };
        Ok(with_prompt(call, prompt))
    }

    fn prompt_text(&self, text: &convoke_model::Payload) -> Result<String, Failure> {
        let missing = || Failure::new(Class::Fatal, "a program's prompt is missing in the journal");
        match self.read(text).ok_or_else(missing)?.value() {
            Value::String(text) => Ok(text),
            other => Ok(other.to_string()),
        }
    }

    /// A text of the step that asks, as that step sees the world, within so many tokens.
    pub(super) fn stated(
        &self,
        task: TaskIx,
        text: Option<&Text>,
        what: &str,
        room: u64,
    ) -> Result<Option<String>, Failure> {
        let shown = |text| self.fitted_within(task, (text, what), room, None);
        let rendered = text.map(shown).transpose()?;
        Ok(rendered.map(|shown| shown.text).filter(|text| !text.trim().is_empty()))
    }

    fn merge_prompt(
        &self,
        task: TaskIx,
        reduce: &Reduce,
        of: &[Piece],
        room: Option<u64>,
    ) -> Result<(String, Vec<TaskIx>), Failure> {
        let (missing, further) =
            self.merging_of(task).map(|merging| missing_part(&merging, room)).unwrap_or_default();
        let beside = tokens(&self.question_part(task, reduce)?)
            + missing_tokens(&missing, further)
            + self.task_tokens(reduce)
            + HEADING_TOKENS * of.len() as u64;
        let room = room.map_or(u64::MAX, |room| room.saturating_sub(beside));
        let (texts, cut) = self.pieces_within(of, room);
        let mut given = self.question_given(task, reduce)?;
        given.push(("outputs", self.pieces_given(task, of.iter().zip(texts))?));
        given.push(("missing", json!(missing)));
        given.push(("missing_further", json!(further)));
        Ok((self.asked_text(task, reduce, given)?, cut))
    }

    /// The words of the step that merges, or ours, with what they are given.
    fn asked_text(
        &self,
        task: TaskIx,
        reduce: &Reduce,
        given: Vec<(&'static str, Value)>,
    ) -> Result<String, Failure> {
        let prompt = reduce.prompt.as_ref().ok_or_else(not_asked)?;
        self.render_given(task, prompt, "prompt", given)
    }

    /// The tokens of what is to be done: more for a template that is longer than ours.
    fn task_tokens(&self, reduce: &Reduce) -> u64 {
        let text = match reduce.prompt.as_ref() {
            Some(Text::Template(id)) => &self.plan.templates[id.0 as usize].text,
            Some(Text::Literal(text)) => text,
            None => return TASK_TOKENS,
        };
        TASK_TOKENS + tokens(text).saturating_sub(TEMPLATE_TOKENS)
    }

    /// The texts of pieces within so many tokens: whole, or the heads of the long ones, and whose they are.
    fn pieces_within(&self, of: &[Piece], room: u64) -> (Vec<String>, Vec<TaskIx>) {
        let mut texts: Vec<String> = of.iter().map(|piece| self.piece_text(piece)).collect();
        let mut lengths: Vec<usize> = texts.iter().map(String::len).collect();
        lengths.sort_unstable();
        let all = usize::try_from(room.saturating_mul(4)).unwrap_or(usize::MAX);
        let most = match lengths.iter().sum::<usize>() <= all {
            true => usize::MAX,
            false => level(&lengths, all, LEAST),
        };
        let mut cut = Vec::new();
        for (piece, text) in of.iter().zip(&mut texts).filter(|(_, text)| text.len() > most) {
            cut.extend(self.tasks.find(&piece.task));
            *text = headed(text, most, read_by(Some(cut.len())));
        }
        (texts, cut)
    }

    fn choice_prompt(&self, task: TaskIx, reduce: &Reduce, of: &[Piece]) -> Result<String, Failure> {
        let each = self.question_tokens(task, reduce) / of.len().max(1) as u64;
        let shown = |task| self.output_excerpt(task, each);
        let text = |piece: &Piece| self.tasks.find(&piece.task).map(shown).unwrap_or_default();
        let mut given = self.question_given(task, reduce)?;
        given.push(("outputs", self.pieces_given(task, of.iter().map(|piece| (piece, text(piece))))?));
        self.asked_text(task, reduce, given)
    }

    /// Each piece with its heading.
    fn pieces_given<'p>(
        &self,
        task: TaskIx,
        pieces: impl Iterator<Item = (&'p Piece, String)>,
    ) -> Result<Value, Failure> {
        let merging = self.merging_of(task).ok_or_else(|| Failure::new(Class::Fatal, "no merge"))?;
        Ok(pieces.map(|(piece, text)| given_output(self.heading(&merging, piece), text)).collect())
    }

    /// What the step says about the merge, as templates see it.
    fn question_given(&self, task: TaskIx, reduce: &Reduce) -> Result<Vec<(&'static str, Value)>, Failure> {
        let room = self.stated_room(task, reduce.merger);
        let instructions = self.stated(task, reduce.instructions.as_ref(), "instructions", room)?;
        let query = self.stated(task, reduce.query.as_ref(), "query", room)?;
        Ok(vec![
            ("instructions", json!(instructions.unwrap_or_default())),
            ("query", json!(query.unwrap_or_default())),
        ])
    }

    /// The same as one text: what a model that writes programs is asked, and what a question takes of a prompt.
    pub(super) fn question_part(&self, task: TaskIx, reduce: &Reduce) -> Result<String, Failure> {
        let mut part = String::new();
        for (name, value) in self.question_given(task, reduce)? {
            match (name, value.as_str().unwrap_or_default()) {
                (_, "") => {}
                ("query", query) => part.push_str(&format!("## QUESTION\n\n{query}\n\n")),
                (_, words) => part.push_str(&format!("{words}\n\n")),
            }
        }
        Ok(part)
    }
}

impl State {
    /// `[S3] research [berlin], part 2 of 4`; what was merged before stands under the marks in its text.
    fn heading(&self, merging: &Merging, piece: &Piece) -> String {
        let Some(task) = self.tasks.find(&piece.task) else { return piece.task.to_string() };
        let name = match merging.places.get(&task) {
            Some(index) => format!("[{}] {}", mark(*index), self.title(task)),
            None => "merged before".to_owned(),
        };
        match piece.part {
            Some([number, of]) => format!("{name}, part {} of {of}", number + 1),
            None => name,
        }
    }

    /// A judge's answer must name one of those it is shown.
    fn one_of(&self, task: TaskIx, of: &[Piece], settings: &AgentSettings) -> AgentSettings {
        let mut settings = settings.clone();
        let Some(merging) = self.merging_of(task).filter(|merging| merging.strategy.chooses()) else {
            return settings;
        };
        let position = |piece: &Piece| merging.places.get(&self.tasks.find(&piece.task)?).copied();
        let marks = of.iter().filter_map(position).map(|index| Value::from(mark(index))).collect();
        if let Some(winner) = settings.schema.as_mut().and_then(|schema| schema.fields.get_mut("winner")) {
            winner.choices = Some(marks);
        }
        settings
    }
}

/// The outputs that are not there, as far as they are listed, and how many more there are.
fn missing_part(merging: &Merging, room: Option<u64>) -> (Vec<Value>, usize) {
    // A window that is known gives a sixteenth of its room to this.
    let most = room.map_or(50, |room| (room / 1_000).clamp(1, 50) as usize);
    let listed = merging
        .missing
        .iter()
        .take(most)
        .map(|missing| json!({ "task": missing.task, "cause": clipped(&missing.cause, 200) }));
    (listed.collect(), merging.missing.len().saturating_sub(most))
}

/// What a list of missing outputs takes in a prompt, with its heading.
fn missing_tokens(missing: &[Value], further: usize) -> u64 {
    if missing.is_empty() {
        return 0;
    }
    let word = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let line = |line: &Value| format!("- {}: {}\n", word(line, "task"), word(line, "cause"));
    let mut text = "## MISSING\n\nThese outputs are not there; say so where it matters:\n\n".to_owned();
    text.extend(missing.iter().map(line));
    text.extend((further > 0).then(|| format!("- and {further} more\n")));
    tokens(&text)
}

/// An output as templates of questions see it.
pub(super) fn given_output(heading: String, text: String) -> Value {
    json!({ "heading": heading, "text": text })
}

/// A call that asks this. The workflow's instructions, if any, stand before it already.
pub(super) fn with_prompt(mut call: AgentCall, prompt: String) -> AgentCall {
    call.prompt = if call.prompt.trim().is_empty() { prompt } else { format!("{}\n\n{prompt}", call.prompt) };
    call
}

pub(super) fn not_asked() -> Failure {
    Failure::new(Class::Fatal, "a question that its step does not ask")
}
