//! `role: org:FILE#ROLE`: an agent, a step or a persona takes what the file of an organisation says of a role.
//!
//! The reference is replaced in the tree, before anything is read: what the role gives stands there as if it had been written, at the
//! place of the reference, and what is written beside it wins. So readers, checks and plans know no roles, and a run that is resumed
//! has what was compiled. What files of organisations look like is the caller's, behind [`Sources::organisation`].
//!
//! Invariant: servers that come with a role are offered to agents that have a role, and to others only by name.
//!
//! [`Sources::organisation`]: super::Sources::organisation

mod resolve;
mod words;

pub(super) use resolve::{manifest, personas, workflow};

use crate::diagnostic::Diagnostic;
use serde_json::Value;

/// What a reference begins with.
pub const PREFIX: &str = "org:";

/// What the file of an organisation says of its roles.
#[derive(Debug, Clone, Default)]
pub struct Organisation {
    /// The IRI of the company, where one is named.
    pub company: Option<String>,
    /// The roles.
    pub roles: Vec<OrganisationRole>,
}

/// One role of an organisation.
#[derive(Debug, Clone, Default)]
pub struct OrganisationRole {
    /// Its IRI.
    pub iri: String,
    /// What it may be called by, its id first.
    pub names: Vec<String>,
    /// What people call it.
    pub label: Option<String>,
    /// IRI and name of its department.
    pub department: Option<(String, String)>,
    /// What it is asked; a template.
    pub task: Option<String>,
    /// What it is told about itself; a template.
    pub system_prompt: Option<String>,
    /// What its answer must meet.
    pub success_criteria: Option<String>,
    /// Its model by policy; `provider:model` names the service too.
    pub model: Option<String>,
    /// The tools that it may use: `server__*` and `server__tool`.
    pub tools: Vec<String>,
    /// The servers of these tools, as `mcp_servers` has them.
    pub servers: Vec<(String, Value)>,
    /// Bound of its time.
    pub timeout_seconds: Option<u64>,
    /// Further attempts.
    pub max_retries: Option<u64>,
    /// Bound of its answer.
    pub max_tokens: Option<u64>,
    /// What it may spend.
    pub budget_usd: Option<f64>,
}

impl Organisation {
    /// The role that a word stands for.
    fn role(&self, word: &str) -> Option<&OrganisationRole> {
        // An id goes before what others are called.
        let by_id = self.roles.iter().find(|role| role.names.first().is_some_and(|id| id == word));
        by_id.or_else(|| self.roles.iter().find(|role| role.names.iter().any(|name| name == word)))
    }
}

/// Why there is no organisation.
#[derive(Debug)]
pub enum OrganisationError {
    /// This world reads none.
    Unknown,
    /// What is wrong with the file, at its places.
    Broken(Vec<Diagnostic>),
}
