//! Advice about a name that leads nowhere.

use crate::source::nearest;

/// More names than this are not listed.
const LISTED: usize = 12;

/// The nearest of the names that would do, and the names themselves.
pub(super) fn instead(written: &str, available: &[&str]) -> String {
    let near = nearest(written, available.iter().copied()).map(|near| format!("did you mean `{near}`? "));
    format!("{}{}", near.unwrap_or_default(), list(available))
}

fn list(available: &[&str]) -> String {
    match available.len() {
        0 => "there are none".to_owned(),
        count if count > LISTED => {
            format!("available: {} and {} more", available[..LISTED].join(", "), count - LISTED)
        }
        _ => format!("available: {}", available.join(", ")),
    }
}
