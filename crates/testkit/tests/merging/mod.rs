//! Making one answer of many, in a simulated world: levels, arrivals, choices, votes, examinations and repairs, each
//! cut off at every commit and resumed.

mod again;
mod arriving;
mod choosing;
mod examining;
pub(crate) mod kit;
mod levels;
mod manifests;
mod programs;
mod prompts;
mod windows;
