//! What a person trusts: everything that a workflow is made of, as one hash.
//!
//! That is the text of its file and of every file that it includes, its sub-workflows, skills and policies, as they were read; and the files of
//! the project that its commands name, because a script that is exchanged is another workflow. What a command finds by itself (a Makefile, an
//! interpreter) is not in it.

use super::Place;
use crate::config;
use convoke_model::{Digest, Server, Servers, Transport};
use convoke_plan::{Claim, Hook, Hooks, Kind, Node, Plan, ProbeKind, Script, Text};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The largest file that counts by its content.
const LARGEST: u64 = 64 << 20;

/// What stands behind the hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The hash.
    pub digest: Digest,
    /// The files, as they are shown.
    pub files: Vec<String>,
    /// What it starts, in words.
    pub starts: Vec<String>,
}

/// The content of a file that is no workflow: a project's configuration.
pub fn of_file(bytes: &[u8]) -> Content {
    let digest = Digest::of(bytes);
    Content { digest, files: Vec::new(), starts: Vec::new() }
}

/// The content of a compiled workflow.
pub fn of_plan(place: &Place, plan: &Plan) -> Content {
    // A set of pairs: two policies of one name, from two folders, both count.
    let mut parts: BTreeSet<(String, String)> = BTreeSet::new();
    let mut add = |part: String, digest: Digest| parts.insert((part, digest.to_string()));
    for source in &plan.sources {
        add(format!("text {}", below(place, Path::new(&source.path))), Digest::of(source.text.as_bytes()));
    }
    for (name, text) in policies(plan) {
        add(format!("policy {name}"), Digest::of(text.as_bytes()));
    }
    let commands = commands(plan);
    for path in named_files(place, &commands) {
        // A file that cannot be read now counts as such: when it can, it is another one.
        let digest = std::fs::read(&path)
            .map(|bytes| Digest::of(&bytes))
            .unwrap_or_else(|_| Digest::of(b"unreadable"));
        add(format!("program {}", below(place, &path)), digest);
    }
    let files = parts.iter().filter_map(|(part, _)| part.split_once(' ')).map(|(_, path)| path.to_owned());
    Content {
        files: files.collect::<BTreeSet<_>>().into_iter().collect(),
        digest: Digest::of(json!(["convoke trust 2", parts]).to_string().as_bytes()),
        starts: commands.iter().map(Command::words).collect(),
    }
}

/// A path from the folder of the workflow, so that it does not matter from where the command was given.
fn below(place: &Place, path: &Path) -> String {
    let Some(folder) = place.folder() else { return path.display().to_string() };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real.strip_prefix(folder).unwrap_or(&real).display().to_string()
}

/// A command of a plan.
struct Command {
    what: String,
    words: Vec<String>,
    folder: Option<String>,
}

impl Command {
    fn words(&self) -> String {
        format!("{}: {}", self.what, self.words.join(" "))
    }
}

fn literal(text: &Text) -> String {
    match text {
        Text::Literal(text) => text.to_string(),
        _ => "{{ … }}".to_owned(),
    }
}

/// Everything that a plan starts: scripts and hooks, tools, servers, coding agents, commands that print secrets, that check work and that
/// find out whether something happened.
fn commands(plan: &Plan) -> Vec<Command> {
    let nodes = || plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    let mut all = Vec::new();
    let hooks = plan.workflows.iter().flat_map(|workflow| {
        let Hooks { on_start, on_complete, on_error } = &workflow.hooks;
        [on_start, on_complete, on_error].into_iter().flatten().filter_map(|hook| match hook {
            Hook::Run(ix) => Some(workflow.node(*ix).name.to_string()),
            Hook::Text(_) => None,
        })
    });
    let hooks: BTreeSet<String> = hooks.collect();
    for node in nodes() {
        all.extend(of_proof(node));
        all.extend(of_probe(node));
        match &node.kind {
            Kind::Script(script) => {
                let word = if hooks.contains(&*node.name) { "hook" } else { "script" };
                all.push(of_script(format!("{word} `{}`", node.step_name()), script));
            }
            Kind::Agent(agent) => {
                all.extend(agent.settings.provider.program.iter().map(|program| Command {
                    what: "coding agent".to_owned(),
                    words: std::iter::once(&program.command).chain(&program.args).cloned().collect(),
                    folder: None,
                }));
                all.extend(of_servers(&agent.settings.servers));
            }
            Kind::Tool(tool) => all.extend(of_servers(&tool.servers)),
            _ => {}
        }
    }
    all.extend(plan.secrets.iter().filter_map(|(name, source)| match source {
        convoke_model::SecretSource::Command { argv, .. } => {
            Some(Command { what: format!("secret `{name}`"), words: argv.clone(), folder: None })
        }
        _ => None,
    }));
    let mut seen = BTreeSet::new();
    all.retain(|command| seen.insert(command.words()));
    all
}

fn of_script(what: String, script: &Script) -> Command {
    Command {
        what,
        words: std::iter::once(&script.command).chain(&script.args).map(literal).collect(),
        folder: script.working_dir.as_ref().map(literal),
    }
}

/// Commands by which work is checked. One that the files of the project call for (`tests_pass`) is found by itself.
fn of_proof(node: &Node) -> impl Iterator<Item = Command> {
    let folder = match &node.kind {
        Kind::Agent(agent) => agent.working_dir.as_ref(),
        Kind::Script(script) => script.working_dir.as_ref(),
        _ => None,
    };
    let commands = node.proof.iter().flat_map(|proof| &proof.conditions).filter_map(|claim| match claim {
        Claim::Command(command) | Claim::TestsPass(Some(command)) => Some(literal(command)),
        Claim::TestsPass(None) => Some("the tests of the project".to_owned()),
        _ => None,
    });
    commands.map(move |command| Command {
        what: format!("proof of `{}`", node.step_name()),
        words: vec![command],
        folder: folder.map(literal),
    })
}

fn of_probe(node: &Node) -> Option<Command> {
    match &node.probe.as_ref()?.asks {
        ProbeKind::Command(script) => Some(of_script(format!("probe of `{}`", node.step_name()), script)),
        ProbeKind::Tool(_) => None,
    }
}

fn of_servers(servers: &Servers) -> impl Iterator<Item = Command> {
    servers.iter().flat_map(|(name, server): (&String, &Server)| match &server.transport {
        Transport::Stdio { command, args, working_dir, .. } => vec![Command {
            what: format!("MCP server `{name}`"),
            words: std::iter::once(command).chain(args).cloned().collect(),
            folder: working_dir.clone(),
        }],
        Transport::Scripts { scripts, working_dir, .. } => scripts
            .iter()
            .map(|script| Command {
                what: format!("tool `{}`", script.name),
                words: std::iter::once(&script.command).chain(&script.args).cloned().collect(),
                folder: working_dir.clone(),
            })
            .collect(),
        Transport::Http { .. } | Transport::Own { .. } => Vec::new(),
    })
}

fn policies(plan: &Plan) -> Vec<(String, String)> {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    let servers = nodes.filter_map(|node| match &node.kind {
        Kind::Agent(agent) => Some(&*agent.settings.servers),
        Kind::Tool(tool) => Some(&*tool.servers),
        _ => None,
    });
    let policies =
        servers.flat_map(|servers| servers.values()).filter_map(|server| match &server.transport {
            Transport::Own { policies, .. } => Some(policies),
            _ => None,
        });
    let of_proofs = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    let of_proofs = of_proofs.filter_map(|node| node.proof.as_ref()).flat_map(|proof| &proof.policies);
    let texts = policies.flatten().chain(of_proofs).flat_map(|policy| {
        let rules = policy.cedar.as_ref().map(|cedar| (cedar.name.clone(), cedar.text.clone()));
        let text = policy.text.clone().map(|text| (policy.name.clone(), text));
        text.into_iter().chain(rules)
    });
    texts.collect()
}

/// The files of the project that words of commands lead to.
fn named_files(place: &Place, commands: &[Command]) -> BTreeSet<PathBuf> {
    let Some(folder) = place.folder() else { return BTreeSet::new() };
    let root = config::project_root(folder, config::home().as_deref());
    let Ok(root) = root.canonicalize() else { return BTreeSet::new() };
    let here = std::env::current_dir().unwrap_or_else(|_| folder.to_owned());
    let mut found = BTreeSet::new();
    for command in commands {
        let own = command.folder.as_ref().map(|own| here.join(own));
        for word in command.words.iter().flat_map(|word| parts(word)) {
            for base in own.iter().map(PathBuf::as_path).chain([folder, here.as_path()]) {
                let Ok(path) = base.join(word).canonicalize() else { continue };
                let is_file = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST);
                if is_file && path.starts_with(&root) {
                    found.insert(path);
                }
            }
        }
    }
    found
}

/// A word, and the words in it: of `sh -c 'sh ./build.sh'` and of `--config=file` too.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let inner = word.split(|c: char| c.is_whitespace() || "=:,;|&<>()'\"`".contains(c));
    std::iter::once(word).chain(inner).filter(|part| !part.is_empty())
}
