//! Agents of a manifest become steps: one each, or a fan-out over their partitions.
//!
//! A failure ends its branch and no more: what depends on it is skipped, and the answer says what is missing.

use std::collections::{HashMap, HashSet};

use super::super::text::{Spanned, Text};
use super::super::workflow::{
    AgentStep, Common, ErrorRoute, FailureMode, ForEach, ForEachBody, Need, Step, StepKind, SuccessCriteria,
    ValueType,
};
use super::lower::{Source, Work};
use super::order::{Order, are_names};
use super::texts::{Texts, introduction, mentions};
use super::{AgentSpec, DEPENDENCY_TOKENS, Manifest, Mode, Partitions};
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
    /// Adds the step or the fan-out of an agent.
    pub fn add(&self, agent: usize, work: &mut Work) {
        let spec = &self.manifest.agents[agent];
        match &spec.partitions {
            Some(partitions) => work.for_each.push(self.fan_out(agent, spec, partitions)),
            None => work.steps.push(self.step(agent, spec)),
        }
    }

    fn step(&self, agent: usize, spec: &AgentSpec) -> Step {
        let mut common = described(spec);
        common.needs = self.needs(agent);
        common.on_error = self.on_error(&spec.common.span);
        let kind = StepKind::Agent(Box::new(self.agent(agent, spec, false)));
        Step { name: spec.id.clone(), kind, common }
    }

    fn fan_out(&self, agent: usize, spec: &AgentSpec, partitions: &Partitions) -> ForEach {
        let (name, span) = (spec.id.clone(), spec.common.span.clone());
        let asked = self.agent(agent, spec, true);
        let body =
            Step { name: name.clone(), kind: StepKind::Agent(Box::new(asked)), common: described(spec) };
        let mut common = Common::at(&span);
        common.needs = self.needs(agent);
        common.on_error = self.on_error(&span);
        let (source, items) = match partitions {
            Partitions::Path(path) => (path.clone(), None),
            Partitions::Listed(listed) => {
                let items = listed.iter().map(|item| item.value.as_str().into()).collect();
                (Spanned::new(String::new(), span.clone()), Some(Spanned::new(items, span.clone())))
            }
        };
        ForEach {
            source,
            named: items.is_none(),
            items,
            variable: Spanned::new(PARTITION.to_owned(), span.clone()),
            body: Some(ForEachBody::Inline(Box::new(body))),
            max_concurrent: Some(self.at_once(spec, &span)),
            in_batches: self.batch().is_some(),
            failure_mode: spec.failure_mode,
            key_by: is_keyed(partitions).then(|| Spanned::new(ITSELF.to_owned(), span)),
            common,
            name,
        }
    }

    fn batch(&self) -> Option<&Spanned<u64>> {
        self.manifest.batch_size.as_ref().filter(|_| self.manifest.barrier)
    }

    fn at_once(&self, spec: &AgentSpec, span: &Span) -> Spanned<u64> {
        let stated = [spec.max_concurrent.as_ref(), self.batch()].into_iter().flatten();
        match self.mode {
            Mode::Sequential => Spanned::new(1, span.clone()),
            _ => stated
                .min_by_key(|limit| limit.value)
                .cloned()
                .unwrap_or_else(|| Spanned::new(ALL_AT_ONCE, span.clone())),
        }
    }

    fn agent(&self, agent: usize, spec: &AgentSpec, partitioned: bool) -> AgentStep {
        let mut step = dressed(self.manifest, self.texts, spec);
        step.prompt = Some(self.texts.prompt(spec, partitioned, ""));
        if let Some(first) = spec.depends_on.first().filter(|_| self.passes_on(agent)) {
            let tokens = || Spanned::new(DEPENDENCY_TOKENS, first.on.span.clone());
            step.dependency_outputs = step.dependency_outputs.or_else(|| Some(tokens()));
        }
        step
    }

    fn passes_on(&self, agent: usize) -> bool {
        self.order.before[agent].iter().any(|edge| edge.stated.is_some())
    }

    fn needs(&self, agent: usize) -> Vec<Need> {
        let spec = &self.manifest.agents[agent];
        let known = self.order.before[agent].iter().map(|edge| {
            let span = edge.stated.map_or(&spec.id.span, |entry| &spec.depends_on[entry].on.span).clone();
            let step = Spanned::new(self.order.name(edge.agent).to_owned(), span.clone());
            let item = edge.partition.map(|position| position as u32);
            Need { step, requires: edge.requires, order: edge.stated.is_none(), item, span }
        });
        let unknown = self.order.unknown[agent].iter().map(|dependency| Need {
            step: dependency.on.clone(),
            requires: dependency.requires,
            order: false,
            item: None,
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
        step.max_session = Some(Spanned::new(manifest.attempt, spec.id.span.clone()));
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
    let servers = &manifest.head.runtime.mcp_servers;
    let tool = |name: Spanned<String>| match servers.contains_key(&name.value) {
        true => name.map(|server| format!("{server}__*")),
        false => name,
    };
    names.into_iter().map(tool).collect()
}

/// What the answer is made of: every agent, or those that the synthesis names; nothing where agents go in a circle.
pub(super) fn sources(manifest: &Manifest, order: &Order<'_>) -> Vec<Source> {
    if !order.is_sound() {
        return Vec::new();
    }
    let named: HashSet<&str> = manifest.synthesis.step.of.iter().map(|name| name.value.as_str()).collect();
    let roles = roles(manifest);
    // Names that are missing or stand twice are reported as such.
    let mut seen = HashSet::from([""]);
    let mut sources = Vec::new();
    for (agent, spec) in manifest.agents.iter().enumerate() {
        let name = spec.id.value.as_str();
        if seen.insert(name) && (named.is_empty() || named.contains(name)) {
            let title = title(&roles, spec);
            sources.push(Source { name: spec.id.clone(), title, count: order.count_of(agent) });
        }
    }
    sources
}

/// How many agents have each role.
pub(super) fn roles(manifest: &Manifest) -> HashMap<&str, usize> {
    let mut roles = HashMap::new();
    for role in manifest.agents.iter().filter_map(|spec| spec.role.as_ref()) {
        *roles.entry(role.value.as_str()).or_default() += 1;
    }
    roles
}

/// What people call an agent: its role, with its name where others have the same role.
pub(super) fn title(roles: &HashMap<&str, usize>, spec: &AgentSpec) -> Option<String> {
    let role = spec.role.as_ref()?;
    match roles.get(role.value.as_str()) {
        Some(0..=1) | None => Some(role.value.clone()),
        Some(_) => Some(format!("{} ({})", role.value, spec.id.value)),
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

/// Partitions that cannot be what the agent makes of them: too few for its quorum, or no list.
pub(super) fn unfit_partitions(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    for spec in &manifest.agents {
        findings.extend(match &spec.partitions {
            Some(Partitions::Listed(listed)) => too_large_a_quorum(spec, listed.len()),
            Some(Partitions::Path(path)) => no_list(manifest, spec, path),
            None => None,
        });
    }
}

fn too_large_a_quorum(spec: &AgentSpec, count: usize) -> Option<Diagnostic> {
    let FailureMode::Quorum(min) = spec.failure_mode else { return None };
    (min > count as u64).then(|| {
        let message =
            format!("agent `{}`: a quorum of {min} is more than its {count} partitions", spec.id.value);
        Diagnostic::error("workflow::out_of_range", message, spec.id.span.clone(), "can never be met")
    })
}

/// An input that partitions are read from is a list.
fn no_list(manifest: &Manifest, spec: &AgentSpec, path: &Spanned<String>) -> Option<Diagnostic> {
    let input = manifest.head.inputs.as_ref()?.get(input_of(&path.value)?)?;
    let kind = input.value.kind.value;
    (kind != ValueType::Array).then(|| {
        let message = format!(
            "`partitions` of agent `{}`: `{}` is declared as {}, not as array",
            spec.id.value,
            path.value,
            kind.word()
        );
        Diagnostic::error("workflow::wrong_type", message, path.span.clone(), "no list")
            .also(input.value.kind.span.clone(), "declared here")
    })
}

/// The input that a path leads to, where it leads to one as a whole.
pub(super) fn input_of(path: &str) -> Option<&str> {
    path.strip_prefix("workflow.input.").filter(|name| !name.contains('.'))
}
