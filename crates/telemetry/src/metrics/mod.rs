//! Numbers about all runs of a state directory, in the text format of Prometheus.
//!
//! `totals` folds the events of a run to what it adds to each counter; `count` keeps these totals run by run, so that counters go on
//! after a restart and after a run was removed, and no event counts twice however often a journal is read; `expose` prints them, with
//! what is going on at this moment. `series` has every name, for the page, the dashboard and the test that compares them.
//!
//! Labels are bounded: no run and no task is ever a label, and of names that people choose (workflows, tools, models) the first
//! ones are kept and the others are told together.

mod count;
mod expose;
pub mod series;
mod totals;

pub use count::{Count, Counting, count};
pub use expose::{Moment, metrics};
pub(crate) use totals::BUCKETS;
pub use totals::Totals;
