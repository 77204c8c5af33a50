//! From a manifest to the workflow that does its work.

use std::sync::Arc;

use indexmap::IndexMap;

use super::super::text::{Spanned, Text};
use super::super::workflow::{
    AgentStep, Entry, ForEach, InputField, Names, ParallelGroup, Step, ValueType, VoteSettings, Workflow,
};
use super::order::Order;
use super::texts::{Texts, is_rendered, uses_query};
use super::{AgentSpec, Manifest, Mode, Partitions, agents, report, synthesis, teams};
use crate::diagnostic::{Diagnostic, SourceFile, Span};
use crate::plan::InputRule;

/// The workflow of a manifest; what contradicts itself between its agents is added to the findings.
pub(in crate::source) fn workflow(
    manifest: &Manifest,
    file: &Arc<SourceFile>,
    path: &str,
    files: &[Arc<SourceFile>],
    findings: &mut Vec<Diagnostic>,
) -> Workflow {
    let mut work = match &manifest.team {
        Some(team) => teams::work(manifest, team, findings),
        None => by_dependencies(manifest, findings),
    };
    let mut workflow = empty(manifest, file, path, files);
    // Without sources something is wrong that is said already.
    if !work.sources.is_empty() {
        let answer = synthesis::add(manifest, &mut work, findings);
        no_own_steps(&mut work, &answer, findings);
        workflow.output = Some(report::output(&work, &answer));
    }
    workflow.metadata.insert("manifest".to_owned(), report::record(&work, manifest.batch_size.as_ref()));
    workflow.limits.max_iterations = workflow.limits.max_iterations.or(work.iterations);
    workflow.entry_point = work.entry;
    workflow.agents = work.steps;
    workflow.parallel = work.parallel;
    workflow.for_each = work.for_each;
    workflow
}

/// No agent can depend on the steps that make the answer: they come last.
fn no_own_steps(work: &mut Work, answer: &synthesis::Answer, findings: &mut Vec<Diagnostic>) {
    let own = |name: &str| name == answer.merged || answer.verified.as_deref() == Some(name);
    let steps = work.steps.iter_mut().filter(|step| !own(&step.name.value));
    let steps = steps.map(|step| (&step.name.value, &mut step.common.needs));
    let groups = work.for_each.iter_mut().map(|group| (&group.name.value, &mut group.common.needs));
    for (agent, needs) in steps.chain(groups) {
        needs.retain(|need| {
            let is_own = own(&need.step.value);
            if is_own {
                let message =
                    format!("agent `{agent}` depends on `{}`, which comes after all agents", need.step.value);
                let place = need.span.clone();
                findings.push(Diagnostic::error("workflow::unknown_value", message, place, "not an agent"));
            }
            !is_own
        });
    }
}

/// Steps and what is known about them, while they are being made.
pub(super) struct Work {
    /// All steps so far.
    pub steps: Vec<Step>,
    /// All groups so far.
    pub parallel: Vec<ParallelGroup>,
    /// All fan-outs so far.
    pub for_each: Vec<ForEach>,
    /// Where it begins, where needs do not say it.
    pub entry: Names,
    /// Steps that routes may start, where there are routes.
    pub iterations: Option<Spanned<u64>>,
    /// The steps whose outputs the answer is made of, each with its name for people.
    pub sources: Vec<Source>,
    /// How the answer's step is reached.
    pub reached: Reached,
    /// Where the answer's step leads back to while nothing is decided.
    pub leads_back: Option<LeadsBack>,
    /// The agent that merges, where one does.
    pub merger: Option<AgentStep>,
    /// How votes are counted, where the answer is a vote.
    pub vote: Option<VoteSettings>,
    /// What the result says about how the work was done.
    pub shape: report::Shape,
}

/// Something that the answer is made of.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// The name of a step or group, with a place.
    pub name: Spanned<String>,
    /// The agent's role, where it says more than the name.
    pub title: Option<String>,
    /// How many outputs it stands for; `None` when that is not known yet.
    pub count: Option<usize>,
}

/// A route from the answer's step to an earlier one.
#[derive(Debug, Clone)]
pub(super) struct LeadsBack {
    /// The step or group.
    pub to: String,
    /// While this holds.
    pub when: String,
}

/// How the step that makes the answer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    /// When all its sources have ended, well or not.
    EndOfAll,
    /// When its only source has succeeded: without that one there is nothing to answer with.
    SuccessOfOne,
    /// A route leads to it.
    Route,
}

impl Work {
    /// Whether a name is taken.
    pub fn is_taken(&self, name: &str) -> bool {
        self.steps.iter().any(|step| step.name.value == name)
            || self.parallel.iter().any(|group| group.name.value == name)
            || self.for_each.iter().any(|group| group.name.value == name)
    }

    /// A name for a step of our own, which templates can use.
    pub fn free_name(&self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while self.is_taken(&name) {
            name.push('_');
        }
        name
    }
}

/// Agents that follow one another by their dependencies, and by the mode.
pub(super) fn by_dependencies(manifest: &Manifest, findings: &mut Vec<Diagnostic>) -> Work {
    let mut order = Order::new(&manifest.agents);
    let count = order.count();
    let mode = resolve(manifest.mode, count, order.has_dependencies());
    let turns = turns(manifest, &order, mode);
    if mode == Mode::Sequential || manifest.barrier {
        order.in_turn(&turns.agents);
    }
    let texts = Texts::new(manifest);
    let makes = agents::Makes { manifest, order: &order, texts: &texts, mode, alone: count == Some(1) };
    let mut work = Work {
        steps: Vec::new(),
        parallel: Vec::new(),
        for_each: Vec::new(),
        entry: Vec::new(),
        iterations: None,
        sources: agents::sources(manifest, &order),
        reached: if count == Some(1) { Reached::SuccessOfOne } else { Reached::EndOfAll },
        leads_back: None,
        merger: None,
        vote: None,
        shape: report::by_levels(manifest.mode, mode, &order, &turns),
    };
    for agent in 0..order.len() {
        makes.add(agent, &mut work);
    }
    agents::same_for_all(manifest, findings);
    agents::unfit_partitions(manifest, findings);
    work
}

/// What `auto` means: alone in sequence, up to five without dependencies in parallel, else by levels.
fn resolve(mode: Mode, count: Option<usize>, has_dependencies: bool) -> Mode {
    match (mode, count) {
        (Mode::Auto, Some(1)) => Mode::Sequential,
        (Mode::Auto, Some(2..=5)) if !has_dependencies => Mode::Parallel,
        (Mode::Auto, _) => Mode::Wave,
        (stated, _) => stated,
    }
}

/// Which agents are one level.
pub(super) struct Turns {
    /// All that could run at once, or fewer where the manifest bounds them.
    pub agents: Vec<Vec<usize>>,
    /// How many at most, partitions counted.
    pub size: Option<usize>,
}

fn turns(manifest: &Manifest, order: &Order<'_>, mode: Mode) -> Turns {
    let size = manifest.batch_size.as_ref().filter(|_| manifest.barrier).map(|size| size.value as usize);
    match (mode, size) {
        (Mode::Sequential, _) => {
            Turns { agents: order.sequence().into_iter().map(|agent| vec![agent]).collect(), size: Some(1) }
        }
        (_, Some(size)) => Turns { agents: order.batches(size), size: Some(size) },
        (_, None) => Turns { agents: order.levels(), size: None },
    }
}

fn empty(manifest: &Manifest, file: &Arc<SourceFile>, path: &str, files: &[Arc<SourceFile>]) -> Workflow {
    let workflow = manifest.head.workflow(file, path, files);
    Workflow { input: Some(inputs(manifest)), from_manifest: true, ..workflow }
}

/// `query` and `context`, then what the manifest declares.
fn inputs(manifest: &Manifest) -> IndexMap<String, Entry<InputField>> {
    let mut inputs = IndexMap::new();
    let needed = manifest.agents.iter().any(uses_query);
    // An empty query is none where an agent is asked just that.
    let says_something = |text: &&Text| !text.value.trim().is_empty() || manifest.agents.iter().all(has_task);
    let query = manifest.query.as_ref().filter(says_something);
    let filled = needed && query.is_none_or(|text| !text.value.trim().is_empty());
    let texts = [
        ("query", query, needed, filled, "what is to be answered"),
        ("context", manifest.context.as_ref(), false, false, "what every agent is told besides its task"),
    ];
    for (name, text, required, filled, about) in texts {
        let declared = manifest.head.inputs.as_ref().is_some_and(|inputs| inputs.contains_key(name));
        if !declared {
            let key = Spanned::new(name.to_owned(), manifest.head.span.clone());
            let mut field = text_input(text, required, about, &manifest.head.span);
            if filled {
                field.rule = InputRule::Filled;
            }
            if text.is_some_and(|text| is_rendered(manifest, text)) {
                // The template stands where nothing is given.
                (field.default, field.rule) = (None, InputRule::None);
            }
            inputs.insert(name.to_owned(), Entry { key, value: field });
        }
    }
    inputs.extend(manifest.head.inputs.clone().unwrap_or_default());
    for path in manifest.agents.iter().filter_map(path_of_partitions) {
        if let Some(input) = agents::input_of(path).and_then(|name| inputs.get_mut(name)) {
            input.value.rule = InputRule::Parts;
        }
    }
    inputs
}

fn path_of_partitions(spec: &AgentSpec) -> Option<&str> {
    match &spec.partitions {
        Some(Partitions::Path(path)) => Some(&path.value),
        _ => None,
    }
}

fn has_task(spec: &AgentSpec) -> bool {
    spec.task.is_some()
}

fn text_input(text: Option<&Text>, required: bool, about: &str, span: &Span) -> InputField {
    let value = |text: &Text| Spanned::new(serde_json::Value::from(text.value.as_str()), text.span.clone());
    InputField {
        kind: Spanned::new(ValueType::String, span.clone()),
        required: required && text.is_none(),
        default: text.map(value),
        description: Some(Spanned::new(about.to_owned(), span.clone())),
        rule: InputRule::None,
        files: false,
        span: text.map_or_else(|| span.clone(), |text| text.span.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_follows_the_number_of_agents_and_their_dependencies() {
        let cases = [
            (1, false, Mode::Sequential),
            (2, false, Mode::Parallel),
            (5, false, Mode::Parallel),
            (2, true, Mode::Wave),
            (6, false, Mode::Wave),
            (51, true, Mode::Wave),
        ];
        for (count, dependencies, expected) in cases {
            assert_eq!(resolve(Mode::Auto, Some(count), dependencies), expected, "{count} {dependencies}");
        }
        assert_eq!(resolve(Mode::Auto, None, false), Mode::Wave);
        assert_eq!(resolve(Mode::Mixed, Some(1), false), Mode::Mixed);
    }
}
