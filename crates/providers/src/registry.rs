//! Finds the provider for some settings, and keeps it.

use crate::connection::{Clients, Options};
use crate::preset::{self, Protocol};
use crate::{Acp, Anthropic, Gemini, Headless, Lookup, OpenAi, Programs, Responses, Scripted};
use convoke_agent::{Provider, Providers};
use convoke_model::{Class, Failure, ProviderSettings};
use convoke_sandbox::Ground;
use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, RwLock};

/// All providers, made when they are first asked for.
pub struct Registry {
    lookup: Lookup,
    programs: Arc<Programs>,
    clients: Clients,
    made: RwLock<HashMap<ProviderSettings, Arc<dyn Provider>>>,
}

impl Registry {
    /// A registry that reaches the network so and resolves credentials with `lookup`.
    pub fn new(options: Options, lookup: Lookup) -> Registry {
        let programs = Arc::new(Programs::new(Vec::new(), lookup.clone()));
        Registry { lookup, programs, clients: Clients::new(options), made: RwLock::default() }
    }

    /// The same registry, whose coding agents inherit these variables: what scripts inherit, without credentials.
    /// Without it they inherit nothing, not even where programs are.
    pub fn with_child_environment(mut self, inherited: Vec<(OsString, OsString)>) -> Registry {
        self.programs = Arc::new(Programs::new(inherited, self.lookup.clone()));
        self
    }

    /// The same registry, whose coding agents inherit these variables and are confined as the ground has it.
    pub fn with_children_on(mut self, inherited: Vec<(OsString, OsString)>, ground: Ground) -> Registry {
        self.programs = Arc::new(Programs::new(inherited, self.lookup.clone()).on(ground));
        self
    }

    fn make(&self, settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        match settings.name.as_str() {
            "scripted" => return Ok(Arc::new(Scripted::new(settings)?)),
            "acp" => return Ok(Arc::new(Acp::new(settings, self.programs.clone())?)),
            "cli" => return Ok(Arc::new(Headless::new(settings, self.programs.clone())?)),
            _ => {}
        }
        let preset = preset::find(&settings.name).ok_or_else(|| unknown(&settings.name))?;
        // Whatever is wrong with the way to the network is said before anything is sent. Not earlier: reading the
        // system's certificates takes time that most commands do not need.
        self.clients.usual()?;
        let (clients, lookup) = (self.clients.clone(), &self.lookup);
        Ok(match preset.protocol {
            Protocol::Chat => Arc::new(OpenAi::new(clients, settings, preset, lookup)?),
            Protocol::Responses => Arc::new(Responses::new(clients, settings, preset, lookup)?),
            Protocol::Messages => Arc::new(Anthropic::new(clients, settings, preset, lookup)?),
            Protocol::Gemini => Arc::new(Gemini::new(clients, settings, preset, lookup)?),
        })
    }
}

impl Providers for Registry {
    fn get(&self, settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        if let Some(made) = self.made.read().expect("a panic poisoned this lock").get(settings) {
            return Ok(made.clone());
        }
        // Made under the lock, so that two attempts cannot make two that count separately.
        let mut all = self.made.write().expect("a panic poisoned this lock");
        if let Some(made) = all.get(settings) {
            return Ok(made.clone());
        }
        let provider = self.make(settings)?;
        all.insert(settings.clone(), provider.clone());
        Ok(provider)
    }
}

fn unknown(name: &str) -> Failure {
    let known = preset::names_in_words();
    let name = if name.is_empty() { "(none)" } else { name };
    Failure::new(Class::Fatal, format!("provider `{name}` is not available; there are {known}"))
        .reason("unknown_provider")
        .hint("choose one with `-p`, or say in the configuration what stands for it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(name: &str) -> ProviderSettings {
        ProviderSettings { name: name.into(), ..ProviderSettings::default() }
    }

    #[test]
    fn the_same_settings_give_the_same_provider() {
        let registry = Registry::new(Options::default(), Arc::new(|_| None));
        let first = registry.get(&settings("scripted")).unwrap();
        assert!(Arc::ptr_eq(&first, &registry.get(&settings("scripted")).unwrap()));
        let Err(failure) = registry.get(&settings("copilot")) else { panic!("made a copilot") };
        let wanted = "provider `copilot` is not available; there are openai, openai-responses, ";
        assert!(failure.message.starts_with(wanted), "{failure}");
    }

    #[test]
    fn a_key_that_is_not_set_is_named() {
        let registry = Registry::new(Options::default(), Arc::new(|_| None));
        let Err(failure) = registry.get(&settings("openai")) else { panic!("no key needed?") };
        assert_eq!(failure.class, Class::Permission);
        assert_eq!(failure.message, "provider openai has no key: variable `OPENAI_API_KEY` is not set");
        let local =
            ProviderSettings { base_url: Some("http://localhost:1/v1/".into()), ..settings("openai") };
        assert!(registry.get(&local).is_ok());
    }
}
