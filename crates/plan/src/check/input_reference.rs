//! The form of an `input` reference: `step.output.field`, `group.outputs.member`, `workflow.input.name`, with `?` at
//! the end for what may be missing.

/// A reference as written, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InputReference {
    /// The parts between the dots.
    pub path: Vec<String>,
    /// Whether it may be missing.
    pub optional: bool,
}

/// The forms that are understood, for messages.
pub(crate) const FORMS: &str = "write `step.output`, `step.output.field`, `group.outputs.member`, `group.errors` or \
                                `workflow.input.name`; `?` at the end makes it optional";

/// Takes a reference apart; an error says what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<InputReference, &'static str> {
    let trimmed = text.trim();
    let (bare, optional) = match trimmed.strip_suffix('?') {
        Some(bare) => (bare, true),
        None => (trimmed, false),
    };
    let path: Vec<String> = bare.split('.').map(str::to_owned).collect();
    if path.iter().any(|part| part.is_empty() || !part.chars().all(is_name_part)) {
        return Err("not a dotted path");
    }
    if path[0] == "workflow" && (path.len() < 3 || path[1] != "input") {
        return Err("the workflow's inputs are `workflow.input.name`");
    }
    if path.len() < 2 {
        return Err("names no output");
    }
    Ok(InputReference { path, optional })
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dotted_paths_are_references() {
        for good in ["a.output", "a.output.x.y?", "a.x", "g.outputs.m-1.x", "g.errors", "workflow.input.k?"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in
            ["plan -> output", "a", "", "a..b", "workflow.input", "workflow.name", "a.output[0]", "a b.c"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse("a.output?").unwrap().optional);
    }
}
