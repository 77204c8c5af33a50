//! The file of a cassette: a line that names the version, then one line per call of a model or a tool, and one per list
//! of tools.
//!
//! Lines are written whole and at once, when a call is over, so a crash loses at most the calls that were under way. A
//! last line without its end is what such a crash leaves, and is ignored.

use super::call::Call;
use super::tool_call::{CallLine, ListLine, ToolLine};
use convoke_model::{Class, Failure};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Mutex;

/// The name of the file inside a cassette's folder.
pub const CASSETTE_FILE: &str = "cassette.jsonl";
/// The version of the lines; a reader refuses what is newer.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
    cassette: u32,
}

/// A cassette that is being written.
#[derive(Debug)]
pub struct Tape {
    file: Mutex<File>,
}

impl Tape {
    /// Begins a cassette in a folder; one that has calls on it is not written over.
    pub fn create(folder: &Path) -> Result<Tape, Failure> {
        if load(folder).is_ok_and(|content| content.is_empty()) {
            return Tape::resume(folder);
        }
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| unusable(folder, &error.to_string()))?;
        // Prompts and answers are on it: only the user may read them, whatever the umask.
        let made =
            OpenOptions::new().append(true).create_new(true).mode(0o600).open(folder.join(CASSETTE_FILE));
        let tape = Tape { file: Mutex::new(made.map_err(|error| not_made(folder, &error))?) };
        tape.put(&Header { cassette: VERSION }).map_err(|error| unusable(folder, &error.to_string()))?;
        Ok(tape)
    }

    /// Resumes the cassette in a folder, or begins it.
    pub fn resume(folder: &Path) -> Result<Tape, Failure> {
        let path = folder.join(CASSETTE_FILE);
        if !path.exists() {
            return Tape::create(folder);
        }
        let refuse = |error: io::Error| unusable(folder, &error.to_string());
        let text = std::fs::read_to_string(&path).map_err(refuse)?;
        check_version(folder, text.lines().next().unwrap_or_default())?;
        let file = OpenOptions::new().append(true).open(&path).map_err(refuse)?;
        file.set_permissions(Permissions::from_mode(0o600)).map_err(refuse)?;
        file.set_len(whole(&text).len() as u64).map_err(refuse)?;
        Ok(Tape { file: Mutex::new(file) })
    }

    /// Writes a call of a model down.
    pub(super) fn write(&self, call: &Call) -> io::Result<()> {
        self.put(call)
    }

    /// Writes down what has to do with tools.
    pub(super) fn write_tool(&self, line: &ToolLine) -> io::Result<()> {
        self.put(line)
    }

    fn put(&self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.lock().expect("a panic poisoned this lock").write_all(text.as_bytes())
    }
}

/// What is on a cassette, in its order.
#[derive(Default)]
pub(super) struct Content {
    /// Calls of models.
    pub calls: Vec<Call>,
    /// Calls of tools.
    pub tool_calls: Vec<CallLine>,
    /// Lists of tools.
    pub lists: Vec<ListLine>,
    /// What was called, in the order of the answers.
    pub order: Vec<Called>,
}

/// A call of either kind, by its place among its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    /// A model.
    Model(usize),
    /// A tool.
    Tool(usize),
}

impl Content {
    fn is_empty(&self) -> bool {
        self.order.is_empty() && self.lists.is_empty()
    }

    fn take(&mut self, line: &str) -> serde_json::Result<()> {
        if serde_json::from_str::<Kind>(line)?.is_of_tools() {
            self.take_tool(serde_json::from_str(line)?);
        } else {
            self.order.push(Called::Model(self.calls.len()));
            self.calls.push(serde_json::from_str(line)?);
        }
        Ok(())
    }

    fn take_tool(&mut self, line: ToolLine) {
        match line {
            ToolLine::ToolList(line) => self.lists.push(line),
            ToolLine::ToolCall(line) => {
                self.order.push(Called::Tool(self.tool_calls.len()));
                self.tool_calls.push(line);
            }
        }
    }
}

/// Tells lines apart.
#[derive(Deserialize)]
struct Kind {
    tool_list: Option<IgnoredAny>,
    tool_call: Option<IgnoredAny>,
}

impl Kind {
    fn is_of_tools(&self) -> bool {
        self.tool_list.is_some() || self.tool_call.is_some()
    }
}

/// Everything on the cassette in a folder.
pub(super) fn load(folder: &Path) -> Result<Content, Failure> {
    let text = std::fs::read_to_string(folder.join(CASSETTE_FILE)).map_err(|error| unread(folder, &error))?;
    let mut lines = whole(&text).lines();
    check_version(folder, lines.next().unwrap_or_default())?;
    let mut content = Content::default();
    for (at, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        content.take(line).map_err(|error| unusable(folder, &format!("line {}: {error}", at + 2)))?;
    }
    Ok(content)
}

/// The lines that have their end.
fn whole(text: &str) -> &str {
    text.rfind('\n').map_or("", |end| &text[..=end])
}

fn check_version(folder: &Path, line: &str) -> Result<(), Failure> {
    match serde_json::from_str::<Header>(line) {
        Ok(Header { cassette: VERSION }) => Ok(()),
        Ok(Header { cassette }) => {
            let why = format!("it has version {cassette}, and this program reads version {VERSION}");
            Err(unusable(folder, &why))
        }
        Err(_) => Err(unusable(folder, "its first line does not say `{\"cassette\":1}`")),
    }
}

fn not_made(folder: &Path, error: &io::Error) -> Failure {
    if error.kind() != ErrorKind::AlreadyExists {
        return unusable(folder, &error.to_string());
    }
    let message = format!("there is a cassette in `{}` already", folder.display());
    Failure::new(Class::Fatal, message)
        .reason("cassette_exists")
        .hint("to record again, remove it, or choose another folder")
}

fn unread(folder: &Path, error: &io::Error) -> Failure {
    if error.kind() != ErrorKind::NotFound {
        return unusable(folder, &error.to_string());
    }
    let message = format!("there is no cassette in `{}`: it has no file {CASSETTE_FILE}", folder.display());
    Failure::new(Class::Fatal, message).reason("no_cassette").hint("make one with --record")
}

fn unusable(folder: &Path, why: &str) -> Failure {
    let message = format!("the cassette in `{}` cannot be used: {why}", folder.display());
    Failure::new(Class::Fatal, message).reason("bad_cassette")
}
