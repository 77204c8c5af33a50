//! One vertex of a plan, and its edges.

use super::{Kind, NodeIx, Probe, Proof, Round, Text, Trigger, Workspace};
use crate::template::ConditionId;
use convoke_model::{Budget, Classes, Digest, OutputSchema, Retry};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One node: a step, a group, a member or a body.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Node {
    /// Its name, unique in its workflow.
    pub name: Arc<str>,
    /// What it is for.
    pub description: Option<String>,
    /// What it does.
    pub kind: Kind,
    /// What it waits for.
    pub needs: Vec<Need>,
    /// How many of these it waits for.
    pub join: Join,
    /// Which of the edges that lead to it must be taken for it to start: one of them; empty asks for nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Trigger>,
    /// Where its branch goes on, first match.
    pub routes: Vec<Route>,
    /// Where its branch goes on after a failure, first match.
    pub on_error: Vec<ErrorRoute>,
    /// What it sees in explicit mode.
    pub inputs: Vec<InputRef>,
    /// What it relies on in outputs of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expects: Vec<Expectation>,
    /// The agent that puts an output into the expected shape; without one, an output of another shape is a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repairer: Option<NodeIx>,
    /// What it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair_prompt: Option<Text>,
    /// How it is tried again.
    pub retry: Retry,
    /// How long it may take, over all attempts.
    pub timeout: Option<Span>,
    /// How long an attempt of it, or of what is inside it, may wait for a permit, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_wait: Option<u64>,
    /// What follows when a crash cut an attempt off.
    pub on_unknown: OnUnknown,
    /// What is asked then, for `probe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Box<Probe>>,
    /// What the governor may know about it.
    pub labels: Labels,
    /// What all its tasks together may spend; of a group: what everything below it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What it needs besides a permit: resources that the machine's owner has counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<(Arc<str>, u64)>,
    /// The workspace that each of its tasks has for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Box<Workspace>>,
    /// What must hold for its work to count as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<Proof>>,
    /// Its place in the file.
    pub place: Place,
    /// What it does, as a hash: unchanged means that a finished task keeps its output.
    pub hash: Digest,
}

impl Node {
    /// Whether its work must be proven and is done by others: it is looked at from outside, once all of them have ended.
    pub fn is_looked_at(&self) -> bool {
        self.proof.is_some() && !matches!(self.kind, Kind::Agent(_) | Kind::Script(_) | Kind::Tool(_))
    }

    /// Which round of another phase it is.
    pub fn round(&self) -> Option<Round> {
        match &self.kind {
            Kind::Phase(phase) => phase.round,
            _ => None,
        }
    }

    /// The step that it stands for: its own name, or that of the step that asks it on its way (`$step.merge`).
    pub fn step_name(&self) -> &str {
        let asker = self.name.strip_prefix('$').and_then(|name| name.rsplit_once('.'));
        asker.map_or(&self.name, |(step, _)| step)
    }
}

/// A length of time, stated or rendered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// Milliseconds.
    Millis(u64),
    /// A text that becomes a duration.
    Text(Text),
}

/// A dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// The node that must end first.
    pub node: NodeIx,
    /// How it must end.
    pub requires: Requires,
    /// Whether it is about order alone: nothing of its output is passed on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub order: bool,
    /// Of a fan-out with a stated list: the one item that is needed, by its position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

/// How something needed must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requires {
    /// Succeeded.
    Success,
    /// Succeeded or failed.
    Completed,
    /// Any end.
    Any,
    /// Any end; of all needs of a node that say so, one at least succeeded, or the node fails.
    Some,
}

/// How many of its needs a node waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// All of them.
    All,
    /// The first that ends as required.
    Any,
    /// The first that succeeds.
    FirstSuccess,
    /// This many.
    Quorum(u32),
}

/// Where a branch may go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// The next node; `None` is `$end`.
    pub to: Option<NodeIx>,
    /// Taken if this holds; always if absent.
    pub when: Option<ConditionId>,
    /// Added to the workflow's output at `$end`.
    pub output: Vec<(String, Text)>,
}

/// Where a branch may go on after a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorRoute {
    /// For failures of these classes.
    pub classes: Classes,
    /// The next node; `None` is `$end`.
    pub to: Option<NodeIx>,
}

/// A reference that explicit mode allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputRef {
    /// What is referred to.
    pub target: InputTarget,
    /// Missing is fine.
    pub optional: bool,
    /// As written, for messages.
    pub text: Arc<str>,
}

/// What a node relies on in another's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The other node, which is no group.
    pub node: NodeIx,
    /// What its output must look like; further fields may be there.
    pub schema: OutputSchema,
}

/// What an `input` reference names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputTarget {
    /// An input of the workflow.
    Input(String),
    /// An output of a node, or a part of it: the path below `name.output`, `name.outputs` … as written after the name.
    Node {
        /// The node.
        node: NodeIx,
        /// The rest of the path, `output` or `outputs` included.
        path: Vec<String>,
    },
}

/// What follows when a crash cut an attempt off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnknown {
    /// It is tried again.
    Retry,
    /// A probe finds out whether it had its effect.
    Probe,
    /// A person is asked.
    Ask,
    /// It has failed.
    Fail,
}

/// What the governor may know about a node or a workflow, as it is written there. What is not written is what is written
/// around it: on the group, on the workflow, on the step that calls the workflow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Labels {
    /// How urgent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// What it is for: a person that waits, or a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<WorkClass>,
    /// The tenant that it is charged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Arc<str>>,
}

impl Labels {
    /// Fills what is not written here from what is around it.
    pub fn fill_from(&mut self, around: &Labels) {
        self.priority = self.priority.or(around.priority);
        self.class = self.class.or(around.class);
        self.tenant = self.tenant.take().or_else(|| around.tenant.clone());
    }

    /// Whether nothing around it can add anything.
    pub fn is_full(&self) -> bool {
        self.priority.is_some() && self.class.is_some() && self.tenant.is_some()
    }
}

/// How urgent a task is; earlier is more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before everything else.
    Critical,
    /// Before most.
    High,
    /// As usual.
    #[default]
    Normal,
    /// After most.
    Low,
    /// When nothing else waits.
    Background,
}

/// What waits for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkClass {
    /// A person does.
    Interactive,
    /// A program does.
    #[default]
    Standard,
    /// Nothing in particular.
    Batch,
}

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}
