//! The tools of one server: what they are, and whether what goes in and out fits what they declare.
//!
//! Schemas are compiled once. One for arguments that cannot be compiled, or refers to another place, checks nothing: the
//! server checks its arguments itself. One for data that cannot be compiled fits nothing: no other part checks what comes
//! out. Commands check nothing themselves, so theirs must be good ([`Catalogue::checked`]).

use super::content::failed;
use convoke_agent::{Tool, ToolResult, ToolSpec};
use indexmap::IndexMap;
use jsonschema::Validator;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Violations that are told; more would not help.
const TOLD: usize = 5;

/// The tools of one server that may be used, by name, in its order.
#[derive(Default)]
pub struct Catalogue {
    entries: IndexMap<String, Entry>,
}

/// One tool.
pub struct Entry {
    description: String,
    input_schema: Value,
    output_schema: Option<Value>,
    repeatable: bool,
    read_only: bool,
    destructive: bool,
    arguments: Option<Validator>,
    /// What results must fit, or why nothing can.
    result: Option<Result<Validator, String>>,
}

impl Catalogue {
    /// What a server listed, as far as it is allowed.
    pub fn new(listed: Vec<rmcp::model::Tool>, allowed: Option<&[String]>) -> Catalogue {
        let is_allowed = |name: &str| {
            allowed.is_none_or(|names| names.iter().any(|allowed| allowed == "*" || allowed == name))
        };
        let mut entries = IndexMap::new();
        for tool in listed.into_iter().filter(|tool| is_allowed(&tool.name)) {
            let name = tool.name.to_string();
            entries.entry(name).or_insert_with(|| Entry::new(tool));
        }
        Catalogue { entries }
    }

    /// The same for tools whose arguments and results no server checks: each schema must be one that checks something.
    pub fn checked(listed: Vec<rmcp::model::Tool>, allowed: Option<&[String]>) -> Result<Catalogue, String> {
        let catalogue = Catalogue::new(listed, allowed);
        for (name, entry) in catalogue.entries() {
            let schemas = [("input", Some(&entry.input_schema)), ("output", entry.output_schema.as_ref())];
            for (key, schema) in schemas.into_iter().filter_map(|(key, schema)| Some((key, schema?))) {
                if let Err(error) = jsonschema::validator_for(schema) {
                    return Err(format!("`{key}` of `{name}` is no JSON Schema: {error}"));
                }
            }
        }
        Ok(catalogue)
    }

    /// All of them.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Their names, for messages.
    pub fn names(&self) -> String {
        self.entries.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

impl Entry {
    fn new(tool: rmcp::model::Tool) -> Entry {
        let notes = tool.annotations.unwrap_or_default();
        let schema = |object: Arc<Map<String, Value>>| Value::Object(Arc::unwrap_or_clone(object));
        let input_schema = schema(tool.input_schema);
        let output_schema = tool.output_schema.map(schema);
        Entry {
            description: tool.description.map(Into::into).or(tool.title).or(notes.title).unwrap_or_default(),
            repeatable: notes.read_only_hint == Some(true) || notes.idempotent_hint == Some(true),
            read_only: notes.read_only_hint == Some(true),
            destructive: notes.destructive_hint == Some(true),
            arguments: jsonschema::validator_for(&input_schema).ok(),
            result: output_schema
                .as_ref()
                .map(|schema| jsonschema::validator_for(schema).map_err(|error| error.to_string())),
            input_schema,
            output_schema,
        }
    }

    /// The tool as agents get it.
    pub fn tool(&self, server: &str, name: &str, seen_as: String) -> Tool {
        Tool {
            server: server.to_owned(),
            name: name.to_owned(),
            spec: ToolSpec {
                name: seen_as,
                description: self.description.clone(),
                input_schema: self.input_schema.clone(),
            },
            output_schema: self.output_schema.clone(),
            repeatable: self.repeatable,
            read_only: self.read_only,
            destructive: self.destructive,
        }
    }

    /// The arguments as the server gets them, or what is wrong with them. None at all are an empty object.
    pub fn arguments(&self, given: Value) -> Result<Map<String, Value>, ToolResult> {
        let given = if given.is_null() { Value::Object(Map::new()) } else { given };
        let wrong =
            self.arguments.as_ref().map(|validator| violations(validator, &given)).unwrap_or_default();
        match given {
            Value::Object(arguments) if wrong.is_empty() => Ok(arguments),
            Value::Object(_) => Err(failed(format!("the arguments do not fit: {wrong}"))),
            _ => Err(failed("the arguments do not fit: they are no object")),
        }
    }

    /// The result, or what is wrong with it: data that does not fit what the tool declares is of no use.
    pub fn result(&self, given: ToolResult) -> ToolResult {
        let Some(declared) = self.result.as_ref().filter(|_| !given.failed) else { return given };
        let wrong = match (declared, &given.structured) {
            (Err(why), _) => format!("that is no JSON Schema: {why}"),
            (Ok(validator), Some(data)) => violations(validator, &data.value()),
            (Ok(_), None) => "it declares structured data and gave none".to_owned(),
        };
        if wrong.is_empty() {
            return given;
        }
        failed(format!("what the tool gave does not fit its own schema: {wrong}\n\n{}", given.text))
    }
}

/// What does not fit: `/path: why (rule)`.
fn violations(validator: &Validator, value: &Value) -> String {
    let told = validator.iter_errors(value).take(TOLD).map(|error| {
        let path = error.instance_path().as_str();
        let path = if path.is_empty() { "the whole" } else { path };
        format!("{path}: {error} ({})", error.kind().keyword())
    });
    told.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::JsonText;
    use serde_json::json;

    fn listed(tools: Value) -> Vec<rmcp::model::Tool> {
        serde_json::from_value(tools).unwrap()
    }

    fn entry(tool: Value) -> Entry {
        Entry::new(serde_json::from_value(tool).unwrap())
    }

    fn adder() -> Entry {
        entry(json!({
            "name": "add",
            "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
            "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        }))
    }

    #[test]
    fn only_allowed_tools_are_there() {
        let tools = json!([{"name": "a", "inputSchema": {}}, {"name": "b", "inputSchema": {}}]);
        let names = |allowed: Option<&[&str]>| {
            let allowed: Option<Vec<String>> = allowed.map(|all| all.iter().map(|s| s.to_string()).collect());
            Catalogue::new(listed(tools.clone()), allowed.as_deref()).names()
        };
        assert_eq!(names(None), "a, b");
        assert_eq!(names(Some(&["*"])), "a, b");
        assert_eq!(names(Some(&["b", "c"])), "b");
        assert_eq!(names(Some(&[])), "");
    }

    #[test]
    fn hints_say_what_may_be_repeated() {
        for (hints, repeatable) in [
            (json!({}), false),
            (json!({"readOnlyHint": true}), true),
            (json!({"idempotentHint": true, "readOnlyHint": false}), true),
            (json!({"destructiveHint": false}), false),
        ] {
            let tool = entry(json!({"name": "t", "inputSchema": {}, "annotations": hints}));
            assert_eq!(tool.repeatable, repeatable, "{hints}");
        }
    }

    #[test]
    fn arguments_that_do_not_fit_name_path_and_rule() {
        let fails = |given| adder().arguments(given).unwrap_err();
        assert!(adder().arguments(json!({"a": 1})).is_ok());
        let text = fails(json!({"a": "one"})).text;
        assert_eq!(text, "the arguments do not fit: /a: \"one\" is not of type \"number\" (type)");
        assert!(fails(Value::Null).text.contains("(required)") && fails(Value::Null).failed);
        let loose = entry(json!({"name": "t", "inputSchema": {}}));
        assert!(loose.arguments(json!([])).unwrap_err().text.ends_with("they are no object"));
        assert!(loose.arguments(Value::Null).unwrap().is_empty());
    }

    #[test]
    fn data_that_does_not_fit_is_no_result() {
        let given = |data: Value| {
            let structured = (!data.is_null()).then(|| JsonText::of(&data));
            adder().result(ToolResult { text: "words".into(), structured, ..ToolResult::default() })
        };
        assert!(!given(json!({"n": 1})).failed);
        assert!(given(json!({"n": 1.5})).text.contains("/n: 1.5 is not of type \"integer\" (type)"));
        assert!(given(Value::Null).failed && given(Value::Null).text.ends_with("gave none\n\nwords"));
        let honest = failed("it did not work");
        assert_eq!(adder().result(honest.clone()), honest);
    }

    #[test]
    fn a_schema_for_data_that_cannot_be_compiled_fits_nothing_and_says_so() {
        for schema in [json!({"type": "objct"}), json!({"$ref": "https://example.com/elsewhere.json"})] {
            let odd = entry(json!({"name": "t", "inputSchema": {}, "outputSchema": schema}));
            let structured = Some(JsonText::of(&json!({"any": "thing"})));
            let given = odd.result(ToolResult { text: "words".into(), structured, ..ToolResult::default() });
            assert!(given.failed && given.text.contains("that is no JSON Schema: "), "{}", given.text);
            assert!(given.text.ends_with("\n\nwords"), "{}", given.text);
        }
    }

    #[test]
    fn a_schema_for_arguments_that_cannot_be_compiled_checks_nothing() {
        let odd = entry(json!({"name": "t", "inputSchema": {"$ref": "https://example.com/elsewhere.json"}}));
        assert!(odd.arguments(json!({"any": "thing"})).is_ok());
    }
}
