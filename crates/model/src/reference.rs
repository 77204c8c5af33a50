//! References to variables inside texts: how credentials are written down without their values.
//!
//! `${NAME}` stands for a variable, `${NAME:-text}` for it or else the text, which may hold references itself. Anything
//! else with a dollar sign is left alone; shell and JavaScript texts contain enough of it. Where values come from is the
//! caller's business.
//!
//! There are two ways to follow a reference. [`expand`] is the language's: an empty value is a value, and values may refer
//! to further variables. [`resolve`] is for credentials: an empty one counts as missing, and what a key contains is never
//! read as anything but the key.

use std::ops::Range;

/// Variables that may refer to one another, in depth.
const MAX_DEPTH: usize = 10;

/// A circle of variables that double one another stays small.
const MAX_BYTES: usize = 16 << 20;

/// Gives the value of a variable, if it is set.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A reference that could not be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unresolved {
    /// Not set, and no default.
    Unset(String),
    /// More than ten levels, or in a circle.
    TooDeep(String),
}

impl std::fmt::Display for Unresolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unresolved::Unset(name) => write!(f, "environment variable `{name}` is not set"),
            Unresolved::TooDeep(name) => {
                write!(f, "environment variable `{name}` refers to further variables without end")
            }
        }
    }
}

/// One reference of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The bytes of the text that it takes.
    pub range: Range<usize>,
    /// The variable.
    pub name: &'a str,
    /// What stands for it where it is not set.
    pub default: Option<&'a str>,
}

impl Reference<'_> {
    /// What it stands for, as the language has it.
    pub fn follow(&self, lookup: Lookup<'_>) -> Result<String, Unresolved> {
        self.follow_at(lookup, 1)
    }

    fn follow_at(&self, lookup: Lookup<'_>, depth: usize) -> Result<String, Unresolved> {
        if depth > MAX_DEPTH {
            return Err(Unresolved::TooDeep(self.name.to_owned()));
        }
        match (lookup(self.name), self.default) {
            (Some(value), _) => expand_at(&value, lookup, depth + 1),
            (None, Some(default)) => expand_at(default, lookup, depth + 1),
            (None, None) => Err(Unresolved::Unset(self.name.to_owned())),
        }
    }
}

/// Follows every reference of a text, as the language has it.
pub fn expand(text: &str, lookup: Lookup<'_>) -> Result<String, Unresolved> {
    expand_at(text, lookup, 1)
}

/// The same where some names stand for secrets, whose values are taken as they are: a dollar sign in one is part of it.
pub fn expand_with(text: &str, secret: Lookup<'_>, lookup: Lookup<'_>) -> Result<String, Unresolved> {
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    while let Some(reference) = next(text, done) {
        out.push_str(&text[done..reference.range.start]);
        match secret(reference.name) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&reference.follow(lookup)?),
        }
        done = reference.range.end;
    }
    out.push_str(&text[done..]);
    Ok(out)
}

fn expand_at(text: &str, lookup: Lookup<'_>, depth: usize) -> Result<String, Unresolved> {
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    while let Some(reference) = next(text, done) {
        out.push_str(&text[done..reference.range.start]);
        out.push_str(&reference.follow_at(lookup, depth)?);
        done = reference.range.end;
        if out.len() > MAX_BYTES {
            return Err(Unresolved::TooDeep(reference.name.to_owned()));
        }
    }
    out.push_str(&text[done..]);
    Ok(out)
}

/// Replaces the references in a credential; the error is the name of the first variable that is not set. An empty variable
/// counts as not set.
pub fn resolve(text: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    while let Some(reference) = next(text, done) {
        out.push_str(&text[done..reference.range.start]);
        match (lookup(reference.name).filter(|value| !value.is_empty()), reference.default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(&resolve(default, lookup)?),
            (None, None) => return Err(reference.name.to_owned()),
        }
        done = reference.range.end;
    }
    out.push_str(&text[done..]);
    Ok(out)
}

/// The variables that a text refers to, in order; child processes must not get them.
pub fn names(text: &str) -> Vec<String> {
    let (mut found, mut done) = (Vec::new(), 0);
    while let Some(reference) = next(text, done) {
        found.push(reference.name.to_owned());
        found.extend(names(reference.default.unwrap_or_default()));
        done = reference.range.end;
    }
    found
}

/// The first reference of a text that begins at or after a byte of it.
pub fn next(text: &str, from: usize) -> Option<Reference<'_>> {
    let mut at = from;
    loop {
        let start = at + text[at..].find("${")?;
        if let Some(reference) = reference_at(text, start) {
            return Some(reference);
        }
        at = start + 2;
    }
}

fn reference_at(text: &str, start: usize) -> Option<Reference<'_>> {
    let inner = &text[start + 2..];
    let length = inner.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_'))?;
    let (name, after) = inner.split_at(length);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let end = start + 2 + length;
    if after.starts_with('}') {
        return Some(Reference { range: start..end + 1, name, default: None });
    }
    let default = after.strip_prefix(":-")?;
    let length = closing_brace(default)?;
    Some(Reference { range: start..end + 2 + length + 1, name, default: Some(&default[..length]) })
}

/// The brace that ends a default, which may itself hold references.
fn closing_brace(text: &str) -> Option<usize> {
    let (mut depth, bytes) = (0usize, text.as_bytes());
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' if index > 0 && bytes[index - 1] == b'$' => depth += 1,
            b'}' if depth == 0 => return Some(index),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(name: &str) -> Option<String> {
        let known = [("KEY", "k-1"), ("EMPTY", ""), ("OUTER", "<${KEY}>"), ("LOOP", "${LOOP}")];
        known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn references_become_values_and_nothing_else_is_touched() {
        for (text, value) in [
            ("${KEY}", "k-1"),
            ("Bearer ${KEY}!", "Bearer k-1!"),
            ("${NONE:-x}", "x"),
            ("${NONE:-${KEY}}z", "k-1z"),
            ("${NONE:-}", ""),
            ("${EMPTY:-}", ""),
            ("literal", "literal"),
            ("${open", "${open"),
            ("$KEY $${ ${1x} ${a.b} ${#all[@]} ${KEY", "$KEY $${ ${1x} ${a.b} ${#all[@]} ${KEY"),
        ] {
            assert_eq!(resolve(text, &world).as_deref(), Ok(value), "{text}");
            assert_eq!(expand(text, &world).as_deref(), Ok(value), "{text}");
        }
    }

    #[test]
    fn a_value_of_the_language_may_be_empty_and_refer_further() {
        assert_eq!(expand("${EMPTY}${EMPTY:-d}", &world).as_deref(), Ok(""));
        assert_eq!(expand("${OUTER}", &world).as_deref(), Ok("<k-1>"));
        assert_eq!(expand("${LOOP}", &world), Err(Unresolved::TooDeep("LOOP".into())));
        assert_eq!(expand("${NONE}", &world), Err(Unresolved::Unset("NONE".into())));
    }

    #[test]
    fn the_value_of_a_secret_is_not_read_as_a_text() {
        let secret = |name: &str| (name == "PASSWORD").then(|| "p${KEY}$$".to_owned());
        assert_eq!(
            expand_with("<${PASSWORD}> ${OUTER}", &secret, &world).as_deref(),
            Ok("<p${KEY}$$> <k-1>")
        );
        assert_eq!(expand_with("${NONE}", &secret, &world), Err(Unresolved::Unset("NONE".into())));
    }

    #[test]
    fn a_credential_is_something_and_is_taken_as_it_is() {
        assert_eq!(resolve("${NONE}", &world), Err("NONE".into()));
        assert_eq!(resolve("${EMPTY}", &world), Err("EMPTY".into()));
        assert_eq!(resolve("${EMPTY:-d}", &world).as_deref(), Ok("d"));
        assert_eq!(resolve("${OUTER}", &world).as_deref(), Ok("<${KEY}>"));
    }

    #[test]
    fn what_is_referred_to_is_named() {
        assert_eq!(names("${A} and ${B:-${C}}, not ${#D}"), ["A", "B", "C"]);
    }
}
