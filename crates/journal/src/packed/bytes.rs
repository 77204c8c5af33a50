//! Numbers and texts as bytes: seven bits in each, the lowest first; small numbers take one byte.

/// Writes a number.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes how far a number lies from the one that is expected, in either direction.
pub(super) fn put_difference(out: &mut Vec<u8>, number: u64, expected: u64) {
    let apart = number.wrapping_sub(expected) as i64;
    put(out, ((apart << 1) ^ (apart >> 63)) as u64);
}

/// Writes bytes behind their number.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what was written; `None` where the bytes make no sense.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number that fits into 32 bits.
    pub fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// A number that was written by its difference.
    pub fn difference(&mut self, expected: u64) -> Option<u64> {
        let folded = self.number()?;
        let apart = (folded >> 1) as i64 ^ -((folded & 1) as i64);
        Some(expected.wrapping_add(apart as u64))
    }

    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// As many bytes as the number before them says.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.take(usize::try_from(count).ok()?)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub fn hash(&mut self) -> Option<[u8; 32]> {
        self.take(32)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            for expected in [0, 1, number, u64::MAX] {
                let mut out = Vec::new();
                put(&mut out, number);
                put_difference(&mut out, number, expected);
                let mut bytes = Bytes(&out);
                assert_eq!((bytes.number(), bytes.difference(expected)), (Some(number), Some(number)));
                assert!(bytes.is_empty() && bytes.number().is_none());
            }
        }
    }
}
