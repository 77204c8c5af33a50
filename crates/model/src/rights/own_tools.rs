//! Tools of our own: their names, the groups that lists may name them by, and what an entry of a list stands for.
//!
//! They stand behind one server that no file declares (`convoke`). What they do is the toolbox's business. An agent has those that a
//! list names: a list that is absent, or that says `*`, means tools of servers and none of these.

use crate::clearance::matches;

/// The server that they stand behind. No server and no step has this name.
pub const OWN_SERVER: &str = "convoke";

/// The tools of files, in the order in which models are shown them.
pub const FILE_TOOLS: [&str; 6] =
    ["read_file", "list_files", "search_files", "write_file", "edit_file", "apply_patch"];

/// The tool that runs commands.
pub const SHELL_TOOL: &str = "shell";

/// The tool that asks the graph of runs.
pub const KNOWLEDGE_TOOL: &str = "knowledge_query";

/// What programs ask graphs by. No list names them: they are no tools of agents.
pub const PROGRAM_TOOLS: [&str; 3] = ["ephemeral_graph_query", "owl_query", "kg_bulk_export"];

/// Words that stand for several tools, or for the one of that name.
pub const OWN_GROUPS: [&str; 2] = ["files", "shell"];

/// Policies that need no file.
pub const POLICY_PRESETS: [&str; 3] = ["read-only", "develop", "network"];

/// Between server and tool in an entry.
const JOINTS: [&str; 4] = ["__", ".", "/", ":"];

/// All of them.
pub fn own_tools() -> impl Iterator<Item = &'static str> {
    FILE_TOOLS.into_iter().chain([SHELL_TOOL, KNOWLEDGE_TOOL])
}

/// How models know one of them.
pub fn own_tool(name: &str) -> String {
    format!("{OWN_SERVER}__{name}")
}

/// What an entry says about tools of our own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnEntry {
    /// Nothing: it is about tools of servers.
    None,
    /// It stands for these; bare where it does not name our server, so that a server's tool may be meant.
    Tools {
        /// The tools.
        names: Vec<&'static str>,
        /// Whether it is a name without a server.
        bare: bool,
    },
    /// It names our server and no tool of it.
    Unknown,
}

/// Reads one entry of a list of tools: `files`, `shell`, `read_file`, `convoke__read_file`, `convoke__*`, in any case.
pub fn own_entry(entry: &str) -> OwnEntry {
    let entry = entry.trim().to_lowercase();
    let of_ours = JOINTS.iter().find_map(|joint| entry.strip_prefix(OWN_SERVER)?.strip_prefix(joint));
    let pattern = of_ours.unwrap_or(&entry);
    let bare = of_ours.is_none();
    // A pattern without our server's name is one for tools of servers.
    if bare && pattern.contains('*') {
        return OwnEntry::None;
    }
    let names: Vec<&str> = match pattern {
        "files" => FILE_TOOLS.to_vec(),
        _ => own_tools().filter(|name| matches(pattern, name)).collect(),
    };
    match (names.is_empty(), bare) {
        (false, bare) => OwnEntry::Tools { names, bare },
        (true, true) => OwnEntry::None,
        (true, false) => OwnEntry::Unknown,
    }
}

/// The tools of ours that a list names in full, in their own order: what is offered of them.
pub fn named_in_full(entries: &[String]) -> Vec<String> {
    let is_named = |name: &&str| {
        let full = own_tool(name);
        let parts = |entry: &String| entry.split(" & ").any(|part| part.trim().eq_ignore_ascii_case(&full));
        entries.iter().any(parts)
    };
    own_tools().filter(is_named).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(entry: &str) -> Vec<&'static str> {
        match own_entry(entry) {
            OwnEntry::Tools { names, .. } => names,
            _ => Vec::new(),
        }
    }

    #[test]
    fn groups_names_and_patterns_of_our_server_are_understood() {
        assert_eq!(names("files"), FILE_TOOLS);
        assert_eq!(names("convoke__files"), FILE_TOOLS);
        assert_eq!(names("Shell"), ["shell"]);
        for entry in ["read_file", "convoke__read_file", "convoke.read_file", "Convoke/READ_file"] {
            assert_eq!(names(entry), ["read_file"], "{entry}");
        }
        assert_eq!(names("convoke__*").len(), 8);
        assert_eq!(names("knowledge_query"), ["knowledge_query"]);
        assert_eq!(names("convoke__*_file"), ["read_file", "write_file", "edit_file"]);
    }

    #[test]
    fn what_names_no_tool_of_ours_is_nothing_of_ours() {
        for entry in ["*", "read_*", "fs__read_file", "files__read_file", "git_log", "", "shells"] {
            assert_eq!(own_entry(entry), OwnEntry::None, "{entry}");
        }
        assert_eq!(own_entry("convoke__reed_file"), OwnEntry::Unknown);
    }

    #[test]
    fn only_full_names_are_offered() {
        let entries =
            ["convoke__shell", "*", "convoke__read_file & read_file", "edit_file"].map(str::to_owned);
        assert_eq!(named_in_full(&entries), ["read_file", "shell"]);
    }
}
