//! What a run looks like to people: folds over its events.
//!
//! The terminal, the server, the cockpit and exports show the same runs by the same folds. A fold takes one event after the
//! other and is total: any list of events, also a damaged or partial one, gives a state. [`State`] is the run as a whole,
//! [`Table`] its tasks one by one,
//! [`Gates`] the questions that wait for a person, [`Outline`] and [`Graph`] what the plan says in advance, [`Story`] the run in
//! sentences; [`Picture`] is those that a page needs together. How any of it is drawn is left to
//! those that show it; numbers and names that people read are put into [`words`] here, so that they read alike everywhere.
//!
//! Invariant: pure. No clock, no disk, no terminal; a live run and a replayed one give the same state.

mod activity;
mod alike;
mod gates;
mod graph;
mod outline;
mod partial_merges;
mod picture;
mod shown_failures;
mod state;
mod story;
mod table;
mod task;
mod titles;
pub mod words;

pub use activity::{Activity, Doing, Now, Said};
pub use alike::{alike_key, kind};
pub use gates::{Gates, Question, all_questions};
pub use graph::{END, Graph, GraphEdge, GraphNode, Way, node_of};
pub use outline::Outline;
pub use partial_merges::{PartialMerge, PartialMerges};
pub use picture::Picture;
pub use shown_failures::{ABOVE, ShownFailures};
pub use state::{Ended, State, owner};
pub use story::{Sentence, Story, Tone};
pub use table::{Row, Standing, Table};
pub use task::{End, Members, Phase, Task, Wait};
pub use titles::Titles;
