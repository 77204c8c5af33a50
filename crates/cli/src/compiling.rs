//! From a workflow file to a plan that may run: compile, show what was found, refuse what must not start.

use crate::args::AnswererArgs;
use crate::config::{Config, Provider};
use crate::console::Console;
use crate::diagnostics::Tally;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::presets;
use crate::sources::{Disk, Made};
use crate::trust::Lone;
use convoke_engine::Limits;
use convoke_model::{Budget, ProviderSettings, WhenSpent};
use convoke_plan::compile::{Compiled, Degrade, DegradeOf, Options, PriceBook, Services, compile};
use convoke_plan::{Plan, Sources};
use convoke_providers::preset;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads, checks and compiles a file with the configured providers.
pub fn compile_file(
    file: &Path,
    config: &Config,
    provider: Option<&str>,
) -> Result<Compiled, CommandFailure> {
    let Some(path) = file.to_str() else {
        let words = format!("workflow file `{}`: its name is not valid UTF-8", file.display());
        return Err(CommandFailure::new(Exit::Refused, words));
    };
    let disk = Disk::for_file(path).with_secrets(config.secrets.keys());
    Ok(compile_from(path, &disk, config, provider))
}

/// The same for a text that is on no disk; what it refers to is.
pub fn compile_text(path: &str, text: &str, config: &Config, provider: Option<&str>) -> Compiled {
    let made = Made::new(path, text).with_secrets(config.secrets.keys());
    compile_from(path, &made, config, provider)
}

/// The same for a text from the network, which refers to nothing here.
pub fn compile_fetched(path: &str, text: &str, config: &Config, provider: Option<&str>) -> Compiled {
    let secrets = config.secrets.keys().cloned().collect();
    compile_from(path, &Lone { path, text, secrets }, config, provider)
}

fn compile_from(path: &str, sources: &dyn Sources, config: &Config, provider: Option<&str>) -> Compiled {
    compile(path, sources, &options(config, provider))
}

/// Prepares a stored plan for going on under this configuration.
pub fn renew(plan: &mut Plan, config: &Config, provider: Option<&str>) {
    convoke_plan::compile::renew(plan, &options(config, provider));
}

/// Shows what was found and gives the plan, unless it must not run.
pub fn accept(
    console: &Console,
    file: &Path,
    compiled: Compiled,
    strict: bool,
) -> Result<Plan, CommandFailure> {
    show(console, &compiled, strict);
    let tally = Tally::of(&compiled.diagnostics);
    match compiled.plan {
        Some(plan) if !tally.refuses(strict) => Ok(plan),
        _ => Err(refusal(file, tally, strict)),
    }
}

/// Draws every diagnostic; when they refuse the file, even silence lets them through.
pub fn show(console: &Console, compiled: &Compiled, strict: bool) {
    let refused = Tally::of(&compiled.diagnostics).refuses(strict);
    for found in &compiled.diagnostics {
        console.finding(found, refused);
    }
}

/// The failure of a file that must not run.
pub fn refusal(file: &Path, tally: Tally, strict: bool) -> CommandFailure {
    let strictly = if strict && tally.errors == 0 { " (--strict)" } else { "" };
    let words = format!("workflow file `{}` is refused: {}{strictly}", file.display(), tally.words());
    let failure = CommandFailure::new(Exit::Refused, words);
    match presets::of_that_name(file) {
        Some(preset) => failure.hint(format!("there is a preset of that name: {preset}")),
        None if !file.exists() => failure.hint(instead_of(file)),
        None => failure,
    }
}

/// What to do where there is no such file: take the one of nearly that name, look elsewhere, or begin without one.
fn instead_of(file: &Path) -> String {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return format!("there is no folder `{}`", folder.display());
    }
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let beside = files_of(folder);
    match convoke_model::nearest(name, beside.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{}`?", file.with_file_name(near).display()),
        None => {
            "`convoke presets` lists what runs without a file, and `convoke goal` takes a sentence".to_owned()
        }
    }
}

fn files_of(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

impl AnswererArgs {
    /// The configuration, as these flags change what is compiled.
    pub fn over(&self, config: &Config) -> Config {
        Config { model_override: self.model.clone(), ..config.clone() }
    }
}

/// What a plan depends on besides its files.
pub fn options(config: &Config, provider: Option<&str>) -> Options {
    Options {
        provider_override: provider.map(|name| named(config, name).settings),
        default_provider: config.provider.as_ref().map(|provider| resolved(config, provider).settings),
        prices: prices(config),
        models: models(config, provider),
        model_override: config.model_override.clone(),
        services: Services(preset::service),
        asks_nobody: config.asks_nobody,
        answered_by: config.replies.as_deref().map(scripted),
        caps: config.caps,
        approvals: config.approvals.clone(),
        degrades: degrades(&config.limits),
        provider_map: provider_map(config),
        addresses: config.addresses.by_service(),
        manifests: config.manifests.clone(),
    }
}

/// The provider that answers from a file of scripted replies.
fn scripted(file: &Path) -> ProviderSettings {
    let file = Some(file.display().to_string());
    ProviderSettings { name: "scripted".to_owned(), file, ..ProviderSettings::default() }
}

/// What names of files stand for. The default provider's settings hold where a file names that provider, too.
fn provider_map(config: &Config) -> BTreeMap<String, ProviderSettings> {
    let named = config.providers.iter().map(|(name, provider)| (name.clone(), provider.settings.clone()));
    let default = config.provider.iter().filter(|provider| !provider.settings.name.is_empty());
    let default =
        default.map(|provider| (provider.settings.name.clone(), resolved(config, provider).settings));
    named.chain(default).collect()
}

/// Cheaper models that budgets of the configuration go on with.
fn degrades(limits: &Limits) -> Vec<Degrade> {
    let tenants = limits.tenants.iter();
    let tenants = tenants.map(|tenant| (DegradeOf::Tenant(tenant.name.clone()), &tenant.budget));
    let budgets = [(DegradeOf::Day, &limits.day), (DegradeOf::Run, &limits.run)].into_iter().chain(tenants);
    let degrade = |(of, budget): (DegradeOf, &Option<Budget>)| match &budget.as_ref()?.when_spent {
        WhenSpent::Degrade(model) => Some(Degrade { of, model: model.clone() }),
        _ => None,
    };
    budgets.filter_map(degrade).collect()
}

/// The name of the provider where neither a file nor the command line states one.
pub fn default_provider(config: &Config) -> Option<String> {
    config.provider.as_ref().map(|provider| resolved(config, provider).settings.name)
}

/// What a name on the command line stands for.
pub fn named(config: &Config, name: &str) -> Provider {
    match &config.provider {
        Some(provider) if provider.settings.name == name => resolved(config, provider),
        _ => config.providers.get(name).cloned().unwrap_or_else(|| {
            let settings = ProviderSettings { name: name.to_owned(), ..ProviderSettings::default() };
            Provider { settings, model: None }
        }),
    }
}

/// The same with its address, for a provider that no file says anything about.
pub fn named_at_its_address(config: &Config, name: &str) -> Provider {
    config.addresses.settled(named(config, name))
}

/// The default provider may be a name of `[providers]`; what it says itself goes over that.
fn resolved(config: &Config, provider: &Provider) -> Provider {
    let Some(base) = config.providers.get(&provider.settings.name) else { return provider.clone() };
    let (own, base) = (provider.clone(), base.clone());
    let settings = ProviderSettings {
        name: base.settings.name,
        base_url: own.settings.base_url.or(base.settings.base_url),
        api_key: own.settings.api_key.or(base.settings.api_key),
        api_key_file: own.settings.api_key_file.or(base.settings.api_key_file),
        headers: if own.settings.headers.is_empty() { base.settings.headers } else { own.settings.headers },
        file: own.settings.file.or(base.settings.file),
        latency_ms: own.settings.latency_ms.or(base.settings.latency_ms),
        program: own.settings.program.or(base.settings.program),
    };
    Provider { settings, model: own.model.or(base.model) }
}

/// The models of agents that name none: of the provider that was chosen, of the default one, of those with a name.
fn models(config: &Config, provider: Option<&str>) -> Vec<(ProviderSettings, String)> {
    let chosen = provider.map(|name| named(config, name));
    let default = config.provider.as_ref().map(|provider| resolved(config, provider));
    let known = chosen.into_iter().chain(default).chain(config.providers.values().cloned());
    let known = known.map(|provider| config.addresses.settled(provider));
    known.filter_map(|provider| Some((provider.settings, provider.model?))).collect()
}

/// What the configuration states, then the person's price list, then the built-in one.
fn prices(config: &Config) -> PriceBook {
    PriceBook { stated: config.prices.clone(), list: config.price_list.clone(), built_in: true }
}
