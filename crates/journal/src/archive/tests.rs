//! Files that are whole by their envelope, and lie about what is in it.

use super::*;
use crate::{Error, Journal, Owner, RunMeta, Sqlite, StateDir, verify};
use convoke_model::{Blob, Event, JsonText, Payload, RunId, Stamped, TaskId, Timestamp};
use rusqlite::Connection;
use std::fs;
use std::path::Path;

struct Case {
    folder: tempfile::TempDir,
    state: StateDir,
    run: RunId,
}

fn event(seq: u64) -> (Stamped, Option<Blob>) {
    let (output, blob) = Payload::new(JsonText::of(&format!("answer {seq} ").repeat(900)));
    let event = Event::TaskSucceeded { task: TaskId("t".into()), output };
    (Stamped { seq, at: Timestamp(seq), event }, blob)
}

fn case() -> Case {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path().join("from")).unwrap();
    let run = RunId("r".into());
    let meta = RunMeta { plan: JsonText::of(&1), source: JsonText::of(&2) };
    let owner = Owner { pid: 1, start: None, host: "h".into(), boot: "b".into() };
    let mut journal = Sqlite::create(&state, &run, &meta, &owner).unwrap();
    for seq in 1..4 {
        let (event, blob) = event(seq);
        journal.append(&[event], &blob.into_iter().collect::<Vec<_>>(), &[]).unwrap();
    }
    drop(journal);
    Case { folder, state, run }
}

impl Case {
    fn export(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        export(&self.state, &self.run, &mut bytes).unwrap();
        bytes
    }

    /// The export after its content was changed, in an envelope that fits.
    fn forged(&self, change: &str) -> Vec<u8> {
        let path = |name: &str| self.folder.path().join(name);
        fs::write(path("export"), self.export()).unwrap();
        fs::remove_file(path("content")).ok();
        envelope::unpack(&path("export"), Path::new("e"), &path("content")).unwrap();
        Connection::open(path("content")).unwrap().execute_batch(change).unwrap();
        let mut bytes = Vec::new();
        envelope::pack(&path("content"), &mut bytes).unwrap();
        bytes
    }

    fn refusal(&self, bytes: &[u8]) -> Error {
        let state = StateDir::open(self.folder.path().join("to")).unwrap();
        let error = import(&state, &mut &bytes[..], Path::new("e")).unwrap_err();
        assert_eq!(fs::read_dir(state.runs_dir()).unwrap().count(), 0, "nothing is left: {error}");
        error
    }
}

#[test]
fn content_that_is_not_what_was_written_is_refused() {
    let case = case();
    for change in [
        "UPDATE records SET body = replace(body, 't', 'u') WHERE first = 2",
        "UPDATE records SET consumed = 'x' WHERE first = 1",
        "DELETE FROM records WHERE first = 3",
        "DELETE FROM records",
        "DELETE FROM blobs WHERE rowid = (SELECT max(rowid) FROM blobs)",
        "UPDATE blobs SET body = x'00' WHERE rowid = 1",
        "DELETE FROM run",
        "DROP TABLE records",
        "DELETE FROM archive_manifest",
        "UPDATE archive_manifest SET text = 'no'",
        "UPDATE archive_manifest SET text = replace(text, '\"events\":3', '\"events\":2')",
        "UPDATE archive_manifest SET text = replace(text, '\"blobs\":', '\"blobs\":1')",
        "INSERT INTO archive_log(body) VALUES (x'41')",
        "INSERT INTO archive_messages(id, at, body) VALUES ('x', 1, '{}')",
        "UPDATE run SET id = 'other'",
        "PRAGMA application_id = 7",
    ] {
        let error = case.refusal(&case.forged(change));
        assert!(matches!(error, Error::Archive { .. }), "{change}: {error:?}");
    }
    let newer = case.refusal(&case.forged("PRAGMA user_version = 99"));
    assert!(matches!(newer, Error::Newer { found: 99, .. }), "{newer:?}");
}

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let case = case();
    for name in ["../../x", "/tmp/x", "", ".hidden", "a/b", "-x"] {
        let rename = format!(
            "UPDATE archive_manifest SET text = json_replace(text, '$.run', '{name}'); UPDATE run SET id = '{name}'"
        );
        let error = case.refusal(&case.forged(&rename));
        assert!(error.to_string().contains("no name of a run"), "{name}: {error}");
    }
}

#[test]
fn content_that_could_act_is_refused() {
    let case = case();
    for change in [
        "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "ALTER TABLE records RENAME TO r2; CREATE VIEW records AS SELECT * FROM r2",
    ] {
        let error = case.refusal(&case.forged(change));
        assert!(error.to_string().contains("more than tables"), "{change}: {error}");
    }
}

#[test]
fn a_length_that_lies_is_refused_before_anything_is_unpacked() {
    let case = case();
    let whole = case.export();
    let lie = |length: u64| {
        let mut bytes = whole[..whole.len() - 32].to_vec();
        bytes[20..28].copy_from_slice(&length.to_le_bytes());
        let hash = blake3::hash(&bytes);
        bytes.extend_from_slice(hash.as_bytes());
        bytes
    };
    for length in [0, 1, 4_096, 1 << 40, u64::MAX] {
        let error = case.refusal(&lie(length));
        assert!(matches!(error, Error::Archive { .. }), "{length}: {error:?}");
    }
}

#[test]
fn a_bomb_stops_at_the_length_that_it_announces() {
    let case = case();
    let bomb = zstd::encode_all(&vec![0; 200_000_000][..], 1).unwrap();
    let mut bytes = case.export()[..16].to_vec();
    bytes.extend(envelope::FORMAT.to_le_bytes());
    bytes.extend(100_000_u64.to_le_bytes());
    bytes.extend(bomb);
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    let error = case.refusal(&bytes);
    assert!(error.to_string().contains("not what it announces"), "{error}");
}

#[test]
fn a_damaged_run_is_not_exported() {
    let case = case();
    let path = case.state.run_dir(&case.run).join("journal.db");
    Connection::open(&path).unwrap().execute("DELETE FROM records WHERE first = 2", []).unwrap();
    assert!(verify(&case.state, &case.run).is_err());
    let mut bytes = Vec::new();
    export(&case.state, &case.run, &mut bytes).unwrap_err();
    assert!(bytes.is_empty(), "not a byte was given out");
    assert_eq!(fs::read_dir(case.state.runs_dir()).unwrap().count(), 1, "the draft is gone");
}
