//! Nodes of persona pipelines: phases, the edges that start them, and what holds for the pipeline as a whole.
//!
//! A phase runs as a task whose tries are children: each is a fresh attempt of its worker, and one that fails validation
//! is followed by another that is given the failure. A phase needs its predecessors (`requires: any`), so it is looked at
//! when all of them have ended; its triggers then say whether it starts.

use super::{NodeIx, Workflow};
use crate::template::ConditionId;
use convoke_model::{Digest, OutputSchema, Violation};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A phase: a persona does its part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Phase {
    /// The role.
    pub persona: Arc<str>,
    /// The actor that plays it.
    pub actor: Arc<str>,
    /// The agent or script that a try asks.
    pub worker: NodeIx,
    /// What it may use.
    pub clearance: Clearance,
    /// Tries in all: 1 where a failed validation is not tried again.
    pub max_tries: u32,
    /// The topology block that it is tagged with.
    pub block: Option<Block>,
    /// The roles that work may be handed to, by itself or by those below it: one entry for each relationship.
    pub children: Vec<ChildRole>,
    /// Those of `children` that it hands work to by itself.
    #[serde(default)]
    pub direct: Vec<u32>,
    /// How deep work may be handed down.
    pub max_depth: u32,
    /// Which round of another phase it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Round>,
    /// The persona that resolves conflicts of its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<Box<ResolverRole>>,
}

/// A persona that resolves conflicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolverRole {
    /// The role.
    pub persona: Arc<str>,
    /// The agent or script that does it.
    pub worker: NodeIx,
    /// What it may use.
    pub clearance: Clearance,
}

/// A further round of a phase, begun by an edge that leads back. Rounds are phases of their own, so a plan has no circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The phase as written, which is the first round.
    pub of: NodeIx,
    /// From 2.
    pub number: u32,
}

/// What a persona may use. Of tools, a ban wins over an allowance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clearance {
    /// Tools that are allowed; `None` where nothing is said, which means all.
    pub allow: Option<Vec<String>>,
    /// Tools that are banned.
    pub ban: Vec<String>,
    /// The only model that may play it; `None` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// How the members of a block run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// One after the other.
    Sequential,
    /// Side by side.
    Parallel,
    /// Side by side, and each may hand work to children.
    Hierarchical,
    /// A failed validation starts the next try.
    RetryUnrolled,
}

/// The topology block of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// How its members run.
    pub kind: Topology,
    /// Which block.
    pub id: Arc<str>,
}

/// A persona that work may be handed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildRole {
    /// The role.
    pub persona: Arc<str>,
    /// The agent or script that does it.
    pub worker: NodeIx,
    /// What it may use.
    pub clearance: Clearance,
    /// How deep below the phase.
    pub max_depth: u32,
    /// How many at once from one parent.
    pub max_children: u32,
    /// The roles that it may hand work to itself, as indexes into the phase's list.
    pub children: Vec<u32>,
}

/// An edge that can start a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// The phase that it leads from.
    pub from: NodeIx,
    /// How that one must have ended; `None` where only the event counts.
    pub on: Option<On>,
    /// What it must have announced.
    pub event: Option<Arc<str>>,
    /// What must hold as well, all of it.
    pub when: Vec<Condition>,
    /// Whether the last round that ran counts of the phase that it leads from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
}

/// The status that an edge asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// It succeeded.
    Success,
    /// What it gave was not accepted.
    ValidationFail,
    /// It failed.
    Failure,
    /// It ran, whatever came of it.
    Always,
}

impl On {
    /// The word of files, events and messages.
    pub fn word(self) -> &'static str {
        match self {
            On::Success => "success",
            On::ValidationFail => "validation_fail",
            On::Failure => "failure",
            On::Always => "always",
        }
    }
}

/// A condition of an edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Condition {
    /// Nothing more.
    Always,
    /// A flag of the run.
    StateFlag {
        /// Its name.
        key: String,
        /// What it must be; one that was never set is false.
        equals: bool,
    },
    /// Something was announced before, by whichever phase.
    HistoryHasEvent {
        /// What.
        event: String,
    },
    /// A file exists.
    FileExists {
        /// Where, below the folder of the run.
        path: String,
    },
    /// An expression of the workflow language.
    Expression {
        /// Which.
        when: ConditionId,
    },
}

/// What holds for a pipeline as a whole. It has succeeded if every executed leaf has and nothing on the critical path
/// failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pipeline {
    /// The manifest's identity.
    pub manifest: Digest,
    /// So many hard failures in a row end it.
    pub hard_failures: u32,
    /// Kinds of events that it defines itself, with the shape of what is said about them.
    pub events: Vec<(String, Option<OutputSchema>)>,
    /// Whether a worker may announce `task_blocked` whatever its status is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocked_any_status: bool,
    /// What a violation of a contract comes to.
    pub violation: Violation,
    /// Where the context of the project is kept.
    #[serde(default)]
    pub project: ProjectPlace,
    /// Bounds of the manifest that the process does not grant, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<String>,
}

/// Where the context is kept that the runs of a project share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectPlace {
    /// In the project's usual place.
    #[default]
    Usual,
    /// In this file, beside the manifest.
    At(String),
    /// Nowhere: the run shares nothing.
    Nowhere,
}

impl Workflow {
    /// Names the place where what it shares with other runs is kept: the same name for all workflows of a plan that share
    /// it, the empty one for the project's usual place, none where nothing is shared.
    pub fn project_place(&self) -> Option<String> {
        match &self.pipeline.as_ref()?.project {
            ProjectPlace::Usual => Some(String::new()),
            ProjectPlace::At(path) => {
                let path = Path::new(&self.dir).join(path);
                let plain = path.components().filter(|part| *part != Component::CurDir);
                Some(plain.collect::<PathBuf>().to_string_lossy().into_owned())
            }
            ProjectPlace::Nowhere => None,
        }
    }
}
