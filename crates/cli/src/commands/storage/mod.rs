//! Commands that look after stored runs.

pub(in crate::commands) mod export;
pub(in crate::commands) mod export_html;
pub(in crate::commands) mod import;
pub(in crate::commands) mod prune;
pub(in crate::commands) mod repair;
pub(in crate::commands) mod runs;
pub(in crate::commands) mod verify;
