//! Long journals, written as owners write them, and opened as the next owner opens them.

use crate::child::{Meter, Spent};
use crate::error::Error;
use crate::inner::{compile, engine, started};
use crate::workflow;
use convoke_engine::{Changes, Pace, RULES, Start, compact, prepare};
use convoke_journal::{Journal, Owner, RunMeta, Sqlite, StateDir};
use convoke_model::{
    Blob, Event, JsonText, Payload, RunId, RunStarted, RunStatus, Stamped, TaskId, Timestamp, Usage,
};
use convoke_plan::Plan;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// What a journal is long of. An agent's turn is three events: a call that is reserved, the turn, a tool that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// More agents, of 40 turns each.
    More,
    /// 300 agents, of more turns each.
    Longer,
    /// More agents that answer at once.
    FanOut,
}

/// Agents at once: so many conversations are in their middle at the end.
const AT_ONCE: u64 = 60;
/// One run of so many was stopped before its end.
const OPEN: u64 = 200;
/// Events in one commit.
const COMMIT: usize = 300;
/// Events of conversations behind the last snapshot: nearly as many as there can be.
const TAIL: u64 = 9_900;

impl Growth {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Growth::More => "more agents of 40 turns each",
            Growth::Longer => "300 agents, longer conversations",
            Growth::FanOut => "more agents without tools",
        }
    }

    fn turns(self, events: u64) -> u64 {
        match self {
            Growth::More => 40,
            Growth::Longer => events / 300 / 3,
            Growth::FanOut => 0,
        }
    }
}

/// An empty journal.
pub fn create(folder: &Path) -> Result<Sqlite, Error> {
    let plan = plan()?;
    let meta = RunMeta { plan: JsonText::of(&*plan), source: JsonText::of("") };
    Ok(Sqlite::create(&StateDir::open(folder.to_path_buf())?, &run(), &meta, &owner())?)
}

/// Events as small as those of a fan-out.
pub fn small_events(from: u64, count: u64) -> Vec<Stamped> {
    (from..from + count).map(|seq| stamp(seq, finish(seq, 1))).collect()
}

/// Writes a journal with its snapshots, taken when the engine takes them. Its owner was killed.
pub fn write(folder: &Path, growth: Growth, events: u64) -> Result<(), Error> {
    let mut journal = create(folder)?;
    let turns = growth.turns(events);
    let per_agent = 2 + turns * 3;
    let agents = (events / per_agent).next_multiple_of(AT_ONCE);
    let (history, mut blobs) = history(&plan()?, agents, turns);
    let mut history = history.take(events as usize);
    let (mut next, mut pace) = (1, Pace::after(0));
    loop {
        let commit: Vec<_> = history
            .by_ref()
            .take(COMMIT)
            .map(|event| {
                next += 1;
                stamp(next - 1, event)
            })
            .collect();
        if commit.is_empty() {
            return Ok(());
        }
        pace.count(&commit);
        journal.append(&commit, &std::mem::take(&mut blobs), &[])?;
        let last = next <= events - TAIL && next + COMMIT as u64 > events - TAIL;
        let due = match turns {
            0 => pace.is_due() && next <= events,
            _ => pace.is_due() && next <= events - TAIL || last,
        };
        if due {
            pace.begin();
            let taker = journal.snapshot_taker().ok_or_else(|| Error::Odd("no snapshots".into()))?;
            pace.kept(taker.take(RULES, &compact, &|| false)?.unwrap_or_default());
        }
    }
}

/// Writes many runs of one task each. Most have ended; some were stopped and can be resumed.
pub fn write_many(folder: &Path, runs: u64) -> Result<(), Error> {
    let (state, plan) = (StateDir::open(folder.to_path_buf())?, plan()?);
    let meta = RunMeta { plan: JsonText::of(&*plan), source: JsonText::of("") };
    for number in 0..runs {
        let id = RunId(format!("20261118-100000-flat-{number:05}").into());
        let mut journal = Sqlite::create(&state, &id, &meta, &owner())?;
        let begun = RunStarted { run: id, ..started(&plan, json!({ "items": [number] })) };
        let end = match number % OPEN {
            0 => Event::RunInterrupted { by: "SIGINT".into() },
            _ => Event::RunFinished { status: RunStatus::Succeeded, output: None, failure: None },
        };
        let events = [
            Event::RunStarted(Box::new(begun)),
            Event::RunOwned { epoch: 1, pid: 1, host: "measured".into(), uptime: None },
            Event::AttemptStarted { task: task(0), attempt: 1, lease: None },
            finish(0, 1),
            end,
        ];
        let stamped =
            |(at, event): (u64, Event)| Stamped { seq: at + 1, ..stamp(number * 1_000 + at, event) };
        let events: Vec<_> = (0..).zip(events).map(stamped).collect();
        journal.append(&events, &[], &[])?;
    }
    Ok(())
}

/// Opens a journal as the next owner does, until it could drive the run. `snapshots`: uses those that there are.
pub fn open(folder: &Path, snapshots: bool) -> Result<Spent, Error> {
    let plan = plan()?;
    let hidden = (folder.join("runs/measured/snapshots"), folder.join("runs/measured/hidden"));
    let hides = !snapshots && hidden.0.exists();
    if hides {
        std::fs::rename(&hidden.0, &hidden.1).map_err(Error::io("rename", &hidden.0))?;
    }
    let meter = Meter::start();
    let journal = Sqlite::open_owner(&StateDir::open(folder.to_path_buf())?, &run(), &owner())?;
    let mut setup = engine::setup(plan, json!({}), AT_ONCE as u32, Box::new(journal));
    setup.start = Start::Resume(Changes::None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(Error::io("start", "runtime".as_ref()))?;
    let prepared = runtime.block_on(async { prepare(setup) })?;
    let spent = meter.spent();
    drop(prepared);
    if hides {
        std::fs::rename(&hidden.1, &hidden.0).map_err(Error::io("rename", &hidden.1))?;
    }
    Ok(spent)
}

/// The events of a run in which waves of agents talk side by side.
fn history(plan: &Arc<Plan>, agents: u64, turns: u64) -> (impl Iterator<Item = Event> + use<>, Vec<Blob>) {
    let items: Vec<u64> = (0..agents).collect();
    let (inputs, given) = Payload::new(JsonText::of(&json!({ "items": items })));
    let (items, listed) = Payload::new(JsonText::of(&items));
    let begin = [
        Event::RunStarted(Box::new(RunStarted { inputs, ..started(plan, json!({})) })),
        Event::RunOwned { epoch: 1, pid: 1, host: "measured".into(), uptime: None },
        Event::FannedOut { task: TaskId("work".into()), count: agents as u32, items, keys: None },
    ];
    let waves = (0..agents / AT_ONCE).flat_map(move |wave| {
        let all = move || wave * AT_ONCE..(wave + 1) * AT_ONCE;
        let starts = all().map(|agent| Event::AttemptStarted { task: task(agent), attempt: 1, lease: None });
        let talk = (0..turns).flat_map(move |number| all().flat_map(move |agent| turn(agent, number)));
        starts.chain(talk).chain(all().map(|agent| finish(agent, 1)))
    });
    (begin.into_iter().chain(waves), given.into_iter().chain(listed).collect())
}

/// Different words for each number, of which a packer leaves two fifths.
fn words(number: u64, count: usize) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut said = String::with_capacity(count * 6);
    for _ in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        said.push_str(&format!("{:04} ", state >> 50));
    }
    said
}

fn turn(agent: u64, number: u64) -> [Event; 3] {
    let usage = Usage { calls: 1, input_tokens: 900, output_tokens: 80, cost_micros: 40, ..Usage::default() };
    let piece = Payload::Inline(JsonText::of(
        &json!({ "said": words(agent << 20 | number, 60), "result": words(number << 20 | agent, 60) }),
    ));
    [
        Event::CallReserved { task: task(agent), attempt: 1, worst: usage },
        Event::TurnRecorded { task: task(agent), attempt: 1, piece, kept: Vec::new(), usage },
        Event::ToolCalled { task: task(agent), attempt: 1, tool: "search".into(), ms: 12, failed: false },
    ]
}

fn finish(agent: u64, attempt: u32) -> Event {
    let output = Payload::Inline(JsonText::of(&json!({ "answer": format!("yes, all of {agent}") })));
    let usage = Usage { calls: 1, input_tokens: 900, output_tokens: 80, cost_micros: 40, ..Usage::default() };
    Event::AttemptFinished { task: task(agent), attempt, output, usage }
}

fn task(agent: u64) -> TaskId {
    TaskId(format!("work[{agent}]").into())
}

fn stamp(seq: u64, event: Event) -> Stamped {
    Stamped { seq, at: Timestamp(1_794_700_800_000_000 + seq * 1_000), event }
}

fn plan() -> Result<Arc<Plan>, Error> {
    compile(&workflow::flat(workflow::AT_ONCE))
}

fn run() -> RunId {
    RunId("measured".into())
}

fn owner() -> Owner {
    Owner { pid: std::process::id(), host: "measured".into(), boot: "measured".into(), start: None }
}
