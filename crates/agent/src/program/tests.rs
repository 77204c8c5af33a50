//! The whole loop, with a model that says what it is told and programs of a language of a few words.
//!
//! `world` holds what an attempt needs, `toy` the language; the tests stand by what they are about.

mod asking;
mod bounds;
mod going_on;
mod graphs;
mod judging;
mod telling;
mod toy;
mod world;

pub(super) use world::call_over;
