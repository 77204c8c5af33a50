//! Outputs of a workflow that some way through it leaves without a value.

use super::outline::{END, Item, Outline};
use super::reach::Reach;
use super::texts::Site;
use crate::diagnostic::Diagnostic;
use crate::source::workflow::{Step, StepKind};
use crate::template::Reference;
use std::collections::{HashMap, HashSet};

/// Unguarded references of the final output to steps that a successful run may skip.
pub(super) fn check(
    outline: &Outline<'_>,
    reach: &Reach,
    sites: &[(Site<'_>, Vec<Reference>)],
) -> Vec<Diagnostic> {
    let mut ways = Ways::new(outline);
    let mut findings = Vec::new();
    // A text that asks whether some step ran knows that steps may be skipped; its other branches are its own affair.
    for (site, references) in sites.iter().filter(|(_, references)| !asks(outline, references)) {
        let mut said = HashSet::new();
        for reference in references.iter().filter(|reference| !reference.guarded) {
            let Some(ix) = reference.path.first().and_then(|root| outline.find(root)) else { continue };
            if reach.runs(ix) && outline.parents[ix].is_empty() && ways.may_skip(ix) && said.insert(ix) {
                findings.push(skipped(outline, site, reference, ix));
            }
        }
    }
    findings
}

fn asks(outline: &Outline<'_>, references: &[Reference]) -> bool {
    references.iter().any(|reference| reference.guarded && outline.find(&reference.path[0]).is_some())
}

fn skipped(outline: &Outline<'_>, site: &Site<'_>, reference: &Reference, ix: usize) -> Diagnostic {
    let name = outline.name(ix);
    let message = format!("workflow {} reads `{name}`, which some ways through the workflow skip", site.key);
    let place = site.text.place_of(reference.range.clone());
    Diagnostic::warning("workflow::may_be_skipped", message, place, "may have no output")
        .also(outline.items[ix].name().span.clone(), "not always run")
        .help(format!("guard it: `{{{{ … if {name} is defined else none }}}}`"))
}

/// The ways from the starts of a workflow to its ends.
struct Ways<'a, 'b> {
    outline: &'b Outline<'a>,
    starts: Vec<usize>,
    /// Items that start when what they need is done, and lead on from there.
    by_needs: Vec<usize>,
    known: HashMap<usize, bool>,
}

impl<'a, 'b> Ways<'a, 'b> {
    fn new(outline: &'b Outline<'a>) -> Self {
        let starts = outline.entries();
        // A branch that starts at an item never ends without it.
        let known = starts.iter().map(|start| (*start, false)).collect();
        let leads_on = |ix: &usize| !outline.needs(*ix).is_empty() && !outline.leads(*ix).is_empty();
        let by_needs = (0..outline.items.len()).filter(leads_on).collect();
        Self { outline, starts, by_needs, known }
    }

    /// Whether a run can end well without this item.
    fn may_skip(&mut self, ix: usize) -> bool {
        if let Some(known) = self.known.get(&ix) {
            return *known;
        }
        // Needs form no circle in a file that is otherwise right; in one that is not, this ends the recursion.
        self.known.insert(ix, true);
        let skips =
            !self.surely_started(ix) && self.starts.iter().all(|start| self.can_end_without(*start, ix));
        self.known.insert(ix, skips);
        skips
    }

    /// Started by needs that surely run, or from such a step by routes that all lead here.
    fn surely_started(&mut self, ix: usize) -> bool {
        let needs = self.outline.needs(ix);
        if !needs.is_empty() {
            return needs.into_iter().all(|need| !self.may_skip(need));
        }
        let by_needs = self.by_needs.clone();
        by_needs.into_iter().any(|start| !self.can_end_without(start, ix) && !self.may_skip(start))
    }

    /// Whether a branch that starts here can end without passing an item.
    fn can_end_without(&self, start: usize, without: usize) -> bool {
        let mut seen = vec![false; self.outline.items.len()];
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            if at == without || std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if self.ends(at) {
                return true;
            }
            open.extend(self.outline.successors(at));
        }
        false
    }

    /// Whether a branch can end at an item, with the workflow's own output.
    fn ends(&self, ix: usize) -> bool {
        let item = self.outline.items[ix];
        if let Item::Step(Step { kind: StepKind::Terminate(terminate), .. }) = item {
            return terminate.output_template.is_none();
        }
        let leads = self.outline.leads(ix);
        let aborts_to_end =
            item.questions().is_some_and(|step| step.allow_abort && step.abort_route.is_none());
        leads.is_empty() || aborts_to_end || leads.iter().any(|lead| lead.to.value == END)
    }
}
