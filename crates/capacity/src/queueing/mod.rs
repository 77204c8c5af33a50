//! Waiting for capacity: the queue, its signals, back-pressure.

pub(crate) mod back_pressure;
pub(crate) mod queue;
pub(crate) mod signals;
pub(crate) mod waiting;
