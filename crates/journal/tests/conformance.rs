//! What every journal must do, whatever it is made of.

use crate::common;

use common::{Disk, Store, blob_of, note, notes, stop};
use convoke_journal::{Error, Memory, MessageId};
use convoke_model::{Digest, Timestamp};

/// One suite for all journals.
macro_rules! conformance {
    ($name:ident, $store:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn what_was_appended_is_read_back_in_order() {
                super::what_was_appended_is_read_back_in_order(&mut $store);
            }
            #[test]
            fn reading_can_start_anywhere() {
                super::reading_can_start_anywhere(&mut $store);
            }
            #[test]
            fn a_gap_is_refused_and_leaves_no_trace() {
                super::a_gap_is_refused_and_leaves_no_trace(&mut $store);
            }
            #[test]
            fn blobs_are_there_with_their_events() {
                super::blobs_are_there_with_their_events(&mut $store);
            }
            #[test]
            fn nothing_appended_is_nothing_recorded() {
                super::nothing_appended_is_nothing_recorded(&mut $store);
            }
            #[test]
            fn each_owner_has_the_next_epoch() {
                super::each_owner_has_the_next_epoch(&mut $store);
            }
            #[test]
            fn a_message_is_taken_once_and_consumed_once() {
                super::a_message_is_taken_once_and_consumed_once(&mut $store);
            }
            #[test]
            fn a_message_that_was_not_consumed_comes_again() {
                super::a_message_that_was_not_consumed_comes_again(&mut $store);
            }
            #[test]
            fn a_change_of_the_inbox_is_noticed() {
                super::a_change_of_the_inbox_is_noticed(&mut $store);
            }
        }
    };
}

conformance!(memory, Memory::new());
conformance!(sqlite, Disk::new());

fn what_was_appended_is_read_back_in_order(store: &mut dyn Store) {
    let mut journal = store.first();
    for from in [1, 4, 7] {
        assert_eq!(journal.next_seq(), from);
        journal.append(&notes(from..from + 3), &[], &[]).unwrap();
    }
    assert_eq!(journal.read_all().unwrap(), notes(1..10));
    drop(journal);
    assert_eq!(store.next().read_all().unwrap(), notes(1..10));
}

fn reading_can_start_anywhere(store: &mut dyn Store) {
    let mut journal = store.first();
    for from in [1, 4, 7] {
        journal.append(&notes(from..from + 3), &[], &[]).unwrap();
    }
    for from in 0..12 {
        let mut events = Vec::new();
        journal.read(from, &mut |event| events.push(event)).unwrap();
        assert_eq!(events, notes(from.clamp(1, 10)..10), "from {from}");
    }
}

fn a_gap_is_refused_and_leaves_no_trace(store: &mut dyn Store) {
    let mut journal = store.first();
    journal.append(&notes(1..3), &[], &[]).unwrap();
    for wrong in [vec![note(2)], vec![note(4)], vec![note(3), note(5)]] {
        let error = journal.append(&wrong, &[], &[]).unwrap_err();
        assert!(matches!(error, Error::Gap { .. }), "{error}");
    }
    assert_eq!(journal.read_all().unwrap(), notes(1..3));
    journal.append(&notes(3..4), &[], &[]).unwrap();
}

fn blobs_are_there_with_their_events(store: &mut dyn Store) {
    let mut journal = store.first();
    let (event, blob) = blob_of(1, 10_000);
    journal.append(&[event], std::slice::from_ref(&blob), &[]).unwrap();
    let (again, same) = blob_of(2, 10_000);
    journal.append(&[again], &[same], &[]).unwrap();
    assert_eq!(journal.blob(&blob.digest).unwrap(), Some(blob.text.clone()));
    assert_eq!(journal.blob(&Digest::of(b"other")).unwrap(), None);
    drop(journal);
    assert_eq!(store.next().blob(&blob.digest).unwrap(), Some(blob.text));
}

fn nothing_appended_is_nothing_recorded(store: &mut dyn Store) {
    let mut journal = store.first();
    journal.append(&[], &[], &[]).unwrap();
    let error = journal.append(&[], &[], &[MessageId("x".into())]).unwrap_err();
    assert!(matches!(error, Error::NothingToRecord));
    let (_, blob) = blob_of(1, 5000);
    journal.append(&[], std::slice::from_ref(&blob), &[]).unwrap();
    assert!(journal.blob(&blob.digest).unwrap().is_some());
    assert_eq!((journal.next_seq(), journal.read_all().unwrap()), (1, vec![]));
    journal.append(&notes(1..2), &[], &[]).unwrap();
}

fn each_owner_has_the_next_epoch(store: &mut dyn Store) {
    let first = store.first();
    assert_eq!(first.epoch(), 1);
    drop(first);
    for epoch in 2..5 {
        assert_eq!(store.next().epoch(), epoch);
    }
}

fn a_message_is_taken_once_and_consumed_once(store: &mut dyn Store) {
    let mut journal = store.first();
    store.send(Timestamp(5), stop("a"));
    store.send(Timestamp(6), stop("b"));
    let taken = journal.take_inbox().unwrap();
    assert_eq!(
        taken.iter().map(|m| (m.at.0, m.body.clone())).collect::<Vec<_>>(),
        [(5, stop("a")), (6, stop("b"))]
    );
    assert_eq!(journal.take_inbox().unwrap(), []);
    let ids: Vec<_> = taken.into_iter().map(|message| message.id).collect();
    journal.append(&notes(1..3), &[], &ids).unwrap();
    assert_eq!(journal.take_inbox().unwrap(), []);
    drop(journal);
    assert_eq!(store.next().take_inbox().unwrap(), []);
}

fn a_message_that_was_not_consumed_comes_again(store: &mut dyn Store) {
    let mut journal = store.first();
    store.send(Timestamp(5), stop("a"));
    store.send(Timestamp(6), stop("b"));
    let taken = journal.take_inbox().unwrap();
    journal.append(&notes(1..2), &[], &[taken[0].id.clone()]).unwrap();
    drop(journal);
    assert_eq!(store.next().take_inbox().unwrap(), taken[1..]);
}

fn a_change_of_the_inbox_is_noticed(store: &mut dyn Store) {
    let mut journal = store.first();
    assert!(!journal.inbox_changed());
    for by in ["a", "b"] {
        store.send(Timestamp(1), stop(by));
        assert!(journal.inbox_changed());
        assert_eq!(journal.take_inbox().unwrap().len(), 1);
        assert!(!journal.inbox_changed());
    }
}
