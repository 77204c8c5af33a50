//! Bounds of a manifest that the process does not grant, in words: what a run says about itself once.
//!
//! `caps` makes the bounds tighter; this only tells which became so, one sentence for each bound and value.

use super::super::caps::Caps;
use crate::plan::{Kind, Plan, Workflow};
use crate::source::workflow as source;
use convoke_model::Violation;

/// More names than this are not listed.
const LISTED: usize = 5;

/// What a plan states that is not bounded.
const NONE: u64 = u64::MAX;

/// Which bounds were cut, and where.
#[derive(Default)]
pub(in crate::compile) struct Cuts(Vec<Cut>);

struct Cut {
    bound: &'static str,
    stated: u64,
    granted: u32,
    places: Vec<String>,
}

impl Cuts {
    /// A bound that was stated so, and comes to so much.
    fn note(&mut self, bound: &'static str, stated: Option<u64>, granted: u32, place: Option<&str>) {
        let Some(stated) = stated.filter(|stated| *stated > u64::from(granted)) else { return };
        let same = |cut: &&mut Cut| (cut.bound, cut.stated, cut.granted) == (bound, stated, granted);
        let place = place.map(str::to_owned);
        match self.0.iter_mut().find(same) {
            Some(cut) => cut.places.extend(place.filter(|place| !cut.places.contains(place))),
            None => self.0.push(Cut { bound, stated, granted, places: place.into_iter().collect() }),
        }
    }

    /// A process that states no bound of its own takes nothing.
    fn note_concurrency(&mut self, stated: Option<u64>, caps: &Caps) {
        if let Some(granted) = caps.concurrent {
            self.note("limits.max_concurrency", stated, granted, None);
        }
    }

    fn words(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|cut| {
            let (bound, stated, granted) = (cut.bound, cut.stated, cut.granted);
            let places = listed(&cut.places);
            let stated = if stated == NONE { String::new() } else { format!(" instead of {stated}") };
            format!("`{bound}` is {granted}{stated}{places}: the process allows no more")
        })
    }
}

fn listed(places: &[String]) -> String {
    match places.len() {
        0 => String::new(),
        count if count > LISTED => {
            format!(" ({} and {} more)", places[..LISTED].join(", "), count - LISTED)
        }
        _ => format!(" ({})", places.join(", ")),
    }
}

/// What caps take from a manifest.
pub(in crate::compile) fn of_source(workflow: &source::Workflow, caps: &Caps) -> Vec<String> {
    let mut cuts = Cuts::default();
    for step in &workflow.agents {
        let source::StepKind::Phase(phase) = &step.kind else { continue };
        let retries = phase.max_retries.as_ref().map(|count| count.value);
        cuts.note("maxRetries", retries, caps.topology_retries, Some(&step.name.value));
        cuts.note("topologyConstraints.maxDepth", phase.max_depth, caps.depth(None), None);
        for role in &phase.roles {
            let persona = Some(role.persona.value.as_str());
            cuts.note("maxDepth", role.max_depth, caps.depth(None), persona);
            cuts.note("maxChildren", role.max_children, caps.children(None), persona);
        }
    }
    let limit = workflow.limits.max_concurrency.as_ref().map(|limit| limit.value);
    cuts.note_concurrency(limit, caps);
    let stated = workflow.pipeline.as_ref().and_then(|pipeline| pipeline.violation);
    cuts.words().chain(stated.and_then(|stated| another_mode(stated, caps))).collect()
}

/// What caps take from a workflow of a plan that was made under others.
pub(in crate::compile) fn of_plan(workflow: &Workflow, caps: &Caps) -> Vec<String> {
    let mut cuts = Cuts::default();
    for node in &workflow.nodes {
        let Kind::Phase(phase) = &node.kind else { continue };
        let retries = u64::from(phase.max_tries.saturating_sub(1));
        cuts.note("maxRetries", Some(retries), caps.topology_retries, Some(&node.name));
        cuts.note("topologyConstraints.maxDepth", Some(phase.max_depth.into()), caps.depth(None), None);
        for role in &phase.children {
            let persona = Some(&*role.persona);
            // What a phase has no deeper level for is cut with it.
            let depth = Some(u64::from(role.max_depth)).filter(|depth| *depth < u64::from(phase.max_depth));
            cuts.note("maxDepth", depth, caps.depth(None), persona);
            cuts.note("maxChildren", Some(role.max_children.into()), caps.children(None), persona);
        }
    }
    let limit = workflow.limits.max_concurrency.map_or(NONE, u64::from);
    cuts.note_concurrency(Some(limit), caps);
    let before = workflow.pipeline.as_ref().map(|pipeline| pipeline.violation);
    let tighter = caps.violation == Some(Violation::HardAbort);
    let mode = before.filter(|_| tighter).and_then(|before| another_mode(before, caps));
    cuts.words().chain(mode).collect()
}

fn another_mode(stated: Violation, caps: &Caps) -> Option<String> {
    let mode = caps.violation.filter(|mode| *mode != stated)?;
    Some(format!("`violationMode` is {} instead of {}: the process says so", word(mode), word(stated)))
}

fn word(mode: Violation) -> &'static str {
    match mode {
        Violation::HardAbort => "hard_abort",
        Violation::ValidationFail => "validation_fail",
        Violation::Reported => "reported",
    }
}

impl Plan {
    /// Bounds of its pipelines that the process does not grant, in words.
    pub fn bounds_cut(&self) -> impl Iterator<Item = String> {
        let pipelines = self.workflows.iter().filter_map(|one| Some((one, one.pipeline.as_ref()?)));
        pipelines.flat_map(|(workflow, pipeline)| {
            pipeline.cut.iter().map(|words| format!("pipeline `{}`: {words}", workflow.name))
        })
    }
}
