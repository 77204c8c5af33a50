//! Resuming what has ended, or what runs under a changed plan: what is done again, and which events still count.

mod changed;
mod history;
mod reopen;
mod retry;

pub use changed::{Changed, changed, changed_and_set};
pub(crate) use history::lies_below;
pub use history::{replayable, task_of};
pub use reopen::{NotReopened, Reopening, reopen};
pub use retry::{NotRetried, retry};
