//! Writing to names that act outside later.

use crate::{Attempt, Outcome, Scene};
use std::fs;
use std::os::unix::fs::symlink;

pub const ALL: &[Attempt] = &[
    ("hook_in_an_absent_folder", |s| put(s, ".git/hooks/pre-commit")),
    ("hook_by_a_link", |s| symlink(s.path("root"), s.path("root").join(".git/hooks"))),
    ("hook_by_a_new_repository", |s| {
        fs::rename(s.path("root").join(".git"), s.path("root").join("old"))?;
        put(s, ".git/hooks/pre-commit")
    }),
    ("hook_by_a_moved_folder", |s| {
        put(s, "mine/pre-commit")?;
        let _ = fs::remove_dir(s.path("root").join(".git/hooks"));
        fs::rename(s.path("root").join("mine"), s.path("root").join(".git/hooks"))
    }),
    ("repository_removed", |s| {
        fs::remove_dir_all(s.path("root").join(".git"))?;
        put(s, ".git/hooks/pre-commit")
    }),
    ("settings", |s| put(s, ".git/config")),
    ("settings_renamed_over", |s| {
        put(s, "mine")?;
        fs::rename(s.path("root").join("mine"), s.path("root").join(".git/config"))
    }),
    ("settings_removed", |s| fs::remove_file(s.path("root").join(".git/config"))),
    ("settings_by_a_hard_link", |s| {
        fs::hard_link(s.path("root").join(".git/config"), s.path("root").join("mine"))?;
        put(s, "mine")
    }),
    ("settings_by_mode", |s| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(s.path("root").join(".git/config"), fs::Permissions::from_mode(0o666))
    }),
    ("tasks_of_an_editor", |s| put(s, ".vscode/tasks.json")),
    ("settings_of_an_agent", |s| put(s, ".claude/settings.json")),
    ("work_of_a_machine_elsewhere", |s| put(s, ".github/workflows/x.yml")),
    // Of absent files the test looks whether they are there when the command has ended.
    ("servers_of_an_agent", |s| left(s, ".mcp.json")),
    ("shared_settings", |s| left(s, ".git/commondir")),
    ("own_settings", |s| left(s, "convoke.toml")),
];

fn put(scene: &Scene, name: &str) -> Outcome {
    let path = scene.path("root").join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, "x")
}

fn left(scene: &Scene, name: &str) -> Outcome {
    let _ = put(scene, name);
    Err(std::io::Error::other("it is looked at later"))
}
