//! `convoke replay`: shows a past run in the live view, with its own timing or quicker.
//!
//! The view is a function of events and their times, so what is seen is what was seen. Nothing is written and no person is asked:
//! gates are shown with the answers that they got. Time in which no process drove the run passes at once.

use crate::args::ReplayArgs;
use crate::changes::stored_plan;
use crate::console::Console;
use crate::driving::{self, Signals};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::json_log;
use crate::stored::{self, Stored};
use crate::view::format;
use crate::watch::{Pace, Update, Watch};
use convoke_model::{Event, Stamped, Timestamp};
use convoke_view::Outline;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// The longest pause between two events on the screen.
const LONGEST: Duration = Duration::from_secs(3);
/// Events closer than this on the screen are shown together.
const SHORTEST: Duration = Duration::from_millis(20);

/// Shows the run.
pub fn run(console: &Console, args: &ReplayArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_reading(console);
    let stored = Stored::open(&state, &args.run)?;
    let meta = stored.reader.meta()?;
    let plan = stored_plan(&state, &stored.run, &meta, || Ok(stored.events.clone()))?;
    let first = args.from.as_deref().map_or(Ok(1), |from| place(&stored, from, Edge::First))?;
    let last = args.to.as_deref().map_or(Ok(u64::MAX), |to| place(&stored, to, Edge::Last))?;
    if first > last {
        let words = format!("--from is event {first}, which comes after --to, event {last}");
        return Err(CommandFailure::new(Exit::Usage, words));
    }
    let begun = stored.events.partition_point(|stamped| stamped.seq < first);
    let ended = stored.events.partition_point(|stamped| stamped.seq <= last);
    let (before, shown) = (stored.events[..begun].to_vec(), stored.events[begun..ended].to_vec());
    let since = stored.events.first().map(|first| first.at).unwrap_or_default();
    let watch = Watch {
        voice: console.voice,
        paint: console.paint,
        outline: Outline::of(&plan),
        history: Some(Box::new(move || before)),
        texts: driving::texts(&state, &stored.run),
        asker: None,
        guide: None,
        log: json_log::is_on().then(|| stored.run.clone()),
        pace: Pace::Replayed { speed: args.speed, since },
    };
    let steps = steps(&shown, args.speed);
    let is_capped = steps.iter().any(|step| step.is_capped);
    let count = shown.len() as u64;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandFailure::new(Exit::Failed, format!("cannot start: {error}")))?;
    if let Some(exit) = runtime.block_on(show(watch, steps))? {
        return Ok(exit);
    }
    console.conclude(&format!("showed {} of run {}", format::plural(count, "event"), stored.run));
    if is_capped {
        console.say(&format!("pauses of more than {} were shortened to that", format::duration(LONGEST)));
    }
    Ok(Exit::Success)
}

/// Events that are shown together, after a pause.
struct Step {
    pause: Duration,
    is_capped: bool,
    events: Vec<Stamped>,
}

/// The events with the pauses between them; the speed 0 has none.
fn steps(events: &[Stamped], speed: f64) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut last: Option<Timestamp> = None;
    let mut owed = Duration::ZERO;
    for stamped in events {
        let gap = last.map(|last| stamped.at.since(last)).filter(|_| !begins_an_owner(&stamped.event));
        let gap = gap.filter(|_| speed > 0.0).map(|gap| gap.div_f64(speed)).unwrap_or_default();
        last = Some(stamped.at);
        owed += gap.min(LONGEST);
        let is_capped = gap > LONGEST;
        match steps.last_mut() {
            Some(step) if owed < SHORTEST => step.events.push(stamped.clone()),
            _ => {
                let pause = std::mem::take(&mut owed);
                steps.push(Step { pause, is_capped, events: vec![stamped.clone()] });
            }
        }
    }
    steps
}

/// What comes first from a process that takes a run over: before it none drove the run.
fn begins_an_owner(event: &Event) -> bool {
    matches!(event, Event::RunOwned { .. } | Event::RunReopened(_) | Event::PlanChanged(_))
}

async fn show(watch: Watch, steps: Vec<Step>) -> Result<Option<Exit>, CommandFailure> {
    let mut signals =
        Signals::listen().map_err(|error| CommandFailure::new(Exit::Failed, error.to_string()))?;
    // No limit: everything that is sent is in memory already.
    let (updates, receiver) = channel();
    let watcher = watch.start(receiver);
    let mut left = None;
    for step in steps {
        tokio::select! {
            biased;
            signal = signals.next() => {
                left = Some(signal.exit());
                break;
            }
            () = tokio::time::sleep(step.pause) => pass_on(&updates, step.events),
        }
    }
    drop(updates);
    watcher.thread().unpark();
    watcher.join().map_err(|_| CommandFailure::new(Exit::Failed, "the view of the run failed"))?;
    Ok(left)
}

fn pass_on(updates: &Sender<Update>, events: Vec<Stamped>) {
    // The watcher ends only after us.
    updates.send(Update::Events(events.into())).ok();
}

/// Which event of a task is meant.
enum Edge {
    First,
    Last,
}

/// The number of an event, given as a number or by a task.
fn place(stored: &Stored, text: &str, edge: Edge) -> Result<u64, CommandFailure> {
    if let Ok(seq) = text.parse() {
        return Ok(seq);
    }
    let about = |stamped: &&Stamped| {
        let event = serde_json::to_value(&stamped.event).expect("events are JSON");
        let fields = event.as_object().and_then(|event| event.values().next());
        fields.is_some_and(|fields| fields["task"] == text || fields["from"] == text)
    };
    let found = match edge {
        Edge::First => stored.events.iter().find(about),
        Edge::Last => stored.events.iter().rev().find(about),
    };
    found.map(|stamped| stamped.seq).ok_or_else(|| {
        let words = format!("run `{}` has no event and no task `{text}`", stored.run);
        CommandFailure::new(Exit::Usage, words).hint(format!("convoke show {} lists its tasks", stored.run))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64, event: Event) -> Stamped {
        Stamped { seq: second + 1, at: Timestamp(second * 1_000_000), event }
    }

    fn woken() -> Event {
        Event::TaskWoken { task: convoke_model::TaskId("a".into()) }
    }

    #[test]
    fn pauses_are_the_runs_own_divided_and_absences_are_none() {
        let owned = Event::RunOwned { epoch: 2, pid: 1, host: "h".into(), uptime: None };
        let events =
            [at(0, woken()), at(2, woken()), at(3_600, owned), at(3_601, woken()), at(3_700, woken())];
        let told: Vec<_> =
            steps(&events, 2.0).iter().map(|step| (step.pause.as_millis(), step.is_capped)).collect();
        assert_eq!(told, [(0, false), (1_000, false), (500, false), (3_000, true)]);
        assert_eq!(steps(&events, 0.0).len(), 1, "as quickly as possible is all at once");
    }
}
