//! Phases of a persona pipeline; files of this kind have no key for them, manifests become them.

use super::super::text::{Spanned, Text};
use super::{AgentStep, Common, Names, OutputSchema, ScriptStep};
use crate::plan::{On, ProjectPlace, Topology};
use convoke_model::Violation;

/// A phase: a persona does its part.
#[derive(Debug, Clone)]
pub struct PhaseStep {
    /// The role.
    pub persona: Spanned<String>,
    /// The actor that plays it.
    pub actor: Spanned<String>,
    /// What a try asks.
    pub worker: Worker,
    /// What it may use.
    pub clearance: Clearance,
    /// Further tries after a failed validation; `None` where neither node nor manifest bounds them.
    pub max_retries: Option<Spanned<u64>>,
    /// How deep work may be handed down; `None` where the manifest does not bound it.
    pub max_depth: Option<u64>,
    /// Its block.
    pub block: Option<(Topology, String)>,
    /// The roles that work may be handed to, by itself or by those below it.
    pub roles: Vec<Role>,
    /// Those of the roles that it hands work to by itself.
    pub direct: Vec<usize>,
    /// The edges that can start it.
    pub edges: Vec<Edge>,
    /// Which round of another phase it is.
    pub round: Option<Round>,
    /// The persona that resolves conflicts of its work.
    pub resolver: Option<Box<Role>>,
}

/// A further round of a phase, begun by an edge that leads back.
#[derive(Debug, Clone)]
pub struct Round {
    /// The phase as written, which is the first round.
    pub of: String,
    /// From 2.
    pub number: u32,
}

impl PhaseStep {
    /// Everything that works for it: its own worker, then those of its roles.
    pub fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.players().map(|(_, _, worker)| worker)
    }

    /// The same with the persona that each of them plays, and what that may use.
    pub fn players(&self) -> impl Iterator<Item = (&Spanned<String>, &Clearance, &Worker)> {
        let own = (&self.persona, &self.clearance, &self.worker);
        let roles = self
            .roles
            .iter()
            .filter_map(|role| Some((&role.persona, &role.clearance, role.worker.as_ref()?)));
        let resolver = self
            .resolver
            .iter()
            .filter_map(|role| Some((&role.persona, &role.clearance, role.worker.as_ref()?)));
        [own].into_iter().chain(roles).chain(resolver)
    }
}

/// A relationship, seen from a phase: a role below it may hand work to a persona.
#[derive(Debug, Clone)]
pub struct Role {
    /// The persona that gets the work.
    pub persona: Spanned<String>,
    /// What is asked; `None` where an earlier role has the same persona, whose worker it is then.
    pub worker: Option<Worker>,
    /// What it may use.
    pub clearance: Clearance,
    /// How deep below the phase it may stand.
    pub max_depth: Option<u64>,
    /// How many of them one parent may have at a time.
    pub max_children: Option<u64>,
    /// The roles that it hands work to itself.
    pub below: Vec<usize>,
}

/// What does the work of a phase.
#[derive(Debug, Clone)]
pub struct Worker {
    /// A model or a program.
    pub kind: WorkerKind,
    /// How it is tried again, and how long it may take.
    pub common: Common,
}

/// What a worker is.
#[derive(Debug, Clone)]
pub enum WorkerKind {
    /// A model.
    Agent(Box<AgentStep>),
    /// A program: JSON in, JSON out.
    Script(Box<ScriptStep>),
}

impl Worker {
    /// The model, if it is one.
    pub fn agent(&self) -> Option<&AgentStep> {
        match &self.kind {
            WorkerKind::Agent(agent) => Some(agent),
            WorkerKind::Script(_) => None,
        }
    }
}

/// What a persona may use, as written.
#[derive(Debug, Clone, Default)]
pub struct Clearance {
    /// Tools that are allowed; `None` means all.
    pub allow: Option<Names>,
    /// Tools that are banned.
    pub ban: Names,
    /// The only model that may play it.
    pub model: Option<Spanned<String>>,
}

/// An edge that can start a phase.
#[derive(Debug, Clone)]
pub struct Edge {
    /// The phase that it leads from.
    pub from: Spanned<String>,
    /// How that one must have ended; `None` where only the event counts.
    pub on: Option<On>,
    /// What it must have announced.
    pub event: Option<Spanned<String>>,
    /// What must hold as well.
    pub when: Vec<Condition>,
    /// Whether the last round counts of the phase that it leads from.
    pub last: bool,
}

/// A condition of an edge.
#[derive(Debug, Clone)]
pub enum Condition {
    /// Nothing more.
    Always,
    /// A flag of the run.
    StateFlag {
        /// Its name.
        key: Spanned<String>,
        /// What it must be.
        equals: bool,
    },
    /// Something was announced before.
    HistoryHasEvent(Spanned<String>),
    /// A file exists.
    FileExists(Spanned<String>),
    /// An expression of the workflow language.
    Expression(Text),
}

/// What holds for a pipeline as a whole.
#[derive(Debug, Clone)]
pub struct PipelineSettings {
    /// So many hard failures in a row end it; `None` means the default.
    pub hard_failures: Option<u64>,
    /// Kinds of events that it defines itself.
    pub events: Vec<(String, Option<OutputSchema>)>,
    /// Whether a worker may announce `task_blocked` whatever its status is.
    pub blocked_any_status: bool,
    /// What a violation of a contract comes to; `None` where the manifest does not say.
    pub violation: Option<Violation>,
    /// Where the context of the project is kept.
    pub project: ProjectPlace,
}

/// An edge, for messages.
pub(crate) fn edge_between(from: &str, to: &str) -> String {
    format!("the edge from `{from}` to `{to}`")
}
