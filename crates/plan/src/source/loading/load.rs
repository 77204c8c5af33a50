//! Reads files into trees: encoding, size, `!file` and everything that can go wrong with a file as such.
//!
//! A file that is included twice is read once. Invariant: the chain of inclusions is finite and short, and what all
//! inclusions stand for, written out, is bounded.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::super::quoting::{kind_of, looks_like_workflow};
use super::super::roles::{Organisation, OrganisationError};
use super::super::sources::{SourceReadError, Sources};
use super::super::text::{Segment, Text};
use super::super::tree::{Builder, Built, Included, Includes, Node, Scalar, Style, Value, Weight};
use crate::diagnostic::{Diagnostic, SourceFile, Span};
use crate::path::{join_beside, normalise};

/// Largest file that is read.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// Longest chain of files that include one another.
const MAX_CHAIN: usize = 32;
/// What all `!file` tags together may stand for, written out.
const MAX_INCLUDED_BYTES: u64 = 256 << 20;
/// The same, in nodes.
const MAX_INCLUDED_NODES: u64 = 4_000_000;

/// Reads files and remembers what it read and found.
pub(in crate::source) struct Loader<'a> {
    sources: &'a dyn Sources,
    /// Every file, in the order of reading.
    pub files: Vec<Arc<SourceFile>>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
    cache: HashMap<String, Rc<Node>>,
    chain: Vec<String>,
    included: Weight,
}

impl<'a> Loader<'a> {
    pub fn new(sources: &'a dyn Sources) -> Self {
        let (files, diagnostics, cache, chain) = (Vec::new(), Vec::new(), HashMap::new(), Vec::new());
        Self { sources, files, diagnostics, cache, chain, included: Weight::default() }
    }

    /// Reads the file that a person named; `None` when there is nothing to go on with (which is reported).
    pub fn load_root(&mut self, path: &str) -> Option<Rc<Node>> {
        let file = self.load_file(path)?;
        self.chain.push(file.path.clone());
        let built = Builder::new(file.clone(), self).build();
        self.chain.pop();
        self.root_of(built, &file)
    }

    /// The tree of a text that a person wrote, whatever its shape; `None` when there is none (which is reported).
    pub fn build(&mut self, file: &Arc<SourceFile>, what: &str) -> Option<Rc<Node>> {
        self.chain.push(file.path.clone());
        let built = Builder::new(file.clone(), self).build();
        self.chain.pop();
        let finding = match built {
            Built::Root(root) if !root.is_null() => return Some(root),
            Built::Root(_) | Built::Empty => {
                Diagnostic::error("file::empty", format!("{what} is empty"), start_of(file), "nothing here")
                    .help("a plan is a list of tasks; `convoke goal … --plan-only` prints one to begin with")
            }
            Built::Failed(finding) => *finding,
        };
        self.diagnostics.push(finding);
        None
    }

    /// The text of the file that a person named; `None` when it cannot be read (which is reported).
    pub fn load_file(&mut self, path: &str) -> Option<Arc<SourceFile>> {
        let path = normalise(path);
        let nowhere = start_of(&Arc::new(SourceFile { path: path.clone(), text: String::new() }));
        match self.read(&path) {
            Ok(file) => Some(file),
            Err(problem) => {
                let message = format!("workflow file `{path}` {}", problem.words);
                self.diagnostics.push(problem.finding(message, nowhere));
                None
            }
        }
    }

    fn root_of(&mut self, built: Built, file: &Arc<SourceFile>) -> Option<Rc<Node>> {
        let finding = match built {
            Built::Root(root) if matches!(root.value, Value::Map(_)) => return Some(root),
            Built::Root(root) if root.is_null() => empty(file),
            Built::Root(root) => {
                let found =
                    if matches!(root.value, Value::Scalar(_)) { kind_of(&root) } else { root.describe() };
                let message = format!("workflow file `{}` must be a mapping, found {found}", file.path);
                Diagnostic::error("file::not_a_mapping", message, root.span.clone(), "not a mapping")
            }
            Built::Empty => empty(file),
            Built::Failed(finding) if looks_like_workflow(file) => *finding,
            Built::Failed(finding) => {
                // The words of the parser may hold some of the text.
                let message =
                    format!("workflow file `{}` is no workflow and cannot be read as YAML", file.path);
                Diagnostic { message, help: None, ..*finding }
            }
        };
        self.diagnostics.push(finding);
        None
    }

    /// Reads a file as one text; `None` when it does not exist (which is left to the caller) or cannot be used.
    pub fn load_text(&mut self, path: &str, at: &Span) -> Option<Text> {
        let file = match self.read(path) {
            Ok(file) => file,
            Err(problem) if problem.code == "file::missing" => return None,
            Err(problem) => {
                let message = format!("included file `{path}` {}", problem.words);
                self.diagnostics.push(problem.finding(message, at.clone()));
                return None;
            }
        };
        let text = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text).to_owned();
        let mark = file.text.len() - text.len();
        let segments = vec![Segment { value_start: 0, source_start: mark, length: text.len() }];
        let span = start_of(&file);
        Some(Text { value: text, span, base: Some(path.to_owned()), origin: file, segments })
    }

    /// What the file of an organisation says, which `role: org:WRITTEN` at this place names; `None` when it cannot be used (which is
    /// reported).
    pub fn organisation(&mut self, path: &str, written: &str, at: &Span) -> Option<Organisation> {
        let file = match self.read(path) {
            Ok(file) => file,
            Err(problem) => {
                let message = format!("`role: org:{written}`: `{path}` {}", problem.words);
                self.diagnostics.push(problem.finding(message, at.clone()));
                return None;
            }
        };
        let (message, found) = match self.sources.organisation(&file) {
            Ok(organisation) => return Some(organisation),
            Err(OrganisationError::Unknown) => ("this build knows no organisations".to_owned(), Vec::new()),
            Err(OrganisationError::Broken(found)) => (format!("organisation `{path}` is refused"), found),
        };
        self.diagnostics.push(Diagnostic::error("org::refused", message, at.clone(), "named here"));
        self.diagnostics.extend(found);
        None
    }

    fn read(&mut self, path: &str) -> Result<Arc<SourceFile>, Problem> {
        let bytes = self.sources.read(path).map_err(Problem::from)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(Problem::too_large(bytes.len()));
        }
        let text = String::from_utf8(bytes)
            .map_err(|error| Problem::not_text(error.as_bytes(), error.utf8_error()))?;
        if text.contains('\0') {
            return Err(Problem::binary());
        }
        let file = Arc::new(SourceFile { path: path.to_owned(), text });
        self.files.push(file.clone());
        Ok(file)
    }

    fn cached(&mut self, path: &str, written: &str, span: &Span) -> Option<Rc<Node>> {
        if let Some(known) = self.cache.get(path) {
            return Some(known.clone());
        }
        let node = self.read_included(path, written, span)?;
        self.cache.insert(path.to_owned(), node.clone());
        Some(node)
    }

    fn read_included(&mut self, path: &str, written: &str, span: &Span) -> Option<Rc<Node>> {
        let file = match self.read(path) {
            Ok(file) => file,
            Err(problem) => {
                let message = format!("`!file {written}`: `{path}` {}{}", problem.words, self.chain_words());
                self.diagnostics.push(problem.finding(message, span.clone()));
                return None;
            }
        };
        let before = self.diagnostics.len();
        self.chain.push(path.to_owned());
        let built = Builder::new(file.clone(), self).build();
        self.chain.pop();
        match built {
            Built::Root(root) if matches!(root.value, Value::Map(_) | Value::Seq(_)) => Some(root),
            // Prose that merely looks like broken YAML is prose.
            _ => {
                self.diagnostics.truncate(before);
                Some(whole_text(&file))
            }
        }
    }

    fn chain_words(&self) -> String {
        match self.chain.len() {
            0 | 1 => String::new(),
            _ => format!(" (included by {})", self.chain.join(" → ")),
        }
    }

    fn forbidden(&self, path: &str, written: &str, span: &Span) -> Option<Diagnostic> {
        if self.chain.iter().any(|link| link == path) {
            let message =
                format!("`!file {written}`: circular inclusion {} → {path}", self.chain.join(" → "));
            return Some(Diagnostic::error("file::cycle", message, span.clone(), "leads back to itself"));
        }
        (self.chain.len() >= MAX_CHAIN).then(|| {
            let message = format!("`!file {written}`: more than {MAX_CHAIN} files include one another");
            Diagnostic::error("file::chain_too_long", message, span.clone(), "one too many")
        })
    }
}

impl Includes for Loader<'_> {
    fn include(&mut self, written: &str, span: Span) -> Rc<Node> {
        let written = written.trim();
        if written.is_empty() || written == "~" {
            let message = "`!file` names no path";
            self.diagnostics.push(Diagnostic::error(
                "file::no_path",
                message,
                span.clone(),
                "a path is missing",
            ));
            return Node::broken(span);
        }
        let containing = self.chain.last().map_or("", String::as_str);
        let path = join_beside(containing, written);
        if let Some(finding) = self.forbidden(&path, written, &span) {
            self.diagnostics.push(finding);
            return Node::broken(span);
        }
        let Some(node) = self.cached(&path, written, &span) else { return Node::broken(span) };
        self.included = self.included.with(node.weight);
        if self.included.bytes > MAX_INCLUDED_BYTES || self.included.nodes > MAX_INCLUDED_NODES {
            let message =
                format!("`!file {written}`: the included files stand for too much when written out");
            self.diagnostics.push(Diagnostic::error(
                "file::too_large",
                message,
                span.clone(),
                "too much from here on",
            ));
            return Node::broken(span);
        }
        placed(&node, path, span)
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

/// The same value, seen from the tag that included it.
fn placed(node: &Rc<Node>, path: String, span: Span) -> Rc<Node> {
    let file = match &node.included {
        // A file that consists of one `!file` tag: the innermost text counts.
        Some(inner) => return Rc::new(Node { span, included: Some(inner.clone()), ..node.share() }),
        None => node.span.file.clone(),
    };
    Rc::new(Node { span, included: Some(Included { path, file }), ..node.share() })
}

fn whole_text(file: &Arc<SourceFile>) -> Rc<Node> {
    let raw = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
    let inner = Span { file: file.clone(), range: file.text.len() - raw.len()..file.text.len() };
    let scalar = Scalar { raw: raw.to_owned(), style: Style::Verbatim, inner: inner.clone() };
    let weight = Weight::scalar(raw.len());
    Rc::new(Node { value: Value::Scalar(scalar), span: inner, included: None, weight })
}

fn start_of(file: &Arc<SourceFile>) -> Span {
    Span { file: file.clone(), range: 0..0 }
}

fn empty(file: &Arc<SourceFile>) -> Diagnostic {
    let message = format!("workflow file `{}` is empty", file.path);
    Diagnostic::error("file::empty", message, start_of(file), "nothing here")
        .help("a workflow begins with `workflow:` and has a list of `agents:`")
}

struct Problem {
    code: &'static str,
    words: String,
    label: &'static str,
}

/// How a project is made as large as it is meant to be.
pub(crate) const PROJECT_HELP: &str = "a project is a repository, or the folder of a `convoke.toml`, which may be empty; else it is the folder of the file";

impl Problem {
    fn finding(self, message: String, at: Span) -> Diagnostic {
        let finding = Diagnostic::error(self.code, message, at, self.label);
        if self.code == "file::outside" { finding.help(PROJECT_HELP) } else { finding }
    }

    fn too_large(bytes: usize) -> Self {
        let words = format!("is too large: {bytes} bytes, at most {MAX_FILE_BYTES} are read");
        Self { code: "file::too_large", words, label: "too large" }
    }

    fn not_text(bytes: &[u8], error: std::str::Utf8Error) -> Self {
        if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
            let words = "is UTF-16, save it as UTF-8".to_owned();
            return Self { code: "file::not_utf8", words, label: "not UTF-8" };
        }
        if bytes.contains(&0) {
            return Self::binary();
        }
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        let words = format!("is not UTF-8 text (byte {} in line {line})", error.valid_up_to());
        Self { code: "file::not_utf8", words, label: "not UTF-8" }
    }

    fn binary() -> Self {
        let words = "is a binary file, not UTF-8 text".to_owned();
        Self { code: "file::not_utf8", words, label: "not text" }
    }
}

impl From<SourceReadError> for Problem {
    fn from(error: SourceReadError) -> Self {
        let (code, words, label) = match error {
            SourceReadError::NotFound => ("file::missing", "does not exist".to_owned(), "no such file"),
            SourceReadError::NotAFile => ("file::not_a_file", "is not a file".to_owned(), "not a file"),
            SourceReadError::Outside(root) => {
                ("file::outside", format!("is outside the project `{root}`"), "outside the project")
            }
            SourceReadError::Unreadable(why) => {
                ("file::unreadable", format!("cannot be read: {why}"), "cannot be read")
            }
        };
        Self { code, words, label }
    }
}
