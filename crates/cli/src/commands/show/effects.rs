//! What a run did to the world: one line for each script and tool call, with its key and its outcome.

use super::InspectedRun;
use crate::args::Format;
use crate::console::Console;
use crate::driving::survivors;
use crate::failure::CommandFailure;
use convoke_engine::effects::{Decision, Effect, EffectState, effects};
use convoke_journal::StateDir;
use convoke_model::RunStatus;
use convoke_model::excerpt::first_chars;
use convoke_tools::Alone;
use serde_json::{Value, json};

/// Characters of a key that people are shown; `--format json` has all of them.
const KEY: usize = 12;

impl InspectedRun {
    pub(super) fn print_effects(
        &self,
        console: &Console,
        state: &StateDir,
        format: Format,
    ) -> Result<(), CommandFailure> {
        let alone = convoke_tools::alone(&survivors::folder(state, &self.stored.run));
        let listed: Vec<Listed> =
            effects(&self.stored.events).into_iter().map(|effect| self.listed(effect, &alone)).collect();
        match format {
            Format::Json => console.json(&json!({
                "run": self.stored.run,
                "effects": listed.iter().map(Listed::json).collect::<Vec<_>>(),
            })),
            Format::Text if listed.is_empty() => console.data("no effects\n"),
            Format::Text => console.data(&text(&listed)),
        }
    }

    /// A journal cannot tell that its writer died: what is under way without a process has an unknown outcome, unless its command
    /// goes on.
    fn listed(&self, mut effect: Effect, alone: &[Alone]) -> Listed {
        let mut pid = None;
        if effect.state == EffectState::Claimed && self.status != RunStatus::Running {
            pid = alone.iter().find(|alone| effect.key.starts_with(&alone.key)).map(|alone| alone.pid);
            effect.state = if pid.is_some() { EffectState::Claimed } else { EffectState::Unknown };
        }
        Listed { effect, pid }
    }
}

/// An effect, and the process that goes on with it where no process drives the run.
struct Listed {
    effect: Effect,
    pid: Option<u32>,
}

impl Listed {
    fn state(&self) -> String {
        let state = self.effect.state.word();
        match (&self.effect.decided_by, self.pid) {
            (_, Some(pid)) => format!("{state} without Convoke, process {pid}"),
            (Some(Decision::Person(name)), _) => format!("{state} of {name}"),
            (Some(Decision::Probe), _) if self.effect.state == EffectState::Done => {
                format!("{state}, says its probe")
            }
            (Some(Decision::Probe), _) => format!("{state} of its probe"),
            _ => state.to_owned(),
        }
    }

    fn json(&self) -> Value {
        let mut value = json!(self.effect);
        if let (Some(pid), Some(fields)) = (self.pid, value.as_object_mut()) {
            fields.insert("pid".into(), pid.into());
        }
        value
    }
}

fn text(listed: &[Listed]) -> String {
    let header = ["TASK", "ATTEMPT", "WHAT", "KEY", "STATE", "WHEN"].map(str::to_owned);
    let row = |listed: &Listed| {
        let effect = &listed.effect;
        let key = first_chars(&effect.key, KEY).to_owned();
        let when = effect.claimed_at.to_string();
        [effect.task.to_string(), effect.attempt.to_string(), effect.what.clone(), key, listed.state(), when]
    };
    let rows: Vec<[String; 6]> = std::iter::once(header).chain(listed.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
