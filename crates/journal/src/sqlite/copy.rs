//! A new journal that begins with a copy of another one's events.
//!
//! Every event and every blob is checked against its hash while it is copied. The run's folder is marked as being made until
//! all of it is there, so what a kill leaves behind is no run. The other journal is only read: a live owner goes on meanwhile.

use super::reader::Reader;
use super::{RunMeta, Sqlite, refusal};
use crate::{Error, Journal, Missing, Owner, StateDir};
use convoke_failpoint::failpoint;
use convoke_model::{Blob, Digest, JsonText, RunId, Stamped};
use rusqlite::OptionalExtension;
use std::collections::HashSet;

/// Events of one append while copying: a bound on what is in memory besides the events themselves.
const BATCH: usize = 1000;

/// The beginning of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefix {
    /// Its events, in order.
    pub events: Vec<Stamped>,
    /// The hash of the record that holds the last of them.
    pub hash: Digest,
}

impl Reader {
    /// The events up to number `last`, after the whole journal was checked.
    pub fn prefix(&self, last: u64) -> Result<Prefix, Error> {
        let mut events = Vec::new();
        self.read(1, &mut |event| {
            if event.seq <= last {
                events.push(event);
            }
        })?;
        let sql = "SELECT hash FROM records WHERE first <= ?1 ORDER BY first DESC LIMIT 1";
        let hash = self.connection.query_row(sql, [last as i64], |row| row.get::<_, [u8; 32]>(0)).optional();
        let hash = hash.map_err(|error| refusal(&self.path, error))?.unwrap_or_default();
        Ok(Prefix { events, hash: Digest(hash) })
    }
}

impl Sqlite {
    /// Makes the journal of a new run that has these events already, and owns it. Large values that the events name are looked
    /// for among `own`, then in the journal that the events come from.
    pub fn create_copy(
        state: &StateDir,
        run: &RunId,
        meta: &RunMeta,
        owner: &Owner,
        events: &[Stamped],
        (base, own): (&Reader, &[Blob]),
    ) -> Result<Sqlite, Error> {
        let known: HashSet<Digest> = base.blob_addresses().into_iter().collect();
        Sqlite::create_with(state, run, meta, owner, |journal| {
            journal.append(&[], own, &[])?;
            failpoint!("journal.copy.begun");
            let mut copied = HashSet::new();
            for batch in events.chunks(BATCH) {
                let blobs = named_blobs(base, &known, batch, &mut copied)?;
                journal.append(batch, &blobs, &[])?;
                failpoint!("journal.copy.appended");
            }
            Ok(())
        })
    }
}

/// The blobs that these events name, those that these name in turn, and so on; each once.
fn named_blobs(
    base: &Reader,
    known: &HashSet<Digest>,
    events: &[Stamped],
    copied: &mut HashSet<Digest>,
) -> Result<Vec<Blob>, Error> {
    let mut blobs = Vec::new();
    for event in events {
        let mut texts = vec![JsonText::of(event)];
        while let Some(text) = texts.pop() {
            for digest in addresses(text.as_str()).filter(|digest| known.contains(digest)) {
                if !copied.insert(digest) {
                    continue;
                }
                let missing = Error::Blob { digest, seq: Some(event.seq), what: Missing::Absent };
                let text = base.blob(&digest)?.ok_or(missing)?;
                texts.push(text.clone());
                blobs.push(Blob { digest, text });
            }
        }
    }
    Ok(blobs)
}

/// Everything in a text that looks like the address of a blob: found by its shape, so that no kind of event is forgotten.
fn addresses(text: &str) -> impl Iterator<Item = Digest> {
    let words = text.split(|c: char| !c.is_ascii_hexdigit());
    words.filter(|word| word.len() == 64).filter_map(Digest::parse)
}
