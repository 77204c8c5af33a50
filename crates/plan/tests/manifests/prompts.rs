//! What agents are asked, with which query, in which shape.

use crate::manifests::kit::{agent, agents, plan, reduce, text};
use crate::manifests::world::{compiled, findings, shown};
use convoke_plan::*;
use serde_json::json;

#[test]
fn prompts_have_task_context_and_role() {
    let plan = plan(
        "query: the question\ncontext: the facts\nagents:\n  - {id: a, role: '{{ clerk }}', department: law}\n  - {id: b, task: 'for {{ query }}, given {{ context }}'}\n",
    );
    let first = agent(&plan, "a");
    assert!(text(&plan, &first.prompt).starts_with("{{ workflow.input.query }}"));
    assert!(text(&plan, &first.prompt).contains("Context:"));
    let system = text(&plan, first.system.as_ref().unwrap());
    assert_eq!(system, "You are {{ '{{' }} clerk }}, a specialist agent in the law department.");
    let second = text(&plan, &agent(&plan, "b").prompt);
    assert!(
        second.starts_with(
            "{% set query = workflow.input.query %}{% set context = workflow.input.context %}for"
        )
    );
    assert!(!second.contains("Context:"), "{second}");
    let inputs = plan.root().inputs.as_ref().unwrap();
    assert_eq!(inputs["query"].default, Some(json!("the question")));
    assert_eq!(inputs["context"].default, Some(json!("the facts")));
}

#[test]
fn a_query_that_nobody_stated_must_be_given() {
    let plan = plan("agents:\n  - {id: a}\n  - {id: b, task: t}\n");
    assert!(plan.root().inputs.as_ref().unwrap()["query"].required);
    let none = self::plan(&agents(2));
    assert!(!none.root().inputs.as_ref().unwrap()["query"].required);
}

#[test]
fn with_declared_inputs_the_query_may_be_a_template() {
    let plan = plan(
        "inputs: {topic: {type: string}, parts: {type: array}}\nquery: 'what about {{ workflow.input.topic }}?'\nagents:\n  - {id: a, partitions: workflow.input.parts}\n",
    );
    let inputs: Vec<&String> = plan.root().inputs.as_ref().unwrap().keys().collect();
    assert_eq!(inputs, ["query", "context", "topic", "parts"]);
    let body = agent(&plan, "a.a");
    assert!(text(&plan, &body.prompt).contains(
        "{% else %}what about {{ workflow.input.topic }}?{% endif %}\n\nFocus on: {{ partition }}"
    ));
    assert_eq!(reduce(&plan).strategy, Strategy::Auto, "their number is known when they run");
    let unknown = compiled("query: '{{ x }}'\nagents:\n  - {id: a, task: '{{ qeury }}'}\n");
    assert_eq!(findings(&unknown), [("workflow::unknown_reference", 3)], "{}", shown(&unknown));
}

#[test]
fn shapes_of_answers_come_in_four_forms() {
    let schema = |form: &str| {
        let plan = plan(&format!("agents:\n  - {{id: a, task: t, output_schema: {form}}}\n"));
        agent(&plan, "a").settings.schema.clone().expect("a shape").json_schema()
    };
    let any = json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]});
    assert_eq!(schema("'a, b'"), any);
    assert_eq!(schema("{a: the first, b: 2}"), any);
    let stated = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}}, "required": ["a"]});
    let json = r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}}, "required": ["a"]}"#;
    assert_eq!(schema(json), stated);
    assert_eq!(schema(&format!("'{json}'")), stated);
    assert_eq!(schema("{a: {type: number}}")["required"], json!(["a"]));
    // The original wanted the keys `type` and `properties` of an answer when nothing was required.
    let open = r#"{"type": "object", "properties": {"a": {"type": "integer"}}}"#;
    assert_eq!(schema(open)["required"], json!([]));
}

#[test]
fn a_query_that_somebody_is_asked_may_not_be_empty() {
    let given = |text: &str, query: Option<&str>| {
        let plan = plan(text);
        let given =
            query.map(|query| ("query".to_owned(), convoke_plan::compile::GivenInput::Text(query.into())));
        let given: Vec<_> = given.into_iter().collect();
        convoke_plan::compile::check_inputs(plan.root(), &given).is_ok()
    };
    let asked = "agents: [{id: a}]\n";
    assert!(given(asked, Some("what?")) && !given(asked, Some(" ")) && !given(asked, None));
    let stated = "query: what?\nagents: [{id: a}]\n";
    assert!(given(stated, None) && !given(stated, Some("")));
    assert!(!given("query: ''\nagents: [{id: a}]\n", None), "an empty query is none");
    assert!(given("query: ''\nagents: [{id: a, task: t}]\n", None));
    assert!(given("agents: [{id: a, task: t}]\n", Some("")));
}

#[test]
fn a_query_that_is_a_template_yields_to_what_is_given() {
    let plan = plan(
        "inputs: {who: {type: string, default: all}}\nquery: 'For {{ workflow.input.who }}?'\nagents: [{id: a}]\n",
    );
    let given = [("query".to_owned(), convoke_plan::compile::GivenInput::Text("else".into()))];
    let inputs = convoke_plan::compile::check_inputs(plan.root(), &given).expect("it is taken");
    assert_eq!(inputs["query"], json!("else"));
    assert!(text(&plan, &agent(&plan, "a").prompt).starts_with("{% if workflow.input.query %}"));
}
