//! Texts for people and models: parts of a text, spelling, secrets, control characters.

pub(crate) mod count;
pub mod excerpt;
pub(crate) mod printable;
pub mod secret;
pub(crate) mod spelling;
