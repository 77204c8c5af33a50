//! The spans of a run, as a fold of its events.
//!
//! ```text
//! invoke_workflow W            the run, and each sub-workflow below it
//! ├─ parallel g                groups, goals and other tasks that work through children
//! │  ├─ invoke_agent a         an attempt of an agent; a further one links to the one before
//! │  │  ├─ chat m              a call of its model, where the run was traced while it ran
//! │  │  └─ execute_tool t      a call of a tool
//! │  └─ execute_tool make      an attempt of a script or of a tool step
//! └─ human_gate q              a question, until its answer
//! ```
//!
//! `names` has every name, in one table; `ids` says how a span is called, so that it has the same id whichever process sends it and
//! however often. Invariant: a span is given once, at the event that ends it, and nothing but the events decides about it.

mod attempt;
mod contents;
mod fold;
mod ids;
pub mod names;
mod span;
mod steps;

pub use contents::{Contents, Prompt, Prompts, Texts};
pub use fold::RunSpans;
pub(crate) use ids::hex;
pub use ids::{SpanId, TraceId, traceparent};
pub use span::{Kind, Link, Span, Value};
