//! What passes between commands, runs and workers, as data. Every type here is JSON in the log of the cluster: a field that is added
//! has a default, and a word that is not known is refused with the version that wrote it ([`Head::format`]).

mod begin;
mod decided;
mod fact;
mod head;
mod launch;

pub use begin::{Begin, Identity, Listed, Reopen, RunOptions};
pub use decided::{Act, Answered, Decided};
pub use fact::{ClusterFact, Delivery, Said, Sender};
pub use head::{Book, FORMAT, Head, Home, Interrupt, OpenCall};
pub use launch::{Launch, TermsOfCalls, attempt_name};
