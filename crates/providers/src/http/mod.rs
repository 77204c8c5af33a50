//! One exchange over HTTP: connection, request and stream, limits that a service tells, faults.

pub(crate) mod connection;
pub(crate) mod dates;
pub(crate) mod limits;
pub(crate) mod phases;
pub(crate) mod wire;
