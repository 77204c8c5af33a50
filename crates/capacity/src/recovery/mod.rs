//! After a death: which processes live, what their leases become, which change of the table is undone.

pub(crate) mod liveness;
pub(crate) mod reclaim;
pub(crate) mod recover;
