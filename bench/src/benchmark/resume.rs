//! A run of 10 000 tasks that was killed when 90 % were done: how soon the next owner does something.
//!
//! The last tenth of the items waits for an hour, so the killed run is always the same; then the replies come at once.

use crate::child;
use crate::disk;
use crate::error::Error;
use crate::figure::Figure;
use crate::workflow;
use crate::workshop::Workshop;
use convoke_journal::{Reader, StateDir};
use convoke_model::{Event, RunId, Stamped};
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime};

pub const NAME: &str = "resume";

const FILE: &str = "resume.yaml";
const REPLIES: &str = "replies.yaml";
const COUNT: u32 = 10_000;
const DONE: usize = 9_000;
const LIMIT: u32 = 60;
const AN_HOUR_MS: u64 = 3_600_000;
/// How long the first owner may take to finish its 90 %.
const PATIENCE: Duration = Duration::from_secs(120);
const GLANCE: Duration = Duration::from_millis(20);

/// From the start of `convoke resume` to the first attempt of the new owner.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    let run = kill_at_ninety_percent(workshop)?;
    workshop.write(REPLIES, &workflow::replies(0))?;
    let (mut started, mut ended, mut cpu, mut wall) = (vec![], vec![], vec![], vec![]);
    for _ in 0..workshop.rounds.some {
        let taken = resume(workshop, &run)?;
        started.push(taken.first_start_ms);
        ended.push(taken.first_end_ms);
        cpu.push(taken.spent.cpu.as_secs_f64() * 1e3);
        wall.push(taken.spent.wall.as_secs_f64() * 1e3);
    }
    workshop.tidy();
    let figure = |name: &str, samples| Figure::new(NAME, name, "ms", samples);
    Ok(vec![
        figure("to the first answer of an attempt, its start on disk", ended).at_most(300.0),
        figure("to the decision to start it", started),
        figure("the whole resume with 1 000 agents left, wall", wall),
        figure("the whole resume with 1 000 agents left, CPU", cpu),
    ])
}

struct Taken {
    first_start_ms: f64,
    first_end_ms: f64,
    spent: child::Spent,
}

/// Leaves a run in the state folder whose owner was killed.
fn kill_at_ninety_percent(workshop: &Workshop) -> Result<RunId, Error> {
    workshop.write(FILE, &workflow::fan_out(&format!("{{name: scripted, file: {REPLIES}}}")))?;
    workshop.write(REPLIES, &workflow::replies(AN_HOUR_MS))?;
    let mut command = workshop.fan_out(FILE, LIMIT, COUNT);
    let mut owner = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(Error::io("start", command.get_program().as_ref()))?;
    let found = wait_for_ninety_percent(workshop, &mut owner);
    let _ = owner.kill();
    let _ = owner.wait();
    found
}

fn wait_for_ninety_percent(workshop: &Workshop, owner: &mut Child) -> Result<RunId, Error> {
    let state = StateDir::for_reading(workshop.path("state"));
    let started = Instant::now();
    while started.elapsed() < PATIENCE && matches!(owner.try_wait(), Ok(None)) {
        std::thread::sleep(GLANCE);
        let Some(run) = state.runs()?.pop() else { continue };
        let done = events(&state, &run, 1).unwrap_or_default().iter().filter(|event| is_end(event)).count();
        if done > DONE {
            return Ok(run);
        }
    }
    Err(Error::Odd("the run to be killed did not get to 90 %".into()))
}

/// Takes over a copy of the killed run and finishes it.
fn resume(workshop: &Workshop, run: &RunId) -> Result<Taken, Error> {
    let folder = workshop.path("resumed");
    disk::copy(&workshop.path("state"), &folder)?;
    let state = StateDir::for_reading(&folder);
    let before = events(&state, run, 1)?.len() as u64;
    let mut command = workshop.convoke(LIMIT, &["--quiet", "resume", &run.0]);
    let started = SystemTime::now();
    let (spent, _) = child::run(command.env("CONVOKE_STATE_DIR", &folder))?;
    let new = events(&state, run, before + 1)?;
    let _ = fs::remove_dir_all(&folder);
    let start = |event: &&Stamped| matches!(event.event, Event::AttemptStarted { .. });
    Ok(Taken {
        first_start_ms: milliseconds(started, new.iter().find(start))?,
        first_end_ms: milliseconds(started, new.iter().find(|event| is_end(event)))?,
        spent,
    })
}

fn events(state: &StateDir, run: &RunId, from: u64) -> Result<Vec<Stamped>, Error> {
    let mut events = Vec::new();
    Reader::open(state, run)?.read(from, &mut |event| events.push(event))?;
    Ok(events)
}

fn is_end(event: &Stamped) -> bool {
    matches!(event.event, Event::AttemptFinished { .. })
}

/// From a moment to an event, both by the wall clock.
fn milliseconds(from: SystemTime, to: Option<&Stamped>) -> Result<f64, Error> {
    let from = from.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros() as f64;
    let to = to.ok_or_else(|| Error::Odd("the resumed run started nothing".into()))?;
    Ok((to.at.0 as f64 - from) / 1e3)
}
