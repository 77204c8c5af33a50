//! `convoke guide`: a person's words to a goal that is being worked on, or to the agent of one task.

use crate::args::GuideArgs;
use crate::changes;
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored::{self, Stored};
use convoke_engine::MOST_GUIDANCE;
use convoke_failpoint::failpoint;
use convoke_journal::{Inbox, InboxMessage, Message, StateDir, live_owner};
use convoke_model::{Event, RunId, RunStatus, Stamped, TaskId};
use convoke_plan::{Kind, Plan};
use convoke_schedule::{NotGuided, Scheduler, replayable, task_of};
use std::sync::Arc;

/// Leaves the words in the run's inbox, while a model can still make use of them.
pub fn run(console: &Console, args: &GuideArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let stored = Stored::open(&state, &args.run)?;
    let run = stored.run.clone();
    let (task, words) = addressed(&stored, args);
    if task.is_some() && crate::cluster::is_entered() {
        return Err(alone_on_a_cluster());
    }
    let by = stored::actor("convoke guide");
    match &task {
        None => say(&state, &stored, words, by)?,
        Some(task) => say_to_task(&state, &stored, task, words, by)?,
    }
    let said = match &task {
        None => format!("said to run {run}"),
        Some(task) => format!("said to `{task}` of run {run}"),
    };
    match live_owner(&state, &run)? {
        Some(holder) => console.conclude(&format!("{said}, which {holder} drives")),
        None => rests(console, &stored, &said),
    }
    Ok(Exit::Success)
}

fn alone_on_a_cluster() -> CommandFailure {
    let message = "the agent of one task cannot be guided on a cluster yet";
    CommandFailure::new(Exit::Usage, message).hint("without the task, the words are for the goals of the run")
}

/// Whom the words are for. One argument before one text is the task, where the run has a task of this name.
fn addressed(stored: &Stored, args: &GuideArgs) -> (Option<TaskId>, String) {
    let id = |name: &str| TaskId(name.into());
    match (&args.task, args.words.as_slice()) {
        (Some(task), words) => (Some(id(task)), words.join(" ")),
        (None, [first, text]) if is_task(stored, first) => (Some(id(first)), text.clone()),
        (None, words) => (None, words.join(" ")),
    }
}

fn is_task(stored: &Stored, name: &str) -> bool {
    let about = stored.events.iter().filter_map(|stamped| task_of(&stamped.event));
    about.into_iter().any(|task| *task.0 == *name)
}

/// Leaves words in the inbox of a run for the agent of one task, whose next turn has them.
pub(crate) fn say_to_task(
    state: &StateDir,
    stored: &Stored,
    task: &TaskId,
    words: String,
    by: String,
) -> Result<(), CommandFailure> {
    let (run, plan) = (&stored.run, plan_to_speak_to(state, stored, &words)?);
    let scheduler = folded(plan, &stored.events);
    let told = scheduler.guidable(task).map(|task| scheduler.told(task).1);
    let before = told.map_err(|why| not_heard(&scheduler, task, &why))?;
    let unheard = Inbox::waiting(state, run)?.into_iter().filter_map(|message| match message.body {
        Message::GuideTask { task: of, text, .. } if of == *task => Some(text.chars().count()),
        _ => None,
    });
    has_room(before + unheard.sum::<usize>(), &words, "by a task")?;
    leave(state, run, &Message::GuideTask { task: task.clone(), text: words, by })
}

/// Leaves a message in the run's inbox.
fn leave(state: &StateDir, run: &RunId, message: &Message) -> Result<(), CommandFailure> {
    failpoint!("guide.before_send");
    Inbox::send(state, run, clock::now(), message)?;
    failpoint!("guide.sent");
    Ok(())
}

/// The run as it stands by its journal. Behind a change of the plan tasks may not be known: what is known can be spoken to.
fn folded(plan: Plan, events: &[Stamped]) -> Scheduler {
    let mut scheduler = Scheduler::new(Arc::new(plan));
    for stamped in replayable(events.to_vec()) {
        if scheduler.apply(&stamped).is_err() {
            break;
        }
    }
    scheduler
}

fn not_heard(scheduler: &Scheduler, task: &TaskId, why: &NotGuided) -> CommandFailure {
    let failure = CommandFailure::new(Exit::Usage, why.to_string());
    let names = scheduler.tasks().map(|task| &*scheduler.id(task).0);
    match (why, convoke_model::nearest(&task.0, names)) {
        (NotGuided::Unknown(_), Some(near)) => failure.hint(format!("did you mean `{near}`?")),
        (NotGuided::Ended(..), _) => {
            failure.hint("`convoke resume RUN --retry TASK` begins a task anew, without what was said to it")
        }
        _ => failure.hint("`convoke show RUN` lists the tasks; agents can be spoken to"),
    }
}

/// Leaves words in the inbox of a run that can still make use of them.
pub(crate) fn say(
    state: &StateDir,
    stored: &Stored,
    words: String,
    by: String,
) -> Result<(), CommandFailure> {
    let (run, plan) = (&stored.run, plan_to_speak_to(state, stored, &words)?);
    can_be_guided(stored, &plan)?;
    fits(stored, &Inbox::waiting(state, run)?, &words)?;
    leave(state, run, &Message::Guide { text: words, by })?;
    crate::cluster::pass_on(state, run)?;
    Ok(())
}

/// The plan of a run to which there is something to say.
fn plan_to_speak_to(state: &StateDir, stored: &Stored, words: &str) -> Result<Plan, CommandFailure> {
    if words.trim().is_empty() {
        return Err(CommandFailure::new(Exit::Usage, "there is nothing to say"));
    }
    changes::stored_plan(state, &stored.run, &stored.reader.meta()?, || Ok(stored.events.clone()))
}

fn can_be_guided(stored: &Stored, plan: &Plan) -> Result<(), CommandFailure> {
    let run = &stored.run;
    let has_goal = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    if !has_goal.into_iter().any(|node| matches!(node.kind, Kind::Goal(_))) {
        return Err(CommandFailure::new(
            Exit::Usage,
            format!("run `{run}` has no goal that could be guided"),
        )
        .hint(format!("for the agent of one task: convoke guide {run} --task TASK WORDS"))
        .hint("`convoke answer` answers what a run asks"));
    }
    match convoke_engine::report::fold(&stored.events).status {
        // Whatever else it ended as, it can be resumed, and then it is heard.
        Some(RunStatus::Succeeded) => {
            let words = format!("run `{run}` has ended (succeeded) and takes no more guidance");
            Err(CommandFailure::new(Exit::Usage, words))
        }
        _ => Ok(()),
    }
}

/// Every role that is asked from then on reads all of it, so its length is bounded.
fn fits(stored: &Stored, waiting: &[InboxMessage], words: &str) -> Result<(), CommandFailure> {
    let said = stored.events.iter().filter_map(|stamped| match &stamped.event {
        Event::Guided { text, .. } => Some(text.chars().count()),
        _ => None,
    });
    let unheard = waiting.iter().filter_map(|message| match &message.body {
        Message::Guide { text, .. } => Some(text.chars().count()),
        _ => None,
    });
    has_room(said.chain(unheard).sum(), words, "in a run")
}

fn has_room(before: usize, words: &str, heard: &str) -> Result<(), CommandFailure> {
    let now = words.chars().count();
    if before + now <= MOST_GUIDANCE {
        return Ok(());
    }
    let message = match before {
        0 => format!("this is too long: {now} characters, and at most {MOST_GUIDANCE} are heard {heard}"),
        _ => format!(
            "this is too long: {now} characters after {before} that were said, and at most {MOST_GUIDANCE} are heard {heard}"
        ),
    };
    Err(CommandFailure::new(Exit::Usage, message)
        .hint("say it in fewer words; what is long belongs into --context"))
}

/// No process drives the run: the words wait for one that does.
fn rests(console: &Console, stored: &Stored, said: &str) {
    match stored.waiting().first() {
        Some(gate) => console.conclude(&format!("{said}, which waits for an answer to `{gate}`")),
        None => console.conclude(&format!("{said}, which no process drives")),
    }
    console.hint(&format!("it is heard when the run goes on: convoke resume {}", stored.run));
}
