//! Bounds on rendering: work, depth, guards, and the way another thread ends it.

pub(in crate::template) mod cancellation;
pub(in crate::template) mod depth;
pub(in crate::template) mod guards;
pub(in crate::template) mod limits;
