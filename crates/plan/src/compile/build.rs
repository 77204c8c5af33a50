//! Turns the files of a bundle into the workflows of a plan.

use super::Options;
use super::around::Callers;
use super::caps::Caps;
use super::hash;
use super::load::Bundle;
use super::partials::Partials;
use super::prices;
use super::provider::Providers;
use super::servers;
use super::skills::Skills;
use super::texts::Texts;
use crate::check::outline::Outline;
use crate::diagnostic::SourceFile;
use crate::plan::*;
use crate::source::declared;
use crate::source::workflow as source;
use convoke_model::{Approvals, Price, ProviderSettings, Servers};
use indexmap::IndexMap;
use std::collections::HashSet;
use std::sync::Arc;

/// Visits, where nothing is said.
const MAX_ITERATIONS: u32 = 10;
/// Tasks, where nothing is said.
const MAX_TASKS: u32 = 100_000;

/// Builds the plan of a bundle in which nothing is wrong.
pub(super) fn build(bundle: &Bundle, partials: Partials, skills: &Skills, options: &Options) -> Plan {
    let none = options.default_provider.clone().unwrap_or_default();
    let root = Providers::new(options, &bundle.workflows[0], &none);
    let mut texts = Texts::default();
    let callers = Callers::new(bundle);
    let workflows = (0..bundle.workflows.len())
        .map(|file| {
            let pricing = Arc::new(prices::of_file(bundle, &callers, file));
            Builder::new(bundle, file, &mut texts, skills, options, root.workflow(), pricing).workflow()
        })
        .collect();
    let (templates, conditions) = texts.finish();
    let format = PLAN_FORMAT;
    let sources = stored(bundle, &partials, skills);
    let secrets = super::secrets::sources(bundle);
    let partials = partials.texts;
    let mut plan = Plan { format, workflows, templates, conditions, partials, secrets, sources };
    hash::stamp(&mut plan);
    plan
}

/// Every text that took part, once.
fn stored(bundle: &Bundle, partials: &Partials, skills: &Skills) -> Vec<StoredSource> {
    let mut seen = HashSet::new();
    let files = bundle.workflows.iter().flat_map(|workflow| &workflow.files);
    files
        .chain(&partials.files)
        .chain(skills.files())
        .filter(|file| seen.insert(file.path.as_str()))
        .map(|file| StoredSource { path: file.path.clone(), text: file.text.clone() })
        .collect()
}

/// What is at hand while one workflow is built.
pub(super) struct Builder<'a> {
    pub bundle: &'a Bundle,
    pub source: &'a source::Workflow,
    pub outline: Outline<'a>,
    pub texts: &'a mut Texts,
    pub skills: &'a Skills,
    pub providers: Providers<'a>,
    pub pricing: Arc<IndexMap<String, Price>>,
    pub servers: Arc<Servers>,
    /// Those of them that agents without a list of tools are offered.
    open_servers: Arc<Servers>,
    pub caps: Caps,
    /// What the configuration says about calls that a person must allow.
    pub approvals: Option<&'a Approvals>,
    /// Inline bodies and hooks' commands, which stand after the items.
    pub extra: Vec<Node>,
    lines: Lines,
}

impl<'a> Builder<'a> {
    fn new(
        bundle: &'a Bundle,
        file: usize,
        texts: &'a mut Texts,
        skills: &'a Skills,
        options: &'a Options,
        inherited: &ProviderSettings,
        pricing: Arc<IndexMap<String, Price>>,
    ) -> Self {
        let source = &bundle.workflows[file];
        let servers = Arc::new(servers::servers(bundle, source));
        Self {
            bundle,
            source,
            outline: Outline::new(source),
            texts,
            skills,
            providers: Providers::new(options, source, inherited),
            pricing,
            open_servers: servers::open(bundle, source, &servers),
            servers,
            caps: options.caps,
            approvals: options.approvals.as_ref(),
            extra: Vec::new(),
            lines: Lines::new(&source.file),
        }
    }

    /// The servers of an agent with this list of tools.
    pub fn servers_for(&self, tools: Option<&[String]>) -> &Arc<Servers> {
        if tools.is_none() { &self.open_servers } else { &self.servers }
    }

    fn workflow(mut self) -> Workflow {
        let source = self.source;
        let mut nodes: Vec<Node> = (0..self.outline.items.len()).map(|ix| self.item(ix)).collect();
        let hooks = self.hooks();
        let summary = self.summary();
        let pipeline = self.pipeline();
        let output = source.output.as_ref().map(|output| self.texts.named(output));
        nodes.append(&mut self.extra);
        super::goal::join_items(&mut nodes);
        Workflow {
            name: source.name.value.as_str().into(),
            description: source.description.as_ref().map(|text| text.value.clone()),
            version: source.version.as_ref().map(|text| text.value.clone()),
            file: source.path.clone(),
            dir: folder(&source.path),
            inputs: source.input.as_ref().map(inputs),
            context: context(&source.context),
            limits: self.limits(),
            labels: super::node::labels(&source.labels),
            entry: self.outline.entries().into_iter().map(node_ix).collect(),
            nodes,
            output,
            instructions: instructions(&source.instructions),
            summary,
            hooks,
            metadata: source.metadata.clone().into_iter().collect(),
            pricing: self.pricing,
            show_costs: ShowCosts {
                per_agent: source.cost.show_per_agent,
                summary: source.cost.show_summary,
            },
            manifest: source.from_manifest,
            pipeline,
        }
    }

    /// The limits of the workflow; those of the process count too where it is a pipeline.
    fn limits(&self) -> Limits {
        let mut limits = limits(self.source);
        let cap = self.caps.concurrent.filter(|_| self.source.pipeline.is_some());
        limits.max_concurrency = limits.max_concurrency.into_iter().chain(cap).min();
        limits
    }

    /// The node of a name that is known to exist.
    pub(super) fn named(&self, name: &str) -> NodeIx {
        node_ix(self.outline.find(name).expect("names were checked"))
    }

    /// The node that a route leads to; `None` is `$end`.
    pub(super) fn target(&self, name: &str) -> Option<NodeIx> {
        (name != crate::check::outline::END).then(|| self.named(name))
    }

    /// Adds a node that no name leads to.
    pub(super) fn add(&mut self, node: Node) -> NodeIx {
        self.extra.push(node);
        node_ix(self.outline.items.len() + self.extra.len() - 1)
    }

    /// Says how a node that was added before is tried again.
    pub(super) fn set_retry(&mut self, node: NodeIx, retry: convoke_model::Retry) {
        self.extra[node.0 as usize - self.outline.items.len()].retry = retry;
    }

    /// The name of an inline body; nothing refers to it, so one that is taken is told apart by its group.
    pub(super) fn body_name(&self, group: &str, name: &str) -> Arc<str> {
        let taken = self.outline.find(name).is_some() || self.extra.iter().any(|node| &*node.name == name);
        if taken { format!("{group}.{name}").into() } else { name.into() }
    }

    /// Where something stands, for messages at run time.
    pub(super) fn place(&self, span: &crate::diagnostic::Span) -> Place {
        let (line, column) = match Arc::ptr_eq(&span.file, &self.lines.file) {
            true => self.lines.line_column(span.range.start),
            false => span.line_column(),
        };
        Place { file: span.file.path.as_str().into(), line: line as u32, column: column as u32 }
    }
}

fn node_ix(ix: usize) -> NodeIx {
    NodeIx(ix as u32)
}

fn folder(path: &str) -> String {
    match path.rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((folder, _)) => folder.to_owned(),
        None => ".".to_owned(),
    }
}

fn inputs(source: &IndexMap<String, source::Entry<source::InputField>>) -> IndexMap<String, Input> {
    source.iter().map(|(name, entry)| (name.clone(), declared::input(&entry.value))).collect()
}

fn instructions(texts: &[crate::source::Text]) -> Option<Arc<str>> {
    let texts: Vec<&str> = texts.iter().map(|text| text.value.trim_end()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n").into())
}

fn context(source: &source::ContextSettings) -> Context {
    Context {
        mode: match source.mode {
            source::ContextMode::Accumulate => ContextMode::Accumulate,
            source::ContextMode::LastOnly => ContextMode::LastOnly,
            source::ContextMode::Explicit => ContextMode::Explicit,
        },
        max_tokens: source.max_tokens.as_ref().map(|value| value.value),
        trim: match source.trim_strategy {
            source::TrimStrategy::Summarize => Trim::Summarize,
            source::TrimStrategy::Truncate => Trim::Truncate,
            source::TrimStrategy::DropOldest => Trim::DropOldest,
        },
    }
}

fn limits(workflow: &source::Workflow) -> Limits {
    let source = &workflow.limits;
    Limits {
        max_iterations: source.max_iterations.as_ref().map_or(MAX_ITERATIONS, |limit| limit.value as u32),
        iterations_stated: source.max_iterations.is_some(),
        timeout_ms: source.timeout.as_ref().map(|limit| limit.value.as_millis() as u64),
        budget: super::budget::of_workflow(source),
        budget_refuses: workflow.is_manifest(),
        max_tasks: source.max_tasks.as_ref().map_or(MAX_TASKS, |limit| limit.value as u32),
        max_concurrency: source.max_concurrency.as_ref().map(|limit| limit.value as u32),
        breaker_failures: source.breaker_failures.as_ref().map(|limit| limit.value as u32),
    }
}

/// Where the lines of a file begin: counting them anew for each of a thousand steps would be slow.
struct Lines {
    file: Arc<SourceFile>,
    starts: Vec<usize>,
}

impl Lines {
    fn new(file: &Arc<SourceFile>) -> Self {
        let breaks = file.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { file: file.clone(), starts: [0].into_iter().chain(breaks).collect() }
    }

    fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.file.text.floor_char_boundary(offset.min(self.file.text.len()));
        let line = self.starts.partition_point(|start| *start <= offset);
        (line, self.file.text[self.starts[line - 1]..offset].chars().count() + 1)
    }
}
