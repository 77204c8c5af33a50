//! What to write instead: one replacement for each habit, and each of them works.

use crate::guide::MODULES;

/// Instead of importing a module.
pub fn module(name: &str) -> String {
    let root = name.split('.').next().unwrap_or(name);
    match root {
        "numpy" | "scipy" => "use lists, `sum`, `math` and `statistics`".into(),
        "pandas" | "csv" | "polars" => "use lists of dicts and `line.split(',')`".into(),
        "time" | "logging" | "warnings" => "leave it out: there is no clock and no log, use `print`".into(),
        "random" | "secrets" | "uuid" => {
            "choose by position, such as `items[::10]`: there is no randomness".into()
        }
        "concurrent" | "threading" | "multiprocessing" => {
            "call `llm_map(prompts)`, which asks at the same time".into()
        }
        "pprint" => "use `print(json.dumps(value, indent=2))`".into(),
        "traceback" => "use `except Exception as error: print(error)`".into(),
        "textwrap" => "use `text[:80]`, `strip` and `splitlines`".into(),
        "ast" => "use `json.loads`".into(),
        "enum" | "abc" => "use plain classes, and texts as constants".into(),
        "decimal" | "fractions" => "use `int` and `float`".into(),
        "collections" => "use `from typing import Iterable` or leave it out".into(),
        "os" => "there are no files: use `'/'.join(parts)` and `text.rsplit('/', 1)`".into(),
        "bisect" => "use `sorted` and a loop".into(),
        "difflib" => "compare `set(a.split())` with `set(b.split())`".into(),
        "requests" | "urllib" | "http" | "socket" | "subprocess" | "shutil" | "glob" | "io" | "tempfile" => {
            "there are no files, no network and no processes: everything comes from the given functions"
                .into()
        }
        _ => format!("only these modules can be imported: {}", MODULES.join(", ")),
    }
}

/// Instead of a built-in function that is not there.
pub fn builtin(name: &str) -> Option<&'static str> {
    Some(match name {
        "eval" | "compile" => "use `json.loads` for data and plain expressions for code",
        "exec" | "__import__" => "write the code into the program itself",
        "input" => "nobody can be asked: use the given functions",
        "globals" | "locals" | "vars" => "keep values in a dict of your own",
        "dir" | "help" => "use only what the guide lists",
        "exit" | "quit" => "let the program come to its end, or use `if`/`else`",
        _ => return None,
    })
}

/// Instead of what an exception is about, where its message tells.
pub fn while_running(message: &str) -> Option<String> {
    const KNOWN: &[(&str, &str)] = &[
        ("for |: 'dict'", "merge dicts with `{**a, **b}`"),
        ("for |: 'Counter'", "add counters with `a + b`, or merge dicts with `{**a, **b}`"),
        ("for %: 'str'", "use an f-string, such as `f'{x} of {y:.2f}'`"),
        ("no attribute 'maketrans'", "use `text.replace(a, b)` for each character"),
        ("type object '", "call the method in a lambda, such as `key=lambda text: text.lower()`"),
        (
            "callable replacement",
            "loop over `re.finditer(pattern, text)` and join `text[end:m.start()]` and the new parts",
        ),
        (
            "argument 'default'",
            "convert the values before: `json.dumps(str(value))` or a list instead of a set",
        ),
        ("print() 'file'", "leave out `file=`: all that is printed is shown"),
        ("'sys' has no attribute 'exit'", "let the program come to its end, or use `if`/`else`"),
        (
            "not yet supported in this context",
            "call the given function in a comprehension first, then use its values: `values = [f(x) for x in items]`",
        ),
        (
            "object of type '",
            "give the class a method such as `size(self)` and call it: operators of classes are not supported",
        ),
        (
            "not supported between instances of",
            "sort with `key=`, such as `sorted(items, key=lambda item: item.name)`",
        ),
        ("has no attribute 'format_map'", "use `text.format(**values)`"),
        ("can't be awaited", "call the given functions directly, without `await` and `asyncio`"),
        ("cannot be awaited", "call the given functions directly, without `await` and `asyncio`"),
        ("complex constants", "use pairs of floats"),
        (
            "object is not subscriptable",
            "call a method or read an attribute: `[]` works for lists, dicts, tuples and text",
        ),
        ("is not an iterator", "write `next(iter(values))`"),
        ("invalid unpacking target", "unpack into plain names first, then assign"),
    ];
    let known = KNOWN.iter().find(|(part, _)| message.contains(part));
    known.map(|(_, instead)| (*instead).to_owned()).or_else(|| missing(message))
}

/// Instead of a name that a module does not have.
fn missing(message: &str) -> Option<String> {
    if let Some((_, rest)) = message.split_once("No module named '") {
        return rest.split('\'').next().map(module);
    }
    if message.contains("from 'dataclasses'") {
        return Some(
            "only `dataclass` is there: give defaults such as `None`, and build dicts by hand".into(),
        );
    }
    if let Some((_, rest)) = message.split_once("cannot import name '") {
        return rest.split('\'').next().map(|name| format!("write `{name}` as a function of your own"));
    }
    let (module, name) = message.split_once("module '")?.1.split_once("' has no attribute '")?;
    let name = name.trim_end_matches('\'');
    Some(format!("`{module}` has no `{name}` here: write it as a function of your own"))
}
