//! `workspace`: a word or a block.

use super::super::section::Section;
use super::super::text::Spanned;
use super::super::tree::Value;
use super::super::workflow::{Common, Names, Workspace};
use super::Reader;
use super::fields::Fields;
use super::scalars::Of;

/// Reads `workspace`.
pub fn workspace(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Workspace> {
    let owner = format!("`{key}` of {}", fields.owner);
    let pair = fields.take(key)?;
    if matches!(pair.value.value, Value::Map(_)) {
        return Workspace::at(cx, &pair.value, owner);
    }
    let word = cx.text(&pair.value, Of { key, owner: &fields.owner })?;
    if word.value != "worktree" {
        let message = format!("{owner} is `worktree` or a block, found `{}`", word.value);
        cx.error("workflow::unknown_value", message, &word.span, "not a kind of workspace");
        return None;
    }
    Some(Workspace {
        repository: None,
        base: None,
        into: None,
        sparse: Names::new(),
        seed: Names::new(),
        resolver: None,
        resolve_attempts: None,
        span: word.span,
    })
}

/// A way back needs something to come back from.
pub fn judge_workspace(cx: &mut Reader<'_>, fields: &Fields<'_>, common: &mut Common) {
    let without = common.merge.as_ref().filter(|_| fields.place_of("workspace").is_none());
    if let Some(Spanned { span, .. }) = without {
        let message = format!("`merge` of {} goes with `workspace: worktree` only", fields.owner);
        cx.error("workflow::needs_key", message, span, "nothing comes back");
    }
}
