//! `convoke prune`: removes runs that have ended, by age, count, size and status.

use crate::args::{Format, PruneArgs};
use crate::clock;
use crate::console::Console;
use crate::escape;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use crate::view::format::{bytes, plural};
use convoke_journal::{Index, Prune, Pruned, Removed};
use convoke_model::RunStatus;
use serde_json::{Value, json};

/// So many runs stay if nothing else says which go.
const KEEP_LAST: usize = 50;

/// Removes them, or says which ones would go.
pub fn run(console: &Console, args: &PruneArgs) -> Result<Exit, CommandFailure> {
    let policy = policy(args)?;
    let state = stored::for_writing(console)?;
    let pruned = Index::open(&state)?.prune(&policy)?;
    match args.format {
        Format::Json => console.json(&record(&pruned, &policy))?,
        Format::Text => print(console, &pruned, args)?,
    }
    Ok(Exit::Success)
}

fn policy(args: &PruneArgs) -> Result<Prune, CommandFailure> {
    check_status(args)?;
    let usual = if args.older_than.is_some() || args.max_size.is_some() { 0 } else { KEEP_LAST };
    Ok(Prune {
        status: args.status.clone(),
        workflow: args.workflow.clone(),
        below: None,
        keep_last: args.keep_last.unwrap_or(usual),
        older_than: args.older_than.map(|age| clock::before(clock::now(), age)),
        max_bytes: args.max_size,
        unfinished: args.include_unfinished,
        dry_run: args.dry_run,
        within: None,
    })
}

/// A status that would remove nothing, or more than may have been meant, is refused.
fn check_status(args: &PruneArgs) -> Result<(), CommandFailure> {
    if args.status.contains(&RunStatus::Running) {
        let words = "a run that a process drives is never removed";
        return Err(CommandFailure::new(Exit::Usage, words)
            .hint("`convoke stop RUN` stops it; once it has ended it can be removed"));
    }
    let open = args.status.iter().find(|status| !status.is_end());
    match open {
        Some(status) if !args.include_unfinished => {
            let words = format!("a run that is {} has not ended: it can be resumed", status.word());
            Err(CommandFailure::new(Exit::Usage, words)
                .hint("to remove such runs all the same: --include-unfinished"))
        }
        _ => Ok(()),
    }
}

fn record(pruned: &Pruned, policy: &Prune) -> Value {
    json!({
        "dry_run": policy.dry_run,
        "removed": pruned.removed.iter().map(one).collect::<Vec<_>>(),
        "bytes": total(pruned),
        "left_bytes": pruned.left,
        "kept": {"forked_from": pruned.bases, "busy": pruned.busy, "unfinished": pruned.unfinished},
    })
}

fn one(removed: &Removed) -> Value {
    let Removed { row, bytes } = removed;
    json!({"id": row.id, "workflow": row.workflow, "status": row.status.word(), "bytes": bytes})
}

fn total(pruned: &Pruned) -> u64 {
    pruned.removed.iter().map(|removed| removed.bytes).sum()
}

fn print(console: &Console, pruned: &Pruned, args: &PruneArgs) -> Result<(), CommandFailure> {
    let line = |Removed { row, bytes: size }: &Removed| {
        format!("{} {} {} {}\n", row.id, escape::line(&row.workflow), row.status.word(), bytes(*size))
    };
    let lines: String = pruned.removed.iter().map(line).collect();
    if !lines.is_empty() {
        console.data(&lines)?;
    }
    console.conclude(&conclusion(pruned, args.dry_run));
    remarks(pruned).iter().for_each(|remark| console.say(remark));
    if let (Some(most), Some(left)) = (args.max_size, pruned.left)
        && left > most
    {
        console.warn(&format!("the runs that stay need {}, more than {}", bytes(left), bytes(most)));
    }
    Ok(())
}

/// `3 runs removed, 1.2 MB freed`.
pub fn conclusion(pruned: &Pruned, dry_run: bool) -> String {
    let (gone, freed) = match dry_run {
        true => ("would be removed", "to be freed"),
        false => ("removed", "freed"),
    };
    let runs = plural(pruned.removed.len() as u64, "run");
    match pruned.removed.is_empty() {
        true => format!("{runs} {gone}"),
        false => format!("{runs} {gone}, {} {freed}", bytes(total(pruned))),
    }
}

/// Why runs stay that fitted.
fn remarks(pruned: &Pruned) -> Vec<String> {
    let stay = |count: u64| if count == 1 { "stays" } else { "stay" };
    let mut remarks = Vec::new();
    if pruned.bases > 0 {
        let (count, stay) = (plural(pruned.bases, "run"), stay(pruned.bases));
        remarks.push(format!("{count} {stay}: other runs were forked from it, or took outputs of it"));
    }
    if pruned.unfinished > 0 && pruned.removed.is_empty() {
        let (count, stay) = (plural(pruned.unfinished, "run"), stay(pruned.unfinished));
        remarks.push(format!("{count} {stay} that can be resumed; --include-unfinished removes them too"));
    }
    if pruned.busy > 0 {
        let (count, stay) = (plural(pruned.busy, "run"), stay(pruned.busy));
        remarks.push(format!("{count} {stay}: a process works with it"));
    }
    remarks
}
