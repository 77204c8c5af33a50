//! Bytes to events.

use super::bytes::Bytes;
use super::texts::Texts;
use super::{OUTPUT, TURN, kind, payload};
use crate::sqlite::Unpacker;
use convoke_model::{Digest, Event, JsonText, Payload, Stamped, TaskId, Timestamp, Usage};

/// The events that these bytes stand for; an error says what makes no sense.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Stamped>, String> {
    let mut all = Bytes(bytes);
    let head = |all: &mut Bytes<'_>| Some((all.number()?, all.number()?));
    let (count, tasks) = head(&mut all).ok_or("its head is cut off")?;
    let packed = all.bytes().ok_or("its events are cut off")?;
    let body = Unpacker::default().unpack_bytes(packed).ok_or("it cannot be unpacked")?;
    let texts = |all: &mut Bytes<'_>| Some((Texts::read(all)?, Texts::read(all)?));
    let (outputs, turns) = texts(&mut all).filter(|_| all.is_empty()).ok_or("its texts are cut off")?;
    // An event takes at least three bytes, a task two.
    let room = |wanted: u64, each: usize| (wanted as usize).min(body.len() / each);
    let mut eye = Eye {
        bytes: Bytes(&body),
        tasks: Vec::with_capacity(room(tasks, 2)),
        words: Vec::new(),
        texts: [outputs, turns],
        before: Default::default(),
    };
    let mut events = Vec::with_capacity(room(count, 3));
    let (mut seq, mut at) = (0, Timestamp(0));
    for number in 0..count {
        let stamped = eye.stamped(seq, at).ok_or_else(|| format!("event {number} in it makes no sense"))?;
        (seq, at) = (stamped.seq, stamped.at);
        events.push(stamped);
    }
    match eye.bytes.is_empty() && eye.texts.iter().all(Texts::is_at_end) {
        true => Ok(events),
        false => Err("it has more than its events".into()),
    }
}

struct Eye<'a> {
    bytes: Bytes<'a>,
    /// What was named so far, by number.
    tasks: Vec<TaskId>,
    words: Vec<&'a str>,
    /// Outputs, and turns.
    texts: [Texts; 2],
    /// The last output, and the last turn.
    before: [Option<Payload>; 2],
}

impl Eye<'_> {
    fn stamped(&mut self, seq: u64, at: Timestamp) -> Option<Stamped> {
        let seq = self.bytes.difference(seq.wrapping_add(1))?;
        let at = Timestamp(self.bytes.difference(at.0)?);
        Some(Stamped { seq, at, event: self.event()? })
    }

    fn event(&mut self) -> Option<Event> {
        let kind = self.bytes.byte()?;
        if kind == kind::JSON {
            return serde_json::from_slice(self.bytes.bytes()?).ok();
        }
        let task = self.task()?;
        let attempt = self.bytes.small()?;
        Some(match kind {
            kind::ATTEMPT_STARTED => {
                let lease = if self.flag()? { Some(self.bytes.number()?) } else { None };
                Event::AttemptStarted { task, attempt, lease }
            }
            kind::ATTEMPT_FINISHED => {
                let usage = self.usage()?;
                Event::AttemptFinished { task, attempt, output: self.payload(OUTPUT)?, usage }
            }
            kind::TURN_RECORDED => {
                let kept = (0..self.bytes.number()?)
                    .map(|_| self.bytes.hash().map(Digest))
                    .collect::<Option<_>>()?;
                let usage = self.usage()?;
                Event::TurnRecorded { task, attempt, piece: self.payload(TURN)?, kept, usage }
            }
            kind::TOOL_CALLED => {
                let tool = self.word()?.to_owned();
                Event::ToolCalled { task, attempt, tool, ms: self.bytes.number()?, failed: self.flag()? }
            }
            kind::CALL_RESERVED => Event::CallReserved { task, attempt, worst: self.usage()? },
            _ => return None,
        })
    }

    fn flag(&mut self) -> Option<bool> {
        match self.bytes.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn task(&mut self) -> Option<TaskId> {
        let number = self.bytes.number()? as usize;
        if number == self.tasks.len() {
            self.tasks.push(TaskId(self.bytes.text()?.into()));
        }
        self.tasks.get(number).cloned()
    }

    fn word(&mut self) -> Option<&str> {
        let number = self.bytes.number()? as usize;
        if number == self.words.len() {
            self.words.push(self.bytes.text()?);
        }
        self.words.get(number).copied()
    }

    fn usage(&mut self) -> Option<Usage> {
        let marks = self.bytes.byte()?;
        let mut number = |at: u8| if marks & (1 << at) == 0 { Some(0) } else { self.bytes.number() };
        Some(Usage {
            calls: number(0)?,
            input_tokens: number(1)?,
            output_tokens: number(2)?,
            cache_read_tokens: number(3)?,
            cache_write_tokens: number(4)?,
            cost_micros: number(5)?,
            unpriced_calls: number(6)?,
            estimated: marks & (1 << 7) != 0,
        })
    }

    fn payload(&mut self, of: usize) -> Option<Payload> {
        let payload = match self.bytes.byte()? {
            payload::INLINE => Payload::Inline(JsonText::parse(self.bytes.text()?.to_owned()).ok()?),
            payload::PUT_ASIDE => {
                let len = self.bytes.small()?;
                Payload::Inline(self.texts[of].next(len as usize)?)
            }
            payload::BLOB => Payload::Blob { digest: Digest(self.bytes.hash()?), size: self.bytes.number()? },
            payload::GATHERED => Payload::Gathered,
            payload::SAME => return self.before[of].clone(),
            _ => return None,
        };
        self.before[of] = Some(payload.clone());
        Some(payload)
    }
}
