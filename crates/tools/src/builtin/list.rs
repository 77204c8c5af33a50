//! `list_files`: what is in a folder.

use super::arguments::{flag, number, text};
use super::{Call, Done};
use convoke_files::glob::Glob;
use convoke_files::{Entry, Kind, Walk};

/// Entries that are shown.
const SHOWN: usize = 1_000;
/// Entries that are looked at.
const LOOKED_AT: usize = 200_000;

pub(super) fn perform(call: &Call) -> Done {
    let given = text(&call.arguments, "path").unwrap_or(".");
    let glob = text(&call.arguments, "glob").map(Glob::new).transpose();
    let glob = glob.map_err(|why| format!("`glob` is no pattern of paths: {why}"))?;
    let usual = if glob.is_some() { 64 } else { 1 };
    let walk = Walk {
        depth: number(&call.arguments, "depth").unwrap_or(usual),
        with_ignored: flag(&call.arguments, "ignored"),
        most: LOOKED_AT,
    };
    let (mut lines, mut cut) = (Vec::new(), false);
    let prefix = call.root.place(given).map(|place| place.as_str().to_owned()).unwrap_or_default();
    let saw_all = call
        .root
        .walk(given, walk, |at| {
            let beneath = at.path.strip_prefix(&prefix).map_or(at.path, |rest| rest.trim_start_matches('/'));
            let fits = |glob: &Glob| glob.is_match(beneath) || glob.is_match(at.path);
            if glob.as_ref().is_none_or(fits) {
                cut = lines.len() == SHOWN;
                if !cut {
                    lines.push(shown(at.path, at.entry));
                }
            }
            !cut && !call.stop.is_cancelled()
        })
        .map_err(|refusal| refusal.to_string())?;
    if lines.is_empty() {
        return Ok(if glob.is_some() {
            "[nothing fits]".to_owned()
        } else {
            "[the folder is empty]".to_owned()
        });
    }
    let count = lines.len();
    if !saw_all {
        lines.push(format!("[{count} are shown, there are more; narrow it by `path` or `glob`]"));
    }
    Ok(lines.join("\n"))
}

fn shown(path: &str, entry: &Entry) -> String {
    match entry.kind {
        Some(Kind::Folder) => format!("{path}/"),
        Some(Kind::File) => format!("{path} ({} bytes)", entry.size),
        None => format!("{path} (a link or a special file)"),
    }
}
