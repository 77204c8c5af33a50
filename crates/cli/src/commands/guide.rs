//! `convoke guide`: a person's words to a goal that is being worked on.

use crate::args::GuideArgs;
use crate::changes;
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored::{self, Stored};
use convoke_engine::MOST_GUIDANCE;
use convoke_failpoint::failpoint;
use convoke_journal::{Inbox, InboxMessage, Message, RunMeta, StateDir, live_owner};
use convoke_model::{Event, RunId, RunStatus};
use convoke_plan::{Kind, Plan};

/// Leaves the words in the run's inbox, while a model can still make use of them.
pub fn run(console: &Console, args: &GuideArgs) -> Result<Exit, CommandFailure> {
    let words = args.words.join(" ");
    let state = stored::for_writing(console)?;
    let stored = Stored::open(&state, &args.run)?;
    let run = stored.run.clone();
    say(&state, &stored, words, stored::actor("convoke guide"))?;
    match live_owner(&state, &run)? {
        Some(holder) => console.conclude(&format!("said to run {run}, which {holder} drives")),
        None => rests(console, &stored, &run),
    }
    Ok(Exit::Success)
}

/// Leaves words in the inbox of a run that can still make use of them.
pub(crate) fn say(
    state: &StateDir,
    stored: &Stored,
    words: String,
    by: String,
) -> Result<(), CommandFailure> {
    if words.trim().is_empty() {
        return Err(CommandFailure::new(Exit::Usage, "there is nothing to say"));
    }
    let run = &stored.run;
    let plan = changes::stored_plan(state, run, &meta(stored)?, || Ok(stored.events.clone()))?;
    can_be_guided(stored, &plan)?;
    fits(stored, &Inbox::waiting(state, run)?, &words)?;
    failpoint!("guide.before_send");
    Inbox::send(state, run, clock::now(), &Message::Guide { text: words, by })?;
    failpoint!("guide.sent");
    crate::cluster::pass_on(state, run)?;
    Ok(())
}

fn meta(stored: &Stored) -> Result<RunMeta, CommandFailure> {
    Ok(stored.reader.meta()?)
}

fn can_be_guided(stored: &Stored, plan: &Plan) -> Result<(), CommandFailure> {
    let run = &stored.run;
    let has_goal = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    if !has_goal.into_iter().any(|node| matches!(node.kind, Kind::Goal(_))) {
        return Err(CommandFailure::new(
            Exit::Usage,
            format!("run `{run}` has no goal that could be guided"),
        )
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
    let (before, now) = (said.chain(unheard).sum::<usize>(), words.chars().count());
    if before + now <= MOST_GUIDANCE {
        return Ok(());
    }
    let message = match before {
        0 => format!("this is too long: {now} characters, and at most {MOST_GUIDANCE} are heard"),
        _ => format!(
            "this is too long: {now} characters after {before} that were said, and at most {MOST_GUIDANCE} are heard in a run"
        ),
    };
    Err(CommandFailure::new(Exit::Usage, message)
        .hint("say it in fewer words; what is long belongs into --context"))
}

/// No process drives the run: the words wait for one that does.
fn rests(console: &Console, stored: &Stored, run: &RunId) {
    match stored.waiting().first() {
        Some(gate) => console.conclude(&format!("said to run {run}, which waits for an answer to `{gate}`")),
        None => console.conclude(&format!("said to run {run}, which no process drives")),
    }
    console.hint(&format!("it is heard when the run goes on: convoke resume {run}"));
}
