//! Hostile templates end with an error, harmless ones are not hindered.

use proptest::prelude::*;
use serde_json::{Value, json};

use std::collections::BTreeMap;
use std::time::Duration;

use super::{render, worst};
use crate::template::{
    ConditionId, ConditionSource, RenderFault, Renderer, TemplateId, TemplateSource, Value as TemplateValue,
    from_json, from_json_text, is_literal, parse_template, python_text, to_json,
};

#[test]
fn hostile_templates_end_with_an_error() {
    let hostile = [
        "{% for a in range(1000000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}",
        "{% for a in range(10000000000) %}{% endfor %}",
        "{{ 'x' * 10000000000 }}",
        "{{ [0] * 10000000000 }}",
        "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for i in range(100) %}{% set ns.x = ns.x | replace('a', ns.x) %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ 'x'.center(99999999999) }}",
        "{{ 'x' | center(99999999999) }}",
        "{% set l = [] %}{% do l.append(l) %}{{ l }}",
        "{% for i in range(900000) %}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{% endfor %}",
        "{{ 2 ** 100000 }}",
        "{% set ns = namespace(x=[]) %}{% for i in range(300000) %}{% set ns.x = [ns.x] %}{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(300000) %}{% set ns.x = (ns.x, 1) %}{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(300000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(300000) %}{% set ns.x = dict(a=ns.x) %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(300000) %}{% set ns.x = ns.x | batch(1) %}{% endfor %}",
        // Small in memory, endless to walk.
        "{% set ns = namespace(x=[1]) %}{% for i in range(150) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=(1,)) %}{% for i in range(150) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ ns.x | length }}",
        "{% set ns = namespace(x=[]) %}{% for i in range(60) %}{% set m = [] %}{% do m.append(ns.x) %}{% do m.append(ns.x) %}{% set ns.x = m %}{% endfor %}{{ ns.x == ns.x }}",
        "{{ ('\\t' * 4000000).expandtabs(1000) }}",
        "{{ ('{0}' * 100000).format('x' * 4000000) }}",
        "{{ ('%99999d' * 100000) % 1 }}",
        "{{ [['x' * 4000000] * 1000] | string }}",
        "{{ [['x' * 4000000] * 1000] ~ '' }}",
        "{{ [['x' * 4000000] * 1000] | json }}",
        "{{ [1, 2] | json(indent='x' * 4000000) }}",
        "{{ ([{'a': 1}] * 100000) | sort(attribute='a,' * 100000 ~ 'a') }}",
        "{{ ('ab cd' * 100000) | wordwrap(1, true, 'x' * 100000) }}",
        // Each round is short, and there are many.
        "{% set x = 'a' * 4000000 %}{% for i in range(100000) %}{% if x | upper %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 4000000 %}{% for i in range(100000) %}{% if x.isalpha() %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 4000000 %}{% for i in range(100000) %}{% if x is upper %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 4000000 %}{% for i in range(100000) %}{% if x[1:] %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 4000000 %}{% set y = 'a' * 4000000 %}{% for i in range(100000) %}{% if x < y %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 4000000 %}{% set y = 'a' * 4000000 %}{% for i in range(100000) %}{% if x == y %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 4000000 %}{% for i in range(100000) %}{% if 'ab' in x %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 4000000 %}{% for i in range(100000) %}{% if 'ab' not in x %}{% endif %}{% endfor %}",
        "{% set l = [] %}{% for i in range(100000) %}{% do l.insert(0, i) %}{% endfor %}{% for i in range(100000) %}{% do l.pop(0) %}{% endfor %}",
        "{% set x %}{% for i in range(1000000) %}BIG{% endfor %}{% endset %}{{ x | length }}",
        "{% macro m() %}{% for i in range(1000000) %}BIG{% endfor %}{% endmacro %}{{ m() | length }}",
        "{% set l = [] %}{% set ns = namespace(x=l) %}{% for i in range(300000) %}{% set m = [] %}{% do m.append(ns.x) %}{% set ns.x = m %}{% endfor %}",
    ];
    for template in hostile {
        let text = template.replace("BIG", &"many words between two tags ".repeat(100));
        assert!(render(&text, &json!({})).is_err(), "{template}");
    }
}

/// A key, a path or an indexed text is read as often as it is used, and paid for as often.
#[test]
fn what_is_looked_up_again_and_again_is_paid_for() {
    let hostile = [
        "{% set m = {'a': 1} %}{% set k = 'x' * 4000000 %}{% for i in range(100000) %}{% if m[k] is defined %}{% endif %}{% endfor %}",
        "{% set m = {'a': 1} %}{% set k = 'x' * 4000000 %}{% for i in range(100000) %}{% if k in m %}{% endif %}{% endfor %}",
        "{% set m = {'a': 1} %}{% set k = 'x' * 4000000 %}{% for i in range(100000) %}{% if m.get(k) %}{% endif %}{% endfor %}",
        "{% set m = {'a': 1} %}{% set k = 'x' * 4000000 %}{% for i in range(100000) %}{% if (m | attr(k)) is defined %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 4000000 %}{% for i in range(100000) %}{% if x[-1] %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 4000000 %}{% for i in range(100000) %}{% if x[3999999 - i] %}{% endif %}{% endfor %}",
        "{{ ([{'a': 1}] * 1000) | map(attribute='x' * 4000000) | list }}",
        "{{ ([{'a': 1}] * 1000) | selectattr('x' * 4000000, 'defined') | list }}",
        "{{ range(100000) | select('in', range(100000) | list) | list }}",
    ];
    for template in hostile {
        let error = render(template, &json!({})).unwrap_err();
        assert_eq!(error.fault, RenderFault::Limit, "{template}: {error}");
    }
}

#[test]
fn a_namespace_that_holds_itself_can_be_shown() {
    let text = render(
        "{% set ns = namespace(a=1) %}{% set ns.me = ns %}{{ ns }}{{ ns | string | length }}",
        &json!({}),
    );
    assert!(text.is_ok_and(|text| text.contains("...")));
}

/// Sixteen times the input takes about sixteen times as long, or less; what is quadratic takes 256 times as long. Only the
/// time that this thread computes counts, and the quickest of a few runs, so a busy machine only makes the test longer.
#[test]
fn no_filter_takes_longer_than_its_input_grows() {
    let names: Vec<&str> = crate::template::FILTER_NAMES.to_vec();
    let sizes = [1 << 10, 16 << 10].map(|bytes| {
        let inputs = worst::inputs(bytes).into_iter();
        inputs.map(|(name, json)| (name, from_json(&json))).collect::<Vec<_>>()
    });
    let mut steep = Vec::new();
    for call in worst::calls(&names) {
        let source = TemplateSource { text: worst::template(&call).into(), base: None };
        let renderer = Renderer::new(&[source], &[], &BTreeMap::new());
        let time = |value: &TemplateValue| {
            let context = TemplateValue::from_pairs([("x", value.clone())]);
            let start = computed();
            let _ = renderer.render(TemplateId(0), context);
            (computed() - start).max(FLOOR)
        };
        for ((name, small), (_, large)) in sizes[0].iter().zip(&sizes[1]) {
            let (mut quick, mut slow) = (Duration::MAX, Duration::MAX);
            let is_steep = (0..8).all(|_| {
                (quick, slow) = (quick.min(time(small)), slow.min(time(large)));
                slow > quick * 48
            });
            steep.extend(is_steep.then(|| format!("{call} of {name}: {quick:?}, then {slow:?}")));
        }
    }
    assert!(steep.is_empty(), "{steep:#?}");
}

/// How long this thread has computed.
fn computed() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// What takes less is a failure's message, and not worth comparing.
const FLOOR: Duration = Duration::from_micros(20);

#[test]
fn running_out_is_told_from_other_failures() {
    let endless = "{% for a in range(1000000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}";
    assert_eq!(render(endless, &json!({})).unwrap_err().fault, RenderFault::Limit);
    assert_eq!(render("{{ x }}", &json!({})).unwrap_err().fault, RenderFault::Undefined);
    assert_eq!(render("{% if %}", &json!({})).unwrap_err().fault, RenderFault::Syntax);
    assert_eq!(render("{{ 1 / 0 }}", &json!({})).unwrap_err().fault, RenderFault::Other);
}

/// Wherever it is cut off, a rendering says that it was, and what is rendered afterwards says so at once.
#[test]
fn a_rendering_can_be_cancelled_at_any_look() {
    let text = "{% for i in x %}{{ i | upper }}{{ x[i] + 'b' }}{% endfor %}{{ x | length }}";
    let source = TemplateSource { text: text.into(), base: None };
    let condition = ConditionSource { text: "x | length > 1".into() };
    let context = || TemplateValue::from_pairs([("x", from_json(&json!({"a": "1", "c": "2"})))]);
    let mut looks = 0;
    loop {
        let (texts, conditions) = (std::slice::from_ref(&source), std::slice::from_ref(&condition));
        let renderer = Renderer::new(texts, conditions, &BTreeMap::new());
        renderer.cancellation().cancel_after(looks);
        match renderer.render(TemplateId(0), context()) {
            Ok(rendered) => {
                assert_eq!(rendered, "A1bC2b2");
                break assert!(!renderer.cancellation().took_effect());
            }
            Err(error) => assert_eq!(error.fault, RenderFault::Cancelled, "{error}"),
        }
        assert!(renderer.cancellation().took_effect());
        assert_eq!(renderer.test(ConditionId(0), context()).unwrap_err().fault, RenderFault::Cancelled);
        looks += 1;
    }
    assert!(looks > 10, "it looks as often as it pays: {looks}");
}

#[test]
fn a_lookup_in_a_loop_means_what_it_means_elsewhere() {
    let context = json!({"m": {"a": 1, "b": [5, 6]}, "k": ["a", "b"], "t": "xyz"});
    let cases = [
        ("{% for n in k %}{{ m[n] }};{% endfor %}", "1;[5, 6];"),
        ("{% for n in [0, 1] %}{{ m[k[1]][n] }}{{ t[n] }}{{ t[-1 - n] }};{% endfor %}", "5xz;6yy;"),
        ("{% for n in k %}{{ m[n ~ 'x'] | default('-') }}{{ m[n] is defined }};{% endfor %}", "-True;-True;"),
        ("{% for n in [6] %}{{ n is divisibleby m[k[0]] }}{{ n in m[k[1]] }}{% endfor %}", "TrueTrue"),
    ];
    for (text, expected) in cases {
        assert_eq!(render(text, &context).as_deref(), Ok(expected), "{text}");
    }
    let missing = render("{% for n in k %}{{ m[t] }}{% endfor %}", &context).unwrap_err();
    assert_eq!((missing.fault, missing.expression.as_str()), (RenderFault::Undefined, "{{ m[t] }}"));
    assert!(!missing.message.contains("__"), "{missing}");
}

#[test]
fn a_long_list_is_walked_to_its_end() {
    let items: Vec<u32> = (0..100_000).collect();
    let text = render("{% for i in items %}{{ i }},{% endfor %}", &json!({"items": items})).unwrap();
    assert!(text.ends_with("99999,"));
}

#[test]
fn a_syntax_error_is_found_with_its_place() {
    let cases =
        ["{% if x %} open", "{{ x", "{{ x | }}", "{% endif %}", "{{ 1 + }}", "{% frob %}", "{{ a b }}"];
    for text in cases {
        let error = parse_template(text, None, &Default::default()).unwrap_err();
        assert!(error.message.contains("template syntax error"), "{text}: {error}");
        assert!(error.range.is_none_or(|range| range.end <= text.len()), "{text}");
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    let cases = [
        ("{{ x | uper }}", "unknown filter `uper`", Some("did you mean `upper`?")),
        ("{{ x is definde }}", "unknown test `definde`", Some("did you mean `defined`?")),
        ("{{ rnge(3) }}", "unknown function `rnge`", Some("did you mean `range`?")),
        ("{{ x | map('uper') | list }}", "unknown filter `uper`", Some("did you mean `upper`?")),
        ("{{ x | selectattr('a', 'equalt') }}", "unknown test `equalt`", Some("did you mean `equalto`?")),
        ("{{ x | xyzzyplugh }}", "unknown filter `xyzzyplugh`", None),
    ];
    for (text, message, help) in cases {
        let error = parse_template(text, None, &Default::default()).unwrap_err();
        assert_eq!((error.message.as_str(), error.help.as_deref()), (message, help), "{text}");
    }
}

#[test]
fn line_ends_become_newlines() {
    for text in ["a\r\nb\rc", "a\r\n{{ 'b' }}\rc"] {
        assert_eq!(render(text, &json!({})), Ok("a\nb\nc".to_owned()));
    }
}

#[test]
fn sorting_what_has_no_order_is_an_error() {
    let items: Vec<Value> = (0..60).map(|at| if at % 3 == 0 { json!("x") } else { json!(59 - at) }).collect();
    assert!(render("{{ items | sort }}", &json!({"items": items})).is_err());
    let sorted =
        render("{{ items | reject('string') | sort | join(' ') }}", &json!({"items": items})).unwrap();
    assert!(sorted.starts_with("0 1 3 4"), "{sorted}");
}

#[test]
fn a_text_without_tags_is_itself() {
    for text in ["", "plain", "a { b } %", "trailing\n", "{ {x} }", "100 % { #"] {
        assert!(is_literal(text));
        assert_eq!(render(text, &json!({})), Ok(text.to_owned()));
    }
    for text in ["{{ x }}", "{% raw %}{% endraw %}", "{# c #}"] {
        assert!(!is_literal(text));
    }
}

/// Python's `repr` of JSON, written down independently of the code under test.
fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.contains('\'') => format!("\"{text}\""),
        Value::String(text) => format!("'{text}'"),
        Value::Array(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, item)| format!("'{key}': {}", repr(item)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1000..1000).prop_map(|number| Value::from(f64::from(number) / 4.0)),
        "[a-zA-Z' ]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,5}", inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn containers_print_as_python_prints_them(value in tree()) {
        let wrapped = json!([value]);
        prop_assert_eq!(python_text(&from_json(&wrapped)), repr(&wrapped));
    }

    #[test]
    fn json_survives_the_way_there_and_back(value in tree()) {
        prop_assert_eq!(to_json(&from_json(&value)), value.clone());
        prop_assert_eq!(to_json(&from_json_text(&value.to_string()).unwrap()), value.clone());
        let printed = render("{{ v | json }}", &json!({"v": value.clone()})).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), value);
    }

    #[test]
    fn any_text_parses_or_is_refused(text in "(\\{\\{|\\}\\}|\\{%|%\\}|if |for |x|in |[0-9]|[-+*/%~|.,:<>=()\\[\\]{} '\"]){0,20}") {
        if parse_template(&text, None, &Default::default()).is_ok() {
            let _ = render(&text, &json!({"x": 1}));
        }
    }
}
