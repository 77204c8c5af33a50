//! Questions to a person: asked on the terminal, or explained and answered by another command.

mod editor;
mod explain;
mod form;
mod hand_in;
mod open;
mod reply;
mod terminal;

pub use explain::explain;
pub use form::{Asked, ask};
pub use hand_in::HandIn;
pub use open::Gates;
pub use reply::{Given, is_plan, reply};
pub use terminal::{Heard, Keyboard, Terminal, is_attended, read_typed, ring};
