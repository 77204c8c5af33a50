//! Questions to a person: asked on the terminal, or explained and answered by another command.

mod approval;
mod editor;
mod explain;
mod form;
mod reply;
mod submit;
mod terminal;

pub use explain::explain;
pub use form::{AskOutcome, ask};
pub use reply::{Given, is_plan, reply};
pub use submit::{Refused, Submission, author, ended};
pub use terminal::{Heard, Keyboard, Terminal, is_attended, read_typed, ring};
