//! Records and the chain that binds them.
//!
//! A record is what one append wrote: some events as JSON, the epoch of the owner that wrote them and the
//! inbox messages they consumed. Its hash covers all of that and the hash of the record before, so nothing can be
//! changed, moved or left out in the middle unnoticed. Pure; where records lie is left to `sqlite`.

use crate::{Error, MessageId};
use convoke_model::Stamped;

/// The hash of a record, or of what the chain starts from.
pub(crate) type Hash = [u8; 32];

/// One record, as it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub first: u64,
    pub count: u64,
    pub epoch: u64,
    /// The consumed inbox messages: their ids, with a space between.
    pub consumed: &'a str,
    /// The events as JSON, one after the other.
    pub body: &'a [u8],
}

impl Record<'_> {
    /// The record's hash, given that of the record before.
    pub fn hash(&self, previous: &Hash) -> Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(previous);
        for number in [self.first, self.count, self.epoch, self.consumed.len() as u64] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(self.consumed.as_bytes());
        hasher.update(self.body);
        *hasher.finalize().as_bytes()
    }

    /// Reads the events; call only after the hash was checked.
    ///
    /// Not split at line ends: a value inside an event is kept as it was written, which may be over several lines.
    pub fn events(&self) -> Result<Vec<Stamped>, Flaw> {
        let mut events = Vec::with_capacity(self.body.len().min(self.count as usize));
        let mut expected = self.first..self.first + self.count;
        for event in serde_json::Deserializer::from_slice(self.body).into_iter::<Stamped>() {
            let Some(seq) = expected.next() else {
                return Err(Flaw::at(expected.end, "its record has more events than it says".into()));
            };
            match event {
                Ok(event) if event.seq == seq => events.push(event),
                Ok(event) => return Err(Flaw::at(seq, format!("it says to be event {}", event.seq))),
                Err(error) => {
                    return Err(Flaw::at(seq, format!("it cannot be read by this version: {error}")));
                }
            }
        }
        match expected.next() {
            Some(seq) => Err(Flaw::at(seq, "it is missing in its record".into())),
            None => Ok(events),
        }
    }
}

/// What is wrong with a stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub seq: u64,
    pub why: String,
    /// Whether the record is there but not as it was written; if it is the last one, it can be cut off.
    pub torn: bool,
}

impl Flaw {
    fn at(seq: u64, why: String) -> Flaw {
        Flaw { seq, why, torn: false }
    }
}

/// How far a chain has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The number that the next event has.
    pub next: u64,
    /// The highest epoch so far.
    pub epoch: u64,
    /// The hash of the last record.
    pub hash: Hash,
}

impl Chain {
    /// A chain without records.
    pub fn start(genesis: Hash) -> Chain {
        Chain { next: 1, epoch: 0, hash: genesis }
    }

    /// Checks that a stored record belongs here, and steps over it.
    pub fn follow(&mut self, record: &Record<'_>, stored: &[u8]) -> Result<(), Flaw> {
        let seq = self.next;
        if record.first != seq {
            return Err(Flaw::at(
                seq,
                format!("it is missing; the next record starts at event {}", record.first),
            ));
        }
        let hash = record.hash(&self.hash);
        if hash != stored {
            return Err(Flaw { seq, why: "its hash does not fit".into(), torn: true });
        }
        if record.epoch < self.epoch {
            let (its, earlier) = (record.epoch, self.epoch);
            return Err(Flaw::at(seq, format!("its epoch is {its}, that of an earlier event is {earlier}")));
        }
        *self = Chain { next: seq + record.count, epoch: record.epoch, hash };
        Ok(())
    }
}

/// Writes events as JSON into `body`, checking that their numbers follow.
pub(crate) fn encode(events: &[Stamped], next: u64, body: &mut Vec<u8>) -> Result<(), Error> {
    body.clear();
    check_numbers(events, next)?;
    for event in events {
        serde_json::to_writer(&mut *body, event).expect("events are JSON and memory takes all");
        body.push(b'\n');
    }
    Ok(())
}

/// Checks that events continue a journal without a gap.
pub(crate) fn check_numbers(events: &[Stamped], next: u64) -> Result<(), Error> {
    match (next..).zip(events).find(|(expected, event)| event.seq != *expected) {
        Some((expected, event)) => Err(Error::Gap { expected, found: event.seq }),
        None => Ok(()),
    }
}

/// The stored form of consumed ids.
pub(crate) fn join_ids(ids: &[MessageId]) -> String {
    ids.iter().map(|id| &*id.0).collect::<Vec<_>>().join(" ")
}

/// The ids that a record consumed.
pub(crate) fn split_ids(text: &str) -> impl Iterator<Item = MessageId> {
    text.split_whitespace().map(|id| MessageId(id.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Event, JsonText, Payload, TaskId, Timestamp};

    fn note(seq: u64) -> Stamped {
        let event = Event::Noted { task: None, code: "x".into(), message: "line\nbreak".into() };
        Stamped { seq, at: Timestamp(seq), event }
    }

    fn record(body: &[u8]) -> Record<'_> {
        Record { first: 1, count: 2, epoch: 1, consumed: "", body }
    }

    #[test]
    fn events_come_back_from_their_text() {
        let mut body = Vec::new();
        encode(&[note(1), note(2)], 1, &mut body).unwrap();
        assert_eq!(record(&body).events().unwrap(), [note(1), note(2)]);
    }

    #[test]
    fn a_value_may_be_written_over_several_lines() {
        let output = Payload::Inline(JsonText::parse("{\n  \"a\":\r\n 1\n}".into()).unwrap());
        let event = Event::TaskSucceeded { task: TaskId("t".into()), output };
        let events = [Stamped { seq: 1, at: Timestamp(1), event }, note(2)];
        let mut body = Vec::new();
        encode(&events, 1, &mut body).unwrap();
        assert_eq!(record(&body).events().unwrap(), events);
    }

    #[test]
    fn a_record_has_as_many_events_as_it_says() {
        let mut body = Vec::new();
        for (count, bad) in [(1, 2), (3, 3), (0, 1)] {
            encode(&[note(1), note(2)], 1, &mut body).unwrap();
            assert_eq!(Record { count, ..record(&body) }.events().unwrap_err().seq, bad);
        }
    }

    #[test]
    fn a_gap_is_refused() {
        let error = encode(&[note(3), note(5)], 3, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Gap { expected: 4, found: 5 }));
    }

    #[test]
    fn every_part_of_a_record_is_under_its_hash() {
        let (start, body) = ([7; 32], b"a\nb\n".as_slice());
        let base = record(body);
        let others = [
            Record { first: 2, ..base },
            Record { count: 3, ..base },
            Record { epoch: 2, ..base },
            Record { consumed: "id", ..base },
            Record { body: b"a\nc\n", ..base },
        ];
        for other in others {
            assert_ne!(base.hash(&start), other.hash(&start));
        }
        assert_ne!(base.hash(&start), base.hash(&[8; 32]));
    }

    #[test]
    fn a_record_of_an_older_owner_cannot_follow() {
        let mut chain = Chain { next: 1, epoch: 2, hash: [0; 32] };
        let late = record(b"a\nb\n");
        let flaw = chain.follow(&late, &late.hash(&[0; 32])).unwrap_err();
        assert_eq!((flaw.seq, flaw.why.contains("epoch")), (1, true));
    }

    #[test]
    fn ids_survive_their_text() {
        let ids = vec![MessageId("a1".into()), MessageId("b2".into())];
        assert_eq!(split_ids(&join_ids(&ids)).collect::<Vec<_>>(), ids);
        assert_eq!(split_ids("").count(), 0);
    }
}
