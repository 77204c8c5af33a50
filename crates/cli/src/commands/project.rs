//! `convoke project`: what the runs of a project share.

use crate::args::{Format, ProjectAction, ProjectArgs};
use crate::console::Console;
use crate::driving::project;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_journal::{ProjectFile, Shared};
use convoke_model::ProjectPatch;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

/// Shows or changes it.
pub fn run(console: &Console, args: &ProjectArgs) -> Result<Exit, CommandFailure> {
    let place = args.file.clone().unwrap_or_else(|| project::usual(console));
    let file = ProjectFile::at(place);
    let shared = match args.action.as_ref().unwrap_or(&ProjectAction::Show) {
        ProjectAction::Path => {
            console.data(&format!("{}\n", file.path().display()))?;
            return Ok(Exit::Success);
        }
        ProjectAction::Show => file.load()?,
        ProjectAction::Set { flags } => file.patch(None, &flags_of(flags)?)?,
        ProjectAction::Patch { change } => file.patch(None, &change_of(change)?)?,
    };
    match args.format {
        Format::Json => {
            console.json(&json!({ "revision": shared.revision, "context": shared.context }))?;
        }
        Format::Text => console.data(&page(file.path(), &shared))?,
    }
    Ok(Exit::Success)
}

fn flags_of(flags: &[String]) -> Result<ProjectPatch, CommandFailure> {
    let mut patch = ProjectPatch::default();
    for flag in flags {
        let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
        let value = match value {
            "true" => Some(true),
            "false" => Some(false),
            "" => None,
            other => {
                let message = format!("flag `{name}` is true or false, not `{other}`");
                return Err(CommandFailure::new(Exit::Usage, message)
                    .hint("artefacts and tasks are changed by `convoke project patch`"));
            }
        };
        patch.global_flags.insert(name.to_owned(), value);
    }
    Ok(patch)
}

fn change_of(change: &str) -> Result<ProjectPatch, CommandFailure> {
    let mut text = change.to_owned();
    if change == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text)?;
    }
    serde_json::from_str(&text).map_err(|error| {
        CommandFailure::new(Exit::Usage, format!("the change cannot be read: {error}"))
            .hint(r#"a change is JSON such as {"globalFlags": {"ready": true}}; `convoke project --help` has all of it"#)
    })
}

fn page(path: &Path, shared: &Shared) -> String {
    let mut text = format!("{} (revision {})\n", path.display(), shared.revision);
    let context = &shared.context;
    if context.global_flags.is_empty()
        && context.artifact_pointers.is_empty()
        && context.task_queue.is_empty()
    {
        text.push_str("nothing is shared yet\n");
    }
    for (name, flag) in &context.global_flags {
        writeln!(text, "flag      {name} = {flag}").expect("text takes text");
    }
    for (name, place) in &context.artifact_pointers {
        writeln!(text, "artefact  {name} = {place}").expect("text takes text");
    }
    for task in &context.task_queue {
        let status = serde_json::to_value(task.status).unwrap_or_default();
        let place = task.worktree_path.as_ref().map(|path| format!(" in {path}")).unwrap_or_default();
        writeln!(text, "task      {}: {}{place}", task.task_id, status.as_str().unwrap_or_default())
            .expect("text takes text");
    }
    text
}
