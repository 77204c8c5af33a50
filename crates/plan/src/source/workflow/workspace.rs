//! Workspaces of steps, groups and phases.

use super::super::read;
use super::super::section::{FromNode, section};
use super::super::shape::Shape;
use super::super::text::Spanned;
use super::Names;
use crate::diagnostic::Span;
use crate::source::read::Fields;

section! {
    /// `workspace` of a step, a group or a phase; the word `worktree` alone stands for an empty one.
    #[derive(Debug, Clone)]
    pub struct Workspace = "workspace", "`workspace`" {
        /// a folder of the repository (default the folder of the run)
        #[by(read::fixed::fixed)]
        pub repository: Option<Spanned<String>>,
        /// branch, tag or commit that the worktree begins at (default HEAD)
        #[by(read::fixed::fixed)]
        pub base: Option<Spanned<String>>,
        /// branch that the work comes back to (default the one that is checked out)
        #[by(read::fixed::fixed)]
        pub into: Option<Spanned<String>>,
        /// the only files and folders in it (default all)
        pub sparse: Names = Names::new(),
        /// files and folders that git ignores and that are copied into it
        pub seed: Names = Names::new(),
        /// step or persona that resolves conflicts (default the agent itself)
        #[by(read::fixed::fixed)]
        pub resolver: Option<Spanned<String>>,
        /// how often conflicts are resolved before the step fails as `conflict` (default 2)
        pub resolve_attempts: Option<Spanned<u32>> => Integer(0, 10),
    } with {
        /// Place of the block.
        pub span: Span = Fields::place,
    }
}

/// A word, or a block.
pub(in crate::source) const WORKSPACE: Shape =
    Shape::OneOf(&[Shape::Choice(&["worktree"]), Workspace::SHAPE]);

/// How many ports a task may have.
pub(in crate::source) const PORTS: Shape = Shape::Integer(1, 1000);
