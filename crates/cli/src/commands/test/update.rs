//! `convoke test --update`: puts what came out into the file of tests, in place of what was expected there. Everything else in the
//! file, comments included, stays as it is.

use super::case::{Case, Suite};
use super::findings::{Found, corrections};
use super::reading::{Mistake, read};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_plan::source::place_of;
use serde_json::Value;

/// Corrects one test in its file; the test as it is then, or nothing where nothing could be corrected.
pub fn update(
    suite: &Suite,
    index: usize,
    case: &Case,
    found: &Found,
) -> Result<Option<Case>, CommandFailure> {
    let refuse = |why: String| {
        CommandFailure::new(Exit::State, format!("tests `{}` cannot be updated: {why}", suite.file.display()))
    };
    let text = std::fs::read_to_string(&suite.file).map_err(|error| refuse(error.to_string()))?;
    let Some(corrected) = correct(&text, index, &corrections(&case.expect, found)) else { return Ok(None) };
    let cases = read(&corrected)
        .map_err(|mistakes| refuse(mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("; ")))?;
    std::fs::write(&suite.file, corrected).map_err(|error| refuse(error.to_string()))?;
    Ok(cases.into_iter().nth(index))
}

/// The text with these values in the places of those of one test.
fn correct(text: &str, index: usize, corrections: &[(Vec<String>, Value)]) -> Option<String> {
    let place = |path: &[String]| {
        let start = [index.to_string(), "expect".to_owned()];
        place_of(text, &[&start, path].concat())
    };
    let mut changes: Vec<_> =
        corrections.iter().filter_map(|(path, value)| Some((place(path)?, value.to_string()))).collect();
    // From the end, so that places before stay where they are.
    changes.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut corrected = text.to_owned();
    for (range, value) in &changes {
        corrected.replace_range(range.clone(), value);
    }
    (!changes.is_empty()).then_some(corrected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_values_change() {
        let text = "\
# the tests
- name: one
  expect:
    output: {score: 9} # as reviewed
    max_calls: 4
- name: two
  expect:
    exact_output:
      a: 1
      b: [x]
";
        let path = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        let corrected =
            correct(text, 0, &[(path("output.score"), json!(8)), (path("max_calls"), json!(5))]).unwrap();
        assert_eq!(corrected, text.replace("9}", "8}").replace("calls: 4", "calls: 5"));
        let corrected = correct(text, 1, &[(path("exact_output"), json!({"a": "y"}))]).unwrap();
        assert_eq!(read(&corrected).unwrap()[1].expect.exact_output, Some(json!({"a": "y"})));
        assert!(corrected.starts_with("# the tests\n- name: one\n"));
        assert_eq!(correct(text, 0, &[(path("status"), json!("failed"))]), None);
    }
}
