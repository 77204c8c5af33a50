//! The whole program as people and other programs see it.
//!
//! One program for all files: each program more is linked, and compiles what they share, once more.

mod addresses;
mod answers;
mod approvals;
mod bad_input;
mod budgets;
mod capacity;
mod cassettes;
mod checking;
#[cfg(debug_assertions)]
mod clocks;
mod cluster;
mod coding_agents;
mod common;
mod contracts;
mod conversations;
mod corpus_like;
mod diff;
mod disk_faults;
mod doctor;
mod effects;
#[cfg(debug_assertions)]
mod failpoints;
mod forking;
mod gates;
mod goal_budgets;
mod goal_digests;
mod goal_interruptions;
mod goal_mistakes;
mod goal_plans;
mod goals;
mod guiding;
mod hands;
mod kill;
mod kill_goal;
mod kill_pipeline;
#[cfg(feature = "knowledge")]
mod knowledge;
mod limits;
mod long_conversation;
mod manifests;
mod merging;
mod named_secrets;
mod offline;
#[cfg(feature = "knowledge")]
mod organisation;
mod orphans;
mod ownership;
mod personas;
mod policy;
mod programs;
mod project;
mod proofs;
mod queueing;
mod repair;
mod resuming;
mod retention;
mod retrying;
mod reusing;
mod running;
mod sandboxing;
mod secrets;
mod serve;
mod serve_operation;
mod serve_pages;
mod serving;
mod sharing;
mod signals;
#[cfg(feature = "knowledge")]
mod sparql;
mod spending;
mod stealing;
mod stored;
mod storm;
mod support;
mod surface;
mod swarm;
mod telling;
mod terminal;
mod testing;
mod top;
mod trust;
mod workspaces;
