//! `approve`: which calls of an agent's tools a person must allow, as written.
//!
//! A word, a list of tools, or a mapping with both. What holds where an agent, its goal and the configuration say something is
//! the model's ([`Approvals::holding`]).

use std::time::Duration;

use convoke_model::{ApprovalLevel, Approvals};

use super::section::{FromNode, section};
use super::shape::Shape::{self, Boolean, Choice, OneOf};
use super::shape::TEXTS;
use super::text::Spanned;
use super::workflow::Names;

section! {
    /// `approve` with settings.
    #[derive(Debug, Clone, Default)]
    pub struct Approve = "approve", "`approve`" {
        /// which calls a person must allow (default high-risk)
        pub level: Option<Spanned<ApprovalLevel>>,
        /// tools whose calls a person must allow, whatever their risk
        pub tools: Option<Names>,
        /// how long the person has to answer; then the call counts as refused (default 24h)
        pub within: Option<Spanned<Duration>>,
    }
}

/// What `approve` of an agent takes.
pub(in crate::source) const APPROVE: Shape = OneOf(&[Choice(ApprovalLevel::WORDS), TEXTS, Approve::SHAPE]);

/// What `approve` of a step takes: of a goal, also whether its plan must be approved.
pub(in crate::source) const APPROVE_OF_STEP: Shape =
    OneOf(&[Choice(ApprovalLevel::WORDS), TEXTS, Approve::SHAPE, Boolean]);

impl Approve {
    /// As the plan has it.
    pub fn stated(&self) -> Approvals {
        Approvals {
            level: self.level.as_ref().map(|level| level.value).unwrap_or_default(),
            tools: self.tools.iter().flatten().map(|name| name.value.clone()).collect(),
            within_ms: self.within.as_ref().map(|within| within.value.as_millis() as u64),
            listed: None,
        }
    }
}
