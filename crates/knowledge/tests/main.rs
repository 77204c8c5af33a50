//! The graph against journals that simulated runs left, and against another store.

mod facts;
mod figures;
mod following;
mod hidden;
mod kit;
mod queries;
