//! `convoke policy`: what a policy says of commands and paths, before anything runs.

mod batch;
mod load;
mod world;

use crate::args::{Format, PolicyArgs, PolicyCheckArgs, PolicyCommand};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_policy::{Actor, Judgement, Opinion, Policy, Verdict, quote};
use std::path::Path;
use world::Disk;

/// Checks a command, or explains a policy.
pub fn run(console: &Console, args: &PolicyArgs) -> Result<Exit, CommandFailure> {
    match &args.command {
        PolicyCommand::Check(args) => match &args.batch {
            Some(file) => batch::run(console, args, file),
            None => check(console, args),
        },
        PolicyCommand::Explain(args) => {
            console.data(&load::policy(console, &args.policy)?.explain())?;
            Ok(Exit::Success)
        }
    }
}

fn check(console: &Console, args: &PolicyCheckArgs) -> Result<Exit, CommandFailure> {
    let policies = policies(console, args)?;
    let disk = Disk::at(args.root.as_deref())?;
    let text = match args.command.as_slice() {
        [line] => line.clone(),
        words => words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" "),
    };
    let judgement = judge(&policies, &text, args.cwd.as_deref(), &disk);
    match args.format {
        Format::Json => console.json(&judgement)?,
        Format::Text => console.data(&shown(&judgement))?,
    }
    Ok(exit(judgement.verdict))
}

/// The policies, asked about who is named.
fn policies(console: &Console, args: &PolicyCheckArgs) -> Result<Vec<Policy>, CommandFailure> {
    let actor = actor(args)?;
    args.policy.iter().map(|name| Ok(load::policy(console, name)?.for_actor(actor.clone()))).collect()
}

/// Who is asked about, for rules of Cedar.
fn actor(args: &PolicyCheckArgs) -> Result<Actor, CommandFailure> {
    let read = |file: &std::path::PathBuf| {
        let refuse = |why: String| {
            CommandFailure::new(Exit::Usage, format!("contract `{}` cannot be read: {why}", file.display()))
                .hint("name a file with a JSON object")
        };
        let text = std::fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))
    };
    let contract = args.contract.as_ref().map(read).transpose()?.unwrap_or_default();
    Ok(Actor {
        persona: args.persona.clone(),
        step: args.step.clone().unwrap_or_default(),
        contract,
        tool: None,
    })
}

/// The strictest verdict of several policies.
fn judge(policies: &[Policy], text: &str, cwd: Option<&Path>, disk: &Disk) -> Judgement {
    let cwd = disk.folder(cwd);
    let judgements = policies.iter().map(|policy| policy.judge(text, &cwd, disk));
    judgements.reduce(Judgement::strictest).unwrap_or_else(Judgement::allowed)
}

fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Allow => Exit::Success,
        Verdict::Ask => Exit::Waiting,
        Verdict::Deny => Exit::Refused,
    }
}

fn shown(judgement: &Judgement) -> String {
    let ends = if judgement.aborts { ", and the run ends" } else { "" };
    let mut text = format!("{}{ends}\n", judgement.verdict.word());
    for reason in &judgement.reasons {
        text.push_str(&format!("  - {}\n", reason.message));
    }
    for Opinion { by, action, resource, access, permitted, because } in &judgement.opinions {
        let word = if *permitted { "permits" } else { "does not permit" };
        let access = access.as_ref().map(|access| format!(" ({access})")).unwrap_or_default();
        text.push_str(&format!("  {by} {word} {action} on {resource}{access}: {}\n", because.join(", ")));
    }
    if let Some(plan) = &judgement.plan {
        text.push_str("plan:\n");
        for line in plan.without_env().to_string().lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}
