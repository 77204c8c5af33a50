//! One attempt: what is asked, what comes back, and whether it fits.
//!
//! [`Attempts`] performs an assignment. What to say next is decided apart from saying it: a `Conversation` is a value
//! that takes replies and gives requests, knows no clock and no network, and can be stored between two turns. Model
//! services ([`Provider`]), commands ([`Commands`]), capacity ([`Admission`]) and listeners ([`Sink`]) are traits that
//! others implement. Templates, retries of whole attempts and time limits of tasks belong to the scheduler.

mod admission;
mod command;
mod driver;
mod provider;
mod sink;

pub use admission::*;
pub use command::*;
pub use driver::Attempts;
pub use provider::*;
pub use sink::*;
