//! A plan to look at: its edges, its levels and critical path, and drawings of it.
//!
//! Pure views for `convoke plan`; laying text out for a terminal is the command line's work. Levels are a way to show
//! a plan, never a barrier when it runs.

mod draw;
mod edges;
mod estimate;
mod levels;
mod waves;

pub use draw::{dot, mermaid};
pub use edges::{Edge, EdgeKind, edges, trigger_words};
pub use estimate::{Estimate, TooFewIterations, estimate, too_few_iterations};
pub use levels::{Levels, PlacedNode, Start, Ways, levels};
pub use waves::{Waves, waves};
