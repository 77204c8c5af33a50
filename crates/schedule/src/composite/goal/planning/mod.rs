//! What models answer, read strictly, and whether a plan among that can be carried out. Pure: texts in, values out.

pub(super) mod answer;
pub(super) mod check;
pub(super) mod proposal;
