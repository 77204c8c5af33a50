//! Agents of a manifest become steps: one each, or a fan-out over their partitions.
//!
//! A failure ends its branch and no more: whoever depends on it is skipped, and the answer says what is missing.

use super::super::text::{Spanned, Text};
use super::super::workflow::{
    AgentStep, Common, ErrorRoute, ForEach, ForEachBody, Need, Step, StepKind, SuccessCriteria,
};
use super::lower::{Source, Work};
use super::order::{Order, are_names};
use super::texts::{Texts, introduction, mentions};
use super::{ATTEMPT, AgentSpec, DEPENDENCY_TOKENS, Manifest, Mode, Partitions};
use crate::diagnostic::{Diagnostic, Span};

/// The most items of a fan-out at one time: the run's limit bounds them.
const ALL_AT_ONCE: u64 = 100_000;
/// The loop variable.
const PARTITION: &str = "partition";
/// The key of an item: the item itself.
const ITSELF: &str = ".";
/// Ends a branch.
const END: &str = "$end";

/// What is at hand while agents become steps.
pub(super) struct Makes<'a> {
    pub manifest: &'a Manifest,
    pub order: &'a Order<'a>,
    pub texts: &'a Texts,
    pub mode: Mode,
    /// Whether there is one agent and nothing else.
    pub alone: bool,
}

impl Makes<'_> {
    /// Adds the step or the fan-out of a unit.
    pub fn add(&self, unit: usize, work: &mut Work) {
        let spec = &self.manifest.agents[self.order.units[unit].spec];
        let name = Spanned::new(self.order.name(unit), spec.id.span.clone());
        match (&spec.partitions, self.order.units[unit].partition) {
            (Some(partitions), None) => work.for_each.push(self.fan_out(unit, name, spec, partitions)),
            (Some(Partitions::Listed(listed)), Some(index)) => {
                work.steps.push(self.step(unit, name, spec, Some(&listed[index].value)));
            }
            _ => work.steps.push(self.step(unit, name, spec, None)),
        }
    }

    fn step(&self, unit: usize, name: Spanned<String>, spec: &AgentSpec, partition: Option<&str>) -> Step {
        let agent = self.agent(unit, spec, partition, partition.is_some());
        let mut common = described(spec);
        common.needs = self.needs(unit);
        common.on_error = self.on_error(&spec.common.span);
        Step { name, kind: StepKind::Agent(Box::new(agent)), common }
    }

    fn fan_out(
        &self,
        unit: usize,
        name: Spanned<String>,
        spec: &AgentSpec,
        partitions: &Partitions,
    ) -> ForEach {
        let span = spec.common.span.clone();
        let agent = self.agent(unit, spec, None, true);
        let body =
            Step { name: name.clone(), kind: StepKind::Agent(Box::new(agent)), common: described(spec) };
        let mut common = Common::at(&span);
        common.needs = self.needs(unit);
        common.on_error = self.on_error(&span);
        ForEach {
            source: match partitions {
                Partitions::Path(path) => path.clone(),
                Partitions::Listed(_) => Spanned::new(String::new(), span.clone()),
            },
            items: match partitions {
                Partitions::Path(_) => None,
                Partitions::Listed(listed) => {
                    let items = listed.iter().map(|item| item.value.as_str().into()).collect();
                    Some(Spanned::new(items, span.clone()))
                }
            },
            variable: Spanned::new(PARTITION.to_owned(), span.clone()),
            body: Some(ForEachBody::Inline(Box::new(body))),
            max_concurrent: Some(self.at_once(spec, &span)),
            failure_mode: spec.failure_mode,
            key_by: is_keyed(partitions).then(|| Spanned::new(ITSELF.to_owned(), span)),
            common,
            name,
        }
    }

    fn at_once(&self, spec: &AgentSpec, span: &Span) -> Spanned<u64> {
        let batch = self.manifest.batch_size.as_ref().filter(|_| self.manifest.barrier);
        let stated = spec.max_concurrent.as_ref().or(batch).cloned();
        match self.mode {
            Mode::Sequential => Spanned::new(1, span.clone()),
            _ => stated.unwrap_or_else(|| Spanned::new(ALL_AT_ONCE, span.clone())),
        }
    }

    fn agent(&self, unit: usize, spec: &AgentSpec, partition: Option<&str>, partitioned: bool) -> AgentStep {
        let mut step = dressed(self.manifest, self.texts, spec);
        step.prompt = Some(self.texts.prompt(spec, partition, partitioned, ""));
        if let Some(first) = spec.depends_on.first().filter(|_| self.passes_on(unit)) {
            let tokens = || Spanned::new(DEPENDENCY_TOKENS, first.on.span.clone());
            step.dependency_outputs = step.dependency_outputs.or_else(|| Some(tokens()));
        }
        step
    }

    fn passes_on(&self, unit: usize) -> bool {
        self.order.before[unit].iter().any(|edge| edge.stated.is_some())
    }

    fn needs(&self, unit: usize) -> Vec<Need> {
        let spec = &self.manifest.agents[self.order.units[unit].spec];
        let known = self.order.before[unit].iter().map(|edge| {
            let span = edge.stated.map_or(&spec.id.span, |entry| &spec.depends_on[entry].on.span).clone();
            let step = Spanned::new(self.order.name(edge.unit), span.clone());
            Need { step, requires: edge.requires, order: edge.stated.is_none(), span }
        });
        let unknown = self.order.unknown[unit].iter().map(|dependency| Need {
            step: dependency.on.clone(),
            requires: dependency.requires,
            order: false,
            span: dependency.on.span.clone(),
        });
        known.chain(unknown).collect()
    }

    /// A failure is not the end of the run, unless nothing else is there.
    fn on_error(&self, span: &Span) -> Vec<ErrorRoute> {
        let to = Spanned::new(END.to_owned(), span.clone());
        let route = ErrorRoute { classes: Vec::new(), to, span: span.clone() };
        if self.alone { Vec::new() } else { vec![route] }
    }
}

/// Whether partitions name their tasks; what a run finds in a list need not be text, or differ.
fn is_keyed(partitions: &Partitions) -> bool {
    matches!(partitions, Partitions::Listed(listed) if are_names(listed))
}

/// An agent with everything but its prompt.
pub(super) fn dressed(manifest: &Manifest, texts: &Texts, spec: &AgentSpec) -> AgentStep {
    let mut step = spec.step.clone();
    let stated = step.system_prompt.as_ref().map(|text| texts.written(text));
    step.system_prompt = Some(stated.unwrap_or_else(|| introduction(spec)));
    step.success_criteria = judged(manifest, step.success_criteria.take());
    if spec.common.timeout.is_none() && step.max_session.is_none() {
        step.max_session = Some(Spanned::new(ATTEMPT, spec.id.span.clone()));
    }
    step.tools = step.tools.map(|names| all_of_servers(manifest, names));
    step
}

/// What every step has; a role says what an agent is for.
pub(super) fn described(spec: &AgentSpec) -> Common {
    let mut common = spec.common.clone();
    common.description = common.description.or_else(|| spec.role.clone());
    common
}

/// Criteria are judged where the manifest says so; the agent is told of them anyway.
pub(super) fn judged(manifest: &Manifest, criteria: Option<SuccessCriteria>) -> Option<SuccessCriteria> {
    criteria.filter(|_| manifest.verify.criteria)
}

/// The name of a server among tools stands for all its tools.
fn all_of_servers(manifest: &Manifest, names: Vec<Spanned<String>>) -> Vec<Spanned<String>> {
    let servers = &manifest.runtime.mcp_servers;
    let tool = |name: Spanned<String>| match servers.contains_key(&name.value) {
        true => name.map(|server| format!("{server}__*")),
        false => name,
    };
    names.into_iter().map(tool).collect()
}

/// What the answer is made of: every agent, or those that the synthesis names; nothing where agents go in a circle.
pub(super) fn sources(manifest: &Manifest, order: &Order<'_>) -> Vec<Source> {
    if order.sequence().len() < order.units.len() {
        return Vec::new();
    }
    let named = &manifest.synthesis.step.of;
    let is_named = |id: &str| named.is_empty() || named.iter().any(|name| name.value == id);
    let mut sources = Vec::new();
    for unit in 0..order.units.len() {
        let spec = &manifest.agents[order.units[unit].spec];
        let name = Spanned::new(order.name(unit), spec.id.span.clone());
        // Names that are missing or stand twice are reported as such.
        let known = sources.iter().any(|earlier: &Source| earlier.name == name) || name.value.is_empty();
        if !known && (is_named(&spec.id.value) || is_named(&name.value)) {
            let count = order.expanded(unit).map(|names| names.len());
            sources.push(Source { name, title: title(manifest, spec), count });
        }
    }
    sources
}

/// What people call an agent: its role, with its name where others have the same role.
pub(super) fn title(manifest: &Manifest, spec: &AgentSpec) -> Option<String> {
    let role = spec.role.as_ref()?;
    let same = |other: &&AgentSpec| other.role.as_ref().is_some_and(|other| other.value == role.value);
    match manifest.agents.iter().filter(same).count() {
        1 => Some(role.value.clone()),
        _ => Some(format!("{} ({})", role.value, spec.id.value)),
    }
}

/// Warns of partitions that no text asks about.
pub(super) fn same_for_all(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    let says = |text: Option<&Text>| text.is_some_and(|text| mentions(&text.value, PARTITION));
    for spec in manifest.agents.iter().filter(|spec| spec.partitions.is_some() && spec.task.is_some()) {
        if !says(spec.task.as_ref()) && !says(spec.step.system_prompt.as_ref()) {
            let message = format!("agent `{}` is asked the same for every partition", spec.id.value);
            let place = spec.task.as_ref().map_or(&spec.id.span, |task| &task.span).clone();
            let found =
                Diagnostic::warning("workflow::no_effect", message, place, "says nothing of its partition");
            findings.push(found.help("write `{{ partition }}` where the partition belongs"));
        }
    }
}
