//! Tools of an attempt: which are offered, how they are named, which calls a person must allow, what calls give.

pub(crate) mod approving;
pub(crate) mod calls;
pub(crate) mod offer;
pub(crate) mod risk;
pub(crate) mod shelf;
pub(crate) mod tool;
pub(crate) mod tool_names;
pub(crate) mod toolbox;
