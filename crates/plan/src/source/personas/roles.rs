//! The personas that a phase may hand work to: the relationships below its persona.

use super::super::own_tools;
use super::super::settings::McpServer;
use super::super::text::{Spanned, Text};
use super::super::workflow::{Common, Entry, Names, Role, Worker, WorkerKind};
use super::{Actor, Manifest, Node, Persona, texts};
use crate::diagnostic::Span;
use convoke_model::clearance::{common, is_within};
use indexmap::IndexMap;

type Servers = IndexMap<String, Entry<McpServer>>;

/// The roles below a phase, and which of them it hands work to by itself.
pub(super) fn roles(manifest: &Manifest, node: &Node) -> (Vec<Role>, Vec<usize>) {
    let found = relationships_below(manifest, &node.persona.value);
    let role_of = |relationship: usize| found.iter().position(|known| *known == relationship);
    let from = |persona: &str| {
        let below = found.iter().filter(|known| manifest.relationships[**known].parent.value == persona);
        below.filter_map(|known| role_of(*known)).collect::<Vec<usize>>()
    };
    let mut roles: Vec<Role> = Vec::with_capacity(found.len());
    for relationship in found.iter().map(|known| &manifest.relationships[*known]) {
        let child = &relationship.child;
        let known = roles.iter().any(|role| role.persona == *child);
        let persona = manifest.persona(&child.value);
        roles.push(Role {
            persona: child.clone(),
            worker: persona.filter(|_| !known).map(|persona| child_worker(manifest, node, persona)),
            clearance: persona.map(|persona| persona.clearance.clone()).unwrap_or_default(),
            max_depth: relationship.max_depth.as_ref().map(|depth| depth.value),
            max_children: relationship.max_children.as_ref().map(|count| count.value),
            below: from(&child.value),
        });
    }
    (roles, from(&node.persona.value))
}

/// Every relationship that leads from a persona or from one below it, the nearest first.
fn relationships_below(manifest: &Manifest, persona: &str) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut open = std::collections::VecDeque::from([persona]);
    while let Some(parent) = open.pop_front() {
        for (ix, relationship) in manifest.relationships.iter().enumerate() {
            if relationship.parent.value == parent && !found.contains(&ix) {
                found.push(ix);
                open.push_back(&relationship.child.value);
            }
        }
    }
    found
}

/// What the tries of a phase ask.
pub(super) fn own_worker(manifest: &Manifest, node: &Node, persona: &Persona) -> Worker {
    let handed = texts::hands_to(manifest, &node.persona.value);
    let given = texts::of_phase(manifest, node, persona, &handed);
    let mut worker = worker(manifest, &node.actor, persona, given);
    worker.common.timeout = node.common.timeout.clone().or(worker.common.timeout);
    worker.common.max_wait = node.common.max_wait.clone().or(worker.common.max_wait);
    worker.common.retry = node.common.retry.clone().or(worker.common.retry);
    prove(&mut worker.common, &node.common);
    placed(worker, node)
}

/// What the node asks for must hold besides what the persona must always prove.
fn prove(worker: &mut Common, node: &Common) {
    worker.protect.extend(node.protect.iter().cloned());
    let Some(asked) = &node.ensure else { return };
    match &mut worker.ensure {
        None => worker.ensure = Some(asked.clone()),
        Some(own) => {
            own.conditions.extend(asked.conditions.iter().cloned());
            own.max_retries = asked.max_retries.clone().or(own.max_retries.take());
        }
    }
}

/// Whoever works for a phase has a workspace where the phase's node says so.
fn placed(mut worker: Worker, node: &Node) -> Worker {
    worker.common.workspace = node.common.workspace.clone();
    (worker.common.ports, worker.common.merge) = (node.common.ports.clone(), node.common.merge.clone());
    worker
}

/// The persona that resolves conflicts of a phase's work. It works in the phase's workspace.
pub(super) fn resolver(manifest: &Manifest, node: &Node) -> Option<Box<Role>> {
    let named = node.common.workspace.as_ref()?.resolver.as_ref()?;
    let persona = manifest.persona(&named.value)?;
    let given = texts::of_child(manifest, persona, "");
    let actor = persona.actor.as_ref().unwrap_or(&node.actor);
    Some(Box::new(Role {
        persona: named.clone(),
        worker: Some(worker(manifest, actor, persona, given)),
        clearance: persona.clearance.clone(),
        max_depth: None,
        max_children: None,
        below: Vec::new(),
    }))
}

fn child_worker(manifest: &Manifest, node: &Node, persona: &Persona) -> Worker {
    let handed = texts::hands_to(manifest, &persona.id.value);
    let given = texts::of_child(manifest, persona, &handed);
    placed(worker(manifest, persona.actor.as_ref().unwrap_or(&node.actor), persona, given), node)
}

fn worker(
    manifest: &Manifest,
    actor: &Spanned<String>,
    persona: &Persona,
    given: texts::WorkerTexts,
) -> Worker {
    let stated = manifest.actors.get(&actor.value).map(|entry| &entry.value);
    let mut common = stated.map_or_else(|| Common::at(&actor.span), |stated| stated.common.clone());
    (common.ensure, common.protect) = (persona.ensure.clone(), persona.protect.clone());
    let kind = match stated.map(|stated| &stated.kind) {
        Some(WorkerKind::Script(_)) => script(stated, given, &actor.span),
        _ => agent(manifest, stated, persona, given),
    };
    Worker { kind, common }
}

/// A program is given the same as a model, as JSON on its standard input.
fn script(stated: Option<&Actor>, given: texts::WorkerTexts, span: &Span) -> WorkerKind {
    let Some(WorkerKind::Script(script)) = stated.map(|stated| &stated.kind) else {
        unreachable!("it is a script")
    };
    let mut script = script.clone();
    script.stdin = Some(Text::opaque(given.stdin, span.clone()));
    WorkerKind::Script(script)
}

fn agent(
    manifest: &Manifest,
    stated: Option<&Actor>,
    persona: &Persona,
    given: texts::WorkerTexts,
) -> WorkerKind {
    let mut agent = match stated.map(|stated| &stated.kind) {
        Some(WorkerKind::Agent(agent)) => agent.clone(),
        _ => Box::default(),
    };
    agent.system_prompt = persona.prompt.clone();
    agent.prompt = Some(given.prompt);
    if let Some(model) = &persona.model {
        (agent.model, agent.models) = (Some(model.clone()), None);
        // No other model may play it, not even to put an answer right.
        agent.repair_model = Some(Spanned::new(model.value.clone(), model.span.clone()));
        agent.provider = persona.provider.clone().or(agent.provider);
    }
    let usual = agent.tools.take().or_else(|| manifest.head.tools.clone());
    agent.tools = cleared(usual, persona, &manifest.head.runtime.mcp_servers);
    WorkerKind::Agent(agent)
}

/// What an actor has, as far as the persona may use it; a ban wins over everything. These are the tools of the contract,
/// and there is no other list that is enforced.
fn cleared(usual: Option<Names>, persona: &Persona, servers: &Servers) -> Option<Names> {
    let clearance = &persona.clearance;
    let full = |names: Names| own_tools::expanded(names, servers);
    let mut tools = match (usual.map(full), clearance.allow.clone().map(full)) {
        (Some(usual), Some(allow)) => in_both(&usual, &allow),
        (usual, allow) => usual.or(allow)?,
    };
    let banned = own_tools::banned(clearance.ban.clone(), servers);
    let banned = words(&banned);
    tools.retain(|tool| !is_within(&tool.value, &banned));
    Some(tools)
}

fn in_both(usual: &Names, allow: &Names) -> Names {
    let common = common(&words(usual), &words(allow)).into_iter();
    common.map(|(at, entry)| Spanned::new(entry, usual[at].span.clone())).collect()
}

fn words(names: &Names) -> Vec<&str> {
    names.iter().map(|name| name.value.as_str()).collect()
}
