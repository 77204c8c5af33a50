//! What attempts are performed with: providers, processes, and how many at once.

use crate::args::RunFlags;
use crate::config::{Config, Origin};
use crate::env;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_agent::{Attempts, Providers};
use convoke_engine::Executor;
use convoke_model::ProviderSettings;
use convoke_plan::{Kind, Plan};
use convoke_providers::{Options, Registry, names};
use convoke_tools::{Environment, Processes};
use std::collections::HashSet;
use std::sync::Arc;

/// The names of providers that can answer.
const USABLE: [&str; 2] = ["openai", "scripted"];

/// Providers and processes for one plan.
pub struct Equipment {
    providers: Arc<Registry>,
    commands: Arc<Processes>,
}

impl Equipment {
    /// What the plan's attempts need.
    pub fn for_plan(plan: &Plan) -> Equipment {
        let environment = Environment::new(std::env::vars_os(), &secrets(plan));
        Equipment { providers: Arc::new(registry()), commands: Arc::new(Processes::new(environment)) }
    }

    /// Who performs attempts.
    pub fn executor(&self) -> Arc<dyn Executor> {
        Arc::new(Attempts::new(self.providers.clone(), self.commands.clone()))
    }
}

fn registry() -> Registry {
    let certificates = env::get_filled(env::CA_FILE).and_then(|path| std::fs::read(path).ok());
    let options = Options {
        https_proxy: env::first(&env::HTTPS_PROXY),
        http_proxy: env::first(&env::HTTP_PROXY),
        no_proxy: env::first(&env::NO_PROXY),
        extra_certificates: certificates.into_iter().collect(),
    };
    Registry::new(options, Arc::new(env::get))
}

/// The variables that hold the keys of the plan's providers; no command inherits them.
fn secrets(plan: &Plan) -> Vec<String> {
    let texts = providers(plan).into_iter().flat_map(|(_, provider)| {
        let headers = provider.headers.iter().map(|(_, value)| value.as_str());
        provider.api_key.as_deref().into_iter().chain(headers).flat_map(names).collect::<Vec<_>>()
    });
    texts.collect()
}

/// Each provider of the plan once, with a step that asks it.
fn providers(plan: &Plan) -> Vec<(&str, &ProviderSettings)> {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    let mut seen = HashSet::new();
    let agents = nodes.filter_map(|node| match &node.kind {
        Kind::Agent(agent) => Some((&*node.name, &agent.settings.provider)),
        _ => None,
    });
    agents.filter(|(_, provider)| seen.insert(*provider)).collect()
}

/// Refuses a plan whose agents nobody can answer, with advice.
pub fn require_providers(plan: &Plan) -> Result<(), CommandFailure> {
    let registry = registry();
    for (step, provider) in providers(plan) {
        if provider.name.is_empty() {
            return Err(without_provider(step));
        }
        if !USABLE.contains(&provider.name.as_str()) {
            return Err(with_unknown_provider(step, &provider.name));
        }
        if let Err(failure) = registry.get(provider) {
            let refused = CommandFailure::new(Exit::Refused, format!("step `{step}`: {}", failure.message));
            return Err(failure.hint.into_iter().fold(refused, CommandFailure::hint));
        }
    }
    Ok(())
}

fn without_provider(step: &str) -> CommandFailure {
    CommandFailure::new(Exit::Refused, format!("step `{step}` is an agent, and no provider is set"))
        .hint(
            "-p openai asks any OpenAI-compatible service: set OPENAI_API_KEY, \
             or base_url and api_key below [provider] in convoke.toml",
        )
        .hint("-p scripted tries the workflow offline, with made-up answers")
        .hint("in the workflow file: `runtime: {provider: openai}` below `workflow:`")
}

fn with_unknown_provider(step: &str, provider: &str) -> CommandFailure {
    let words = format!("step `{step}` asks provider `{provider}`, which is not available here");
    CommandFailure::new(Exit::Refused, words)
        .hint(format!("-p NAME has another provider answer: {}", USABLE.join(", ")))
        .hint(format!(
            "or say in convoke.toml what `{provider}` stands for: [providers.{provider}] with name, base_url and api_key"
        ))
}

/// How many attempts at once: the flag, the configuration or the file, within what the machine allows.
pub fn run_limit(config: &Config, flags: &RunFlags, plan: &Plan) -> u32 {
    let machine = config.machine_concurrency;
    let stated = flags.max_concurrency.or(config.max_concurrency);
    match stated {
        // A number that somebody typed goes over a machine's limit that nobody set.
        Some(number) if is_default(config, "machine_concurrency") => number,
        _ => stated.or(plan.root().limits.max_concurrency).unwrap_or(machine).min(machine),
    }
}

fn is_default(config: &Config, key: &str) -> bool {
    config.entries.iter().any(|entry| entry.key == key && entry.origin == Origin::Default)
}
