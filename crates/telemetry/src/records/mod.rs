//! What happens in a run as log records, as a fold of its events.
//!
//! A call of a model, its failure and the judgement of an answer are records by the names of OpenTelemetry's conventions; everything else
//! is called `convoke.` and the event's name. `fields` says what of an event may be told without its contents, also for standard error. A
//! record belongs to the span that stands for its task at that moment.
//!
//! Kept true: a record follows from the events alone, and so does its id: what is sent again is known by it.

mod fields;
mod fold;
mod judgement;
mod record;

pub use fields::{Fields, fields};
pub use fold::RunRecords;
pub use record::{Record, Severity};
