//! Workspaces: what is written about them, with its defaults.

use super::build::Builder;
use crate::plan::{NodeIx, Workspace};
use crate::source::text::Spanned;
use crate::source::workflow as source;
use convoke_model::{MergeMode, WorktreeCall};

/// How often conflicts are resolved, where nothing is said.
const RESOLVE_ATTEMPTS: u32 = 2;

impl Builder<'_> {
    /// The node that resolves conflicts, where a step of the file does.
    pub(super) fn resolver(&self, common: &source::Common) -> Option<NodeIx> {
        let named = common.workspace.as_ref()?.resolver.as_ref()?;
        self.outline.find(&named.value).map(|ix| NodeIx(ix as u32))
    }
}

/// What a step, a group or a worker says about its workspace.
pub(super) fn of(common: &source::Common, resolver: Option<NodeIx>) -> Option<Box<Workspace>> {
    let ports = common.ports.as_ref().map_or(0, |ports| ports.value as u32);
    let worktree = common.workspace.as_ref().map(|stated| worktree(stated, common.merge.as_ref()));
    if worktree.is_none() && ports == 0 {
        return None;
    }
    let attempts = common.workspace.as_ref().and_then(|stated| stated.resolve_attempts.as_ref());
    let resolve_attempts = attempts.map_or(RESOLVE_ATTEMPTS, |attempts| attempts.value);
    Some(Box::new(Workspace { worktree, ports, resolver, resolve_attempts }))
}

fn worktree(stated: &source::Workspace, merge: Option<&Spanned<MergeMode>>) -> WorktreeCall {
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
    let names = |names: &source::Names| names.iter().map(|name| name.value.clone()).collect();
    WorktreeCall {
        repository: text(&stated.repository).unwrap_or_default(),
        base: text(&stated.base).unwrap_or_else(|| "HEAD".to_owned()),
        into: text(&stated.into),
        sparse: names(&stated.sparse),
        seed: names(&stated.seed),
        merge: merge.map(|merge| merge.value).unwrap_or_default(),
    }
}
