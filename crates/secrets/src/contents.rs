//! What a vault holds: values by name, in memory while it is open.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use zeroize::{Zeroize, Zeroizing};

/// The format of the text inside the file.
const FORMAT: u32 = 1;

/// All values.
#[derive(Serialize)]
pub(crate) struct Contents {
    format: u32,
    secrets: BTreeMap<String, Stored>,
}

/// One value.
#[derive(Serialize)]
struct Stored {
    value: String,
    /// When it was set, in seconds since 1970.
    set_at: u64,
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.value.zeroize();
    }
}

/// All values as they are written: a reader of JSON would put a value with escapes together in a buffer that nobody wipes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    format: u32,
    #[serde(borrow)]
    secrets: BTreeMap<String, WrittenValue<'a>>,
}

#[derive(Deserialize)]
struct WrittenValue<'a> {
    #[serde(borrow)]
    value: &'a RawValue,
    set_at: u64,
}

/// The text that a string of JSON stands for, put together in the one buffer that holds it from then on. `None`: it is no string.
fn unescaped(written: &str) -> Option<String> {
    let inside = written.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = Zeroizing::new(String::with_capacity(inside.len()));
    let mut rest = inside;
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let (c, behind) = escaped(escape)?;
        text.push(c);
        rest = behind;
    }
    text.push_str(rest);
    Some(std::mem::take(&mut *text))
}

/// The character of an escape, and what stands behind it.
fn escaped(escape: &str) -> Option<(char, &str)> {
    let kind = escape.chars().next()?;
    let behind = &escape[kind.len_utf8()..];
    let c = match kind {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '"' | '\\' | '/' => kind,
        'u' => {
            let (first, behind) = unit(behind)?;
            return match char::from_u32(first.into()) {
                Some(c) => Some((c, behind)),
                None => {
                    let (second, behind) = unit(behind.strip_prefix("\\u")?)?;
                    let c = char::decode_utf16([first, second]).next()?.ok()?;
                    Some((c, behind))
                }
            };
        }
        _ => return None,
    };
    Some((c, behind))
}

/// A code unit of four digits.
fn unit(text: &str) -> Option<(u16, &str)> {
    let digits = text.get(..4)?;
    Some((u16::from_str_radix(digits, 16).ok()?, &text[4..]))
}

/// A name of the vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The name.
    pub name: String,
    /// When it was set, in seconds since 1970.
    pub set_at: u64,
}

impl Contents {
    pub fn empty() -> Contents {
        Contents { format: FORMAT, secrets: BTreeMap::new() }
    }

    /// Reads the text of a vault; the error is the format that this version does not know, or none where it is no vault at all.
    pub fn read(text: &[u8]) -> Result<Contents, Option<u32>> {
        let read: Written<'_> = serde_json::from_slice(text).map_err(|_| None)?;
        if read.format != FORMAT {
            return Err(Some(read.format));
        }
        let stored = |(name, stored): (String, WrittenValue<'_>)| {
            Some((name, Stored { value: unescaped(stored.value.get())?, set_at: stored.set_at }))
        };
        let secrets = read.secrets.into_iter().map(stored).collect::<Option<_>>().ok_or(None)?;
        Ok(Contents { format: FORMAT, secrets })
    }

    pub fn text(&self) -> Zeroizing<Vec<u8>> {
        // Twice the values and more, so that the buffer does not grow and leave copies behind.
        let room =
            self.secrets.iter().map(|(name, stored)| 6 * stored.value.len() + name.len() + 64).sum::<usize>();
        let mut text = Zeroizing::new(Vec::with_capacity(room + 64));
        serde_json::to_writer(&mut *text, self).expect("texts are JSON");
        text
    }

    pub fn list(&self) -> Vec<Listed> {
        let listed =
            |(name, stored): (&String, &Stored)| Listed { name: name.clone(), set_at: stored.set_at };
        self.secrets.iter().map(listed).collect()
    }

    pub fn get(&self, name: &str) -> Option<SecretString> {
        self.secrets.get(name).map(|stored| SecretString::from(stored.value.clone()))
    }

    pub fn set(&mut self, name: &str, value: &str, now: u64) {
        self.secrets.insert(name.to_owned(), Stored { value: value.to_owned(), set_at: now });
    }

    pub fn remove(&mut self, name: &str) -> bool {
        self.secrets.remove(name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_read_as_it_was_written() {
        for text in ["plain", "a\n\"b\"\t\\/\r\u{8}\u{c}", "\u{1}\u{7f}é😀", ""] {
            assert_eq!(unescaped(&serde_json::to_string(text).unwrap()).as_deref(), Some(text), "{text:?}");
        }
        assert_eq!(unescaped(r#""\u0041\ud83d\ude00\/""#).as_deref(), Some("A😀/"));
        for wrong in ["1", "null", r#""\x""#, r#""\ud83d""#, r#""\ud83d\u0041""#, r#""\u12""#, r#""\"#] {
            assert_eq!(unescaped(wrong), None, "{wrong}");
        }
    }
}
