//! The runs: lane by lane one `convoke` process after the other, each with a run of its own or with the run of the
//! process before it, which was killed.

use super::provider::Watch;
use crate::support::World;
use crate::support::process::Process;
use rustix::process::Signal;
use std::time::Duration;

/// What a swarm is like.
#[derive(Debug, Clone)]
pub struct Shape {
    pub lanes: usize,
    /// Agents of each run.
    pub tasks: usize,
    pub limit: usize,
    pub lease: Duration,
    /// Runs of conversations, with so many calls to the model at once, whose attempts others may perform.
    pub conversing: Option<usize>,
}

/// One of the processes that run at the same time, and its successors.
pub struct Lane {
    number: usize,
    round: usize,
    process: Option<Process>,
    pub stopped_until: Option<u64>,
}

/// Something that was done to a process.
#[derive(Debug, Clone, Copy)]
pub struct Trouble {
    pub lane: usize,
    pub round: usize,
    pub pid: u32,
    pub begin: u64,
    /// When it was let go on, or had ended.
    pub end: u64,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Stop,
    Kill,
}

/// Writes the workflow of every run of a world; the inputs are each run's own.
pub fn workflow(lane: usize, url: &str, conversing: bool) -> String {
    let output = if conversing { ", output: {n: {type: string}}" } else { "" };
    format!(
        "workflow:
  name: lane-{lane}
  entry_point: work
  runtime: {{provider: {{name: vllm, base_url: \"{url}\"}}, default_model: m}}
  input: {{items: {{type: array}}}}
agents: []
for_each:
  - name: work
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 100000
    agent: {{name: worker, prompt: \"task {{{{ item }}}} please\"{output}}}
output: {{done: \"{{{{ work.count }}}}\"}}
"
    )
}

/// A world in which all lanes live.
pub fn world(shape: &Shape, url: &str) -> World {
    let world = World::new()
        .env("CONVOKE_MACHINE_CONCURRENCY", &shape.limit.to_string())
        .env("CONVOKE_LEASE_SECONDS", &shape.lease.as_secs().to_string());
    let conversing = shape.conversing.is_some();
    (0..shape.lanes).for_each(|lane| world.write(&format!("{lane}.yaml"), workflow(lane, url, conversing)));
    if let Some(calls) = shape.conversing {
        world.write("convoke.toml", format!("[limits.models.vllm]\nconcurrency = {calls}\n"));
    }
    world
}

impl Lane {
    pub fn start(world: &World, shape: &Shape, number: usize) -> Lane {
        let mut lane = Lane { number, round: 0, process: None, stopped_until: None };
        lane.begin(world, shape);
        lane
    }

    /// Begins a new run.
    fn begin(&mut self, world: &World, shape: &Shape) {
        let items: Vec<_> =
            (0..shape.tasks).map(|item| format!("{}.{}.{item}", self.number, self.round)).collect();
        let inputs = format!("{}.json", self.number);
        world.write(&inputs, serde_json::json!({ "items": items }).to_string());
        let file = format!("{}.yaml", self.number);
        let mut args = vec!["-q", "run", &file, "--input-file", &inputs];
        if shape.conversing.is_some() {
            args.extend(["--share", "--keep", "2"]);
        }
        self.process = Some(world.start(&args));
    }

    pub fn name(&self) -> (usize, usize) {
        (self.number, self.round)
    }

    /// The process id of what runs at the moment.
    pub fn pid(&self) -> u32 {
        let process = self.process.as_ref().expect("it runs");
        process.pid().as_raw_nonzero().get().cast_unsigned()
    }

    /// Sends its process a signal.
    pub fn signal(&self, signal: Signal) {
        self.process.as_ref().expect("it runs").signal(signal);
    }

    pub fn is_over(&self) -> bool {
        self.process.is_none()
    }

    /// A run that has ended must have ended well; then comes the next one, if one is wanted.
    pub fn look(&mut self, world: &World, shape: &Shape, another: bool) {
        let Some(process) = &mut self.process else { return };
        if self.stopped_until.is_some() || !process.has_ended() {
            return;
        }
        let said = self.process.take().expect("it ran").wait();
        assert_eq!(said.code, Some(0), "run {:?}\n{said}", self.name());
        assert_eq!(said.json(), serde_json::json!({ "done": shape.tasks }), "run {:?}", self.name());
        self.round += 1;
        if another {
            self.begin(world, shape);
        }
    }

    pub fn stop(&mut self, watch: Watch, length: u64) -> Option<Trouble> {
        let (lane, round) = self.name();
        let process = self.process.as_mut().filter(|_| self.stopped_until.is_none())?;
        if process.has_ended() {
            return None;
        }
        let begin = watch.now();
        process.signal(Signal::STOP);
        self.stopped_until = Some(begin + length);
        Some(Trouble { lane, round, pid: self.pid(), begin, end: u64::MAX, kind: Kind::Stop })
    }

    /// Lets it go on when it is time. Answers with when that was.
    pub fn go_on(&mut self, watch: Watch) -> Option<u64> {
        self.stopped_until.take_if(|until| watch.now() >= *until)?;
        let now = watch.now();
        self.process.as_ref().expect("a stopped process is there").signal(Signal::CONT);
        Some(now)
    }

    /// Kills it, and has a new process go on with its run, if it had come as far as having one.
    pub fn kill(&mut self, world: &World, shape: &Shape, watch: Watch) -> Option<Trouble> {
        let (lane, round) = self.name();
        let process = self.process.as_mut()?;
        let pid = process.pid().as_raw_nonzero().get().cast_unsigned();
        let begin = watch.now();
        if !process.kill() {
            return None;
        }
        let end = watch.now();
        self.stopped_until = None;
        match run_of(world, lane, round) {
            Some(run) => self.process = Some(world.start(&["-q", "resume", &run])),
            None => self.begin(world, shape),
        }
        Some(Trouble { lane, round, pid, begin, end, kind: Kind::Kill })
    }
}

/// The run of a lane's round: each round makes one, and the newest come first.
pub fn run_of(world: &World, lane: usize, round: usize) -> Option<String> {
    let mut runs = runs_of(world, lane);
    runs.reverse();
    runs.into_iter().nth(round)
}

/// The runs of a lane, newest first.
pub fn runs_of(world: &World, lane: usize) -> Vec<String> {
    let said = world.convoke(&["runs", "--format", "json"]).exits(0);
    let rows = said.json();
    let ours = |row: &&serde_json::Value| row["workflow"] == format!("lane-{lane}");
    let rows = rows.as_array().expect("a list").iter().filter(ours);
    rows.map(|row| row["id"].as_str().expect("a run has a name").to_owned()).collect()
}
