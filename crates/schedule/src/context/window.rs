//! How much a prompt may hold: the window of the model that is asked, less its answer and what stands around the prompt.
//!
//! Sizes are estimates, four bytes to a token, as everywhere in this crate. A window that the file states, or that is
//! known of the model, binds every prompt: outputs of steps are shown by their heads, and the agent reads the rest with
//! `read_result`. A window that is a guess shrinks only what has a bound of its own. A request that does not fit all the
//! same is refused by `agent`, before it is sent.

use crate::context::{Names, map_value, with_values};
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::{AgentSettings, Blob, Digest, Failure, Payload};
use convoke_plan::template::{TemplateId, Value, ValueKind};
use convoke_plan::{Agent, Kind, NodeIx, Text};

/// Bytes to a token.
const BYTES: u64 = 4;
/// What a head of an output has at least, in bytes: fewer say nothing.
const LEAST: usize = 200;

/// So many bytes in tokens.
pub(crate) fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES)
}

/// The tokens that a prompt for these settings may have, whether the window is known or a guess. A sixteenth of the
/// window is left to the system prompt, the answer's schema and headings.
pub(crate) fn room(settings: &AgentSettings) -> u64 {
    let (window, answer) =
        (settings.capabilities.context_window, settings.capabilities.reserve(settings.max_tokens));
    window.saturating_sub(answer).saturating_sub(window / 16)
}

/// The same where the window is known, and for models that are sent prompts: a coding agent minds its own context.
pub(crate) fn binding_room(settings: &AgentSettings) -> Option<u64> {
    let binds = settings.capabilities.is_window_known() && settings.provider.program.is_none();
    binds.then(|| room(settings))
}

/// The most that each of these lengths may keep, so that together they stay within `all` and none has less than `least`.
/// The lengths are sorted.
pub(crate) fn level(lengths: &[usize], all: usize, least: usize) -> usize {
    let (mut left, mut open) = (all, lengths.len());
    for length in lengths {
        let fair = (left / open).max(least);
        if *length > fair {
            return fair;
        }
        (left, open) = (left.saturating_sub(*length), open - 1);
    }
    usize::MAX
}

/// A text up to so many bytes, with what is left out and how it is read.
pub(crate) fn headed(text: &str, most: usize, way: &str) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(most)];
    format!("{head}\n[… {} more characters{way}]", text[head.len()..].chars().count())
}

/// How the rest of something is read by its number, for an agent that has the tool.
pub(crate) fn read_by(number: Option<usize>) -> String {
    number.map_or_else(String::new, |number| format!("; `read_result` with the name `r{number}` reads it"))
}

impl View<'_> {
    /// An agent's prompt within so many tokens: as it is, or with the outputs of steps shown by their heads. What was cut
    /// can be read in the order of its names.
    pub(crate) fn prompt_within(
        &self,
        task: TaskIx,
        agent: &Agent,
        room: u64,
    ) -> Result<(String, Vec<Digest>), Failure> {
        let whole = self.render(task, &agent.prompt, "prompt")?;
        let asked = self.tasks[task].question.is_some();
        let Some(id) = template(&agent.prompt).filter(|_| !asked && tokens(&whole) > room) else {
            return Ok((whole, Vec::new()));
        };
        let cut = |most: usize| self.render_cut(task, id, Heads { most, reads_on: self.can_read_on(task) });
        let mut best = cut(LEAST)?;
        if best.1.is_empty() || tokens(&best.0) > room {
            // No output can be blamed: the request is refused where it would be sent, and says how long it is.
            return Ok((whole, Vec::new()));
        }
        let (mut low, mut high) = (LEAST, whole.len());
        while low + LEAST < high {
            let middle = low + (high - low) / 2;
            let tried = cut(middle)?;
            match tokens(&tried.0) <= room {
                true => (low, best) = (middle, tried),
                false => high = middle,
            }
        }
        let (text, steps) = best;
        let kept = steps.iter().filter(|_| self.can_read_on(task));
        Ok((text, kept.filter_map(|step| self.kept_whole(*step)).collect()))
    }

    /// The address at which an output can be read as a whole. What travels inside events, or is gathered from members, is
    /// stored for it.
    pub(crate) fn kept_whole(&self, task: TaskIx) -> Option<Digest> {
        let text = match self.tasks[task].output.as_ref()? {
            Payload::Blob { digest, .. } => return Some(*digest),
            Payload::Inline(text) => text.clone(),
            Payload::Gathered => self.gathered(task),
        };
        let digest = Digest::of(text.as_str().as_bytes());
        self.outputs.put(Blob { digest, text });
        Some(digest)
    }
}

impl State {
    /// The room of the model behind a helper node.
    pub(crate) fn room_of(&self, task: TaskIx, node: NodeIx) -> Option<u64> {
        match &self.workflow_of(task).node(node).kind {
            Kind::Agent(agent) => Some(room(&agent.settings)),
            _ => None,
        }
    }

    /// Cuts every text of every step's output; the steps of which something was cut.
    pub(crate) fn cut_names(&self, task: TaskIx, heads: Heads, names: &mut Names) -> Vec<TaskIx> {
        let by_name = &self.index_in(self.tasks[task].place.frame).by_name;
        let mut steps = Vec::new();
        for (name, value) in names.iter_mut() {
            let step = by_name.get(name).and_then(|node| self.ancestor_of(task, *node));
            let step =
                step.filter(|step| self.tasks[*step].output.is_some() && has_long_text(value, heads.most));
            let Some(step) = step else { continue };
            steps.push(step);
            *value = cut_value(value, heads.most, &read_by(heads.reads_on.then_some(steps.len())));
        }
        steps
    }
}

/// How outputs are cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heads {
    /// Bytes of each text.
    pub most: usize,
    /// Whether the agent has the tool that reads the rest.
    pub reads_on: bool,
}

fn template(text: &Text) -> Option<TemplateId> {
    match text {
        Text::Template(id) => Some(*id),
        Text::Literal(_) => None,
    }
}

fn has_long_text(value: &Value, most: usize) -> bool {
    match value.kind() {
        ValueKind::String => value.as_str().is_some_and(|text| text.len() > most),
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter().is_ok_and(|mut all| all.any(|one| has_long_text(&one, most)))
        }
        ValueKind::Map => entries(value).iter().any(|(_, one)| has_long_text(one, most)),
        _ => false,
    }
}

fn cut_value(value: &Value, most: usize, way: &str) -> Value {
    if let Some(shown) = with_values(value, &|one| cut_value(one, most, way)) {
        return shown;
    }
    match value.kind() {
        ValueKind::String => {
            value.as_str().map_or_else(|| value.clone(), |text| Value::from(headed(text, most, way)))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let all = value.try_iter().into_iter().flatten();
            all.map(|one| cut_value(&one, most, way)).collect::<Vec<_>>().into()
        }
        ValueKind::Map => {
            map_value(entries(value).into_iter().map(|(key, one)| (key, cut_value(&one, most, way))))
        }
        _ => value.clone(),
    }
}

fn entries(value: &Value) -> Vec<(String, Value)> {
    let keys = value.try_iter().into_iter().flatten();
    keys.filter_map(|key| Some((key.as_str()?.to_owned(), value.get_item(&key).ok()?))).collect()
}
