//! Whether a JSON Schema can check anything at all.

use serde_json::Value;

/// Why a schema is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no JSON Schema: {why}")]
pub struct SchemaFault {
    /// Keys and positions that lead to the place in the schema; empty for the whole of it.
    pub path: Vec<String>,
    /// What is wrong there.
    pub why: String,
}

/// Refuses a schema that cannot be compiled: it would let everything through. What it refers to must stand in it.
pub fn check_schema(schema: &Value) -> Result<(), SchemaFault> {
    jsonschema::validator_for(schema).map(drop).map_err(|error| {
        let part = |part: &str| part.replace("~1", "/").replace("~0", "~");
        let path = error.instance_path().as_str().split('/').skip(1).map(part).collect();
        SchemaFault { path, why: error.to_string() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_can_check_nothing_is_no_schema() {
        assert_eq!(check_schema(&json!({"type": "object", "required": ["a"]})), Ok(()));
        let fault = check_schema(&json!({"properties": {"n/m": {"type": "nubmer"}}})).unwrap_err();
        assert_eq!(fault.path, ["properties", "n/m", "type"]);
        assert!(fault.why.contains("nubmer"), "{fault}");
        assert!(check_schema(&json!({"$ref": "https://example.org/other.json"})).is_err());
        assert!(check_schema(&json!({"$ref": "#/nowhere"})).is_err());
        assert!(check_schema(&json!({"pattern": "("})).is_err());
    }
}
