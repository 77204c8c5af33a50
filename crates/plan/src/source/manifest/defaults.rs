//! What holds for execution manifests that say nothing of their own: the configuration's part.
//!
//! A manifest that states a value keeps it. Nothing here is about workflows.

use super::{ATTEMPT, CONCURRENCY, Manifest};
use crate::plan::Strategy;
use crate::source::text::Spanned;
use std::time::Duration;

/// Values for manifests that state none.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestDefaults {
    /// Agents at one time.
    pub max_concurrency: u64,
    /// Agents of one level at a time, where levels are held apart.
    pub batch_size: Option<u64>,
    /// How outputs become one answer.
    pub strategy: Strategy,
    /// The most outputs in one call; `None` is the reduce step's own default.
    pub ratio: Option<u64>,
    /// For one attempt of an agent that states no bound.
    pub attempt: Duration,
    /// Where `auto` would merge level by level, outputs are merged as they arrive.
    pub progressive: bool,
}

impl Default for ManifestDefaults {
    fn default() -> ManifestDefaults {
        ManifestDefaults {
            max_concurrency: CONCURRENCY,
            batch_size: None,
            strategy: Strategy::Auto,
            ratio: None,
            attempt: ATTEMPT,
            progressive: false,
        }
    }
}

impl Manifest {
    /// The manifest with the defaults where it says nothing.
    pub(in crate::source) fn completed(mut self, defaults: &ManifestDefaults) -> Manifest {
        let span = self.head.span.clone();
        let or = |stated: Option<Spanned<u64>>, usual: Option<u64>| {
            stated.or_else(|| usual.map(|usual| Spanned::new(usual, span.clone())))
        };
        let limits = &mut self.head.limits;
        limits.max_concurrency = or(limits.max_concurrency.take(), Some(defaults.max_concurrency));
        self.batch_size = or(self.batch_size, defaults.batch_size);
        let synthesis = &mut self.synthesis;
        synthesis.step.ratio = or(synthesis.step.ratio.take(), defaults.ratio);
        // Of a team its protocol decides, and this was not written.
        if !synthesis.states_strategy && self.team.is_none() {
            synthesis.step.strategy.value = defaults.strategy;
        }
        synthesis.progressive = defaults.progressive;
        self.attempt = defaults.attempt;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::read_workflow_with;
    use crate::source::testing::Memory;
    use crate::source::workflow::{StepKind, Workflow};

    fn read(text: &str, defaults: &ManifestDefaults) -> Workflow {
        let (workflow, findings) =
            read_workflow_with("m.yaml", &Memory::default().file("m.yaml", text), defaults);
        assert!(findings.is_empty(), "{findings:?}");
        workflow.unwrap()
    }

    /// The strategy and the ratio of the synthesis.
    fn synthesis(workflow: &Workflow) -> (Strategy, Option<u64>) {
        let mut steps = workflow.agents.iter();
        let reduce = steps.find_map(|step| match &step.kind {
            StepKind::Reduce(reduce) => Some(reduce),
            _ => None,
        });
        let reduce = reduce.unwrap();
        (reduce.strategy.value, reduce.ratio.as_ref().map(|ratio| ratio.value))
    }

    fn attempt(workflow: &Workflow) -> Duration {
        let mut steps = workflow.agents.iter();
        steps.find_map(|step| step.models().next()?.max_session.as_ref()).unwrap().value
    }

    #[test]
    fn a_manifest_keeps_what_it_states() {
        let agents: String = (0..12).map(|number| format!("  - {{id: a{number}, task: t}}\n")).collect();
        let manifest = |head: &str| format!("query: q\n{head}agents:\n{agents}");
        let defaults = ManifestDefaults {
            max_concurrency: 5,
            batch_size: Some(3),
            strategy: Strategy::Flat,
            ratio: Some(4),
            attempt: Duration::from_secs(7),
            progressive: false,
        };
        let silent = read(&manifest(""), &defaults);
        assert_eq!(silent.limits.max_concurrency.as_ref().unwrap().value, 5);
        assert_eq!(
            (synthesis(&silent), attempt(&silent)),
            ((Strategy::Flat, Some(4)), Duration::from_secs(7))
        );
        let head = "max_concurrency: 9\nsynthesis: {strategy: hierarchical, ratio: 6}\n";
        let stated = read(&manifest(head), &defaults);
        assert_eq!(stated.limits.max_concurrency.as_ref().unwrap().value, 9);
        assert_eq!(synthesis(&stated), (Strategy::Hierarchical, Some(6)));
        let auto = read(&manifest("synthesis: auto\n"), &defaults);
        assert_eq!(synthesis(&auto).0, Strategy::Hierarchical, "a stated `auto` is what it says");
        let batches = read(&manifest("barrier: true\n"), &defaults);
        assert_eq!(batches.metadata["manifest"]["batch_size"], 3);
        let progressive = ManifestDefaults { progressive: true, ..ManifestDefaults::default() };
        assert_eq!(synthesis(&read(&manifest(""), &progressive)).0, Strategy::Progressive);
    }
}
