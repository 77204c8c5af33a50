//! The inputs on which filters and methods are slowest, of any size: for the test that none of them is quadratic, and for
//! the table of seconds that `examples/filter_seconds.rs` prints.

use serde_json::{Value as Json, json};

/// Inputs of about `bytes` bytes, each with a name.
pub fn inputs(bytes: usize) -> Vec<(&'static str, Json)> {
    let of = |unit: &str| Json::from(unit.repeat(bytes / unit.len()));
    let nested = |inner: Json, levels: usize| (0..levels).fold(inner, |inner, _| json!([inner]));
    let keys: serde_json::Map<String, Json> =
        (0..bytes / 16).map(|at| (format!("k{at:06}"), Json::from(at))).collect();
    vec![
        ("one word", of("a")),
        ("words", of("ab ")),
        ("blanks", of(" ")),
        ("lines", of("a\n")),
        ("tabs", of("\t")),
        ("accents", of("é")),
        ("controls", of("\u{1}")),
        ("hyphens", of("ab-cd-")),
        ("tags that stay open", of("<")),
        ("comments that stay open", of("<!--")),
        ("entities that stay open", of("&")),
        ("links", of("https://a.b/c ")),
        ("directives", of("%")),
        ("names that stay open", of("%(")),
        ("fields that stay open", of("{!")),
        ("doubled braces", of("{{!")),
        ("digits", of("9")),
        ("a deep text", nested(of("a"), 100)),
        ("a deep list", nested(json!(vec![1; bytes / 2]), 100)),
        ("texts", json!(vec!["ab"; bytes / 5])),
        ("numbers", json!((0..bytes / 7).collect::<Vec<_>>())),
        ("maps", json!(vec![json!({"a": 1}); bytes / 9])),
        ("pairs", json!(vec![json!(["a", 1]); bytes / 9])),
        ("a map", Json::Object(keys)),
    ]
}

/// A template that makes the call and shows nothing of what it gives.
pub fn template(call: &str) -> String {
    format!("{{% set y = ({call}) %}}")
}

/// Calls of `x`: every filter as it stands, and those whose arguments make it slow.
pub fn calls(filters: &[&str]) -> Vec<String> {
    let plain = filters.iter().map(|name| format!("x | {name}"));
    let with_arguments = [
        "x | attr('a')",
        "x | batch(1)",
        "x | batch(3, 'x')",
        "x | center(100)",
        "x | default(x)",
        "x | dictsort(by='value')",
        "x | format(1)",
        "x | format(a=x)",
        "'%s' | format(x)",
        "'%r' | format(x)",
        "x | groupby('a')",
        "x | indent(1)",
        "x | indent(x)",
        "x | int(base=0)",
        "x | join(', ')",
        "'ab' | join(x)",
        "x | json(indent=8)",
        "x | json(indent=none)",
        "x | map('upper') | list",
        "x | map(attribute='a') | list",
        "x | reject('in', 'ab')",
        "x | batch(2)",
        "x | rejectattr('a')",
        "x | replace('a', 'bb')",
        "x | replace('', 'b')",
        "x | replace(x, '')",
        "x | round(2)",
        "x | select('string')",
        "x | selectattr('a', 'eq', 1)",
        "x | slice(1)",
        "x | slice(3, 'x')",
        "x | sort(attribute='a')",
        "x | sort(reverse=true)",
        "x | sum(start='')",
        "x | sum(attribute='a')",
        "x | trim(x)",
        "x | trim('b' ~ x)",
        "x | truncate(999999999)",
        "x | truncate(9, true)",
        "x | unique(attribute='a')",
        "x | urlize(9)",
        "x | wordwrap(1)",
        "x | wordwrap(1, true, '----')",
        "x | wordwrap(79, false)",
        "x | wordwrap(999999999)",
        "x | xmlattr(false)",
        "x + x",
        "x ~ x",
        "x * 2",
        "x % 1",
        "x % (1, 2)",
        "x[1:]",
        "x[::-1]",
        "x == x ~ 'a'",
        "x < x",
        "'b' in x",
        "x.capitalize()",
        "x.center(9)",
        "x.count('aa')",
        "x.endswith('b')",
        "x.expandtabs()",
        "x.find('ab')",
        "x.format(1)",
        "x.format(x)",
        "x.format_map({'a': x})",
        "x.isprintable()",
        "x.istitle()",
        "x.join(['a', 'b'])",
        "x.lower()",
        "x.lstrip(x)",
        "x.partition('b')",
        "x.removeprefix('a')",
        "x.replace('a', 'bb')",
        "x.rfind('ab')",
        "x.rpartition('b')",
        "x.rsplit()",
        "x.rsplit('a')",
        "x.split()",
        "x.split('a')",
        "x.splitlines()",
        "x.strip(x)",
        "x.swapcase()",
        "x.title()",
        "x.upper()",
        "x.zfill(9)",
        "x.index(2)",
        "x.items() | list",
        "x.copy()",
        "x.get('a')",
    ];
    plain.chain(with_arguments.map(str::to_owned)).collect()
}

/// Calls whose time grows with the square of their input by their meaning, so that they are refused where it is large.
#[allow(dead_code)] // only the table has a use for them
pub const QUADRATIC: [&str; 4] =
    ["x | reject('in', x)", "x | select('in', x)", "x | map(attribute=x) | list", "x | selectattr(x)"];
