//! Pipelines of personas in a simulated world: what starts a phase, its tries, the work it hands out, what the whole comes
//! to, and that a run cut off anywhere goes on as if it had not been.

#[path = "pipelines/again.rs"]
mod again;
#[path = "pipelines/announcing.rs"]
mod announcing;
#[path = "pipelines/basics.rs"]
mod basics;
#[path = "pipelines/contracts.rs"]
mod contracts;
#[path = "pipelines/forty.rs"]
mod forty;
#[path = "pipelines/handing_on.rs"]
mod handing_on;
#[path = "pipelines/handing_out.rs"]
mod handing_out;
#[path = "pipelines/kit.rs"]
mod kit;
#[path = "pipelines/outcomes.rs"]
mod outcomes;
#[path = "pipelines/random.rs"]
mod random;
#[path = "pipelines/reopening.rs"]
mod reopening;
#[path = "pipelines/robust.rs"]
mod robust;
#[path = "pipelines/rounds.rs"]
mod rounds;
#[path = "pipelines/starting.rs"]
mod starting;
