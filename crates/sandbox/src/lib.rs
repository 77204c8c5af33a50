//! What a child process may read, write and reach, enforced by the operating system.
//!
//! A [`Confinement`] is a value: level, roots, hidden paths, protected names, network, bounds. [`Prepared`] is the same in the
//! form that the kernel takes: everything is opened and built in the engine, and the child between fork and exec makes system
//! calls and nothing else. Who is confined how is decided by callers (`process`, `tools`, `providers`, `cli`); nothing here
//! reads the environment or starts a process of its own, besides one that tries what the machine allows ([`available`]).
//!
//! Invariant: a confinement of the full level is held whole or the start is refused. What is specific to a system is in one
//! module of that system; elsewhere preparing is refused.

mod bounds;
mod confinement;
mod ground;
mod missing;
mod placeholder;
mod protected;
pub mod proxy;
mod secret;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::{Kept, Means, Prepared, available, means};

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Kept, Means, Prepared, available, means};

pub use bounds::Bounds;
pub use confinement::{Confinement, Level, Network, Reading, Variables};
pub use ground::Ground;
pub use missing::Missing;
