//! What a person gives to a run: files, inputs, presets, goals, plans.

pub(crate) mod given_plan;
pub(crate) mod goal_request;
pub(crate) mod inputs;
#[cfg(feature = "knowledge")]
pub(crate) mod organisation;
#[cfg(not(feature = "knowledge"))]
#[path = "no_organisation.rs"]
pub(crate) mod organisation;
pub(crate) mod presets;
pub(crate) mod sources;
