//! The configuration: as written in layers, as meant in [`Config`], resolved once and passed down.
//!
//! Later layers win, key by key, and every value keeps its origin, so that `config show` can say it.

mod addresses;
mod approvals;
mod contradictions;
mod discovery;
mod goal;
pub mod keys;
mod layer;
mod limits;
mod policies;
mod price_list;
mod receivers;
mod sandbox;
mod secrets;
mod serving;
mod trusted;
mod values;

pub use addresses::{Addresses, from_environment as address_from_environment};
pub use discovery::project_root;
pub use goal::{Approval, GoalSettings};
pub use layer::{Entry, Layer, LayerError, Origin, Scalar};
pub use price_list::path as price_list_path;
pub use receivers::{Apart, Preset, Receivers, Telemetry, Topics, WebhookSettings};
pub use serving::Serving;
pub use trusted::Consent;

use crate::args::{ColorChoice, Global};
use crate::retention::Retention;
use convoke_engine::Limits;
use convoke_model::catalog::Catalog;
use convoke_model::{Approvals, Price, ProviderSettings, SecretSource};
use convoke_plan::compile::Caps;
use convoke_plan::source::ManifestDefaults;
use convoke_sandbox::Ground;
use convoke_tools::Rulebook;
use discovery::Distrust;
pub use discovery::PROJECT_FILE;
use indexmap::IndexMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use values::Values;

/// The defaults, with a comment per key.
pub const DEFAULTS: &str = include_str!("default.toml");

/// The configuration as it is meant.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where runs are kept.
    pub state_dir: PathBuf,
    /// The address of the cluster on which runs are kept, if they are.
    pub cluster: Option<String>,
    /// The most attempts at once on this machine.
    pub machine_concurrency: u32,
    /// How long a lease of what all processes share lasts without a heartbeat.
    pub lease: Duration,
    /// How long a run waits for room on a full disk.
    pub disk_wait: Duration,
    /// Where the runs of a project keep what they share, if not in the usual place.
    pub project_context: Option<PathBuf>,
    /// How a person is told that a run needs them.
    pub notify: Notify,
    /// What a project's file says and what does not count there, in words.
    pub left_out: Vec<String>,
    /// Receivers of traces and notices.
    pub receivers: Receivers,
    /// Which old runs go by themselves.
    pub retention: Option<Retention>,
    /// When to use colours.
    pub color: ColorChoice,
    /// Say only warnings and the end.
    pub quiet: bool,
    /// Warnings are errors.
    pub strict: bool,
    /// The most attempts at once in one run.
    pub max_concurrency: Option<u32>,
    /// The provider of agents whose file names none.
    pub provider: Option<Provider>,
    /// What provider names stand for.
    pub providers: BTreeMap<String, Provider>,
    /// Prices by model, for those that a workflow file says nothing about.
    pub prices: BTreeMap<String, Price>,
    /// The person's own price list, over the built-in one.
    pub price_list: Option<Arc<Catalog>>,
    /// Every answer comes from a file: no call is paid, and no model is needed.
    pub asks_nobody: bool,
    /// A file of scripted replies that answers every agent.
    pub replies: Option<PathBuf>,
    /// `--model`: every agent asks this one.
    pub model_override: Option<String>,
    /// What goals may use, and how far they may go.
    pub goal: GoalSettings,
    /// What is limited for all processes, and the origin of each limit.
    pub limits: Limits,
    /// What bounds pipelines besides their manifests.
    pub caps: Caps,
    /// Which calls of agents' tools a person must allow.
    pub approvals: Option<Approvals>,
    /// What holds for execution manifests that say nothing of their own.
    pub manifests: ManifestDefaults,
    /// What commands are confined to.
    pub sandbox: Ground,
    /// Which policies hold whatever a workflow says.
    pub rulebook: Rulebook,
    /// Where services are asked that have no address of their own.
    pub addresses: Addresses,
    /// Folders below which a person trusts everything.
    pub trusted_folders: Vec<PathBuf>,
    /// The person's own state folder, whatever a project's file says: it holds the vault, and what is trusted.
    pub own_state: PathBuf,
    /// From where secrets come, over what files say.
    pub secrets: BTreeMap<String, SecretSource>,
    /// The file or descriptor with the passphrase of the vault, if it is not typed.
    pub vault_passphrase: Option<PathBuf>,
    /// Every value with its origin, in the order of the defaults.
    pub entries: Vec<Entry>,
}

/// A provider as the configuration describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provider {
    /// How to reach it.
    pub settings: ProviderSettings,
    /// The model for agents that name none.
    pub model: Option<String>,
}

/// How a person is told that a run needs them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notify {
    /// Ring the bell of the terminal.
    pub bell: bool,
    /// A program and its arguments; what there is to say comes as one more.
    pub command: Vec<String>,
    /// Show it on the desktop.
    pub desktop: bool,
    /// What is told by the command and on the desktop.
    pub topics: Topics,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A layer is wrong.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// Keys and values are wrong: all of them, each with its place.
    #[error("{}", .0.iter().map(LayerError::to_string).collect::<Vec<_>>().join("\nerror: "))]
    Faults(Vec<LayerError>),
    /// A file exists and cannot be read.
    #[error("{}: cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file exists and is not believed.
    #[error("{}: refused: {reason}", path.display())]
    Distrusted {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: Distrust,
    },
    /// The configuration file that a variable names is not there.
    #[error("{}: not found, though {} names it", .0.display(), crate::env::CONFIG)]
    Missing(PathBuf),
    /// The person's price list cannot be used.
    #[error("price list `{}`: {fault}", path.display())]
    PriceList {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// The place of the state folder is unknown.
    #[error("no state folder: there is no home folder")]
    NoHome,
}

impl Config {
    /// Reads every layer from this machine, for work in a folder; what its project's file may do depends on what the person named.
    pub fn load(flags: &Global, folder: &Path, consent: &Consent<'_>) -> Result<Config, ConfigError> {
        let mut layers = vec![Layer::from_toml(&values_of(DEFAULTS), None)?];
        layers.extend(user_file()?);
        let (environment, flagged) = (Layer::from_environment(crate::env::get), from_flags(flags));
        let own_state = own_state(layers.iter().chain([&environment, &flagged]))?;
        let trusted_folders = trusted::folders(&layers);
        let mut project = project_layer(folder)?;
        let mut left_out = project.as_mut().map(leave_out_programs).unwrap_or_default();
        if let (Some(layer), Some(path)) = (&mut project, discovery::project_file(folder, home().as_deref()))
        {
            left_out.extend(trusted::leave_out(layer, &path, consent, &trusted_folders, &own_state));
        }
        layers.extend(project);
        layers.push(environment);
        layers.push(flagged);
        let (said, user_file) = (sandbox::said(&layers), user_path());
        let faults = sandbox::faults(&said, user_file.as_deref());
        if !faults.is_empty() {
            return Err(ConfigError::Faults(faults));
        }
        let rulebook = policies::read(&layers).map_err(ConfigError::Faults)?;
        let mut config = Config::resolve(layers, default_state_dir)?;
        config.rulebook = rulebook;
        config.addresses = Addresses::of(&config, crate::env::get);
        config.retention = Retention::of(&config.entries, user_path().as_deref());
        config.receivers = Receivers::of(&config.entries, user_path().as_deref());
        config.price_list = price_list::read()?.map(Arc::new);
        config.left_out = left_out;
        (config.own_state, config.trusted_folders) = (own_state, trusted_folders);
        config.vault_passphrase.clone_from(&flags.vault_passphrase_file);
        // A run that goes on enters its own folder; what was found before stays where it is.
        config.state_dir = std::path::absolute(&config.state_dir).unwrap_or(config.state_dir);
        config.sandbox = match flags.unsafe_no_sandbox {
            true => Ground::given_up(),
            false => sandbox::ground(&said, &config.state_dir, user_file.as_deref(), home()),
        };
        Ok(config)
    }

    fn resolve(layers: Vec<Layer>, state: impl Fn() -> Option<PathBuf>) -> Result<Config, ConfigError> {
        let approvals = approvals::read(&layers);
        let mut values: IndexMap<String, Entry> = IndexMap::new();
        let mut faults = Vec::new();
        for layer in layers {
            faults.extend(layer.faults);
            values.extend(layer.entries.into_iter().map(|entry| (entry.key.clone(), entry)));
        }
        if !values.contains_key("state_dir") {
            let dir = state().ok_or(ConfigError::NoHome)?.display().to_string();
            let entry = Entry { key: "state_dir".into(), value: Scalar::Text(dir), origin: Origin::Default };
            values.shift_insert(0, "state_dir".into(), entry);
        }
        let cluster = where_runs_are(&mut values);
        let values = Values(values);
        let providers = values.providers();
        let contradictions = contradictions::find(&values, &providers);
        faults.extend(contradictions::beside(contradictions, &faults));
        let (secrets, wrong) = secrets::read(values.0.values());
        faults.extend(wrong);
        if !faults.is_empty() {
            return Err(ConfigError::Faults(faults));
        }
        Ok(Config {
            cluster,
            state_dir: values.text("state_dir").expect("set above").into(),
            machine_concurrency: values.count("machine_concurrency").expect("it has a default"),
            lease: Duration::from_secs(values.number("lease_seconds").expect("it has a default")),
            disk_wait: Duration::from_secs(values.number("disk_wait_seconds").expect("it has a default")),
            project_context: values.text("project.context").map(PathBuf::from),
            notify: Notify {
                bell: values.switch("notify.bell"),
                command: values.list("notify.command").unwrap_or_default(),
                desktop: values.switch("notify.desktop"),
                topics: Topics {
                    on: values.list("notify.on").as_deref().map(receivers::topics),
                    workflows: values.list("notify.workflows").unwrap_or_default(),
                },
            },
            left_out: Vec::new(),
            receivers: Receivers::default(),
            retention: None,
            color: color(values.text("color").as_deref()),
            quiet: values.switch("run.quiet"),
            strict: values.switch("run.strict"),
            max_concurrency: values.count("run.max_concurrency"),
            provider: values.provider("provider"),
            limits: limits::read(&values, &providers),
            caps: values.caps(),
            approvals,
            manifests: values.manifests(),
            providers,
            prices: values.prices(),
            price_list: None,
            asks_nobody: false,
            replies: None,
            model_override: None,
            goal: goal::read(&values),
            sandbox: Ground::default(),
            rulebook: Rulebook::default(),
            addresses: Addresses::default(),
            trusted_folders: Vec::new(),
            own_state: PathBuf::new(),
            secrets,
            vault_passphrase: None,
            entries: values.0.into_values().collect(),
        })
    }
}

/// The state folder without what a project's file says.
fn own_state<'l>(layers: impl DoubleEndedIterator<Item = &'l Layer>) -> Result<PathBuf, ConfigError> {
    let stated = layers.rev().flat_map(|layer| &layer.entries).find(|entry| entry.key == "state_dir");
    let stated = stated.and_then(|entry| match &entry.value {
        Scalar::Text(text) => Some(PathBuf::from(text)),
        _ => None,
    });
    let state = stated.or_else(default_state_dir).ok_or(ConfigError::NoHome)?;
    Ok(std::path::absolute(&state).unwrap_or(state))
}

/// The defaults without what is said about them, which is most of the text and would take most of the time to read.
fn values_of(text: &str) -> String {
    let values = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    values.collect::<Vec<_>>().join("\n")
}

fn user_file() -> Result<Option<Layer>, ConfigError> {
    if let Some(path) = crate::env::get_filled(crate::env::CONFIG) {
        let path = PathBuf::from(path);
        return file(&path, None)?.ok_or(ConfigError::Missing(path)).map(Some);
    }
    user_path().map_or(Ok(None), |path| file(&path, None))
}

/// Where the user's configuration is, or would be.
fn user_path() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    if let Some(path) = crate::env::get_filled(crate::env::CONFIG) {
        return Some(path.into());
    }
    Some(etcetera::base_strategy::Xdg::new().ok()?.config_dir().join("convoke").join("config.toml"))
}

/// The project's file. Paths in one that lies above the folder begin where the file is.
fn project_layer(folder: &Path) -> Result<Option<Layer>, ConfigError> {
    let Some(path) = discovery::project_file(folder, home().as_deref()) else { return Ok(None) };
    let above = path.parent().filter(|above| folder.canonicalize().ok().as_deref() != Some(above));
    match above {
        None => file(&shown_from_here(folder), None),
        Some(above) => file(&path, Some(above)),
    }
}

/// A program of the person's own, which Convoke starts by itself when something happens: a project's file does not choose it, because a step can
/// write that file.
const OWN_PROGRAMS: [&str; 1] = ["notify.command"];

/// Takes these out of a project's layer, and says so.
fn leave_out_programs(layer: &mut Layer) -> Vec<String> {
    let is_own = |entry: &Entry| OWN_PROGRAMS.contains(&entry.key.as_str());
    let left_out: Vec<String> = layer
        .entries
        .iter()
        .filter(|entry| is_own(entry))
        .map(|entry| {
            let place =
                user_path().map_or_else(|| "the user's file".to_owned(), |path| path.display().to_string());
            format!(
                "{}: `{}` does not count in a project's file; write it into {place}",
                entry.origin, entry.key
            )
        })
        .collect();
    layer.entries.retain(|entry| !is_own(entry));
    left_out
}

/// The file of the folder that the command was called in goes by its name alone.
fn shown_from_here(folder: &Path) -> PathBuf {
    let is_here = std::env::current_dir().is_ok_and(|here| here == folder);
    if is_here { PROJECT_FILE.into() } else { folder.join(PROJECT_FILE) }
}

/// The user's home folder.
pub fn home() -> Option<PathBuf> {
    etcetera::home_dir().ok()
}

fn default_state_dir() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::base_strategy::Xdg::new().ok()?.state_dir()?.join("convoke"))
}

fn file(path: &Path, anchor: Option<&Path>) -> Result<Option<Layer>, ConfigError> {
    match discovery::read(path) {
        Ok(None) => Ok(None),
        Ok(Some(Ok(text))) => Ok(Some(Layer::from_toml_at(&text, Some(path.to_owned()), anchor)?)),
        Ok(Some(Err(reason))) => Err(ConfigError::Distrusted { path: path.to_owned(), reason }),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

fn from_flags(flags: &Global) -> Layer {
    let mut layer = Layer::default();
    if let Some(dir) = &flags.state_dir {
        let text = Scalar::Text(dir.display().to_string());
        layer.push("state_dir", text, Origin::Flag("--state-dir"));
    }
    if let Some(state) = &flags.state {
        layer.push("state", Scalar::Text(state.clone()), Origin::Flag("--state"));
    }
    if let Some(choice) = flags.color {
        let word = clap::ValueEnum::to_possible_value(&choice).expect("no variant is hidden");
        let text = Scalar::Text(word.get_name().to_owned());
        layer.push("color", text, Origin::Flag("--color"));
    }
    if flags.quiet {
        layer.push("run.quiet", Scalar::Switch(true), Origin::Flag("--quiet"));
    }
    layer
}

/// `state` is a folder, which is `state_dir` then, or the address of a cluster. Of both keys the one that was said closer to the
/// command is meant: a flag goes over the environment, that over files.
fn where_runs_are(values: &mut IndexMap<String, Entry>) -> Option<String> {
    let state = values.get("state")?.clone();
    let rank = |origin: &Origin| match origin {
        Origin::Flag(_) => 2,
        Origin::Variable(_) => 1,
        _ => 0,
    };
    let folder = values.get("state_dir").filter(|entry| entry.origin != Origin::Default);
    if folder.is_some_and(|folder| rank(&folder.origin) > rank(&state.origin)) {
        return None;
    }
    let Scalar::Text(text) = &state.value else { return None };
    if text.starts_with("restate:") {
        return Some(text.clone());
    }
    values.insert("state_dir".into(), Entry { key: "state_dir".into(), ..state });
    None
}

fn color(word: Option<&str>) -> ColorChoice {
    match word {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

#[cfg(test)]
pub use tests::resolved_from;

#[cfg(test)]
mod tests {
    use super::*;

    /// The configuration of one file, `f.toml`.
    pub fn resolved_from(file: &str) -> Config {
        resolve(&[file])
    }

    fn layers(files: &[&str]) -> Vec<Layer> {
        let named = |text: &&str| Layer::from_toml(text, Some("f.toml".into())).unwrap();
        let mut layers = vec![Layer::from_toml(DEFAULTS, None).unwrap()];
        layers.extend(files.iter().map(named));
        layers
    }

    pub(super) fn resolve(files: &[&str]) -> Config {
        Config::resolve(layers(files), || Some("/state/convoke".into())).unwrap()
    }

    /// What is wrong with files, in words.
    pub(super) fn refusals(files: &[&str]) -> Vec<String> {
        match Config::resolve(layers(files), || Some("/state/convoke".into())) {
            Ok(_) => Vec::new(),
            Err(ConfigError::Faults(faults)) => faults.iter().map(LayerError::to_string).collect(),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn the_defaults_are_the_same_without_their_comments() {
        let entries = |text: &str| Layer::from_toml(text, None).unwrap().entries;
        assert_eq!(entries(&values_of(DEFAULTS)), entries(DEFAULTS));
    }

    #[test]
    fn without_files_the_defaults_hold() {
        let config = resolve(&[]);
        assert_eq!(config.machine_concurrency, 60);
        assert_eq!(config.state_dir, Path::new("/state/convoke"));
        assert_eq!((config.provider, config.max_concurrency), (None, None));
        assert!(config.providers.is_empty());
    }

    #[test]
    fn the_later_layer_wins_and_says_so() {
        let config = resolve(&["machine_concurrency = 3\nrun.quiet = true", "machine_concurrency = 5"]);
        assert_eq!((config.machine_concurrency, config.quiet), (5, true));
        let entry = config.entries.iter().find(|entry| entry.key == "machine_concurrency").unwrap();
        assert_eq!(entry.origin.to_string(), "f.toml:1");
    }

    #[test]
    fn providers_are_gathered_by_name() {
        let config = resolve(&[
            "[providers.mine]\nbase_url = 'http://h/v1'\nmodel = 'm'\n[provider]\nname='scripted'",
        ]);
        assert_eq!(config.providers["mine"].settings.name, "openai");
        assert_eq!(config.providers["mine"].model.as_deref(), Some("m"));
        assert_eq!(config.provider.unwrap().settings.name, "scripted");
    }

    #[test]
    fn without_a_home_there_is_no_state_folder() {
        let layers = vec![Layer::from_toml(DEFAULTS, None).unwrap()];
        assert!(matches!(Config::resolve(layers, || None), Err(ConfigError::NoHome)));
    }

    #[test]
    fn prices_and_headers_are_read_and_names_may_hold_dots() {
        let text = "[pricing.\"gpt-5.2\"]\ninput_per_mtok = 1.25\noutput_per_mtok = 10\n\
                    [providers.\"my.own\"]\nbase_url = \"http://x\"\nheaders.X-Team = \"blue\"\n";
        let layers = vec![
            Layer::from_toml(DEFAULTS, None).unwrap(),
            Layer::from_toml(text, Some("convoke.toml".into())).unwrap(),
        ];
        let config = Config::resolve(layers, || Some("/state".into())).unwrap();
        let wanted = Price { input_per_mtok: 1.25, output_per_mtok: 10.0, ..Price::default() };
        assert_eq!(config.prices["gpt-5.2"], wanted);
        let own = &config.providers["my.own"].settings;
        assert_eq!(
            (own.name.as_str(), &own.headers[..]),
            ("openai", &[("X-Team".into(), "blue".into())][..])
        );
        let negative = Layer::from_toml("[pricing.m]\ninput_per_mtok = -1.5\n", Some("convoke.toml".into()));
        let negative = negative.unwrap().faults.remove(0);
        assert!(negative.to_string().ends_with("expected a number from 0, found -1.5"));
    }
}
