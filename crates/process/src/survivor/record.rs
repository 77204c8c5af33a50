//! What a supervisor recorded, read back.
//!
//! A stream's file begins with the number of bytes that were written in all. Then comes the beginning of the stream, so many bytes
//! at most, and then a ring of the same length with its end. Damage is an error, never another result.

use convoke_model::fnv;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The first bytes of a record of an end.
pub(super) const MAGIC: &[u8; 8] = b"CNVKEXIT";

/// The length of that record.
pub(super) const LENGTH: usize = 48;

/// The bytes before a stream.
pub(super) const HEADER: u64 = 8;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Its status, as `wait` gives it.
    pub status: i32,
    /// Whether its supervisor ended it because its time was over.
    pub timed_out: bool,
    /// The error number of a write that failed: what it wrote is not recorded as a whole.
    pub broken: Option<i32>,
    /// Bytes that it wrote in all, to each stream.
    totals: [u64; 2],
    /// Half of the bytes that are kept of each stream.
    half: u64,
}

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    fn file(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

/// A stream as it was kept: its beginning, its end, and how many bytes are missing between them.
pub type StreamParts = (Vec<u8>, Vec<u8>, u64);

impl Recorded {
    /// The record in a folder; `None` while there is none.
    pub(super) fn read(folder: &Path) -> io::Result<Option<Recorded>> {
        let mut bytes = Vec::new();
        match File::open(folder.join("exit")) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?.read_to_end(&mut bytes)?,
        };
        Recorded::of(&bytes).map(Some).ok_or_else(|| damaged("the record of its end is damaged"))
    }

    fn of(bytes: &[u8]) -> Option<Recorded> {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let half = |at: usize| Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let is_whole = bytes.len() == LENGTH
            && bytes.starts_with(MAGIC)
            && word(40)? == fnv(bytes[..40].iter().copied());
        is_whole.then_some(())?;
        Some(Recorded {
            status: half(8)?,
            timed_out: half(12)? & 1 != 0,
            broken: Some(half(12)? >> 1).filter(|error| *error != 0),
            totals: [word(16)?, word(24)?],
            half: word(32)?,
        })
    }

    /// The record as bytes.
    pub(super) fn bytes(
        status: i32,
        timed_out: bool,
        broken: i32,
        totals: [u64; 2],
        half: u64,
    ) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&status.to_le_bytes());
        bytes[12..16].copy_from_slice(&(i32::from(timed_out) | broken << 1).to_le_bytes());
        bytes[16..24].copy_from_slice(&totals[0].to_le_bytes());
        bytes[24..32].copy_from_slice(&totals[1].to_le_bytes());
        bytes[32..40].copy_from_slice(&half.to_le_bytes());
        let sum = fnv(bytes[..40].iter().copied());
        bytes[40..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Bytes that a command has written so far.
    pub(super) fn total(folder: &Path, stream: Stream) -> io::Result<u64> {
        let mut bytes = [0; 8];
        File::open(folder.join(stream.file()))?.read_exact_at(&mut bytes, 0)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// What the command wrote.
    pub fn stream(&self, slot: &super::Slot, stream: Stream) -> io::Result<StreamParts> {
        let (total, half) = (self.totals[stream as usize], self.half.max(1));
        let file = File::open(slot.folder.join(stream.file()))?;
        let read = |at: u64, length: u64| {
            let mut bytes = vec![0; usize::try_from(length).map_err(|_| damaged("a stream is too long"))?];
            file.read_exact_at(&mut bytes, HEADER + at)?;
            Ok::<_, io::Error>(bytes)
        };
        let head = read(0, total.min(half))?;
        let rest = total.saturating_sub(half);
        if rest <= half {
            return Ok((head, read(half, rest)?, 0));
        }
        let oldest = rest % half;
        let mut tail = read(half + oldest, half - oldest)?;
        tail.extend(read(half, oldest)?);
        Ok((head, tail, rest - half))
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}
