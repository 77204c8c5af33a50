//! The `convoke` command.
#![allow(dead_code)]
mod args;
mod config;
mod env;
mod exit;
mod paint;
mod view;
fn main() {}
