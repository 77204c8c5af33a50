//! A world in memory for the tests of reading.

use std::collections::BTreeMap;

use super::roles::{Organisation, OrganisationError};
use super::sources::{Entry, SourceReadError, Sources, entries_of};
use crate::diagnostic::{Diagnostic, SourceFile, Span};
use std::sync::Arc;

/// Files and variables.
#[derive(Default, Clone)]
pub struct Memory {
    files: BTreeMap<String, Vec<u8>>,
    env: BTreeMap<String, String>,
    organisation: Option<Organisation>,
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

    /// With what every file says that describes an organisation.
    pub fn organisation(mut self, organisation: Organisation) -> Self {
        self.organisation = Some(organisation);
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

    /// A file that says `broken` is.
    fn organisation(&self, file: &Arc<SourceFile>) -> Result<Organisation, OrganisationError> {
        if let Some(at) = file.text.find("broken") {
            let place = Span { file: file.clone(), range: at..at + 6 };
            let found = Diagnostic::error("workflow::wrong_type", "it is broken", place, "here");
            return Err(OrganisationError::Broken(vec![found]));
        }
        self.organisation.clone().ok_or(OrganisationError::Unknown)
    }
}
