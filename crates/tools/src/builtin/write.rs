//! `write_file`: a whole file.

use super::arguments::text;
use super::{Call, Done};

pub(super) fn perform(call: &Call) -> Done {
    let given = text(&call.arguments, "path").unwrap_or_default();
    let content = text(&call.arguments, "content").unwrap_or_default();
    let place = call.root.place(given).map_err(|refusal| refusal.to_string())?;
    let was_there = call.root.write(&place, content.as_bytes()).map_err(|refusal| refusal.to_string())?;
    let what = if was_there { "replaced" } else { "created" };
    Ok(format!("{what} {} ({} lines, {} bytes)", place.as_str(), content.lines().count(), content.len()))
}
