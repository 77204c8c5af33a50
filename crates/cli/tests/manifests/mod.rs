//! Execution manifests as people run them: oracles of the original engine, failures, teams, presets.

mod agents;
mod kit;
mod oracles;
mod presets;
mod teams;
