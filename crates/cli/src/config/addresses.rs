//! Where services are asked that a workflow file names without an address of its own.
//!
//! Settled once, for every service that Convoke knows, so that `config show`, a run and a resumed run say and do the same.
//! An address of a file or of `[providers.NAME]` goes over what stands here; that is `plan`'s part.

use super::layer::{Entry, Origin, Scalar};
use super::{Config, Provider};
use convoke_model::ProviderSettings;
use convoke_providers::preset;
use std::collections::BTreeMap;

/// The variables in which the services' own clients look for an address, and the names of the service.
const USUAL: [(&str, &[&str]); 2] =
    [("OPENAI_BASE_URL", &["openai", "openai-responses"]), ("ANTHROPIC_BASE_URL", &["anthropic", "claude"])];

/// The key that says where the configured provider is.
const KEY: &str = "provider.base_url";

/// The service whose protocol an address speaks that comes without a name.
const UNNAMED: &str = "openai";

/// An address, and the place that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub url: String,
    /// Where it was written.
    pub origin: Origin,
}

/// Addresses by the name of the service, for those that are not asked at their built-in address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses(BTreeMap<&'static str, Address>);

impl Addresses {
    /// What the configuration and the environment say.
    ///
    /// `CONVOKE_BASE_URL` (`provider.base_url`) goes over a service's own variable for the provider that the configuration
    /// names. Without such a name it holds for every service that has no variable of its own: a person that replaces the
    /// address does not expect prompts anywhere else.
    pub fn of(config: &Config, get: impl Fn(&str) -> Option<String>) -> Addresses {
        let mut all = BTreeMap::new();
        for (variable, services) in USUAL {
            let Some(url) = get(variable).filter(|url| !url.is_empty()) else { continue };
            let address = Address { url, origin: Origin::Variable(variable) };
            all.extend(services.iter().map(|service| (*service, address.clone())));
        }
        if let Some(address) = stated(config) {
            let name = text(config, "provider.name");
            let names = family(name.unwrap_or(UNNAMED));
            all.extend(names.iter().map(|service| (*service, address.clone())));
            for preset in
                preset::ALL.iter().filter(|preset| name.is_none() && !has_variable(preset.base, &get))
            {
                all.entry(preset.name).or_insert_with(|| address.clone());
            }
        }
        Addresses(all)
    }

    /// The address of a service, if it is not the built-in one.
    pub fn get(&self, service: &str) -> Option<&Address> {
        self.0.get(service)
    }

    /// Gives settings without an address the one that holds for their service.
    pub fn settle(&self, settings: &mut ProviderSettings) {
        if settings.base_url.as_deref().is_none_or(str::is_empty) {
            settings.base_url = self.get(&settings.name).map(|address| address.url.clone());
        }
    }

    /// The same for a provider as the configuration describes it.
    pub fn settled(&self, mut provider: Provider) -> Provider {
        self.settle(&mut provider.settings);
        provider
    }

    /// Address by service, as a plan is compiled with.
    pub fn by_service(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|(service, address)| ((*service).to_owned(), address.url.clone())).collect()
    }
}

/// The address that the environment gives to the configured provider.
pub fn from_environment(config: &Config) -> Option<Address> {
    stated(config).filter(|address| matches!(address.origin, Origin::Variable(_)))
}

fn stated(config: &Config) -> Option<Address> {
    let entry = entry(config, KEY)?;
    Some(Address { url: text(config, KEY)?.to_owned(), origin: entry.origin.clone() })
}

fn entry<'a>(config: &'a Config, key: &str) -> Option<&'a Entry> {
    config.entries.iter().find(|entry| entry.key == key)
}

fn text<'a>(config: &'a Config, key: &str) -> Option<&'a str> {
    match &entry(config, key)?.value {
        Scalar::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// The names that stand for the same service; none for a name that the user chose, which has settings of its own.
fn family(name: &str) -> Vec<&'static str> {
    match USUAL.iter().find(|(_, services)| services.contains(&name)) {
        Some((_, services)) => services.to_vec(),
        None => preset::find(name).map(|preset| preset.name).into_iter().collect(),
    }
}

/// Whether a built-in address names a variable, and the variable is set.
fn has_variable(base: &str, get: &impl Fn(&str) -> Option<String>) -> bool {
    let names = convoke_providers::names(base);
    !names.is_empty() && names.iter().all(|name| get(name).is_some_and(|value| !value.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::resolve;
    use super::*;

    fn addresses(file: &str, variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Addresses::of(&resolve(&[file]), get).by_service()
    }

    #[test]
    fn a_services_own_variable_holds_for_all_its_names() {
        let all = addresses("", &[("OPENAI_BASE_URL", "http://o"), ("ANTHROPIC_BASE_URL", "http://a")]);
        let wanted = [("anthropic", "http://a"), ("claude", "http://a"), ("openai", "http://o")];
        let wanted = wanted.into_iter().chain([("openai-responses", "http://o")]);
        assert_eq!(all, wanted.map(|(name, url)| (name.to_owned(), url.to_owned())).collect());
    }

    #[test]
    fn an_address_without_a_name_leaves_no_service_at_its_built_in_address() {
        let all = addresses("provider.base_url = 'http://c'", &[("ANTHROPIC_BASE_URL", "http://a")]);
        assert_eq!((all["openai"].as_str(), all["claude"].as_str()), ("http://c", "http://a"));
        assert!(preset::ALL.iter().all(|preset| all.contains_key(preset.name)), "{all:?}");
        let azure = [("AZURE_OPENAI_ENDPOINT", "https://mine.test")];
        assert!(!addresses("provider.base_url = 'http://c'", &azure).contains_key("azure"));
    }

    #[test]
    fn an_address_with_a_name_is_of_that_service() {
        let named = "provider = {name = 'openai', base_url = 'http://c'}";
        let all = addresses(named, &[("OPENAI_BASE_URL", "http://o")]);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all.values().all(|url| url == "http://c"));
        let own = "provider = {name = 'mine', base_url = 'http://c'}\nproviders.mine.name = 'openai'";
        assert!(addresses(own, &[]).is_empty(), "a name of [providers] has an address of its own");
    }
}
