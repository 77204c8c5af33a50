//! Persona manifests: what they become, and what is wrong with them.

mod becomes;
mod bounds;
mod conditions;
mod documents;
mod kit;
mod names;
mod warnings;
mod words;
use crate::world;
