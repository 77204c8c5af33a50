//! Bounds of a pipeline that the process does not grant: the run notes each of them once, however often it is resumed.

use convoke_model::{Event, Stamped};
use convoke_plan::Plan;

/// The code of these notes.
pub(crate) const CUT: &str = "bounds_cut";

/// What the journal does not say yet.
pub(crate) fn untold(plan: &Plan, history: &[Stamped]) -> Vec<Event> {
    let is_told = |words: &String| {
        history.iter().any(|stamped| {
            matches!(&stamped.event, Event::Noted { code, message, .. } if code == CUT && message == words)
        })
    };
    let untold = plan.bounds_cut().filter(|words| !is_told(words));
    untold.map(|message| Event::Noted { task: None, code: CUT.to_owned(), message }).collect()
}
