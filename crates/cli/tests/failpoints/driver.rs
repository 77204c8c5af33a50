//! Plays a scenario with a process that dies at a place, and keeps what the dead left behind for the judge.

use crate::support::Said;
use crate::support::World;
use crate::support::process::Process;
use convoke_failpoint::NAMES;
use convoke_journal::{Reader, StateDir};
use convoke_model::{Event, Payload, RunId, Stamped};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where a process dies: the number of the place, and at which time of reaching it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Death {
    pub place: usize,
    pub time: u64,
}

impl Death {
    /// As the variable takes it.
    pub fn target(self) -> String {
        format!("{}:{}", NAMES[self.place], self.time)
    }
}

/// Journals of runs at one moment.
pub type Journals = BTreeMap<RunId, Vec<Stamped>>;

/// One play of a scenario.
pub struct Driver {
    pub world: World,
    /// Deaths to come, the next one last.
    deaths: Vec<Death>,
    /// How often each place was reached since the last death.
    counts: PathBuf,
    /// What the journals held after each death.
    pub kept: Vec<Journals>,
    /// Deaths that came.
    pub died: Vec<Death>,
    pub name: String,
    /// Runs that the scenario is not about.
    aside: Vec<String>,
}

impl Driver {
    /// The deaths come in this order.
    pub fn new(scenario: &str, world: World, deaths: &[Death]) -> Driver {
        let targets: Vec<String> = deaths.iter().map(|death| death.target()).collect();
        let name = format!("{scenario} killed at [{}]", targets.join(", "));
        let counts = world.state().with_file_name("counts-0");
        let deaths = deaths.iter().rev().copied().collect();
        Driver { world, deaths, counts, kept: Vec::new(), died: Vec::new(), name, aside: Vec::new() }
    }

    /// Runs a command to its end or its death. No code is death.
    pub fn convoke(&mut self, args: &[&str]) -> Said {
        let process = self.start(args);
        self.wait(process)
    }

    /// Starts a command that may die.
    pub fn start(&self, args: &[&str]) -> Process {
        let mut command = self.world.command(args);
        command.env("CONVOKE_FAILPOINT_COUNTS", &self.counts);
        if let Some(death) = self.deaths.last() {
            command.env("CONVOKE_FAILPOINT", death.target());
        }
        Process::start(command)
    }

    /// Waits for such a command.
    pub fn wait(&mut self, process: Process) -> Said {
        let said = process.wait();
        self.look();
        assert!(said.code.is_some() || !self.died.is_empty(), "{}: it died by itself\n{said}", self.name);
        said
    }

    /// Looks whether the death has come. The next one is counted from here.
    pub fn look(&mut self) -> bool {
        let Some(death) = self.deaths.last().copied() else { return false };
        if self.counted()[death.place] < death.time {
            return false;
        }
        self.deaths.pop();
        self.died.push(death);
        self.counts = self.world.state().with_file_name(format!("counts-{}", self.died.len()));
        self.kept.push(journals(&self.world, &self.name));
        true
    }

    /// How often each place was reached since the last death.
    pub fn counted(&self) -> Vec<u64> {
        let bytes = std::fs::read(&self.counts).unwrap_or_default();
        let mut counts: Vec<u64> =
            bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight"))).collect();
        counts.resize(NAMES.len(), 0);
        counts
    }

    /// Runs a command again as long as it dies.
    pub fn insist(&mut self, args: &[&str]) -> Said {
        for _ in 0..10 {
            let said = self.convoke(args);
            if said.code.is_some() {
                return said;
            }
        }
        panic!("{}: `{}` dies again and again", self.name, args.join(" "));
    }

    /// Runs, resumes and answers until the run has ended well.
    pub fn drive_to_its_end(&mut self, args: &[&str]) -> Said {
        for _ in 0..60 {
            let said = match self.newest() {
                Some(run) => self.convoke(&["resume", &run, "--silent"]),
                None => self.convoke(&[args, &["--silent"]].concat()),
            };
            assert!(!said.stderr.contains("stuck"), "{}: failed as stuck\n{said}", self.name);
            match said.code {
                Some(0) => return said,
                Some(5) => self.answer_all(),
                None => {}
                // Its place is counted a moment before the detached process is gone, and it is not ours to wait for.
                Some(6) if self.name.starts_with("detach") => {}
                // A request to stop that was on disk is heard by the process that goes on.
                Some(130) if self.name.starts_with("stop") => {}
                // A command whose supervisor was killed has the exit code 137, as if it had been killed itself. What follows from
                // that is the workflow's.
                Some(1) if self.lost_a_supervisor() => return Said { stdout: "null".to_owned(), ..said },
                _ => panic!("{}\n{said}", self.name),
            }
        }
        panic!("{}: it does not come to an end", self.name);
    }

    /// Whether a process died that stands between the engine and a command.
    pub fn lost_a_supervisor(&self) -> bool {
        self.died.iter().any(|death| NAMES[death.place].starts_with("supervisor."))
    }

    /// The newest run that is there and was not set aside.
    pub fn newest(&self) -> Option<String> {
        let mut runs = runs(&self.world).into_iter().map(|run| run.to_string());
        runs.rfind(|run| !self.aside.contains(run))
    }

    /// Sets the newest run aside: what comes is about another one.
    pub fn set_aside(&mut self) -> String {
        let run = self.newest().expect("a run");
        self.aside.push(run.clone());
        run
    }

    /// Lets what is unknown be done again, and every gate be passed.
    pub fn answer_all(&mut self) {
        let run = self.newest().expect("a run asks");
        let waiting = waiting(&journals(&self.world, &self.name)[&RunId(run.as_str().into())]);
        assert!(!waiting.is_empty(), "{}: it waits for nobody", self.name);
        for task in waiting {
            let value = match task.as_str() {
                "goal" => "approve",
                task if task.ends_with("ask") => "go",
                _ => "retry",
            };
            let said = self.convoke(&["answer", &run, &task, value]);
            match said.code {
                Some(0) => {}
                None => return,
                _ => panic!("{}\n{said}", self.name),
            }
        }
    }
}

/// The tasks whose last question is open.
fn waiting(events: &[Stamped]) -> Vec<String> {
    let mut waiting = Vec::new();
    for stamped in events {
        match &stamped.event {
            Event::GateOpened { task, .. } => waiting.push(task.to_string()),
            Event::GateAnswered { task, .. } => waiting.retain(|open| *open != task.to_string()),
            _ => {}
        }
    }
    waiting
}

/// The runs that are there. A folder without a journal is what is left of one that was being made.
fn runs(world: &World) -> Vec<RunId> {
    let state = StateDir::for_reading(world.state());
    let runs = state.runs().expect("runs can be listed").into_iter();
    runs.filter(|run| state.run_dir(run).join("journal.db").exists()).collect()
}

/// What all journals hold. What was acknowledged is there, as the tip of each run says.
pub fn journals(world: &World, name: &str) -> Journals {
    let state = StateDir::for_reading(world.state());
    let mut journals = Journals::new();
    for run in runs(world) {
        // Before the events: a run that goes on acknowledges more meanwhile.
        let tip = std::fs::read(state.run_dir(&run).join("tip")).unwrap_or_default();
        let events = Reader::open(&state, &run).and_then(|reader| reader.read_all());
        // A journal that is to be repaired cannot be read before it is.
        if name.starts_with("repair") && events.is_err() {
            continue;
        }
        let events = events.unwrap_or_else(|error| panic!("{name}: run `{run}` cannot be read: {error}"));
        if let Some(seq) = tip.get(..8) {
            let seq = u64::from_le_bytes(seq.try_into().expect("eight"));
            assert!(seq <= events.len() as u64, "{name}: event {seq} was acknowledged and is lost");
        }
        journals.insert(run, events);
    }
    journals
}

/// How often a person let the step of a key be repeated, or its attempt was seen to fail.
pub fn allowed(journals: &Journals, key_of: fn(&str) -> String) -> BTreeMap<String, u64> {
    let mut allowed = BTreeMap::new();
    for stamped in journals.values().flatten() {
        let task = match &stamped.event {
            Event::GateAnswered { task, answer, .. } if is_retry(answer) => task,
            Event::AttemptFailed { task, .. } => task,
            _ => continue,
        };
        *allowed.entry(key_of(&task.to_string())).or_default() += 1;
    }
    allowed
}

fn is_retry(answer: &Payload) -> bool {
    serde_json::to_string(answer).is_ok_and(|text| text.contains("retry"))
}
