//! How messages are cut: two lengths, a head of JSON, a body of bytes.
//!
//! Both lengths are looked at before anything is read or reserved, so that neither side can make the other allocate.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// The two lengths, each four bytes, the lowest first.
pub const PREFIX: usize = 8;

/// The longest head and body that are accepted.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Of the JSON, in bytes.
    pub head: u64,
    /// Of what is attached, in bytes.
    pub body: u64,
}

impl Bounds {
    /// Before anything was agreed on.
    pub const GREETING: Bounds = Bounds { head: 64 * 1024, body: 0 };

    /// The two lengths, if they are within bounds.
    pub fn lengths(self, prefix: [u8; PREFIX]) -> io::Result<(usize, usize)> {
        let [a, b, c, d, e, f, g, h] = prefix;
        let (head, body) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if u64::from(head) > self.head || u64::from(body) > self.body {
            return Err(invalid(format!("a message of {head} and {body} bytes is longer than agreed")));
        }
        Ok((head as usize, body as usize))
    }
}

/// The message as bytes.
pub fn encode(head: &impl Serialize, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; PREFIX];
    serde_json::to_writer(&mut bytes, head)?;
    let lengths = (u32::try_from(bytes.len() - PREFIX), u32::try_from(body.len()));
    let (Ok(head), Ok(tail)) = lengths else {
        return Err(invalid("a message is longer than four bytes can count".into()));
    };
    bytes[..4].copy_from_slice(&head.to_le_bytes());
    bytes[4..PREFIX].copy_from_slice(&tail.to_le_bytes());
    bytes.extend_from_slice(body);
    Ok(bytes)
}

/// The head's meaning.
pub fn decode<T: DeserializeOwned>(head: &[u8]) -> io::Result<T> {
    serde_json::from_slice(head).map_err(|error| invalid(format!("a message that is none: {error}")))
}

/// Writes a message and sends it off.
pub fn write(to: &mut impl Write, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    to.write_all(&encode(head, body)?)?;
    to.flush()
}

/// Reads a message; none where the other side has ended between two.
pub fn read<T: DeserializeOwned>(from: &mut impl Read, bounds: Bounds) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut prefix = [0; PREFIX];
    if from.read(&mut prefix[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut prefix[1..])?;
    let (head, body) = bounds.lengths(prefix)?;
    let mut bytes = vec![0; head + body];
    from.read_exact(&mut bytes)?;
    let body = bytes.split_off(head);
    Ok(Some((decode(&bytes)?, body)))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut wire = Vec::new();
        write(&mut wire, &"hello", b"state").unwrap();
        write(&mut wire, &"again", b"").unwrap();
        let mut from = wire.as_slice();
        let bounds = Bounds { head: 7, body: 5 };
        assert_eq!(read(&mut from, bounds).unwrap(), Some(("hello".to_string(), b"state".to_vec())));
        assert_eq!(read(&mut from, bounds).unwrap(), Some(("again".to_string(), Vec::new())));
        assert_eq!(read::<String>(&mut from, bounds).unwrap(), None);
    }

    #[test]
    fn nothing_is_reserved_for_a_message_that_is_too_long() {
        let lengths = [u32::MAX.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
        let error = read::<String>(&mut lengths.as_slice(), Bounds { head: 10, body: 10 }).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn half_a_message_is_an_error() {
        let mut wire = encode(&"hello", b"state").unwrap();
        wire.pop();
        assert!(read::<String>(&mut wire.as_slice(), Bounds { head: 10, body: 10 }).is_err());
    }
}
