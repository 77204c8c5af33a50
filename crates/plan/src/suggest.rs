//! Advice about a name that leads nowhere.

use convoke_model::nearest;

/// More names than this are not listed.
const LISTED: usize = 20;

/// The nearest of the names that would do, and the names themselves.
pub(crate) fn instead(written: &str, available: &[&str]) -> String {
    // A step whose name is missing is reported by itself.
    let mut seen = std::collections::HashSet::from([""]);
    let named: Vec<&str> = available.iter().copied().filter(|name| seen.insert(*name)).collect();
    let available = named.as_slice();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_is_not_advice() {
        assert_eq!(instead("a", &[""]), "there are none");
        assert_eq!(instead("writr", &["", "writer"]), "did you mean `writer`? available: writer");
    }
}
