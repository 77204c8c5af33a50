//! Files that inputs of presets name: their text for the prompt, and a warning where a model would get a name alone.
//!
//! Files come through [`Sources`], which keeps to the project. What must be read and cannot be is refused. Invariant: no
//! text is shortened without a line that says so.

use super::preset::PresetInput;
use crate::compile::InputError;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::{Input, Kind, Plan};
use crate::source::{SourceReadError, Sources, expand};
use convoke_model::excerpt::headed;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Bytes of one file that stand in a prompt: about 32 000 tokens.
pub const MOST_OF_A_FILE: usize = 128 << 10;

/// Bytes of all files of a run together.
pub const MOST_IN_ALL: usize = 4 << 20;

/// What the texts of an input are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// They stand for themselves.
    Nothing,
    /// Paths of files; a text of several lines is a change and stands for itself.
    Files,
    /// Things to be examined. Those that are files are read; of others a model knows only the name.
    Things,
    /// Items that stand for themselves, unless they are files.
    Items,
}

/// Texts of files by the paths that were given, and what was given in vain.
#[derive(Debug, Default)]
pub(super) struct Texts {
    by_path: Map<String, Value>,
    bare: Vec<String>,
    bytes: usize,
}

impl Texts {
    /// The files that an input names; or why one of them cannot be used.
    pub fn of(
        input: &PresetInput,
        values: &Map<String, Value>,
        sources: &dyn Sources,
    ) -> Result<Self, String> {
        let mut texts = Texts::default();
        for path in values.get(input.name).map(texts_in).unwrap_or_default() {
            texts.add(input.names, &path, sources).map_err(|why| format!("`{}`: {why}", input.name))?;
        }
        Ok(texts)
    }

    fn add(&mut self, names: Names, path: &str, sources: &dyn Sources) -> Result<(), String> {
        let refused = |why: String| Err(format!("`{path}`: {why}"));
        if !could_be_path(path) {
            return Ok(());
        }
        match (sources.read(path), names) {
            (Ok(_), Names::Nothing) => self.bare.extend(looks_like_path(path).then(|| path.to_owned())),
            (Err(_), Names::Nothing) => {}
            (Ok(bytes), _) => return self.keep(path, bytes).or_else(refused),
            (Err(SourceReadError::NotFound | SourceReadError::NotAFile), Names::Things) => {
                self.bare.extend((!path.contains(char::is_whitespace)).then(|| path.to_owned()));
            }
            (Err(SourceReadError::NotFound | SourceReadError::NotAFile), Names::Items) => {
                self.bare.extend(looks_like_path(path).then(|| path.to_owned()));
            }
            (Err(why), _) => return refused(why.to_string()),
        }
        Ok(())
    }

    fn keep(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), String> {
        let text = headed(&text_of(bytes).ok_or("binary, or not UTF-8 text")?, MOST_OF_A_FILE, "");
        self.bytes += text.len();
        if self.bytes > MOST_IN_ALL {
            return Err(format!(
                "the files together have more than {MOST_IN_ALL} bytes: give fewer at a time"
            ));
        }
        self.by_path.insert(path.to_owned(), Value::String(text));
        Ok(())
    }

    /// Whether no file was read.
    pub fn is_empty(&self) -> bool {
        self.by_path.is_empty()
    }

    /// The texts by path.
    pub fn into_value(self) -> Value {
        Value::Object(self.by_path)
    }

    /// A warning for each that a model would know by name alone.
    pub fn warnings(&self, input: &str) -> Vec<Diagnostic> {
        self.bare.iter().map(|path| bare(input, path)).collect()
    }
}

/// The names of a list, with files in the place of each folder and pattern, and a warning for each file that was left out because
/// it is no text. Only an input for files takes folders: elsewhere a folder's name may mean something else.
pub(super) fn expanded(
    input: &str,
    names: Names,
    given: &[Value],
    sources: &dyn Sources,
) -> Result<(Vec<Value>, Vec<Diagnostic>), String> {
    let (mut all, mut warnings, mut found) = (Vec::new(), Vec::new(), HashSet::new());
    for value in given {
        let name = value.as_str().filter(|name| could_be_path(name));
        let name = name.filter(|name| names == Names::Files || name.contains('*'));
        let paths =
            name.map(|name| expand(name, sources).map_err(|why| format!("`{input}`: `{name}`: {why}")));
        let Some(paths) = paths.transpose()?.flatten() else {
            // What a folder or pattern has given already is there.
            if value.as_str().is_none_or(|name| !found.contains(name)) {
                all.push(value.clone());
            }
            continue;
        };
        for path in paths {
            let is_text = sources.read(&path).is_ok_and(|bytes| text_of(bytes).is_some());
            let is_there = all.iter().any(|there: &Value| there.as_str() == Some(&path));
            if !is_text {
                warnings.push(left_out(input, &path));
            } else if !is_there && found.insert(path.clone()) {
                all.push(Value::String(path));
            }
        }
    }
    Ok((all, warnings))
}

/// Reads the files that inputs name which declare it (`files: true`): each value becomes a list of `{path, text}`. Says what was
/// left out, or why one of them cannot be used.
pub fn read_inputs(
    declared: Option<&IndexMap<String, Input>>,
    values: &mut Map<String, Value>,
    sources: &dyn Sources,
) -> Result<Vec<Diagnostic>, InputError> {
    let (mut warnings, mut texts) = (Vec::new(), Texts::default());
    for (name, _) in declared.into_iter().flatten().filter(|(_, input)| input.files) {
        let Some(Value::Array(given)) = values.get(name) else { continue };
        let refused = |message: String| InputError {
            name: name.clone(),
            message: format!("input {message}"),
            help: None,
        };
        let (paths, skipped) = expanded(name, Names::Files, given, sources).map_err(refused)?;
        warnings.extend(skipped);
        let mut read = Vec::new();
        for path in texts_in(&Value::Array(paths)) {
            let failed = |why: String| refused(format!("`{name}`: {why}"));
            texts.add(Names::Files, &path, sources).map_err(failed)?;
            let text = texts.by_path.get(&path).cloned();
            let text = text.ok_or_else(|| failed(format!("`{path}`: not the name of a file")))?;
            read.push(json!({ "path": path, "text": text }));
        }
        values.insert(name.clone(), Value::Array(read));
    }
    Ok(warnings)
}

fn left_out(input: &str, path: &str) -> Diagnostic {
    let message = format!("input `{input}`: `{path}` is left out: it cannot be read as UTF-8 text");
    let found = Diagnostic { code: "workflow::file_left_out", help: None, ..warning(message) };
    found.help("name it by itself if it matters: then it is refused with the reason")
}

/// Warnings of an own preset: inputs that are meant for names of files, and values that are such names.
pub fn bare_names(plan: &Plan, values: &Map<String, Value>, sources: &dyn Sources) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, input) in plan.root().inputs.iter().flatten().filter(|(_, input)| !input.files) {
        let given = values.get(name).or(input.default.as_ref()).map(texts_in).unwrap_or_default();
        let is_file =
            |path: &String| could_be_path(path) && looks_like_path(path) && sources.read(path).is_ok();
        let named: Vec<String> = given.into_iter().filter(is_file).collect();
        match named.is_empty() && is_for_names(name) && !matches!(input.ty.word(), "number" | "boolean") {
            true => found.push(warning(format!(
                "input `{name}` reaches models as names of files, which none of them can read"
            ))),
            false => found.extend(named.iter().map(|path| bare(name, path))),
        }
    }
    found
}

/// Whether something of a plan can read files by itself: a tool, a command or a coding agent.
pub fn can_read(plan: &Plan) -> bool {
    let mut kinds = plan.workflows.iter().flat_map(|workflow| &workflow.nodes).map(|node| &node.kind);
    kinds.any(|kind| match kind {
        Kind::Agent(agent) => !agent.settings.servers.is_empty() || agent.settings.provider.program.is_some(),
        other => matches!(other, Kind::Script(_) | Kind::Tool(_)),
    })
}

fn bare(input: &str, path: &str) -> Diagnostic {
    warning(format!(
        "input `{input}`: a model gets the name `{path}` alone, and cannot look at what it stands for"
    ))
}

fn warning(message: String) -> Diagnostic {
    let help = "give the text itself, or in a manifest of your own declare the input with `files: true`, or give it an MCP server \
                with a tool that reads (`mcp_servers`)";
    let found = Diagnostic {
        code: "workflow::bare_file_name",
        severity: Severity::Warning,
        message,
        help: None,
        labels: Vec::new(),
    };
    found.help(help)
}

fn text_of(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// The texts of a text or a list; what else stands in a list is shown as JSON, as in a prompt.
fn texts_in(value: &Value) -> Vec<String> {
    let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().map(text).collect(),
        _ => Vec::new(),
    }
}

/// Whether a file may have this name on any system.
fn could_be_path(text: &str) -> bool {
    const LONGEST: usize = 4096;
    let fits = text.len() < LONGEST && text.split('/').all(|part| part.len() <= 255);
    fits && !text.trim().is_empty() && !text.contains(['\n', '\0'])
}

/// Whether a text says that it is a path: by how it begins, or by an ending.
fn looks_like_path(text: &str) -> bool {
    let ending = text.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    let has_ending = ending.is_some_and(|(_, ending)| {
        ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let begins = ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start));
    !text.contains("://") && !text.contains(char::is_whitespace) && (begins || has_ending)
}

/// Whether the name of an input says that it takes names of files or folders.
fn is_for_names(input: &str) -> bool {
    const WORDS: [&str; 10] = [
        "file",
        "files",
        "filename",
        "filenames",
        "path",
        "paths",
        "folder",
        "folders",
        "directory",
        "directories",
    ];
    let last = input.rsplit(['_', '-']).next().unwrap_or(input);
    WORDS.iter().any(|word| last.eq_ignore_ascii_case(word))
}
