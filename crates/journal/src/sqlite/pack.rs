//! Compression of blobs and snapshots, with contexts that are kept: making one costs more than compressing a page of text.

use std::cell::RefCell;
use std::io;
use zstd::bulk::{Compressor, Decompressor};

/// Fast rather than small: blobs are written once on the way of a run and rarely read.
const LEVEL: i32 = 1;

/// No blob is larger; a size beyond it comes from a damaged file.
const LARGEST: usize = 1 << 30;

/// Compresses.
pub struct Packer(Compressor<'static>);

impl Packer {
    pub fn new() -> io::Result<Packer> {
        Ok(Packer(Compressor::new(LEVEL)?))
    }

    pub fn pack(&mut self, text: &str) -> io::Result<Vec<u8>> {
        self.pack_bytes(text.as_bytes())
    }

    pub fn pack_bytes(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.0.compress(bytes)
    }
}

/// Decompresses; made when first used.
#[derive(Default)]
pub struct Unpacker(RefCell<Option<Decompressor<'static>>>);

impl Unpacker {
    /// The text, if the bytes are what [`Packer`] made.
    pub fn unpack(&self, bytes: &[u8]) -> Option<String> {
        String::from_utf8(self.unpack_bytes(bytes)?).ok()
    }

    /// The bytes, if they are what [`Packer`] was given.
    pub fn unpack_bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut context = self.0.borrow_mut();
        if context.is_none() {
            *context = Some(Decompressor::new().ok()?);
        }
        context.as_mut()?.decompress(bytes, LARGEST).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_and_rubbish_is_noticed() {
        let text = "one and one and one".repeat(500);
        let packed = Packer::new().unwrap().pack(&text).unwrap();
        assert!(packed.len() * 10 < text.len());
        let unpacker = Unpacker::default();
        assert_eq!(unpacker.unpack(&packed).as_deref(), Some(&*text));
        assert_eq!(unpacker.unpack(b"rubbish"), None);
        assert_eq!(unpacker.unpack(&packed[..packed.len() - 1]), None);
    }
}
