//! Templates that come from files and use others.

use std::collections::BTreeMap;

use serde_json::json;

use crate::template::{
    RenderError, Renderer, TemplateId, TemplateSource, find_includes, from_json, parse_template,
};

fn partials(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn render(text: &str, base: &str, files: &[(&str, &str)]) -> Result<String, RenderError> {
    let source = TemplateSource { text: text.into(), base: Some(base.into()) };
    let context = from_json(&json!({"who": "Ann", "n": 2}));
    Renderer::new(&[source], &[], &partials(files)).render(TemplateId(0), context)
}

#[test]
fn includes_imports_and_extends_resolve_beside_their_file() {
    let files = [
        ("p/part.md", "part of {{ who }}, {{ n + 1 }}"),
        ("p/deep/one.md", "one[{% include 'two.md' %}]"),
        ("p/deep/two.md", "two"),
        ("p/root.md", "root"),
        ("p/deep/up.md", "{% include 'root.md' %}"),
        ("p/macros.md", "{% macro shout(x) %}{{ x | upper }}!{% endmacro %}"),
        ("p/base.md", "<{% block body %}default{% endblock %}>"),
    ];
    let cases = [
        ("{% include 'part.md' %}", "part of Ann, 3"),
        ("{% include './deep/one.md' %}", "one[two]"),
        ("{% include 'deep/up.md' %}", "root"),
        ("{% include 'gone.md' ignore missing %}.", "."),
        ("{% include ['gone.md', 'root.md'] %}", "root"),
        ("{% from 'macros.md' import shout %}{{ shout(who) }}", "ANN!"),
        ("{% import 'macros.md' as m %}{{ m.shout('a') }}", "A!"),
        ("{% extends 'base.md' %}{% block body %}{{ super() }} {{ n % 2 }}{% endblock %}", "<default 0>"),
        ("{% for who in ['x', 'y'] %}{% include 'part.md' %};{% endfor %}", "part of x, 3;part of y, 3;"),
    ];
    for (text, expected) in cases {
        assert_eq!(render(text, "p/main.md", &files), Ok(expected.to_owned()), "{text}");
        assert!(parse_template(text, Some("p/main.md"), &partials(&files)).is_ok(), "{text}");
    }
}

#[test]
fn an_error_in_a_partial_names_it_and_its_place() {
    let error =
        render("{% include 'a.md' %}", "p/main.md", &[("p/a.md", "x {{ 1 + 1 }} {{ gone.x }}")]).unwrap_err();
    assert_eq!(error.file.as_deref(), Some("p/a.md"));
    assert_eq!(error.expression, "{{ gone.x }}");
    assert!(error.message.contains("'gone' is undefined"), "{error}");
}

#[test]
fn what_cannot_be_included_is_refused_before_a_run() {
    let none = BTreeMap::new();
    let without_file = parse_template("{% include 'a.md' %}", None, &none).unwrap_err();
    assert!(without_file.message.contains("comes from a file"), "{without_file}");
    let missing = parse_template("{% include 'a.md' %}", Some("p/m.md"), &none).unwrap_err();
    assert!(missing.message.contains("`a.md` is missing"), "{missing}");
    assert_eq!(missing.help.as_deref(), Some("looked for `p/a.md`"));
    let computed = parse_template("{% include name %}", Some("p/m.md"), &none).unwrap_err();
    assert!(computed.message.contains("constant"), "{computed}");
    let broken =
        parse_template("{% include 'a.md' %}", Some("m.md"), &partials(&[("a.md", "{% if %}")])).unwrap_err();
    assert!(broken.message.starts_with("`a.md`: "), "{broken}");
}

#[test]
fn a_partial_that_includes_itself_ends() {
    let files = [("p/a.md", "a{% include 'a.md' %}")];
    assert!(parse_template("{% include 'a.md' %}", Some("p/m.md"), &partials(&files)).is_ok());
    assert!(render("{% include 'a.md' %}", "p/m.md", &files).is_err());
}

#[test]
fn the_files_to_read_are_found_before_they_are_read() {
    let found =
        find_includes("{% include 'a.md' %}{% from '../b.md' import x %}", "p/deep/m.md", "p/root.md");
    let candidates: Vec<_> = found.into_iter().map(|include| include.candidates).collect();
    assert_eq!(candidates, [["p/deep/a.md", "p/a.md"], ["p/b.md", "b.md"]]);
}

#[test]
fn the_references_of_a_partial_stand_at_its_include() {
    let files = partials(&[("a.md", "{{ writer.output }}")]);
    let text = "x {% include 'a.md' %}";
    let parsed = parse_template(text, Some("m.md"), &files).unwrap();
    assert_eq!(parsed.includes(), ["a.md"]);
    let references = parsed.references();
    assert_eq!(references[0].path, ["writer", "output"]);
    assert!(text[references[0].range.clone()].contains("include"));
}
