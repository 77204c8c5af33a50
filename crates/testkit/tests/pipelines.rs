//! Pipelines of personas in a simulated world: what starts a phase, its tries, the work it hands out, what the whole comes
//! to, and that a run cut off anywhere goes on as if it had not been.

mod again;
mod announcing;
mod basics;
mod contracts;
mod forty;
mod handing_on;
mod handing_out;
pub(crate) mod kit;
mod outcomes;
mod random;
mod reopening;
mod robust;
mod rounds;
mod starting;
