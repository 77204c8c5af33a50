//! Maps of small numbers that we give out ourselves: quick, and the same order in every process.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// Multiplies and turns, word by word. The keys are our own numbers, so no input can choose colliding ones.
#[derive(Debug, Default)]
pub(crate) struct Mixer(u64);

impl Mixer {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for Mixer {
    #[inline]
    fn finish(&self) -> u64 {
        // Tables look at the high and at the low bits; multiplication has mixed only the high ones well.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.mix(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.mix(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }
}
