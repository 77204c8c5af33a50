//! Programs of models: run by workers that are this same binary, started with one word.

use convoke_agent::{NoPrograms, Programs};
use convoke_tools::{WorkerCommand, Workers};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The word that makes a worker of the binary. It is no command for people.
const WORKER: &str = "__interpreter";

/// Whether this process is to be a worker. To be asked before anything else is done in it.
pub fn is_worker(word: Option<&OsStr>) -> bool {
    word == Some(OsStr::new(WORKER))
}

/// What runs programs; a worker is started when there is a program to run.
pub fn programs() -> Arc<dyn Programs> {
    match own_binary() {
        Some(program) => Arc::new(Workers::new(WorkerCommand { program, args: vec![WORKER.into()] })),
        None => Arc::new(NoPrograms),
    }
}

/// The binary that runs now. Its path may lead to a newer one since it was started, which speaks otherwise.
pub(crate) fn own_binary() -> Option<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Some(running.to_owned()) } else { std::env::current_exe().ok() }
}
