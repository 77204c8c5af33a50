//! What an agent may do and use: its contract, its clearances, its tools, and which calls a person must allow.

pub(crate) mod approval;
pub(crate) mod asked;
pub(crate) mod capability;
pub mod clearance;
pub(crate) mod contract;
pub(crate) mod tools;
