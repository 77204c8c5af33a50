//! The text for models is true, line by line.

use crate::support;

use convoke_interpreter::{Answer, GUIDE, Kind, Limits, MODULES, Next};
use serde_json::{Value, json};
use support::*;

/// Programs that work, by the line of the text that says so, and what they give.
const WORKS: &[(&str, &str, &str)] = &[
    (
        "Statements",
        "r = []\nfor i in range(4):\n  if i == 1:\n    continue\n  elif i == 3:\n    break\n  else:\n    r.append(i)\nelse:\n  r.append('no')\nr",
        "[0, 2]",
    ),
    ("Statements", "n = 0\nwhile n < 2:\n  n += 1\nelse:\n  n = 10\nn", "10"),
    (
        "Statements",
        "try:\n  {}['a']\nexcept (KeyError, ValueError) as error:\n  r = [type(error).__name__]\nfinally:\n  r.append('f')\nr",
        r#"["KeyError", "f"]"#,
    ),
    (
        "Statements",
        "try:\n  raise ValueError('bad')\nexcept ValueError as error:\n  r = str(error)\nassert r == 'bad'\nr",
        r#""bad""#,
    ),
    (
        "Statements",
        "class C:\n  def __enter__(self):\n    return 5\n  def __exit__(self, *a):\n    pass\nwith C() as c:\n  r = c\nr",
        "5",
    ),
    (
        "Statements",
        "def f(a, b=2, *c, d=4, **e):\n  return [a, b, c, d, e]\nf(1, 3, 5, d=6, z=7)",
        r#"[1, 3, [5], 6, {"z": 7}]"#,
    ),
    (
        "Statements",
        "def outer():\n  n = 0\n  def inner():\n    nonlocal n\n    n += 1\n    return n\n  inner()\n  return inner()\nouter()",
        "2",
    ),
    ("Statements", "n = 1\ndef up():\n  global n\n  n += 1\nup()\nn", "2"),
    ("Statements", "def twice(f):\n  return lambda *a: f(*a) * 2\n@twice\ndef f(x):\n  return x\nf(3)", "6"),
    (
        "Statements",
        "a, *b = [1, 2, 3]\n[(n := 5) + a, b, [x for x in b if x > 2], {x: 1 for x in 'a'}, sorted({x for x in 'ba'})]",
        r#"[6, [2, 3], [3], {"a": 1}, ["a", "b"]]"#,
    ),
    ("Text", "f\"{3.14159:.2f} {'a'!r:>5} {1000:,} {0.256:.1%} {7:03d}\"", r#""3.14   'a' 1,000 25.6% 007""#),
    ("Text", "'{} {x}'.format(1, x=2) + 'abc'[::-1][:2]", r#""1 2cb""#),
    (
        "Text",
        "['a,b'.split(','), '-'.join(['a', 'b']), ' a '.strip(), 'aa'.replace('a', 'b'), 'abc'.find('c'), 'aba'.count('a'), 'abc'.startswith('a')]",
        r#"[["a", "b"], "a-b", "a", "bb", 2, 2, true]"#,
    ),
    (
        "Text",
        "['a\\nb'.splitlines(), 'a=b'.partition('='), 'Ab'.lower(), 'a b'.title(), '7'.zfill(3)]",
        r#"[["a", "b"], ["a", "=", "b"], "ab", "A B", "007"]"#,
    ),
    (
        "Lists",
        "x = [3, 1]\nx.append(2)\nx.extend([5])\nx.sort(key=lambda v: -v)\n[x, x.index(3), x.pop()]",
        "[[5, 3, 2], 1, 1]",
    ),
    (
        "Lists",
        "d = {'a': 1}\nd.setdefault('b', []).append(2)\nd.update(c=3)\n[list(d.items()), d.get('z'), d.pop('a'), sorted({1, 2}.union([3]))]",
        r#"[[["a", 1], ["b", [2]], ["c", 3]], null, 1, [1, 2, 3]]"#,
    ),
    (
        "Lists",
        "[sorted('ba'), sorted([1, 2], key=lambda v: -v), min([3, 1], key=lambda v: -v), max(['a', 'bb'], key=len), sum([1, 2]), any([0, 1]), all([0, 1])]",
        r#"[["a", "b"], [2, 1], 3, "bb", 3, true, false]"#,
    ),
    (
        "Lists",
        "[list(zip([1], 'a')), list(enumerate('a')), list(map(str, [1])), list(filter(None, [0, 1])), list(reversed([1, 2])), list(range(2)), round(2.567, 1), isinstance(1, (int, str))]",
        r#"[[[1, "a"]], [[0, "a"]], ["1"], [1], [2, 1], [0, 1], 2.6, true]"#,
    ),
    (
        "Modules",
        "import re\nm = re.search(r'(?P<y>\\d{4})-(\\d\\d)', 'on 2024-05')\n[m.group('y'), m.group(2), re.findall(r'\\w=(\\d)', 'a=1 b=2'), re.sub(r'(\\d)', r'<\\1>', 'a1'), re.split(r'[,;]', 'a,b;c')]",
        r#"["2024", "05", ["1", "2"], "a<1>", ["a", "b", "c"]]"#,
    ),
    (
        "Modules",
        "import json, math\n[json.dumps({'a': [1, None]}), json.loads('{\"b\": 2}'), math.sqrt(4), math.floor(1.5)]",
        r#"["{\"a\": [1, null]}", {"b": 2}, 2.0, 1]"#,
    ),
    (
        "Modules",
        "from collections import Counter, defaultdict, deque, namedtuple\nd = defaultdict(list)\nd['a'].append(1)\nq = deque([1, 2], maxlen=2)\nq.append(3)\nP = namedtuple('P', 'x y')\n[Counter('aab').most_common(1), d['a'], list(q), P(1, y=2).y]",
        r#"[[["a", 2]], [1], [2, 3], 2]"#,
    ),
    (
        "Modules",
        "from itertools import chain, islice, count, repeat, accumulate\n[list(chain([1], [2])), list(islice(count(), 2)), list(islice(repeat(7), 2)), list(accumulate([1, 2]))]",
        "[[1, 2], [0, 1], [7, 7], [1, 3]]",
    ),
    (
        "Modules",
        "from functools import reduce, partial\n[reduce(lambda a, b: a + b, [1, 2, 3]), partial(pow, 2)(3)]",
        "[6, 8]",
    ),
    (
        "Modules",
        "from datetime import date, datetime, timedelta\n[(date(2024, 2, 28) + timedelta(days=2)).isoformat(), datetime.strptime('2024-01-02', '%Y-%m-%d').strftime('%d.%m.')]",
        r#"["2024-03-01", "02.01."]"#,
    ),
    (
        "Modules",
        "from dataclasses import dataclass\nfrom typing import Optional\n@dataclass\nclass P:\n  x: int\n  y: Optional[int] = None\n[P(1).x, P(1) == P(1), P(1).y]",
        "[1, true, null]",
    ),
    (
        "Modules",
        "import base64, unicodedata\n[base64.b64encode(b'a').decode(), len(unicodedata.normalize('NFKD', 'é'))]",
        r#"["YQ==", 2]"#,
    ),
    (
        "Classes",
        "class A:\n  def __init__(self, x):\n    self.x = x\n  def twice(self):\n    return self.x * 2\nA(2).twice()",
        "4",
    ),
    (
        "Not there",
        "x = [1, 2]\nx.pop(0)\na = {'a': 1}\n[x, {**a, **{'b': 2}}, sorted(['B', 'a'], key=lambda t: t.lower())]",
        r#"[[2], {"a": 1, "b": 2}, ["a", "B"]]"#,
    ),
    ("Generator", "seen = []\ng = (seen.append(x) for x in [1, 2])\nseen", "[1, 2]"),
    (
        "Generator",
        "def up(n):\n  for i in range(n):\n    yield i\n    if i > 2:\n      return\ng = up(9)\n[next(g), list(g)]",
        "[0, [1, 2, 3]]",
    ),
    (
        "Generator",
        "def walk(tree):\n  for item in tree:\n    if isinstance(item, list):\n      yield from walk(item)\n    else:\n      yield f(item)\nlist(walk([1, [2, [3]], 4]))",
        "[1, 2, 3, 4]",
    ),
    (
        "Generator",
        "[next(x for x in [1, 2] if x > 1), next((x for x in [1] if x > 1), None), max((x for x in []), default=0)]",
        "[2, null, 0]",
    ),
    (
        "Text",
        "a = '%d of %s: %.2f%%' % (3, 'x', 1.5)\nb = '%(n)05d|%(s)-4s|%(s)4s|%(n)+d|%(n)x' % {'n': 42, 's': 'ab'}\nform = '%s'\n[a, b, form % 'q', 7 % 4, '%s' % ('%r' % 'in')]",
        r#"["3 of x: 1.50%", "00042|ab  |  ab|+42|2a", "q", 3, "'in'"]"#,
    ),
    (
        "Text",
        "[sorted(['B', 'a'], key=str.lower), list(map(str.strip, [' a '])), format(2.5, '.2f')]",
        r#"[["a", "B"], ["a"], "2.50"]"#,
    ),
    ("Lists", "x = [1, 2]\ndel x[0]\nd = {'a': 1, 'b': 2}\ndel d['a']\n[x, d]", r#"[[2], {"b": 2}]"#),
    (
        "Modules",
        "import statistics\nimport statistics as st\nfrom statistics import (\n  median,\n  mode as most,\n)\n[statistics.mean([1, 2]), st.pstdev([1, 3]), median([3, 1, 2]), most([1, 1, 2])]",
        "[1.5, 1.0, 2, 1]",
    ),
    (
        "Modules",
        "import itertools as it\nfrom itertools import chain, groupby\n[[(k, list(g)) for k, g in groupby([1, 1, 2])], list(it.product([1], 'ab')), list(it.combinations([1, 2, 3], 2)), len(list(it.permutations([1, 2, 3]))), list(chain.from_iterable([[1], [2]])), list(it.zip_longest([1], [2, 3])), list(it.pairwise([1, 2]))]",
        r#"[[[1, [1, 1]], [2, [2]]], [[1, "a"], [1, "b"]], [[1, 2], [1, 3], [2, 3]], 6, [1, 2], [[1, 2], [null, 3]], [[1, 2]]]"#,
    ),
    (
        "Modules",
        "import functools, math, copy, heapq, string\nfrom operator import itemgetter\nfrom collections import OrderedDict\n@functools.lru_cache(maxsize=None)\ndef fib(n):\n  return n if n < 2 else fib(n - 1) + fib(n - 2)\n[fib(20), math.prod([2, 3]), copy.deepcopy({'a': [1]}), heapq.nlargest(1, [1, 3]), string.digits[:2], sorted([(2,), (1,)], key=itemgetter(0)), OrderedDict(a=1)]",
        r#"[6765, 6, {"a": [1]}, [3], "01", [[1], [2]], {"a": 1}]"#,
    ),
    ("The given", "[list(map(f, [1])), list(map(lambda v: f(v), [2]))]", "[[1], [2]]"),
    (
        "The given",
        "x = f(1, limit=2)\n[x, [f(p) for p in 'ab'], f((1, 2)), (lambda v: f(v))(3)]",
        r#"[1, ["a", "b"], [1, 2], 3]"#,
    ),
    (
        "They take",
        "[f(v) for v in [None, True, 1, 1.5, 'a', [1], {'a': 1}, (1,), {1}, {1: 2}]]",
        r#"[null, true, 1, 1.5, "a", [1], {"a": 1}, [1], [1], {"1": 2}]"#,
    ),
    ("What is printed", "print('a')\n1 + 1", "2"),
];

/// Programs that do not work, by the line of the text that says so.
const FAILS: &[(&str, &str, Kind)] = &[
    ("Modules", "import re\nre.sub('a', lambda m: 'b', 'a')", Kind::Exception),
    ("Modules", "from datetime import datetime\ndatetime.now()", Kind::RefusedOsCall),
    ("Modules", "from datetime import date\ndate.today()", Kind::RefusedOsCall),
    ("Modules", "import numpy", Kind::Unsupported),
    ("Modules", "import time", Kind::Unsupported),
    ("Classes", "class A(dict):\n  pass", Kind::Unsupported),
    ("Classes", "class A:\n  @property\n  def x(self):\n    return 1", Kind::Unsupported),
    ("Classes", "class A:\n  @staticmethod\n  def x():\n    return 1", Kind::Unsupported),
    ("Classes", "class A:\n  @classmethod\n  def x(cls):\n    return 1", Kind::Unsupported),
    ("Not there", "match 1:\n  case 1:\n    pass", Kind::Unsupported),
    ("Not there", "{} | {}", Kind::Exception),
    ("Not there", "x = [1, 2]\nx[0:1] = [3]", Kind::Unsupported),
    ("Not there", "class E(Exception):\n  pass", Kind::Unsupported),
    ("Not there", "eval('1')", Kind::Unsupported),
    ("Not there", "exec('1')", Kind::Unsupported),
    ("Not there", "input()", Kind::Unsupported),
    ("There are no", "open('/etc/passwd')", Kind::RefusedOsCall),
    ("There are no", "try:\n  open('/etc/passwd')\nexcept Exception:\n  pass", Kind::RefusedOsCall),
    ("There are no", "import os\nos.environ['HOME']", Kind::RefusedOsCall),
    ("The given", "await f(1)", Kind::Exception),
    ("The given", "list(filter(f, [1]))", Kind::Unsupported),
    ("The given", "sorted([1, 2], key=f)", Kind::Unsupported),
];

/// Habits that do not work, and the replacement that the first error names.
const INSTEAD: &[(&str, &str)] = &[
    ("match 1:\n  case 1:\n    pass", "`if`/`elif`"),
    ("class A(dict):\n  pass", "a class without bases"),
    ("class E(Exception):\n  pass", "raise `ValueError("),
    ("class A:\n  @property\n  def x(self):\n    return 1", "a plain method"),
    ("class A:\n  def x(self):\n    yield 1", "`out.append(value)`"),
    ("def g():\n  while True:\n    yield 1", "must end"),
    ("def g():\n  x = yield 1", "use a function"),
    ("x = [1, 2]\nx[0:1] = [3]", "`x = x[:i] + new + x[j:]`"),
    ("x = [1, 2]\ndel x[0:1]", "`items.pop(key)`"),
    ("{} | {}", "`{**a, **b}`"),
    ("import re\nre.sub('a', lambda m: 'b', 'a')", "`re.finditer(pattern, text)`"),
    ("import json\njson.dumps({'a': {1}}, default=str)", "convert the values before"),
    ("import numpy as np", "`statistics`"),
    ("import pandas", "lists of dicts"),
    ("from concurrent.futures import ThreadPoolExecutor", "`llm_map(prompts)`"),
    ("import time", "leave it out"),
    ("import random", "no randomness"),
    ("import nowhere", "only these modules"),
    ("from statistics import quantiles", "`statistics` has here: mean"),
    ("import math\nmath.erf2(1)", "a function of your own"),
    ("from collections import ChainMap", "a function of your own"),
    ("from math import *", "import by name"),
    ("import os\nos.path.join('a', 'b')", "`'/'.join(parts)`"),
    ("import os\nos.listdir('.')", "no files"),
    ("with open('a.txt') as file:\n  file.read()", "no files"),
    ("import sys\nsys.exit(0)", "come to its end"),
    ("import sys\nprint('a', file=sys.stderr)", "leave out `file=`"),
    ("eval('1')", "`json.loads`"),
    ("input()", "the given functions"),
    ("globals()", "a dict of your own"),
    ("sorted([2, 1], key=f)", "in a comprehension first"),
    ("await f(1)", "without `await`"),
    ("'{a}'.format_map({'a': 1})", "`text.format(**values)`"),
];

/// Runs a program; the function `f` gives back what it is given.
async fn run(text: &str) -> Next {
    let mut worker = worker().await;
    let mut next = worker.run(program(text, &["f"])).await.unwrap();
    while let Next::Call(call) = next {
        next = worker.answer(call.number, echo(&call)).await.unwrap();
    }
    next
}

#[tokio::test]
async fn what_is_said_to_work_works() {
    for (_, text, expected) in WORKS {
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(ended(run(text).await).value, expected, "{text}");
    }
}

#[tokio::test]
async fn what_is_said_not_to_work_fails_as_said() {
    for (_, text, kind) in FAILS {
        let failure = failed(run(text).await);
        assert_eq!(failure.kind, *kind, "{text}: {failure:#?}");
        assert!(failure.line.is_some(), "{text}");
    }
}

#[tokio::test]
async fn the_first_error_of_a_habit_names_what_to_write_instead() {
    for (text, instead) in INSTEAD {
        let failure = failed(run(text).await);
        let told = format!("{}\n{}", failure.traceback, failure.hint.as_deref().unwrap_or_default());
        assert!(told.contains(instead), "{text}: {told}");
    }
}

/// One habit a turn would cost as many turns as there are habits; and calls before it would be paid for in vain.
#[tokio::test]
async fn all_habits_of_a_program_are_reported_at_once_before_anything_is_run() {
    let text = "x = f(1)\nimport numpy\nclass A(dict):\n  pass\nmatch x:\n  case 1:\n    eval('1')";
    let failure = failed(worker().await.run(program(text, &["f"])).await.unwrap());
    assert_eq!((failure.kind, failure.line), (Kind::Unsupported, Some(2)));
    let lines: Vec<&str> = failure.traceback.lines().skip(1).collect();
    for (line, start) in
        lines.iter().zip(["line 2: `import numpy`", "line 3: class", "line 5: `match`", "line 7: `eval()`"])
    {
        assert!(line.starts_with(start), "{lines:#?}");
    }
    assert_eq!(lines.len(), 4);
}

#[tokio::test]
async fn an_import_that_may_fail_is_left_to_the_program() {
    assert_eq!(value("try:\n  import numpy\nexcept ImportError:\n  numpy = None\nnumpy").await, Value::Null);
}

/// The lines are those that the model wrote, also where lines were added for helpers.
#[tokio::test]
async fn failures_are_told_by_the_lines_of_the_program_as_written() {
    let text = "def g():\n  yield 1\nx = '%d' % 3\ny = [1, '%s' % 2][5]";
    let failure = failed(alone(text).await);
    assert_eq!(failure.line, Some(4));
    assert!(failure.traceback.contains("line 4"), "{}", failure.traceback);
    assert!(failure.traceback.contains("'%s' % 2"), "{}", failure.traceback);
    let failure = failed(alone("y = 1\nx = '%d %d' % (3,)").await);
    assert_eq!(failure.line, Some(2), "{}", failure.traceback);
    assert!(!failure.traceback.contains("__mod"), "{}", failure.traceback);
}

/// A helper is there for the next program too, as the function that uses it is.
#[tokio::test]
async fn what_was_rewritten_lives_on() {
    let mut worker = worker().await;
    let first = "import statistics\ndef g(n):\n  for i in range(n):\n    yield '%d' % i";
    ended(worker.run(program(first, &[])).await.unwrap());
    let next = worker.run(next_program("[list(g(2)), statistics.mean([1, 3])]", &[])).await.unwrap();
    assert_eq!(ended(next).value, json!([["0", "1"], 2.0]));
}

#[test]
fn every_line_is_tested() {
    let tested: Vec<&str> =
        WORKS.iter().map(|row| row.0).chain(FAILS.iter().map(|row| row.0)).chain(["Variables"]).collect();
    for line in GUIDE.lines().filter_map(|line| line.strip_prefix("- ")) {
        assert!(tested.iter().any(|name| line.starts_with(name)), "{line}");
    }
    for name in tested {
        assert!(GUIDE.lines().any(|line| line.starts_with(&format!("- {name}"))), "{name}");
    }
}

#[tokio::test]
async fn the_modules_are_those_that_can_be_imported() {
    for module in MODULES {
        assert!(GUIDE.contains(&format!("`{module}`")), "{module}");
        assert_eq!(value(&format!("import {module}\n1")).await, json!(1), "{module}");
    }
}

#[tokio::test]
async fn variables_functions_and_imports_live_on_even_after_an_exception() {
    let mut worker = worker().await;
    let first = "import math\nx = 9\ndef half(v):\n  return v / 2\n1 / 0\ny = 1";
    failed(worker.run(program(first, &[])).await.unwrap());
    let next = worker.run(next_program("[math.sqrt(x), half(x)]", &[])).await.unwrap();
    assert_eq!(ended(next).value, json!([3.0, 4.5]));
    failed(worker.run(next_program("y", &[])).await.unwrap());
}

#[tokio::test]
async fn prints_and_calls_have_limits() {
    let limits = Limits { printed_bytes: 10, calls: 3, ..limits() };
    let mut worker = workers("").start(limits).await.unwrap();
    let end = ended(worker.run(program("print('x' * 100)", &[])).await.unwrap());
    assert_eq!((end.printed.text.as_str(), end.printed.cut), ("xxxxxxxxxx", 91));
    let mut next =
        worker.run(program("try:\n  while True: f()\nexcept Exception: pass", &["f"])).await.unwrap();
    for number in 1..=3 {
        assert_eq!(called(next).number, number);
        next = worker.answer(number, Answer::Value(Value::Null)).await.unwrap();
    }
    assert_eq!(failed(next).kind, Kind::Calls);
}
