//! Whatever happens to a run comes back as it was.

use crate::common;

use common::Disk;
use convoke_journal::{Journal, Reader, verify};
use convoke_model::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn task() -> impl Strategy<Value = TaskId> {
    ("\\PC{1,12}", option::of("\\PC{0,6}"), 1u32..4)
        .prop_map(|(node, key, visit)| TaskId::new(None, &node, key.as_deref(), visit))
}

/// JSON text with spaces and line ends where they may be.
fn json() -> impl Strategy<Value = JsonText> {
    let leaf = prop_oneof![
        Just("null".to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        "\\PC{0,40}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        (0..9000usize).prop_map(|length| format!("\"{}\"", "y".repeat(length))),
    ];
    let tree = leaf.prop_recursive(3, 20, 4, |inner| {
        let space = prop_oneof![Just(""), Just("\n"), Just("\r\n\t "), Just(" ")];
        (vec(inner, 0..4), space)
            .prop_map(|(values, space)| format!("[{space}{}{space}]", values.join(&format!(",{space}"))))
    });
    tree.prop_map(|text| JsonText::parse(text).unwrap())
}

fn failure() -> impl Strategy<Value = Failure> {
    (0..12usize, "\\PC*", option::of("\\PC{0,20}"), option::of(any::<u32>())).prop_map(
        |(class, message, hint, after)| Failure {
            class: Class::ALL[class],
            reason: None,
            message,
            hint,
            retry_after_ms: after.map(u64::from),
        },
    )
}

/// An event, and the blob it names.
fn event() -> impl Strategy<Value = (Event, Option<Blob>)> {
    let plain = prop_oneof![
        (task(), any::<u32>()).prop_map(|(task, attempt)| Event::AttemptStarted {
            task,
            attempt,
            lease: None
        }),
        (task(), any::<u32>(), failure()).prop_map(|(task, attempt, failure)| Event::AttemptFailed {
            task,
            attempt,
            failure,
            usage: Usage::default(),
            partial: None
        }),
        (task(), any::<u64>()).prop_map(|(task, at)| Event::RetryScheduled { task, at: Timestamp(at) }),
        (any::<u64>(), any::<u32>(), "\\PC*").prop_map(|(epoch, pid, host)| Event::RunOwned {
            epoch,
            pid,
            host,
            uptime: None
        }),
        (option::of(task()), "[a-z_]+", "\\PC*").prop_map(|(task, code, message)| Event::Noted {
            task,
            code,
            message
        }),
        vec(task(), 0..5).prop_map(|waiting| Event::RunParked { waiting }),
    ];
    let with_value =
        (task(), json(), any::<bool>(), any::<[u32; 4]>()).prop_map(|(task, text, attempt, n)| {
            let (output, blob) = Payload::new(text);
            let [calls, input, sent, cost] = n.map(u64::from);
            let usage = Usage {
                calls,
                input_tokens: input,
                output_tokens: sent,
                cost_micros: cost,
                ..Usage::default()
            };
            let event = match attempt {
                true => Event::AttemptFinished { task, attempt: 1, output, usage },
                false => Event::TaskSucceeded { task, output },
            };
            (event, blob)
        });
    prop_oneof![plain.prop_map(|event| (event, None)), with_value]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_events_in_any_batches_come_back(batches in vec(vec(event(), 1..8), 1..8)) {
        let disk = Disk::new();
        let mut journal = disk.create();
        let (mut all, mut kept) = (Vec::new(), Vec::new());
        for batch in batches {
            let first = journal.next_seq();
            let (events, blobs): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            let stamp = |(seq, event)| Stamped { seq, at: Timestamp(seq * 7), event };
            let events: Vec<_> = (first..).zip(events).map(stamp).collect();
            let blobs: Vec<_> = blobs.into_iter().flatten().collect();
            journal.append(&events, &blobs, &[]).unwrap();
            all.extend(events);
            kept.extend(blobs);
        }
        prop_assert_eq!(&journal.read_all().unwrap(), &all);
        drop(journal);
        let reader = Reader::open(&disk.state, &disk.run).unwrap();
        prop_assert_eq!(&reader.read_all().unwrap(), &all);
        for blob in kept {
            prop_assert_eq!(reader.blob(&blob.digest).unwrap(), Some(blob.text));
        }
        prop_assert_eq!(verify(&disk.state, &disk.run).unwrap().events, all.len() as u64);
    }
}
