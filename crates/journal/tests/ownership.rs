//! One run, one owner.

use crate::common;

use common::{Disk, blob_of, me, meta, note, notes};
use convoke_journal::disk::{Fate, watch};
use convoke_journal::{Error, Journal, Reader, Sqlite, live_owner, verify};
use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::rc::Rc;
use std::sync::Barrier;

#[test]
fn a_second_owner_is_refused_at_once_and_told_who_has_the_run() {
    let disk = Disk::new();
    drop(disk.create());
    let _owner = disk.open();
    // A process that waited for the owner to go would wait for ever.
    let error = Sqlite::open_owner(&disk.state, &disk.run, &me()).err().unwrap();
    let text = format!("run `{}` is driven by process {} on `here` (epoch 2)", disk.run, std::process::id());
    assert_eq!(error.to_string(), text);
}

#[test]
fn of_many_that_race_for_a_run_exactly_one_gets_it() {
    let disk = Disk::new();
    drop(disk.create());
    for round in 0..20 {
        let barrier = Barrier::new(8);
        let results: Vec<_> = std::thread::scope(|scope| {
            let race = || {
                barrier.wait();
                let opened = Sqlite::open_owner(&disk.state, &disk.run, &me());
                barrier.wait();
                opened.map(|journal| journal.epoch())
            };
            let racers: Vec<_> = (0..8).map(|_| scope.spawn(race)).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        let winners: Vec<_> = results.iter().flatten().collect();
        assert_eq!(winners, [&(round + 2)]);
        for error in results.into_iter().filter_map(Result::err) {
            let Error::Owned { holder, .. } = error else { panic!("{error}") };
            assert_eq!(holder.owner, Some(me()));
            // Refusing does not wait for an owner that is slow to learn its epoch.
            assert!(holder.epoch.is_none_or(|epoch| epoch == round + 2), "{holder}");
        }
    }
}

#[test]
fn a_stale_owner_is_fenced_off() {
    let disk = Disk::new();
    let mut stale = disk.create();
    stale.append(&notes(1..3), &[], &[]).unwrap();
    fs::remove_file(disk.file("owner.lock")).unwrap();
    let mut owner = disk.open();
    let (_, blob) = blob_of(3, 5000);
    for blobs in [&[][..], std::slice::from_ref(&blob)] {
        let error = stale.append(&notes(3..4), blobs, &[]).unwrap_err();
        assert!(matches!(error, Error::Fenced { epoch: 1, current: 2, .. }), "{error}");
    }
    let error = stale.append(&[], std::slice::from_ref(&blob), &[]).unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
    owner.append(&notes(3..5), &[], &[]).unwrap();
    assert!(stale.append(&notes(3..4), &[], &[]).is_err());
    drop(stale);
    assert_eq!(owner.read_all().unwrap(), notes(1..5));
    assert_eq!(owner.blob(&blob.digest).unwrap(), None);
    drop(owner);
    assert_eq!(verify(&disk.state, &disk.run).unwrap().records, 2);
}

/// A row is given before its statement is committed: an owner whose commit failed must not believe that it has the next epoch.
#[test]
fn an_owner_has_its_epoch_in_the_journal_or_is_refused() {
    for errno in [5, 28] {
        for nth in 0.. {
            let disk = Disk::new();
            drop(disk.create());
            let seen = Rc::new(Cell::new(0));
            let count = seen.clone();
            watch(Some(Rc::new(move |_| {
                count.set(count.get() + 1);
                if count.get() == nth + 1 { Fate::Fail(errno) } else { Fate::Pass }
            })));
            let opened = Sqlite::open_owner(&disk.state, &disk.run, &me());
            watch(None);
            if let Ok(mut owner) = opened {
                let written = owner.append(&notes(1..2), &[], &[]);
                assert!(
                    !matches!(written, Err(Error::Fenced { .. })),
                    "operation {nth} failed with {errno}: {written:?}"
                );
            }
            if seen.get() <= nth {
                assert!(nth > 5, "nothing failed");
                break;
            }
        }
    }
}

#[test]
fn a_reader_follows_a_live_owner() {
    let disk = Disk::new();
    let mut owner = disk.create();
    let reader = Reader::open(&disk.state, &disk.run).unwrap();
    let mut seen = Vec::new();
    for from in (1..20).step_by(2) {
        owner.append(&notes(from..from + 2), &[], &[]).unwrap();
        reader.read(seen.len() as u64 + 1, &mut |event| seen.push(event)).unwrap();
        assert_eq!(seen, notes(1..from + 2));
        assert!(verify(&disk.state, &disk.run).is_ok());
    }
    assert!(live_owner(&disk.state, &disk.run).unwrap().is_some());
    drop(owner);
    assert_eq!(live_owner(&disk.state, &disk.run).unwrap(), None);
    assert_eq!(Reader::open(&disk.state, &disk.run).unwrap().read_all().unwrap(), notes(1..21));
}

#[test]
fn the_plan_is_stored_with_the_run() {
    let disk = Disk::new();
    assert_eq!(disk.create().meta().unwrap(), meta());
    assert_eq!(disk.open().meta().unwrap(), meta());
    assert_eq!(Reader::open(&disk.state, &disk.run).unwrap().meta().unwrap(), meta());
}

#[test]
fn every_file_of_a_run_is_private() {
    let disk = Disk::new();
    let mut owner = disk.create();
    owner.append(&notes(1..2), &[], &[]).unwrap();
    let message = common::stop("x");
    convoke_journal::Inbox::send(&disk.state, &disk.run, convoke_model::Timestamp(1), &message).unwrap();
    convoke_journal::Index::open(&disk.state).unwrap();
    let files = [disk.dir(), disk.state.path().into()].map(|dir| fs::read_dir(dir).unwrap());
    let files: Vec<_> =
        files.into_iter().flatten().map(Result::unwrap).filter(|e| e.path().is_file()).collect();
    assert!(files.len() >= 7, "{files:?}");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}

#[test]
fn a_renamed_run_is_not_taken_for_another() {
    let disk = Disk::new();
    drop(disk.create());
    fs::rename(disk.dir(), disk.dir().with_file_name("other")).unwrap();
    let error = Reader::open(&disk.state, &convoke_model::RunId("other".into())).err().unwrap();
    assert!(error.to_string().contains(&format!("belongs to run `{}`", disk.run)), "{error}");
}

/// Twenty owners race for one run, round after round: one gets it, and each of the others is told which process has it and its epoch.
/// `CONVOKE_RACING_RESUMES=1000` is the long form.
#[test]
#[allow(clippy::print_stderr, reason = "what was counted is for people")]
fn of_twenty_racing_owners_one_gets_the_run() {
    const RACERS: usize = 20;
    let rounds =
        std::env::var("CONVOKE_RACING_RESUMES").ok().and_then(|text| text.parse().ok()).unwrap_or(5u64);
    let disk = Disk::new();
    drop(disk.create());
    let mut refused = 0;
    for round in 1..=rounds {
        let (begin, over) = (Barrier::new(RACERS), Barrier::new(RACERS));
        let race = || {
            begin.wait();
            let mut opened = Sqlite::open_owner(&disk.state, &disk.run, &me());
            // The one that has it keeps it until all others were refused.
            over.wait();
            if let Ok(journal) = &mut opened {
                let seq = journal.next_seq();
                journal.append(&[note(seq)], &[], &[]).unwrap();
            }
            opened.map(|journal| journal.epoch()).map_err(|error| error.to_string())
        };
        let ends: Vec<_> = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..RACERS).map(|_| scope.spawn(race)).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        let owners: Vec<_> = ends.iter().flatten().collect();
        assert_eq!(owners, [&(round + 1)], "round {round}: one owner, with the next epoch");
        let name = format!("is driven by process {} on `here`", std::process::id());
        for words in ends.iter().filter_map(|end| end.as_ref().err()) {
            assert!(words.contains(&name), "round {round}: {words}");
            refused += 1;
        }
    }
    assert_eq!(refused, rounds * (RACERS as u64 - 1));
    assert_eq!(verify(&disk.state, &disk.run).unwrap().events, rounds, "each owner wrote once");
    eprintln!("{rounds} rounds of {RACERS}: {rounds} owners, {refused} refused by name");
}
