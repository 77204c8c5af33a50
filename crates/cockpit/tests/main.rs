//! The cockpit as a person meets it: frames on screens of several sizes, and what keys do.
#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod frames;
mod keys;
mod many;
mod support;
