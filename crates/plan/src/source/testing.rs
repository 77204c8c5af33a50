//! A world in memory for the tests of reading.

use std::collections::BTreeMap;

use super::sources::{Entry, SourceReadError, Sources, entries_of};

/// Files and variables.
#[derive(Default, Clone)]
pub struct Memory {
    files: BTreeMap<String, Vec<u8>>,
    env: BTreeMap<String, String>,
}

impl Memory {
    /// With one more file.
    pub fn file(mut self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.files.insert(path.to_owned(), text.as_ref().to_vec());
        self
    }

    /// With one more variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }
}

impl Sources for Memory {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        self.files.get(path).cloned().ok_or(SourceReadError::NotFound)
    }

    fn list(&self, folder: &str) -> Result<Vec<Entry>, SourceReadError> {
        entries_of(self.files.keys(), folder)
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }
}
