//! What Python's Jinja2 3.1 gives for a few hundred expressions, with Conductor's settings and its two own filters.

use serde_json::{Value, json};

use super::render;

fn context() -> Value {
    json!({
        "s": "it's \"q\" é",
        "n": null,
        "f": 3.0,
        "i": 7,
        "l": [
            "a",
            "b",
            "c"
        ],
        "z": 0,
        "e": "",
        "d": {
            "b": [
                1,
                "x",
                null,
                true
            ],
            "a": {
                "k": 1.5
            }
        },
        "rows": [
            {
                "n": "x",
                "v": 3
            },
            {
                "n": "y",
                "v": 1
            },
            {
                "n": "z",
                "v": 2
            }
        ],
        "m": {
            "items": [
                1,
                2
            ],
            "keys": "k"
        },
        "nums": [
            3,
            1,
            2
        ],
        "mixed": [
            "b",
            "A",
            "a",
            "C"
        ],
        "html": "<b>a & \"b\"</b>",
        "big": 12345678901_i64,
        "t": true,
        "text": "The quick brown fox jumps over the lazy dog. Well-known long-winded words; superlongwordthatdoesnotfitanywhere.\nSecond line here.",
        "people": [
            {
                "name": "bob",
                "city": "X",
                "age": 3
            },
            {
                "name": "Al",
                "city": "y",
                "age": 5
            },
            {
                "name": "cy",
                "city": "X",
                "age": 4
            }
        ]
    })
}

/// Templates and their text.
#[rustfmt::skip]
const GIVES: &[(&str, &str)] = &[
    (r#"{{ "a,b,c".split(",") }} {{ "ab".upper() }} {{ " x ".strip() }}| {{ "abc"[1:] }} {{ "abc"[-1] }} {{ "abc"[::-1] }}"#, "['a', 'b', 'c'] AB x| bc c cba"),
    (r#"{{ "x".join(l) }} {{ "abc".replace("b", "-") }} {{ "abc".startswith("ab") }} {{ "a-b".split("-")[1] }} {{ "%s:%03d" % ("n", 7) }}"#, "axbxc a-c True b n:007"),
    (r#"{{ "{} and {}".format(1, "two") }} {{ l[:2] }} {{ l.index("c") }} {{ l + ["d"] }} {{ "abc".find("z") }} {{ "ab" * 2 }}"#, "1 and two ['a', 'b'] 2 ['a', 'b', 'c', 'd'] -1 abab"),
    (r#"{{ "hello world".title() }} {{ "one two".capitalize() }} {{ "abc".endswith(("c", "d")) }} {{ "7".zfill(3) }}"#, "Hello World One two True 007"),
    ("{{ rows | map(attribute='n') | join(', ') }} {{ rows | sum(attribute='v') }} {{ rows | sort(attribute='v') | map(attribute='n') | list }}", "x, y, z 6 ['y', 'z', 'x']"),
    ("{{ rows | selectattr('v', 'ge', 2) | list | length }} {{ rows | rejectattr('n', 'equalto', 'x') | map(attribute='v') | max }} {{ [3, 1, 2] | sort(reverse=true) }}", "2 2 [3, 2, 1]"),
    (r#"{{ "some long text here" | truncate(9) }} {{ "a b c" | wordcount }} {{ 3.14159 | round(2) }} {{ 2.5 | round | int }} {{ "abc" | first }}{{ "abc" | last }} {{ "5" | int + 1 }} {{ "x" | int(7) }}"#, "some... 3 3.14 2 ac 6 7"),
    (r#"{{ [1, [2, 3]] | string }} {{ [1, 2, 3, 4] | batch(2) | list }} {{ ["b", "a", "b"] | unique | list }} {{ "Hi" | lower }} {{ "a<b" | escape }} {{ [1, 2] | first }} {{ "x y" | urlencode }}"#, "[1, [2, 3]] [[1, 2], [3, 4]] ['b', 'a'] hi a&lt;b 1 x%20y"),
    (r#"{{ rows | groupby('v') | map('first') | list }} {{ 1234567 | filesizeformat }} {{ [0, 1, none, "x"] | select | list }}"#, "[1, 2, 3] 1.2 MB [1, 'x']"),
    ("{% if z %}yes{% elif l %}list{% else %}no{% endif %}", "list"),
    ("{% for x in [] %}{{ x }}{% else %}none at all{% endfor %}", "none at all"),
    ("{% set ns = namespace(t=0) %}{% for r in rows if r.v > 1 %}{% set ns.t = ns.t + r.v %}{% endfor %}total {{ ns.t }}", "total 5"),
    ("{% macro box(x, w=2) %}[{{ x * w }}]{% endmacro %}{{ box('ab') }} {{ box('c', w=3) }}", "[abab] [ccc]"),
    ("{% raw %}{{ not rendered }}{% endraw %} {# gone #}end", "{{ not rendered }} end"),
    ("{% set block %}cap{{ 1 }}{% endset %}{{ block }}{% for a, b in [(1, 2)] %} {{ loop.index0 }}{{ loop.first }}{{ loop.length }}{{ a + b }}{% endfor %}", "cap1 0True13"),
    ("{{ m.items }} {{ m['items'] | length }} {{ m.keys }} {{ m.values() | list | length }}", "[1, 2] 2 k 2"),
    ("{{ d }} {{ l }} {{ n }} {{ t }} {{ f }} {{ 6/2 }} {{ 7//2 }} {{ 7%3 }} {{ -7//2 }} {{ -7%3 }} {{ 2**10 }} {{ 2**-1 }}", "{'b': [1, 'x', None, True], 'a': {'k': 1.5}} ['a', 'b', 'c'] None True 3.0 3.0 3 1 -4 2 1024 0.5"),
    ("{{ d|tojson }} {{ d|json }} {{ s|tojson }} {{ s|json }} {{ html|tojson }}", "{\"a\": {\"k\": 1.5}, \"b\": [1, \"x\", null, true]} {\n  \"b\": [\n    1,\n    \"x\",\n    null,\n    true\n  ],\n  \"a\": {\n    \"k\": 1.5\n  }\n} \"it\\u0027s \\\"q\\\" \\u00e9\" \"it's \\\"q\\\" \\u00e9\" \"\\u003cb\\u003ea \\u0026 \\\"b\\\"\\u003c/b\\u003e\""),
    ("{{ d|tojson(indent=2) }} {{ d|json(indent=none) }} {{ d|json(4) }} {{ []|json }} {{ {}|json }} {{ [[],{}]|json }}", "{\n  \"a\": {\n    \"k\": 1.5\n  },\n  \"b\": [\n    1,\n    \"x\",\n    null,\n    true\n  ]\n} {\"b\": [1, \"x\", null, true], \"a\": {\"k\": 1.5}} {\n    \"b\": [\n        1,\n        \"x\",\n        null,\n        true\n    ],\n    \"a\": {\n        \"k\": 1.5\n    }\n} [] {} [\n  [],\n  {}\n]"),
    ("{{ nope|default('x') }} {{ n|default('y') }} {{ n|d('y') }} {{ e|default('z', true) }} {{ e|d('q', true) }} {{ z|default(5,boolean=true) }} {{ nope|default }}|", "x y None z q 5 |"),
    ("{{ nope is defined }} {{ d is defined }} {{ d.q is defined }} {{ nope is undefined }}", "False True False True"),
    ("{{ 1 < i < 10 }} {{ 1 < i > 10 }} {{ 'a' < 'b' }} {{ [1,2] < [1,3] }} {{ 1 == 1.0 }} {{ true == 1 }} {{ '1' == 1 }}", "True False True True True True False"),
    (r#"{{ "%s" % "x" }} {{ "%d%%" % 5 }} {{ "%5.2f|%-5s|%x" % (3.14159, "ab", 255) }} {{ "%(a)s" % {"a": 1} }} {{ "%r" % "x" }} {{ "%s" % [1,2] }} {{ "%s %s" % (true, none) }}"#, "x 5%  3.14|ab   |ff 1 'x' [1, 2] True None"),
    (r#"{{ "{0} {1} {0}".format("a", "b") }} {{ "{x}-{y:>5}".format(x=1, y="q") }} {{ "{:.2f}".format(3.14159) }} {{ "{:05d}".format(42) }} {{ "{:,}".format(1234567) }} {{ "{!r}".format("a") }}"#, "a b a 1-    q 3.14 00042 1,234,567 'a'"),
    ("{{ range(3) }} {{ range(3)|list }} {{ range(1,10,3)|list }} {{ range(5,0,-2)|list }}", "range(0, 3) [0, 1, 2] [1, 4, 7] [5, 3, 1]"),
    ("{{ dict(a=1, b=2) }} {{ dict([('x',1)]) }} {{ dict(a=1).a }} {{ dict(d, c=3)|length }}", "{'a': 1, 'b': 2} {'x': 1} 1 3"),
    ("{{ d.keys() }} {{ d.values() }} {{ d.items() }} {{ d.keys()|list }} {{ d.get('q') }} {{ d.get('q', 5) }} {{ d.get('a') }}", "dict_keys(['b', 'a']) dict_values([[1, 'x', None, True], {'k': 1.5}]) dict_items([('b', [1, 'x', None, True]), ('a', {'k': 1.5})]) ['b', 'a'] None 5 {'k': 1.5}"),
    ("{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %} {% for k in d %}{{ k }}{% endfor %} {% for k,v in d|items %}{{ k }}{% endfor %}", "b=[1, 'x', None, True];a={'k': 1.5}; ba ba"),
    ("{{ d|dictsort }} {{ {'b':1,'A':2}|dictsort }} {{ {'b':1,'A':2}|dictsort(true) }} {{ {'b':1,'A':2}|dictsort(by='value', reverse=true) }}", "[('a', {'k': 1.5}), ('b', [1, 'x', None, True])] [('A', 2), ('b', 1)] [('A', 2), ('b', 1)] [('A', 2), ('b', 1)]"),
    ("{{ mixed|sort }} {{ mixed|sort(case_sensitive=true) }} {{ mixed|unique|list }} {{ mixed|min }} {{ mixed|max }} {{ nums|min }} {{ rows|max(attribute='v') }}", "['A', 'a', 'b', 'C'] ['A', 'C', 'a', 'b'] ['b', 'A', 'C'] A C 1 {'n': 'x', 'v': 3}"),
    ("{{ people|groupby('city') }}", "[('X', [{'name': 'bob', 'city': 'X', 'age': 3}, {'name': 'cy', 'city': 'X', 'age': 4}]), ('y', [{'name': 'Al', 'city': 'y', 'age': 5}])]"),
    ("{% for c, ps in people|groupby('city') %}{{ c }}: {{ ps|map(attribute='name')|join(',') }}; {% endfor %}{% for g in people|groupby('city') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}", "X: bob,cy; y: Al; X2y1"),
    ("{{ people|groupby('nope', default='NY') }}", "[('NY', [{'name': 'bob', 'city': 'X', 'age': 3}, {'name': 'Al', 'city': 'y', 'age': 5}, {'name': 'cy', 'city': 'X', 'age': 4}])]"),
    ("{{ people|sort(attribute='city,age')|map(attribute='name')|list }} {{ people|sort(attribute='name', reverse=true)|map(attribute='name')|list }}", "['bob', 'cy', 'Al'] ['cy', 'bob', 'Al']"),
    ("{{ [1,2,3,4,5]|batch(2, 'x')|list }} {{ [1,2,3,4,5]|slice(3)|list }} {{ [1,2,3,4,5]|slice(3,'x')|list }} {{ [1,2,3,4,5,6]|slice(3,'x')|list }}", "[[1, 2], [3, 4], [5, 'x']] [[1, 2], [3, 4], [5]] [[1, 2], [3, 4], [5, 'x']] [[1, 2, 'x'], [3, 4, 'x'], [5, 6, 'x']]"),
    ("{{ text|truncate(20) }}|{{ text|truncate(20, true) }}|{{ text|truncate(20, false, '>') }}|{{ 'hello world'|truncate(6, leeway=0) }}|{{ 'hello world'|truncate(6) }}", "The quick brown...|The quick brown f...|The quick brown>|hel...|hello world"),
    ("{{ text|wordwrap(20) }}", "The quick brown fox\njumps over the lazy\ndog. Well-known\nlong-winded words; s\nuperlongwordthatdoes\nnotfitanywhere.\nSecond line here."),
    ("{{ text|wordwrap(10) }}", "The quick\nbrown fox\njumps over\nthe lazy\ndog. Well-\nknown\nlong-\nwinded\nwords; sup\nerlongword\nthatdoesno\ntfitanywhe\nre.\nSecond\nline here."),
    ("{{ text|wordwrap(10, false) }}", "The quick\nbrown fox\njumps over\nthe lazy\ndog. Well-\nknown\nlong-\nwinded\nwords;\nsuperlongwordthatdoesnotfitanywhere.\nSecond\nline here."),
    ("{{ text|wordwrap(30, wrapstring='|') }}", "The quick brown fox jumps over|the lazy dog. Well-known long-|winded words; superlongwordtha|tdoesnotfitanywhere.|Second line here."),
    (r#"{{ text|wordcount }} {{ "it's"|wordcount }} {{ text|title }} {{ "it's a dog-house (big)"|title }} {{ "it's a dog-house".title() }}"#, "18 2 The Quick Brown Fox Jumps Over The Lazy Dog. Well-Known Long-Winded Words; Superlongwordthatdoesnotfitanywhere.\nSecond Line Here. It's A Dog-House (Big) It'S A Dog-House"),
    ("{{ text|indent }} {{ 'a\n\nb'|indent(2) }} {{ 'a\n\nb'|indent(2, true, true) }} {{ 'a\nb'|indent('>>') }} {{ 'a\n'|indent(2) }}|", "The quick brown fox jumps over the lazy dog. Well-known long-winded words; superlongwordthatdoesnotfitanywhere.\n    Second line here. a\n\n  b   a\n  \n  b a\n>>b a\n|"),
    ("{{ 1000|filesizeformat }} {{ 1|filesizeformat }} {{ 999|filesizeformat }} {{ 1234567890|filesizeformat }} {{ 1024|filesizeformat(true) }} {{ '2048'|filesizeformat(binary=true) }}", "1.0 kB 1 Byte 999 Bytes 1.2 GB 1.0 KiB 2.0 KiB"),
    ("{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 1234.5|round(-2) }} {{ 42|round }} {{ 42.4|round(method='ceil') }} {{ 42.55|round(1,'floor') }} {{ 1.005|round(2) }}", "2.0 4.0 2.67 1200.0 42 43.0 42.5 1.0"),
    ("{{ '12'|int }} {{ '12.7'|int }} {{ 'abc'|int }} {{ 'abc'|int(-1) }} {{ '0x1A'|int(0,16) }} {{ '1010'|int(base=2) }} {{ 3.9|int }} {{ true|int }} {{ '3.5'|float }} {{ 'x'|float(1.5) }} {{ none|int }} {{ [1]|int }}", "12 12 0 -1 26 10 3 1 3.5 1.5 0 0"),
    ("{{ [1,2,3]|sum }} {{ [1.5,2]|sum }} {{ [1,2]|sum(start=10) }} {{ []|sum }}", "6 3.5 13 0"),
    ("{{ html|striptags }} {{ html|escape }} {{ html|e }} {{ html|forceescape }} {{ html|safe }} {{ '<p>a <!-- c --> b</p>'|striptags }}", r#"a & "b" &lt;b&gt;a &amp; &#34;b&#34;&lt;/b&gt; &lt;b&gt;a &amp; &#34;b&#34;&lt;/b&gt; &lt;b&gt;a &amp; &#34;b&#34;&lt;/b&gt; <b>a & "b"</b> a b"#),
    (r#"{{ {'class':'x','id':none,'data-a':'"q"'}|xmlattr }} {{ {'a':1}|xmlattr(false) }}"#, r#" class="x" data-a="&#34;q&#34;" a="1""#),
    ("{{ 'a b/c?d=é'|urlencode }} {{ {'a':'x y','b':1}|urlencode }} {{ [('k','v w')]|urlencode }}", "a%20b/c%3Fd%3D%C3%A9 a=x+y&b=1 k=v+w"),
    ("{{ 'see http://x.org/a. ok'|urlize }}", r#"see <a href="http://x.org/a" rel="noopener">http://x.org/a</a>. ok"#),
    ("{{ 'abc'|reverse }} {{ [1,2,3]|reverse|list }} {{ 'abc'|list }} {{ {'a':1}|list }} {{ 'abc'|length }} {{ {'a':1}|count }} {{ l|first }} {{ l|last }}", "cba [3, 2, 1] ['a', 'b', 'c'] ['a'] 3 1 a c"),
    ("{{ '  a '|trim }}| {{ 'xxaxx'|trim('x') }} {{ 'aaa'|replace('a','b',2) }} {{ 'abc'|center(9) }}| {{ 'abcd'|center(9) }}| {{ 'abc'.center(8,'*') }} {{ 'abc'.center(9,'*') }} {{ 'abcd'.center(7,'*') }}", "a| a bba    abc   |    abcd  | **abc*** ***abc*** **abcd*"),
    ("{{ '%s-%s'|format('a', 1) }} {{ '%(x)s'|format(x=2) }} {{ [1,2]|map('string')|list }} {{ ['a','b']|map('upper')|join }} {{ [1,2,3]|map('round', 1)|list }}", "a-1 2 ['1', '2'] AB [1, 2, 3]"),
    ("{{ rows|map(attribute='q', default=0)|list }} {{ [{'a':{'b':1}}]|map(attribute='a.b')|list }} {{ [[1,2],[3,4]]|map(attribute=0)|list }} {{ [[1,2],[3,4]]|map('last')|list }}", "[0, 0, 0] [1] [1, 3] [2, 4]"),
    ("{{ [1,2,3,4]|select('odd')|list }} {{ [1,2,3,4]|reject('odd')|list }} {{ [1,2,3]|select('gt',1)|list }} {{ [1,2,3]|select('in',[1,5])|list }} {{ [none,1]|reject('none')|list }} {{ rows|selectattr('v','in',[1,2])|map(attribute='n')|list }} {{ rows|selectattr('v')|list|length }}", "[1, 3] [2, 4] [2, 3] [1] [1] ['y', 'z'] 3"),
    ("{% for x in l %}{{ loop.index }}/{{ loop.revindex }}{{ loop.cycle('a','b') }}{{ loop.previtem if not loop.first }}{{ loop.nextitem if not loop.last }}{{ loop.changed(x) }}{{ loop.depth }} {% endfor %}", "1/3abTrue1 2/2bacTrue1 3/1abTrue1 "),
    ("{% for x in l %}{% if x == 'b' %}{% continue %}{% endif %}{{ x }}{% endfor %}{% for x in l %}{% if x == 'b' %}{% break %}{% endif %}{{ x }}{% endfor %}", "aca"),
    ("{% for row in [{'n':1,'c':[{'n':2,'c':[]}]}] recursive %}{{ row.n }}[{{ loop(row.c) }}]{% endfor %}", "1[2[]]"),
    ("{% macro f(a) %}<{{ caller(a) }}>{% endmacro %}{% call(x) f(3) %}got {{ x }}{% endcall %}", "<got 3>"),
    ("{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}hi{% endcall %}", "hi"),
    ("{% with a=1, b=2 %}{{ a + b }}{% endwith %}", "3"),
    ("{% filter upper %}abc{{ i }}{% endfilter %}", "ABC7"),
    ("{% set x, y = 1, 2 %}{{ x }}{{ y }}", "12"),
    ("{% set x = 5 if t else 6 %}{{ x }}", "5"),
    ("{% set x | upper %}abc{% endset %}{{ x }}", "ABC"),
    ("{% set l2 = [] %}{% for x in l %}{% set _ = l2.append(x ~ '!') %}{% endfor %}{{ l2 }} {{ l2|length }} {{ l2[0] }} {{ l2[-1] }} {{ l2[1:] }}", "['a!', 'b!', 'c!'] 3 a! c! ['b!', 'c!']"),
    ("{% set l2 = [] %}{% for x in l %}{% do l2.append(x) %}{% endfor %}{{ l2|join(',') }}{{ l2.pop() }}{{ l2 }}{{ l2.extend([1,2]) }}{{ l2 }}{{ l2.insert(0,'q') }}{{ l2.remove('a') }}{{ l2 }}", "a,b,cc['a', 'b']None['a', 'b', 1, 2]NoneNone['q', 'b', 1, 2]"),
    ("{% set q = {} %}{% do q.update({'a':1}) %}{% set _ = q.update(b=2) %}{{ q }} {{ q.pop('a') }} {{ q.setdefault('z', []) }} {{ q }} {{ q.z }}", "{'a': 1, 'b': 2} 1 [] {'b': 2, 'z': []} []"),
    ("{% set q = {'a':[1]} %}{% do q['a'].append(2) %}{{ q }} {% set o = [3,1,2] %}{{ o.sort() }}{{ o }}{{ o.reverse() }}{{ o }}", "{'a': [1, 2]} None[1, 2, 3]None[3, 2, 1]"),
    ("{% set c = cycler('a','b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.next() }}", "abaaNonea"),
    ("{% set j = joiner('|') %}{{ j() }}a{{ j() }}b{{ j() }}c", "a|b|c"),
    ("{{ 'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1,'x'] }}", "a1NoneTrue1.0[1, 'x']"),
    ("{{ 1 in [1,2] }} {{ 'a' in 'abc' }} {{ 'a' not in l }} {{ 'b' in d }} {{ 1 not in [2] and 2 in [2] }}", "True True False True True"),
    ("{{ not true }} {{ not z }} {{ true and 'x' }} {{ '' or 'y' }} {{ z or n or 'q' }}", "False True x y q"),
    (r#"{{ "a" if t else "b" }} {{ "a" if z }}|"#, "a |"),
    ("{{ 10 / 4 }} {{ 10 // 4 }} {{ 10.0 // 4 }} {{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 2 ** 0.5 }} {{ 2 ** 100 }} {{ 1 / 3 }} {{ 1e308 * 10 }}", "2.5 2 2.0 1.5 0.5 1.4142135623730951 1267650600228229401496703205376 0.3333333333333333 inf"),
    (r#"{{ "abcdef"[1:4] }} {{ "abcdef"[::2] }} {{ "abcdef"[4:1:-1] }} {{ "abcdef"[:-2] }} {{ "abcdef"[-3:] }} {{ "abcdef"[3:0:-1] }} {{ "abc"[0:2:-1] }}| {{ l[5:] }} {{ (1,2,3)[:2] }} {{ l[::-1] }} {{ "abc"[10:] }}|"#, "bcd ace edc abcd def dcb | [] (1, 2) ['c', 'b', 'a'] |"),
    (r#"{{ l[-1] }} {{ l[0] }} {{ "abc"[1] }} {{ (l + ['z'])[-1] }} {{ l[1:][0] }} {{ range(5)[2] }} {{ range(5)[-1] }} {{ range(10)[2:4] is defined }}"#, "c a b z b 2 4 True"),
    ("{{ d['a']['k'] }} {{ d.b[0] }} {{ d.b.0 }} {{ d['b'][1] }} {{ rows[0].n }} {{ rows[-1]['v'] }}", "1.5 1 1 x x 2"),
    ("{{ 1 is number }} {{ 1.0 is float }} {{ 1 is integer }} {{ true is integer }} {{ true is number }} {{ true is boolean }} {{ 's' is string }} {{ l is sequence }} {{ 's' is sequence }} {{ d is sequence }} {{ d is mapping }} {{ l is mapping }} {{ l is iterable }} {{ 5 is iterable }} {{ none is none }} {{ n is none }} {{ n is not none }}", "True True True False True True True True True True True False True False True True False"),
    ("{{ 3 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(4) }} {{ 'a' is lower }} {{ 'A' is upper }} {{ 1 is sameas 1 }} {{ true is sameas true }} {{ 1 is sameas true }} {{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 3 is gt 2 }} {{ 3 is le 2 }} {{ 1 is in [1] }} {{ 'upper' is filter }} {{ 'odd' is test }} {{ range is callable }} {{ 5 is callable }} {{ true is true }} {{ 1 is true }} {{ false is false }}", "True True True False True True True True False True True True False True True True True False True False True"),
    ("{{ 'x,y'.split(',')|list }} {{ 'a b  c'.split() }} {{ 'a b  c'.split(' ') }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b '.split(none, 1) }} {{ 'a b c'.rsplit(none,1) }} {{ 'a,b'.split(sep=',', maxsplit=1) }}", "['x', 'y'] ['a', 'b', 'c'] ['a', 'b', '', 'c'] ['a', 'b,c'] ['a,b', 'c'] ['a', 'b '] ['a b', 'c'] ['a', 'b']"),
    ("{{ 'abcabc'.find('c') }} {{ 'abcabc'.rfind('c') }} {{ 'abcabc'.find('a', 1) }} {{ 'abcabc'.index('b') }} {{ 'abcabc'.count('bc') }} {{ 'abc'.count('') }} {{ 'é'.upper() }}", "2 5 3 1 2 4 É"),
    ("{{ 'k=v=w'.partition('=') }} {{ 'k=v=w'.rpartition('=') }} {{ 'x'.partition('=') }} {{ 'x'.rpartition('=') }}", "('k', '=', 'v=w') ('k=v', '=', 'w') ('x', '', '') ('', '', 'x')"),
    (r#"{{ 'ab'.ljust(5,'.') }}{{ 'ab'.rjust(5) }}{{ '-5'.zfill(4) }} {{ '+5'.zfill(4) }} {{ 'TeSt'.swapcase() }} {{ 'TeSt'.casefold() }} {{ 'a\tb'.expandtabs(4) }}"#, "ab...   ab-005 +005 tEsT test a   b"),
    ("{{ 'abc'.isalpha() }} {{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }} {{ 'Ab'.istitle() }} {{ 'AB'.isupper() }} {{ 'ab'.islower() }} {{ ''.isdigit() }} {{ '½'.isnumeric() }} {{ 'a_1'.isidentifier() }} {{ '²'.isdigit() }} {{ '²'.isdecimal() }}", "True True True True True True True False True True True False"),
    ("{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.md'.removesuffix('.md') }} {{ 'xxabxx'.strip('x') }} {{ 'xxab'.lstrip('x') }} {{ 'abxx'.rstrip('x') }} {{ 'a\nb\\r\nc'.splitlines() }} {{ 'a\nb'.splitlines(true) }} {{ 'a\nb'.splitlines(keepends=true) }}", r#"x x ab ab ab ['a', 'b', 'c'] ['a\n', 'b'] ['a\n', 'b']"#),
    ("{{ l.count('a') }} {{ l.index('b') }} {{ (1,2,1).count(1) }} {{ (1,2).index(2) }} {{ l.copy() }}", "1 1 2 1 ['a', 'b', 'c']"),
    ("{{ d|length }} {{ d|list }} {{ d|first }} {{ d|last }} {{ ''|first is defined }} {{ []|last is defined }}", "2 ['b', 'a'] b a False False"),
    ("{{ d|pprint }} {{ rows|pprint }} {{ 'x'|pprint }} {{ people|pprint }}", "{'a': {'k': 1.5}, 'b': [1, 'x', None, True]} [{'n': 'x', 'v': 3}, {'n': 'y', 'v': 1}, {'n': 'z', 'v': 2}] 'x' [{'age': 3, 'city': 'X', 'name': 'bob'},\n {'age': 5, 'city': 'y', 'name': 'Al'},\n {'age': 4, 'city': 'X', 'name': 'cy'}]"),
    (r#"{{ 'é\x00\u200b' }} {{ ['é\x00\u200b'] }} {{ ['\\'] }} {{ ["it's"] }} {{ ['"'] }} {{ s }} {{ [s] }}"#, "é\0\u{200b} ['é\\x00\\u200b'] ['\\\\'] [\"it's\"] ['\"'] it's \"q\" é ['it\\'s \"q\" é']"),
    ("{{ 1e16 }} {{ 123456789.123 }} {{ 0.1 + 0.2 }} {{ 1e-5 }} {{ [1e20] }} {{ -0.0 }} {{ big * big }}", "1e+16 123456789.123 0.30000000000000004 1e-05 [1e+20] -0.0 152415787526596567801"),
    ("{{ (i + 1) | string + 'x' }}", "8x"),
    ("{{ 'x' if nope is defined else 'y' }} {{ nope.a if nope is defined else 'z' }}", "y z"),
    ("{{ i.x is defined }}", "False"),
    ("{{ d.items()|list|length }} {{ (d.items()|list)[0] }} {{ d.items()|map('first')|list }} {{ d.keys()|sort }} {{ 'a' in d.keys() }} {{ d.keys()|join(',') }}", "2 ('b', [1, 'x', None, True]) ['b', 'a'] ['a', 'b'] True b,a"),
    ("{{ rows|map(attribute='nope')|list }}", "[Undefined, Undefined, Undefined]"),
    ("{{ rows|selectattr('nope','defined')|list }} {{ rows|rejectattr('nope','defined')|list|length }}", "[] 3"),
    ("{{ [true, none, 1.0, 'x']|join('|') }} {{ rows|join(',', attribute='n') }}", "True|None|1.0|x x,y,z"),
    ("  {%- if true -%}  a  {%- endif -%}  b {{- ' c ' -}} d", "ab c d"),
    ("{%- set x = 1 %}\n{{ x }}\n", "\n1\n"),
    ("{% if true %}\n  a\n{% endif %}\n", "\n  a\n\n"),
    ("{% block b %}blk{{ i }}{% endblock %}{{ self.b() }}", "blk7blk7"),
    ("{% autoescape true %}{{ html }}{{ html|safe }}{% endautoescape %}{{ html }}", r#"&lt;b&gt;a &amp; &#34;b&#34;&lt;/b&gt;<b>a & "b"</b><b>a & "b"</b>"#),
    ("{{ namespace(a=1).a }} {% set n2 = namespace() %}{% set n2.x = 3 %}{{ n2.x }}", "1 3"),
    (r#"{{ "a" "b" }} {{ 'a\'b' }} {{ "tab\there" }} {{ 'uni\u00e9' }}"#, "ab a'b tab\there unié"),
    ("{{ {'a': 1, 'b': {'c': [1,2]}}.b.c[1] }} {{ {'a':1}['a'] }} {{ [1,2,3][0] }} {{ 'abc'.upper()[0] }}", "2 1 1 A"),
    ("{{ x|default('a') if x is defined else 'none' }}", "none"),
    ("{{ i is divisibleby 7 and i > 3 }} {{ 2 < 3 == true }} {{ 1 < 2 and 3 > 2 or false }}", "True False True"),
    ("{{ l | map('upper') | map('lower') | list }} {{ l|map('replace','a','z')|list }} {{ l|map('length')|sum }}", "['a', 'b', 'c'] ['z', 'b', 'c'] 3"),
    ("{{ '%.1f' % 2.25 }} {{ '%e' % 12345.678 }} {{ '%g' % 0.0001 }} {{ '%+d' % 5 }} {{ '%05.1f' % 3.14159 }} {{ '%c' % 'x' }} {{ '%o' % 8 }} {{ '%X' % 255 }} {{ '%10s|' % 'a' }} {{ '%-10s|' % 'a' }} {{ '%s' % 1e20 }} {{ '%s' % none }}", "2.2 1.234568e+04 0.0001 +5 003.1 x 10 FF          a| a         | 1e+20 None"),
    ("{% for x in (n or []) %}x{% else %}e{% endfor %}", "e"),
    ("{% for i, x in [[1,2],[3,4]] %}{{ i * x }}{% endfor %} {% for (a, (b, c)) in [(1,(2,3))] %}{{ a+b+c }}{% endfor %}", "212 6"),
    ("{{ ' a b '.split(none, 1) }}", "['a', 'b ']"),
    (r#"{% for r in rows %}{% if loop.first %}[{% endif %}{{ r.n }}{{ ", " if not loop.last else "]" }}{% endfor %}"#, "[x, y, z]"),
    ("{% for k, v in d.items() if v is not mapping %}{{ k }}:{{ v|length }}{% endfor %}", "b:4"),
    ("{% for key in d.keys()|sort %}{{ key }}{% endfor %}{% for x in d.values() %}{{ x|string|length }}{% endfor %}", "ab2010"),
    (r#"{% set total = rows|map(attribute='v')|sum %}{{ total / rows|length }} {{ (total / rows|length)|round(1) }} {{ "%.1f"|format(total / 4) }}"#, "2.0 2.0 1.5"),
    ("{% if rows|selectattr('v','gt',2)|list %}some{% endif %} {% if 'x' in rows|map(attribute='n')|list %}yes{% endif %}", "some yes"),
    ("{% set best = rows|sort(attribute='v', reverse=true)|first %}{{ best.n }} {{ (rows|sort(attribute='v'))[0]['n'] }} {{ rows|map(attribute='v')|list|max }}", "x y 3"),
    (r#"{{ rows|tojson }} {{ rows|json(indent=0) }} {{ rows|map(attribute='n')|list|tojson|safe }} {{ "é€😀"|json }} {{ "é€😀"|tojson }} {{ 1.0|json }} {{ 1e20|json }} {{ none|json }} {{ "a/b\\c\"d"|json }}"#, "[{\"n\": \"x\", \"v\": 3}, {\"n\": \"y\", \"v\": 1}, {\"n\": \"z\", \"v\": 2}] [\n{\n\"n\": \"x\",\n\"v\": 3\n},\n{\n\"n\": \"y\",\n\"v\": 1\n},\n{\n\"n\": \"z\",\n\"v\": 2\n}\n] [\"x\", \"y\", \"z\"] \"\\u00e9\\u20ac\\ud83d\\ude00\" \"\\u00e9\\u20ac\\ud83d\\ude00\" 1.0 1e+20 null \"a/b\\\\c\\\"d\""),
    ("{{ text.split('\n')|length }} {{ text.splitlines()[0] }} {{ text.split()[0]|lower }} {{ text[:10] }}… {{ text|length }}", "2 The quick brown fox jumps over the lazy dog. Well-known long-winded words; superlongwordthatdoesnotfitanywhere. the The quick … 129"),
    ("{{ 'yes' if i > 5 and t else 'no' }} {{ 'a' if i == 7 else 'b' if i == 8 else 'c' }} {{ ('x' if z else 'y') ~ 'z' }}", "yes a yz"),
    ("{{ (l|length > 2) and (i >= 7) }} {{ i is number and i is odd }} {{ not (i == 7) }} {{ not i == 7 }} {{ i != 7 or z == 0 }}", "True True False False True"),
    ("{% set items = ['a','b'] + ['c'] %}{{ items|join }} {{ items[1:]|first }} {{ items|length }}{{ (items + [1])|last }}", "abc b 31"),
    ("{% set m2 = {'a':1} %}{{ m2.a }}{{ m2['a'] }}{{ m2.get('a') }}{{ 'a' in m2 }}{{ m2|items|list }} {{ dict(m2, b=2) }} {{ dict(m2, **{'c':3}) }}", "111True[('a', 1)] {'a': 1, 'b': 2} {'a': 1, 'c': 3}"),
    ("{{ [1,2,3,4,5]|select('divisibleby', 2)|map('string')|join('+') }} {{ range(1, 4)|map('string')|join }} {{ range(3)|sum }} {{ range(0)|list }}", "2+4 123 3 []"),
    (r#"{{ "Name: %s, age: %d" % ("Bob", 42) }} {{ "%s" % l }} {{ "%5s|%-5s|" % ("a", "b") }} {{ "100%" }} {{ "%d" % 3.7 }} {{ "%s and %s" % (1, [2]) }} {{ "%.3s" % "abcdef" }}"#, "Name: Bob, age: 42 ['a', 'b', 'c']     a|b    | 100% 3 1 and [2] abc"),
    ("{% macro inner() %}[{{ i }}]{% endmacro %}{% macro outer() %}{{ inner() }}{% endmacro %}{{ outer()|upper }}", "[7]"),
    ("{% set x = 1 %}{% for q in [1,2] %}{% set x = x + q %}{{ x }}{% endfor %}{{ x }}", "231"),
    ("{% set ns = namespace(found=false, items=[]) %}{% for r in rows %}{% if r.v == 1 %}{% set ns.found = true %}{% endif %}{% set ns.items = ns.items + [r.n] %}{% endfor %}{{ ns.found }} {{ ns.items }}", "True ['x', 'y', 'z']"),
    ("{% for a in [1,2] %}{% for b in [3,4] %}{{ loop.index }}{{ a * b }} {% endfor %}{% endfor %}{% for a in l %}{% set outer = loop %}{% for b in [1] %}{{ outer.index }}{% endfor %}{% endfor %}", "13 24 16 28 123"),
    (r#"{{ "  x  "|trim|length }} {{ "a-b_c"|replace('-', ' ')|replace('_', ' ')|title }} {{ "a"|default('b') }} {{ ""|default('b') }} {{ ""|default('b', boolean=True) }} {{ false|default('b') }} {{ false|default('b', true) }}"#, "1 A B C a  b False b"),
    ("{{ [1,[2,[3]]]|string|length }} {{ [[1,2],[3]]|sum(start=[]) }} {{ ['a','b']|join(d=', ') }} {{ 'abc'|batch(2)|list }} {{ 'hello'|sort|join }}", "13 [1, 2, 3] a, b [['a', 'b'], ['c']] ehllo"),
    ("{{ i|string ~ 'px' }} {{ i ~ '/' ~ f }} {{ i + f }} {{ i * 1.0 }} {{ i / 2 }} {{ (i / 2)|int }} {{ i // 2 * 2 }} {{ -i // 2 }} {{ i - -1 }}", "7px 7/3.0 10.0 7.0 3.5 3 6 -4 8"),
    ("{{ none }} {{ n is none }} {{ n == none }} {{ n|string }} {{ [n] }} {{ n or 'fallback' }} {{ n|default('dflt') }} {{ d.b[2] is none }}", "None True True None [None] fallback dflt True"),
    ("{{ True }} {{ False }} {{ None }} {{ true and false }} {{ [true,false] }} {{ true|int + 1 }} {{ (i == 7)|lower }} {{ t|string|lower }}", "True False None False [True, False] 2 true true"),
    (r#"{{ "a" in ["a", "b"] and "z" not in ["a"] }} {{ [1,2] == [1,2] }} {{ {'a':1} == {'a':1} }} {{ (1,2) == [1,2] }} {{ 'abc' == "abc" }} {{ 1 == true }} {{ [] == false }} {{ '' == none }}"#, "True True True False True True False False"),
    ("{{ 'line1\nline2'|replace('\n', ' | ') }} {{ 'a|b'.split('|') }} {{ \"it''s\" }} {{ 'back\\\\slash' }}", r#"line1 | line2 ['a', 'b'] it''s back\slash"#),
    (r#"{% raw %}{% if %}{{ }}{% endraw %} {{ '{{' }} {{ '{%' }} {{ "}}" }}"#, "{% if %}{{ }} {{ {% }}"),
    ("{%- for x in l -%} {{ x }} {%- endfor -%} |", "abc|"),
    ("<ul>{% for x in l %}\n  <li>{{ x }}</li>{% endfor %}\n</ul>\n", "<ul>\n  <li>a</li>\n  <li>b</li>\n  <li>c</li>\n</ul>\n"),
    ("{% if i > 5 -%}\n  big\n{%- else -%}\n  small\n{%- endif %}\n", "big\n"),
    ("{# comment {{ x }} #}{{ i }}{#- trimmed -#}   x", "7x"),
    ("{{ people|map(attribute='name')|sort|list }} {{ people|selectattr('city','equalto','X')|map(attribute='age')|sum }} {{ people|sum(attribute='age') / people|length }} {{ people|groupby('city')|map(attribute=1)|map('length')|list }} {{ people|map(attribute='age')|unique|list }}", "['Al', 'bob', 'cy'] 7 4.0 [2, 1] [3, 5, 4]"),
    ("{{ people|rejectattr('age','lt',4)|map(attribute='name')|join(' and ') }} {{ people|selectattr('name','in',['bob'])|list|length }} {{ people|min(attribute='age') }} {{ people|map('dictsort')|list|length }} {{ people|batch(2)|map('length')|list }}", "Al and cy 1 {'name': 'bob', 'city': 'X', 'age': 3} 3 [2, 1]"),
    ("{{ html|replace('<','[') }} {{ html|e|length }} {{ (html|e) ~ '<' }} {{ html|striptags|upper }} {{ '&amp;'|e }} {{ html|e|e }}", r#"[b>a & "b"[/b> 38 &lt;b&gt;a &amp; &#34;b&#34;&lt;/b&gt;< A & "B" &amp;amp; &lt;b&gt;a &amp; &#34;b&#34;&lt;/b&gt;"#),
    ("{{ big|filesizeformat }} {{ 0|filesizeformat }} {{ 1500000|filesizeformat(true) }} {{ '%.2e' % big }} {{ '{:,.2f}'.format(big) }} {{ '{:>+8d}|'.format(i) }} {{ '{:08.3f}'.format(f) }} {{ '{:b}'.format(i) }} {{ '{:#x}'.format(255) }}", "12.3 GB 0 Bytes 1.4 MiB 1.23e+10 12,345,678,901.00       +7| 0003.000 111 0xff"),
    ("{{ 5|abs }} {{ -5|abs }} {{ (-5)|abs }} {{ -5.5|abs }} {{ 3.7|int }} {{ '3'|float }} {{ 7|float }} {{ '1e3'|float }} {{ '  12 '|int }} {{ '1,000'|int }} {{ '0b11'|int(base=2) }} {{ 'ff'|int(base=16) }}", "5 5 5 5.5 3 3.0 7.0 1000.0 12 0 3 255"),
    ("{{ 'a'.join(['x','y']) }} {{ ', '.join(l) }} {{ ''.join(l|reverse) }} {{ l|join(' ')|upper }} {{ l|reverse|join }} {{ (l|reverse|list)[0] }}", "xay a, b, c cba A B C cba c"),
    ("{{ d|length }} {{ d.b|length }} {{ ''|length }} {{ s|length }} {{ d.a|length }}", "2 4 0 10 1"),
    ("{{ 'abc' is string }} {{ 'abc' is iterable }} {{ l is string }} {{ d is iterable }} {{ nope is string }}", "True True False True False"),
    ("{{ d.b|first }} {{ d.b|last }} {{ d['b']|length }} {{ d.a.k }} {{ d.get('a').k }} {{ d.get('zz', {}).get('y', 'deep') }} {{ (d.zz|default({})).y|default('q') }}", "1 True 4 1.5 1.5 deep q"),
    ("{{ [{'a':1},{'a':2}]|map(attribute='a')|map('string')|join('-') }} {{ [3,1,2]|sort|first }} {{ ['b','a']|sort|list }} {{ [1,2,3,4]|batch(3, 0)|list }} {{ [[1,'a'],[2,'b']]|map('join')|list }}", "1-2 1 ['a', 'b'] [[1, 2, 3], [4, 0, 0]] ['1a', '2b']"),
    ("{% filter indent(2) %}a\nb{% endfilter %} {% filter replace('a','b')|upper %}aaa{% endfilter %}", "a\n  b BBB"),
    ("{{ 'a' 'b' ~ 'c' }} {{ 1if true else 2 }} {{ [1,2,] }} {{ {'a':1,} }} {{ (1,2,)|length }}", "abc 1 [1, 2] {'a': 1} 2"),
    ("{{ x if x is defined }}| {{ (nope|default('')).strip() }}| {{ nope|default('a')|upper }} {{ nope|d({})|length }}", "| | A 0"),
    ("{{ range(10)|batch(4)|map('sum')|list }} {{ range(10)|slice(3)|map('length')|list }} {{ 'abc'|map('upper')|list }} {{ 'aAbB'|unique|list }} {{ [1,1.0,'1']|unique|list }}", "[6, 22, 17] [4, 3, 3] ['A', 'B', 'C'] ['a', 'b'] [1, '1']"),
    (r#"{{ "abc"|center(10) }}|{{ "x"|indent(4, true) }}|{{ "word "*3 }}|{{ "Hello %s"|format("x") }}|{{ ["<b>"]|join }}|{{ "a"|upper|lower }}"#, "   abc    |    x|word word word |Hello x|<b>|a"),
    ("{{ [1,2,3][::-1] }} {{ [1,2,3][-2:] }} {{ 'hello'[1:-1] }} {{ 'hello'[:i] }} {{ l[z:2] }} {{ l[(i-6):] }} {{ (l ~ '')[0] }}", "[3, 2, 1] [2, 3] ell hello ['a', 'b'] ['b', 'c'] ["),
    ("{{ i | int > 5 }} {{ '7' | int == i }} {{ i|string == '7' }} {{ 3 > 2 > 1 }} {{ 3 > 2 == 2 }} {{ i > 5 < 10 }} {{ 1 < 2 in [2] }}", "True True True True True True True"),
    ("{{ 7 is ge 7 }} {{ 7 is greaterthan 6 }} {{ 7 is lessthan(8) }} {{ 'a' is in 'abc' }} {{ 7 is not in [1] }} {{ 7 is equalto 7 }} {{ 'x' is sameas 'x' }}", "True True True True True True True"),
];

/// Templates that Jinja2 refuses to render.
#[rustfmt::skip]
const FAILS: &[&str] = &[
    "{{ nope }}",
    "{{ nope.x }}",
    "{{ d.nope }}",
    "{{ d.nope.x }}",
    "{{ n < 3 }}",
    "{{ 'a' < 3 }}",
    "{{ i > '3' }}",
    "{% macro f(a, b='x') %}{{ a }}{{ b }}{{ caller() if caller }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1) }}{{ f(1,2,3,z=4) }}",
    "{{ 1_000 }} {{ 0x1F }} {{ 0b11 }} {{ 0o17 }} {{ 1e3 }} {{ 1.5e-3 }} {{ .5 if false }}",
    "{{ 1 / 0 }}",
    "{{ 1 // 0 }}",
    "{{ 1 % 0 }}",
    "{{ 'a' + 1 }}",
    "{{ 'a' * 'b' }}",
    "{{ [1] + (2,) }}",
    "{{ none + 1 }}",
    "{{ l[5] }}",
    "{{ l is not defined or nope }}",
    "{{ 'abc'.index('z') }}",
    "{{ [3,1,2]|sort|join('-') }} {{ [[2,'b'],[1,'a']]|sort }} {{ ['10','9']|sort }} {{ [1,'a']|sort }}",
    "{{ 'a' | upper | lower ~ 'b' }} {{ i + 1 | string }}",
    "{{ nope|length }}",
    "{{ nope|upper }}",
    "{{ nope|json }}",
    "{{ nope + 1 }}",
    "{{ 1 + nope }}",
    "{{ nope ~ 'a' }}",
    "{{ nope < 1 }}",
    "{{ nope == 1 }}",
    "{% if nope %}x{% endif %}",
    "{% for x in nope %}x{% endfor %}",
    "{% for x in n %}x{% endfor %}",
    "{% for x in 5 %}x{% endfor %}",
    "{{ nope() }}",
    "{{ 'a'.nope() }}",
    "{{ l.nope }}",
    "{{ l.nope() }}",
    "{{ n.x }}",
    "{{ n[0] }}",
    "{{ rows|map(attribute='nope')|join(',') }}",
    "{{ rows|sort(attribute='nope') }}",
    "{{ rows|selectattr('nope')|list }}",
    "{{ true|string }} {{ none|string }} {{ 5|string }} {{ true|upper }} {{ 5|title }} {{ 5|length }}",
    "{{ [1,2,3]|list|length > 2 and 'a' in l }} {{ l|length == 3 }} {{ l|length - 1 }} {{ -l|length }}",
    "{{ '{:>10}|{:<5}|{:^7}|'.format('a','b','c') }} {{ '{:+.1e}'.format(1234.5) }} {{ '{:x}'.format(255) }} {{ '{:%}'.format(0.25) }} {{ '{0[a]} {1.k}'.format({'a':1}, d.a) }} {{ '{{}}'.format() }} {{ '{:8.3f}'.format(3.14159) }} {{ '{}'.format([1,'a']) }} {{ '{}'.format(1e20) }} {{ '{}'.format(none) }}",
    "{% for x in n %}x{% endfor %}",
    "{% for x in l if x != 'a' %}{{ x }}{% endfor %}{% for x in l|reverse if x > 'a' %}{{ x }}{% endfor %}{% for x in l + ['q'] %}{{ x }}{% endfor %}{% for x in [1,2] if t else [3] %}{{ x }}{% endfor %}",
    "{{ text|truncate(30, True, '') }} {{ 'abc def ghi'|truncate(8, false, '', 0) }} {{ 'short'|truncate(3) }} {{ 'abcdefghijkl'|truncate(8) }} {{ 'foo bar baz qux'|truncate(11, leeway=0) }} {{ 'foo bar baz qux'|truncate(9) }} {{ 'x'|truncate(2) }}",
    "{% call(item) (lambda) %}{% endcall %}",
    "{{ 1 if i else 0 }} {{ i if i > 3 }} {{ [x for x in l] }}",
];

#[test]
fn templates_give_what_jinja2_gives() {
    let context = context();
    for (template, expected) in GIVES {
        match render(template, &context) {
            Ok(text) => assert_eq!(text, *expected, "{template}"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn templates_fail_where_jinja2_fails() {
    let context = context();
    for template in FAILS {
        assert!(render(template, &context).is_err(), "{template} gives {:?}", render(template, &context));
    }
}
