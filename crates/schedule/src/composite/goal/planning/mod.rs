//! What models answer, read strictly, whether a plan among that can be carried out, and the tasks that it becomes. Pure: texts in,
//! values out.

pub(super) mod answer;
pub(super) mod check;
pub(super) mod items;
