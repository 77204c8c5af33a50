//! Whatever a text says, the host gets an answer to it in time, and lives.

use crate::support;

use convoke_interpreter::{Answer, Interpreter, Limits, Next};
use proptest::prelude::*;
use serde_json::json;
use std::time::{Duration, Instant};
use support::*;

/// Pieces of Python in any order: more of it is understood than of random characters.
fn soup() -> impl Strategy<Value = String> {
    let pieces = [
        "x",
        "y",
        "f",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "=",
        "==",
        "+",
        "*",
        "**",
        "-",
        "//",
        "%",
        ".",
        "'a'",
        "\"",
        "'''",
        "f'{x}'",
        "0",
        "1",
        "10",
        "999999999",
        "1e9",
        "\n",
        "\n  ",
        "\n    ",
        "def f(x):\n  ",
        "return ",
        "for x in ",
        "while x:\n  ",
        "if x:\n  ",
        "else:\n  ",
        "try:\n  ",
        "except:\n  ",
        "lambda x: ",
        "class A:\n  ",
        "import re\n",
        "import json\n",
        "range(",
        "print(",
        "sorted(",
        "list(",
        "str(",
        "f(x)",
        "x = [x] * 9\n",
        "x = x * 99\n",
        "x += x\n",
        "while True: x = [x]\n",
        "await ",
        "yield ",
        "global x\n",
        "del x\n",
        "raise ",
        "None",
        "True",
        "not ",
        " in ",
        " is ",
        "\\",
        "\t",
        "#",
        "@f\n",
        ";",
        "open('x')",
        "re.match('(a*)*b', 'a' * 30)",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..60).prop_map(|pieces| pieces.concat())
}

fn bounds() -> Limits {
    Limits {
        time: Duration::from_millis(100),
        grace: Duration::from_millis(900),
        memory_bytes: 32 << 20,
        calls: 20,
        ..Limits::default()
    }
}

/// Runs a text to its end, answering every call, and gives the worker back if it lives.
async fn survive(worker: Option<Interpreter>, text: &str) -> Option<Interpreter> {
    let mut worker = match worker {
        Some(worker) => worker,
        None => workers("").start(bounds()).await.unwrap(),
    };
    let mut next = worker.run(program(text, &["f"])).await.unwrap();
    while let Next::Call(call) = next {
        next = worker.answer(call.number, Answer::Value(json!([1, "x"]))).await.unwrap();
    }
    if let Next::Failed(failed) = &next {
        assert_eq!(failed.is_death(), !worker.is_alive());
        assert!(!failed.message.is_empty());
    }
    worker.is_alive().then_some(worker)
}

#[test]
fn no_text_hangs_or_kills_the_host() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let worker = std::cell::RefCell::new(None);
    let texts = prop_oneof![3 => soup(), 1 => ".{0,200}", 1 => "(?s).{0,200}"];
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) }, |(text in texts)| {
        let began = Instant::now();
        let used = worker.borrow_mut().take();
        let left = runtime.block_on(survive(used, &text));
        worker.replace(left);
        prop_assert!(began.elapsed() < Duration::from_secs(60), "{text:?}");
    });
}
