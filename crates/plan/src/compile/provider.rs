//! Which provider an agent asks: the file, the command line and the configuration have a say.
//!
//! Names that this program cannot speak to pass through the configuration's map; one that nothing
//! maps keeps its name, and it is the command line's part to refuse the run with advice.

use super::Options;
use super::servers::references;
use crate::plan::{Kind, Plan};
use crate::source::join_beside;
use crate::source::settings::{Program as WrittenProgram, Provider};
use crate::source::text::SecretText;
use crate::source::words::PROGRAMS;
use crate::source::workflow::Workflow;
use convoke_model::{Program, ProviderSettings};
use std::sync::Arc;

/// Agents of a workflow that name one of these keep it, whatever the command line chooses for the rest.
const KEPT: [&str; 2] = ["openai", "scripted"];

/// Resolves the providers of one workflow.
pub(super) struct Providers<'a> {
    options: &'a Options,
    /// What agents without a provider of their own use.
    workflow: ProviderSettings,
    /// The name that the file gives to it.
    written: Option<&'a Provider>,
    /// What was chosen goes over everything: in a manifest no agent keeps its own.
    over_all: bool,
}

impl<'a> Providers<'a> {
    /// For a workflow whose runtime names this provider; a sub-workflow that names none uses its parent's.
    pub fn new(options: &'a Options, source: &'a Workflow, inherited: &ProviderSettings) -> Self {
        let written = source.runtime.provider.as_ref();
        let workflow = match (&options.provider_override, written) {
            (Some(chosen), Some(provider)) if chosen.name == provider.name.value => {
                over(chosen, configured(options, provider))
            }
            (Some(chosen), _) => chosen.clone(),
            (None, Some(provider)) => configured(options, provider),
            (None, None) => inherited.clone(),
        };
        let workflow = addressed(options, workflow);
        Self { options, workflow, written, over_all: source.is_manifest() }
    }

    /// What agents use that name no provider.
    pub fn workflow(&self) -> &ProviderSettings {
        &self.workflow
    }

    /// What an agent uses that names this one.
    pub fn agent(&self, own: Option<&Provider>) -> ProviderSettings {
        let chosen = self.options.provider_override.as_ref().filter(|_| self.over_all);
        let settings = match own {
            None => self.workflow.clone(),
            Some(own) if chosen.is_some_and(|chosen| chosen.name != own.name.value) => self.workflow.clone(),
            Some(own) if own.short => self.by_name(&own.name.value),
            Some(own) => self.with_settings(own),
        };
        addressed(self.options, settings)
    }

    fn with_settings(&self, own: &Provider) -> ProviderSettings {
        let (name, settings) = (own.name.value.as_str(), configured(self.options, own));
        match &self.options.provider_override {
            Some(chosen) if chosen.name == name => over(chosen, settings),
            Some(chosen) if !KEPT.contains(&name) => chosen.clone(),
            _ => settings,
        }
    }

    fn by_name(&self, name: &str) -> ProviderSettings {
        match self.written.filter(|provider| provider.name.value == name) {
            Some(_) if self.options.provider_override.is_some() => self.workflow.clone(),
            Some(provider) => configured(self.options, provider),
            None => self.named(name),
        }
    }

    fn named(&self, name: &str) -> ProviderSettings {
        if let Some(settings) = self.options.provider_map.get(name) {
            return settings.clone();
        }
        match &self.options.provider_override {
            Some(chosen) if !KEPT.contains(&name) || chosen.name == name => chosen.clone(),
            _ => ProviderSettings { name: name.to_owned(), ..ProviderSettings::default() },
        }
    }
}

/// The settings with the address that holds for their service where they have none of their own.
pub(super) fn addressed(options: &Options, mut settings: ProviderSettings) -> ProviderSettings {
    if settings.base_url.as_deref().is_none_or(str::is_empty) {
        settings.base_url = options.addresses.get(&settings.name).cloned();
    }
    settings
}

/// Has every agent of a plan answered by one provider.
pub(super) fn ask_only(plan: &mut Plan, provider: &ProviderSettings) {
    for node in plan.workflows.iter_mut().flat_map(|workflow| &mut workflow.nodes) {
        if let Kind::Agent(agent) = &mut node.kind {
            Arc::make_mut(&mut agent.settings).provider = provider.clone();
        }
    }
}

/// The file's settings over those of the configuration.
pub(super) fn configured(options: &Options, provider: &Provider) -> ProviderSettings {
    let name = &provider.name.value;
    let from = options.provider_map.get(name).cloned();
    let mut settings = from.unwrap_or_else(|| ProviderSettings { name: name.clone(), ..Default::default() });
    if let Some(url) = &provider.base_url {
        settings.base_url = Some(url.value.clone());
    }
    if let Some(key) = credential(provider) {
        settings.api_key = Some(key.raw.value.clone());
    }
    if let Some(token) = provider.auth_token.as_ref().filter(|_| is_anthropic(&settings.name)) {
        // The service takes keys and tokens in different headers.
        settings.api_key = provider.api_key.as_ref().map(|key| key.raw.value.clone());
        settings.headers.push(("Authorization".into(), format!("Bearer {}", token.raw.value)));
    }
    if let Some(file) = &provider.api_key_file {
        settings.api_key_file = Some(join_beside(&provider.span.file.path, &file.value));
    }
    if let Some(file) = &provider.file {
        settings.file = Some(join_beside(&provider.span.file.path, &file.value));
    }
    settings.latency_ms = provider.latency_ms.as_ref().map(|ms| ms.value).or(settings.latency_ms);
    settings.headers.extend(references(&provider.headers));
    if PROGRAMS.contains(&settings.name.as_str()) {
        settings.program = program(&provider.program, settings.program.take());
    }
    settings
}

/// Arguments and variables of the configuration belong to its command: another command begins without them.
fn program(written: &WrittenProgram, configured: Option<Box<Program>>) -> Option<Box<Program>> {
    let mut program = configured.unwrap_or_default();
    if let Some(command) = &written.command {
        let permissions = program.permissions;
        *program = Program { command: command.value.clone(), permissions, ..Program::default() };
    }
    if let Some(args) = &written.args {
        program.args = args.iter().map(|arg| arg.raw.value.clone()).collect();
    }
    program.env.extend(references(&written.env));
    program.permissions = written.permissions.as_ref().map_or(program.permissions, |who| who.value);
    (!program.command.is_empty()).then_some(program)
}

fn is_anthropic(name: &str) -> bool {
    matches!(name, "anthropic" | "claude")
}

/// What was chosen goes over what the file says about the same provider.
fn over(chosen: &ProviderSettings, file: ProviderSettings) -> ProviderSettings {
    ProviderSettings {
        name: chosen.name.clone(),
        base_url: chosen.base_url.clone().or(file.base_url),
        api_key: chosen.api_key.clone().or(file.api_key),
        api_key_file: chosen.api_key_file.clone().or(file.api_key_file),
        headers: if chosen.headers.is_empty() { file.headers } else { chosen.headers.clone() },
        file: chosen.file.clone().or(file.file),
        latency_ms: chosen.latency_ms.or(file.latency_ms),
        program: chosen.program.clone().or(file.program),
    }
}

fn credential(provider: &Provider) -> Option<&SecretText> {
    provider.api_key.as_ref().or(provider.bearer_token.as_ref()).or(provider.auth_token.as_ref())
}
