//! What stands around a file that others call: the files on the way down to it, and the groups that its callers stand in.
//!
//! A file that is called from two places stands under both. Circles are refused elsewhere; here they end nothing.

use super::load::Bundle;
use crate::check::outline::{Item, Outline};
use crate::source::workflow::{Common, Step, StepKind, Workflow};

/// A place that a file is called from.
pub(super) struct Caller<'a> {
    /// The file that calls, by its number.
    pub file: usize,
    /// The step that calls, then the groups around it.
    pub around: Vec<&'a Common>,
}

/// For each file of a bundle, the places that it is called from.
pub(super) struct Callers<'a>(Vec<Vec<Caller<'a>>>);

impl<'a> Callers<'a> {
    /// Looks at all files.
    pub fn new(bundle: &'a Bundle) -> Callers<'a> {
        let mut callers: Vec<_> = bundle.workflows.iter().map(|_| Vec::new()).collect();
        for (file, workflow) in bundle.workflows.iter().enumerate() {
            for (called, around) in calls(bundle, workflow) {
                callers[called].push(Caller { file, around });
            }
        }
        Callers(callers)
    }

    /// Every place on the way down to a file, nearest first.
    pub fn above(&self, file: usize) -> Vec<&Caller<'a>> {
        let mut above: Vec<&Caller<'a>> = self.0[file].iter().collect();
        let mut seen = vec![file];
        let mut next = 0;
        while let Some(file) = above.get(next).map(|caller| caller.file) {
            next += 1;
            if !seen.contains(&file) {
                seen.push(file);
                above.extend(&self.0[file]);
            }
        }
        above
    }
}

/// The files that a file calls, each with the step and the groups around it.
fn calls<'a>(bundle: &Bundle, workflow: &'a Workflow) -> Vec<(usize, Vec<&'a Common>)> {
    let outline = Outline::new(workflow);
    let called = |step: &Step| match &step.kind {
        StepKind::Workflow(call) => bundle.child(workflow, &call.workflow.as_ref()?.value),
        _ => None,
    };
    let items = outline.items.iter().enumerate().filter_map(|(ix, item)| match item {
        Item::Step(step) => Some((called(step)?, around(&outline, step, outline.parents[ix].clone()))),
        _ => None,
    });
    let inline =
        outline.inline().filter_map(|(ix, step)| Some((called(step)?, around(&outline, step, vec![ix]))));
    items.chain(inline).collect()
}

/// A step, the groups that it stands in, and those that they stand in.
fn around<'a>(outline: &Outline<'a>, step: &'a Step, mut found: Vec<usize>) -> Vec<&'a Common> {
    let mut next = 0;
    while let Some(group) = found.get(next).copied() {
        next += 1;
        let outer = outline.parents[group].iter().filter(|outer| !found.contains(outer));
        let outer: Vec<usize> = outer.copied().collect();
        found.extend(outer);
    }
    let groups = found.into_iter().map(|ix| outline.items[ix].common());
    std::iter::once(&step.common).chain(groups).collect()
}
