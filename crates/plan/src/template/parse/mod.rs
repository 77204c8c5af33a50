//! A text as it is parsed before a run: its tags, its names, its literals.

pub(in crate::template) mod expression;
pub(in crate::template) mod parsed;
pub(in crate::template) mod plain;
pub(in crate::template) mod quoted;
pub(in crate::template) mod tail;
