//! From text to plan.
//!
//! One program for all files: each program more is linked, and compiles what they share, once more.

mod answers;
mod checks;
mod corpus;
mod generators;
mod goal_contracts;
mod graphs;
mod hostile;
mod layers;
mod manifests;
mod personas;
mod plans;
mod secrets;
mod services;
mod tools;
mod views;
mod world;
