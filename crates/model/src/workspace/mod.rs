//! Workspaces: a git worktree and a block of ports that belong to one task.
//!
//! Data only. What a task is to have is in its plan and, with what the journal knows of it, in its assignment
//! ([`WorkspaceCall`]); what happens to it is told by events ([`WorkspaceTold`]). A workspace is a lease: it belongs to its owner
//! from `WorkspaceLeased` until `WorkspaceReleased` or `WorkspaceKept`.

mod call;
mod ports;
mod told;

pub use call::*;
pub use ports::*;
pub use told::*;
