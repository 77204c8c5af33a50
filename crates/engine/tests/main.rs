//! The engine with real tasks and virtual time.
//!
//! One program for all files: each program more is linked, and compiles what they share, once more.

mod architecture;
mod clock;
mod common;
mod conversations;
mod full_disk;
mod hooks;
mod inbox;
mod losses;
mod permits;
mod reopening;
mod routes;
mod time;
mod waiting;
