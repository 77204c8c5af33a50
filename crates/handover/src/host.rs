//! What the program around this crate gives: the environment of its process, and how it performs attempts.

use convoke_agent::Executor;
use convoke_model::{JsonText, Work};
use futures::future::BoxFuture;
use std::sync::Arc;

/// The properties of a process on which attempts may depend.
pub trait HostEnvironment: Send + Sync {
    /// The working directory.
    fn folder(&self) -> &str;

    /// The value of an environment variable, if it is set.
    fn variable(&self, name: &str) -> Option<String>;

    /// Every environment variable that is set.
    fn variables(&self) -> Vec<(String, String)>;

    /// The names of the variables that this work reads. `None` for work that only this process can perform.
    fn variables_read_by(&self, work: &Work) -> Option<Vec<String>>;
}

/// Performs attempts of other processes' runs.
pub trait Performers: Send + Sync {
    /// The performer for runs with these settings, which the owner process has sent; or why there is none.
    fn for_run(&self, settings: &JsonText) -> Result<Arc<dyn Performer>, String>;
}

/// Performs the attempts of one run, with connections and servers that are kept for the next attempt.
pub trait Performer: Send + Sync {
    /// Performs attempts.
    fn executor(&self) -> Arc<dyn Executor>;

    /// Ends the connections and servers.
    fn close(&self) -> BoxFuture<'_, ()>;
}
