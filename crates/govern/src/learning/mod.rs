//! How many calls at once a service is good for, learned from how calls fare.
//!
//! `knowledge` is what is known, as plain data that all processes of a machine can share; `learn` takes one sample at a time,
//! `cut` lowers a limit, `grow` raises it, `trial` tries fewer calls, `in_a_row` and `tally` count refusals. Knows nothing of
//! demands or permits.

pub(crate) mod cut;
pub(crate) mod grow;
pub(crate) mod in_a_row;
pub(crate) mod knowledge;
pub(crate) mod learn;
pub(crate) mod tally;
pub(crate) mod trial;
