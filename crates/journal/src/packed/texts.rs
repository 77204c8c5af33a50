//! Texts that are put aside: in pieces, each packed for itself and unpacked when the first of its texts is looked at.
//!
//! A piece is gone from memory when none of its texts is needed any more. Outputs are needed until the run ends and turns until their
//! conversation does, so each have pieces of their own.

use super::bytes::{Bytes, put, put_bytes};
use crate::sqlite::{Packer, Unpacker};
use convoke_model::{JsonText, TextKeeper};
use std::io;
use std::sync::{Arc, OnceLock};

/// A text of this length is put aside; a shorter one is read as quickly.
pub(super) const LEAST: usize = 100;

/// How long a piece is before the next one begins. A text is in one piece, however long it is.
const PIECE: usize = 256 << 10;

/// Takes texts, in order.
pub(super) struct PutAside {
    packer: Packer,
    piece: String,
    packed: Vec<Vec<u8>>,
}

impl PutAside {
    pub fn new() -> io::Result<PutAside> {
        Ok(PutAside { packer: Packer::new()?, piece: String::new(), packed: Vec::new() })
    }

    pub fn put(&mut self, text: &str) -> io::Result<()> {
        if begins_piece(self.piece.len(), text.len()) {
            self.close()?;
        }
        self.piece.push_str(text);
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.packed.push(self.packer.pack(&self.piece)?);
        self.piece.clear();
        Ok(())
    }

    /// Writes all pieces, their number first.
    pub fn finish(mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if !self.piece.is_empty() {
            self.close()?;
        }
        put(out, self.packed.len() as u64);
        self.packed.iter().for_each(|packed| put_bytes(out, packed));
        Ok(())
    }
}

/// Whether a text is the first of a new piece, given the length of the one so far.
fn begins_piece(so_far: usize, text: usize) -> bool {
    so_far > 0 && so_far.saturating_add(text) > PIECE
}

/// Gives texts back in the order in which they were put aside.
pub(super) struct Texts {
    pieces: Vec<Arc<Piece>>,
    /// The piece that the next text is in, and its place there.
    piece: usize,
    at: usize,
}

impl Texts {
    pub fn read(bytes: &mut Bytes<'_>) -> Option<Texts> {
        let count = bytes.number()?;
        let mut pieces = Vec::new();
        for _ in 0..count {
            let packed = bytes.bytes()?.to_vec();
            pieces.push(Arc::new(Piece { packed, unpacked: OnceLock::new() }));
        }
        Some(Texts { pieces, piece: 0, at: 0 })
    }

    /// The next text, of this length.
    pub fn next(&mut self, len: usize) -> Option<JsonText> {
        if begins_piece(self.at, len) {
            (self.piece, self.at) = (self.piece + 1, 0);
        }
        let from = self.at;
        self.at = from.checked_add(len)?;
        let piece: Arc<dyn TextKeeper> = self.pieces.get(self.piece)?.clone();
        Some(JsonText::kept(piece, from..self.at))
    }

    /// Whether the last text was in the last piece.
    pub fn is_at_end(&self) -> bool {
        self.piece + usize::from(self.at > 0) == self.pieces.len()
    }
}

struct Piece {
    packed: Vec<u8>,
    unpacked: OnceLock<String>,
}

impl TextKeeper for Piece {
    fn piece(&self) -> &str {
        let unpack = || Unpacker::default().unpack(&self.packed);
        self.unpacked
            .get_or_init(|| unpack().expect("the bytes are those that were written: their hash fits"))
    }
}
