//! `resume --retry TASK`: tasks that are done again, and what they did to the world that would happen again.
//!
//! Refused before anything is written: what cannot be tried again, and effects that no person has allowed to be repeated.

use crate::commands::permit;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_engine::effects::{Effect, EffectState};
use convoke_engine::{Changes, EngineError, done, repeated, replay};
use convoke_journal::{Journal, Sqlite};
use convoke_model::{Event, RunId, Stamped, TaskId};
use convoke_plan::Plan;
use convoke_schedule::{NotRetried, Scheduler, replayable};
use std::collections::HashSet;
use std::sync::Arc;

/// What is done again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Again<'a> {
    /// These tasks.
    pub tasks: &'a [String],
    /// What they did to the world may happen again.
    pub repeat_effects: bool,
}

/// What the engine is told, where a task is to be done again.
pub fn of(
    journal: &Sqlite,
    run: &RunId,
    plan: &Plan,
    again: &Again<'_>,
) -> Result<Option<Changes>, CommandFailure> {
    if again.tasks.is_empty() {
        return Ok(None);
    }
    let (plan, history) = (Arc::new(plan.clone()), journal.read_all()?);
    let changes = Changes::Retry(again.tasks.iter().map(|task| TaskId(task.as_str().into())).collect());
    let blob = |digest: &convoke_model::Digest| journal.blob(digest).ok().flatten();
    let opened = replay(&plan, history.clone(), &changes, &blob);
    let (_, opening) = opened.map_err(|error| refusal(run, &history, error))?;
    let found = effects(&plan, &history, &opening);
    let why = format!("run `{run}` did this already, and it would be done again");
    permit(&found, &why, "without --retry nothing that is finished is done again", again.repeat_effects)?;
    Ok(Some(changes))
}

/// What tasks that begin anew did to the world.
fn effects(plan: &Arc<Plan>, history: &[Stamped], opening: &[Event]) -> Vec<Effect> {
    let mut scheduler = Scheduler::new(plan.clone());
    for stamped in replayable(history.to_vec()) {
        // Behind a change of the plan tasks may not be known: what is known is listed.
        if scheduler.apply(&stamped).is_err() {
            break;
        }
    }
    let anew: HashSet<&TaskId> = opening
        .iter()
        .flat_map(|event| match event {
            Event::RunReopened(reopened) => reopened.restarted.as_slice(),
            _ => &[],
        })
        .collect();
    let begins_anew = |task: &TaskId| {
        std::iter::successors(Some(task.clone()), TaskId::parent).any(|task| anew.contains(&task))
    };
    let mut found = repeated(&scheduler, history, &done(history, opening));
    // What is known to have failed is tried again by every resume, without a question.
    found.retain(|effect| begins_anew(&effect.task) && effect.state != EffectState::Failed);
    // A task that was done again before has had each effect twice, and would repeat it once.
    let mut listed = HashSet::new();
    found.retain(|effect| listed.insert((effect.task.clone(), effect.what.clone())));
    found
}

fn refusal(run: &RunId, history: &[Stamped], error: EngineError) -> CommandFailure {
    let EngineError::NotRetried(why) = error else { return error.into() };
    let failure = CommandFailure::new(Exit::Refused, format!("run `{run}`: {why}"));
    match &why {
        NotRetried::Unknown(task) => {
            let names = history.iter().filter_map(|stamped| convoke_schedule::task_of(&stamped.event));
            match convoke_model::nearest(&task.0, names.map(|task| &*task.0)) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint(format!("convoke show {run} lists its tasks")),
            }
        }
        NotRetried::NotEnded(_) => failure.hint(format!("convoke resume {run}")),
        NotRetried::Child(_, above) => failure.hint(format!("--retry {above} does all of it again")),
        NotRetried::Others(_) => failure.hint(format!(
            "name them too: --retry may be repeated; `convoke resume {run}` tries all that failed again"
        )),
        NotRetried::Run(_) => {
            failure.hint(format!("convoke fork {run} --at TASK begins a new run before it"))
        }
    }
}
