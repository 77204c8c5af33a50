//! How traces and spans are called: from the run, the task and the attempt, and nothing else.
//!
//! What is sent again has the same ids, and a process that starts an attempt can name its span before anything is sent. A task that
//! begins anew in a run that was opened again counts its attempts anew; its spans get further ids.

use convoke_model::{RunId, TaskId};
use std::collections::HashSet;

/// The name of a trace: of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(pub [u8; 16]);

/// The name of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(pub [u8; 8]);

impl TraceId {
    /// The trace of a run.
    pub fn of(run: &RunId) -> TraceId {
        TraceId(digest(&["trace", &run.0]))
    }
}

impl SpanId {
    /// The first span of its kind for a task.
    pub(super) fn of(run: &RunId, kind: &str, task: &str, number: u32) -> SpanId {
        SpanId(digest(&["span", &run.0, kind, task, &number.to_string()]))
    }

    /// The span of an attempt.
    pub(super) fn of_attempt(run: &RunId, task: &TaskId, attempt: u32) -> SpanId {
        SpanId::of(run, ATTEMPT, &task.0, attempt)
    }
}

/// The kind of an attempt's span.
pub(super) const ATTEMPT: &str = "attempt";

/// What an attempt hands to those that it calls, so that their spans stand below its own (W3C Trace Context).
pub fn traceparent(run: &RunId, task: &TaskId, attempt: u32) -> String {
    let (trace, span) = (TraceId::of(run), SpanId::of_attempt(run, task, attempt));
    format!("00-{}-{}-01", hex(&trace.0), hex(&span.0))
}

/// Ids in hexadecimal digits, as people and other programs write them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parts with an end of their own, so that no two lists of parts are the same text. No id is all zeros.
fn digest<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    let mut id = [0; N];
    hasher.finalize_xof().fill(&mut id);
    id[N - 1] |= u8::from(id.iter().all(|byte| *byte == 0));
    id
}

/// The ids that a run has given out.
#[derive(Debug, Default)]
pub(super) struct Given(HashSet<SpanId>);

impl Given {
    /// A name that no other span of the run has.
    pub fn fresh(&mut self, run: &RunId, kind: &str, task: &str, number: u32) -> SpanId {
        let mut id = SpanId::of(run, kind, task, number);
        let mut again = 1;
        while !self.0.insert(id) {
            again += 1;
            id = SpanId::of(run, &format!("{kind}~{again}"), task, number);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_from_run_and_task_and_differ_for_everything_else() {
        let (run, other) = (RunId("r".into()), RunId("s".into()));
        let id = |run: &RunId, task: &str, attempt| SpanId::of_attempt(run, &TaskId(task.into()), attempt);
        assert_eq!(id(&run, "a", 1), id(&run, "a", 1));
        let all = [id(&run, "a", 1), id(&run, "a", 2), id(&run, "a1", 1), id(&other, "a", 1)];
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        let mut given = Given::default();
        let first = given.fresh(&run, ATTEMPT, "a", 1);
        assert_eq!(first, id(&run, "a", 1), "the one that was handed out");
        assert_ne!(given.fresh(&run, ATTEMPT, "a", 1), first);
    }

    #[test]
    fn what_is_handed_on_is_as_w3c_writes_it() {
        let told = traceparent(&RunId("r".into()), &TaskId("a".into()), 1);
        let parts: Vec<_> = told.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [2, 32, 16, 2], "{told}");
        assert!(told.chars().all(|c| c == '-' || c.is_ascii_hexdigit() && !c.is_uppercase()));
    }
}
