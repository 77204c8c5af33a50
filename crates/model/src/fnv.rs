//! A small hash of bytes that is the same everywhere and for ever: FNV-1a with 64 bits.
//!
//! For sorting out and for choices that a replay must make again. Not for secrets, nor against chosen bytes.

/// The hash that nothing was added to.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of these bytes.
pub fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    fnv_from(EMPTY, bytes)
}

/// The same behind another beginning, such as the seed of a run.
pub fn fnv_from(seed: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_published_table() {
        let known = [("", EMPTY), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)];
        for (text, hash) in known {
            assert_eq!(fnv(text.bytes()), hash, "{text}");
        }
        assert_eq!(fnv_from(fnv("foo".bytes()), "bar".bytes()), fnv("foobar".bytes()));
    }
}
