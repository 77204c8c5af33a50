//! What a build without the feature `knowledge` says of queries.

use convoke_journal::StateDir;
use convoke_server::{Refusal, RefusalKind, SparqlAnswer};

/// Refuses it.
pub fn answer(_: &StateDir, _: &str, _: &str) -> Result<SparqlAnswer, Refusal> {
    Err(Refusal::new(RefusalKind::Unavailable, "graph", "this build has no knowledge graph"))
}
