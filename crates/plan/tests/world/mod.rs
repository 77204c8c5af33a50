//! A world in memory: files and variables.
#![allow(dead_code)]

use convoke_plan::compile::{Compiled, Options, compile};
use convoke_plan::source::sources::entries_of;
use convoke_plan::source::{Entry, SourceReadError, Sources};
use std::collections::BTreeMap;

/// Files by path, and variables.
#[derive(Default, Clone)]
pub struct World {
    files: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
}

impl World {
    /// With one more file.
    pub fn file(mut self, path: &str, text: &str) -> World {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// With one more variable.
    pub fn env(mut self, name: &str, value: &str) -> World {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The result of compiling `main.yaml`.
    pub fn compile(&self) -> Compiled {
        self.compile_with(&Options::default())
    }

    /// The same, with settings.
    pub fn compile_with(&self, options: &Options) -> Compiled {
        compile("main.yaml", self, options)
    }
}

impl Sources for World {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        self.files.get(path).map(|text| text.clone().into_bytes()).ok_or(SourceReadError::NotFound)
    }

    fn list(&self, folder: &str) -> Result<Vec<Entry>, SourceReadError> {
        entries_of(self.files.keys(), folder)
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }
}

/// The result of compiling one file.
pub fn compiled(text: &str) -> Compiled {
    World::default().file("main.yaml", text).compile()
}

/// Code and line of every finding.
pub fn findings(result: &Compiled) -> Vec<(&'static str, usize)> {
    result.diagnostics.iter().map(|found| (found.code, found.labels[0].span.line_column().0)).collect()
}

/// All findings as text.
pub fn shown(result: &Compiled) -> String {
    let line = |found: &convoke_plan::Diagnostic| {
        let (line, column) = found.labels[0].span.line_column();
        let help = found.help.as_deref().unwrap_or("");
        format!("\n  {:?} {} {line}:{column} {} ({help})", found.severity, found.code, found.message)
    };
    result.diagnostics.iter().map(line).collect()
}
