//! Rows of an answer as a table for people.

use crate::escape;
use crate::view::columns::aligned;
use serde_json::Value;

/// The longest text of a cell.
const LONGEST: usize = 80;

/// The table of an answer in rows.
pub fn text(body: &str) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let strings = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let names: Vec<String> =
        strings(&value["columns"]).iter().map(|name| cell(name).to_uppercase().replace('_', " ")).collect();
    let rows = strings(&value["rows"]);
    if rows.is_empty() {
        return "no rows\n".to_owned();
    }
    let cells = rows.iter().map(|row| strings(row).iter().map(cell).collect::<Vec<_>>());
    aligned(&std::iter::once(names).chain(cells).collect::<Vec<_>>())
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => escape::line(text).into_owned(),
        Value::Number(number) if number.is_f64() => trimmed(&number.to_string()),
        other => other.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// A number without a tail that says nothing.
fn trimmed(number: &str) -> String {
    let rounded =
        number.parse::<f64>().map(|number| format!("{number:.6}")).unwrap_or_else(|_| number.to_owned());
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}
