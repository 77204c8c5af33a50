//! What an agent may do and use: its contract, its clearances, its tools.

pub(crate) mod capability;
pub mod clearance;
pub(crate) mod contract;
pub(crate) mod tools;
