//! What decisions are made from: the state of a run and the texts of its outputs. It can only be read.
//!
//! Everything that renders a prompt, judges a condition or computes what comes next is a method of [`View`]. Such a method
//! has no way to change the run: what it found becomes an event, which the scheduler emits.

use crate::outputs::Outputs;
use crate::state::State;
use std::ops::Deref;

/// The state of a run with the texts of its outputs.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub(crate) state: &'a State,
    pub(crate) outputs: &'a dyn Outputs,
}

impl Deref for View<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.state
    }
}
