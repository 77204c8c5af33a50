//! What an agent may use: servers, tools, clearances, coding agents, skills and its calls.

pub(in crate::compile) mod calls;
pub(in crate::compile) mod clearances;
pub(in crate::compile) mod coders;
pub(in crate::compile) mod own;
pub(in crate::compile) mod own_policies;
pub(in crate::compile) mod servers;
pub(in crate::compile) mod skills;
pub(in crate::compile) mod tool;
