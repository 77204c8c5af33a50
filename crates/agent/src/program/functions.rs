//! What programs may call: the names, what each takes, and what a call wants.

use super::graph::Inquiry;
use super::library::{Library, Look, MOST_FOUND};
use super::worker::{ErrorKind, Given, HostCall};
use convoke_model::{Digest, JsonText, ProgramCall, SubQuery};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The functions.
pub(super) const NAMES: &[&str] = &[
    "outputs",
    "get",
    "slice",
    "search",
    "llm",
    "llm_map",
    "rlm",
    "ephemeral_graph_query",
    "owl_query",
    "kg_bulk_export",
    "final",
];

/// Rows of an answer of a graph, where nothing is said.
const ROWS: i64 = 50;
/// Rows of an answer of a graph, and statements of an export, at most.
const MOST_ROWS: i64 = 500;

/// Places that a search gives where nothing is said.
const FOUND: u64 = 20;

/// What a call wants.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wanted {
    /// Something of the outputs.
    Look(Look),
    /// Answers of models.
    Ask(Asking),
    /// An answer of a graph.
    Inquire(Inquiry),
    /// To be done, with this result.
    Final(Value),
}

/// Questions to models.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asking {
    pub form: Form,
    pub sub_queries: Vec<SubQuery>,
}

/// How answers are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    /// The answer itself; a failure is an exception.
    One,
    /// A list, with failures as values in it.
    Many,
}

/// What a call wants, or the exception that the program gets for it.
pub(super) fn read(call: &HostCall, given: &ProgramCall, library: &Library) -> Result<Wanted, Given> {
    let mut arguments = Arguments::of(call, names(&call.function))?;
    match call.function.as_str() {
        "outputs" => Ok(Wanted::Look(Look::Outputs)),
        "get" => Ok(Wanted::Look(Look::Get(arguments.output(library)?))),
        "slice" => slice(arguments, library),
        "search" => search(arguments, library),
        "llm" => {
            let sub_queries = vec![SubQuery::Prompt(arguments.text("prompt")?)];
            Ok(Wanted::Ask(Asking { form: Form::One, sub_queries }))
        }
        "llm_map" => {
            let sub_queries = arguments.texts("prompts")?.into_iter().map(SubQuery::Prompt).collect();
            Ok(Wanted::Ask(Asking { form: Form::Many, sub_queries }))
        }
        "rlm" => program(arguments, given, library),
        "ephemeral_graph_query" | "owl_query" => over_statements(arguments),
        "kg_bulk_export" => export(arguments),
        _ => Ok(Wanted::Final(arguments.take("value").unwrap_or_default())),
    }
}

/// What identifies a call: the function and everything that it was given.
pub(super) fn digest(call: &HostCall) -> Digest {
    let said = JsonText::of(&(&call.function, &call.args, &call.kwargs));
    Digest::of(said.as_str().as_bytes())
}

fn names(function: &str) -> &'static [&'static str] {
    match function {
        "get" => &["id"],
        "slice" => &["id", "start", "end"],
        "search" => &["pattern", "ids", "limit"],
        "llm" => &["prompt"],
        "llm_map" => &["prompts"],
        "rlm" => &["query", "ids"],
        "ephemeral_graph_query" | "owl_query" => &["turtle", "query", "limit"],
        "kg_bulk_export" => &["scope", "limit"],
        "final" => &["value"],
        _ => &[],
    }
}

fn slice(mut arguments: Arguments<'_>, library: &Library) -> Result<Wanted, Given> {
    let of = arguments.output(library)?;
    let start = arguments.number("start")?.unwrap_or(0);
    Ok(Wanted::Look(Look::Slice { of, start, end: arguments.number("end")? }))
}

fn search(mut arguments: Arguments<'_>, library: &Library) -> Result<Wanted, Given> {
    let pattern = arguments.text("pattern")?;
    let of = arguments.outputs(library)?;
    let limit = arguments.number("limit")?.unwrap_or(FOUND as i64);
    Ok(Wanted::Look(Look::Search { pattern, of, limit: limit.clamp(0, MOST_FOUND as i64) as u64 }))
}

fn program(mut arguments: Arguments<'_>, given: &ProgramCall, library: &Library) -> Result<Wanted, Given> {
    if given.depth >= given.max_depth {
        let message =
            format!("rlm(): programs may stand {} deep, and this one does; use llm()", given.max_depth);
        return Err(Given::error(ErrorKind::Runtime, message));
    }
    let query = arguments.text("query")?;
    let of = arguments.outputs(library)?.unwrap_or_else(|| (0..library.len()).collect());
    if of.is_empty() {
        return Err(Given::error(ErrorKind::Value, "rlm(): `ids` is empty"));
    }
    let of = of.into_iter().map(|index| library.source(index).mark.clone()).collect();
    Ok(Wanted::Ask(Asking { form: Form::One, sub_queries: vec![SubQuery::Program { query, of }] }))
}

fn over_statements(mut arguments: Arguments<'_>) -> Result<Wanted, Given> {
    let (turtle, query) = (arguments.text("turtle")?, arguments.text("query")?);
    let limit = arguments.number("limit")?.unwrap_or(ROWS).clamp(1, MOST_ROWS);
    let said = json!({"turtle": turtle, "query": query, "limit": limit});
    Ok(Wanted::Inquire(Inquiry { function: arguments.function.to_owned(), arguments: said }))
}

fn export(mut arguments: Arguments<'_>) -> Result<Wanted, Given> {
    let scope = match arguments.take("scope") {
        None => "run".to_owned(),
        Some(Value::String(scope)) if scope == "run" || scope == "project" => scope,
        Some(_) => return Err(arguments.wrong("scope", "\"run\" or \"project\"")),
    };
    let limit = arguments.number("limit")?.unwrap_or(MOST_ROWS).clamp(1, MOST_ROWS);
    let said = json!({"scope": scope, "limit": limit});
    Ok(Wanted::Inquire(Inquiry { function: arguments.function.to_owned(), arguments: said }))
}

/// The arguments of a call by their names.
struct Arguments<'a> {
    function: &'a str,
    given: Vec<(&'static str, Option<Value>)>,
}

impl<'a> Arguments<'a> {
    fn of(call: &'a HostCall, names: &'static [&'static str]) -> Result<Arguments<'a>, Given> {
        let function = call.function.as_str();
        let wrong = |what: String| Given::error(ErrorKind::Type, format!("{function}() {what}"));
        if call.args.len() > names.len() {
            return Err(wrong(format!("takes {} arguments, not {}", names.len(), call.args.len())));
        }
        if let Some(unknown) = call.kwargs.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(wrong(format!("has no argument `{unknown}`; it has {}", names.join(", "))));
        }
        let value = |(at, name): (usize, &&'static str)| {
            let value = call.args.get(at).or_else(|| call.kwargs.get(*name)).cloned();
            (*name, value.filter(|value| !value.is_null() || function == "final"))
        };
        Ok(Arguments { function, given: names.iter().enumerate().map(value).collect() })
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.given.iter_mut().find(|(known, _)| *known == name)?.1.take()
    }

    fn wrong(&self, name: &str, wanted: &str) -> Given {
        Given::error(ErrorKind::Type, format!("{}(): `{name}` must be {wanted}", self.function))
    }

    fn text(&mut self, name: &str) -> Result<String, Given> {
        match self.take(name) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(self.wrong(name, "a str")),
        }
    }

    fn texts(&mut self, name: &str) -> Result<Vec<String>, Given> {
        let Some(Value::Array(items)) = self.take(name) else {
            return Err(self.wrong(name, "a list of str"));
        };
        let text = |item| match item {
            Value::String(text) => Ok(text),
            _ => Err(self.wrong(name, "a list of str")),
        };
        items.into_iter().map(text).collect()
    }

    fn number(&mut self, name: &str) -> Result<Option<i64>, Given> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| self.wrong(name, "an int")),
        }
    }

    fn output(&mut self, library: &Library) -> Result<usize, Given> {
        let mark = self.text("id")?;
        self.found(&mark, library)
    }

    fn outputs(&mut self, library: &Library) -> Result<Option<Vec<usize>>, Given> {
        let wanted = "a list of ids, such as [\"S1\", \"S2\"]";
        let items = match self.take("ids") {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.wrong("ids", wanted)),
        };
        let index = |item: Value| match item.as_str() {
            Some(mark) => self.found(mark, library),
            None => Err(self.wrong("ids", wanted)),
        };
        items.into_iter().map(index).collect::<Result<_, _>>().map(Some)
    }

    fn found(&self, mark: &str, library: &Library) -> Result<usize, Given> {
        library.find(mark).ok_or_else(|| {
            let message = format!("{}(): there is no output `{mark}`; outputs() lists them", self.function);
            Given::error(ErrorKind::Key, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::call_over;
    use super::*;

    fn reading(function: &str, args: Value, kwargs: Value) -> Result<Wanted, Given> {
        let given = call_over(&[json!("one"), json!("two")]);
        let call = HostCall {
            number: 1,
            function: function.to_owned(),
            args: args.as_array().unwrap().clone(),
            kwargs: kwargs.as_object().unwrap().clone(),
        };
        read(&call, &given, &Library::new(&given.sources))
    }

    #[test]
    fn arguments_come_by_place_and_by_name() {
        let search = Look::Search { pattern: "x".into(), of: Some(vec![1]), limit: 3 };
        let read = reading("search", json!(["x", ["S2"]]), json!({"limit": 3})).unwrap();
        assert_eq!(read, Wanted::Look(search));
        let slice = Look::Slice { of: 0, start: -3, end: None };
        assert_eq!(reading("slice", json!(["s1", -3]), json!({"end": null})).unwrap(), Wanted::Look(slice));
        assert_eq!(reading("final", json!([null]), json!({})).unwrap(), Wanted::Final(Value::Null));
    }

    #[test]
    fn questions_to_graphs_are_bounded() {
        let asked = reading("owl_query", json!(["<a> <b> <c> .", "ASK {}"]), json!({"limit": 9999})).unwrap();
        let said = json!({"turtle": "<a> <b> <c> .", "query": "ASK {}", "limit": 500});
        assert_eq!(asked, Wanted::Inquire(Inquiry { function: "owl_query".into(), arguments: said }));
        let export = reading("kg_bulk_export", json!([]), json!({})).unwrap();
        let said = json!({"scope": "run", "limit": 500});
        assert_eq!(export, Wanted::Inquire(Inquiry { function: "kg_bulk_export".into(), arguments: said }));
        assert!(reading("kg_bulk_export", json!(["all"]), json!({})).is_err());
        assert!(reading("ephemeral_graph_query", json!(["x"]), json!({})).is_err());
    }

    #[test]
    fn what_does_not_fit_is_an_exception() {
        let kind = |function, args, kwargs| match reading(function, args, kwargs) {
            Err(Given::Error { kind, .. }) => kind,
            other => panic!("{other:?}"),
        };
        assert_eq!(kind("get", json!(["S9"]), json!({})), ErrorKind::Key);
        assert_eq!(kind("get", json!([]), json!({})), ErrorKind::Type);
        assert_eq!(kind("get", json!(["S1", 1]), json!({})), ErrorKind::Type);
        assert_eq!(kind("llm", json!([]), json!({"text": "x"})), ErrorKind::Type);
        assert_eq!(kind("llm_map", json!([["a", 1]]), json!({})), ErrorKind::Type);
        assert_eq!(kind("search", json!(["x"]), json!({"ids": "S1"})), ErrorKind::Type);
        assert_eq!(kind("rlm", json!(["x", []]), json!({})), ErrorKind::Value);
    }

    #[test]
    fn programs_stand_no_deeper_than_they_may() {
        let mut given = call_over(&[json!("one")]);
        (given.depth, given.max_depth) = (2, 2);
        let call = HostCall {
            number: 1,
            function: "rlm".into(),
            args: vec![json!("why?")],
            kwargs: Default::default(),
        };
        let library = Library::new(&given.sources);
        assert!(matches!(read(&call, &given, &library), Err(Given::Error { kind: ErrorKind::Runtime, .. })));
        given.depth = 1;
        let query = SubQuery::Program { query: "why?".into(), of: vec!["S1".into()] };
        let asking = Asking { form: Form::One, sub_queries: vec![query] };
        assert_eq!(read(&call, &given, &library), Ok(Wanted::Ask(asking)));
    }
}
