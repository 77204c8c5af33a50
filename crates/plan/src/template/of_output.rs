//! Expressions over an output alone: what `that` of an `ensure` says.

use super::json::from_json;
use super::renderer::{ConditionId, ConditionSource, Renderer};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Whether an expression is true of an output; an error says why that cannot be told.
pub fn holds_for_output(expression: &str, output: &Json) -> Result<bool, String> {
    let conditions = [ConditionSource { text: expression.into() }];
    let renderer = Renderer::new(&[], &conditions, &BTreeMap::new());
    renderer.test(ConditionId(0), from_json(&json!({ "output": output }))).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_sees_the_output_and_nothing_else() {
        let output = json!({"count": 3, "names": ["a", "b"], "ok": true});
        let holds = |expression: &str| holds_for_output(expression, &output);
        for yes in
            ["output.count == 3", "{{ output.ok }}", "output.names | length > 1", "'a' in output.names"]
        {
            assert_eq!(holds(yes), Ok(true), "{yes}");
        }
        for no in ["output.count > 3", "output.names | length == 0", "output.missing is defined"] {
            assert_eq!(holds(no), Ok(false), "{no}");
        }
        for broken in ["output.count >", "output.count > 1) or (true", "not", "{{ output.ok", ""] {
            assert!(holds(broken).is_err(), "{broken}");
        }
    }
}
