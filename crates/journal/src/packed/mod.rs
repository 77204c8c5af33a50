//! Events in few bytes, that are read without parsing: the form of a snapshot.
//!
//! What a long history is full of (attempts, turns, calls of tools) has a form of its own; every other event is kept as JSON, so
//! an event of a new kind needs nothing here. A task is named once and numbered after that. Texts of some length are put aside,
//! packed piece by piece, and unpacked when they are first looked at: an owner that opens a run goes on with few of them.
//!
//! `write` and `read` are the two directions, `bytes` has the numbers, `texts` what is put aside. Whether the bytes are what was
//! written is left to their user, who has a hash of them; here they are read as far as they make sense, without a panic.
//!
//! Invariant: `read(write(events))` is `events`.

mod bytes;
mod read;
mod texts;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;

/// Says how an event is written. Numbers are for ever, for as long as files of this form are read.
mod kind {
    pub const JSON: u8 = 0;
    pub const ATTEMPT_STARTED: u8 = 1;
    pub const ATTEMPT_FINISHED: u8 = 2;
    pub const TURN_RECORDED: u8 = 3;
    pub const TOOL_CALLED: u8 = 4;
    pub const CALL_RESERVED: u8 = 5;
}

/// Payloads that are alike: outputs of attempts, and turns of conversations.
const OUTPUT: usize = 0;
const TURN: usize = 1;

/// Says how a payload is written.
mod payload {
    pub const INLINE: u8 = 0;
    pub const PUT_ASIDE: u8 = 1;
    pub const BLOB: u8 = 2;
    pub const GATHERED: u8 = 3;
    /// The payload of the event before it of the same kind: outputs and emptied turns are often alike.
    pub const SAME: u8 = 4;
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Digest, Event, JsonText, Payload, Stamped, TaskId, Timestamp, Usage};
    use proptest::prelude::*;

    fn usage() -> impl Strategy<Value = Usage> {
        let numbers = (any::<[u64; 7]>(), any::<bool>());
        let used =
            numbers.prop_map(|([calls, input, output, read, write, cost, unpriced], estimated)| Usage {
                calls,
                input_tokens: input,
                output_tokens: output,
                cache_read_tokens: read,
                cache_write_tokens: write,
                cost_micros: cost,
                unpriced_calls: unpriced,
                estimated,
            });
        prop_oneof![Just(Usage::default()), used]
    }

    fn payload() -> impl Strategy<Value = Payload> {
        let text = |length| {
            proptest::collection::vec(any::<char>(), 0..length)
                .prop_map(|letters| Payload::Inline(JsonText::of(&letters.into_iter().collect::<String>())))
        };
        prop_oneof![
            text(9),
            text(900),
            Just(Payload::Inline(JsonText::of(&()))),
            Just(Payload::Gathered),
            (any::<[u8; 32]>(), any::<u64>())
                .prop_map(|(digest, size)| Payload::Blob { digest: Digest(digest), size }),
        ]
    }

    fn event() -> impl Strategy<Value = Event> {
        let about = || {
            ("[a-c](\\[[0-9]\\])?", any::<u32>()).prop_map(|(task, attempt)| (TaskId(task.into()), attempt))
        };
        let kept = proptest::collection::vec(any::<[u8; 32]>().prop_map(Digest), 0..3);
        prop_oneof![
            (about(), any::<Option<u64>>()).prop_map(|((task, attempt), lease)| Event::AttemptStarted {
                task,
                attempt,
                lease
            }),
            (about(), payload(), usage()).prop_map(|((task, attempt), output, usage)| {
                Event::AttemptFinished { task, attempt, output, usage }
            }),
            (about(), payload(), kept, usage()).prop_map(|((task, attempt), piece, kept, usage)| {
                Event::TurnRecorded { task, attempt, piece, kept, usage }
            }),
            (about(), "[a-z]{0,3}", any::<u64>(), any::<bool>()).prop_map(
                |((task, attempt), tool, ms, failed)| {
                    Event::ToolCalled { task, attempt, tool, ms, failed }
                }
            ),
            (about(), usage()).prop_map(|((task, attempt), worst)| Event::CallReserved {
                task,
                attempt,
                worst
            }),
            about().prop_map(|(task, _)| Event::TaskWoken { task }),
            "\\PC{0,9}".prop_map(|message| Event::Noted { task: None, code: "x".into(), message }),
        ]
    }

    fn events() -> impl Strategy<Value = Vec<Stamped>> {
        let one = (any::<u64>(), any::<u64>(), event()).prop_map(|(seq, at, event)| Stamped {
            seq,
            at: Timestamp(at),
            event,
        });
        proptest::collection::vec(one, 0..40)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(events in events()) {
            let bytes = write(&events).unwrap();
            let read = read(&bytes).unwrap();
            prop_assert_eq!(&read, &events);
            prop_assert_eq!(write(&read).unwrap(), bytes, "texts that are put aside are written again as they were");
        }

        #[test]
        fn bytes_that_make_no_sense_are_refused(
            events in events(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
        ) {
            let mut bytes = write(&events).unwrap();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            // Whatever comes of it, it is an answer. What is put aside is looked at only where the bytes are those that were written.
            let _ = read(&bytes);
        }
    }

    #[test]
    fn texts_fill_more_than_one_piece() {
        let turn = |n: u64| {
            let piece = Payload::Inline(JsonText::of(&format!("{n} {}", "word ".repeat(700))));
            let event = Event::TurnRecorded {
                task: TaskId("a".into()),
                attempt: 1,
                piece,
                kept: vec![],
                usage: Usage::default(),
            };
            Stamped { seq: n, at: Timestamp(n), event }
        };
        let events: Vec<_> = (1..2_000).map(turn).collect();
        let bytes = write(&events).unwrap();
        assert!(bytes.len() < 1 << 20);
        let read = read(&bytes).unwrap();
        assert_eq!(read[1_998], events[1_998]);
        assert_eq!(read, events);
    }
}
