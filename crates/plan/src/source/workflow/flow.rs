//! What leads from step to step, and what happens when one fails.

use std::time::Duration;

/// The classes of failures.
pub use convoke_model::Class as ErrorClass;

use super::super::read::{self, Fields};
use super::super::section::section;
use super::super::text::{Spanned, Text};
use super::super::words::{CLASSES, RETRY_ON};
use super::Templates;
use crate::diagnostic::Span;

section! {
    /// An entry of `routes`.
    #[derive(Debug, Clone)]
    pub struct Route = "route", "a route" {
        /// step or group to go to, or `$end`
        #[by(read::flow::target)]
        #[required = true]
        pub to: Spanned<String>,
        /// condition; without one the route is always taken
        pub when: Option<Text>,
        /// merged over the final output on a `$end` route
        pub output: Option<Templates>,
    } with {
        /// Place of the route.
        pub span: Span = Fields::place,
    }
}

section! {
    /// An entry of `needs`; a name alone stands for its `step`.
    #[derive(Debug, Clone)]
    pub struct Need = "need", "a need" {
        /// step or group that must have ended
        pub step: Spanned<String>,
        /// which ends are good enough (default success)
        pub requires: Requires = Requires::default(),
    } with {
        /// Whether it is about order alone; files of this kind have no key for it.
        pub order: bool = |_| false,
        /// The one item that is needed of a fan-out; files of this kind have no key for it.
        pub item: Option<u32> = |_| None,
        /// Place of the entry.
        pub span: Span = Fields::place,
    }
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
    /// Any end; of all needs that say so, one at least succeeded.
    Some,
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

section! {
    /// `join` with a number.
    #[derive(Debug, Clone)]
    pub struct Quorum = "quorum", "`join`" {
        /// how many of the needs must be met
        pub quorum: u64,
    }
}

section! {
    /// An entry of `on_error`.
    #[derive(Debug, Clone)]
    pub struct ErrorRoute = "error_route", "an entry of `on_error`" {
        /// classes of failures that it catches (default any)
        #[by(read::flow::classes)]
        pub classes as "class": Vec<Spanned<ErrorClass>>
            => OneOf(&[Choice(CLASSES), List(&Choice(CLASSES)), Choice(&["any"])]),
        /// step or group to go to, or `$end`
        #[by(read::flow::target)]
        #[required = true]
        pub to: Spanned<String>,
    } with {
        /// Place of the entry.
        pub span: Span = Fields::place,
    }
}

section! {
    /// `retry`.
    #[derive(Debug, Clone)]
    pub struct Retry = "retry", "`retry`" {
        /// attempts in all (default 1)
        pub max_attempts: u32 = 1 => Integer(1, 10),
        /// how the pause grows (default exponential)
        pub backoff: Backoff = Backoff::default(),
        /// the first pause in seconds (default 2)
        pub delay as "delay_seconds": Duration = Duration::from_secs(2) => Number(0.0, 300.0),
        /// failures that are worth another attempt (default provider_error and timeout)
        #[by(read::flow::retry_on)]
        pub retry_on: Vec<ErrorClass> => List(&Choice(RETRY_ON)),
        /// further attempts to get an answer that can be read
        pub max_parse_recovery_attempts: Option<Spanned<u32>> => Integer(0, 10),
    } with {
        /// Place of the block.
        pub span: Span = Fields::place,
    }
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
    Probe,
    Ask,
    Fail,
}

section! {
    /// `labels`: what the governor orders by.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct Labels = "labels", "`labels`" {
        /// order within a class (default normal)
        pub priority: Option<Spanned<Priority>>,
        /// which queue (default standard)
        pub class: Option<Spanned<QueueClass>>,
        /// whose work it is
        pub tenant: Option<Spanned<String>>,
    }
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
