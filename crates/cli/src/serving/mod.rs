//! What the command line gives a server: its actions, its way to start runs, its files.

mod beside;
mod files;
mod host;
mod launching;
mod numbers;
mod opening;

pub use beside::Beside;
pub use host::CommandHost;
pub use numbers::numbers;
pub use opening::{Opened, open};
