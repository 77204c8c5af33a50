//! Lets another thread cancel renderings.
//!
//! The thread that renders cannot hear of a signal before the rendering ends, so another thread raises this flag. The meter
//! (`limits`) asks it whenever work is paid for. A cancelled rendering is an error (`RenderFault::Cancelled`) that says
//! nothing about its text: what was decided because of it must be forgotten, and [`Cancellation::took_effect`] tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use minijinja::value::{Object, Value};
use minijinja::{Error, ErrorKind, State};

/// A flag that ends the renderings of one [`Renderer`](super::super::Renderer). It stays up once it was raised.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<Flag>);

#[derive(Debug)]
struct Flag {
    /// How many more looks find the flag down; [`NEVER`] while it is not raised.
    looks_left: AtomicU64,
    took_effect: AtomicBool,
}

const NEVER: u64 = u64::MAX;

impl Default for Flag {
    fn default() -> Flag {
        Flag { looks_left: AtomicU64::new(NEVER), took_effect: AtomicBool::new(false) }
    }
}

impl Cancellation {
    /// Ends the rendering that goes on, and every later one.
    pub fn cancel(&self) {
        self.cancel_after(0);
    }

    /// The same, after the renderings have looked at the flag so many times more. For tests: looks are counted, not timed.
    pub fn cancel_after(&self, looks: u64) {
        self.0.looks_left.store(looks, Ordering::Relaxed);
    }

    /// Whether a rendering has been cut off.
    pub fn took_effect(&self) -> bool {
        self.0.took_effect.load(Ordering::Relaxed)
    }

    /// An error once the flag is up.
    pub(in crate::template) fn check(&self) -> Result<(), Error> {
        match self.0.looks_left.load(Ordering::Relaxed) {
            NEVER => Ok(()),
            0 => {
                self.0.took_effect.store(true, Ordering::Relaxed);
                Err(Error::new(ErrorKind::OutOfFuel, "rendering was cancelled").with_source(Cancelled))
            }
            looks => {
                self.0.looks_left.store(looks - 1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// The value under which a rendering finds its flag.
    pub(in crate::template) fn value(&self) -> Value {
        Value::from_object(Found(self.clone()))
    }

    /// The flag of a rendering.
    pub(in crate::template) fn of(state: &State) -> Option<Cancellation> {
        let value = state.lookup(GLOBAL)?;
        value.downcast_object_ref::<Found>().map(|found| found.0.clone())
    }
}

/// The global that holds the flag. No template can write this name.
pub(in crate::template) const GLOBAL: &str = "\0cancellation";

#[derive(Debug)]
struct Found(Cancellation);

impl Object for Found {}

/// The source of the error of a cancelled rendering.
#[derive(Debug, thiserror::Error)]
#[error("cancelled")]
pub(in crate::template) struct Cancelled;
