//! No damage goes unnoticed: what is read is what was written, or an error names what is wrong.

use crate::common;

use common::{Disk, blob_of, me, note, notes, stop};
use convoke_journal::{Error, Inbox, Journal, Reader, Sqlite, Verified, repair, verify};
use convoke_model::{Blob, JsonText, Stamped, Timestamp};
use rusqlite::Connection;
use std::fs;

/// A journal with three records, a blob and a consumed message, closed and copied into memory.
struct Specimen {
    disk: Disk,
    events: Vec<Stamped>,
    blob: Blob,
    files: Vec<(&'static str, Vec<u8>)>,
}

const FILES: [&str; 3] = ["journal.db", "journal.db-wal", "tip"];

impl Specimen {
    /// With everything in the database file.
    fn closed() -> Specimen {
        Specimen::made(drop)
    }

    /// As a killed owner leaves it: with everything in the log.
    fn killed() -> Specimen {
        Specimen::made(std::mem::forget)
    }

    fn made(end: fn(Sqlite)) -> Specimen {
        let disk = Disk::new();
        let mut journal = disk.create();
        Inbox::send(&disk.state, &disk.run, Timestamp(1), &stop("a")).unwrap();
        let message = journal.take_inbox().unwrap().remove(0);
        journal.append(&notes(1..4), &[], &[]).unwrap();
        let (event, blob) = blob_of(4, 6000);
        journal.append(std::slice::from_ref(&event), std::slice::from_ref(&blob), &[]).unwrap();
        journal.append(&notes(5..7), &[], &[message.id]).unwrap();
        let events = [notes(1..4), vec![event], notes(5..7)].concat();
        let mut specimen = Specimen { disk, events, blob, files: Vec::new() };
        end(journal);
        specimen.files = specimen.present();
        // A killed owner's connection is still open here; what follows works on copies in another run's place.
        specimen.disk = Disk { run: specimen.disk.run.clone(), ..Disk::new() };
        fs::create_dir(specimen.disk.dir()).unwrap();
        specimen.restore();
        specimen
    }

    fn present(&self) -> Vec<(&'static str, Vec<u8>)> {
        let read = |name| fs::read(self.disk.file(name)).ok().map(|bytes| (name, bytes));
        FILES.into_iter().filter_map(read).collect()
    }

    fn restore(&self) {
        self.restore_with("", &[]);
    }

    /// Puts all files back, one of them with other bytes.
    fn restore_with(&self, other: &str, other_bytes: &[u8]) {
        for name in ["journal.db-wal", "journal.db-shm", "tip"] {
            fs::remove_file(self.disk.file(name)).ok();
        }
        for (name, bytes) in &self.files {
            let bytes = if *name == other { other_bytes } else { bytes };
            fs::write(self.disk.file(name), bytes).unwrap();
        }
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        self.files.iter().find(|(file, _)| *file == name).expect("it was written").1.clone()
    }

    /// Verifies with one file replaced.
    fn verify_with(&self, name: &str, bytes: &[u8]) -> Result<Verified, Error> {
        self.restore_with(name, bytes);
        verify(&self.disk.state, &self.disk.run)
    }

    /// Everything that can be read.
    fn content(&self) -> (Vec<Stamped>, Option<JsonText>) {
        let reader = Reader::open(&self.disk.state, &self.disk.run).unwrap();
        (reader.read_all().unwrap(), reader.blob(&self.blob.digest).unwrap())
    }

    /// Either verify finds the damage, or nothing that was written is different.
    fn check_noticed(&self, name: &str, bytes: &[u8], what: &str) {
        if self.verify_with(name, bytes).is_ok() {
            assert_eq!(self.content(), (self.events.clone(), Some(self.blob.text.clone())), "{what}");
        }
    }

    /// Where some bytes lie in the database file.
    fn place_of(&self, needle: &[u8]) -> std::ops::Range<usize> {
        let file = self.bytes("journal.db");
        let at = file.windows(needle.len()).position(|window| window == needle).expect("it is in the file");
        at..at + needle.len()
    }

    fn column(&self, name: &str) -> Vec<Vec<u8>> {
        self.restore();
        let connection = Connection::open(self.disk.file("journal.db")).unwrap();
        let mut statement = connection.prepare(&format!("SELECT CAST({name} AS BLOB) FROM records")).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }
}

#[test]
fn a_whole_journal_is_verified() {
    let specimen = Specimen::closed();
    let found = verify(&specimen.disk.state, &specimen.disk.run).unwrap();
    assert_eq!(found, Verified { records: 3, events: 6, blobs: 1 });
    let killed = Specimen::killed();
    assert_eq!(verify(&killed.disk.state, &killed.disk.run).unwrap(), found);
}

#[test]
fn every_flipped_bit_of_a_record_is_found_and_named() {
    let specimen = Specimen::closed();
    for column in ["body", "hash", "consumed"] {
        let values = specimen.column(column).into_iter().zip([1, 4, 5]);
        for (value, first) in values.filter(|(value, _)| !value.is_empty()) {
            flip_all(&specimen, &value, first);
        }
    }
}

/// Flips every bit of a value, one at a time.
fn flip_all(specimen: &Specimen, value: &[u8], first: u64) {
    let place = specimen.place_of(value);
    let mut bytes = specimen.bytes("journal.db");
    for bit in place.start * 8..place.end * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        match specimen.verify_with("journal.db", &bytes) {
            Err(Error::Damaged { seq, torn_tail, .. }) => assert_eq!((seq, torn_tail), (first, first == 5)),
            Err(Error::Corrupt { why, .. }) => {
                assert!(why.contains(&format!("bad event is {first}")), "{why}")
            }
            other => panic!("bit {bit}: {other:?}"),
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn no_flipped_bit_of_the_files_changes_what_is_read() {
    for specimen in [Specimen::closed(), Specimen::killed()] {
        for (name, whole) in specimen.files.clone() {
            // A prime step meets every bit of a byte and every place of a page in turn.
            for bit in (0..whole.len() * 8).step_by(199) {
                let mut bytes = whole.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                specimen.check_noticed(name, &bytes, &format!("bit {bit} of {name}"));
            }
        }
    }
}

#[test]
fn no_truncation_changes_what_is_read() {
    for specimen in [Specimen::closed(), Specimen::killed()] {
        for (name, whole) in specimen.files.clone() {
            for length in (0..whole.len()).step_by(if name == "tip" { 1 } else { 251 }) {
                specimen.check_noticed(name, &whole[..length], &format!("{length} bytes of {name}"));
            }
        }
    }
}

#[test]
fn acknowledged_events_that_are_gone_are_missed() {
    let specimen = Specimen::killed();
    specimen.restore();
    // The log ends after its header: a valid journal without records.
    fs::write(specimen.disk.file("journal.db-wal"), &specimen.bytes("journal.db-wal")[..32]).unwrap();
    let error = verify(&specimen.disk.state, &specimen.disk.run).unwrap_err();
    assert!(!matches!(error, Error::Damaged { torn_tail: true, .. }), "{error}");

    let specimen = Specimen::closed();
    specimen.restore();
    let connection = Connection::open(specimen.disk.file("journal.db")).unwrap();
    connection.execute("DELETE FROM records WHERE first = 5", []).unwrap();
    drop(connection);
    for error in [
        verify(&specimen.disk.state, &specimen.disk.run).err(),
        Sqlite::open_owner(&specimen.disk.state, &specimen.disk.run, &me()).err(),
    ] {
        assert!(matches!(error, Some(Error::Lost { last: 4, acknowledged: 6, .. })), "{error:?}");
    }
}

#[test]
fn a_missing_record_is_named_by_its_event() {
    let specimen = Specimen::closed();
    let connection = Connection::open(specimen.disk.file("journal.db")).unwrap();
    connection.execute("DELETE FROM records WHERE first = 4", []).unwrap();
    let error = verify(&specimen.disk.state, &specimen.disk.run).unwrap_err();
    assert!(matches!(error, Error::Damaged { seq: 4, torn_tail: false, .. }), "{error}");
}

#[test]
fn a_missing_or_changed_blob_is_named_by_its_event() {
    let specimen = Specimen::closed();
    let connection = Connection::open(specimen.disk.file("journal.db")).unwrap();
    let digest = specimen.blob.digest;
    let swap =
        "UPDATE blobs SET body = (SELECT body FROM blobs WHERE digest != ?1 LIMIT 1) WHERE digest = ?1";
    for (sql, what) in [(swap, "damaged"), ("DELETE FROM blobs WHERE digest = ?1", "missing")] {
        assert_eq!(connection.execute(sql, [&digest.0]).unwrap(), 1);
        let error = verify(&specimen.disk.state, &specimen.disk.run).unwrap_err();
        assert_eq!(error.to_string(), format!("blob {digest}, named by event 4, is {what}"));
    }
}

#[test]
fn a_changed_plan_is_found() {
    let specimen = Specimen::closed();
    let connection = Connection::open(specimen.disk.file("journal.db")).unwrap();
    connection.execute("UPDATE run SET plan = source", []).unwrap();
    let error = verify(&specimen.disk.state, &specimen.disk.run).unwrap_err();
    assert!(matches!(error, Error::Damaged { seq: 1, .. }), "{error}");
}

#[test]
fn a_repair_goes_back_to_a_beginning_that_verifies_and_keeps_what_was_there() {
    let specimen = Specimen::closed();
    let (state, run) = (&specimen.disk.state, &specimen.disk.run);
    assert_eq!(repair(state, run, &me()).unwrap(), None);
    for (number, at) in [(1, 5), (2, 4)] {
        let kept = at as u64 - 1;
        let connection = Connection::open(specimen.disk.file("journal.db")).unwrap();
        connection.execute("UPDATE records SET consumed = 'x' WHERE first = ?1", [at]).unwrap();
        drop(connection);
        let before = fs::read(specimen.disk.file("journal.db")).unwrap();
        let repaired = repair(state, run, &me()).unwrap().expect("it is damaged");
        assert_eq!(repaired.last, kept);
        assert!(repaired.damage.contains("damaged at event"), "{}", repaired.damage);
        assert!(repaired.original.ends_with(format!(".damaged-{run}-{number}")));
        assert_eq!(fs::read(repaired.original.join("journal.db")).unwrap(), before);
        assert_eq!(verify(state, run).unwrap().events, kept);
        assert_eq!(specimen.disk.open().read_all().unwrap(), specimen.events[..kept as usize]);
    }
    assert_eq!(state.runs().unwrap(), std::slice::from_ref(run), "the copies are no runs");
    specimen.disk.open().append(&[note(4)], &[], &[]).unwrap();
    assert_eq!(verify(state, run).unwrap().events, 4);
}

/// A journal whose plan or name cannot be read gives no beginning: it stays as it is.
#[test]
fn what_cannot_be_repaired_is_left_alone() {
    let specimen = Specimen::closed();
    let connection = Connection::open(specimen.disk.file("journal.db")).unwrap();
    connection.execute("DELETE FROM blobs WHERE digest = (SELECT plan FROM run)", []).unwrap();
    drop(connection);
    let before = fs::read(specimen.disk.file("journal.db")).unwrap();
    for _ in 0..2 {
        let error = repair(&specimen.disk.state, &specimen.disk.run, &me()).unwrap_err();
        assert!(matches!(error, Error::Unrepairable { .. }), "{error}");
        assert!(error.hint().is_some_and(|hint| !hint.contains("repair")), "{error:?}: the hint leads on");
    }
    assert_eq!(fs::read(specimen.disk.file("journal.db")).unwrap(), before);
    let kept = fs::read_dir(specimen.disk.state.path().join("runs")).unwrap().count();
    assert_eq!(kept, 1, "nothing was changed, so there is no copy of what was there");
}

/// Whatever bit is flipped and wherever a file is cut: what a repair leaves verifies and is a beginning of what was written.
#[test]
fn any_repair_leaves_a_beginning_of_what_was_written() {
    let specimen = Specimen::closed();
    let (state, run) = (&specimen.disk.state, &specimen.disk.run);
    let whole = fs::read(specimen.disk.file("journal.db")).unwrap();
    let tip = fs::read(specimen.disk.file("tip")).unwrap();
    let (mut repaired, mut refused) = (0, 0);
    for bit in (0..whole.len() * 8).step_by(whole.len() * 8 / 300) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        ["journal.db-wal", "journal.db-shm"]
            .iter()
            .for_each(|name| drop(fs::remove_file(specimen.disk.file(name))));
        fs::write(specimen.disk.file("journal.db"), &bytes).unwrap();
        fs::write(specimen.disk.file("tip"), &tip).unwrap();
        match repair(state, run, &me()) {
            Ok(done) => {
                repaired += u64::from(done.is_some());
                let events = verify(state, run).unwrap().events as usize;
                assert_eq!(specimen.disk.open().read_all().unwrap(), specimen.events[..events], "bit {bit}");
                done.inspect(|done| fs::remove_dir_all(&done.original).unwrap());
            }
            Err(_) => refused += 1,
        }
    }
    assert!(repaired > 4, "{repaired} repaired, {refused} refused");
}

#[test]
fn rubbish_is_not_a_journal() {
    let specimen = Specimen::closed();
    let error = specimen.verify_with("journal.db", &[7; 9000]).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
}

/// A letter of a definition that only a writer needs: what a reader sees is whole, and an owner could not go on.
#[test]
fn a_changed_definition_is_damage_and_a_repair_writes_it_anew() {
    let specimen = Specimen::closed();
    let (state, run) = (&specimen.disk.state, &specimen.disk.run);
    let mut bytes = specimen.bytes("journal.db");
    bytes[specimen.place_of(b"size INTEGER")][0] ^= 1;
    let error = specimen.verify_with("journal.db", &bytes).unwrap_err();
    assert!(matches!(&error, Error::Corrupt { why, .. } if why.contains("`blobs`")), "{error}");
    let repaired = repair(state, run, &me()).unwrap().expect("it is damaged");
    assert_eq!(repaired.last, 6, "nothing of the run is damaged");
    verify(state, run).unwrap();
    specimen.disk.open().append(&[note(7)], &[], &[]).unwrap();
}

/// A frame of a killed owner's log is damaged, the first ones with the run's name and plan too. What the other frames say is kept.
#[test]
fn a_damaged_frame_of_the_log_is_damage_and_what_others_say_is_kept() {
    let specimen = Specimen::killed();
    let (state, run) = (&specimen.disk.state, &specimen.disk.run);
    let log = specimen.bytes("journal.db-wal");
    let frames = (log.len() - 32) / 4120;
    assert!(frames >= 8, "{frames}");
    let mut kept = Vec::new();
    // The header of the log, and of each frame its mark, its sum, and the middle of its page, which in most is empty.
    let places = [0, 17].into_iter().chain((0..frames).flat_map(|frame| {
        let at = 32 + frame * 4120;
        [at + 9, at + 17, at + 24 + 2048]
    }));
    for place in places {
        let mut bytes = log.clone();
        bytes[place] ^= 4;
        let error = specimen.verify_with("journal.db-wal", &bytes).unwrap_err();
        assert!(!matches!(error, Error::Foreign { .. }) && error.hint().is_some(), "byte {place}: {error}");
        let refused = Sqlite::open_owner(state, run, &me()).err();
        assert!(refused.is_some(), "byte {place}: it is not gone on with");
        let repaired = repair(state, run, &me()).unwrap().expect("it is damaged");
        let events = specimen.disk.open().read_all().unwrap();
        assert_eq!(events, specimen.events[..events.len()], "byte {place}");
        kept.push(repaired.last);
    }
    let whole = kept.iter().filter(|last| **last == 6).count();
    assert!(whole * 10 >= kept.len() * 9, "of 6 events were kept: {kept:?}");
}
