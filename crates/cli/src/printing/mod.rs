//! Everything that is printed: streams, escapes, colours, findings, differences.

pub(crate) mod advice;
pub(crate) mod console;
pub(crate) mod diagnostics;
pub(crate) mod difference;
pub(crate) mod escape;
pub(crate) mod json_log;
pub(crate) mod paint;
pub(crate) mod stdio;
