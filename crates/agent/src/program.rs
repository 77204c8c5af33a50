//! Programs over outputs: a model that sees only a description of many outputs writes programs that look into them.
//!
//! Each turn the model's reply is a program; it runs in a worker (`worker`), what it printed goes back within a bound, and
//! `final(value)` ends it. What a program asks of the outputs is answered at once (`library`); what it asks of models
//! suspends the attempt, each question becomes a task of its own, and the attempt that goes on is given the answers.
//! `session` decides and is data, `record` writes it down, `runner` runs programs, `perform` does the rest.
//!
//! Kept true: no more of the outputs than the stated number of characters reaches the model at once; a program that is
//! run again gets the same answers; running out of anything is a failure, never an answer.

mod blocks;
mod functions;
mod graph;
mod library;
mod metadata;
mod perform;
mod record;
mod report;
mod review;
mod runner;
mod session;
mod wording;
mod worker;

#[cfg(test)]
mod tests;

pub(crate) use perform::Programmer;
pub use worker::*;
