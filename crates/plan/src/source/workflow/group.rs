//! Groups: steps at the same time, and one step per item of a list.

use super::super::text::Spanned;
use super::{Common, Names, Step};

/// An entry of `parallel`.
#[derive(Debug, Clone)]
pub struct ParallelGroup {
    /// Its name.
    pub name: Spanned<String>,
    /// Names of the members (steps or groups).
    pub agents: Names,
    /// What a member's failure means.
    pub failure_mode: FailureMode,
    /// Members at one time; `None` = no bound.
    pub max_concurrent: Option<Spanned<u64>>,
    /// What every step has.
    pub common: Common,
}

/// An entry of `for_each`.
#[derive(Debug, Clone)]
pub struct ForEach {
    /// Its name.
    pub name: Spanned<String>,
    /// Dotted path to the items, at least three parts; empty when missing (which is reported).
    pub source: Spanned<String>,
    /// `items`: the list itself, instead of a path.
    pub items: Option<Spanned<Vec<serde_json::Value>>>,
    /// `as`: the loop variable; empty when missing (which is reported).
    pub variable: Spanned<String>,
    /// What runs per item; `None` when missing or given twice (which is reported).
    pub body: Option<ForEachBody>,
    /// Items at one time; `None` = 10.
    pub max_concurrent: Option<Spanned<u64>>,
    /// What an item's failure means.
    pub failure_mode: FailureMode,
    /// Dotted path below the item.
    pub key_by: Option<Spanned<String>>,
    /// Whether items that can be names are; files of this kind have no key for it.
    pub named: bool,
    /// Whether a batch ends before the next begins; files of this kind have no key for it.
    pub in_batches: bool,
    /// What every step has.
    pub common: Common,
}

/// What a fan-out runs per item.
#[derive(Debug, Clone)]
pub enum ForEachBody {
    /// The inline `agent`.
    Inline(Box<Step>),
    /// `run`: a step or group of the file.
    Run(Spanned<String>),
}

/// What the failure of a member means for its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureMode {
    /// The first failure cancels the siblings.
    #[default]
    FailFast,
    /// Fails only if all failed.
    ContinueOnError,
    /// All run, any failure fails the group.
    AllOrNothing,
    /// Fails when fewer than this many succeed.
    Quorum(u64),
}
