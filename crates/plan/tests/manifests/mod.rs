//! Execution manifests: how they are read, and the workflow that they become.

mod agents;
mod forms;
mod kit;
mod mistakes;
mod order;
mod partitions;
mod prompts;
use crate::world;
