//! Texts that a prompt is made of, and how much of them fits: partials, windows, cuts.

pub(in crate::compile) mod cuts;
pub(in crate::compile) mod partials;
pub(in crate::compile) mod texts;
pub(in crate::compile) mod windows;
