//! What models are told: what programs may use, and what to do about one that failed.

use crate::outcome::{Death, Failed, Kind, Printed, Session};
use crate::protocol::Failing;
use std::time::Duration;

/// What programs may use, for the model's prompt. Every line of it is tested.
pub const GUIDE: &str = include_str!("guide.md");

/// The modules that programs may import.
pub const MODULES: &[&str] = &[
    "base64",
    "collections",
    "copy",
    "dataclasses",
    "datetime",
    "functools",
    "heapq",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "statistics",
    "string",
    "typing",
    "unicodedata",
];

/// What the writer of a program could do about a failure of this kind.
pub fn hint(kind: Kind) -> Option<String> {
    let text = match kind {
        Kind::Exception | Kind::Syntax => return None,
        Kind::Unsupported => {
            return Some(format!(
                "only these modules can be imported: {}; instead of `match` and class inheritance use `if`/`elif`, \
                 functions and dicts; call host functions directly, \
                 not through `map` or `key=`",
                MODULES.join(", ")
            ));
        }
        Kind::Memory | Kind::Died => {
            "leave the data with the host: search and read parts of them instead of collecting everything"
        }
        Kind::Time => "do less in one program, and leave out loops that may not end",
        Kind::Recursion => "use a loop instead of recursion",
        Kind::RefusedOsCall => {
            "there are no files, no environment, no network and no clock; everything comes from the host functions"
        }
        Kind::Calls => "ask for more with each call",
        Kind::TooLarge => "write a shorter program; data come from the host functions",
    };
    Some(text.to_string())
}

/// A failure that the worker reported.
pub fn failed(it: Failing, session: Option<Session>) -> Failed {
    Failed {
        kind: it.kind,
        message: it.message,
        line: it.line,
        traceback: it.traceback,
        hint: it.hint.or_else(|| hint(it.kind)),
        printed: it.printed,
        session,
        kept: it.kept,
        begun: it.begun,
        death: None,
    }
}

/// A failure that the worker did not survive.
pub fn death(death: Death, complaint: &str, silence: Duration) -> Failed {
    let kind = match death {
        Death { by_host: true, .. } | Death { signal: Some(libc::SIGXCPU), .. } => Kind::Time,
        _ => Kind::Died,
    };
    let message = match death {
        Death { by_host: true, .. } => format!("it said nothing for {silence:?}, and was ended"),
        _ if complaint.is_empty() => format!("its worker died: {death}"),
        _ => format!("its worker died: {death}: {complaint}"),
    };
    Failed {
        kind,
        traceback: message.clone(),
        message,
        line: None,
        hint: hint(kind),
        printed: Printed::default(),
        session: None,
        kept: false,
        begun: true,
        death: Some(death),
    }
}
