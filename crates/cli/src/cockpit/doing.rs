//! Hands in what a person decides: each action is the one of a command, on a thread of its own, and its words come back.

use super::Happened;
use crate::caller;
use crate::commands::answer::{self, NotTaken};
use crate::gate;
use crate::stored;
use convoke_cockpit::{Effect, Given, Input};
use convoke_journal::StateDir;
use convoke_model::{AnswerOrigin, Digest, RunId, TaskId};
use convoke_server::{Host, Launch, Refusal, StartOptions};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Does what the model asks for.
pub(super) struct Doer {
    pub state: StateDir,
    pub host: Arc<dyn Host>,
    pub sender: Sender<Happened>,
}

impl Doer {
    /// Does one thing; what became of it is an input. The terminal waits for nothing of it.
    pub fn perform(&self, effect: Effect) {
        let (state, host, sender) = (self.state.clone(), self.host.clone(), self.sender.clone());
        let work = move || {
            let done = act(&state, &*host, effect);
            sender.send(Happened::Input(done)).ok();
        };
        if let Err(error) = std::thread::Builder::new().name("doing".to_owned()).spawn(work) {
            let failed = Input::Done(Err(format!("nothing was done: {error}")));
            self.sender.send(Happened::Input(failed)).ok();
        }
    }
}

fn act(state: &StateDir, host: &dyn Host, effect: Effect) -> Input {
    // The model has refused before; what a step of a run types decides nothing all the same.
    if caller::is_inside() {
        return Input::Done(Err("a step of a run does not decide for people".to_owned()));
    }
    let by = stored::actor("convoke top");
    let done = match effect {
        Effect::Answer { run, question, shown, given } => answer(state, &run, &question, &shown, &given),
        Effect::Stop { run, now } => host.stop(&run, now, &by).map_err(words),
        Effect::Resume(run) => {
            let launch = Launch::Resume { run, options: StartOptions::default() };
            host.launch(&launch).map(|run| format!("run {run} goes on")).map_err(words)
        }
        Effect::Guide { run, task, text } => {
            let to = task.as_ref().map_or_else(|| format!("run {run}"), |task| format!("`{task}`"));
            host.guide(&run, task.as_ref(), &text, &by).map(|()| format!("said to {to}")).map_err(words)
        }
        Effect::Retry { run, task, repeat_effects } => return retry(host, run, task, repeat_effects),
        Effect::Look(_) | Effect::Quit => return Input::Done(Ok(String::new())),
    };
    Input::Done(done)
}

fn answer(
    state: &StateDir,
    run: &RunId,
    question: &str,
    shown: &str,
    given: &Given,
) -> Result<String, String> {
    let shown = Digest::parse(shown).ok_or_else(|| "the question has no hash".to_owned())?;
    let given = gate::Given {
        values: given.values.clone(),
        inputs: given.inputs.clone(),
        skip_rest: given.skip_rest,
        abort: false,
    };
    let user = stored::user();
    let taken = answer::hand_in(state, run, question, shown, &given, (&user, AnswerOrigin::Command));
    let rests = || match convoke_journal::live_owner(state, run) {
        Ok(None) => "; no process drives the run: the key r resumes it",
        _ => "",
    };
    taken.map(|()| format!("answered `{question}`{}", rests())).map_err(|why| match why {
        NotTaken::Refused(refused) => refused.words(run, question),
        NotTaken::Failed(failure) => failure.message,
    })
}

/// What would be repeated is shown before it is; the words are those of the command.
fn retry(host: &dyn Host, run: RunId, task: TaskId, repeat_effects: bool) -> Input {
    let launch = Launch::Retry { run: run.clone(), task: task.clone(), repeat_effects };
    match host.launch(&launch) {
        Ok(_) => Input::Done(Ok(format!("`{task}` is done again"))),
        Err(refusal) if !repeat_effects && allows_repeating(&refusal) => {
            Input::WouldRepeat { run, task, effects: refusal.message }
        }
        Err(refusal) => Input::Done(Err(words(refusal))),
    }
}

/// Whether a word of a person is all that is missing.
fn allows_repeating(refusal: &Refusal) -> bool {
    refusal.hint.as_deref().is_some_and(|hint| hint.contains("--repeat-effects"))
}

fn words(refusal: Refusal) -> String {
    match refusal.hint {
        Some(hint) => format!("{} ({hint})", refusal.message),
        None => refusal.message,
    }
}
