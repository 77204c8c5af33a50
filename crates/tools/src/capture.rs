//! Keeps what a command writes, within bounds.
//!
//! Up to the limit everything is kept as it came. Beyond it the beginning and the end stay, with a line between them
//! that says how much is missing, so that neither the first error nor the last one is lost.

use crate::silence::Silence;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes kept of one stream; half of them from its beginning.
pub const LIMIT: usize = 8 << 20;

/// What has been read of one stream.
#[derive(Debug)]
pub struct Capture {
    /// Half of what may be kept.
    half: usize,
    head: Vec<u8>,
    /// The end of the stream, with some older bytes before it.
    tail: Vec<u8>,
    /// Bytes that were thrown away between the two.
    left_out: u64,
}

impl Capture {
    /// An empty capture that keeps at most `limit` bytes.
    pub fn new(limit: usize) -> Capture {
        Capture { half: (limit / 2).max(1), head: Vec::new(), tail: Vec::new(), left_out: 0 }
    }

    /// What was kept of a stream elsewhere: its beginning, its end, and how many bytes are missing between them.
    pub fn of((head, tail, left_out): (Vec<u8>, Vec<u8>, u64)) -> Capture {
        Capture { half: tail.len().max(1), head, tail, left_out }
    }

    /// Reads until the stream ends or breaks; each piece breaks the silence.
    pub async fn drain(&mut self, mut stream: impl AsyncRead + Unpin, silence: &Silence) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            silence.is_broken();
            self.take(&buffer[..length]);
        }
    }

    /// Adds a piece of the stream.
    pub fn take(&mut self, bytes: &[u8]) {
        let room = self.half - self.head.len();
        let (first, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        // Cutting only now and then keeps the cost per byte constant.
        if self.tail.len() > 2 * self.half {
            self.cut_tail();
        }
    }

    fn cut_tail(&mut self) {
        let excess = self.tail.len().saturating_sub(self.half);
        self.left_out += excess as u64;
        self.tail.drain(..excess);
    }

    /// The text. What is no UTF-8 is replaced; what is stays as it is.
    pub fn into_text(mut self) -> String {
        self.cut_tail();
        if self.left_out == 0 {
            self.head.append(&mut self.tail);
            return text_of(self.head);
        }
        self.trim_to_characters();
        let left_out = self.left_out;
        let head = text_of(self.head);
        format!("{head}\n[… {left_out} bytes left out …]\n{}", text_of(self.tail))
    }

    /// Characters that the cut went through are left out too, instead of becoming marks of damage.
    fn trim_to_characters(&mut self) {
        let whole = self.head.len() - unfinished(&self.head);
        let begun = self.tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        self.left_out += (self.head.len() - whole + begun) as u64;
        self.head.truncate(whole);
        self.tail.drain(..begun);
    }
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// How many bytes at the end begin a character that does not end there.
fn unfinished(bytes: &[u8]) -> usize {
    let start = bytes.iter().rev().take(4).position(|byte| !is_continuation(*byte));
    let Some(start) = start.map(|back| bytes.len() - 1 - back) else { return 0 };
    match std::str::from_utf8(&bytes[start..]) {
        Err(error) if error.error_len().is_none() => bytes.len() - start,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn captured(limit: usize, pieces: &[&[u8]]) -> String {
        let mut capture = Capture::new(limit);
        pieces.iter().for_each(|piece| capture.take(piece));
        capture.into_text()
    }

    #[test]
    fn beginning_and_end_survive_and_the_gap_is_told() {
        assert_eq!(captured(8, &[b"abcdefgh"]), "abcdefgh");
        assert_eq!(captured(8, &[b"abcdef", b"ghijkl"]), "abcd\n[… 4 bytes left out …]\nijkl");
    }

    #[test]
    fn a_cut_does_not_damage_characters() {
        let text = "é".repeat(20);
        let kept = captured(10, &[text.as_bytes()]);
        assert_eq!(kept, "éé\n[… 32 bytes left out …]\néé");
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(captured(100, &[b"a\xff\xfeb"]), "a\u{fffd}\u{fffd}b");
    }

    proptest! {
        #[test]
        fn text_within_the_limit_is_kept_whatever_the_pieces(text in ".{0,60}", size in 1usize..7) {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(captured(1000, &pieces), text);
        }

        #[test]
        fn memory_stays_bounded(pieces in prop::collection::vec(1usize..40, 0..50)) {
            let mut capture = Capture::new(16);
            for length in &pieces {
                capture.take(&vec![b'x'; *length]);
                prop_assert!(capture.head.len() + capture.tail.len() <= 8 + 16);
            }
            let total: usize = pieces.iter().sum();
            let kept = capture.into_text().matches('x').count();
            prop_assert_eq!(kept, total.min(16));
        }
    }
}
