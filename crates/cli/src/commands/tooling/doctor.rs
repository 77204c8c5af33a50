//! `convoke doctor`: which providers answer, with which models, and what to set where none does.
//!
//! Receivers of traces and notices are told of as well: what they have taken, and why a delivery came to nothing.
//!
//! Asks for lists of models only, all providers at once; nothing is spent. A provider without a key is not asked.

use super::receivers::{self, Receiver};
use crate::advice;
use crate::args::{DoctorArgs, Format};
use crate::compiling;
use crate::config::{Config, Provider};
use crate::console::Console;
use crate::driving;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::secrets::Secrets;
use crate::view::format::plural;
use convoke_agent::Providers;
use convoke_model::Failure;
use convoke_providers::{Registry, preset};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Other names for the same service and the same key.
const ALIASES: [&str; 2] = ["claude", "openai-responses"];

/// So many models are named on a line.
const NAMED: usize = 5;

/// What was found out about a provider.
struct Finding {
    name: String,
    /// What it is in truth.
    kind: Kind,
    /// The model of agents that name none.
    default: Option<String>,
    /// The models, or why there are none.
    outcome: Result<Vec<String>, Failure>,
    advice: Option<&'static str>,
    /// It runs on the user's own machine: the user can start it.
    is_local: bool,
}

/// What can be said about a provider that has no list of models.
#[derive(Clone, Copy)]
enum Kind {
    /// It makes answers up.
    Scripted,
    /// A program that is run once per question: that it is there is all that can be known before.
    Command,
    /// An agent or a service: it was asked for its models.
    Service,
}

impl Kind {
    fn of(name: &str) -> Kind {
        match name {
            "scripted" => Kind::Scripted,
            "cli" => Kind::Command,
            _ => Kind::Service,
        }
    }

    /// How it stands, and why there is no list of models.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Scripted => ("answers", "without a model"),
            Kind::Command => ("is there", "a command; whether it answers shows when a step asks it"),
            Kind::Service => ("answers", "no models"),
        }
    }
}

impl Finding {
    /// What to do. How to set a service up helps only where no service answered; one that did says more itself.
    fn remedy<'a>(&'a self, failure: &'a Failure) -> Option<&'a str> {
        let own = failure.hint.as_deref();
        match failure.reason.as_deref() {
            Some("no_credentials") => self.advice.or(own),
            Some("connect" | "connect_timeout") if self.is_local => self.advice.or(own),
            Some("connect" | "connect_timeout") => own.or(Some("check the network, and its address")),
            _ => own,
        }
    }
}

/// Asks every provider, or those that are named; fails if none answers.
pub fn run(console: &Console, args: &DoctorArgs) -> Result<Exit, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let registry = driving::registry(&Secrets::default());
    driving::network_remark().iter().for_each(|remark| console.warn(remark));
    let (agents, files) = (convoke_sandbox::available(), convoke_sandbox::means().trusted());
    let missing =
        [("commands of agents are refused", agents), ("commands of files run without a sandbox", files)];
    for (what, missing) in missing.iter().filter_map(|(what, found)| Some((what, found.as_ref().err()?))) {
        console.warn(&format!("{what}: {missing}"));
    }
    let findings = runtime.block_on(examine(&registry, candidates(&console.config, &args.provider)));
    let healthy = findings.iter().any(|finding| finding.outcome.is_ok());
    let receivers = if args.provider.is_empty() { receivers::look(console) } else { Vec::new() };
    match args.format {
        Format::Json => console.json(&record(&findings, healthy, &receivers))?,
        Format::Text => {
            let lines = findings.iter().map(line).chain(receivers.iter().map(receivers::line));
            console.data(&lines.collect::<Vec<_>>().join("\n"))?;
        }
    }
    if healthy {
        return Ok(Exit::Success);
    }
    let failure = CommandFailure::new(Exit::Failed, "no provider answers");
    Err(advice::to_get_an_answer().iter().fold(failure, |failure, line| failure.hint(*line)))
}

/// What the configuration names, then the presets that it does not. The default provider is one of them.
fn candidates(config: &Config, wanted: &[String]) -> Vec<(String, Provider)> {
    if !wanted.is_empty() {
        return wanted
            .iter()
            .map(|name| (name.clone(), compiling::named_at_its_address(config, name)))
            .collect();
    }
    let configured = config
        .providers
        .iter()
        .map(|(name, provider)| (name.clone(), config.addresses.settled(provider.clone())));
    let presets = preset::ALL.iter().map(|preset| preset.name);
    let presets = presets.filter(|name| !ALIASES.contains(name) && !config.providers.contains_key(*name));
    let presets = presets.map(|name| (name.to_owned(), compiling::named_at_its_address(config, name)));
    let is_listed = |name: &str| config.providers.contains_key(name) || preset::find(name).is_some();
    let own = config.provider.as_ref().filter(|provider| !is_listed(&provider.settings.name));
    let own = own.map(|provider| (provider.settings.name.clone(), provider.clone()));
    configured.chain(presets).chain(own).collect()
}

async fn examine(registry: &Registry, candidates: Vec<(String, Provider)>) -> Vec<Finding> {
    let mut asking = JoinSet::new();
    for (at, (name, provider)) in candidates.into_iter().enumerate() {
        let preset = preset::find(&provider.settings.name);
        let (advice, is_local) =
            (preset.map(|preset| preset.advice), preset.is_some_and(|preset| !preset.needs_key));
        let kind = Kind::of(&provider.settings.name);
        let service = match kind {
            Kind::Scripted => Ok(None),
            Kind::Command | Kind::Service => registry.get(&provider.settings).map(Some),
        };
        asking.spawn(async move {
            let outcome = match service {
                Ok(Some(service)) => service.models().await,
                // Made-up answers need no model.
                Ok(None) => Ok(Vec::new()),
                Err(failure) => Err(failure),
            };
            (at, Finding { name, kind, default: provider.model, outcome, advice, is_local })
        });
    }
    let mut findings = asking.join_all().await;
    findings.sort_by_key(|(at, _)| *at);
    findings.into_iter().map(|(_, finding)| finding).collect()
}

fn line(finding: &Finding) -> String {
    let default = finding.default.as_ref().map(|model| format!(" (default: {model})")).unwrap_or_default();
    let (state, more) = match &finding.outcome {
        Ok(models) => {
            let (state, unlisted) = finding.kind.words();
            (state, format!("{}{default}", in_words(models, unlisted)))
        }
        Err(failure) => {
            let advice = finding.remedy(failure).map(|advice| format!("; {advice}")).unwrap_or_default();
            let state = if is_set_up(failure) { "does not answer" } else { "is not set up" };
            (state, format!("{}{advice}", failure.message))
        }
    };
    format!("{:<18}{state:<17}{more}", finding.name)
}

/// A provider without a key or an address was never asked.
fn is_set_up(failure: &Failure) -> bool {
    failure.reason.as_deref() != Some("no_credentials")
}

fn in_words(models: &[String], unlisted: &str) -> String {
    let named = models.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if models.len() > NAMED { ", …" } else { "" };
    match models.len() {
        0 => unlisted.to_owned(),
        count => format!("{}: {named}{more}", plural(count as u64, "model")),
    }
}

fn record(findings: &[Finding], healthy: bool, receivers: &[Receiver]) -> Value {
    let providers: Vec<_> = findings.iter().map(provider_record).collect();
    let advice = if healthy { &[] } else { advice::to_get_an_answer() };
    let receivers: Vec<_> = receivers.iter().map(receivers::record).collect();
    json!({"answers": healthy, "providers": providers, "advice": advice, "receivers": receivers})
}

fn provider_record(finding: &Finding) -> Value {
    let failure = finding.outcome.as_ref().err();
    json!({
        "name": finding.name,
        "answers": failure.is_none(),
        "models": finding.outcome.as_deref().unwrap_or_default(),
        "default_model": finding.default,
        "problem": failure.map(|failure| &failure.message),
        "class": failure.map(|failure| failure.class.word()),
        "advice": failure.and_then(|failure| finding.remedy(failure)),
    })
}
