//! What the policies that hold say of a command or a path: the strictest counts.

use super::world::Beneath;
use crate::builtin::rulebook::Held;
use convoke_files::Root;
use convoke_policy::{Access, Judgement, Limits, PathPattern, Policy};

/// What was found about a command.
pub(super) struct Judged {
    pub judgement: Judgement,
    pub limits: Limits,
    /// The names of the policies.
    pub names: String,
}

/// Judges a command in the root's own folder; an error says why it cannot be judged.
pub(super) fn judge(root: &Root, held: &Held, command: &str) -> Result<Judged, String> {
    let mut policies = held.of_commands()?;
    let kept = kept(root)?;
    policies.iter_mut().for_each(|policy| policy.paths.protect.extend(kept.iter().cloned()));
    let world = Beneath(root);
    let judgements = policies.iter().map(|policy| policy.judge(command, root.path(), &world));
    let judgement = judgements.reduce(Judgement::strictest).expect("there is one");
    let limits = policies.iter().map(|policy| policy.limits).reduce(tighter).expect("there is one");
    let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
    Ok(Judged { judgement, limits, names: names.join(", ") })
}

/// Judges what a tool does with paths. Without a stated policy only the names that hold everywhere count, which the tools keep to.
pub(in crate::builtin) fn judge_paths<'p>(
    root: &Root,
    policies: &[Policy],
    tool: &str,
    paths: impl Iterator<Item = &'p str> + Clone,
    access: Access,
) -> Result<Judgement, String> {
    let world = Beneath(root);
    let mut judgement = Judgement::allowed();
    let kept = Some(kept(root)?).filter(|kept| !kept.is_empty() && access.changes()).map(Policy::keeping);
    for policy in policies.iter().chain(&kept) {
        judgement = judgement.strictest(policy.judge_tool(tool));
        for path in paths.clone() {
            judgement = judgement.strictest(policy.judge_path(&root.path().join(path), access, &world));
        }
    }
    Ok(judgement)
}

/// What the step keeps as it is, whatever its policies allow.
fn kept(root: &Root) -> Result<Vec<PathPattern>, String> {
    let read = |text: &String| PathPattern::parse(text).map_err(|why| format!("`protect: {text}`: {why}"));
    root.kept().iter().map(read).collect()
}

fn tighter(one: Limits, other: Limits) -> Limits {
    Limits { timeout: one.timeout.min(other.timeout), output: one.output.min(other.output), ..one }
}
