//! How much a prompt may hold: the window of the model that is asked, less its answer and what stands around the prompt.
//!
//! Sizes are estimates (`excerpt`). A window that the file states, or that is
//! known of the model, binds every prompt: the data in it (outputs of steps, inputs, items) is shown by its heads, and the
//! agent reads the rest with `read_result`. A window that is a guess shrinks only what has a bound of its own. A request that
//! does not fit all the same, because the author's own words are too long, is refused by `agent`, before it is sent.

use crate::context::{Names, map_value, with_values};
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::catalog::known_window;
use convoke_model::excerpt::{headed, read_by, tokens};
use convoke_model::{AgentSettings, Blob, Digest, Failure, JsonText, Payload, WindowSource};
use convoke_plan::template::{TemplateId, Value, ValueKind, to_json};
use convoke_plan::{Agent, Kind, NodeIx, Text};
use std::cell::Cell;
use std::sync::Arc;

/// What a head has at least, in bytes: fewer say nothing.
const LEAST: usize = 200;
/// The name of the workflow in its texts, and the part of it that is data.
const WORKFLOW: &str = "workflow";
const INPUT: &str = "input";
/// What may be cut in the prompts of a goal's roles. Their lists have bounds of their own, and a goal that is cut is another
/// goal: one that is too long is refused.
const OF_ROLES: [&str; 3] = ["context", "guidance", WORKFLOW];

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

impl View<'_> {
    /// A text of an agent within so many tokens: as it is, or with the data in it shown by its heads (`heads`). The author's
    /// own words are never cut: where they are too long the text stays whole, and the request is refused where it would be sent.
    pub(crate) fn text_within(
        &self,
        task: TaskIx,
        (text, what): (&Text, &str),
        room: u64,
        mut kept: Vec<Digest>,
    ) -> Result<(String, Vec<Digest>), Failure> {
        // A question numbers what it shows in part itself.
        let reads_on = self.can_read_on(task) && self.tasks[task].spec.is_none();
        let shown = self.fitted_within(task, (text, what), room, reads_on.then_some(kept.len()))?;
        if reads_on {
            kept.extend(shown.cut.iter().map(|source| self.kept_source(source)));
        }
        Ok((shown.text, kept))
    }

    /// The same, where the names for reading on come after so many others, or nothing can be read on.
    pub(crate) fn fitted_within(
        &self,
        task: TaskIx,
        (text, what): (&Text, &str),
        room: u64,
        named: Option<usize>,
    ) -> Result<Fitted, Failure> {
        let whole = Fitted { text: self.render(task, text, what)?, cut: Vec::new() };
        let Some(id) = template(text).filter(|_| tokens(&whole.text) > room) else { return Ok(whole) };
        let heads = Heads { most: LEAST, entries: usize::MAX, named };
        let cut = |heads: Heads| self.render_cut(task, id, what, heads);
        Ok(fitting(heads, whole.text.len(), room, &cut).unwrap_or(whole))
    }

    /// The address at which something that was cut can be read as a whole.
    fn kept_source(&self, source: &Source) -> Digest {
        let stored = match source {
            Source::Step(step) => self.kept_whole(*step),
            Source::Value(_) => None,
        };
        stored.unwrap_or_else(|| {
            let value = match source {
                Source::Step(step) => self.json_of(*step),
                Source::Value(value) => to_json(value),
            };
            let text = JsonText::of(&value);
            let digest = Digest::of(text.as_str().as_bytes());
            self.outputs.put(Blob { digest, text });
            digest
        })
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

    /// The tokens that one of the texts which a step states for a helper may have: an eighth of the room, where that binds.
    pub(crate) fn stated_room(&self, task: TaskIx, node: Option<NodeIx>) -> u64 {
        match node.map(|node| &self.workflow_of(task).node(node).kind) {
            Some(Kind::Agent(agent)) => binding_room(&agent.settings).map_or(u64::MAX, |room| room / 8),
            _ => u64::MAX,
        }
    }

    /// The settings that an agent is asked with: a model whose name was rendered brings its own window.
    pub(crate) fn settings_for(&self, agent: &Agent, model: &str) -> Arc<AgentSettings> {
        let bounds = &agent.settings.capabilities;
        let rendered =
            matches!(agent.model, Some(Text::Template(_))) && bounds.window_source != WindowSource::Stated;
        let window = rendered.then(|| known_window(&agent.settings.provider.name, model)).flatten();
        let Some(window) =
            window.filter(|window| *window < bounds.context_window || !bounds.is_window_known())
        else {
            return agent.settings.clone();
        };
        let mut settings = (*agent.settings).clone();
        (settings.capabilities.context_window, settings.capabilities.window_source) =
            (window, WindowSource::Model);
        Arc::new(settings)
    }

    /// Cuts every text of every value that a template of a task sees; what was cut, in the order of its names.
    ///
    /// All of it is data: outputs of steps, inputs, items, what failed. A name that says something about the run itself
    /// (`workflow.name`, the number of an iteration) stays as it is, and so does what a role's own lists have bounded.
    pub(crate) fn cut_names(
        &self,
        task: TaskIx,
        heads: Heads,
        names: &mut Names,
    ) -> (Vec<Source>, Vec<String>) {
        let is_role = self.goal_role(task).is_some();
        let by_name = &self.index_in(self.tasks[task].place.frame).by_name;
        let (mut sources, mut notes) = (Vec::new(), Vec::new());
        for (name, value) in names.iter_mut() {
            if is_role && !OF_ROLES.contains(&&**name) {
                continue;
            }
            let data =
                if &**name == WORKFLOW { value.get_attr(INPUT).unwrap_or_default() } else { value.clone() };
            if !is_long(&data, heads) {
                continue;
            }
            let step = by_name.get(&**name).and_then(|node| self.ancestor_of(task, *node));
            let step = step.filter(|step| self.tasks[*step].output.is_some());
            sources.push(step.map_or_else(|| Source::Value(data.clone()), Source::Step));
            let way = read_by(heads.named.map(|before| before + sources.len()));
            let left_out = Cell::new(0);
            let shown = cut_value(&data, heads, &way, &left_out);
            *value = if &**name == WORKFLOW { with_input(value, shown) } else { shown };
            if left_out.get() > 0 {
                notes.push(format!("[… {} entries of `{}` are left out{way}]", left_out.get(), &**name));
            }
        }
        (sources, notes)
    }
}

/// How data in a text is cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heads {
    /// Bytes of each text.
    pub most: usize,
    /// Entries of each list.
    pub entries: usize,
    /// How many names are taken, where the agent has the tool that reads the rest.
    pub named: Option<usize>,
}

/// Data of which a part is shown.
pub(crate) enum Source {
    /// The output of a step.
    Step(TaskIx),
    /// An input, an item, anything else.
    Value(Value),
}

/// A text with data that was cut.
pub(crate) struct Fitted {
    pub text: String,
    pub cut: Vec<Source>,
}

/// The longest heads with which a text fits: texts are cut first, and lists only where the shortest texts do not help. `None`
/// where no data can be blamed.
fn fitting(
    least: Heads,
    longest: usize,
    room: u64,
    cut: &dyn Fn(Heads) -> Result<Fitted, Failure>,
) -> Option<Fitted> {
    // A text that cannot be rendered with less data does not fit.
    let tried =
        |heads: Heads| cut(heads).ok().filter(|shown| !shown.cut.is_empty() && tokens(&shown.text) <= room);
    let longer = |most: usize| tried(Heads { most, ..least });
    let more = |entries: usize| tried(Heads { entries, ..least });
    match longer(LEAST) {
        Some(best) => Some(largest(best, (LEAST, longest), LEAST, &longer)),
        None => Some(largest(more(1)?, (1, longest), 1, &more)),
    }
}

/// The last that fits between two sizes, as close as `step`, given what the smaller one gives.
fn largest(
    mut best: Fitted,
    (mut low, mut high): (usize, usize),
    step: usize,
    tried: &dyn Fn(usize) -> Option<Fitted>,
) -> Fitted {
    while low + step < high {
        let middle = low + (high - low) / 2;
        match tried(middle) {
            Some(shown) => (low, best) = (middle, shown),
            None => high = middle,
        }
    }
    best
}

fn template(text: &Text) -> Option<TemplateId> {
    match text {
        Text::Template(id) => Some(*id),
        Text::Literal(_) => None,
    }
}

fn is_long(value: &Value, heads: Heads) -> bool {
    match value.kind() {
        ValueKind::String => value.as_str().is_some_and(|text| text.len() > heads.most),
        ValueKind::Seq | ValueKind::Iterable => {
            value.len().is_some_and(|length| length > heads.entries)
                || value.try_iter().is_ok_and(|mut all| all.any(|one| is_long(&one, heads)))
        }
        ValueKind::Map => entries(value).iter().any(|(_, one)| is_long(one, heads)),
        _ => false,
    }
}

/// The value with its texts and lists cut; counts the entries that are left out.
fn cut_value(value: &Value, heads: Heads, way: &str, left_out: &Cell<usize>) -> Value {
    let cut = |one: &Value| cut_value(one, heads, way, left_out);
    if let Some(shown) = with_values(value, &cut) {
        return shown;
    }
    match value.kind() {
        ValueKind::String => {
            value.as_str().map_or_else(|| value.clone(), |text| Value::from(headed(text, heads.most, way)))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let mut all = value.try_iter().into_iter().flatten();
            let shown: Vec<Value> = all.by_ref().take(heads.entries).map(|one| cut(&one)).collect();
            left_out.set(left_out.get() + all.count());
            shown.into()
        }
        ValueKind::Map => map_value(entries(value).into_iter().map(|(key, one)| (key, cut(&one)))),
        _ => value.clone(),
    }
}

/// The names of a workflow with other inputs.
fn with_input(workflow: &Value, input: Value) -> Value {
    let others = entries(workflow).into_iter().filter(|(name, _)| name != INPUT);
    map_value(others.chain([(INPUT.to_owned(), input)]))
}

fn entries(value: &Value) -> Vec<(String, Value)> {
    let keys = value.try_iter().into_iter().flatten();
    keys.filter_map(|key| Some((key.as_str()?.to_owned(), value.get_item(&key).ok()?))).collect()
}
