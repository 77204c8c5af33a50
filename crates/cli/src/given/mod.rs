//! What a person gives to a run: files, inputs, presets, goals, plans.

pub(crate) mod given_plan;
pub(crate) mod goal_request;
pub(crate) mod inputs;
pub(crate) mod presets;
pub(crate) mod sources;
