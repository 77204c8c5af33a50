//! Values in the mapped file that are larger than a word: vectors of amounts, and short texts.
//!
//! Each word is an atomic of its own. A reader without the lock may meet a half-written value, and has to find that out by other
//! means; nothing here is ever out of bounds because of it.

use crate::layout::VECTOR;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A vector of amounts: resource index above, amount below. The first amount of zero is its end.
#[repr(C)]
pub struct Amounts {
    entries: [AtomicU64; VECTOR],
}

impl Amounts {
    /// Copies the vector out.
    pub fn read(&self) -> Vector {
        let mut vector = Vector::default();
        let entries = self.entries.iter().map(|entry| entry.load(Ordering::Relaxed));
        for packed in entries.take_while(|packed| *packed as u32 != 0) {
            vector.push((packed >> 32) as u32, packed as u32);
        }
        vector
    }

    /// Copies a vector in.
    pub fn write(&self, vector: &Vector) {
        let packed = vector.iter().map(|(resource, amount)| u64::from(resource) << 32 | u64::from(amount));
        for (entry, packed) in self.entries.iter().zip(packed.chain(std::iter::once(0))) {
            entry.store(packed, Ordering::Relaxed);
        }
    }
}

/// Amounts of resources, by index: what a lease holds or a waiter wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vector {
    entries: [(u32, u32); VECTOR],
    count: usize,
}

impl Vector {
    /// Adds an entry. There is room for [`VECTOR`] of them; callers check.
    pub fn push(&mut self, resource: u32, amount: u32) {
        self.entries[self.count] = (resource, amount);
        self.count += 1;
    }

    /// Each resource with its amount.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.entries[..self.count].iter().copied()
    }

    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether both name a resource.
    pub fn shares(&self, other: &Self) -> bool {
        self.iter().any(|(resource, _)| other.names(resource))
    }

    /// Whether it names this resource.
    pub fn names(&self, resource: u32) -> bool {
        self.iter().any(|(index, _)| index == resource)
    }
}

/// A short text: its length and up to `WORDS` × 8 bytes.
#[repr(C)]
pub struct Text<const WORDS: usize> {
    length: AtomicU32,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Text<WORDS> {
    /// How many bytes fit.
    pub const CAPACITY: usize = WORDS * 8;

    /// Writes as much of the text as fits, never half a character.
    pub fn write(&self, text: &str) {
        let text = &text[..text.floor_char_boundary(Self::CAPACITY)];
        self.length.store(0, Ordering::Relaxed);
        for (word, chunk) in self.words.iter().zip(text.as_bytes().chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        self.length.store(text.len() as u32, Ordering::Release);
    }

    /// The text. A reader without the lock may meet a half-written one, so anything that is not text is replaced.
    pub fn read(&self) -> String {
        let length = (self.length.load(Ordering::Acquire) as usize).min(Self::CAPACITY);
        let mut bytes: Vec<u8> =
            self.words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        bytes.truncate(length);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether it is this text.
    pub fn is(&self, text: &str) -> bool {
        let same = |(word, chunk): (&AtomicU64, &[u8])| {
            word.load(Ordering::Relaxed).to_le_bytes()[..chunk.len()] == *chunk
        };
        self.length.load(Ordering::Relaxed) as usize == text.len()
            && self.words.iter().zip(text.as_bytes().chunks(8)).all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn amounts() -> impl Strategy<Value = Vector> {
        prop::collection::vec((any::<u32>(), 1..=u32::MAX), 1..=VECTOR).prop_map(|entries| {
            let mut vector = Vector::default();
            entries.into_iter().for_each(|(resource, amount)| vector.push(resource, amount));
            vector
        })
    }

    fn text() -> Text<2> {
        Text { length: AtomicU32::new(0), words: [const { AtomicU64::new(0) }; 2] }
    }

    proptest! {
        #[test]
        fn a_vector_survives_the_table(first in amounts(), second in amounts()) {
            let cell = Amounts { entries: [const { AtomicU64::new(0) }; VECTOR] };
            for vector in [first, second] {
                cell.write(&vector);
                prop_assert_eq!(cell.read(), vector);
            }
        }

        #[test]
        fn a_text_keeps_what_fits_and_no_half_characters(first in ".{0,12}", second in ".{0,12}") {
            let cell = text();
            cell.write(&first);
            cell.write(&second);
            let kept = cell.read();
            prop_assert!(second.starts_with(&kept));
            prop_assert!(kept.len() + 4 > second.len().min(16));
            prop_assert!(cell.is(&kept));
            let longer = format!("{kept}x");
            prop_assert!(!cell.is(&longer));
        }
    }
}
