//! The numbers that a server shows at `/metrics`: those of `convoke metrics`, counted when they are asked for.

use crate::commands::{capacity, telling};
use crate::console::Console;
use crate::failure::CommandFailure;
use convoke_journal::StateDir;
use convoke_server::Metrics;
use std::sync::Arc;

/// The content type of Prometheus' text format.
const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Numbers of all runs of a state folder.
pub fn numbers(console: &Console, state: &StateDir) -> Metrics {
    let (console, state) = (console.clone(), state.clone());
    Arc::new(move || match page(&console, &state) {
        Ok(page) => Ok((KIND.to_owned(), page)),
        Err(failure) => {
            let words = std::iter::once(failure.message).chain(failure.causes);
            Err(words.collect::<Vec<_>>().join(": "))
        }
    })
}

/// Made on a thread that may wait, which has no runtime of its own.
fn page(console: &Console, state: &StateDir) -> Result<String, CommandFailure> {
    let (_, snapshot) = capacity::look(console)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(telling::metrics::page(state, snapshot))
}
