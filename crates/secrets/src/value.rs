//! Which bytes can be a secret.
//!
//! A value becomes an environment variable, a header or an argument, and is looked for in texts. So it is text without NUL, has a bound, and
//! is long enough to be told from a word: a shorter one could not be masked.

use secrecy::SecretString;
use zeroize::Zeroizing;

/// The longest value.
pub const LONGEST: usize = 64 * 1024;

/// The shortest value: texts hold shorter ones by chance, and masking them would spoil what is said.
pub const SHORTEST: usize = 8;

/// Why bytes are no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// There are none.
    #[error("it is empty")]
    Empty,
    /// So few.
    #[error("it has {0} bytes; fewer than {SHORTEST} cannot be masked")]
    Short(usize),
    /// Too many.
    #[error("it has more than {LONGEST} bytes")]
    Long,
    /// Not UTF-8, or with NUL.
    #[error("it is not text")]
    NotText,
}

/// The value in what a file holds or a command prints: without the line break at its end.
pub fn of_output(bytes: Zeroizing<Vec<u8>>) -> Result<SecretString, Unusable> {
    let text = std::str::from_utf8(&bytes).map_err(|_| Unusable::NotText)?;
    let text = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    of_text(text)
}

/// A text as it is.
pub fn of_text(text: &str) -> Result<SecretString, Unusable> {
    match text.len() {
        _ if text.trim().is_empty() => Err(Unusable::Empty),
        length if length > LONGEST => Err(Unusable::Long),
        _ if text.contains('\0') => Err(Unusable::NotText),
        length if length < SHORTEST => Err(Unusable::Short(length)),
        _ => Ok(SecretString::from(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn read(bytes: &[u8]) -> Result<String, Unusable> {
        of_output(Zeroizing::new(bytes.to_vec())).map(|value| value.expose_secret().to_owned())
    }

    #[test]
    fn one_line_break_at_the_end_is_none_of_it() {
        for (bytes, value) in [
            (&b"canary-4242\n"[..], "canary-4242"),
            (b"canary-4242\r\n", "canary-4242"),
            (b"canary-4242", "canary-4242"),
            (b"canary-4242\n\n", "canary-4242\n"),
            (b" canary-4242 ", " canary-4242 "),
        ] {
            assert_eq!(read(bytes).as_deref(), Ok(value));
        }
    }

    #[test]
    fn what_cannot_be_handed_on_or_masked_is_refused() {
        assert_eq!(read(b""), Err(Unusable::Empty));
        assert_eq!(read(b"\n"), Err(Unusable::Empty));
        assert_eq!(read(b"1234567\n"), Err(Unusable::Short(7)));
        assert_eq!(read(b"\xff\xfe-canary"), Err(Unusable::NotText));
        assert_eq!(read(b"canary\0canary"), Err(Unusable::NotText));
        assert_eq!(read(&[b'x'; LONGEST + 2]), Err(Unusable::Long));
    }
}
