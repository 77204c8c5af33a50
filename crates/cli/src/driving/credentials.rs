//! The credentials that a plan uses: which variables hold them, and their values.
//!
//! No command inherits such a variable unless its step names it, and no key comes back in anything that is said. A key is
//! what a provider, an MCP server or a coding agent is given as a credential: `api_key`, headers, and what arguments and
//! variables of `env` refer to. What a script step names in its `env` is its own to use, and to print; no model is sent it.

use super::equipment::providers;
use crate::cassette;
use crate::config::Config;
use crate::env;
use crate::secrets::Secrets;
use convoke_agent::redaction::{Scrubber, Secret};
use convoke_model::secret::is_named_like_one;
use convoke_model::{ProviderSettings, SecretSource, Server, Servers, Transport};
use convoke_plan::{Kind, Plan};
use convoke_providers::{names, preset};
use convoke_tools::Environment;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// The providers and servers that a plan names, for a process without the plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunSettings {
    providers: Vec<ProviderSettings>,
    servers: Vec<Server>,
    /// Variables that its commands are given, as references.
    variables: Vec<(String, String)>,
}

/// The keys of one plan.
pub struct Credentials<'a> {
    providers: Vec<&'a ProviderSettings>,
    servers: Vec<&'a Server>,
    /// What script steps are given, which they may print.
    variables: Vec<&'a (String, String)>,
    /// Named secrets, fetched.
    named: Secrets,
}

impl<'a> Credentials<'a> {
    /// Those of every provider and server that the plan names.
    pub fn of(plan: &'a Plan) -> Credentials<'a> {
        let mut servers: Vec<&Server> = Vec::new();
        for server in servers_of(plan).flat_map(|all| all.values()) {
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        let providers = providers(plan).into_iter().map(|(_, provider)| provider).collect();
        Credentials { providers, servers, variables: variables_of(plan).collect(), named: Secrets::default() }
    }

    /// The same with named secrets.
    pub fn with(self, named: &Secrets) -> Credentials<'a> {
        Credentials { named: named.clone(), ..self }
    }

    /// Names that script steps refer to.
    pub fn of_scripts(&self) -> HashSet<String> {
        self.variables.iter().flat_map(|(_, text)| names(text)).collect()
    }

    /// Every name that a reference is made to.
    fn referred(&self) -> impl Iterator<Item = String> {
        let own = self.providers.iter().flat_map(|provider| preset::secret_names(provider));
        let addresses =
            self.providers.iter().filter_map(|provider| provider.base_url.as_deref()).flat_map(names);
        let settings = self.settings().flat_map(|(_, text)| names(text));
        own.chain(addresses).chain(settings).chain(self.variables.iter().flat_map(|(_, text)| names(text)))
    }

    /// Those of what another process's plan names.
    pub fn of_settings(settings: &'a RunSettings) -> Credentials<'a> {
        Credentials {
            providers: settings.providers.iter().collect(),
            servers: settings.servers.iter().collect(),
            variables: settings.variables.iter().collect(),
            named: Secrets::default(),
        }
    }

    /// What another process needs to know of them: settings and references, no values.
    pub fn run_settings(&self) -> RunSettings {
        RunSettings {
            providers: self.providers.iter().map(|provider| (*provider).clone()).collect(),
            servers: self.servers.iter().map(|server| (*server).clone()).collect(),
            variables: self.variables.iter().map(|variable| (*variable).clone()).collect(),
        }
    }

    /// The named secrets.
    pub fn named(&self) -> &Secrets {
        &self.named
    }

    /// What commands inherit: everything but the variables that hold keys.
    pub fn environment(&self) -> Environment {
        let withheld: Vec<String> =
            self.variables().into_iter().chain(self.named.variables().cloned()).collect();
        Environment::new(std::env::vars_os(), &withheld)
    }

    /// The keys themselves: in variables, in files, in the workflow.
    pub fn values(&self) -> Vec<String> {
        let named = self.variables().into_iter().filter_map(|name| env::get_filled(&name));
        let literal =
            self.settings().filter(|(name, text)| is_named_like_one(name) && names(text).is_empty());
        let literal = literal.map(|(_, text)| text.to_owned());
        let fetched = self.named.masked().map(|(_, value)| value.to_owned());
        named
            .chain(cassette::own_keys(self.providers.iter().copied()))
            .chain(literal)
            .chain(fetched)
            .collect()
    }

    /// Everything that no model is to see unless its contract lists it: the keys, what script steps are given as a secret,
    /// and the variables of this process that are named like one.
    pub fn secrets(&self) -> Vec<Secret> {
        let given = self.variables.iter().flat_map(|(setting, text)| {
            let is_key = move |name: &String| is_named_like_one(setting) || is_named_like_one(name);
            names(text).into_iter().filter(is_key)
        });
        let named = self.variables().into_iter().chain(given);
        let named = named.filter_map(|name| {
            let value = env::get_filled(&name)?;
            Some(Secret { variable: Some(name), value })
        });
        let written =
            self.variables.iter().filter(|(name, text)| is_named_like_one(name) && names(text).is_empty());
        let written = written.map(|(_, text)| Secret { variable: None, value: text.clone() });
        let around = env::secret_variables().into_iter().filter(|(_, value)| !is_ordinary(value));
        let around = around.map(|(name, value)| Secret { variable: Some(name), value });
        let own = self.values().into_iter().map(|value| Secret { variable: None, value });
        let fetched = self.named.masked();
        let fetched =
            fetched.map(|(name, value)| Secret { variable: Some(name.to_owned()), value: value.to_owned() });
        let named = fetched.chain(named);
        named.chain(written).chain(around).chain(own).collect()
    }

    /// Takes them, and whatever else looks like a key, out of what is recorded.
    pub fn scrubber(&self) -> Scrubber {
        Scrubber::new(self.values().into_iter().chain(env::secrets()))
    }

    fn variables(&self) -> Vec<String> {
        let own = self.providers.iter().flat_map(|provider| preset::secret_names(provider));
        let named = self.settings().flat_map(|(setting, text)| {
            let is_key = move |name: &String| is_named_like_one(setting) || is_named_like_one(name);
            names(text).into_iter().filter(is_key)
        });
        own.chain(named).collect()
    }

    /// What servers and programs are started with, by name. A variable in it holds a key if it, or what it is given as,
    /// is named like one: `${HOME}` among the arguments is no secret.
    fn settings(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let servers = self.servers.iter().flat_map(|server| match &server.transport {
            Transport::Stdio { args, env, .. } => settings("args", args, env),
            Transport::Scripts { scripts, env, .. } => {
                let args = scripts.iter().flat_map(|script| settings("args", &script.args, &[]));
                args.chain(settings("args", &[], env)).collect()
            }
            Transport::Own { .. } => Vec::new(),
            // Whatever a header refers to is there to let us in.
            Transport::Http { url, headers } => {
                let headers = headers.iter().map(|(_, text)| ("secret", text.as_str()));
                headers.chain([("url", url.as_str())]).collect()
            }
        });
        let programs = self.providers.iter().filter_map(|provider| provider.program.as_deref());
        servers.chain(programs.flat_map(|program| settings("args", &program.args, &program.env)))
    }
}

fn settings<'a>(
    name: &'static str,
    texts: &'a [String],
    named: &'a [(String, String)],
) -> Vec<(&'a str, &'a str)> {
    let named = named.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    named.chain(texts.iter().map(|text| (name, text.as_str()))).collect()
}

/// Whether a variable that only its name makes a secret holds something that texts hold too: a word, or the path of a file.
/// To mask that would spoil prompts and hide nothing.
fn is_ordinary(value: &str) -> bool {
    let is_word = value.len() < 16 && value.chars().all(char::is_alphabetic);
    is_word || value.starts_with('/') && std::path::Path::new(value).exists()
}

/// From where the secrets come that a plan needs: those that it declares, and those of the configuration that it refers to. What the
/// configuration says goes over the plan.
pub fn needed_secrets(plan: &Plan, config: &Config) -> BTreeMap<String, SecretSource> {
    let configured = |name: String| config.secrets.get(&name).map(|source| (name.clone(), source.clone()));
    let credentials = Credentials::of(plan);
    let referred = credentials.referred().filter_map(configured);
    let declared = plan
        .secrets
        .iter()
        .map(|(name, source)| (name.clone(), config.secrets.get(name).unwrap_or(source).clone()));
    declared.chain(referred).collect()
}

/// The variables of every script step.
fn variables_of(plan: &Plan) -> impl Iterator<Item = &(String, String)> {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    nodes.flat_map(|node| match &node.kind {
        Kind::Script(script) => &script.env[..],
        _ => &[],
    })
}

/// The servers of each step that has any.
pub fn servers_of(plan: &Plan) -> impl Iterator<Item = &Servers> {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    let servers = nodes.filter_map(|node| match &node.kind {
        Kind::Agent(agent) => Some(&*agent.settings.servers),
        Kind::Tool(tool) => Some(&*tool.servers),
        _ => None,
    });
    servers.filter(|servers| !servers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_a_key_by_its_name_or_by_what_it_is_given_as() {
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let stdio = Server {
            transport: Transport::Stdio {
                command: "run".into(),
                args: vec!["${HOME}/data".into(), "--token=${SHOP_TOKEN}".into()],
                env: vec![pair("FOLDER", "${HOME}"), pair("API_KEY", "${MINE}")],
                working_dir: None,
            },
            timeout: None,
            tools: None,
        };
        let headers = vec![pair("Authorization", "Bearer ${LETTER}")];
        let url = "https://x.test/${REGION}".to_owned();
        let http = Server { transport: Transport::Http { url, headers }, timeout: None, tools: None };
        let keys = Credentials {
            providers: Vec::new(),
            servers: vec![&stdio, &http],
            variables: Vec::new(),
            named: Secrets::default(),
        };
        assert_eq!(keys.variables(), ["MINE", "SHOP_TOKEN", "LETTER"]);
    }
}
