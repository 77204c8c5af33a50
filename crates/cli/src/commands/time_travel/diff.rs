//! `convoke diff`: why two runs differ. The comparison is the engine's ([`convoke_engine::compare`]); this reads and prints.

use super::diff_text;
use crate::args::{DiffArgs, Format};
use crate::changes;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::paint::Paint;
use crate::stored::{self, Stored};
use convoke_engine::compare::{Comparison, Side, compare};
use convoke_journal::StateDir;
use convoke_plan::Plan;
use std::sync::Arc;

/// Compares the runs: 0 if nothing differs, 1 if something does.
pub fn run(console: &Console, args: &DiffArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_reading(console);
    let (old, new) = (Opened::open(&state, &args.old)?, Opened::open(&state, &args.new)?);
    let blobs = [&old, &new].map(|run| move |digest: &_| run.stored.reader.blob(digest).ok().flatten());
    let sides = [
        Side { plan: &old.plan, events: &old.stored.events, blob: &blobs[0] },
        Side { plan: &new.plan, events: &new.stored.events, blob: &blobs[1] },
    ];
    let whole = compare(sides).map_err(|error| {
        let hint = "convoke verify checks a journal";
        CommandFailure::new(Exit::Failed, format!("the runs cannot be compared: {error}")).hint(hint)
    })?;
    let exit = if whole.equal { Exit::Success } else { Exit::Failed };
    let shown = only(whole, args.task.as_deref())?;
    match args.format {
        Format::Json => console.json(&shown)?,
        Format::Text => {
            let paint = Paint::for_stdout(console.config.color);
            console.data(&diff_text::text(&shown, paint, args.full || args.task.is_some()))?;
        }
    }
    Ok(exit)
}

struct Opened {
    stored: Stored,
    plan: Arc<Plan>,
}

impl Opened {
    fn open(state: &StateDir, name: &str) -> Result<Opened, CommandFailure> {
        let stored = Stored::open(state, name)?;
        let meta = stored.reader.meta()?;
        let plan = changes::stored_plan(state, &stored.run, &meta, || Ok(stored.events.clone()))?;
        Ok(Opened { plan: Arc::new(plan), stored })
    }
}

/// What concerns one task: its own differences, those below it, and their causes.
fn only(mut comparison: Comparison, task: Option<&str>) -> Result<Comparison, CommandFailure> {
    let Some(wanted) = task else { return Ok(comparison) };
    let concerns = |task: &str| {
        task.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '[', '#']))
    };
    comparison.consequences.retain(|one| one.task.as_deref().is_some_and(concerns));
    comparison.tasks.retain(|one| concerns(&one.task.0));
    let mut places = vec![None; comparison.causes.len()];
    let mut kept = Vec::new();
    for (at, cause) in comparison.causes.into_iter().enumerate() {
        let leads_here = comparison.consequences.iter().any(|one| one.cause == at);
        let own = cause.task.iter().chain(&cause.also).any(|task| concerns(task));
        if leads_here || own {
            places[at] = Some(kept.len());
            kept.push(cause);
        }
    }
    comparison.causes = kept;
    for one in &mut comparison.consequences {
        one.cause = places[one.cause].expect("causes that lead here stay");
    }
    Ok(comparison)
}
