//! `convoke policy`: what a policy says of commands and paths, before anything runs.

mod batch;
mod load;
mod world;

use crate::args::{Format, PolicyArgs, PolicyCheckArgs, PolicyCommand};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_policy::{Judgement, Policy, Verdict, quote};
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
    let policies =
        args.policy.iter().map(|name| load::policy(console, name)).collect::<Result<Vec<_>, _>>()?;
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
    let mut text = format!("{}\n", judgement.verdict.word());
    for reason in &judgement.reasons {
        text.push_str(&format!("  - {}\n", reason.message));
    }
    if let Some(plan) = &judgement.plan {
        text.push_str("plan:\n");
        for line in plan.without_env().to_string().lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}
