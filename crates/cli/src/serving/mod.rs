//! What the command line gives a server: its actions, its way to start runs, its files.

mod beside;
mod files;
mod host;
mod launching;
mod numbers;
mod opening;
#[cfg(feature = "knowledge")]
mod sparql;
#[cfg(not(feature = "knowledge"))]
#[path = "no_sparql.rs"]
mod sparql;

pub use beside::Beside;
pub use host::CommandHost;
pub use numbers::numbers;
pub use opening::{Opened, open};
