//! One attempt: what is asked, what comes back, and whether it fits.
//!
//! [`Attempts`] performs an assignment. What to say next is decided apart from saying it: a [`Conversation`] is a value
//! that takes replies and results of tools and gives requests and calls, knows no clock and no network, and can be
//! written down between two turns and resumed elsewhere. What keeps it within bounds is in `capability`, a file each; how
//! answers are read, repaired and looked at is in `judge` and the parts of `conversation`. A model that works with programs
//! is in `program`.
//!
//! Model services ([`Provider`]), commands ([`Commands`]), tools ([`Toolbox`]), programs ([`Programs`]), capacity ([`Admission`]), listeners
//! ([`Sink`]) and the turn log ([`TurnLog`]) are traits that others implement. Templates, retries of whole attempts and time
//! limits of tasks belong to the scheduler.

mod asking;
mod capability;
mod command;
mod conversation;
mod driver;
mod executor;
mod judging;
mod ledger;
mod placeholder;
mod probe;
mod program;
mod proof;
mod provider;
pub mod redaction;
mod script;
mod tooling;

mod sink;
mod talk;
mod transcript;
mod turn_log;
mod wording;

use asking::{account, admission, ask, fallback, refusals, window};
use judging::{answer, grade, judge, repair};
use tooling::{approving, calls, offer, shelf, tool, tool_names, toolbox};

pub use account::Account;
pub use admission::*;
pub use ask::MAX_TOKENS;
pub use command::*;
pub(crate) use conversation::Grading;
pub use conversation::{Conversation, Ending, Next, Note, Premise, Question, Written};
pub use convoke_model::fit::violations;
pub use driver::Attempts;
pub use executor::{Executor, LetGo, Looked};
pub use judge::{Misfit, Reason};
pub use ledger::tokens_in;
pub use offer::Offer;
pub use program::*;
pub use proof::{NoProver, Prover};
pub use provider::*;
pub use sink::*;
pub use toolbox::*;
pub use turn_log::*;
