//! What a vault holds: values by name, in memory while it is open.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zeroize::{Zeroize, Zeroizing};

/// The format of the text inside the file.
const FORMAT: u32 = 1;

/// All values.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contents {
    format: u32,
    secrets: BTreeMap<String, Stored>,
}

/// One value.
#[derive(Serialize, Deserialize)]
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
        let contents: Contents = serde_json::from_slice(text).map_err(|_| None)?;
        if contents.format == FORMAT { Ok(contents) } else { Err(Some(contents.format)) }
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
