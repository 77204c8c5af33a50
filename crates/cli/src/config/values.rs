//! The values of all layers together, by key, and what they say about providers and prices.

use super::layer::{Entry, Origin, Scalar};
use super::{Provider, keys};
use convoke_model::{Permissions, Price, Program, ProviderSettings, Violation};
use convoke_plan::Strategy;
use convoke_plan::compile::Caps;
use convoke_plan::source::ManifestDefaults;
use convoke_providers::preset;
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The values by key; each was checked against its kind when its layer was read.
pub struct Values(pub IndexMap<String, Entry>);

impl Values {
    pub fn text(&self, key: &str) -> Option<String> {
        match &self.0.get(key)?.value {
            Scalar::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        match self.0.get(key)?.value {
            Scalar::Number(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    /// Where a key's value came from.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.0.get(key).map(|entry| &entry.origin)
    }

    /// The names that the user chose below a table whose keys are `TABLE.NAME.KEY`; they may hold dots.
    pub fn names_below(&self, table: &str) -> BTreeSet<String> {
        let below =
            |key: &String| Some(key.strip_prefix(table)?.strip_prefix('.')?.rsplit_once('.')?.0.to_owned());
        self.0.keys().filter_map(below).collect()
    }

    pub fn count(&self, key: &str) -> Option<u32> {
        self.number(key).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    }

    pub fn switch(&self, key: &str) -> bool {
        matches!(self.0.get(key), Some(Entry { value: Scalar::Switch(true), .. }))
    }

    /// What bounds pipelines.
    pub fn caps(&self) -> Caps {
        let usual = Caps::default();
        let count = |key: &str, usual: u32| self.count(&format!("pipelines.{key}")).unwrap_or(usual);
        Caps {
            recursive_depth: count("recursive_depth", usual.recursive_depth),
            topology_depth: count("topology_depth", usual.topology_depth),
            topology_retries: count("topology_retries", usual.topology_retries),
            relationship_children: count("relationship_children", usual.relationship_children),
            concurrent: self.count("pipelines.max_concurrency"),
            violation: match self.text("pipelines.security_violation").as_deref() {
                Some("hard_abort") => Some(Violation::HardAbort),
                Some("validation_fail") => Some(Violation::ValidationFail),
                _ => None,
            },
        }
    }

    /// What holds for execution manifests that say nothing of their own.
    pub fn manifests(&self) -> ManifestDefaults {
        let usual = ManifestDefaults::default();
        let strategy = self.text("manifests.synthesis.strategy");
        ManifestDefaults {
            max_concurrency: self.number("manifests.max_concurrency").unwrap_or(usual.max_concurrency),
            batch_size: self.number("manifests.batch_size"),
            strategy: strategy.and_then(|word| read_strategy(&word)).unwrap_or(usual.strategy),
            ratio: self.number("manifests.synthesis.ratio"),
            attempt: self.seconds("manifests.timeout_seconds").unwrap_or(usual.attempt),
            progressive: self.switch("manifests.synthesis.progressive"),
        }
    }

    pub fn seconds(&self, key: &str) -> Option<Duration> {
        self.fraction(key).map(Duration::from_secs_f64)
    }

    /// The provider below a key; `None` unless something is said about it.
    pub fn provider(&self, below: &str) -> Option<Provider> {
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
        let args = self.list(&format!("{below}.args")).unwrap_or_default();
        let permissions = match self.text(&format!("{below}.permissions")).as_deref() {
            Some("allow") => Permissions::Allow,
            Some("deny") => Permissions::Deny,
            _ => Permissions::Ask,
        };
        let command = self.text(&format!("{below}.command"))?;
        Some(Box::new(Program { command, args, env: self.texts_below(below, "env"), permissions }))
    }

    /// A list of texts.
    pub fn list(&self, key: &str) -> Option<Vec<String>> {
        match &self.0.get(key)?.value {
            Scalar::List(texts) => Some(texts.clone()),
            _ => None,
        }
    }

    pub fn texts_below(&self, below: &str, table: &str) -> Vec<(String, String)> {
        let start = format!("{below}.{table}.");
        let names = self.0.keys().filter_map(|key| key.strip_prefix(&start));
        names.filter_map(|name| Some((name.to_owned(), self.text(&format!("{start}{name}"))?))).collect()
    }

    pub fn prices(&self) -> BTreeMap<String, Price> {
        let models = self.names_below("pricing");
        let price = |model: &str| {
            let get = |key: &str| self.fraction(&format!("pricing.{model}.{key}")).unwrap_or(0.0);
            Price {
                input_per_mtok: get("input_per_mtok"),
                output_per_mtok: get("output_per_mtok"),
                cache_read_per_mtok: get("cache_read_per_mtok"),
                cache_write_per_mtok: get("cache_write_per_mtok"),
                ..Price::default()
            }
        };
        models.into_iter().map(|model| (model.clone(), price(&model))).collect()
    }

    pub fn fraction(&self, key: &str) -> Option<f64> {
        keys::fraction(&self.0.get(key)?.value)
    }

    pub fn providers(&self) -> BTreeMap<String, Provider> {
        let names = self.0.keys().filter_map(|key| provider_name(key.strip_prefix("providers.")?));
        let names: BTreeSet<_> = names.map(str::to_owned).collect();
        let read = |name: String| {
            let mut provider = self.provider(&format!("providers.{name}"))?;
            if self.text(&format!("providers.{name}.name")).is_none() && preset::is_known(&name) {
                provider.settings.name = name.clone();
            }
            Some((name, provider))
        };
        names.into_iter().filter_map(read).collect()
    }
}

/// The strategy of a word that was checked before.
fn read_strategy(word: &str) -> Option<Strategy> {
    serde_json::from_value(serde_json::Value::from(word)).ok()
}

/// The name in `NAME.key` or `NAME.headers.key`; it may hold dots.
fn provider_name(below: &str) -> Option<&str> {
    let with_header = below.rsplit_once(".headers.").map(|(name, _)| name);
    with_header.or_else(|| below.rsplit_once('.').map(|(name, _)| name))
}

/// A provider with an address and no name that says more is one that speaks OpenAI's protocol, as most services do.
fn named_by_its_address(mut provider: Provider) -> Provider {
    if provider.settings.name.is_empty() && provider.settings.base_url.is_some() {
        provider.settings.name = "openai".to_owned();
    }
    provider
}
