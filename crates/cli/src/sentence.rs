//! From a sentence on the command line to a workflow of one goal: flags over the configuration, prompts from folders.

use crate::args::{GoalArgs, Spending};
use crate::config::{Approval, GoalSettings};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate;
use convoke_model::Duty;
use convoke_plan::generate::goal::Sentence;
use etcetera::BaseStrategy;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The name under which the workflow of a goal is known.
pub const FILE: &str = "goal:";

/// What is known about a goal before it runs.
pub fn of(args: &GoalArgs, settings: &GoalSettings) -> Result<Sentence, CommandFailure> {
    if args.goal.trim().is_empty() {
        return Err(CommandFailure::new(Exit::Usage, "the goal is empty").hint("say what is to be reached"));
    }
    let mut sentence = Sentence {
        goal: args.goal.clone(),
        context: args.context.as_deref().map(context).transpose()?,
        plan: args.plan.as_deref().map(|file| read(file, "plan")).transpose()?,
        keys: settings.keys.clone(),
        prompts: prompts(&folders())?,
        model: args.model.clone().or_else(|| settings.model.clone()),
        servers: settings.servers.clone(),
        limits: settings.limits.clone(),
    };
    state_bounds(&mut sentence, args);
    state_tools(&mut sentence, args)?;
    if let Some(spending) = args.budget {
        state_budget(&mut sentence, spending);
    }
    for (key, holds) in [("plan_only", args.plan_only), ("approve", approves(args, settings))] {
        if holds {
            sentence.keys.insert(key.to_owned(), json!(true));
        }
    }
    Ok(sentence)
}

fn state_bounds(sentence: &mut Sentence, args: &GoalArgs) {
    let bounds = [
        ("max_depth", args.max_depth),
        ("max_children", args.max_children),
        ("max_tasks", args.max_tasks),
        ("max_rounds", args.max_rounds),
        ("max_recoveries", args.max_recoveries),
    ];
    for (key, bound) in bounds {
        if let Some(bound) = bound {
            sentence.keys.insert(key.to_owned(), json!(bound));
        }
    }
}

/// The flag narrows what the configuration offers; it cannot add anything.
fn state_tools(sentence: &mut Sentence, args: &GoalArgs) -> Result<(), CommandFailure> {
    match args.tools.as_slice() {
        [] => {}
        [word] if word == "none" => sentence.servers.clear(),
        names => {
            let offered = sentence.keys.get("tools").and_then(Value::as_array).cloned();
            let is_offered = |name: &str| {
                offered
                    .as_ref()
                    .is_none_or(|all| all.iter().filter_map(Value::as_str).any(|one| fits(one, name)))
            };
            if let Some(name) = names.iter().find(|name| !is_offered(name)) {
                let message =
                    format!("--tools: `{name}` is not among the tools of the configuration (goal.tools)");
                return Err(
                    CommandFailure::new(Exit::Usage, message).hint("add it to goal.tools in convoke.toml")
                );
            }
            sentence.keys.insert("tools".to_owned(), json!(names));
        }
    }
    if sentence.servers.is_empty() {
        sentence.keys.remove("tools");
    }
    Ok(())
}

/// Whether a name lies within an entry of the configuration: `count`, `scripts__count`, `scripts__*`.
fn fits(entry: &str, name: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == entry || name.ends_with(&format!("__{entry}")),
    }
}

fn state_budget(sentence: &mut Sentence, spending: Spending) {
    let (key, amount): (_, Value) = match spending {
        Spending::Dollars(usd) => ("budget_usd", json!(usd)),
        Spending::Tokens(count) => ("budget_tokens", json!(count)),
    };
    sentence.limits.insert(key.to_owned(), amount);
    sentence.limits.insert("budget_mode".to_owned(), json!("enforce"));
}

/// Whether a person approves the plan. One that was given is approved already.
fn approves(args: &GoalArgs, settings: &GoalSettings) -> bool {
    if args.plan_only || args.yes {
        return false;
    }
    let by_itself = args.plan.is_none()
        && match settings.approve {
            Approval::Always => true,
            Approval::Never => false,
            Approval::Terminal => gate::is_attended() && !args.flags.no_interactive && !args.flags.skip_gates,
        };
    args.approve_plan || by_itself
}

/// A file, where there is one of that name, else the words themselves.
fn context(given: &str) -> Result<String, CommandFailure> {
    let file = given.strip_prefix('@').map(Path::new);
    match file.or_else(|| Some(Path::new(given)).filter(|path| path.is_file())) {
        Some(file) => read(file, "context"),
        None => Ok(given.to_owned()),
    }
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

/// The prompts that somebody has put into words of their own; the first folder that has one counts.
fn prompts(folders: &[PathBuf]) -> Result<Vec<(Duty, String)>, CommandFailure> {
    let mut found = Vec::new();
    for duty in Duty::ALL {
        let mut files = folders.iter().map(|folder| folder.join(format!("{}.md", duty.word())));
        if let Some(file) = files.find(|file| file.is_file()) {
            found.push((duty, read(&file, "prompt")?));
        }
    }
    Ok(found)
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
        let found = prompts(&[folder("project"), folder("user")]).unwrap();
        assert_eq!(found, [(Duty::Plan, "ours".to_owned()), (Duty::Finalise, "end".to_owned())]);
    }
}
