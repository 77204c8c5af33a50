//! Persona manifests: roles, relationships (which of them may hand work to which), and a pipeline of phases.
//!
//! `read::personas` makes the typed form below; `lower` turns it into the workflow that checks, compilation and runs
//! know, each node of the pipeline a step. `judge` and `never` say what is wrong between the parts of a manifest,
//! `graph` which phase follows which, `rounds` what leads back, `roles` the personas that a phase may hand work to, `texts` what workers are asked. Bounds
//! from outside the file are put in when the plan is made. Invariant: every step keeps the place of the node that it
//! came from.

mod graph;
mod judge;
mod lower;
mod never;
mod roles;
mod rounds;
mod texts;

pub(super) use lower::workflow;
pub(crate) use texts::PROVIDED;

use indexmap::IndexMap;

use super::manifest::Head;
use super::text::{Spanned, Text};
use super::workflow::{Clearance, Common, Condition, Entry, OutputSchema, Round, WorkerKind};
use crate::plan::{On, ProjectPlace, TASK_BLOCKED, Topology};
use convoke_model::Violation;

/// A whole manifest, as written.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// What it says about its run.
    pub head: Head,
    /// The roles.
    pub personas: Vec<Persona>,
    /// Which personas may hand work to which.
    pub relationships: Vec<Relationship>,
    /// The kinds of blocks that it says it uses.
    pub topologies: Option<Vec<Spanned<Topology>>>,
    /// The phases.
    pub nodes: Vec<Node>,
    /// What leads from one to another.
    pub edges: Vec<Edge>,
    /// The phase that begins; `None` when it is missing (which is reported).
    pub entry: Option<Spanned<String>>,
    /// `topologyConstraints.maxDepth`.
    pub max_depth: Option<Spanned<u64>>,
    /// `topologyConstraints.maxRetries`.
    pub max_retries: Option<Spanned<u64>>,
    /// Domain events of its own.
    pub events: Vec<EventType>,
    /// The actors of the roles.
    pub actors: IndexMap<String, Entry<Actor>>,
    /// So many hard failures in a row end the run.
    pub hard_failures: Option<Spanned<u64>>,
    /// What a violation of a contract comes to.
    pub violation: Option<Spanned<Violation>>,
    /// Where the context of the project is kept.
    pub project: ProjectPlace,
}

impl Manifest {
    /// The persona of this name.
    pub fn persona(&self, id: &str) -> Option<&Persona> {
        self.personas.iter().find(|persona| persona.id.value == id)
    }

    /// Whether a worker may announce `task_blocked` whatever its status is.
    pub fn blocked_any_status(&self) -> bool {
        self.events.iter().any(|event| event.any_status.is_some() && event.kind.value == TASK_BLOCKED)
    }
}

/// One role.
#[derive(Debug, Clone)]
pub struct Persona {
    /// Its name; empty when it is missing (which is reported).
    pub id: Spanned<String>,
    /// What people call it.
    pub display_name: Option<Spanned<String>>,
    /// What it is told about itself; `None` when it is missing (which is reported).
    pub prompt: Option<Text>,
    /// The only model that may play it, with its service where the manifest names one.
    pub model: Option<Text>,
    /// The same, as far as it names a service.
    pub provider: Option<super::settings::Provider>,
    /// What it may use.
    pub clearance: Clearance,
    /// What must hold wherever it says that its work is done.
    pub ensure: Option<super::workflow::Ensure>,
    /// Files that its work must leave as they are.
    pub protect: Vec<Spanned<String>>,
    /// The actor that plays it where work is handed to it; `None` means the actor of the phase.
    pub actor: Option<Spanned<String>>,
}

/// Which personas may hand work to which.
#[derive(Debug, Clone)]
pub struct Relationship {
    /// The persona that hands it out.
    pub parent: Spanned<String>,
    /// The persona that does it.
    pub child: Spanned<String>,
    /// How deep below the phase the child may stand.
    pub max_depth: Option<Spanned<u64>>,
    /// How many of them one parent may have at a time.
    pub max_children: Option<Spanned<u64>>,
}

/// One phase.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name; empty when it is missing (which is reported).
    pub id: Spanned<String>,
    /// The persona that does it.
    pub actor: Spanned<String>,
    /// In which role.
    pub persona: Spanned<String>,
    /// What it is to do.
    pub task: Option<Text>,
    /// Further tries after a failed validation.
    pub max_retries: Option<Spanned<u64>>,
    /// Its block.
    pub block: Option<Block>,
    /// What every step has.
    pub common: Common,
    /// Which round of another node it is; `None` as written.
    pub round: Option<Round>,
    /// Nodes that it waits for and is told of besides those that edges lead from; empty as written.
    pub after: Vec<Spanned<String>>,
}

impl Node {
    /// Its name as written, whichever round it is.
    pub fn called(&self) -> &str {
        self.round.as_ref().map_or(&self.id.value, |round| &round.of)
    }
}

/// The block of a phase.
#[derive(Debug, Clone)]
pub struct Block {
    /// How its members run.
    pub kind: Spanned<Topology>,
    /// Which one.
    pub id: String,
}

/// One edge.
#[derive(Debug, Clone)]
pub struct Edge {
    /// The phase that it leads from.
    pub from: Spanned<String>,
    /// The phase that it leads to.
    pub to: Spanned<String>,
    /// How the first must have ended.
    pub on: Option<Spanned<On>>,
    /// What it must have announced.
    pub event: Option<Spanned<String>>,
    /// What must hold as well.
    pub when: Vec<Condition>,
    /// How many rounds an edge that leads back allows, the first one included.
    pub max_rounds: Option<Spanned<u64>>,
    /// Whether the last round counts of the phase that it leads from; false as written.
    pub last: bool,
}

/// The types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Always,
    StateFlag,
    HistoryHasEvent,
    FileExists,
    Expression,
}

/// A domain event of the manifest's own.
#[derive(Debug, Clone)]
pub struct EventType {
    /// Its name.
    pub kind: Spanned<String>,
    /// What its payload looks like.
    pub schema: Option<OutputSchema>,
    /// Whether a worker may announce it whatever its status is.
    pub any_status: Option<Spanned<bool>>,
}

/// An actor: the model or program that plays a role.
#[derive(Debug, Clone)]
pub struct Actor {
    /// A model or a program.
    pub kind: WorkerKind,
    /// How it is tried again, and how long it may take.
    pub common: Common,
}
