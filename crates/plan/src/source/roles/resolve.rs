//! Finds references to roles in a tree and puts what the roles give in their place.

use super::super::loading::load::Loader;
use super::super::tree::{Node, Pair, Value};
use super::words::Given;
use super::{Organisation, OrganisationRole, PREFIX};
use crate::diagnostic::{Diagnostic, Span};
use convoke_model::nearest;
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::rc::Rc;

/// A tree without references, and the servers that came with roles.
pub(in crate::source) struct Resolved {
    pub root: Rc<Node>,
    pub servers: Vec<String>,
}

/// An execution manifest.
pub(in crate::source) fn manifest(loader: &mut Loader<'_>, root: &Rc<Node>) -> Resolved {
    let mut taking = Taking::new(loader);
    let root = with_items(root, "agents", |agent| taking.agent(agent));
    taking.finish(root, &["mcp_servers"], &["metadata"])
}

/// A workflow.
pub(in crate::source) fn workflow(loader: &mut Loader<'_>, root: &Rc<Node>) -> Resolved {
    let mut taking = Taking::new(loader);
    let root = with_items(root, "agents", |step| taking.step(step));
    let root = with_items(&root, "for_each", |group| {
        let inline = taking.step(group.get("agent")?)?;
        Some(with_value(group, "agent", inline))
    });
    taking.finish(root, &["workflow", "runtime", "mcp_servers"], &["workflow", "metadata"])
}

/// A persona manifest.
pub(in crate::source) fn personas(loader: &mut Loader<'_>, root: &Rc<Node>) -> Resolved {
    let mut taking = Taking::new(loader);
    let with_personas = with_items(root, "personas", |persona| taking.persona(persona));
    let with_phases = match with_personas.get("pipeline") {
        Some(pipeline) if !taking.taken.is_empty() => {
            let pipeline = with_items(pipeline, "nodes", |node| taking.phase(root, node));
            with_value(&with_personas, "pipeline", pipeline)
        }
        _ => with_personas,
    };
    taking.finish(with_phases, &["mcp_servers"], &["metadata"])
}

/// A role that was taken.
struct Taken {
    /// Names of tasks and agents that have it.
    agents: Vec<String>,
    file: String,
    organisation: Rc<Organisation>,
    role: OrganisationRole,
    /// Whether its tools are those of the role.
    with_tools: bool,
    at: Span,
}

struct Taking<'l, 's> {
    loader: &'l mut Loader<'s>,
    known: HashMap<String, Option<Rc<Organisation>>>,
    taken: Vec<Taken>,
}

impl<'l, 's> Taking<'l, 's> {
    fn new(loader: &'l mut Loader<'s>) -> Self {
        Self { loader, known: HashMap::new(), taken: Vec::new() }
    }

    fn agent(&mut self, node: &Rc<Node>) -> Option<Rc<Node>> {
        let id = text_of(node, "id").or_else(|| text_of(node, "agent_id"));
        let Some((role, at)) = self.take(node, id, "tools")? else { return Some(broken(node, "task")) };
        let title = role.title().map(|title| Node::text(title.clone(), &at));
        let named = title.map_or_else(|| node.clone(), |title| with_value(node, "role", title));
        Some(completed(&named, role.for_agent(), &at))
    }

    fn step(&mut self, node: &Rc<Node>) -> Option<Rc<Node>> {
        if text_of(node, "type").is_some_and(|kind| kind != "agent") {
            return None;
        }
        let Some((role, at)) = self.take(node, text_of(node, "name"), "tools")? else {
            return Some(broken(node, "prompt"));
        };
        Some(completed(node, role.for_step(), &at))
    }

    fn persona(&mut self, node: &Rc<Node>) -> Option<Rc<Node>> {
        let Some((role, at)) = self.take(node, text_of(node, "id"), "toolClearance")? else {
            return Some(broken(node, "systemPromptTemplate"));
        };
        if role.max_tokens.is_some() {
            let message = format!("`cv:maxTokens` of role `{}` has no effect on a persona", role.called());
            let found = Diagnostic::warning("workflow::no_effect", message, at.clone(), "taken from here");
            self.loader.diagnostics.push(found.help("say `max_tokens` of the actor that plays it"));
        }
        Some(completed(node, role.for_persona(), &at))
    }

    /// The phase of a persona that has a role has the role's limits, unless it or its actor says so itself.
    fn phase(&mut self, root: &Node, node: &Rc<Node>) -> Option<Rc<Node>> {
        let persona = text_of(node, "personaId")?;
        let taken = self.taken.iter_mut().find(|taken| taken.agents.first() == Some(&persona))?;
        taken.agents.extend(text_of(node, "id"));
        let actor = root.get("actors").and_then(|actors| actors.get(&text_of(node, "actorId")?));
        let mut limits = taken.role.for_phase();
        limits.retain(|given| !actor.is_some_and(|actor| given.is_stated(actor)));
        Some(completed(node, limits, &taken.at))
    }

    /// The role that a mapping refers to. `None` without a reference; `Some(None)` where it leads nowhere, which is reported.
    fn take(
        &mut self,
        node: &Node,
        agent: Option<String>,
        tools: &str,
    ) -> Option<Option<(OrganisationRole, Span)>> {
        let stated = node.get("role")?;
        let Value::Scalar(scalar) = &stated.value else { return None };
        let words = scalar.raw.trim().strip_prefix(PREFIX)?.to_owned();
        let at = stated.span.clone();
        let containing = stated.included.as_ref().map_or(&at.file.path, |included| &included.path).clone();
        let found = self.find(&words, &containing, &at);
        Some(found.map(|(file, organisation, role)| {
            let taken = Taken {
                agents: agent.into_iter().collect(),
                file,
                organisation,
                role: role.clone(),
                with_tools: node.get(tools).is_none(),
                at: at.clone(),
            };
            self.taken.push(taken);
            (role, at)
        }))
    }

    fn find(
        &mut self,
        words: &str,
        containing: &str,
        at: &Span,
    ) -> Option<(String, Rc<Organisation>, OrganisationRole)> {
        let (file, name) = words.split_once('#').unwrap_or((words, ""));
        if file.is_empty() || name.is_empty() {
            let message =
                format!("`role: {PREFIX}{words}` names no {}", if file.is_empty() { "file" } else { "role" });
            self.report("org::unknown_role", message, at, "incomplete", "write `org:FILE#ROLE`".to_owned());
            return None;
        }
        let path = crate::path::join_beside(containing, file);
        let organisation = match self.known.get(&path) {
            Some(known) => known.clone(),
            None => {
                let read = self.loader.organisation(&path, words, at).map(Rc::new);
                self.known.insert(path.clone(), read.clone());
                read
            }
        }?;
        let Some(role) = organisation.role(name).cloned() else {
            let message = format!("`{path}` describes no role `{name}`; it has {}", organisation.roles.len());
            let names = organisation.roles.iter().flat_map(|role| role.names.iter().map(String::as_str));
            let help = match nearest(name, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("`convoke org show {path} DEPARTMENT` lists the roles of a department"),
            };
            self.report("org::unknown_role", message, at, "no such role", help);
            return None;
        };
        Some((path, organisation, role))
    }

    fn report(&mut self, code: &'static str, message: String, at: &Span, label: &str, help: String) {
        self.loader.diagnostics.push(Diagnostic::error(code, message, at.clone(), label).help(help));
    }

    /// The servers of the roles stand among those of the file, which win, and the roles in the metadata of the run.
    fn finish(self, root: Rc<Node>, servers: &[&str], metadata: &[&str]) -> Resolved {
        let Some(first) = self.taken.first() else { return Resolved { root, servers: Vec::new() } };
        let record = Pair::new("org", made(&record(&self.taken), &first.at));
        let (root, _) = with_entries(&root, metadata, vec![record], &first.at);
        let with_tools = self.taken.iter().filter(|taken| taken.with_tools);
        let used =
            with_tools.flat_map(|taken| taken.role.servers.iter().map(move |server| (server, &taken.at)));
        let mut added: Vec<Pair> = Vec::new();
        for ((name, server), at) in used {
            if !added.iter().any(|pair| pair.key.value == *name) {
                added.push(Pair::new(name, made(server, at)));
            }
        }
        let below: &[&str] = match root.get("runtime").and_then(|runtime| runtime.get("mcp_servers")) {
            Some(_) => &["runtime", "mcp_servers"],
            None => servers,
        };
        let (root, servers) = with_entries(&root, below, added, &first.at);
        Resolved { root, servers }
    }
}

/// Who the agents are, as the manifest of an organisation says it.
fn record(taken: &[Taken]) -> Json {
    let pairs = || taken.iter().flat_map(|one| one.agents.iter().map(move |agent| (agent.clone(), one)));
    let roles: Map<String, Json> = pairs().map(|(agent, one)| (agent, json!(one.role.iri))).collect();
    let departments: Map<String, Json> =
        pairs().filter_map(|(agent, one)| Some((agent, json!(one.role.department.as_ref()?.0)))).collect();
    let first = &taken[0];
    json!({"file": first.file, "company": first.organisation.company, "roles": roles, "departments": departments})
}

impl Given {
    fn is_stated(&self, node: &Node) -> bool {
        self.unless.iter().any(|key| node.get(key).is_some())
    }
}

/// A mapping with what is given and not stated.
fn completed(node: &Rc<Node>, given: Vec<Given>, at: &Span) -> Rc<Node> {
    let Value::Map(pairs) = &node.value else { return node.clone() };
    let more = given.iter().filter(|given| !given.is_stated(node));
    let more = more.map(|given| Pair::new(given.key, made(&given.value, at)));
    node.with_pairs(pairs.iter().cloned().chain(more).collect())
}

/// A mapping whose role was reported, so that nothing is missing because of it.
fn broken(node: &Rc<Node>, key: &str) -> Rc<Node> {
    let Value::Map(pairs) = &node.value else { return node.clone() };
    if node.get(key).is_some() {
        return node.clone();
    }
    let nothing = Pair::new(key, Node::broken(node.span.clone()));
    node.with_pairs(pairs.iter().cloned().chain([nothing]).collect())
}

/// A mapping in which some of the items below a key are others.
fn with_items(node: &Rc<Node>, key: &str, mut other: impl FnMut(&Rc<Node>) -> Option<Rc<Node>>) -> Rc<Node> {
    let Some(list) = node.get(key) else { return node.clone() };
    let Value::Seq(items) = &list.value else { return node.clone() };
    let mut changed = false;
    let others = items.iter().map(|item| {
        let other = other(item);
        changed |= other.is_some();
        other.unwrap_or_else(|| item.clone())
    });
    let others: Vec<Rc<Node>> = others.collect();
    if changed { with_value(node, key, list.with_items(others)) } else { node.clone() }
}

/// A mapping with another value below a key that it has.
fn with_value(node: &Rc<Node>, key: &str, value: Rc<Node>) -> Rc<Node> {
    let Value::Map(pairs) = &node.value else { return node.clone() };
    let other = |pair: &Pair| match pair.key.value == key {
        true => Pair { key: pair.key.clone(), value: value.clone() },
        false => pair.clone(),
    };
    node.with_pairs(pairs.iter().map(other).collect())
}

/// A mapping with more entries in the mapping that a path leads to, which is made where it is missing. What it has stays. Gives the
/// names that are new.
fn with_entries(node: &Rc<Node>, path: &[&str], more: Vec<Pair>, at: &Span) -> (Rc<Node>, Vec<String>) {
    let Value::Map(pairs) = &node.value else { return (node.clone(), Vec::new()) };
    let Some((key, below)) = path.split_first() else {
        let more: Vec<Pair> = more.into_iter().filter(|pair| node.get(&pair.key.value).is_none()).collect();
        let names = more.iter().map(|pair| pair.key.value.clone()).collect();
        return (node.with_pairs(pairs.iter().cloned().chain(more).collect()), names);
    };
    match node.get(key) {
        _ if more.is_empty() => (node.clone(), Vec::new()),
        Some(value) if !value.is_null() => {
            let (value, names) = with_entries(value, below, more, at);
            (with_value(node, key, value), names)
        }
        _ => {
            let (value, names) = with_entries(&Node::map(Vec::new(), at), below, more, at);
            let others = pairs.iter().filter(|pair| pair.key.value != *key).cloned();
            (node.with_pairs(others.chain([Pair::new(key, value)]).collect()), names)
        }
    }
}

/// A value of a role as a node at the place of the reference.
fn made(value: &Json, at: &Span) -> Rc<Node> {
    match value {
        Json::String(text) => Node::text(text.clone(), at),
        Json::Array(items) => Node::list(items.iter().map(|item| made(item, at)).collect(), at),
        Json::Object(fields) => {
            Node::map(fields.iter().map(|(key, value)| Pair::new(key, made(value, at))).collect(), at)
        }
        other => Node::plain(other.to_string(), at),
    }
}

fn text_of(node: &Node, key: &str) -> Option<String> {
    match &node.get(key)?.value {
        Value::Scalar(scalar) => Some(scalar.raw.trim().to_owned()),
        _ => None,
    }
}
