//! Texts that are one expression keep the type of their value.

use super::super::RenderFault;
use super::{render, value};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn one_expression_gives_its_value() {
    let context = json!({"n": 3, "list": [1, {"a": null}], "text": "5", "no": false});
    let cases = [
        ("{{ n }}", json!(3)),
        ("{{ n / 2 }}", json!(1.5)),
        ("{{ list }}", json!([1, {"a": null}])),
        ("  {{ list[1] }}\n", json!({"a": null})),
        ("{{ text }}", json!("5")),
        ("{{ not no }}", json!(true)),
        ("{{ {'k': n, 'l': list[0]} }}", json!({"k": 3, "l": 1})),
        ("{{ list | length }}", json!(2)),
        ("{{ missing | default(none) }}", json!(null)),
        ("{{ n if no }}", json!(null)),
        ("{{ text.split('x') }}", json!(["5"])),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text, &context), Ok(expected), "{text}");
    }
}

#[test]
fn anything_else_gives_its_text() {
    let context = json!({"n": 3, "list": [1, "x"]});
    let cases = [
        ("{{ n }}.", json!("3.")),
        ("{{ n }}{{ n }}", json!("33")),
        ("5", json!("5")),
        ("in {{ list }}", json!("in [1, 'x']")),
        ("{% if n %}{{ n }}{% endif %}", json!("3")),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text, &context), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_missing_is_said_as_in_a_text() {
    let context = json!({"a": {"b": 1}});
    for text in ["{{ x }}", " {{ a.c.d }}", "{{ 1 / 0 }}", "{{ x.y }}"] {
        let (found, expected) = (value(text, &context).unwrap_err(), render(text, &context).unwrap_err());
        assert_eq!(found, expected, "{text}");
    }
    assert_eq!(value("{{ x }}", &context).unwrap_err().fault, RenderFault::Undefined);
}

proptest! {
    #[test]
    fn every_json_value_survives(text in "\\PC{0,12}", number in any::<i32>(), flag: bool) {
        let given = json!({"v": [{"t": text, "n": number}, flag, null, [text]]});
        prop_assert_eq!(value("{{ v }}", &given), Ok(given["v"].clone()));
    }
}

/// Jinja2 gives the default only for the last part of a path and fails before; a step that did not run has no parts at all.
#[test]
fn a_default_holds_wherever_a_path_ends() {
    let context = json!({"d": {"q": null, "list": [{"x": 1}]}});
    let cases = [
        ("{{ foo.bar.baz | default('x') }}", "x"),
        ("{{ foo['bar'].baz[0].z | d('x') }}", "x"),
        ("{{ d.q.z | default('x') }}", "x"),
        ("{{ d.list[0].x | default('y') }}", "1"),
        ("{{ d.list.0.x | default('y') }}", "1"),
        ("{{ d.list[3].x | default('y') }}", "y"),
        ("{{ d.q.z is defined }}", "False"),
        ("{{ foo.bar.z is not defined }}", "True"),
        ("{{ d.list is defined }}", "True"),
        ("{% if foo.bar.z | default(false) %}a{% else %}b{% endif %}", "b"),
        ("{{ (foo.bar | default('x')) ~ foo.z | default('y') }}", "xy"),
    ];
    for (text, expected) in cases {
        assert_eq!(render(text, &context), Ok(expected.to_owned()), "{text}");
    }
    assert!(render("{{ foo.bar }}", &context).is_err());
    assert!(render("{{ foo.bar | upper | default('x') }}", &context).is_err());
}
