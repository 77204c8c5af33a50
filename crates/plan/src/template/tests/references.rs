//! What a template is said to refer to.

use std::collections::BTreeMap;

use crate::template::{Reference, parse_condition, parse_template};

fn references(text: &str) -> Vec<Reference> {
    parse_template(text, None, &BTreeMap::new()).unwrap().references()
}

/// Each reference as `path`, with a `?` where it is guarded.
fn shown(text: &str) -> Vec<String> {
    let show = |reference: Reference| {
        format!("{}{}", reference.path.join("."), if reference.guarded { "?" } else { "" })
    };
    references(text).into_iter().map(show).collect()
}

#[test]
fn paths_end_where_they_become_dynamic() {
    let cases: [(&str, &[&str]); 8] = [
        ("{{ writer.output.text }}", &["writer.output.text"]),
        ("{{ writer['output'].text }}", &["writer.output.text"]),
        ("{{ a.output[key].x }}", &["key", "a.output"]),
        ("{{ a.output.list[0].x }}", &["a.output.list"]),
        ("{{ a.output.keys() | list }}", &["a.output"]),
        ("{{ a.output.name.upper() ~ b }}", &["a.output.name", "b"]),
        ("{{ (a or b).x }}", &["a", "b"]),
        ("{{ [a, {'k': b}] | map(attribute=c) | list }}", &["a", "b", "c"]),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn names_that_the_template_binds_are_no_references() {
    let cases: [(&str, &[&str]); 8] = [
        ("{% for x in xs %}{{ x.y }}{{ loop.index }}{% endfor %}{{ x }}", &["xs", "x"]),
        ("{% set a = b %}{{ a }}", &["b"]),
        ("{% if c %}{% set a = 1 %}{% endif %}{{ a }}", &["c"]),
        (
            "{% macro m(p, q=r) %}{{ p }}{{ q }}{{ caller() }}{{ s }}{% endmacro %}{{ m(t) }}",
            &["r", "s", "t"],
        ),
        ("{% with a=b %}{{ a }}{% endwith %}{{ a }}", &["b", "a"]),
        ("{% set ns = namespace(n=k) %}{% set ns.n = ns.n + v %}", &["k", "v"]),
        ("{% set block %}{{ inner }}{% endset %}{{ block }}", &["inner"]),
        ("{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}", &["d"]),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn guards_are_seen_where_they_hold() {
    let cases: [(&str, &[&str]); 14] = [
        ("{{ a is defined }}", &["a?"]),
        ("{{ a.b | default('x') }}", &["a.b?"]),
        ("{{ a | d(b) }}", &["a?", "b"]),
        ("{% if a is defined %}{{ a.x }}{{ b }}{% else %}{{ a }}{% endif %}", &["a?", "a.x?", "b", "a"]),
        ("{% if a is not defined %}{{ a.x }}{% else %}{{ a.y }}{% endif %}", &["a?", "a.x", "a.y?"]),
        (
            "{% if a is undefined %}-{% elif b is defined %}{{ a.x }}{{ b.x }}{% endif %}",
            &["a?", "b?", "a.x?", "b.x?"],
        ),
        ("{{ a.x if a is defined else b }}", &["a?", "a.x?", "b"]),
        ("{{ a is defined and a.x }}", &["a?", "a.x?"]),
        ("{{ a is not defined or a.x }}", &["a?", "a.x?"]),
        ("{{ a is defined or a.x }}", &["a?", "a.x"]),
        ("{% if a is defined and b %}{{ a.x }}{{ b.x }}{% endif %}", &["a?", "b", "a.x?", "b.x"]),
        ("{% if a | default(none) %}{{ a.x }}{% endif %}", &["a?", "a.x?"]),
        ("{% if 'a' in context.history %}{{ a.x }}{% endif %}", &["context.history", "a.x?"]),
        ("{% for i in l if a is defined %}{{ a.x }}{% endfor %}", &["l", "a?", "a.x?"]),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn a_range_covers_the_path_as_written() {
    let text = "é {{ 1 + writer.output['text'] }} {% if a.b.c %}x{% endif %}";
    let found = references(text);
    let written: Vec<&str> = found.iter().map(|reference| &text[reference.range.clone()]).collect();
    assert_eq!(written, ["writer.output['text']", "a.b.c"]);
}

#[test]
fn conditions_have_references_at_their_place() {
    let text = " {{ output.score > 7 and other_output is defined }} ";
    let found = parse_condition(text).unwrap().references();
    let written: Vec<&str> = found.iter().map(|reference| &text[reference.range.clone()]).collect();
    assert_eq!(written, ["output.score", "other_output"]);
    assert!(found[1].guarded);
}
