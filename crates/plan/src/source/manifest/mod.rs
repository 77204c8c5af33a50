//! Execution manifests: agents with their tasks and dependencies, and one answer.
//!
//! `read::manifest` makes the typed form below; `lower` turns it into the workflow that checks, compilation and
//! runs know. `order` says which agent follows which, `texts` writes prompts, `agents`, `synthesis` and `teams` write
//! steps, `report` the result. What is wrong between agents (names that stand twice, unknown ones, circles) is found by
//! the checks of workflows. Invariant: every step keeps the place of the agent that it came from.

mod agents;
mod defaults;
mod head;
mod lower;
mod order;
mod report;
mod synthesis;
mod teams;
mod texts;

pub use defaults::ManifestDefaults;
pub use head::Head;
pub(super) use lower::workflow;
pub(super) use texts::{joined, literal};

use std::time::Duration;

use super::text::{Spanned, Text};
use super::workflow::{AgentStep, Common, FailureMode, ReduceStep, Requires, VerifyStep, VoteSettings};

/// A whole manifest, as written.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// What it says about its run.
    pub head: Head,
    /// The agents.
    pub agents: Vec<AgentSpec>,
    /// What is to be answered.
    pub query: Option<Text>,
    /// What every agent is told besides its task.
    pub context: Option<Text>,
    /// How agents follow one another.
    pub mode: Mode,
    /// Whether a level begins only when the one before has ended.
    pub barrier: bool,
    /// Agents of one level at a time.
    pub batch_size: Option<Spanned<u64>>,
    /// For one attempt of an agent that states no bound.
    pub attempt: Duration,
    /// How outputs become one answer.
    pub synthesis: Synthesis,
    /// What is judged.
    pub verify: Verification,
    /// How the agents work together.
    pub team: Option<Team>,
}

/// One agent.
#[derive(Debug, Clone)]
pub struct AgentSpec {
    /// Its name; empty when it is missing (which is reported).
    pub id: Spanned<String>,
    /// What it is.
    pub role: Option<Spanned<String>>,
    /// Where it belongs.
    pub department: Option<Spanned<String>>,
    /// What it is asked; `None` means the query.
    pub task: Option<Text>,
    /// Once for each of these.
    pub partitions: Option<Partitions>,
    /// Agents that must have ended before.
    pub depends_on: Vec<Dependency>,
    /// With partitions: what the failure of one means.
    pub failure_mode: FailureMode,
    /// With partitions: how many at one time.
    pub max_concurrent: Option<Spanned<u64>>,
    /// What it has in common with an agent of a workflow: model, tools, shape of the answer.
    pub step: AgentStep,
    /// What it has in common with every step: retries, bounds, labels.
    pub common: Common,
}

/// What an agent is asked once for.
#[derive(Debug, Clone)]
pub enum Partitions {
    /// Each of these.
    Listed(Vec<Spanned<String>>),
    /// Each item of a list, such as `workflow.input.topics`.
    Path(Spanned<String>),
}

/// An entry of `depends_on`.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// An agent, or one partition of it as `agent:partition`.
    pub on: Spanned<String>,
    /// Which ends of it are good enough.
    pub requires: Requires,
}

/// How agents follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// By their number and dependencies.
    #[default]
    Auto,
    /// One at a time.
    Sequential,
    /// All at once, as far as dependencies allow.
    Parallel,
    /// The same.
    Mixed,
    /// The same, seen as levels.
    Wave,
}

/// `synthesis`.
#[derive(Debug, Clone)]
pub struct Synthesis {
    /// As a step that merges; `of` names agents, empty means all.
    pub step: ReduceStep,
    /// Retries and bounds of that step.
    pub common: Common,
    /// Whether the manifest names the strategy.
    pub states_strategy: bool,
    /// Where `auto` would merge level by level, outputs are merged as they arrive.
    pub progressive: bool,
}

/// What is judged before it is used.
#[derive(Debug, Clone)]
pub struct Verification {
    /// Whether success criteria of agents are.
    pub criteria: bool,
    /// Whether, and how, the answer is.
    pub answer: Option<(VerifyStep, Common)>,
}

/// How the agents of a team work together.
#[derive(Debug, Clone)]
pub struct Team {
    /// The protocol, with the place that names it.
    pub protocol: Spanned<Protocol>,
    /// The agent that leads.
    pub lead: Option<Spanned<String>>,
    /// The agent that judges.
    pub judge: Option<Spanned<String>>,
    /// Rounds, at most.
    pub rounds: Option<Spanned<u64>>,
    /// How votes are counted.
    pub vote: Option<VoteSettings>,
}

/// The protocols of teams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// None: dependencies alone decide.
    Auto,
    /// A lead gives out the work and merges what comes back.
    Delegation,
    /// Each goes on with what the one before hands over.
    Handoff,
    /// One message to all, and all answers.
    Broadcast,
    /// Each votes once.
    Voting,
    /// Votes in rounds, until enough agree.
    Consensus,
    /// Sides answer one another, then a judge decides.
    Debate,
}

/// For one attempt of an agent that states no bound.
const ATTEMPT: Duration = Duration::from_secs(120);
/// Agents at one time, where nothing is said.
const CONCURRENCY: u64 = 60;
/// Tokens of each output that stands behind the prompt of an agent that depends on it.
const DEPENDENCY_TOKENS: u64 = 2_000;
