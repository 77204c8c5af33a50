//! Tools of an attempt: which are offered, how they are named, what their calls give.

pub(crate) mod calls;
pub(crate) mod offer;
pub(crate) mod shelf;
pub(crate) mod tool;
pub(crate) mod tool_names;
pub(crate) mod toolbox;
