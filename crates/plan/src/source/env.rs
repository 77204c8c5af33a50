//! `${NAME}` and `${NAME:-default}` in values.
//!
//! The default counts only when the variable is not set; an empty value is set. Values and defaults may refer to
//! further variables. Anything else with a dollar sign is left alone, shell and JavaScript texts contain enough of it.

use super::text::Segment;

/// Variables that may refer to one another, in depth.
const MAX_DEPTH: usize = 10;

/// Gives the value of a variable, if it is set.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A reference that could not be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvProblem {
    /// Not set, and no default.
    #[error("environment variable `{0}` is not set")]
    Unset(String),
    /// More than ten levels, or in a circle.
    #[error("environment variable `{0}` refers to further variables without end")]
    TooDeep(String),
}

/// Follows every reference of a text that was kept as written, such as a credential at launch.
pub fn resolve_references(text: &str, lookup: Lookup<'_>) -> Result<String, EnvProblem> {
    expand(text, lookup, 1)
}

/// A text after substitution.
#[derive(Debug, Default)]
pub(super) struct Substituted {
    /// The text.
    pub text: String,
    /// What was copied: places in the new text (`value_start`) and in the old one (`source_start`).
    pub copied: Vec<Segment>,
    /// What could not be followed, with the byte range of the reference in the old text.
    pub problems: Vec<(std::ops::Range<usize>, EnvProblem)>,
}

/// Whether a text can contain a reference at all.
pub(super) fn has_reference(text: &str) -> bool {
    text.contains("${")
}

/// Follows every reference of a text.
pub(super) fn substitute(text: &str, lookup: Lookup<'_>) -> Substituted {
    let mut result = Substituted::default();
    let mut done = 0;
    while let Some((start, reference)) = next_reference(text, done) {
        result.copy(text, done..start);
        done = start + reference.length;
        match resolve(&reference, lookup, 1) {
            Ok(value) => result.text.push_str(&value),
            Err(problem) => result.problems.push((start..done, problem)),
        }
    }
    result.copy(text, done..text.len());
    result
}

impl Substituted {
    fn copy(&mut self, text: &str, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (value_start, source_start, length) = (self.text.len(), range.start, range.len());
        self.copied.push(Segment { value_start, source_start, length });
        self.text.push_str(&text[range]);
    }

    /// Places of the new text in the file, given those of the old one.
    pub fn places(&self, old: &[Segment]) -> Vec<Segment> {
        self.copied.iter().flat_map(|copy| touching(copy, old)).collect()
    }
}

fn touching<'a>(copy: &'a Segment, old: &'a [Segment]) -> impl Iterator<Item = Segment> + 'a {
    let first = old.partition_point(|segment| segment.value_start + segment.length <= copy.source_start);
    let end = copy.source_start + copy.length;
    let near = old[first..].iter().take_while(move |segment| segment.value_start < end);
    near.filter_map(|segment| overlap(copy, segment))
}

fn overlap(copy: &Segment, segment: &Segment) -> Option<Segment> {
    let start = copy.source_start.max(segment.value_start);
    let end = (copy.source_start + copy.length).min(segment.value_start + segment.length);
    (start < end).then(|| Segment {
        value_start: copy.value_start + (start - copy.source_start),
        source_start: segment.source_start + (start - segment.value_start),
        length: end - start,
    })
}

struct Reference<'a> {
    name: &'a str,
    default: Option<&'a str>,
    length: usize,
}

fn next_reference(text: &str, from: usize) -> Option<(usize, Reference<'_>)> {
    let mut at = from;
    loop {
        let start = at + text[at..].find("${")?;
        if let Some(reference) = reference_at(&text[start..]) {
            return Some((start, reference));
        }
        at = start + 2;
    }
}

fn reference_at(text: &str) -> Option<Reference<'_>> {
    let inner = &text[2..];
    let end = inner.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_'))?;
    let name = &inner[..end];
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if inner[end..].starts_with('}') {
        return Some(Reference { name, default: None, length: 2 + end + 1 });
    }
    let default = inner[end..].strip_prefix(":-")?;
    let length = closing_brace(default)?;
    Some(Reference { name, default: Some(&default[..length]), length: 2 + end + 2 + length + 1 })
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

fn resolve(reference: &Reference<'_>, lookup: Lookup<'_>, depth: usize) -> Result<String, EnvProblem> {
    if depth > MAX_DEPTH {
        return Err(EnvProblem::TooDeep(reference.name.to_owned()));
    }
    let value = lookup(reference.name);
    match (value, reference.default) {
        (Some(value), _) => expand(&value, lookup, depth + 1),
        (None, Some(default)) => expand(default, lookup, depth + 1),
        (None, None) => Err(EnvProblem::Unset(reference.name.to_owned())),
    }
}

fn expand(text: &str, lookup: Lookup<'_>, depth: usize) -> Result<String, EnvProblem> {
    /// A circle of variables that double one another stays small.
    const MAX_BYTES: usize = 16 << 20;
    let (mut result, mut done) = (String::new(), 0);
    while let Some((start, reference)) = next_reference(text, done) {
        result.push_str(&text[done..start]);
        result.push_str(&resolve(&reference, lookup, depth)?);
        done = start + reference.length;
        if result.len() > MAX_BYTES {
            return Err(EnvProblem::TooDeep(reference.name.to_owned()));
        }
    }
    result.push_str(&text[done..]);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(name: &str) -> Option<String> {
        let known = [("A", "1"), ("EMPTY", ""), ("OUTER", "<${A}>"), ("LOOP", "${LOOP}")];
        known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn references_are_followed_and_nothing_else_is_touched() {
        let cases = [
            ("x${A}y", "x1y"),
            ("${EMPTY:-d}", ""),
            ("${NO:-d}", "d"),
            ("${NO:-}", ""),
            ("${NO:-${A}}z", "1z"),
            ("${OUTER}", "<1>"),
            ("$A $${ ${1x} ${a.b} ${A", "$A $${ ${1x} ${a.b} ${A"),
            ("{{ '$' }}{x}", "{{ '$' }}{x}"),
        ];
        for (text, expected) in cases {
            assert_eq!(substitute(text, &world).text, expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_named_with_its_place() {
        let found = substitute("a ${NO} ${LOOP}", &world).problems;
        let expected =
            vec![(2..7, EnvProblem::Unset("NO".into())), (8..15, EnvProblem::TooDeep("LOOP".into()))];
        assert_eq!(found, expected);
    }

    #[test]
    fn copied_parts_keep_their_places() {
        let found = substitute("ab${OUTER}cd", &world);
        let old = [Segment { value_start: 0, source_start: 100, length: 12 }];
        let places = found.places(&old);
        assert_eq!(found.text, "ab<1>cd");
        assert_eq!(places[1], Segment { value_start: 5, source_start: 110, length: 2 });
    }

    #[test]
    fn a_kept_text_is_resolved_later() {
        assert_eq!(resolve_references("Bearer ${OUTER}", &world).as_deref(), Ok("Bearer <1>"));
        assert_eq!(resolve_references("${NO}", &world), Err(EnvProblem::Unset("NO".into())));
    }
}
