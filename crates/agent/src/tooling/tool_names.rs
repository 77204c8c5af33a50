//! Tools that are named to a model without being callable: a planner must know what can be done, and may not do it.
//!
//! Invariant: the same tools give the same words, so a conversation that goes on elsewhere goes on under the same premise.

use crate::{Offer, ToolSpec};
use convoke_model::AgentCall;
use convoke_model::excerpt::{clipped, one_line};
use std::fmt::Write;

/// Characters of a description.
const LONGEST: usize = 300;
/// Tools that are named one by one.
const MOST: usize = 200;

/// The call with the tools named behind its prompt.
pub(crate) fn named(call: &AgentCall, offer: &Offer) -> AgentCall {
    let mut call = call.clone();
    call.prompt = format!("{}\n\n{}", call.prompt.trim_end(), words(offer.specs(false)));
    call
}

fn words(tools: &[ToolSpec]) -> String {
    let mut text = "## TOOLS\n\n".to_owned();
    if tools.is_empty() {
        text.push_str("There are none.");
        return text;
    }
    for tool in tools.iter().take(MOST) {
        let _ = writeln!(text, "- {}{}{}", tool.name, description(tool), arguments(tool));
    }
    if tools.len() > MOST {
        let _ = writeln!(text, "- and {} more", tools.len() - MOST);
    }
    text.push_str("\nYou cannot call them yourself here.");
    text
}

fn description(tool: &ToolSpec) -> String {
    let words = clipped(&one_line(&tool.description), LONGEST);
    if words.is_empty() { words } else { format!(": {words}") }
}

fn arguments(tool: &ToolSpec) -> String {
    let names = tool.input_schema.get("properties").and_then(|fields| fields.as_object());
    let names: Vec<&str> = names.into_iter().flat_map(|fields| fields.keys().map(String::as_str)).collect();
    if names.is_empty() { String::new() } else { format!(" (takes {})", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_is_named_with_what_it_is_for_and_what_it_takes() {
        let input_schema = json!({"properties": {"path": {}, "limit": {}}});
        let long = ToolSpec { name: "fs__read".into(), description: "Reads\n a file".into(), input_schema };
        let bare = ToolSpec { name: "now".into(), description: String::new(), input_schema: json!({}) };
        let text = words(&[long, bare]);
        assert!(text.contains("- fs__read: Reads a file (takes path, limit)\n- now\n"), "{text}");
    }

    #[test]
    fn what_is_long_is_cut_and_nothing_is_said_to_be_nothing() {
        let tool = ToolSpec { name: "t".into(), description: "ä".repeat(1000), input_schema: json!({}) };
        let text = words(&vec![tool; 250]);
        assert!(text.contains("- and 50 more"), "{text}");
        assert!(text.len() < 200 * (2 * LONGEST + 20) + 200);
        assert!(words(&[]).ends_with("There are none."));
    }
}
