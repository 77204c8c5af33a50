//! Commands about the program itself: configuration, schemas, completion, manuals, checks of the machine.

pub(in crate::commands) mod complete;
pub(in crate::commands) mod completions;
pub(in crate::commands) mod config;
pub(in crate::commands) mod config_keys;
pub(in crate::commands) mod doctor;
pub(in crate::commands) mod man;
mod receivers;
pub(in crate::commands) mod schema;
