//! What attempts are performed with: providers, processes, tools, and how many at once.

use super::commands::Resolving;
use super::credentials::{Credentials, RunSettings, needed_secrets};
use super::network::{network, network_remark_for};
use super::programs::programs;
use super::tools::Tools;
use super::unconfined::{Unconfined, starts_commands};
use crate::advice;
use crate::args::RunFlags;
use crate::cassette::{self, CassetteMode};
use crate::config::{Config, Entry, Origin};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::secrets::{self, Secrets};
use convoke_agent::redaction::{RedactedExecutor, RedactedProviders, Scrubber, Secret};
use convoke_agent::{Attempts, Executor, Prover, Providers};
use convoke_engine::{Limits, Stated};
use convoke_model::{ProviderSettings, Stamped};
use convoke_plan::{Kind, Plan};
use convoke_providers::{Recording, Registry, Replay, preset};
use convoke_sandbox::Ground;
use convoke_tools::{Environment, Inspector, Processes, Rulebook, Sandboxed};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Providers, processes and tools for one plan.
pub struct Equipment {
    /// Runs the commands of script steps.
    processes: Arc<Processes>,
    providers: Arc<dyn Providers>,
    /// The cassette that stands for them, which wants to know what the run writes down.
    replay: Option<Arc<Replay>>,
    commands: Arc<Resolving>,
    tools: Tools,
    /// Looks whether work is done that must be proven.
    prover: Arc<dyn Prover>,
    inspector: Arc<Inspector>,
    /// Named secrets, fetched.
    named: Secrets,
    /// Credentials that must not come back in anything that is said.
    secrets: Vec<String>,
    /// What models are not to be sent.
    unsent: Vec<Secret>,
    /// What is odd about the way to the network.
    remark: Option<String>,
    /// What commands are confined to.
    ground: Ground,
    /// Policies that hold whatever a plan states.
    rulebook: Rulebook,
    /// Why they run without a sandbox, if they do.
    unconfined: Option<Unconfined>,
    /// Calls are written to a cassette or come from one, which is this process's.
    cassette_used: bool,
}

impl Equipment {
    /// What the plan's attempts need; refused with advice if an agent has no provider, or if a secret is missing.
    pub fn for_plan(
        plan: &Plan,
        cassette: &CassetteMode,
        config: &Config,
    ) -> Result<Equipment, CommandFailure> {
        let rulebook = &config.rulebook;
        if crate::cluster::is_entered() {
            return Equipment::elsewhere(plan, cassette, config);
        }
        require_servers(plan)?;
        let mut sources = needed_secrets(plan, config);
        if cassette.is_replay() {
            // Nothing is asked but the commands of the file, which run as ever.
            let of_scripts = Credentials::of(plan).of_scripts();
            sources.retain(|name, _| of_scripts.contains(name));
        }
        let named = secrets::fetch(config, &sources)?;
        let ground = &without_files(&config.sandbox, &named);
        let keys = Credentials::of(plan).with(&named);
        if let CassetteMode::Replay(folder) = cassette {
            let replay = Arc::new(Replay::load(folder, keys.scrubber()).map_err(cassette::refused)?);
            let (providers, tools) = (replay.clone(), Tools::replayed(&replay));
            return Ok(Equipment {
                providers,
                prover: Arc::new(replay.prover()),
                replay: Some(replay),
                tools,
                cassette_used: true,
                ..Equipment::with(&keys, ground, rulebook)
            });
        }
        let unconfined = starts_commands(plan).then(|| Unconfined::on(ground)).flatten();
        let live = Equipment {
            remark: network_remark_for(plan),
            unconfined,
            ..Equipment::with(&keys, ground, rulebook)
        };
        live.require_providers(plan)?;
        let recorded = match cassette {
            CassetteMode::Record(folder) => Some(convoke_providers::Tape::create(folder)),
            CassetteMode::RecordOn(folder) => Some(convoke_providers::Tape::resume(folder)),
            CassetteMode::Off | CassetteMode::Replay(_) => None,
        };
        let Some(file) = recorded.transpose().map_err(cassette::refused)? else { return Ok(live) };
        let recording = Recording::new(live.providers, file, keys.scrubber());
        let tools = live.tools.recorded(&recording);
        let prover = Arc::new(recording.prover(live.prover));
        Ok(Equipment { providers: Arc::new(recording), prover, tools, cassette_used: true, ..live })
    }

    /// What a plan needs in this process where others perform its attempts: nothing but that they can be named. Keys are looked for
    /// where they are used.
    fn elsewhere(plan: &Plan, cassette: &CassetteMode, config: &Config) -> Result<Equipment, CommandFailure> {
        require_servers(plan)?;
        for (step, provider) in providers(plan) {
            if provider.name.is_empty() {
                return Err(without_provider(step));
            }
            if !preset::is_known(&provider.name) {
                return Err(with_unknown_provider(step, &provider.name));
            }
        }
        let cassette_used = !matches!(cassette, CassetteMode::Off);
        Ok(Equipment {
            cassette_used,
            ..Equipment::with(&Credentials::of(plan), &config.sandbox, &config.rulebook)
        })
    }

    /// What attempts of another process's run need.
    pub fn for_settings(settings: &RunSettings, ground: &Ground, rulebook: &Rulebook) -> Equipment {
        let unconfined = Unconfined::on(ground);
        Equipment { unconfined, ..Equipment::with(&Credentials::of_settings(settings), ground, rulebook) }
    }

    fn with(keys: &Credentials<'_>, ground: &Ground, rulebook: &Rulebook) -> Equipment {
        let environment = keys.environment().on(ground.clone());
        let processes = Arc::new(Processes::new(environment.clone()));
        let commands = Arc::new(Resolving::new(processes.clone(), keys.named().clone()));
        let registry =
            registry(keys.named()).with_children_on(environment.clone().into_variables(), ground.clone());
        let inspector = Arc::new(inspector(environment.clone(), ground, rulebook));
        let (providers, tools) = (Arc::new(registry), Tools::with(keys, environment, rulebook.clone()));
        let (secrets, unsent) = (keys.values(), keys.secrets());
        Equipment {
            processes,
            providers,
            replay: None,
            commands,
            tools,
            prover: inspector.clone(),
            inspector,
            named: keys.named().clone(),
            secrets,
            unsent,
            remark: None,
            ground: ground.clone(),
            rulebook: rulebook.clone(),
            unconfined: None,
            cassette_used: false,
        }
    }

    /// Records commands that outlive this process in a folder of the run.
    pub fn record_commands(&self, folder: PathBuf) {
        self.processes.record_in(folder);
    }

    /// Refuses inputs that hold the value of a named secret: they are written down with the run and shown wherever it is shown, and no
    /// process but this one could mask it there.
    pub fn refuse_secrets_in(&self, inputs: &Map<String, Value>) -> Result<(), CommandFailure> {
        for (secret, value) in self.named.masked() {
            let scrubber = Scrubber::new([value.to_owned()]);
            let holds = |given: &Value| scrubber.scrub_known(&mut given.clone());
            if let Some((input, _)) = inputs.iter().find(|(_, given)| holds(given)) {
                let words = format!(
                    "input `{input}` holds the value of secret `{secret}`, and inputs are written down"
                );
                return Err(CommandFailure::new(Exit::Refused, words)
                    .hint(format!("list the secret at the step that needs it: `secrets: [{secret}]`")));
            }
        }
        Ok(())
    }

    /// The named secrets.
    pub fn secrets(&self) -> &Secrets {
        &self.named
    }

    /// Keeps places out of reach of the tools of our own: the engine's state.
    pub fn hide(&self, places: impl IntoIterator<Item = PathBuf>) {
        let places: Vec<PathBuf> = places.into_iter().collect();
        self.inspector.hide(places.clone());
        self.tools.hide(places);
    }

    /// Answers queries of agents over the graph of runs.
    #[cfg(feature = "knowledge")]
    pub fn ask_by(&self, graph: Arc<dyn convoke_tools::Graph>) {
        self.tools.ask_by(graph);
    }

    /// What a person should know about it.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// Takes note of what the run has written down.
    pub fn observe(&self, events: &[Stamped]) {
        if let Some(replay) = &self.replay {
            replay.observe(events);
        }
    }

    /// The executor of attempts.
    pub fn executor(&self) -> Arc<dyn Executor> {
        let (commands, toolbox) = (self.commands.clone(), self.tools.toolbox());
        let providers = RedactedProviders::over(self.providers.clone(), self.unsent.clone());
        let attempts = Attempts::new(providers, commands, toolbox, programs()).proving(self.prover.clone());
        let executor =
            RedactedExecutor::over(Arc::new(attempts), Scrubber::new(self.secrets.iter().cloned()));
        match &self.unconfined {
            Some(unconfined) => unconfined.clone().told_by(executor),
            None => executor,
        }
    }

    /// Policies that hold whatever a plan states.
    pub fn rulebook(&self) -> &Rulebook {
        &self.rulebook
    }

    /// What commands are confined to.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Why commands run without a sandbox, if they do.
    pub fn unconfined(&self) -> Option<&str> {
        self.unconfined.as_ref().map(|unconfined| unconfined.message.as_str())
    }

    /// Whether calls are played back.
    pub fn is_replay(&self) -> bool {
        self.replay.is_some()
    }

    /// Whether calls are played back or recorded.
    pub fn uses_cassette(&self) -> bool {
        self.cassette_used
    }

    /// Ends what was started for the whole run.
    pub async fn close(&self) {
        self.tools.close().await;
    }

    fn require_providers(&self, plan: &Plan) -> Result<(), CommandFailure> {
        for (step, provider) in providers(plan) {
            if provider.name.is_empty() {
                return Err(without_provider(step));
            }
            if !preset::is_known(&provider.name) {
                return Err(with_unknown_provider(step, &provider.name));
            }
            if let Err(failure) = self.providers.get(provider) {
                let refused =
                    CommandFailure::new(Exit::Refused, format!("step `{step}`: {}", failure.message));
                let hints = failure.hint.into_iter().chain(self.remark.clone());
                return Err(hints.fold(refused, CommandFailure::hint));
            }
        }
        Ok(())
    }
}

/// Looks at work as the person's own configuration has commands confined.
fn inspector(environment: Environment, ground: &Ground, rulebook: &Rulebook) -> Inspector {
    // A run works where it was started; a folder that is gone is told of when it is looked into.
    let folder = std::env::current_dir().unwrap_or_default();
    let shell = Sandboxed::new(environment).on(ground.clone());
    Inspector::new(folder, Arc::new(shell), Arc::new(convoke_plan::template::holds_for_output))
        .under(rulebook.clone())
}

/// A file that relies on the servers of a calling workflow cannot start by itself.
fn require_servers(plan: &Plan) -> Result<(), CommandFailure> {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    let mut calling = nodes.filter_map(|node| match &node.kind {
        Kind::Tool(tool) if tool.servers.is_empty() => Some(&node.name),
        _ => None,
    });
    match calling.next() {
        None => Ok(()),
        Some(step) => {
            let words = format!("step `{step}` calls a tool, and the workflow declares no MCP server");
            let hint =
                "declare the server in `runtime.mcp_servers`, or run this file from a workflow that does";
            Err(CommandFailure::new(Exit::Refused, words).hint(hint))
        }
    }
}

/// The same ground, on which files with secrets are seen by no command.
fn without_files(ground: &Ground, secrets: &Secrets) -> Ground {
    let mut ground = ground.clone();
    ground.hidden.extend(secrets.files().iter().cloned());
    ground
}

/// Every provider that can be made, with the network and the keys of this process.
pub fn registry(secrets: &Secrets) -> Registry {
    let inherited = Environment::new(std::env::vars_os(), &[]).into_variables();
    Registry::new(network(), secrets.lookup()).with_child_environment(inherited)
}

/// Each provider of the plan once, with a step that asks it.
pub fn providers(plan: &Plan) -> Vec<(&str, &ProviderSettings)> {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    let mut seen = HashSet::new();
    let agents = nodes.filter_map(|node| match &node.kind {
        Kind::Agent(agent) => Some((node.step_name(), &agent.settings.provider)),
        _ => None,
    });
    agents.filter(|(_, provider)| seen.insert(*provider)).collect()
}

fn without_provider(step: &str) -> CommandFailure {
    let failure =
        CommandFailure::new(Exit::Refused, format!("step `{step}` asks a model, and no provider is set"));
    let advised = advice::to_get_an_answer().iter().fold(failure, |failure, line| failure.hint(*line));
    advised.hint("`convoke doctor` says which providers answer, and with which models")
}

fn with_unknown_provider(step: &str, provider: &str) -> CommandFailure {
    let words = format!("step `{step}` asks provider `{provider}`, which is not available here");
    let near = convoke_model::nearest(provider, preset::names());
    let failure = CommandFailure::new(Exit::Refused, words);
    near.map(|near| format!("did you mean `{near}`?"))
        .into_iter()
        .fold(failure, CommandFailure::hint)
        .hint(format!("-p NAME has another provider answer: {}", preset::names_in_words()))
        .hint(format!(
            "or say in convoke.toml what `{provider}` stands for: [providers.{provider}] with name, base_url and api_key"
        ))
}

/// How many attempts at once: the flag, the configuration or the file, within what the machine allows.
pub fn run_limit(config: &Config, flags: &RunFlags, plan: &Plan) -> u32 {
    let stated = flags.max_concurrency.or(config.max_concurrency);
    let file = plan.root().limits.max_concurrency;
    limit(stated, file, config.machine_concurrency, machine_is_stated(config))
}

/// Which limit binds where a run gets fewer attempts at once than were asked for, and how to raise it.
pub fn limit_remark(config: &Config, flags: &RunFlags, plan: &Plan) -> Option<String> {
    let holds = run_limit(config, flags, plan);
    let stated = flags.max_concurrency.map(|asked| (asked, "--max-concurrency asks"));
    let configured = config.max_concurrency.map(|asked| (asked, "`run.max_concurrency` asks"));
    let file = plan.root().limits.max_concurrency.map(|asked| (asked, "the file asks"));
    let (asked, who) = stated.or(configured).or(file).filter(|(asked, _)| *asked > holds)?;
    let machine = config.limits.machine.as_ref().map_or("default", |machine| machine.origin.as_str());
    let raise = match machine_is_stated(config) {
        true => format!("raise `machine_concurrency` ({machine})"),
        false => format!("--max-concurrency {asked} goes over the default, or set `machine_concurrency`"),
    };
    Some(format!(
        "{who} for {asked} attempts at once, and `machine_concurrency` ({machine}) allows {holds}: {raise}"
    ))
}

fn machine_is_stated(config: &Config) -> bool {
    let is_machine = |entry: &Entry| entry.key == "machine_concurrency" && entry.origin != Origin::Default;
    config.entries.iter().any(is_machine)
}

/// What is limited for all processes. A run that goes over the default of the machine takes that up with it.
pub fn shared_limits(config: &Config, run: u32) -> Limits {
    let mut limits = config.limits.clone();
    if let Some(machine) = limits.machine.as_mut().filter(|machine| machine.limit < u64::from(run)) {
        *machine = Stated { limit: u64::from(run), origin: "the run's max_concurrency".to_owned() };
    }
    limits
}

/// A typed number goes over a machine's limit that is only the default.
fn limit(stated: Option<u32>, file: Option<u32>, machine: u32, machine_is_stated: bool) -> u32 {
    match stated {
        Some(number) if !machine_is_stated => number,
        _ => stated.or(file).unwrap_or(machine).min(machine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_bounds_every_run_unless_its_limit_is_only_the_default() {
        assert_eq!(limit(None, None, 60, false), 60);
        assert_eq!(limit(None, Some(4), 60, false), 4);
        assert_eq!(limit(None, Some(400), 60, false), 60);
        assert_eq!(limit(Some(1_000), Some(4), 60, false), 1_000);
        assert_eq!(limit(Some(1_000), Some(4), 60, true), 60);
        assert_eq!(limit(Some(2), None, 60, true), 2);
    }
}
