//! What git needs beside its options: an environment in which nothing of a repository's configuration runs a program.

use super::arguments::Arguments;
use super::uses::Uses;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// What is set for every call of git: no system or user configuration, no hooks, no file system monitor, no pager, no editor, no
/// external diff, no signatures, no questions.
const SETTINGS: [(&str, &str); 14] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "true"),
    ("sequence.editor", "true"),
    ("core.sshCommand", "false"),
    ("core.askPass", "true"),
    ("credential.helper", ""),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("protocol.allow", "never"),
    // Else `git diff` writes the index, though it takes no optional lock.
    ("diff.autoRefreshIndex", "false"),
];

const VARIABLES: [(&str, &str); 7] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ATTR_NOSYSTEM", "1"),
];

/// Sub-commands that write the index or the working tree.
const WRITERS: [&str; 19] = [
    "add",
    "commit",
    "switch",
    "restore",
    "checkout",
    "reset",
    "mv",
    "rm",
    "stash",
    "stash push",
    "stash pop",
    "stash apply",
    "stash drop",
    "stash clear",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "branch",
];

/// Sub-commands that show differences, and could do so with programs of the repository's choice.
const SHOWERS: [&str; 7] = ["diff", "log", "show", "whatchanged", "stash show", "blame", "annotate"];

/// The variables of every call: made once, and shared by all plans.
static ENVIRONMENT: LazyLock<Arc<BTreeMap<String, String>>> = LazyLock::new(|| {
    let mut variables: BTreeMap<String, String> =
        VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    variables.insert("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string());
    for (at, (name, value)) in SETTINGS.iter().enumerate() {
        variables.insert(format!("GIT_CONFIG_KEY_{at}"), (*name).to_owned());
        variables.insert(format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned());
    }
    Arc::new(variables)
});

/// Adds what every call has, and looks at what options alone do not tell.
pub fn refine<'a>(key: &str, found: &Arguments<'a>, skipped: usize, uses: &mut Uses<'a>) {
    let sub = key.strip_prefix("git ").unwrap_or(key);
    uses.env = Some(&ENVIRONMENT);
    if SHOWERS.contains(&sub) {
        uses.added.push((skipped, "--no-textconv".into()));
        if !matches!(sub, "blame" | "annotate") {
            uses.added.push((skipped, "--no-ext-diff".into()));
        }
    }
    if WRITERS.contains(&sub) {
        uses.writes_tree = true;
        uses.changes_tree = !matches!(sub, "add" | "commit");
    }
    programs(sub, found, uses);
}

/// Options whose value may start a program, and calls that would start an editor.
fn programs<'a>(sub: &str, found: &Arguments<'a>, uses: &mut Uses<'a>) {
    let said = ["m", "message", "F", "file", "C", "reuse-message", "no-edit", "fixup", "dry-run"];
    if sub == "commit" && !found.has(&said) {
        uses.refuse("`git commit` without a message opens an editor; give it one with -m");
    }
    if matches!(sub, "merge" | "revert")
        && !found.has(&["m", "message", "no-edit", "ff-only", "abort", "quit", "no-commit", "n"])
    {
        uses.refuse(format!("`git {sub}` without --no-edit opens an editor"));
    }
    if sub == "rebase" && found.operands.is_empty() && !found.has(&["abort", "quit", "skip"]) {
        uses.refuse("`git rebase` without a branch asks the configuration; name the branch");
    }
    for (name, value) in &found.options {
        let Some(value) = value else { continue };
        match *name {
            // `--format=%(if)..` and the like only format; `%G?` would check a signature with a program.
            "format" | "pretty" if value.contains("%G") => {
                uses.refuse("`%G` in a format runs a program that checks signatures");
            }
            "fixup" if value.contains(':') => uses.refuse("`--fixup` with `:` opens an editor"),
            "L" if sub != "branch --list" => lines(value, uses),
            "submodule" if *value != "short" && *value != "log" && *value != "diff" => {
                uses.refuse(format!("`--submodule={value}` is not known"));
            }
            _ => {}
        }
    }
    if found.has(&["show-signature"]) {
        uses.refuse("`--show-signature` runs a program that checks signatures");
    }
}

/// `-L 1,5:src/lib.rs`: what follows the last colon is a path.
fn lines<'a>(value: &'a str, uses: &mut Uses<'a>) {
    if let Some((_, path)) = value.rsplit_once(':') {
        uses.path(path, crate::world::Access::Read);
    }
}
