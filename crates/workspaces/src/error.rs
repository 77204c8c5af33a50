//! What can go wrong with a workspace, and what kind of failure that is.

use convoke_model::{Class, Failure, reason};
use std::io;

/// Why something about a workspace could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// A folder is in no repository.
    #[error("`{folder}` is in no git repository")]
    NoRepository {
        /// The folder.
        folder: String,
    },
    /// A ref names no commit.
    #[error("`{base}` names no commit of `{repository}`")]
    NoBase {
        /// The ref.
        base: String,
        /// The repository.
        repository: String,
    },
    /// The branch that work comes back to is not there.
    #[error("there is no branch `{into}` in `{repository}` that work could come back to")]
    NoTarget {
        /// The branch.
        into: String,
        /// The repository.
        repository: String,
    },
    /// No branch is checked out.
    #[error("no branch is checked out in `{repository}`, so it is not known where work comes back to")]
    Detached {
        /// The repository.
        repository: String,
    },
    /// A file that is to be copied would become part of the work.
    #[error("`{path}` cannot be seeded: {why}")]
    Seed {
        /// The file.
        path: String,
        /// Why.
        why: &'static str,
    },
    /// There are not so many ports one after another.
    #[error("there are not {wanted} free ports one after another {among}")]
    NoPorts {
        /// How many are wanted.
        wanted: u32,
        /// Among which.
        among: String,
    },
    /// The checkout of the target branch has changes.
    #[error(
        "`{into}` is checked out at `{checkout}` with changes that are in no commit: it was left as it is"
    )]
    DirtyCheckout {
        /// The branch.
        into: String,
        /// The checkout.
        checkout: String,
    },
    /// The target branch is in use.
    #[error("`{into}` is being rebased or bisected at `{checkout}`: it was left as it is")]
    BusyCheckout {
        /// The branch.
        into: String,
        /// The checkout.
        checkout: String,
    },
    /// The worktree is on another branch.
    #[error("the worktree `{path}` is no longer on its branch `{branch}`")]
    OffBranch {
        /// The folder.
        path: String,
        /// The branch.
        branch: String,
    },
    /// The target moves faster than work can be put on top of it.
    #[error("`{into}` moved each time that work was put on top of it")]
    Outrun {
        /// The branch.
        into: String,
    },
    /// The program git failed.
    #[error("`git {command}` failed: {said}")]
    Git {
        /// The command.
        command: String,
        /// What it said.
        said: String,
    },
    /// The program git takes too long.
    #[error("`git {command}` did not end within {seconds} s and was killed")]
    Slow {
        /// The command.
        command: String,
        /// The bound.
        seconds: u64,
    },
    /// The disk.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl Trouble {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Trouble {
        move |source| Trouble::Io { what: what.into(), source }
    }

    /// The failure of an attempt that meets it.
    pub fn failure(&self) -> Failure {
        let (class, reason, hint) = match self {
            Trouble::NoRepository { .. } => {
                (Class::Fatal, reason::WORKSPACE, "run it inside a repository, or name one with `repository`")
            }
            Trouble::NoBase { .. } => {
                (Class::Fatal, reason::WORKSPACE, "`base` is a branch, a tag or a commit")
            }
            Trouble::NoTarget { .. } | Trouble::Detached { .. } => {
                (Class::Fatal, reason::WORKSPACE, "name an existing branch with `into`")
            }
            Trouble::Seed { .. } => (Class::Fatal, reason::WORKSPACE, "seed files that git ignores"),
            Trouble::NoPorts { .. } => {
                (Class::Capacity, reason::NO_PORTS, "`convoke workspaces` shows which tasks have ports")
            }
            Trouble::DirtyCheckout { .. } | Trouble::BusyCheckout { .. } => (
                Class::Conflict,
                reason::DIRTY_CHECKOUT,
                "commit or stash what is changed there, then `convoke resume`: the work is kept, and only merged then",
            ),
            Trouble::OffBranch { .. } => {
                (Class::Conflict, reason::MERGE_CONFLICT, "the work is kept: merge it by hand")
            }
            Trouble::Outrun { .. } => {
                (Class::Conflict, reason::MERGE_CONFLICT, "`convoke resume` tries again")
            }
            Trouble::Git { .. } | Trouble::Slow { .. } | Trouble::Io { .. } => {
                (Class::Fatal, reason::WORKSPACE, "`convoke workspaces` shows what stands")
            }
        };
        Failure::new(class, self.to_string()).reason(reason).hint(hint)
    }
}
