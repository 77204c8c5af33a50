//! `convoke attach`: watches a run that another process drives, answers its gates, and ends as it ends.
//!
//! Everything is read from the journal and every answer goes through the inbox, so any number of people may be attached. Leaving
//! (Ctrl-C, Ctrl-D at a question, a closed terminal) leaves the run alone.

use crate::args::AttachArgs;
use crate::changes::stored_plan;
use crate::console::Console;
use crate::driving::{self, Signal, Signals};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate;
use crate::json_log;
use crate::stored;
use crate::watch::{Asker, Hearer, Manner, Pace, Update, Watch};
use convoke_journal::{Reader, Saying, StateDir, live_owner};
use convoke_model::{AnswerOrigin, RunId, Stamped};
use convoke_plan::Plan;
use convoke_view::{Outline, Said};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

/// How often the journal is looked at.
const PERIOD: Duration = Duration::from_millis(200);

/// Watches the run to its end, and prints what it came to.
pub fn run(console: &Console, args: &AttachArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let run = match &args.run {
        Some(name) => stored::find(&state, name)?,
        None => stored::last_here(&state)?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandFailure::new(Exit::Failed, format!("cannot start: {error}")))?;
    let asks = gate::is_attended().then_some(Manner::Terminal);
    let ended = runtime.block_on(Attached::to(console, &state, &run, asks)?.watch(&Leaves))?;
    if ended == Left::Ended(None) {
        let in_words = crate::stdio::out_is_terminal();
        return driving::conclude_stored(console, &state, &run, args.allow_partial, in_words);
    }
    console.conclude(&format!("left run {run}, which goes on"));
    console.hint(&format!("convoke attach {run}"));
    Ok(Exit::Interrupted)
}

/// Watches a run that goes on elsewhere in the name of this command, to its end; a signal is passed on to it. Answers with the first
/// signal.
#[cfg(feature = "cluster")]
pub async fn watch_ours(
    console: &Console,
    state: &StateDir,
    run: &RunId,
    asks: Option<Manner>,
    interrupt: &dyn Fn(bool, &str),
) -> Result<Option<Signal>, CommandFailure> {
    match Attached::to(console, state, run, asks)?.watch(&PassesOn(interrupt)).await? {
        Left::Ended(first) => Ok(first),
        Left::ByPerson => Ok(None),
    }
}

/// How watching ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// The run has stopped, after this signal.
    Ended(Option<Signal>),
    /// The person left before.
    ByPerson,
}

/// What a signal means to the one that watches.
trait OnSignal {
    /// Whether watching goes on.
    fn goes_on(&self, signal: Signal, again: bool) -> bool;
}

/// The run is left alone.
struct Leaves;

impl OnSignal for Leaves {
    fn goes_on(&self, _signal: Signal, _again: bool) -> bool {
        false
    }
}

/// The run is told.
#[cfg(feature = "cluster")]
struct PassesOn<'a>(&'a dyn Fn(bool, &str));

#[cfg(feature = "cluster")]
impl OnSignal for PassesOn<'_> {
    fn goes_on(&self, signal: Signal, again: bool) -> bool {
        (self.0)(again, signal.words());
        true
    }
}

/// A run that is looked at.
struct Attached<'a> {
    console: &'a Console,
    state: &'a StateDir,
    run: &'a RunId,
    reader: Reader,
    plan: Arc<Plan>,
    /// The number of the event that comes next.
    next: u64,
    /// When what agents say was published last, as far as it was passed on.
    said_at: Option<SystemTime>,
    /// How gates are answered here, if they are.
    asks: Option<Manner>,
    /// The user wants to leave.
    leave: Arc<Notify>,
}

impl<'a> Attached<'a> {
    fn to(
        console: &'a Console,
        state: &'a StateDir,
        run: &'a RunId,
        asks: Option<Manner>,
    ) -> Result<Attached<'a>, CommandFailure> {
        let reader = Reader::open(state, run)?;
        let plan = Arc::new(stored_plan(state, run, &reader.meta()?, || reader.read_all())?);
        Ok(Attached {
            console,
            state,
            run,
            reader,
            plan,
            next: 1,
            asks,
            said_at: None,
            leave: Arc::new(Notify::new()),
        })
    }

    async fn watch(mut self, on_signal: &dyn OnSignal) -> Result<Left, CommandFailure> {
        let mut signals =
            Signals::listen().map_err(|error| CommandFailure::new(Exit::Failed, error.to_string()))?;
        let driven = self.is_driven()?;
        let before = self.updates()?;
        if !driven {
            return Ok(Left::Ended(None));
        }
        // No limit: a thread that waited for the watcher would hear no signal. This one sends one batch per period; a terminal that
        // accepts no output leaves at most the rest of the journal here.
        let (updates, receiver) = channel();
        let watcher = self.watcher(before).start(receiver);
        let leave = self.leave.clone();
        let mut first = None;
        let ended = loop {
            // Asked before reading: what a process wrote before it let go is still shown.
            let driven = self.is_driven()?;
            self.pass_on(&updates)?;
            if !driven {
                break Left::Ended(first);
            }
            tokio::select! {
                () = tokio::time::sleep(PERIOD) => {}
                () = leave.notified() => break Left::ByPerson,
                signal = signals.next() => {
                    let again = first.is_some();
                    if !on_signal.goes_on(signal, again) {
                        updates.send(Update::Leaving(String::new())).ok();
                        break Left::ByPerson;
                    }
                    first.get_or_insert(signal);
                    let words = if again { "stopping at once" } else { signal.advice() };
                    updates.send(Update::Leaving(words.to_owned())).ok();
                }
            }
        };
        drop(updates);
        watcher.thread().unpark();
        watcher.join().map_err(|_| CommandFailure::new(Exit::Failed, "the view of the run failed"))?;
        Ok(ended)
    }

    fn is_driven(&self) -> Result<bool, CommandFailure> {
        Ok(live_owner(self.state, self.run)?.is_some())
    }

    fn updates(&mut self) -> Result<Vec<Stamped>, CommandFailure> {
        let mut events = Vec::new();
        self.reader.read(self.next, &mut |stamped| events.push(stamped))?;
        self.next = events.last().map_or(self.next, |stamped| stamped.seq + 1);
        Ok(events)
    }

    fn pass_on(&mut self, updates: &Sender<Update>) -> Result<(), CommandFailure> {
        let events = self.updates()?;
        if !events.is_empty() {
            // The watcher ends only after us.
            updates.send(Update::Events(events.into())).ok();
        }
        updates.send(Update::Blocked(convoke_journal::blocked(self.state, self.run))).ok();
        self.pass_on_sayings(updates);
        Ok(())
    }

    /// What agents say at this moment, where the owner has published it anew: the whole of it, which takes the place of what was said.
    fn pass_on_sayings(&mut self, updates: &Sender<Update>) {
        let published = Saying::published(self.state, self.run);
        if published == self.said_at {
            return;
        }
        self.said_at = published;
        let all = if published.is_some() { Saying::read(self.state, self.run) } else { Vec::new() };
        let said = all.into_iter().map(|saying| Said {
            bytes: saying.dropped + saying.text.len() as u64,
            task: saying.task,
            text: saying.text,
            tools: saying.tools,
        });
        updates.send(Update::Said(said.collect())).ok();
    }

    fn watcher(&self, before: Vec<Stamped>) -> Watch {
        let asker = self.asks.map(|manner| Asker {
            manner,
            hearer: Box::new(Elsewhere { leave: self.leave.clone() }),
            bell: self.console.config.notify.bell,
            state: self.state.clone(),
            run: self.run.clone(),
            plan: self.plan.clone(),
            by: stored::user(),
            origin: match manner {
                Manner::Terminal => AnswerOrigin::Attach,
                Manner::FirstOption => AnswerOrigin::SkipGates,
            },
        });
        Watch {
            voice: self.console.voice,
            paint: self.console.paint,
            outline: Outline::of(&self.plan),
            history: Some(Box::new(move || before)),
            texts: driving::texts(self.state, self.run),
            asker,
            guide: None,
            log: json_log::is_on().then(|| self.run.clone()),
            pace: Pace::Live,
        }
    }
}

/// The person at a terminal that the run does not depend on.
struct Elsewhere {
    leave: Arc<Notify>,
}

impl Hearer for Elsewhere {
    /// The owner looks into its inbox by itself.
    fn answered(&self) {}

    fn leave(&self) -> &'static str {
        self.leave.notify_one();
        "the run goes on without this terminal"
    }
}
