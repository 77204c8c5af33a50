//! What a worker answers, read strictly: one function from JSON to what it said, or to what is wrong with it.
//!
//! An answer that does not fit changes nothing: no flag, no event, no payload of it counts. Which kinds of events there
//! are and how deep work may be handed down is not known here.

use super::trigger::Status;
use convoke_model::{Class, fit};
use indexmap::IndexMap;
use serde_json::{Map, Value};

/// What a worker said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WorkerAnswer {
    pub status: Status,
    pub payload: Map<String, Value>,
    /// What it announces, in its order.
    pub events: Vec<(String, Value)>,
    pub flags: IndexMap<String, bool>,
    pub metadata: IndexMap<String, Value>,
    /// A change of what the runs of the project share.
    pub project: Option<Value>,
    /// Whether it says that its failure is a hard one.
    pub hard: Option<bool>,
    /// What kind of failure, in its words.
    pub code: Option<String>,
    pub reason: Option<String>,
    pub children: Vec<Wanted>,
}

/// Work that a worker wants to hand to a child.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    pub persona: String,
    pub task: Value,
}

/// Its fields; those after `|` are other spellings of the one before.
const FIELDS: [&str; 10] = [
    "status",
    "payload",
    "events",
    "flags",
    "metadata",
    "project",
    "failure_kind|failureKind",
    "failure_code|failureCode",
    "reason",
    "children",
];

/// Reads an answer; or says what is wrong with it.
pub(crate) fn read(answer: &Value) -> Result<WorkerAnswer, String> {
    let Value::Object(fields) = answer else {
        return Err(format!("the answer must be an object, and it is {}", fit::describe(answer)));
    };
    known_only(fields, "the answer", &FIELDS)?;
    let status = text(fields, "status")?.ok_or("`status` is missing")?;
    let status = Status::from_word(&status).ok_or_else(|| {
        format!("`status` is `{status}`, and it must be success, validation_fail or failure")
    })?;
    Ok(WorkerAnswer {
        status,
        payload: object(fields, "payload")?.unwrap_or_default(),
        events: events(fields)?,
        flags: flags(fields)?,
        metadata: object(fields, "metadata")?.unwrap_or_default().into_iter().collect(),
        project: object(fields, "project")?.filter(|patch| !patch.is_empty()).map(Value::Object),
        hard: hard(fields)?,
        code: text(fields, "failure_code|failureCode")?,
        reason: text(fields, "reason")?,
        children: children(fields)?,
    })
}

/// What a program printed, without what is known about it besides. One that says that all is well and ends with another
/// code than 0 has failed.
pub(crate) fn printed(mut output: Value) -> Value {
    let Some(fields) = output.as_object_mut() else { return output };
    fields.retain(|field, _| !matches!(field.as_str(), "stdout" | "stderr"));
    let code = fields.shift_remove("exit_code").and_then(|code| code.as_i64()).unwrap_or(0);
    if code != 0 && fields.get("status").and_then(Value::as_str) == Some(Status::Success.word()) {
        fields.insert("status".into(), Status::Failure.word().into());
        fields.insert("reason".into(), format!("it ended with exit code {code}").into());
        take_back_success(fields);
    }
    output
}

/// Parts of an answer that go with success alone are taken back with it.
fn take_back_success(fields: &mut Map<String, Value>) {
    fields.shift_remove("children");
    let Some(events) = fields.get_mut("events").and_then(Value::as_array_mut) else { return };
    let kind = |event: &Value| event.get("type").and_then(Value::as_str).map(str::to_owned);
    events.retain(|event| kind(event).as_deref() != Some(Status::Success.implies()));
}

impl WorkerAnswer {
    /// The class of a failure, where its code names one.
    pub fn class(&self) -> Option<Class> {
        self.code.as_deref().and_then(Class::from_word)
    }
}

fn known_only(fields: &Map<String, Value>, what: &str, known: &[&str]) -> Result<(), String> {
    let spellings = || known.iter().flat_map(|field| field.split('|'));
    match fields.keys().find(|key| !spellings().any(|known| known == **key)) {
        None => Ok(()),
        Some(key) => {
            let names: Vec<&str> = known.iter().filter_map(|field| field.split('|').next()).collect();
            Err(format!("{what} has a field `{key}`, and its fields are {}", names.join(", ")))
        }
    }
}

/// A field that is there; null means that it is not.
fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    name.split('|').find_map(|name| fields.get(name)).filter(|value| !value.is_null())
}

fn wrong(name: &str, wanted: &str, found: &Value) -> String {
    let name = name.split('|').next().unwrap_or(name);
    format!("`{name}` must be {wanted}, and it is {}", fit::describe(found))
}

fn text(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match field(fields, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(name, "a text", other)),
    }
}

fn object(fields: &Map<String, Value>, name: &str) -> Result<Option<Map<String, Value>>, String> {
    match field(fields, name) {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object.clone())),
        Some(other) => Err(wrong(name, "an object", other)),
    }
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a [Value], String> {
    match field(fields, name) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(wrong(name, "a list", other)),
    }
}

fn flags(fields: &Map<String, Value>) -> Result<IndexMap<String, bool>, String> {
    let flag = |(key, value): (String, Value)| match value {
        Value::Bool(value) => Ok((key, value)),
        other => Err(wrong(&format!("flags.{key}"), "true or false", &other)),
    };
    object(fields, "flags")?.unwrap_or_default().into_iter().map(flag).collect()
}

fn events(fields: &Map<String, Value>) -> Result<Vec<(String, Value)>, String> {
    let event = |(at, item): (usize, &Value)| {
        let name = format!("events[{at}]");
        let Value::Object(item) = item else { return Err(wrong(&name, "an object", item)) };
        known_only(item, &name, &["type", "payload"])?;
        let kind = text(item, "type")?.ok_or_else(|| format!("`{name}` has no `type`"))?;
        let payload = object(item, "payload")?.unwrap_or_default();
        Ok((kind, Value::Object(payload)))
    };
    list(fields, "events")?.iter().enumerate().map(event).collect()
}

fn hard(fields: &Map<String, Value>) -> Result<Option<bool>, String> {
    let name = "failure_kind|failureKind";
    match text(fields, name)?.as_deref() {
        None => Ok(None),
        Some("hard") => Ok(Some(true)),
        Some("soft") => Ok(Some(false)),
        Some(other) => Err(format!("`failure_kind` is `{other}`, and it must be soft or hard")),
    }
}

fn children(fields: &Map<String, Value>) -> Result<Vec<Wanted>, String> {
    let child = |(at, item): (usize, &Value)| {
        let name = format!("children[{at}]");
        let Value::Object(item) = item else { return Err(wrong(&name, "an object", item)) };
        known_only(item, &name, &["persona|personaId", "task"])?;
        let persona =
            text(item, "persona|personaId")?.ok_or_else(|| format!("`{name}` names no `persona`"))?;
        let task = field(item, "task").cloned().ok_or_else(|| format!("`{name}` has no `task`"))?;
        Ok(Wanted { persona, task })
    };
    list(fields, "children")?.iter().enumerate().map(child).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_program_is_read_by_what_it_printed_and_how_it_ended() {
        let ended = |code: i32| json!({"stdout": "{…}", "stderr": "", "exit_code": code, "status": "success", "payload": {"n": 1}});
        let well = read(&printed(ended(0))).unwrap();
        assert_eq!((well.status, &well.payload["n"]), (Status::Success, &json!(1)));
        let badly = read(&printed(ended(3))).unwrap();
        assert_eq!(
            (badly.status, badly.reason.as_deref()),
            (Status::Failure, Some("it ended with exit code 3"))
        );
        let told = json!({"exit_code": 3, "status": "success", "children": [{"persona": "b", "task": "x"}],
            "events": [{"type": "validation_passed"}, {"type": "code_committed"}]});
        let badly = read(&printed(told)).unwrap();
        assert_eq!((badly.children.len(), badly.events), (0, vec![("code_committed".to_owned(), json!({}))]));
        let told =
            json!({"stdout": "", "exit_code": 1, "status": "validation_fail", "reason": "two tests fail"});
        assert_eq!(read(&printed(told)).unwrap().reason.as_deref(), Some("two tests fail"));
    }

    #[test]
    fn a_whole_answer_is_read() {
        let said = read(&json!({
            "status": "failure", "payload": {"n": 1}, "events": [{"type": "task_blocked", "payload": {"why": "x"}}, {"type": "a"}],
            "flags": {"done": false}, "metadata": {"k": [1]}, "project": {"globalFlags": {"x": true}},
            "failureKind": "hard", "failureCode": "permission", "reason": "no key",
            "children": [{"persona": "tester", "task": "look"}],
        }))
        .unwrap();
        assert_eq!(
            (said.status, said.hard, said.class()),
            (Status::Failure, Some(true), Some(Class::Permission))
        );
        assert_eq!(said.events[1], ("a".to_owned(), json!({})));
        assert_eq!(said.flags.get("done"), Some(&false));
        assert_eq!(said.children, [Wanted { persona: "tester".into(), task: json!("look") }]);
    }

    #[test]
    fn what_is_null_is_absent() {
        let said =
            read(&json!({"status": "success", "payload": null, "events": null, "reason": null})).unwrap();
        assert_eq!((said.payload.len(), said.events.len(), said.reason), (0, 0, None));
    }

    #[test]
    fn whatever_does_not_fit_is_named() {
        let wrong = [
            (json!("done"), "must be an object"),
            (json!({}), "`status` is missing"),
            (json!({"status": "done"}), "`status` is `done`"),
            (json!({"status": "success", "payload": []}), "`payload` must be an object"),
            (json!({"status": "success", "flags": {"a": "yes"}}), "`flags.a` must be true or false"),
            (json!({"status": "success", "events": [{"payload": {}}]}), "`events[0]` has no `type`"),
            (json!({"status": "success", "events": ["x"]}), "`events[0]` must be an object"),
            (json!({"status": "success", "flagz": {}}), "a field `flagz`"),
            (json!({"status": "failure", "failure_kind": "loud"}), "must be soft or hard"),
            (json!({"status": "success", "children": [{"task": 1}]}), "names no `persona`"),
            (json!({"status": "success", "children": [{"persona": "p"}]}), "has no `task`"),
        ];
        for (answer, problem) in wrong {
            let found = read(&answer).expect_err(problem);
            assert!(found.contains(problem), "{found}");
        }
    }

    proptest! {
        /// Whatever comes, the answer is a value or a problem; and text in a message never makes a failure hard.
        #[test]
        fn any_message_leaves_a_failure_as_it_is_said(words in ".{0,40}", word in prop::sample::select(vec!["network", "403", "timeout", "forbidden", "econnreset"])) {
            let said = read(&json!({"status": "failure", "reason": format!("{words} {word}")})).unwrap();
            prop_assert_eq!((said.hard, said.class()), (None, None));
        }
    }
}
