//! The compiled form of all front-ends: immutable data, identified by its hash.
//!
//! A plan holds every text that a run can ever need (sub-workflows, partials, skills), so a run can be resumed without
//! the files it came from. Credentials stay references. Nodes are addressed by index inside their workflow; names are
//! for people and templates.

mod below;
mod charged;
mod domain_events;
mod goal;
mod kind;
mod node;
mod pipeline;
mod proof;
mod reduce;
mod workflow;
mod workspace;

pub(crate) use below::{nodes_below, nodes_in};
pub(crate) use charged::nodes_of_tenant;
pub use domain_events::*;
pub use goal::*;
pub use kind::*;
pub use node::*;
pub use pipeline::*;
pub use proof::*;
pub use reduce::*;
pub use workflow::*;
pub use workspace::*;

use crate::template::{ConditionSource, TemplateId, TemplateSource};
use convoke_model::{Digest, SecretSource};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything a run needs to know before it starts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The format of this structure.
    pub format: u32,
    /// The workflow itself, then each sub-workflow once.
    pub workflows: Vec<Workflow>,
    /// Every template, addressed by [`TemplateId`].
    pub templates: Vec<TemplateSource>,
    /// Every `when`, addressed by its id.
    pub conditions: Vec<ConditionSource>,
    /// Texts that templates include, by normalised path.
    pub partials: BTreeMap<String, String>,
    /// Where the values of secrets come from, by name. Values are in no plan.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, SecretSource>,
    /// The texts that it was made from, as they were read.
    #[serde(default)]
    pub sources: Vec<StoredSource>,
}

/// A source text as it was read, before any substitution.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredSource {
    /// The path as it was given.
    pub path: String,
    /// The text.
    pub text: String,
}

/// The format that this version writes.
pub const PLAN_FORMAT: u32 = 1;

/// Index of a workflow in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkflowIx(pub u32);

/// Index of a node in its workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeIx(pub u32);

/// A text of the plan: as it stands, or to be rendered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Text {
    /// Nothing to render.
    Literal(Arc<str>),
    /// Rendered when it is needed.
    Template(TemplateId),
}

impl Plan {
    /// The workflow that a run starts with.
    pub fn root(&self) -> &Workflow {
        &self.workflows[0]
    }

    /// A workflow by index.
    pub fn workflow(&self, ix: WorkflowIx) -> &Workflow {
        &self.workflows[ix.0 as usize]
    }

    /// The plan's identity: the texts that it was made from, before any substitution, so that an address or a key in
    /// the environment does not make it another plan. A plan that came from no text is identified by what it does.
    pub fn digest(&self) -> Digest {
        let identity = match self.sources.is_empty() {
            false => serde_json::to_vec(&self.sources),
            true => serde_json::to_vec(&(&self.workflows, &self.templates, &self.conditions, &self.partials)),
        };
        Digest::of(&identity.expect("a plan is data"))
    }
}
