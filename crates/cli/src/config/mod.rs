//! The configuration: as written in layers, as meant in [`Config`], resolved once and passed down.
//!
//! Later layers win, key by key, and every value keeps its origin, so that `config show` can say it.

mod keys;
mod layer;

pub use layer::{Entry, LayerError, Origin, Scalar};

use crate::args::{ColorChoice, Global};
use convoke_model::{Permissions, Price, Program, ProviderSettings};
use indexmap::IndexMap;
use layer::Layer;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The defaults, with a comment per key.
pub const DEFAULTS: &str = include_str!("default.toml");

/// The configuration as it is meant.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where runs are kept.
    pub state_dir: PathBuf,
    /// The most attempts at once on this machine.
    pub machine_concurrency: u32,
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
    /// Every value with its origin, in the order of the defaults.
    pub entries: Vec<Entry>,
    /// What is odd about the configuration, in words.
    pub warnings: Vec<String>,
}

/// A provider as the configuration describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provider {
    /// How to reach it.
    pub settings: ProviderSettings,
    /// The model for agents that name none.
    pub model: Option<String>,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A layer is wrong.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// A file exists and cannot be read.
    #[error("{}: cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The configuration file that a variable names is not there.
    #[error("{}: not found, though {} names it", .0.display(), crate::env::CONFIG)]
    Missing(PathBuf),
    /// Nobody knows where the state folder would be.
    #[error("no state folder: there is no home folder")]
    NoHome,
}

impl Config {
    /// Reads every layer from this machine.
    pub fn load(flags: &Global) -> Result<Config, ConfigError> {
        let mut layers = vec![Layer::from_toml(DEFAULTS, None)?];
        layers.extend(user_file()?);
        layers.extend(file(Path::new("convoke.toml"))?);
        layers.push(Layer::from_environment(crate::env::get)?);
        layers.push(from_flags(flags)?);
        Config::resolve(layers, default_state_dir)
    }

    fn resolve(layers: Vec<Layer>, state: impl Fn() -> Option<PathBuf>) -> Result<Config, ConfigError> {
        let mut values: IndexMap<String, Entry> = IndexMap::new();
        let mut warnings = Vec::new();
        for layer in layers {
            warnings.extend(layer.warnings);
            values.extend(layer.entries.into_iter().map(|entry| (entry.key.clone(), entry)));
        }
        if !values.contains_key("state_dir") {
            let dir = state().ok_or(ConfigError::NoHome)?.display().to_string();
            let entry = Entry { key: "state_dir".into(), value: Scalar::Text(dir), origin: Origin::Default };
            values.shift_insert(0, "state_dir".into(), entry);
        }
        let values = Values(values);
        Ok(Config {
            state_dir: values.text("state_dir").expect("set above").into(),
            machine_concurrency: values.count("machine_concurrency").expect("it has a default"),
            color: color(values.text("color").as_deref()),
            quiet: values.switch("run.quiet"),
            strict: values.switch("run.strict"),
            max_concurrency: values.count("run.max_concurrency"),
            provider: values.provider("provider"),
            providers: values.providers(),
            prices: values.prices(),
            entries: values.0.into_values().collect(),
            warnings,
        })
    }
}

/// The values by key; each was checked against its kind when its layer was read.
struct Values(IndexMap<String, Entry>);

impl Values {
    fn text(&self, key: &str) -> Option<String> {
        match &self.0.get(key)?.value {
            Scalar::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<u64> {
        match self.0.get(key)?.value {
            Scalar::Number(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    fn count(&self, key: &str) -> Option<u32> {
        self.number(key).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn switch(&self, key: &str) -> bool {
        matches!(self.0.get(key), Some(Entry { value: Scalar::Switch(true), .. }))
    }

    /// The provider below a key; `None` unless something is said about it.
    fn provider(&self, below: &str) -> Option<Provider> {
        let get = |key: &str| self.text(&format!("{below}.{key}"));
        let settings = ProviderSettings {
            name: get("name").unwrap_or_default(),
            base_url: get("base_url"),
            api_key: get("api_key"),
            api_key_file: get("api_key_file"),
            headers: self.texts_below(below, "headers"),
            file: get("file"),
            latency_ms: self.number(&format!("{below}.latency_ms")),
            program: self.program(below),
        };
        let provider = Provider { settings, model: get("model") };
        (provider != Provider::default()).then_some(provider).map(named_by_its_address)
    }

    /// The program of a coding agent; what is said about it without naming it has nothing to hold on to.
    fn program(&self, below: &str) -> Option<Box<Program>> {
        let args = match self.0.get(&format!("{below}.args")).map(|entry| &entry.value) {
            Some(Scalar::List(texts)) => texts.clone(),
            _ => Vec::new(),
        };
        let permissions = match self.text(&format!("{below}.permissions")).as_deref() {
            Some("allow") => Permissions::Allow,
            Some("deny") => Permissions::Deny,
            _ => Permissions::Ask,
        };
        let command = self.text(&format!("{below}.command"))?;
        Some(Box::new(Program { command, args, env: self.texts_below(below, "env"), permissions }))
    }

    fn texts_below(&self, below: &str, table: &str) -> Vec<(String, String)> {
        let start = format!("{below}.{table}.");
        let names = self.0.keys().filter_map(|key| key.strip_prefix(&start));
        names.filter_map(|name| Some((name.to_owned(), self.text(&format!("{start}{name}"))?))).collect()
    }

    fn prices(&self) -> BTreeMap<String, Price> {
        let models = self.0.keys().filter_map(|key| key.strip_prefix("pricing.")?.rsplit_once('.'));
        let models: BTreeSet<_> = models.map(|(model, _)| model.to_owned()).collect();
        let price = |model: &str| {
            let get = |key: &str| self.fraction(&format!("pricing.{model}.{key}")).unwrap_or(0.0);
            Price {
                input_per_mtok: get("input_per_mtok"),
                output_per_mtok: get("output_per_mtok"),
                cache_read_per_mtok: get("cache_read_per_mtok"),
                cache_write_per_mtok: get("cache_write_per_mtok"),
            }
        };
        models.into_iter().map(|model| (model.clone(), price(&model))).collect()
    }

    fn fraction(&self, key: &str) -> Option<f64> {
        match &self.0.get(key)?.value {
            Scalar::Number(number) => Some(*number as f64),
            Scalar::Fraction(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn providers(&self) -> BTreeMap<String, Provider> {
        let names = self.0.keys().filter_map(|key| provider_name(key.strip_prefix("providers.")?));
        let names: BTreeSet<_> = names.map(str::to_owned).collect();
        let read = |name: String| {
            let provider = self.provider(&format!("providers.{name}"))?;
            Some((name, provider))
        };
        names.into_iter().filter_map(read).collect()
    }
}

/// The name in `NAME.key` or `NAME.headers.key`; it may hold dots.
fn provider_name(below: &str) -> Option<&str> {
    let with_header = below.rsplit_once(".headers.").map(|(name, _)| name);
    with_header.or_else(|| below.rsplit_once('.').map(|(name, _)| name))
}

/// A provider with an address and no name is one that speaks OpenAI's protocol, the only one that has addresses.
fn named_by_its_address(mut provider: Provider) -> Provider {
    if provider.settings.name.is_empty() && provider.settings.base_url.is_some() {
        provider.settings.name = "openai".to_owned();
    }
    provider
}

fn user_file() -> Result<Option<Layer>, ConfigError> {
    if let Some(path) = crate::env::get_filled(crate::env::CONFIG) {
        let path = PathBuf::from(path);
        return file(&path)?.ok_or(ConfigError::Missing(path)).map(Some);
    }
    use etcetera::BaseStrategy;
    match etcetera::base_strategy::Xdg::new() {
        Ok(folders) => file(&folders.config_dir().join("convoke").join("config.toml")),
        Err(_) => Ok(None),
    }
}

fn default_state_dir() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::base_strategy::Xdg::new().ok()?.state_dir()?.join("convoke"))
}

fn file(path: &Path) -> Result<Option<Layer>, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(Layer::from_toml(&text, Some(path.to_owned()))?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

fn from_flags(flags: &Global) -> Result<Layer, LayerError> {
    let mut layer = Layer::default();
    if let Some(dir) = &flags.state_dir {
        let text = Scalar::Text(dir.display().to_string());
        layer.push("state_dir", text, Origin::Flag("--state-dir"))?;
    }
    if let Some(choice) = flags.color {
        let word = clap::ValueEnum::to_possible_value(&choice).expect("no variant is hidden");
        let text = Scalar::Text(word.get_name().to_owned());
        layer.push("color", text, Origin::Flag("--color"))?;
    }
    if flags.quiet {
        layer.push("run.quiet", Scalar::Switch(true), Origin::Flag("--quiet"))?;
    }
    Ok(layer)
}

fn color(word: Option<&str>) -> ColorChoice {
    match word {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(files: &[&str]) -> Config {
        let mut layers = vec![Layer::from_toml(DEFAULTS, None).unwrap()];
        let named = |text: &&str| Layer::from_toml(text, Some("f.toml".into())).unwrap();
        layers.extend(files.iter().map(named));
        Config::resolve(layers, || Some("/state/convoke".into())).unwrap()
    }

    #[test]
    fn without_files_the_defaults_hold() {
        let config = resolve(&[]);
        assert_eq!(config.machine_concurrency, 60);
        assert_eq!(config.state_dir, Path::new("/state/convoke"));
        assert_eq!((config.provider, config.max_concurrency), (None, None));
        assert!(config.providers.is_empty() && config.warnings.is_empty());
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
        assert!(negative.unwrap_err().to_string().ends_with("expected a number from 0, found -1.5"));
    }
}
