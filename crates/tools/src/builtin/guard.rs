//! What stated policies say of a call of a file tool, by the paths that it names.
//!
//! Without a stated policy there is nothing to judge: the names that hold everywhere are the tools' own to keep to.

use super::arguments::text;
use super::rulebook::Held;
use super::shell::{judge_paths, reasons};
use convoke_agent::Review;
use convoke_files::Root;
use convoke_files::patch::{FilePatch, read};
use convoke_policy::{Access, Judgement, Verdict};
use serde_json::Value;

/// The judgement; an error says why there is none.
pub(super) fn judge(root: &Root, held: &Held, tool: &str, arguments: &Value) -> Result<Judgement, String> {
    let policies = held.of_paths(tool)?;
    if policies.is_empty() && root.kept().is_empty() {
        return Ok(Judgement::allowed());
    }
    let access = match tool {
        "read_file" | "search_files" => Access::Read,
        "list_files" => Access::Look,
        _ => Access::Write,
    };
    let paths = paths(tool, arguments)?;
    judge_paths(root, &policies, tool, paths.iter().map(String::as_str), access)
}

/// The same as a review, with the whole call as the action.
pub(super) fn review(root: &Root, held: &Held, tool: &str, arguments: &Value) -> Review {
    // What cannot be judged is refused when it is called, with the reason.
    let Ok(judgement) = judge(root, held, tool, arguments) else { return Review::Allow };
    match judgement.verdict {
        Verdict::Allow => Review::Allow,
        Verdict::Deny if judgement.aborts => Review::End { reason: reasons(&judgement) },
        Verdict::Deny => Review::Deny { reason: reasons(&judgement) },
        Verdict::Ask => Review::Ask { action: format!("{tool} {arguments}"), reason: reasons(&judgement) },
    }
}

fn paths(tool: &str, arguments: &Value) -> Result<Vec<String>, String> {
    if tool != "apply_patch" {
        return Ok(vec![text(arguments, "path").unwrap_or(".").to_owned()]);
    }
    let patches = read(text(arguments, "patch").unwrap_or_default()).map_err(|error| error.to_string())?;
    Ok(patches.iter().flat_map(FilePatch::paths).map(str::to_owned).collect())
}
