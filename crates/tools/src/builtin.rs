//! Tools of our own, for agents that need no server: files, and a shell.
//!
//! They stand in front of the servers' tools, under one name that no file can take (`convoke`). Each call works beneath the folder of
//! its step, by descriptor (`convoke_files`); what a call may do is judged before it is made (`review`) and again when it is made.
//! Everything that goes wrong is a result that says how to do better; a failure means that no answer came.
//!
//! `specs` says what models see, a file each does the work. What is shown of long results is bounded here already, with a word on how
//! to read on. Reading and listing are no effects; writing a whole file may be repeated; edits, patches and commands may not.

mod arguments;
mod edit;
mod guard;
mod knowledge;
mod list;
mod numbered;
mod patch;
mod read;
mod rulebook;
mod search;
mod shell;
mod specs;
mod write;

use crate::mcp::content::failed;
use crate::mcp::{naming, trouble};
use arguments::given;
use convoke_agent::{Asker, Review, Tool, ToolResult, Toolbox};
use convoke_files::{Refusal, Root};
use convoke_model::{Failure, JsonText, PROGRAM_TOOLS, PolicySource, Server, Servers, Transport};
use convoke_policy::Verdict;
use futures::future::BoxFuture;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

pub use knowledge::{GivenStatements, Graph, GraphScope};
pub use rulebook::{Held, ReadCedar, Rulebook, read as read_policy};
pub use shell::{NoShell, Sandboxed, Shell};

/// Our own tools, in front of those of servers.
pub struct Hands {
    inner: Arc<dyn Toolbox>,
    own: Arc<Own>,
}

/// What our own tools are done with.
pub(crate) struct Own {
    /// The folder of the run, which paths of steps are relative to.
    folder: PathBuf,
    /// Places that no tool reads or writes: the engine's state.
    hidden: OnceLock<Vec<PathBuf>>,
    shell: Arc<dyn Shell>,
    rulebook: Rulebook,
    /// Answers queries over the graph of runs.
    graph: OnceLock<Arc<dyn Graph>>,
}

/// One call, with what it needs.
pub(crate) struct Call {
    pub root: Root,
    pub arguments: serde_json::Value,
    pub stop: CancellationToken,
}

/// What came of a call of a file tool: words, or why it was not done.
type Done = Result<String, String>;

impl Hands {
    /// Tools beneath a folder, in front of others. Commands are run by `shell`.
    pub fn new(inner: Arc<dyn Toolbox>, folder: PathBuf, shell: Arc<dyn Shell>) -> Hands {
        Hands::under(Rulebook::default(), inner, folder, shell)
    }

    /// The same, under policies that hold whatever a plan states.
    pub fn under(
        rulebook: Rulebook,
        inner: Arc<dyn Toolbox>,
        folder: PathBuf,
        shell: Arc<dyn Shell>,
    ) -> Hands {
        Hands {
            inner,
            own: Arc::new(Own { folder, hidden: OnceLock::new(), shell, rulebook, graph: OnceLock::new() }),
        }
    }

    /// Keeps these places out of reach. Only what is said first counts.
    pub fn hide(&self, places: impl IntoIterator<Item = PathBuf>) {
        let real = places.into_iter().map(|place| place.canonicalize().unwrap_or(place));
        let _ = self.own.hidden.set(real.collect());
    }
}

impl Hands {
    /// Answers queries over the graph of runs by this. Only what is said first counts.
    pub fn ask_by(&self, graph: Arc<dyn Graph>) {
        let _ = self.own.graph.set(graph);
    }
}

impl Own {
    fn root(&self, asker: Asker<'_>, server: &Server) -> Result<Root, Refusal> {
        let folder = self.folder.join(asker.folder.unwrap_or_default());
        let hidden = self.hidden.get().cloned().unwrap_or_default();
        Ok(Root::open(&folder)?.hiding(hidden).keeping(kept(server)))
    }

    async fn call(
        &self,
        asker: Asker<'_>,
        server: &Server,
        tool: &Tool,
        arguments: &JsonText,
        cancel: CancellationToken,
    ) -> Result<ToolResult, Failure> {
        if PROGRAM_TOOLS.contains(&tool.name.as_str()) {
            let (graph, arguments) = (self.graph.get().map(|graph| &**graph), arguments.value());
            return tokio::select! {
                biased;
                () = cancel.cancelled() => Err(trouble::cancelled(&tool.server, &tool.name)),
                answered = knowledge::of_program(graph, &tool.name, &arguments) => answered,
            };
        }
        let arguments = match given(server, &tool.name, arguments) {
            Ok(arguments) => arguments,
            Err(refused) => return Ok(refused),
        };
        if tool.name == convoke_model::KNOWLEDGE_TOOL {
            return tokio::select! {
                biased;
                () = cancel.cancelled() => Err(trouble::cancelled(&tool.server, &tool.name)),
                answered = knowledge::query(self.graph.get().map(|graph| &**graph), &arguments) => answered,
            };
        }
        let root = match self.root(asker, server) {
            Ok(root) => root,
            Err(refusal) => return Ok(failed(no_folder(asker, &refusal))),
        };
        if tool.name == convoke_model::SHELL_TOOL {
            let held = self.rulebook.held(policies(server), asker);
            return self.shell.run(root, &held, &arguments, asker.trace, cancel).await;
        }
        match guard::judge(&root, &self.rulebook.held(policies(server), asker), &tool.name, &arguments) {
            Ok(judgement) if judgement.verdict != Verdict::Deny => {}
            Ok(judgement) => {
                return Ok(failed(format!("the policy denies this: {}", shell::reasons(&judgement))));
            }
            Err(why) => return Ok(failed(why)),
        }
        let call = Call { root, arguments, stop: cancel.clone() };
        let name = tool.name.clone();
        // Files may lie on slow disks; nothing else waits for them.
        let doing = tokio::task::spawn_blocking(move || perform(&name, &call));
        let done = tokio::select! {
            biased;
            done = doing => done,
            // What changes files goes on to its end; that nobody hears of it is what the outcome is called then: unknown.
            () = cancel.cancelled(), if tool.read_only => return Err(trouble::cancelled(&tool.server, &tool.name)),
        };
        Ok(match done {
            Ok(Ok(text)) => ToolResult { text, ..ToolResult::default() },
            Ok(Err(why)) => failed(why),
            Err(error) => failed(format!("it broke off: {error}")),
        })
    }
}

fn perform(tool: &str, call: &Call) -> Done {
    match tool {
        "read_file" => read::perform(call),
        "list_files" => list::perform(call),
        "search_files" => search::perform(call),
        "write_file" => write::perform(call),
        "edit_file" => edit::perform(call),
        "apply_patch" => patch::perform(call),
        other => Err(format!("there is no tool `{other}`")),
    }
}

fn no_folder(asker: Asker<'_>, refusal: &Refusal) -> String {
    match refusal {
        Refusal::Unsupported(_) => refusal.to_string(),
        _ => format!("the working folder `{}` cannot be used: {refusal}", asker.folder.unwrap_or(".")),
    }
}

/// Our server among those of an agent.
fn own<'s>(servers: &'s Servers, name: &str) -> Option<&'s Server> {
    servers.get(name).filter(|server| matches!(server.transport, Transport::Own { .. }))
}

fn policies(server: &Server) -> &[PolicySource] {
    match &server.transport {
        Transport::Own { policies, .. } => policies,
        _ => &[],
    }
}

/// What the tools leave as it is: what proves the work of the agent that has them.
fn kept(server: &Server) -> Vec<String> {
    match &server.transport {
        Transport::Own { protect, .. } => protect.clone(),
        _ => Vec::new(),
    }
}

impl Toolbox for Hands {
    fn list<'a>(
        &'a self,
        asker: Asker<'a>,
        servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        Box::pin(async move {
            let is_own = |server: &Server| matches!(server.transport, Transport::Own { .. });
            let mut taken = HashSet::new();
            let mut tools = Vec::new();
            for (name, server) in servers.iter().filter(|(_, server)| is_own(server)) {
                for (tool, entry) in specs::catalogue(server).entries() {
                    tools.push(entry.tool(name, tool, naming::unique(&mut taken, name, tool)));
                }
            }
            if servers.values().any(|server| !is_own(server)) {
                let others = servers.iter().filter(|(_, server)| !is_own(server));
                let others: Servers = others.map(|(name, server)| (name.clone(), server.clone())).collect();
                // A server cannot take a name of ours: those are told apart by it.
                tools.extend(
                    self.inner
                        .list(asker, &others)
                        .await?
                        .into_iter()
                        .filter(|tool| taken.insert(tool.spec.name.clone())),
                );
            }
            Ok(tools)
        })
    }

    fn call<'a>(
        &'a self,
        asker: Asker<'a>,
        servers: &'a Servers,
        tool: &'a Tool,
        arguments: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        match own(servers, &tool.server) {
            Some(server) => Box::pin(self.own.call(asker, server, tool, arguments, cancel)),
            None => self.inner.call(asker, servers, tool, arguments, cancel),
        }
    }

    fn review<'a>(
        &'a self,
        asker: Asker<'a>,
        servers: &'a Servers,
        tool: &'a Tool,
        arguments: &'a JsonText,
    ) -> BoxFuture<'a, Review> {
        let Some(server) = own(servers, &tool.server) else {
            return self.inner.review(asker, servers, tool, arguments);
        };
        Box::pin(async move {
            // What cannot be judged is refused when it is called, with the reason.
            let (Ok(arguments), Ok(root)) =
                (given(server, &tool.name, arguments), self.own.root(asker, server))
            else {
                return Review::Allow;
            };
            if tool.name == convoke_model::KNOWLEDGE_TOOL {
                return Review::Allow;
            }
            let held = self.own.rulebook.held(policies(server), asker);
            match tool.name == convoke_model::SHELL_TOOL {
                true => self.own.shell.review(&root, &held, &arguments),
                false => guard::review(&root, &held, &tool.name, &arguments),
            }
        })
    }
}

#[cfg(test)]
mod tests;
