//! What programs ask graphs: statements that they give themselves, and what is known of their own run.
//!
//! Questions go the way of tools, to the same confined process that answers `knowledge_query`, so that a cassette has them. An answer is
//! recorded with the session, as those of models are: a program that is run again gets the same. Where no graph is, the function
//! raises an exception that says so.

use super::worker::{ErrorKind, Given};
use crate::talk::Talk;
use crate::{Asker, Tool, ToolSpec};
use convoke_model::{Failure, JsonText, OWN_SERVER, Server, Servers, Transport};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

/// Questions that the programs of one session may ask graphs.
pub(super) const MOST_INQUIRIES: u32 = 50;

/// A question to a graph.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Inquiry {
    /// The function, which is the name of the tool too.
    pub function: String,
    /// What it takes.
    pub arguments: Value,
}

/// Asks. What a graph refuses is an exception; a failure means that no answer came.
pub(super) async fn ask(talk: &Talk<'_>, inquiry: &Inquiry) -> Result<Given, Failure> {
    let name = inquiry.function.clone();
    let (description, input_schema) = (String::new(), Value::Null);
    let spec = ToolSpec { name: format!("{OWN_SERVER}__{name}"), description, input_schema };
    let tool = Tool {
        server: OWN_SERVER.to_owned(),
        name: name.clone(),
        spec,
        output_schema: None,
        repeatable: true,
        read_only: true,
        destructive: false,
    };
    let transport = Transport::Own { policies: Vec::new(), protect: Vec::new() };
    let own = Server { transport, timeout: None, tools: Some(vec![name.clone()]) };
    let servers: Servers = std::iter::once((OWN_SERVER.to_owned(), own)).collect();
    let arguments = JsonText::of(&inquiry.arguments);
    // The attempt that is cancelled drops the question with everything else.
    let never = CancellationToken::new();
    let asker = Asker::from(talk.assignment);
    let result = talk.toolbox.call(asker, &servers, &tool, &arguments, never).await?;
    Ok(match result.failed {
        true => Given::error(ErrorKind::Runtime, format!("{name}(): {}", result.text)),
        false => Given::Value(shaped(&result.text)),
    })
}

/// Rows as a program likes them: a list of records. A graph comes as text.
fn shaped(text: &str) -> Value {
    let Ok(Value::Object(answer)) = serde_json::from_str::<Value>(text) else { return Value::from(text) };
    let columns: Vec<&str> = strings(answer.get("columns"));
    let rows = answer.get("rows").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let record = |row: &Value| {
        let values = row.as_array().map(Vec::as_slice).unwrap_or_default();
        let fields = columns.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value.clone()));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    json!(rows.iter().map(record).collect::<Vec<_>>())
}

fn strings(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_records_and_a_graph_is_text() {
        let rows = r#"{"columns": ["a", "b"], "rows": [[1, "x"], [null, "y"]], "truncated": false}"#;
        assert_eq!(shaped(rows), json!([{"a": 1, "b": "x"}, {"a": null, "b": "y"}]));
        assert_eq!(shaped("@prefix cv: <x> ."), json!("@prefix cv: <x> ."));
    }
}
