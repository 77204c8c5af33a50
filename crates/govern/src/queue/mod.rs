//! Demands that wait, and the order in which they are granted.
//!
//! Demands of one `shape` wait in one lane (`lane`, `lanes`): by class (`class`), tenants in turn (`tenants`), then by rank
//! (`rank`), and by age (`by_age`). `choose` picks the next one; `holdback` keeps free what a lane needs that was passed too
//! often.

pub(crate) mod by_age;
pub(crate) mod choose;
pub(crate) mod class;
pub(crate) mod holdback;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod rank;
pub(crate) mod shape;
pub(crate) mod tenants;
