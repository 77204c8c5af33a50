//! References to variables inside texts: how credentials are written down without their values.
//!
//! `${NAME}` stands for a variable, `${NAME:-text}` for it or else the text, which may hold references itself.
//! Anything else is taken as it is. Where values come from is the caller's business.

/// Replaces the references in a text; the error is the name of the first variable that is not set. An empty variable
/// counts as not set.
pub fn resolve(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    expand(text, lookup, &mut out)?;
    Ok(out)
}

/// The variables that a text refers to, in order; for whoever must keep them from child processes.
pub fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, inside, after)) = next_reference(rest) {
        let (name, fallback) = parts(inside);
        found.push(name.to_owned());
        found.extend(names(fallback.unwrap_or_default()));
        rest = after;
    }
    found
}

fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>, out: &mut String) -> Result<(), String> {
    let mut rest = text;
    while let Some((before, inside, after)) = next_reference(rest) {
        out.push_str(before);
        let (name, fallback) = parts(inside);
        match (lookup(name).filter(|value| !value.is_empty()), fallback) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(fallback)) => expand(fallback, lookup, out)?,
            (None, None) => return Err(name.to_owned()),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(())
}

fn parts(inside: &str) -> (&str, Option<&str>) {
    match inside.split_once(":-") {
        Some((name, fallback)) => (name, Some(fallback)),
        None => (inside, None),
    }
}

/// The text before the next reference, what is inside it, and the text after it.
fn next_reference(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find("${")?;
    let inside = &text[start + 2..];
    let mut depth = 1;
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&text[..start], &inside[..at], &inside[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> Result<String, String> {
        resolve(text, &|name| match name {
            "KEY" => Some("k-1".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn references_become_values() {
        for (text, value) in [
            ("${KEY}", "k-1"),
            ("Bearer ${KEY}!", "Bearer k-1!"),
            ("${NONE:-x}", "x"),
            ("${NONE:-${KEY}}", "k-1"),
            ("${EMPTY:-}", ""),
            ("literal", "literal"),
            ("${open", "${open"),
            ("$KEY", "$KEY"),
        ] {
            assert_eq!(resolved(text).as_deref(), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_not_set_is_named() {
        assert_eq!(resolved("${NONE}"), Err("NONE".into()));
        assert_eq!(resolved("${EMPTY}"), Err("EMPTY".into()));
        assert_eq!(names("${A} and ${B:-${C}}"), ["A", "B", "C"]);
    }
}
