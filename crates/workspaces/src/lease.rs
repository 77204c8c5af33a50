//! A lease that an attempt holds.

use crate::record::{Record, TreeRecord};
use convoke_model::{LeasedTree, Ports, TaskId, WorkspaceLeased};
use std::path::{Path, PathBuf};

/// The workspace of a task, as it stands.
#[derive(Debug, Clone)]
pub struct Lease {
    pub(crate) record: Record,
    /// The folder that the attempt's own folder is compared with: the root of the checkout that the worktree stands for.
    pub(crate) top: PathBuf,
    /// Where in the worktree work begins.
    pub(crate) prefix: PathBuf,
    /// The folder that the workflow was started in.
    pub(crate) folder: PathBuf,
    /// The lease that it is a part of.
    pub(crate) parent: Option<Box<Lease>>,
}

impl Lease {
    /// A lease that stands, for the one that ends it.
    pub(crate) fn of(record: Record) -> Lease {
        let (top, prefix, folder) = Default::default();
        Lease { record, top, prefix, folder, parent: None }
    }

    pub(crate) fn tree(&self) -> Option<&TreeRecord> {
        self.record.tree.as_ref()
    }

    /// Its folder.
    pub fn path(&self) -> Option<&Path> {
        self.tree().map(|tree| tree.path.as_path())
    }

    /// Its ports.
    pub fn ports(&self) -> Option<Ports> {
        self.record.ports
    }

    /// The folder that work is done in, given the one that is stated for it: the same place in the worktree. A folder outside of
    /// the repository stays.
    pub fn working_dir(&self, stated: Option<&str>) -> Option<String> {
        let tree = self.tree()?;
        let Some(stated) = stated else {
            return Some(tree.path.join(&self.prefix).display().to_string());
        };
        let whole: PathBuf = self.folder.join(stated).components().collect();
        let real = whole.canonicalize().unwrap_or(whole);
        Some(match real.strip_prefix(&self.top) {
            Ok(below) => tree.path.join(below).display().to_string(),
            Err(_) => stated.to_owned(),
        })
    }

    /// What the journal says about it.
    pub fn told(&self, owner: &TaskId) -> WorkspaceLeased {
        WorkspaceLeased {
            task: owner.clone(),
            worktree: self.tree().map(|tree| LeasedTree {
                path: tree.path.display().to_string(),
                branch: tree.branch.clone(),
                base: tree.base.clone(),
                into: tree.into.clone(),
            }),
            ports: self.record.ports,
            parent: self.record.parent.as_deref().map(|parent| TaskId(parent.into())),
        }
    }

    /// Variables that tell a program about it.
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        if let Some(path) = self.path() {
            variables.push(("CONVOKE_WORKSPACE".to_owned(), path.display().to_string()));
        }
        if let Some(ports) = self.record.ports {
            let all: Vec<String> = ports.each().map(|port| port.to_string()).collect();
            variables.push(("CONVOKE_PORT".to_owned(), ports.first.to_string()));
            variables.push(("CONVOKE_PORTS".to_owned(), all.join(",")));
        }
        variables
    }
}
