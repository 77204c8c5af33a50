//! This process as a host of attempts: its folder, its variables, which of them a task reads, and how it performs tasks of other
//! processes. The `handover` crate learns of the environment only through this file.

use super::credentials::RunSettings;
use super::equipment::Equipment;
use crate::env;
use convoke_agent::Executor;
use convoke_handover::{HostEnvironment, Performer, Performers};
use convoke_model::reference::names;
use convoke_model::{JsonText, ProviderSettings, Server, Servers, Transport, Work};
use convoke_providers::preset;
use convoke_sandbox::Ground;
use convoke_tools::Rulebook;
use futures::future::BoxFuture;
use std::io;
use std::sync::Arc;

/// Variables that every command may read, whether its step names them or not.
const OF_COMMANDS: [&str; 2] = ["PATH", "HOME"];

/// This process.
#[derive(Clone)]
pub struct Host {
    folder: String,
    ground: Ground,
    rulebook: Rulebook,
    /// Secrets of the run, which this process alone has.
    secrets: Vec<String>,
}

impl Host {
    /// The process as it is now; what it performs is confined on this ground.
    pub fn of_this_process(ground: &Ground, rulebook: &Rulebook) -> io::Result<Arc<Host>> {
        let folder = std::env::current_dir()?.display().to_string();
        let (ground, rulebook) = (ground.clone(), rulebook.clone());
        Ok(Arc::new(Host { folder, ground, rulebook, secrets: Vec::new() }))
    }

    /// The same where work that needs these secrets stays here.
    pub fn keeping(self: Arc<Host>, secrets: impl Iterator<Item = String>) -> Arc<Host> {
        Arc::new(Host { secrets: secrets.collect(), ..Arc::unwrap_or_clone(self) })
    }
}

impl HostEnvironment for Host {
    fn folder(&self) -> &str {
        &self.folder
    }

    fn variable(&self, name: &str) -> Option<String> {
        env::get(name)
    }

    fn variables(&self) -> Vec<(String, String)> {
        env::all().collect()
    }

    fn variables_read_by(&self, work: &Work) -> Option<Vec<String>> {
        variables_read_by(work).filter(|read| !read.iter().any(|name| self.secrets.contains(name)))
    }
}

impl Performers for Host {
    fn for_run(&self, settings: &JsonText) -> Result<Arc<dyn Performer>, String> {
        let settings: RunSettings =
            serde_json::from_str(settings.as_str()).map_err(|error| error.to_string())?;
        Ok(Arc::new(Equipment::for_settings(&settings, &self.ground, &self.rulebook)))
    }
}

impl Performer for Equipment {
    fn executor(&self) -> Arc<dyn Executor> {
        Equipment::executor(self)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(Equipment::close(self))
    }
}

/// The variables that this work reads. `None` for work that other processes cannot perform: a list of scripted replies and a server
/// that is a child of this process keep their place in this one's memory.
fn variables_read_by(work: &Work) -> Option<Vec<String>> {
    match work {
        // What outlives the engine is recorded in the run's folder, by the owner of the run.
        Work::Script(call) if call.survival.is_some() => None,
        Work::Script(call) => {
            let named = call.env.iter().flat_map(|(_, text)| names(text));
            Some(named.chain(owned(&OF_COMMANDS)).collect())
        }
        // A probe is asked by the owner of the run.
        Work::Probe(_) => None,
        // A program's outputs are in this process's memory, and its interpreter is this process's child.
        Work::Program(_) => None,
        Work::Tool(work) => of_servers(&work.servers),
        Work::Agent(call) => {
            let provider = of_provider(&call.settings.provider)?;
            Some(provider.into_iter().chain(of_servers(&call.settings.servers)?).collect())
        }
    }
}

fn of_provider(provider: &ProviderSettings) -> Option<Vec<String>> {
    if provider.file.is_some() {
        return None;
    }
    let mut read = preset::secret_names(provider);
    read.extend(provider.base_url.iter().flat_map(|url| names(url)));
    read.extend(of_the_network());
    if let Some(program) = &provider.program {
        let texts = program.args.iter().chain(program.env.iter().map(|(_, text)| text));
        read.extend(texts.flat_map(|text| names(text)));
        read.extend(owned(&OF_COMMANDS));
    }
    Some(read)
}

fn of_servers(servers: &Servers) -> Option<Vec<String>> {
    let read: Option<Vec<_>> = servers.values().map(of_server).collect();
    Some(read?.into_iter().flatten().collect())
}

fn of_server(server: &Server) -> Option<Vec<String>> {
    match &server.transport {
        Transport::Stdio { .. } | Transport::Scripts { .. } | Transport::Own { .. } => None,
        Transport::Http { url, headers } => {
            let texts = headers.iter().map(|(_, text)| text).chain([url]);
            Some(texts.flat_map(|text| names(text)).chain(of_the_network()).collect())
        }
    }
}

/// Variables that say how services are reached.
fn of_the_network() -> impl Iterator<Item = String> {
    let proxies = owned(&env::HTTPS_PROXY).chain(owned(&env::HTTP_PROXY)).chain(owned(&env::NO_PROXY));
    proxies.chain([env::CA_FILE.to_owned()])
}

fn owned<'a>(names: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    names.iter().map(|name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_depends_on_this_process_stays_here() {
        let transport =
            Transport::Stdio { command: "s".into(), args: Vec::new(), env: Vec::new(), working_dir: None };
        let server = Server { transport, timeout: None, tools: None };
        assert_eq!(of_servers(&Servers::from([("s".to_owned(), server)])), None);
        let listed = ProviderSettings { file: Some("replies".into()), ..ProviderSettings::default() };
        assert_eq!(of_provider(&listed), None);
    }
}
