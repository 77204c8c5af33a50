//! Checks conditions on work that is reported as done: files, commands, expressions.
//!
//! Files are opened beneath the folder of the work, by descriptor. Commands are judged and confined as those of agents are
//! (`builtin::Shell`) and cannot write protected files. `files` compares files with the baseline, `test_run` knows how a project is
//! tested. A finding has its evidence; a failure means that nothing could be checked.
//!
//! Invariant: a condition that could not be checked does not hold.

mod files;
mod test_run;

use crate::builtin::{Rulebook, Shell};
use convoke_agent::{Asker, Prover, Review};
use convoke_files::Root;
use convoke_model::{Class, Condition, Failure, JsonText, ProofCall, ProofFinding, StatedCondition, reason};
use files::{Snapshot, changes, snapshot};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// How long a command may take that checks something.
const TIME: u64 = 600;

/// Evaluates an expression over an output.
pub type Evaluator = Arc<dyn Fn(&str, &Value) -> Result<bool, String> + Send + Sync>;

/// Looks at the work of one run.
pub struct Inspector {
    /// The folder of the run, which folders of steps are relative to.
    folder: PathBuf,
    /// Places that no command sees: the engine's state.
    hidden: OnceLock<Vec<PathBuf>>,
    shell: Arc<dyn Shell>,
    rulebook: Rulebook,
    evaluate: Evaluator,
}

impl Inspector {
    /// Looks beneath a folder, runs commands by `shell`, and has expressions evaluated.
    pub fn new(folder: PathBuf, shell: Arc<dyn Shell>, evaluate: Evaluator) -> Inspector {
        Inspector { folder, hidden: OnceLock::new(), shell, rulebook: Rulebook::default(), evaluate }
    }

    /// Under policies that hold whatever a plan states.
    pub fn under(self, rulebook: Rulebook) -> Inspector {
        Inspector { rulebook, ..self }
    }

    /// Keeps these places out of sight. Only what is said first counts.
    pub fn hide(&self, places: impl IntoIterator<Item = PathBuf>) {
        let real = places.into_iter().map(|place| place.canonicalize().unwrap_or(place));
        let _ = self.hidden.set(real.collect());
    }

    fn root(&self, asker: Asker<'_>, proof: &ProofCall) -> Result<Root, Failure> {
        let folder = self.folder.join(asker.folder.unwrap_or_default());
        let root = Root::open(&folder).map_err(|refusal| {
            let message = format!("its work cannot be checked in `{}`: {refusal}", folder.display());
            Failure::new(Class::Fatal, message).reason(reason::UNPROVABLE)
        })?;
        Ok(root.hiding(self.hidden.get().cloned().unwrap_or_default()).keeping(proof.protect.clone()))
    }

    /// Why the commands of a proof could never be run here.
    fn forbidden(&self, asker: Asker<'_>, root: &Root, proof: &ProofCall) -> Option<Failure> {
        let stated = proof.conditions.iter().filter(|stated| stated.condition.runs_command());
        let mut stated = stated.peekable();
        stated.peek()?;
        if let Some(missing) = self.shell.missing() {
            let message = format!("its proof runs a command, and no command can be run here: {missing}");
            return Some(Failure::new(Class::Permission, message).reason(reason::UNPROVABLE));
        }
        let held = self.rulebook.held(&proof.policies, asker);
        stated.filter(|stated| !stated.by_model).find_map(|stated| {
            let command = command_of(&stated.condition, root)?;
            let (Review::Deny { reason } | Review::End { reason }) =
                self.shell.review(root, &held, &asked(&command))
            else {
                return None;
            };
            let message = format!("its proof runs `{command}`, which is denied: {reason}");
            let failure = Failure::new(Class::Permission, message).reason(reason::UNPROVABLE);
            Some(failure.hint("allow the command in the policy, or prove the work by another one"))
        })
    }

    async fn run(
        &self,
        asker: Asker<'_>,
        proof: &ProofCall,
        stated: &StatedCondition,
        cancel: &CancellationToken,
    ) -> Result<(bool, String), Failure> {
        let root = self.root(asker, proof)?;
        let Some(command) = command_of(&stated.condition, &root) else {
            return Ok((false, test_run::NONE_KNOWN.to_owned()));
        };
        let arguments = asked(&command);
        // What a model wants run is run where a person need not be asked; what a file says, the person has said.
        let held = self.rulebook.held(&proof.policies, asker);
        let review = self.shell.review(&root, &held, &arguments);
        if let (true, Review::Ask { reason, .. } | Review::Deny { reason } | Review::End { reason }) =
            (stated.by_model, review)
        {
            return Ok((false, format!("`{command}` is not run unasked: {reason}")));
        }
        let ran = self.shell.run(root, &held, &arguments, asker.trace, cancel.clone()).await?;
        let is_of_tests = matches!(stated.condition, Condition::TestsPass(_));
        if is_of_tests && !ran.failed && test_run::ran_none(&ran.text) {
            return Ok((false, format!("`{command}` ran no test\n{}", ran.text)));
        }
        let named = matches!(stated.condition, Condition::TestsPass(None));
        let evidence = if named { format!("{command}\n{}", ran.text) } else { ran.text };
        Ok((!ran.failed, evidence))
    }

    /// What is found about conditions that are about files.
    async fn compare(&self, asker: Asker<'_>, proof: &ProofCall) -> Result<Compared, Failure> {
        let (root, all) = (self.root(asker, proof)?, proof.all().collect::<Vec<_>>());
        let before = proof.baseline.as_ref().map(JsonText::value).unwrap_or_default();
        let looking = move || Compared::look(&root, &all, &before);
        blocking(looking).await
    }

    async fn found(
        &self,
        asker: Asker<'_>,
        proof: &ProofCall,
        output: &JsonText,
        cancel: CancellationToken,
    ) -> Result<Vec<ProofFinding>, Failure> {
        let mut compared = self.compare(asker, proof).await?;
        let mut ran = false;
        let mut findings = Vec::new();
        for (place, stated) in proof.all().enumerate() {
            let condition = stated.condition.clone();
            let (held, evidence) = match &condition {
                Condition::ToolCalled(_) => continue,
                Condition::Command(_) | Condition::TestsPass(_) => {
                    ran = true;
                    self.run(asker, proof, &stated, &cancel).await?
                }
                Condition::That(expression) => match (self.evaluate)(expression, &output.value()) {
                    Ok(holds) => {
                        (holds, if holds { String::new() } else { "it is not true of the output".to_owned() })
                    }
                    Err(why) => (false, why),
                },
                _ => compared.take(place),
            };
            findings.push(ProofFinding::new(condition, held, evidence));
        }
        // What a command changes while it checks was not there when the work was compared.
        if ran && !proof.protect.is_empty() {
            let (held, evidence) = self.compare(asker, proof).await?.take(0);
            if !held && findings[0].held {
                findings[0] = ProofFinding::new(findings[0].condition.clone(), false, evidence);
            }
        }
        Ok(findings)
    }
}

impl Prover for Inspector {
    fn begin<'a>(
        &'a self,
        asker: Asker<'a>,
        proof: &'a ProofCall,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<JsonText, Failure>> {
        Box::pin(async move {
            let root = self.root(asker, proof)?;
            if let Some(refused) = self.forbidden(asker, &root, proof) {
                return Err(refused);
            }
            let all: Vec<StatedCondition> = proof.all().collect();
            blocking(move || baseline(&root, &all)).await?.map_err(|why| {
                Failure::new(Class::Fatal, format!("its work cannot be proven: {why}"))
                    .reason(reason::UNPROVABLE)
            })
        })
    }

    fn check<'a>(
        &'a self,
        asker: Asker<'a>,
        proof: &'a ProofCall,
        output: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<ProofFinding>, Failure>> {
        Box::pin(self.found(asker, proof, output, cancel))
    }
}

/// Files may lie on slow disks; nothing else waits for them.
async fn blocking<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(look).await.map_err(|error| {
        Failure::new(Class::Fatal, format!("its work could not be looked at: {error}"))
            .reason(reason::UNPROVABLE)
    })
}

fn asked(command: &str) -> Value {
    json!({ "command": command, "timeout_seconds": TIME })
}

/// The command by which a condition is checked.
fn command_of(condition: &Condition, root: &Root) -> Option<String> {
    match condition {
        Condition::Command(command) | Condition::TestsPass(Some(command)) => Some(command.clone()),
        Condition::TestsPass(None) => test_run::command(root).map(str::to_owned),
        _ => None,
    }
}

/// What is there of all that will be compared, by condition.
fn baseline(root: &Root, all: &[StatedCondition]) -> Result<JsonText, String> {
    let mut seen = Map::new();
    for stated in all.iter().filter(|stated| stated.condition.needs_baseline()) {
        let found = snapshot(root, &stated.condition)?;
        seen.insert(stated.condition.to_string(), found.value());
    }
    Ok(JsonText::of(&Value::Object(seen)))
}

/// What is found about files, by the place of the condition.
struct Compared(Vec<Option<(bool, String)>>);

impl Compared {
    fn look(root: &Root, all: &[StatedCondition], before: &Value) -> Compared {
        let look = |stated: &StatedCondition| match &stated.condition {
            Condition::FileExists(path) => Some(files::exists(root, path)),
            condition if condition.needs_baseline() => {
                let before = before.get(condition.to_string()).and_then(Snapshot::read);
                Some(match (before, snapshot(root, condition)) {
                    (Some(before), Ok(now)) => changes(condition, &before, &now),
                    (None, _) => (false, "it is not known what was there before".to_owned()),
                    (_, Err(why)) => (false, why),
                })
            }
            _ => None,
        };
        Compared(all.iter().map(look).collect())
    }

    fn take(&mut self, place: usize) -> (bool, String) {
        let found = self.0.get_mut(place).and_then(Option::take);
        found.unwrap_or_else(|| (false, "it was not looked at".to_owned()))
    }
}
