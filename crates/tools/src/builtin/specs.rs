//! What models see of our tools: what they are for, and what they take.
//!
//! Written for models: what a tool does, what it gives, and what to do when there is more. Hints say what may be repeated.

use crate::mcp::catalogue::Catalogue;
use convoke_model::Server;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

/// Those that were asked for, by the tools that may be used: compiled once.
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

type Known = HashMap<Option<Vec<String>>, Arc<Catalogue>>;

/// The tools of ours that a server of this kind has.
pub(super) fn catalogue(server: &Server) -> Arc<Catalogue> {
    let mut known = KNOWN.lock().expect("a panic poisoned this lock");
    let made = || {
        let listed = all().into_iter().map(|spec| serde_json::from_value(spec).expect("our own words"));
        Arc::new(Catalogue::new(listed.collect(), server.tools.as_deref()))
    };
    known.entry(server.tools.clone()).or_insert_with(made).clone()
}

/// Our tools, in the order in which models are shown them.
fn all() -> [Value; 8] {
    [
        read_file(),
        list_files(),
        search_files(),
        write_file(),
        edit_file(),
        apply_patch(),
        shell(),
        knowledge_query(),
    ]
}

fn knowledge_query() -> Value {
    json!({
        "name": "knowledge_query",
        "description": "Asks what was run, in SPARQL 1.1 (SELECT, ASK, CONSTRUCT, DESCRIBE), read-only. Tasks are `?t a cv:Task ; \
            cv:taskId ?id ; cv:status ?s ; cv:inExecution ?run`; failures have `cv:failureClass`, attempts `cv:attemptOf ?t ; \
            cv:costMicros ?c`, results `prov:wasGeneratedBy ?t ; prov:wasDerivedFrom ?other`. `?x cv:matches \"words\"` searches \
            names. Prefixes cv:, prov:, org:, rdf:, rdfs:, owl:, xsd:, skos: are known. No texts of prompts or outputs are in it.",
        "inputSchema": object(&["query"], json!({
            "query": {"type": "string", "minLength": 1, "maxLength": 16_384, "description": "The query"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 500, "description": "Rows (default 50)"},
            "scope": {"type": "string", "enum": ["run", "project"],
                "description": "`run` (default): this run; `project`: all runs that were started in its folder"},
        })),
        "annotations": reading(),
    })
}

fn path(what: &str) -> Value {
    json!({"type": "string", "description": format!("{what}, from the working folder (`src/main.rs`)")})
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn reading() -> Value {
    json!({"readOnlyHint": true, "openWorldHint": false})
}

fn read_file() -> Value {
    json!({
        "name": "read_file",
        "description": "Reads a text file of the working folder. Each line comes with its number and a tab before it. Long \
            files come in parts: the last line says with which `offset` to read on.",
        "inputSchema": object(&["path"], json!({
            "path": path("The file"),
            "offset": {"type": "integer", "minimum": 1, "description": "The first line, counted from 1 (default 1)"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 10_000, "description": "Lines (default 2000)"},
        })),
        "annotations": reading(),
    })
}

fn list_files() -> Value {
    json!({
        "name": "list_files",
        "description": "Lists what is in a folder; folders end with `/`. What .gitignore names is left out.",
        "inputSchema": object(&[], json!({
            "path": path("The folder (default the working folder)"),
            "glob": {"type": "string", "description": "Only what fits, in all folders below: `*.rs`, `src/**/test_*.py`"},
            "depth": {"type": "integer", "minimum": 1, "maximum": 64, "description": "Levels of folders (default 1, with `glob` all)"},
            "ignored": {"type": "boolean", "description": "Also what .gitignore names (default false)"},
        })),
        "annotations": reading(),
    })
}

fn search_files() -> Value {
    json!({
        "name": "search_files",
        "description": "Finds lines in the files of a folder by a regular expression (Rust syntax, line by line). Gives paths, line \
            numbers and lines.",
        "inputSchema": object(&["pattern"], json!({
            "pattern": {"type": "string", "minLength": 1, "maxLength": 10_000, "description": "What to look for"},
            "literal": {"type": "boolean", "description": "The pattern is plain text (default false)"},
            "ignore_case": {"type": "boolean", "description": "Case does not matter (default false)"},
            "path": path("The folder or file (default the working folder)"),
            "glob": {
                "description": "Only files that fit: `*.rs`, `src/**/*.ts`, or a list of such patterns",
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "maxItems": 50}],
            },
            "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines before and after (default 0)"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "Matches (default 200)"},
            "ignored": {"type": "boolean", "description": "Also what .gitignore names (default false)"},
        })),
        "annotations": reading(),
    })
}

fn write_file() -> Value {
    json!({
        "name": "write_file",
        "description": "Writes a whole file, a new one or in place of what is there; folders on the way are made. To change a part \
            of a file, use edit_file.",
        "inputSchema": object(&["path", "content"], json!({
            "path": path("The file"),
            "content": {"type": "string", "description": "The whole content"},
        })),
        "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false},
    })
}

fn edit_file() -> Value {
    json!({
        "name": "edit_file",
        "description": "Replaces a text in a file by another. `old_string` must stand in the file exactly as given, blanks and \
            indentation included and without line numbers, and only once: give as many lines as make it the only one.",
        "inputSchema": object(&["path", "old_string", "new_string"], json!({
            "path": path("The file"),
            "old_string": {"type": "string", "description": "What stands there"},
            "new_string": {"type": "string", "description": "What is to stand there"},
            "replace_all": {"type": "boolean", "description": "Replace every place (default false)"},
        })),
        "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false},
    })
}

fn apply_patch() -> Value {
    json!({
        "name": "apply_patch",
        "description": "Changes several files at once, all or none. Takes a unified diff (`--- a/PATH`, `+++ b/PATH`, `@@ … @@`), or:\n\
            *** Begin Patch\n*** Update File: PATH\n@@ HEADING\n unchanged line\n-old line\n+new line\n*** Add File: PATH\n+line\n\
            *** Delete File: PATH\n*** End Patch\n\
            `*** Move to: PATH` behind `*** Update File` renames. Give some unchanged lines around each change; line numbers are only hints.",
        "inputSchema": object(&["patch"], json!({
            "patch": {"type": "string", "description": "The patch"},
        })),
        "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false},
    })
}

fn shell() -> Value {
    json!({
        "name": "shell",
        "description": "Runs a command in the working folder, in a sandbox without network, and gives what it prints and its exit \
            code. Plain commands, pipes, `&&`, `||` and `;` run at once where the policy allows them; a person may be asked about \
            others. Nothing can be typed in, and nothing goes on in the background.",
        "inputSchema": object(&["command"], json!({
            "command": {"type": "string", "minLength": 1, "maxLength": 65_536, "description": "The command"},
            "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 3600, "description": "Its time (default 120)"},
        })),
        "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false},
    })
}
