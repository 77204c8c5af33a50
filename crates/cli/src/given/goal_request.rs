//! From a goal on the command line to a workflow of one goal step: flags over the configuration, prompts from folders.

mod authors;
mod bounds;
mod tools;

pub use authors::{Authors, about_providers};
pub use bounds::{Budgeted, anew};

use crate::args::GoalArgs;
use crate::config::{Approval, GoalSettings};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::{Role, nearest};
use convoke_plan::generate::goal::GoalRequest;
use etcetera::BaseStrategy;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The name under which the workflow of a goal is known.
pub const FILE: &str = "goal:";

/// What stands for standard input where a file is named.
const STDIN: &str = "-";

/// The origin of a run, for people: its file, or a sentence on the command line.
pub fn origin(file: &str) -> &str {
    if file == FILE { "a sentence" } else { file }
}

/// A prompt that replaces a built-in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFile {
    /// The role that it is for.
    pub role: Role,
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// What is known about a goal before it runs.
pub fn of(args: &GoalArgs, console: &Console, prompts: &[PromptFile]) -> Result<GoalRequest, CommandFailure> {
    let (config, settings) = (&console.config, &console.config.goal);
    if args.flags.detach && args.interactive {
        return Err(CommandFailure::new(Exit::Usage, "--detach and --interactive exclude each other")
            .hint("say something to a detached run with `convoke guide`"));
    }
    if args.goal.trim().is_empty() {
        return Err(CommandFailure::new(Exit::Usage, "the goal is empty").hint("say what is to be reached"));
    }
    let mut request = GoalRequest {
        goal: args.goal.clone(),
        context: args.context.as_deref().map(context).transpose()?,
        plan: plan(args)?,
        keys: settings.keys.clone(),
        prompts: prompts.iter().map(|prompt| (prompt.role, prompt.text.clone())).collect(),
        model: args.flags.model.clone().or_else(|| settings.model.clone()),
        servers: settings.servers.clone(),
        limits: Budgeted::at_start(&args.bounds, &settings.limits).limits,
    };
    request.keys.extend(args.bounds.keys());
    tools::state(&mut request, args, config)?;
    let stated = [
        ("plan_only", args.plan_only),
        ("results", args.results),
        ("approve", approves(args, settings, console.is_attended())),
    ];
    for (key, holds) in stated {
        if holds {
            request.keys.insert(key.to_owned(), json!(true));
        }
    }
    Ok(request)
}

/// The plan that was given: a file's, or what comes over standard input.
fn plan(args: &GoalArgs) -> Result<Option<String>, CommandFailure> {
    match args.plan.as_deref() {
        Some(file) if file == Path::new(STDIN) && args.interactive => {
            let message = "--plan - and --interactive both read standard input";
            Err(CommandFailure::new(Exit::Usage, message).hint("put the plan into a file"))
        }
        Some(file) if file == Path::new(STDIN) => {
            std::io::read_to_string(std::io::stdin()).map(Some).map_err(|error| {
                CommandFailure::new(
                    Exit::Usage,
                    format!("the plan on standard input cannot be read: {error}"),
                )
            })
        }
        file => file.map(|file| read(file, "plan")).transpose(),
    }
}

/// Whether a person approves the plan. One that was given is approved already.
fn approves(args: &GoalArgs, settings: &GoalSettings, attended: bool) -> bool {
    if args.plan_only || args.yes {
        return false;
    }
    let by_itself = args.plan.is_none()
        && match settings.approve {
            Approval::Always => true,
            Approval::Never => false,
            Approval::Terminal => attended && !args.flags.no_interactive && !args.flags.skip_gates,
        };
    args.approve_plan || by_itself
}

/// A file, where there is one of that name, else the words themselves.
fn context(given: &str) -> Result<String, CommandFailure> {
    let file = given.strip_prefix('@').map(Path::new);
    match file.or_else(|| Some(Path::new(given)).filter(|path| path.is_file())) {
        Some(file) => read(file, "context"),
        None if looks_like_a_file(given) => {
            let message = format!("--context: there is no file `{given}`");
            Err(CommandFailure::new(Exit::Usage, message)
                .hint("words that only look like the name of a file need a space before or after them"))
        }
        None => Ok(given.to_owned()),
    }
}

/// One word that is a path or has an extension: more likely a slip than all there is to know.
fn looks_like_a_file(given: &str) -> bool {
    let is_extension = |end: &str| {
        (1..=5).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
            && end.contains(|c: char| c.is_ascii_alphabetic())
    };
    let has_extension = given.rsplit_once('.').is_some_and(|(_, end)| is_extension(end));
    let is_path = given.contains('/') && !given.contains("://");
    !given.contains(char::is_whitespace) && (is_path || has_extension && !given.contains("://"))
}

/// How a file is called to people.
pub fn file_name(file: &Path) -> String {
    if file == Path::new(STDIN) { "standard input".to_owned() } else { file.display().to_string() }
}

fn read(file: &Path, what: &str) -> Result<String, CommandFailure> {
    std::fs::read_to_string(file).map_err(|error| {
        CommandFailure::new(Exit::Usage, format!("the {what} `{}` cannot be read: {error}", file.display()))
    })
}

/// Where prompts may lie: the project's folder, then the user's.
fn folders() -> Vec<PathBuf> {
    let user = etcetera::base_strategy::Xdg::new().ok().map(|folders| folders.config_dir().join("convoke"));
    std::iter::once(PathBuf::from(".convoke")).chain(user).map(|folder| folder.join("prompts/goal")).collect()
}

/// The prompts that people have put into words of their own; the first folder that has one counts.
pub fn prompts(console: &Console) -> Result<Vec<PromptFile>, CommandFailure> {
    let folders = folders();
    folders.iter().flat_map(|folder| strangers(folder)).for_each(|words| console.warn(&words));
    prompts_in(&folders)
}

fn prompts_in(folders: &[PathBuf]) -> Result<Vec<PromptFile>, CommandFailure> {
    let mut found = Vec::new();
    for role in Role::ALL {
        let mut files = folders.iter().map(|folder| folder.join(format!("{}.md", role.word())));
        if let Some(path) = files.find(|file| file.is_file()) {
            found.push(PromptFile { role, text: read(&path, "prompt")?, path });
        }
    }
    Ok(found)
}

/// Remarks about files of a prompt folder that belong to no role.
fn strangers(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_strange(name)).collect();
    names.sort();
    names
        .iter()
        .map(|name| format!("`{}` is not used: {}", folder.join(name).display(), advice(name)))
        .collect()
}

fn is_strange(name: &str) -> bool {
    let stem = name.strip_suffix(".md");
    stem.is_some_and(|stem| stem != "README" && Role::ALL.iter().all(|role| role.word() != stem))
}

fn advice(name: &str) -> String {
    let stem = name.trim_end_matches(".md");
    let words = Role::ALL.map(|role| role.word());
    let begins = |word: &&&str| stem.starts_with(**word) || word.starts_with(stem);
    let near = nearest(stem, words).or_else(|| words.iter().find(begins).copied());
    let near = near.map(|near| format!("did you mean `{near}.md`? ")).unwrap_or_default();
    format!("{near}the roles are {}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_prompt_stands_over_the_users() {
        let home = tempfile::tempdir().unwrap();
        let folder = |name: &str| home.path().join(name);
        for (name, file, text) in
            [("project", "plan.md", "ours"), ("user", "plan.md", "mine"), ("user", "finalise.md", "end")]
        {
            std::fs::create_dir_all(folder(name)).unwrap();
            std::fs::write(folder(name).join(file), text).unwrap();
        }
        let found = prompts_in(&[folder("project"), folder("user")]).unwrap();
        let found: Vec<_> = found.iter().map(|prompt| (prompt.role, prompt.text.as_str())).collect();
        assert_eq!(found, [(Role::Plan, "ours"), (Role::Finalise, "end")]);
    }

    #[test]
    fn a_prompt_of_nobody_is_told_with_the_name_that_was_meant() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["plan.md", "planner.md", "finalize.md", "README.md", "notes.txt"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let told = strangers(folder.path());
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("finalize.md` is not used: did you mean `finalise.md`?"), "{told:?}");
        assert!(told[1].contains("planner.md` is not used: did you mean `plan.md`?"), "{told:?}");
    }

    #[test]
    fn words_are_told_from_names_of_files() {
        for name in ["notes.md", "a/b", "./x", "data.json"] {
            assert!(looks_like_a_file(name), "{name}");
        }
        for words in
            ["be brief.", "euros", "see notes.md", "version 1.2", "1.2", "https://a.example/b.md", "x.y "]
        {
            assert!(!looks_like_a_file(words), "{words}");
        }
    }
}
