//! What conditions mean, and which ones are refused.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::template::{
    ConditionId, ConditionSource, RenderError, RenderFault, Renderer, TemplateId, TemplateSource, from_json,
    parse_condition,
};

fn context() -> Value {
    json!({
        "output": {
            "score": 7, "items": [], "nothing": null, "kind": "bug", "urgent": false, "ok": true, "weight": 0.0,
            "name": "ann", "tags": ["a", "b"], "outputs": {"left": {"v": 1}}, "workflow": "hidden",
        },
        "workflow": {"input": {"n": 3}, "name": "w"},
        "context": {"iteration": 2, "history": ["a", "b"]},
        "my_step": {"output": {"x": 5, "flag": true}},
        "g": {"outputs": [1, 2], "errors": {}, "count": 2},
    })
}

fn test(text: &str, context: &Value) -> Result<bool, RenderError> {
    let source = ConditionSource { text: text.into() };
    Renderer::new(&[], &[source], &BTreeMap::new()).test(ConditionId(0), from_json(context))
}

#[test]
fn conditions_are_expressions_over_direct_and_flattened_names() {
    let holds = [
        "score >= 7",
        "output.score >= 7",
        "{{ output.score >= 7 }}",
        "{{- output.ok -}}",
        "output_score == 7",
        "my_step_output['x'] == 5",
        "my_step_output.x == 5",
        "my_step.output.x + 1 == 6",
        "workflow_input['n'] == 3",
        "workflow.name == 'w'",
        "g_outputs | length == 2",
        "len(g_outputs) == 2",
        "context_iteration < 3",
        "context.iteration < 3",
        "nothing is None",
        "score is not None",
        "kind == 'bug' and not urgent",
        "1 < score < 10",
        "score in [1, 7]",
        "'z' not in tags",
        "int('5') == 5",
        "float('1.5') > 1",
        "str(score) == '7'",
        "True",
        "true",
        "score ** 2 > 40",
        "score // 2 == 3",
        "score % 2 == 1",
        "name.startswith('a')",
        "tags[0] == 'a'",
        "(score > 5) if urgent else (score > 6)",
        "outputs.left.v == 1",
        "score == 7.0",
        "missing is not defined",
        "'{{' not in name",
        "output != {}",
        "'a' in context.history",
        "output['score'] > 3",
        "'false'",
        "[0]",
    ];
    let fails_to_hold = [
        "score > 7",
        "{{ output.nothing }}",
        "{{ [] }}",
        "{{ {} }}",
        "{{ 0.0 }}",
        "{{ '' }}",
        "items",
        "weight",
        "None",
        "False",
        "not ok",
        "missing is defined",
        "output.missing is defined",
        "output.missing | default(false)",
    ];
    for text in holds {
        assert_eq!(test(text, &context()), Ok(true), "{text}");
    }
    for text in fails_to_hold {
        assert_eq!(test(text, &context()), Ok(false), "{text}");
    }
}

#[test]
fn in_braces_a_text_that_says_no_does_not_hold() {
    let said = |answer: &str| json!({"output": {"answer": answer}});
    for answer in ["no", "No", "false", "FALSE", "0", " no\n", "  "] {
        assert_eq!(test("{{ output.answer }}", &said(answer)), Ok(false), "{answer:?}");
    }
    for answer in ["yes", "none", "nope", "1"] {
        assert_eq!(test("{{ output.answer }}", &said(answer)), Ok(true), "{answer:?}");
    }
    assert_eq!(test("answer", &said("no")), Ok(true), "a plain expression is not looked at as text");
    assert_eq!(test("{{ output.answer or true }}", &said("")), Ok(true));
}

#[test]
fn a_plain_name_is_a_field_of_the_output_before_it_is_a_step() {
    let context = json!({
        "output": {"score": 8, "workflow": 1},
        "score": {"output": {"score": 8}},
        "workflow": {"name": "w"},
    });
    assert_eq!(test("score > 7", &context), Ok(true));
    assert_eq!(test("score.output.score > 7", &context), Ok(true));
    assert_eq!(test("{{ score.output.score > 7 }}", &context), Ok(true));
    assert_eq!(test("workflow.name == 'w'", &context), Ok(true));
}

#[test]
fn a_scalar_output_is_compared_directly() {
    assert_eq!(test("output < 10", &json!({"output": 3})), Ok(true));
    assert_eq!(test("output > 4 and output < 10", &json!({"output": 3})), Ok(false));
}

#[test]
fn what_has_no_order_is_an_error_that_names_the_expression() {
    for text in
        ["nothing < 3", "{{ output.nothing < 3 }}", "kind < 3", "tags > 1", "3 >= output", "None <= None"]
    {
        let error = test(text, &context()).unwrap_err();
        assert!(error.message.contains("cannot compare"), "{error}");
        assert_eq!(error.expression, text);
    }
}

#[test]
fn an_undefined_name_is_an_error_that_names_it() {
    let cases = [
        ("missing > 3", "'missing'"),
        ("output.missing", "'output.missing'"),
        ("{{ gone.output.x }}", "'gone'"),
    ];
    for (text, name) in cases {
        let error = test(text, &context()).unwrap_err();
        assert!(error.message.contains(name), "{error}");
        assert!(error.range.is_some_and(|range| text.get(range).is_some()), "{text}");
    }
}

#[test]
fn what_is_no_expression_is_refused_before_a_run() {
    let cases = [
        ("", "empty"),
        ("  ", "empty"),
        ("{{ }}", "empty"),
        ("score >", "unexpected end of input"),
        ("{% if x %}1{% endif %}", "blocks"),
        ("{{ a }} and {{ b }}", "one expression"),
        ("{{ output.score }} > 5", "one expression"),
        ("kind == \"bug\" && urgent", "unexpected"),
        ("score & 1", "unexpected"),
        ("score | upcase", "unknown filter `upcase`"),
        ("score is odd_number", "unknown test `odd_number`"),
        ("randint(1, 2) == 1", "unknown function `randint`"),
    ];
    for (text, part) in cases {
        let error = parse_condition(text).unwrap_err();
        assert!(error.message.contains(part), "{text}: {error}");
    }
    let mixed = parse_condition("{{ a }} and {{ b }}").unwrap_err();
    assert_eq!(mixed.help.as_deref(), Some("write `when: \"a and b\"`"));
}

/// A plan may come from elsewhere than from a check. Rewriting of operators must not make sense of what has none.
#[test]
fn what_is_no_expression_is_an_error_with_its_reason_when_it_runs_too() {
    for text in [
        "score >",
        "score <",
        "score ==",
        "score in",
        "score +",
        "not",
        "(score",
        "score) or (true",
        "{{ score > }}",
        "",
        "&",
    ] {
        let error = test(text, &context()).unwrap_err();
        assert_eq!((error.fault, error.message.is_empty()), (RenderFault::Syntax, false), "{text}: {error}");
    }
    for text in ["{{ score > }}", "x {{ score + }} y", "{% if score > %}a{% endif %}"] {
        let source = TemplateSource { text: text.into(), base: None };
        let renderer = Renderer::new(&[source], &[], &BTreeMap::new());
        for value in [
            renderer.render(TemplateId(0), from_json(&context())).map(drop),
            renderer.value(TemplateId(0), from_json(&context())).map(drop),
        ] {
            assert_eq!(value.unwrap_err().fault, RenderFault::Syntax, "{text}");
        }
    }
}
