//! A context that is too large is made smaller before a step sees it.
//!
//! Sizes are estimates (`excerpt`), of outputs as JSON. Newest outputs are kept whole as long as they fit.

use crate::context::{Names, Roots, map_value};
use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::state::{State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::excerpt::{headed, place_of, tokens_of_bytes};
use convoke_model::hash::HashSet;
use convoke_model::{Event, Payload};
use convoke_plan::template::{Value, from_json, to_json};
use convoke_plan::{ContextMode, Kind, Trim};

/// What is left of a context.
pub(crate) struct Trimmed {
    /// Steps that are still seen, oldest first.
    kept: Vec<TaskIx>,
    /// Texts longer than this many characters are cut to a quarter.
    cut: bool,
    /// A model's summary of what is no longer seen.
    summary: Option<TaskIx>,
}

/// Texts up to this length are never cut.
const CUT_ABOVE: usize = 100;

impl Scheduler {
    /// Whether a step must wait for a summary; asks for one if so.
    pub(crate) fn wants_summary(&mut self, task: TaskIx, outputs: &dyn Outputs) -> bool {
        let workflow = self.workflow_of(task);
        let context = &workflow.context;
        let asks_model = matches!(workflow.node(self.tasks[task].node).kind, Kind::Agent(_));
        if context.trim != Trim::Summarize
            || context.max_tokens.is_none()
            || !asks_model
            || self.is_summary(task)
            || self.composite_above(task).is_some_and(|composite| !composite.shares_context())
        {
            return false;
        }
        let (mode, limit) = (context.mode, context.max_tokens.unwrap_or(u64::MAX));
        let visible = self.visible(task, mode);
        if self.view(outputs).tokens_of(&visible) <= limit {
            return false;
        }
        let kept: HashSet<_> = self.view(outputs).newest(&visible, limit).into_iter().collect();
        let dropped: Vec<_> = visible.into_iter().filter(|step| !kept.contains(step)).collect();
        let frame = self.tasks[task].place.frame;
        if self.frame(frame).summary.as_ref().is_some_and(|summary| summary.covers >= dropped.len()) {
            return false;
        }
        self.tell_trimmed(task, &dropped, "summarize");
        let covers = dropped.iter().map(|step| self.tasks[*step].id.clone()).collect();
        let node = self.workflow_of(task).summary;
        let summary = node.map(|node| self.step_id(frame, node, self.frame(frame).visits(node) + 1));
        self.emit(Event::SummaryStarted { task: self.tasks[task].id.clone(), covers, summary });
        true
    }

    /// Records that a step sees less than there is.
    pub(crate) fn note_trimming(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let context = self.workflow_of(task).context.clone();
        let Some(trimmed) = self.view(outputs).trimming(task, context.mode) else { return };
        let kept: HashSet<_> = trimmed.kept.iter().copied().collect();
        let visible = self.visible(task, context.mode);
        match context.trim {
            Trim::Truncate => self.tell_trimmed(task, &visible, "truncate"),
            Trim::DropOldest => {
                let dropped: Vec<_> = visible.into_iter().filter(|step| !kept.contains(step)).collect();
                self.tell_trimmed(task, &dropped, "drop_oldest");
            }
            Trim::Summarize => {}
        }
    }

    fn tell_trimmed(&mut self, task: TaskIx, steps: &[TaskIx], strategy: &str) {
        let steps = steps.iter().map(|step| self.node(*step).name.to_string()).collect();
        let task = self.tasks[task].id.clone();
        self.emit(Event::ContextTrimmed { task, strategy: strategy.into(), steps });
    }
}

impl View<'_> {
    /// How the context of a task is made smaller; `None` if it fits or has no limit.
    pub(crate) fn trimming(&self, task: TaskIx, mode: ContextMode) -> Option<Trimmed> {
        let context = &self.workflow_of(task).context;
        let limit = context.max_tokens?;
        let visible = self.visible(task, mode);
        if self.tokens_of(&visible) <= limit || self.is_summary(task) {
            return None;
        }
        Some(match context.trim {
            Trim::Truncate => Trimmed { kept: visible, cut: true, summary: None },
            Trim::DropOldest => Trimmed { kept: self.newest(&visible, limit), cut: false, summary: None },
            Trim::Summarize => {
                let kept = self.newest(&visible, limit);
                let summary = self.frame(self.tasks[task].place.frame).summary.as_ref().map(|s| s.task);
                let summary = summary.filter(|summary| self.tasks[*summary].succeeded());
                Trimmed { kept, cut: false, summary }
            }
        })
    }

    fn tokens_of(&self, steps: &[TaskIx]) -> u64 {
        steps.iter().map(|step| self.tokens_in(*step)).sum()
    }

    fn tokens_in(&self, step: TaskIx) -> u64 {
        let bytes = match &self.tasks[step].output {
            None => 0,
            Some(Payload::Inline(text)) => text.as_str().len() as u64,
            Some(Payload::Blob { size, .. }) => *size,
            Some(Payload::Gathered) => to_json(&self.output_value(step)).to_string().len() as u64,
        };
        tokens_of_bytes(bytes)
    }

    /// The newest steps that fit, oldest first.
    fn newest(&self, steps: &[TaskIx], limit: u64) -> Vec<TaskIx> {
        let mut left = limit;
        let mut kept = Vec::new();
        for step in steps.iter().rev() {
            let size = self.tokens_in(*step);
            if size > left {
                break;
            }
            left -= size;
            kept.push(*step);
        }
        kept.reverse();
        kept
    }

    pub(crate) fn add_trimmed(&self, task: TaskIx, trimmed: &Trimmed, roots: &Roots, names: &mut Names) {
        for step in &trimmed.kept {
            let name = self.node(*step).name.clone();
            if roots.want(&name) {
                let seen = self.repaired(task, self.tasks[*step].node).unwrap_or(*step);
                let entry = self.entry_value(seen);
                names.insert(name.into(), if trimmed.cut { cut_value(&entry) } else { entry });
            }
        }
        if let Some(summary) = trimmed.summary {
            let output = self.output_value(summary);
            let text = output.get_attr("result").unwrap_or(output);
            names.insert("_context_summary".into(), text);
        }
    }

    /// The outputs that a summary is to be written of, for its own prompt.
    pub(crate) fn summary_sources(&self, task: TaskIx, names: &mut Names) {
        if !self.is_summary(task) {
            return;
        }
        let entries = self.tasks[task].from.iter().map(|step| {
            let name = Value::from(&*self.node(*step).name);
            map_value([("step", name), ("output", self.output_value(*step))])
        });
        names.insert("_older".into(), Value::from(entries.collect::<Vec<_>>()));
    }
}

impl State {
    fn is_summary(&self, task: TaskIx) -> bool {
        self.workflow_of(task).summary == Some(self.tasks[task].node)
    }

    /// Fold: a summary is being written; the step waits for it.
    pub(crate) fn summary_started(&mut self, task: TaskIx, covers: &[TaskIx]) {
        let frame = self.tasks[task].place.frame;
        let Some(node) = self.workflow_in(frame).summary else { return };
        let summary = self.add_step(frame, node, covers);
        self.tasks[summary].summary_for = Some(task);
        self.tasks[summary].hook = true;
        self.tasks[task].state = TaskState::Held;
        self.make_ready(summary);
    }
}

fn cut_value(value: &Value) -> Value {
    from_json(&cut_json(to_json(value)))
}

fn cut_json(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value as Json;
    match value {
        Json::String(text) => Json::String(cut_text(text)),
        Json::Array(items) => Json::Array(items.into_iter().map(cut_json).collect()),
        Json::Object(fields) => {
            Json::Object(fields.into_iter().map(|(name, value)| (name, cut_json(value))).collect())
        }
        other => other,
    }
}

fn cut_text(text: String) -> String {
    let length = text.chars().count();
    let keep = (length / 4).max(200);
    if length <= CUT_ABOVE || keep >= length {
        return text;
    }
    headed(&text, place_of(&text, keep), "")
}
