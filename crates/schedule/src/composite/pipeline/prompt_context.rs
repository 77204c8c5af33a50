//! What a model is told of payloads: whole where they are small, else their beginning and the name to read the rest by.
//!
//! A hand-off names every predecessor, so what all of them gave may be more than any model reads. Bounds are those of
//! `dependency_outputs`. Values that texts of a manifest use are never cut, and programs are given all: what is cut here stands
//! under `told`, which the standard prompt shows. What is cut is kept beside the attempt, in the order of its names.

use crate::outputs::Outputs;
use crate::state::TaskIx;
use crate::view::View;
use convoke_model::excerpt::{bytes_of_tokens, headed, reads};
use convoke_model::{AgentCall, Blob, Digest, JsonText};
use serde_json::{Value, json};

/// Of one payload.
const TOKENS: u64 = 2_000;
/// Of all payloads of one list together.
const ALL_TOKENS: u64 = 16 * TOKENS;
/// Fewer say nothing.
const LEAST_TOKENS: u64 = 50;

/// What was cut, in the order of its names, and the bounds in tokens.
pub(super) struct Cut {
    kept: Vec<Value>,
    one: u64,
    all: u64,
}

impl View<'_> {
    /// What the prompt of a worker shows: hand-off, state, project, earlier tries and children.
    pub(super) fn prompt_context_json(&self, task: TaskIx, child: TaskIx) -> Value {
        self.prompt_context_in_part(task, child).0
    }

    /// What the prompt of a worker shows in part can be read on.
    pub(crate) fn put_prompt_context(&self, child: TaskIx, mut call: AgentCall) -> AgentCall {
        if let Some((task, _)) = self.phase_of(child) {
            let (_, cut) = self.prompt_context_in_part(task, child);
            call.kept.extend(cut.kept.iter().map(|value| kept_as(value, self.outputs)));
        }
        call
    }

    fn prompt_context_in_part(&self, task: TaskIx, child: TaskIx) -> (Value, Cut) {
        let frame = self.tasks[task].place.frame;
        let mut context = json!({
            "handoff": self.handoff_json(task),
            "state": self.state_json(frame),
            "previous": self.previous_json(child),
            "children": self.children_json(child),
        });
        // Four lists and three single values share the prompt.
        let room = self.room_of(child, self.tasks[child].node);
        let mut cut = Cut::within(room.unwrap_or(u64::MAX));
        let reads_on = self.can_read_on(child);
        if reads_on {
            for place in ["/handoff/from", "/previous", "/children", "/state/history"] {
                let list = context.pointer_mut(place).and_then(Value::as_array_mut);
                list.into_iter().for_each(|list| cut.list(list));
            }
            cut.one(&mut context["state"]["flags"]);
            cut.one(&mut context["state"]["metadata"]);
        }
        context["project"] = self.project_in_prompt(frame, reads_on.then_some(&mut cut));
        (context, cut)
    }
}

/// A value that is stored with the decision to show it in part, small or not: each name has its value.
fn kept_as(value: &Value, outputs: &dyn Outputs) -> Digest {
    let text = JsonText::of(value);
    let digest = Digest::of(text.as_str().as_bytes());
    outputs.put(Blob { digest, text });
    digest
}

impl Cut {
    /// Of a model whose prompt may have so many tokens.
    fn within(room: u64) -> Cut {
        Cut { kept: Vec::new(), one: TOKENS.min(room / 32).max(LEAST_TOKENS), all: ALL_TOKENS.min(room / 6) }
    }

    /// Cuts the payloads of a list of which each has one.
    fn list(&mut self, list: &mut [Value]) {
        let each = (self.all / list.len().max(1) as u64).clamp(LEAST_TOKENS, self.one);
        for payload in list.iter_mut().filter_map(|entry| entry.get_mut("payload")) {
            self.payload(payload, bytes_of_tokens(each));
        }
    }

    /// Cuts a value that stands alone.
    pub fn one(&mut self, value: &mut Value) {
        self.payload(value, bytes_of_tokens(self.one));
    }

    fn payload(&mut self, payload: &mut Value, most: usize) {
        let text = payload.to_string();
        if text.len() <= most {
            return;
        }
        let way = self.keep(payload.take(), "it");
        *payload = headed(&text, most, way).into();
    }

    /// Keeps a value to be read; says how it is read.
    pub fn keep(&mut self, value: Value, what: &str) -> String {
        self.kept.push(value);
        reads(self.kept.len(), what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_small_is_told_whole() {
        let mut list = vec![json!({"node": "a", "payload": {"n": 1}}), json!({"node": "b"})];
        let (before, mut cut) = (list.clone(), Cut::within(u64::MAX));
        cut.list(&mut list);
        assert_eq!((list, cut.kept.len()), (before, 0));
    }

    // Each has up to five megabytes.
    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn a_list_is_bounded_however_long_and_large_and_nothing_is_lost(sizes in prop::collection::vec(0usize..40_000, 1..60)) {
            let mut list: Vec<Value> = sizes.iter().map(|size| json!({"payload": {"text": "é".repeat(*size)}})).collect();
            let (before, mut cut) = (list.clone(), Cut::within(u64::MAX));
            cut.list(&mut list);
            let length: usize = list.iter().map(|entry| entry["payload"].to_string().len()).sum();
            prop_assert!(length <= bytes_of_tokens(ALL_TOKENS) * 2 + 200 * list.len(), "{length}");
            let mut kept = cut.kept.iter();
            for (now, was) in list.iter().zip(&before) {
                let whole = if now == was { &was["payload"] } else { kept.next().expect("it is kept") };
                prop_assert_eq!(whole, &was["payload"]);
            }
        }
    }
}
