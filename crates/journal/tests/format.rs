//! The format is for ever: what a version wrote can be read by every later one.

use crate::common;

use common::{Disk, blob_of, me, meta, note};
use convoke_journal::{Error, Journal, Reader, Sqlite, Verified, verify};
use convoke_model::{
    Digest, Event, JsonText, Payload, RunStarted, RunStatus, Stamped, TaskId, Timestamp, Usage,
};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// What the fixtures hold.
fn events() -> Vec<Stamped> {
    let task = || TaskId("research[3]#2/1".into());
    let (blob, _) = blob_of(0, 6000);
    let Event::TaskSucceeded { output, .. } = blob.event else { unreachable!() };
    let usage = Usage { calls: 1, output_tokens: 7, ..Usage::default() };
    let events = [
        Event::RunStarted(Box::new(RunStarted {
            run: Disk::new().run,
            workflow: "review".into(),
            file: "review.yaml".into(),
            folder: "/home/a".into(),
            plan: Digest::of(b"plan"),
            inputs: Payload::Inline(JsonText::parse("{\n \"topic\": 1.50}".into()).unwrap()),
            seed: 7,
            skip_gates: false,
            version: "0.1.0".into(),
            metadata: Default::default(),
            configuration: Default::default(),
            base: None,
        })),
        Event::RunOwned { epoch: 1, pid: 42, host: "h".into(), uptime: None },
        Event::AttemptStarted { task: task(), attempt: 1, lease: None },
        Event::AttemptFinished { task: task(), attempt: 1, output, usage },
        Event::RunFinished { status: RunStatus::Succeeded, output: Some(Payload::Gathered), failure: None },
    ];
    (1..).zip(events).map(|(seq, event)| Stamped { seq, at: Timestamp(1000 * seq), event }).collect()
}

fn fixture(version: usize) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/journal-v{version}.sql"))
}

fn unfold(version: usize) -> Disk {
    let disk = Disk::new();
    fs::create_dir(disk.dir()).unwrap();
    let text = fs::read_to_string(fixture(version)).unwrap();
    Connection::open(disk.file("journal.db")).unwrap().execute_batch(&text).unwrap();
    disk
}

/// Every version there has been.
const VERSIONS: std::ops::RangeInclusive<usize> = 1..=1;

#[test]
fn every_version_can_be_read_and_continued() {
    for version in VERSIONS {
        let disk = unfold(version);
        let reader = Reader::open(&disk.state, &disk.run).unwrap();
        assert_eq!(reader.read_all().unwrap(), events(), "version {version}");
        assert_eq!(reader.meta().unwrap(), meta());
        drop(reader);
        // The fixture is the journal alone: that nothing was lost behind it cannot be told.
        assert!(matches!(verify(&disk.state, &disk.run), Err(Error::NoTip { last: 5, .. })));
        let mut owner = disk.open();
        assert_eq!(owner.epoch(), 2);
        owner.append(&[note(6)], &[], &[]).unwrap();
        drop(owner);
        assert_eq!(verify(&disk.state, &disk.run).unwrap(), Verified { records: 3, events: 6, blobs: 1 });
    }
}

#[test]
fn a_newer_version_is_refused_and_both_are_named() {
    let disk = Disk::new();
    drop(disk.create());
    let connection = Connection::open(disk.file("journal.db")).unwrap();
    connection.execute_batch("PRAGMA user_version = 999").unwrap();
    drop(connection);
    let errors = [
        Reader::open(&disk.state, &disk.run).err(),
        Sqlite::open_owner(&disk.state, &disk.run, &me()).err(),
        verify(&disk.state, &disk.run).err(),
    ];
    for error in errors.into_iter().map(Option::unwrap) {
        assert!(matches!(error, Error::Newer { found: 999, known: 1, .. }), "{error}");
        assert!(error.to_string().ends_with("has format 999, this version knows formats up to 1"), "{error}");
    }
}

#[test]
fn an_event_of_a_newer_version_is_named() {
    let disk = Disk::new();
    let mut owner = disk.create();
    owner.append(&[note(1)], &[], &[]).unwrap();
    drop(owner);
    // A later version may add events without changing the format; its chain is whole all the same.
    let connection = Connection::open(disk.file("journal.db")).unwrap();
    let body = "{\"seq\":1,\"at\":1,\"event\":{\"beamed_up\":{}}}\n";
    let (genesis, hash) = rehash(&connection, &disk, body);
    assert_ne!(genesis, hash);
    connection.execute("UPDATE records SET body = ?1, hash = ?2", (body, hash)).unwrap();
    fs::remove_file(disk.file("tip")).unwrap();
    let error = verify(&disk.state, &disk.run).unwrap_err().to_string();
    assert!(
        error.contains("damaged at event 1: it cannot be read by this version: unknown variant `beamed_up`"),
        "{error}"
    );
}

/// The chain as the format describes it, so that a change of it is noticed here.
fn rehash(connection: &Connection, disk: &Disk, body: &str) -> ([u8; 32], [u8; 32]) {
    let digests = |row: &rusqlite::Row<'_>| Ok((row.get::<_, [u8; 32]>(0)?, row.get::<_, [u8; 32]>(1)?));
    let (plan, source) = connection.query_row("SELECT plan, source FROM run", [], digests).unwrap();
    let start = [b"convoke journal\0", disk.run.0.as_bytes(), b"\0", &plan, &source].concat();
    let genesis = Digest::of(&start).0;
    let numbers = [1u64, 1, 1, 0].map(u64::to_le_bytes).concat();
    (genesis, Digest::of(&[&genesis[..], &numbers, body.as_bytes()].concat()).0)
}

/// Run once after the format has changed: `cargo nextest run --run-ignored all writes_the_fixture`.
#[test]
#[ignore = "makes the fixture of a new version"]
fn writes_the_fixture_of_the_current_version() {
    let path = fixture(*VERSIONS.end());
    assert!(!path.exists(), "a fixture is never changed");
    let disk = Disk::new();
    let mut owner = disk.create();
    owner.append(&events()[..2], &[], &[]).unwrap();
    owner.append(&events()[2..], &[blob_of(0, 6000).1], &[]).unwrap();
    drop(owner);
    fs::write(path, dump(&Connection::open(disk.file("journal.db")).unwrap())).unwrap();
}

fn dump(connection: &Connection) -> String {
    let mut text = String::new();
    for pragma in ["application_id", "user_version"] {
        let number: i64 = connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap();
        writeln!(text, "PRAGMA {pragma} = {number};").unwrap();
    }
    let mut tables = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").unwrap();
    let mut tables = tables.query([]).unwrap();
    while let Some(table) = tables.next().unwrap() {
        let (name, sql): (String, String) = (table.get(0).unwrap(), table.get(1).unwrap());
        writeln!(text, "{sql};").unwrap();
        dump_rows(connection, &name, &mut text);
    }
    text
}

fn dump_rows(connection: &Connection, table: &str, text: &mut String) {
    let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let values: Vec<_> = (0..columns).map(|column| literal(row.get_ref(column).unwrap())).collect();
        writeln!(text, "INSERT INTO {table} VALUES ({});", values.join(", ")).unwrap();
    }
}

fn literal(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Text(text) => format!("'{}'", String::from_utf8_lossy(text).replace('\'', "''")),
        ValueRef::Blob(bytes) => {
            format!("x'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        other => panic!("{other:?} is not in the format"),
    }
}
