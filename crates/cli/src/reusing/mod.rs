//! `--reuse RUN`: the run whose outputs are taken, and words about why each task ran or not.

mod affects;
pub mod explain;

pub use affects::Affects;

use crate::changes;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored::Stored;
use convoke_journal::{Reader, StateDir};
use convoke_schedule::Reusable;
use std::sync::{Arc, Mutex};

/// Reads the run whose outputs may be taken.
pub fn open(state: &StateDir, name: &str) -> Result<Arc<Reusable>, CommandFailure> {
    let base = Stored::open(state, name)?;
    let plan = changes::stored_plan(state, &base.run, &base.reader.meta()?, || Ok(base.events.clone()))?;
    let run = base.run.clone();
    // Asked from the engine's thread alone; a database connection does not know that.
    let values: Mutex<Reader> = Mutex::new(base.reader);
    let value = move |digest: &convoke_model::Digest| {
        let reader = values.lock().expect("no panic while a value is read");
        reader.blob(digest).ok().flatten()
    };
    let reusable = Reusable::of(run.clone(), Arc::new(plan), base.events, Box::new(value));
    reusable.map(Arc::new).map_err(|error| {
        let words = format!("the outputs of run `{run}` cannot be reused: {error}");
        CommandFailure::new(Exit::Refused, words).hint(format!("convoke verify {run} checks its journal"))
    })
}
