//! One question to a model: the request, what it may hold, and which model is asked next.

pub(crate) mod account;
pub(crate) mod admission;
pub(crate) mod ask;
pub(crate) mod fallback;
pub(crate) mod model_call;
mod most;
pub(crate) mod refusals;
pub(crate) mod window;
