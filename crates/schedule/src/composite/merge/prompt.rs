//! What a child is asked, made from outputs when it starts.

use super::Merging;
use super::levels::chooses;
use crate::context::{binding_room, headed, level, read_by, tokens};
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::synthesis::mark;
use convoke_model::{AgentCall, AgentSettings, ChildKind, Class, Failure, Piece};
use convoke_plan::{Reduce, Text};
use serde_json::Value;
use std::fmt::Write;
use std::sync::Arc;

/// Tokens of what is to be done, and of a piece's heading.
const TASK_TOKENS: u64 = 150;
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
        let shown = |text| self.shown_within(task, (text, what), room, None);
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
        let question = self.question_part(task, reduce)?;
        let missing = self.merging_of(task).map(|merging| missing_part(&merging, room)).unwrap_or_default();
        let beside = tokens(&question) + tokens(&missing) + TASK_TOKENS + HEADING_TOKENS * of.len() as u64;
        let room = room.map_or(u64::MAX, |room| room.saturating_sub(beside));
        let (texts, cut) = self.pieces_within(of, room);
        let text = |piece: &Piece| {
            let at = of.iter().position(|other| other == piece).expect("one of them");
            texts[at].clone()
        };
        let mut prompt = self.pieces_prompt(task, reduce, "OUTPUTS", of, &text)?;
        prompt.push_str(&missing);
        prompt.push_str(
            "## TASK\n\nMerge the outputs above into one text that answers the question. Behind each statement name \
             the outputs it came from by their marks, such as [S1] or [S2, S5]; marks that stand in a text already \
             are kept. Say where outputs contradict one another. Answer with the text alone.",
        );
        Ok((prompt, cut))
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
            *text = headed(text, most, &read_by(Some(cut.len())));
        }
        (texts, cut)
    }

    fn choice_prompt(&self, task: TaskIx, reduce: &Reduce, of: &[Piece]) -> Result<String, Failure> {
        let each = self.question_tokens(task, reduce) / of.len().max(1) as u64;
        let shown = |task| self.shown(task, each);
        let text = |piece: &Piece| self.tasks.find(&piece.task).map(shown).unwrap_or_default();
        let mut prompt = self.pieces_prompt(task, reduce, "ANSWERS", of, &text)?;
        prompt.push_str("## TASK\n\nChoose the best of these answers. Name its mark and say why.");
        Ok(prompt)
    }

    /// The question, and behind it each piece under its heading.
    fn pieces_prompt(
        &self,
        task: TaskIx,
        reduce: &Reduce,
        title: &str,
        of: &[Piece],
        text: &dyn Fn(&Piece) -> String,
    ) -> Result<String, Failure> {
        let merging = self.merging_of(task).ok_or_else(|| Failure::new(Class::Fatal, "no merge"))?;
        let mut prompt = self.question_part(task, reduce)?;
        let _ = write!(prompt, "## {title}\n\n");
        for piece in of {
            let heading = self.heading(&merging, piece);
            let _ = write!(prompt, "### {heading}\n\n{}\n\n", text(piece));
        }
        Ok(prompt)
    }

    pub(super) fn question_part(&self, task: TaskIx, reduce: &Reduce) -> Result<String, Failure> {
        let mut part = String::new();
        let room = self.stated_room(task, reduce.merger);
        if let Some(words) = self.stated(task, reduce.instructions.as_ref(), "instructions", room)? {
            let _ = write!(part, "{words}\n\n");
        }
        if let Some(query) = self.stated(task, reduce.query.as_ref(), "query", room)? {
            let _ = write!(part, "## QUESTION\n\n{query}\n\n");
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
        let Some(merging) = self.merging_of(task).filter(|merging| chooses(merging.strategy)) else {
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

fn missing_part(merging: &Merging, room: Option<u64>) -> String {
    // A window that is known gives a sixteenth of its room to this.
    let most = room.map_or(50, |room| (room / 1_000).clamp(1, 50) as usize);
    if merging.missing.is_empty() {
        return String::new();
    }
    let mut part = "## MISSING\n\nThese outputs are not there; say so where it matters:\n".to_owned();
    for missing in merging.missing.iter().take(most) {
        let cause: String = missing.cause.chars().take(200).collect();
        let _ = writeln!(part, "- {}: {cause}", missing.task);
    }
    if merging.missing.len() > most {
        let _ = writeln!(part, "- and {} more", merging.missing.len() - most);
    }
    part.push('\n');
    part
}

/// A call that asks this. The workflow's instructions, if any, stand before it already.
pub(super) fn with_prompt(mut call: AgentCall, prompt: String) -> AgentCall {
    call.prompt = if call.prompt.trim().is_empty() { prompt } else { format!("{}\n\n{prompt}", call.prompt) };
    call
}

pub(super) fn not_asked() -> Failure {
    Failure::new(Class::Fatal, "a question that its step does not ask")
}
