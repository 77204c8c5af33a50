//! Events to bytes.

use super::bytes::{put, put_bytes, put_difference};
use super::texts::{LEAST, PutAside};
use super::{OUTPUT, TURN, kind, payload};
use crate::sqlite::Packer;
use convoke_model::hash::HashMap;
use convoke_model::{Event, Payload, Stamped, TaskId, Usage};
use std::io;

/// The events in their short form.
pub(crate) fn write(events: &[Stamped]) -> io::Result<Vec<u8>> {
    let mut pen = Pen {
        out: Vec::new(),
        tasks: HashMap::default(),
        words: HashMap::default(),
        texts: [PutAside::new()?, PutAside::new()?],
        before: Default::default(),
    };
    let (mut seq, mut at) = (0u64, 0u64);
    for stamped in events {
        put_difference(&mut pen.out, stamped.seq, seq.wrapping_add(1));
        put_difference(&mut pen.out, stamped.at.0, at);
        (seq, at) = (stamped.seq, stamped.at.0);
        pen.event(&stamped.event)?;
    }
    let mut bytes = Vec::new();
    put(&mut bytes, events.len() as u64);
    put(&mut bytes, pen.tasks.len() as u64);
    put_bytes(&mut bytes, &Packer::new()?.pack_bytes(&pen.out)?);
    pen.texts.into_iter().try_for_each(|texts| texts.finish(&mut bytes))?;
    Ok(bytes)
}

struct Pen<'a> {
    out: Vec<u8>,
    /// The numbers of what was named.
    tasks: HashMap<&'a TaskId, u64>,
    words: HashMap<&'a str, u64>,
    /// Outputs, and turns.
    texts: [PutAside; 2],
    /// The last output, and the last turn.
    before: [Option<&'a Payload>; 2],
}

impl<'a> Pen<'a> {
    fn event(&mut self, event: &'a Event) -> io::Result<()> {
        match event {
            Event::AttemptStarted { task, attempt, lease } => {
                self.about(kind::ATTEMPT_STARTED, task, *attempt);
                self.out.push(u8::from(lease.is_some()));
                lease.iter().for_each(|lease| put(&mut self.out, *lease));
                Ok(())
            }
            Event::AttemptFinished { task, attempt, output, usage } => {
                self.about(kind::ATTEMPT_FINISHED, task, *attempt);
                self.usage(usage);
                self.payload(output, OUTPUT)
            }
            Event::TurnRecorded { task, attempt, piece, kept, usage } => {
                self.about(kind::TURN_RECORDED, task, *attempt);
                put(&mut self.out, kept.len() as u64);
                kept.iter().for_each(|digest| self.out.extend_from_slice(&digest.0));
                self.usage(usage);
                self.payload(piece, TURN)
            }
            Event::ToolCalled { task, attempt, tool, ms, failed } => {
                self.about(kind::TOOL_CALLED, task, *attempt);
                self.word(tool);
                put(&mut self.out, *ms);
                self.out.push(u8::from(*failed));
                Ok(())
            }
            Event::CallReserved { task, attempt, worst } => {
                self.about(kind::CALL_RESERVED, task, *attempt);
                self.usage(worst);
                Ok(())
            }
            other => {
                self.out.push(kind::JSON);
                put_bytes(&mut self.out, &serde_json::to_vec(other)?);
                Ok(())
            }
        }
    }

    fn about(&mut self, kind: u8, task: &'a TaskId, attempt: u32) {
        self.out.push(kind);
        let next = self.tasks.len() as u64;
        let number = *self.tasks.entry(task).or_insert(next);
        put(&mut self.out, number);
        if number == next {
            put_bytes(&mut self.out, task.0.as_bytes());
        }
        put(&mut self.out, attempt.into());
    }

    fn word(&mut self, word: &'a str) {
        let next = self.words.len() as u64;
        let number = *self.words.entry(word).or_insert(next);
        put(&mut self.out, number);
        if number == next {
            put_bytes(&mut self.out, word.as_bytes());
        }
    }

    /// Which numbers are not zero, and these.
    fn usage(&mut self, usage: &Usage) {
        let Usage {
            calls,
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            cost_micros,
            unpriced_calls,
            estimated,
        } = *usage;
        let numbers = [
            calls,
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            cost_micros,
            unpriced_calls,
        ];
        let marks = numbers.iter().enumerate().map(|(at, number)| u8::from(*number > 0) << at);
        self.out.push(marks.sum::<u8>() | (u8::from(estimated) << 7));
        numbers.into_iter().filter(|number| *number > 0).for_each(|number| put(&mut self.out, number));
    }

    fn payload(&mut self, payload: &'a Payload, of: usize) -> io::Result<()> {
        if self.before[of].replace(payload) == Some(payload) {
            self.out.push(payload::SAME);
            return Ok(());
        }
        match payload {
            Payload::Inline(text) if text.as_str().len() >= LEAST => {
                self.out.push(payload::PUT_ASIDE);
                put(&mut self.out, text.as_str().len() as u64);
                self.texts[of].put(text.as_str())?;
            }
            Payload::Inline(text) => {
                self.out.push(payload::INLINE);
                put_bytes(&mut self.out, text.as_str().as_bytes());
            }
            Payload::Blob { digest, size } => {
                self.out.push(payload::BLOB);
                self.out.extend_from_slice(&digest.0);
                put(&mut self.out, *size);
            }
            Payload::Gathered => self.out.push(payload::GATHERED),
        }
        Ok(())
    }
}
