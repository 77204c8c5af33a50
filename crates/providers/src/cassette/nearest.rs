//! A request that is not on the cassette: which recorded one comes nearest, and where the two part.

use super::call::identity;
use convoke_model::excerpt::{clipped, place_of};
use serde_json::Value;

/// How much of a text is shown after the place where it differs.
const SHOWN: usize = 60;
/// How much of it is shown before.
const BEFORE: usize = 20;

/// The recorded thing that is most like a request, with its place. `part` gives the request of a thing, and whether it
/// is preferred: the same step's, if it has any.
pub fn nearest<'a, T>(
    recorded: &'a [T],
    part: impl Fn(&'a T) -> (bool, &'a Value),
    request: &Value,
) -> Option<(usize, &'a T)> {
    let asked = identity(request);
    let likeness = |thing: &'a T| {
        let (preferred, request) = part(thing);
        (preferred, likeness(&asked, &identity(request)))
    };
    // The first of equals: `max_by_key` would take the last.
    recorded.iter().enumerate().rev().max_by_key(|(_, thing)| likeness(thing))
}

/// How many bytes two texts share at their beginnings and ends.
fn likeness(a: &str, b: &str) -> usize {
    let same = |(a, b): &(u8, u8)| a == b;
    let front = a.bytes().zip(b.bytes()).take_while(same).count();
    let back = a.bytes().rev().zip(b.bytes().rev()).take_while(same).count();
    front + back.min(a.len().min(b.len()) - front)
}

/// Where two requests part first, in words; empty if they are equal.
pub fn difference(recorded: &Value, asked: &Value) -> String {
    walk("", Some(recorded), Some(asked)).unwrap_or_default()
}

fn walk(path: &str, recorded: Option<&Value>, asked: Option<&Value>) -> Option<String> {
    match (recorded, asked) {
        (a, b) if a == b => None,
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            let dot = if path.is_empty() { "" } else { "." };
            names.into_iter().find_map(|name| walk(&format!("{path}{dot}{name}"), a.get(name), b.get(name)))
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            (0..a.len().max(b.len())).find_map(|at| walk(&format!("{path}[{at}]"), a.get(at), b.get(at)))
        }
        (Some(Value::String(a)), Some(Value::String(b))) => {
            let at = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            Some(format!("{path}: recorded {}, asked {}", excerpt(a, at), excerpt(b, at)))
        }
        (a, b) => Some(format!("{path}: recorded {}, asked {}", shown(a), shown(b))),
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => excerpt(text, 0),
        Some(other) => clipped(&other.to_string(), BEFORE + SHOWN),
    }
}

/// The part of a text around the place where it differs.
fn excerpt(text: &str, at: usize) -> String {
    let from = at.saturating_sub(BEFORE);
    let rest = &text[place_of(text, from)..];
    let dots = if from > 0 { "…" } else { "" };
    format!("{:?}", format!("{dots}{}", clipped(rest, BEFORE + SHOWN)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named_with_its_surroundings() {
        let recorded = json!({"model": "m", "messages": [{"role": "user", "text": "Write two sentences about backups."}]});
        let asked =
            json!({"model": "m", "messages": [{"role": "user", "text": "Write two sentences about cats."}]});
        assert_eq!(
            difference(&recorded, &asked),
            "messages[0].text: recorded \"…two sentences about backups.\", asked \"…two sentences about cats.\""
        );
        let longer = json!({"model": "m", "messages": [], "temperature": 0.5});
        assert_eq!(
            difference(&json!({"model": "m", "messages": []}), &longer),
            "temperature: recorded nothing, asked 0.5"
        );
        assert_eq!(difference(&asked, &asked), "");
    }
}
