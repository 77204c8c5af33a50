//! Files to trees: reading, environment variables, includes.

pub(in crate::source) mod env;
pub(in crate::source) mod expand;
pub(in crate::source) mod load;
