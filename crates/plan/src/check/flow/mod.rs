//! Ways through a workflow: what leads where, what can have run before, what a step can see.

pub(in crate::check) mod earlier;
pub(in crate::check) mod follow;
pub(in crate::check) mod needs;
pub(in crate::check) mod reach;
pub(in crate::check) mod resolvers;
pub(in crate::check) mod routes;
pub(in crate::check) mod targets;
pub(in crate::check) mod visible;
