//! Numbers about runs by the names of OpenTelemetry's conventions, as a fold of their events.
//!
//! `table` has every instrument, `values` what is counted of each, and `fold` makes the values of a run of its spans: the duration
//! of a model call, of an agent or of a tool is that of its span, so a dashboard and a trace never disagree. `sums` keeps them run by
//! run and adds them up; `otlp` writes and sends them.
//!
//! Everything is counted in whole numbers (tokens, calls, millionths of a second and of a dollar). So the sum over runs does not depend on
//! their order, and no counter goes down by a rounding.

mod fold;
mod sums;
pub mod table;
mod values;

pub use fold::RunValues;
pub use sums::Sums;
pub use table::{Instrument, Shape};
pub use values::{OVERFLOW, Point, Series, Values};
