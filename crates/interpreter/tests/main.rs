//! Programs of models in their worker.
//!
//! One program for all files: each program more is linked, and compiles what they share, once more.

mod arbitrary;
mod confinement;
mod guide;
mod hostile;
mod programs;
mod rules;
mod saving;
mod support;
