//! Whole small files, and what is found in them: code and line of every finding, and nothing else.

mod calls;
mod documents;
mod kit;
mod names;
mod references;
mod slips;
use crate::world;
