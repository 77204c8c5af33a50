//! Coding agents as providers: `acp` and `cli` need a program, others have no use for one.
//!
//! A name may stand for such a provider in the configuration only, and the configuration may name the program, so this
//! is judged when both are known.

use super::Options;
use super::load::Bundle;
use super::provider::{Providers, configured};
use crate::check::outline::Outline;
use crate::diagnostic::Diagnostic;
use crate::source::settings::Provider;
use crate::source::words::PROGRAMS;
use crate::source::workflow::{StepKind, Workflow};
use convoke_model::ProviderSettings;

/// Programs that are missing, and settings of programs where there is none.
pub(super) fn check(bundle: &Bundle, options: &Options, findings: &mut Vec<Diagnostic>) {
    let nothing = ProviderSettings::default();
    for workflow in &bundle.workflows {
        let own = workflow.runtime.provider.as_ref();
        let providers = Providers::new(options, own, &nothing);
        let with_settings = own.map(|provider| (provider, providers.workflow().clone()));
        let of_agents = agents(workflow).map(|provider| (provider, providers.agent(Some(provider))));
        for (provider, settings) in with_settings.into_iter().chain(of_agents) {
            let written = configured(options, provider);
            // What a flag chose instead is no fault of the file.
            if settings.name == written.name {
                findings.extend(no_program(provider, &settings));
            }
            findings.extend(no_use(provider, &written));
        }
    }
}

/// The providers that agents name.
fn agents(workflow: &Workflow) -> impl Iterator<Item = &Provider> {
    let inline: Vec<_> = Outline::new(workflow).inline().map(|(_, step)| step).collect();
    workflow.agents.iter().chain(inline).filter_map(|step| match &step.kind {
        StepKind::Agent(agent) => agent.provider.as_ref(),
        _ => None,
    })
}

fn no_program(provider: &Provider, settings: &ProviderSettings) -> Option<Diagnostic> {
    if !PROGRAMS.contains(&settings.name.as_str()) || settings.program.is_some() {
        return None;
    }
    let name = &provider.name.value;
    let message = format!("provider `{name}` has no `command`");
    let speaks = match settings.name.as_str() {
        "acp" => "a program that speaks the Agent Client Protocol",
        _ => "a program that prints JSON lines",
    };
    let found =
        Diagnostic::error("workflow::missing_key", message, provider.name.span.clone(), "which program?");
    Some(found.help(format!("write `provider: {{name: {name}, command: …, args: […]}}` with {speaks}")))
}

fn no_use(provider: &Provider, settings: &ProviderSettings) -> Option<Diagnostic> {
    let key = provider.program.first.as_ref().filter(|_| !PROGRAMS.contains(&settings.name.as_str()))?;
    let message = format!("`{}` has no effect on provider `{}`", key.value, provider.name.value);
    let found =
        Diagnostic::warning("workflow::no_effect", message, key.span.clone(), "no program is started");
    Some(found.help("`command`, `args`, `env` and `permissions` belong to the providers acp and cli"))
}
