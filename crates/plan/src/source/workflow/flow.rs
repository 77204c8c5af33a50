//! What leads from step to step, and what happens when one fails.

use std::time::Duration;

/// The classes of failures.
pub use convoke_model::Class as ErrorClass;

use super::super::text::{Spanned, Text};
use super::Templates;
use crate::diagnostic::Span;

/// An entry of `routes`.
#[derive(Debug, Clone)]
pub struct Route {
    /// Name of a step or group, or `$end`.
    pub to: Spanned<String>,
    /// Condition (expression or template); `None` = always.
    pub when: Option<Text>,
    /// Merged over the final output on a `$end` route (templates).
    pub output: Option<Templates>,
    /// Place of the route.
    pub span: Span,
}

/// An entry of `needs`.
#[derive(Debug, Clone)]
pub struct Need {
    /// Name of the step or group that is needed.
    pub step: Spanned<String>,
    /// Which ends of it are good enough.
    pub requires: Requires,
    /// Whether it is about order alone; files of this kind have no key for it.
    pub order: bool,
    /// The one item that is needed of a fan-out; files of this kind have no key for it.
    pub item: Option<u32>,
    /// Place of the entry.
    pub span: Span,
}

/// Which end of a needed step lets the next one start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Requires {
    /// It succeeded.
    #[default]
    Success,
    /// It ended by itself, succeeded or failed.
    Completed,
    /// Any end, skipped and cancelled too.
    Any,
}

/// How many of the needs must be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Join {
    /// Every one.
    #[default]
    All,
    /// The first that ends.
    Any,
    /// The first that succeeds.
    FirstSuccess,
    /// This many.
    Quorum(u64),
}

/// An entry of `on_error`.
#[derive(Debug, Clone)]
pub struct ErrorRoute {
    /// Classes that it catches; empty means any.
    pub classes: Vec<Spanned<ErrorClass>>,
    /// Name of a step or group, or `$end`.
    pub to: Spanned<String>,
    /// Place of the entry.
    pub span: Span,
}

/// `retry`.
#[derive(Debug, Clone)]
pub struct Retry {
    /// Attempts in all, the first one included (default 1).
    pub max_attempts: Spanned<u32>,
    /// How the pause grows.
    pub backoff: Backoff,
    /// The first pause (default 2 s).
    pub delay: Duration,
    /// Which failures are worth another attempt; `provider_error` is already spelled out as its three classes.
    pub retry_on: Vec<ErrorClass>,
    /// Further attempts to read a malformed answer.
    pub max_parse_recovery_attempts: Option<Spanned<u32>>,
    /// Place of the block.
    pub span: Span,
}

/// How the pause between attempts grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Backoff {
    Fixed,
    #[default]
    Exponential,
}

/// What to do with an attempt whose end a crash made unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum OnUnknown {
    Retry,
    Ask,
    Fail,
}

/// `labels`: what the governor orders by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    /// Within a class.
    pub priority: Option<Spanned<Priority>>,
    /// Which queue.
    pub class: Option<Spanned<QueueClass>>,
    /// Whose work it is.
    pub tenant: Option<Spanned<String>>,
}

/// Order within a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Priority {
    Critical,
    High,
    Normal,
    Low,
    Background,
}

/// Order between classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum QueueClass {
    Interactive,
    Standard,
    Batch,
}
