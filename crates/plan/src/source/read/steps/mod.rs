//! Readers of steps, by kind.

pub(in crate::source) mod agent;
pub(in crate::source) mod flow;
pub(in crate::source) mod people;
pub(in crate::source::read) mod step;
pub(in crate::source) mod tool;
pub(in crate::source) mod work;

pub(super) use step::role_only;
