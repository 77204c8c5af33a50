//! The cockpit: what `convoke top` shows, and what its keys mean.
//!
//! [`Cockpit`] is the model. It takes an [`Input`] (a key, a new look at the runs, what became of an action, the time) and answers with
//! [`Effect`]s: what to look at, what to do. [`draw`] puts it on a screen. Reading runs, doing what is asked and the terminal are left to
//! the program. What is shown comes as values ([`seen`]), folded by the same code as the page's.
//!
//! Invariants: pure, no clock, no disk, no terminal; only the rows that a screen has room for are drawn, however many there are; no control
//! character of a text reaches the screen; nothing is said by colour alone; an answer is bound to the hash of what was on the screen.

mod acting;
mod answering;
mod cockpit;
mod cursor;
pub mod draw;
mod key;
mod overlay;
pub mod seen;
mod tasks;
mod typing;

pub use answering::Given;
pub use cockpit::{Cockpit, Effect, Focus, Input, Permission, Place};
pub use key::Key;
pub use tasks::Filter;
