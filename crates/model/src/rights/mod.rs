//! What an agent may do and use: its contract, its clearances, its tools, which calls a person must allow, and the names of files that it
//! stays off.

pub(crate) mod approval;
pub(crate) mod asked;
pub(crate) mod capability;
pub mod clearance;
pub(crate) mod contract;
pub(crate) mod own_tools;
pub mod protected;
pub(crate) mod tools;
