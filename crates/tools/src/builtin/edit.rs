//! `edit_file`: a text that stands once becomes another.

use super::arguments::{flag, text};
use super::{Call, Done, numbered};
use convoke_files::Refusal;
use convoke_files::edit::{Edit, Edited, Miss};

pub(super) fn perform(call: &Call) -> Done {
    let given = text(&call.arguments, "path").unwrap_or_default();
    let words = |name| text(&call.arguments, name).unwrap_or_default().to_owned();
    let edit = Edit {
        old: words("old_string"),
        new: words("new_string"),
        all: flag(&call.arguments, "replace_all"),
    };
    let place = call.root.place(given).map_err(|refusal| refusal.to_string())?;
    let mut done = None;
    let changed = call.root.change(&place, |content| {
        let edited = edit.apply(&content)?;
        let content = edited.content.clone();
        done = Some(edited);
        Ok::<_, Wrong>(Some(content))
    });
    match (changed, done) {
        (Ok(_), Some(edited)) => Ok(told(place.as_str(), &edit, &edited)),
        (Err(Wrong(why)), _) => Err(format!("`{}`: {why}", place.as_str())),
        (Ok(_), None) => Err("nothing was changed".to_owned()),
    }
}

/// Why nothing was changed.
struct Wrong(String);

impl From<Refusal> for Wrong {
    fn from(refusal: Refusal) -> Wrong {
        Wrong(refusal.to_string())
    }
}

impl From<Miss> for Wrong {
    fn from(miss: Miss) -> Wrong {
        Wrong(miss.to_string())
    }
}

fn told(path: &str, edit: &Edit, edited: &Edited) -> String {
    if edited.count > 1 {
        return format!("edited {path}: {} places, the first in line {}", edited.count, edited.line);
    }
    let text = String::from_utf8_lossy(&edited.content);
    let last = edited.line + edit.new.lines().count().saturating_sub(1);
    format!("edited {path}; it is now:\n{}", numbered::around(&text, edited.line, last))
}
