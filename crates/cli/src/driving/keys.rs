//! The keys that a plan uses: which variables hold them, and what they are.
//!
//! No command inherits such a variable unless its step names it, and no key comes back in anything that is said. A key is
//! what a provider, an MCP server or a coding agent is given as a credential: `api_key`, headers, and variables of `env`.

use super::equipment::providers;
use crate::env;
use crate::tape;
use convoke_model::{ProviderSettings, Server, Servers, Transport};
use convoke_plan::{Kind, Plan};
use convoke_providers::{Scrubber, names, preset};
use convoke_tools::Environment;

/// The keys of one plan.
pub struct Keys<'a> {
    providers: Vec<&'a ProviderSettings>,
    servers: Vec<&'a Server>,
}

impl<'a> Keys<'a> {
    /// Those of every provider and server that the plan names.
    pub fn of(plan: &'a Plan) -> Keys<'a> {
        let mut servers: Vec<&Server> = Vec::new();
        for server in servers_of(plan).flat_map(|all| all.values()) {
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        let providers = providers(plan).into_iter().map(|(_, provider)| provider).collect();
        Keys { providers, servers }
    }

    /// What commands inherit: everything but the variables that hold keys.
    pub fn environment(&self) -> Environment {
        Environment::new(std::env::vars_os(), &self.variables())
    }

    /// The keys themselves: in variables, in files, in the workflow.
    pub fn values(&self) -> Vec<String> {
        let named = self.variables().into_iter().filter_map(|name| env::get_filled(&name));
        let literal = self.texts().into_iter().filter(|text| names(text).is_empty()).map(str::to_owned);
        named.chain(tape::own_keys(self.providers.iter().copied())).chain(literal).collect()
    }

    /// Takes them, and whatever else looks like a key, out of what is recorded.
    pub fn scrubber(&self) -> Scrubber {
        Scrubber::new(self.values().into_iter().chain(env::secrets()))
    }

    fn variables(&self) -> Vec<String> {
        let own = self.providers.iter().flat_map(|provider| preset::secret_names(provider));
        own.chain(self.texts().into_iter().flat_map(names)).collect()
    }

    /// Credentials as written, beside those that providers have presets for.
    fn texts(&self) -> Vec<&'a str> {
        let of_servers = self.servers.iter().flat_map(|server| match &server.transport {
            Transport::Stdio { env, .. } => env.as_slice(),
            Transport::Http { headers, .. } => headers.as_slice(),
        });
        let of_programs = self.providers.iter().filter_map(|provider| provider.program.as_deref());
        let all = of_servers.chain(of_programs.flat_map(|program| &program.env));
        // A variable that is set to a plain word (`LOG_LEVEL: debug`) holds no key.
        all.map(|(name, text)| (name, text.as_str()))
            .filter(|(name, text)| !names(text).is_empty() || env::is_secret(name))
            .map(|(_, text)| text)
            .collect()
    }
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
