//! What must be true of a swarm after its end, by the provider's, the table's and the journals' word.

use super::lanes::{Kind, Shape, Trouble};
use super::provider::{Prompt, Request, Seen};
use super::samples::Sample;
use crate::support::journal::Events;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Clocks of processes may differ by this much, in microseconds.
const CLOCKS: u64 = 5_000;

/// A request that was on its way when its process was stopped is there so many microseconds after that goes on.
const ON_ITS_WAY: u64 = 500_000;

/// What was found in the journals.
#[derive(Debug, Default, Clone, Copy)]
pub struct Found {
    pub tasks: usize,
    /// Attempts that were cut off because their lease ran out.
    pub fences: usize,
    /// Attempts with an unknown end, after a kill or a fence.
    pub lost: usize,
    /// Prompts that were answered more than once.
    pub answered_again: usize,
    /// Requests on a lease that had run out. Only one that was on its way when its process was stopped can be: the lease was
    /// looked at before. It counts, in quarantine, and is cut off at once.
    pub late_sends: usize,
}

impl Found {
    pub fn add(&mut self, other: &Found) {
        self.tasks += other.tasks;
        self.fences += other.fences;
        self.lost += other.lost;
        self.answered_again += other.answered_again;
        self.late_sends += other.late_sends;
    }
}

/// One attempt, as the journal tells it.
#[derive(Debug, Default, Clone)]
struct Attempt {
    started: u64,
    epoch: usize,
    finished: Option<u64>,
    fenced: Option<u64>,
    lost: bool,
}

/// The attempts of each task, first to last.
type Story = BTreeMap<String, Vec<Attempt>>;

/// Judges one run by its journal and by what the provider heard of it.
pub fn judge_run(
    name: (usize, usize),
    events: &Events,
    shape: &Shape,
    requests: &HashMap<Prompt, Vec<Request>>,
    troubles: &[Trouble],
) -> Found {
    let story = story(name, events);
    assert_eq!(events.count("attempt_failed"), 0, "run {name:?}: no attempt fails");
    assert_eq!(events.count("run_finished"), 1, "run {name:?} ends once");
    let finished = events.attempts("attempt_finished");
    assert_eq!(finished.len(), shape.tasks, "run {name:?}: every task ends once");
    let mut found = Found { tasks: shape.tasks, ..Found::default() };
    for item in 0..shape.tasks {
        let attempts = &story[&format!("work[{item}]")];
        let heard =
            requests.get(&Prompt { lane: name.0, round: name.1, item }).map_or(&[][..], Vec::as_slice);
        judge_task((name.0, name.1, item), attempts, heard);
        let stops = troubles
            .iter()
            .filter(|trouble| (trouble.lane, trouble.round, trouble.kind) == (name.0, name.1, Kind::Stop));
        found.fences += attempts.iter().filter(|attempt| attempt.fenced.is_some()).count();
        found.lost += attempts.iter().filter(|attempt| attempt.lost).count();
        found.answered_again += usize::from(heard.iter().filter(|request| request.answered).count() > 1);
        found.late_sends += late_sends(attempts, heard, stops.collect::<Vec<_>>().as_slice());
    }
    found
}

fn story(name: (usize, usize), events: &Events) -> Story {
    let mut story = Story::new();
    let mut epoch = 0;
    for event in &events.0 {
        let at = event["at"].as_u64().expect("an event has a time");
        let (kind, body) = event["event"].as_object().and_then(|kinds| kinds.iter().next()).expect("a kind");
        epoch += usize::from(kind == "run_owned");
        let Some(number) = body["attempt"].as_u64() else { continue };
        let task = body["task"].as_str().expect("an attempt has a task");
        let attempts = story.entry(task.to_owned()).or_default();
        if kind == "attempt_started" {
            attempts.push(Attempt { started: at, epoch, ..Attempt::default() });
            assert_eq!(attempts.len() as u64, number, "run {name:?}, {task}: attempts are counted");
            continue;
        }
        let attempt = &mut attempts[number as usize - 1];
        match kind.as_str() {
            "attempt_finished" => attempt.finished = Some(at),
            "fenced" => attempt.fenced = Some(at),
            "attempt_lost" => {
                attempt.lost = true;
                // Nothing else may lose one: its process was killed, or its lease ran out.
                assert!(
                    attempt.fenced.is_some() || attempt.epoch < epoch,
                    "run {name:?}, {task}: lost {number}"
                );
            }
            _ => {}
        }
    }
    story
}

fn judge_task(name: (usize, usize, usize), attempts: &[Attempt], heard: &[Request]) {
    let (last, before) = attempts.split_last().expect("each task is started");
    let end =
        last.finished.unwrap_or_else(|| panic!("task {name:?}: its last attempt finished: {attempts:?}"));
    assert!(
        before.iter().all(|attempt| attempt.lost),
        "task {name:?}: tried again without need: {attempts:?}"
    );
    assert!(heard.iter().any(|request| request.answered), "task {name:?}: a result without an answer");
    assert!(heard.len() <= attempts.len(), "task {name:?}: asked {} times in {attempts:?}", heard.len());
    let after = heard.iter().find(|request| request.begin > end + CLOCKS);
    assert!(after.is_none(), "task {name:?}: asked again after its end: {after:?} {attempts:?}");
}

/// Requests of attempts whose lease had run out, from when their process went on until the next attempt.
fn late_sends(attempts: &[Attempt], heard: &[Request], stops: &[&Trouble]) -> usize {
    let mut late = 0;
    for (number, attempt) in attempts.iter().enumerate() {
        let Some(fenced) = attempt.fenced else { continue };
        let ends = stops.iter().map(|stop| stop.end).filter(|end| *end <= fenced + CLOCKS);
        let Some(resumed) = ends.max() else { continue };
        let next = attempts.get(number + 1).map_or(u64::MAX, |next| next.started);
        for request in heard.iter().filter(|request| (resumed..next).contains(&request.begin)) {
            let after = request.begin - resumed;
            assert!(after < ON_ITS_WAY, "sent on a stale lease, {after} µs after it went on: {attempts:?}");
            late += 1;
        }
    }
    late
}

/// Requests by what they asked, in their order.
pub fn by_prompt(seen: &Seen) -> HashMap<Prompt, Vec<Request>> {
    let mut requests: HashMap<Prompt, Vec<Request>> = HashMap::new();
    for request in &seen.requests {
        if let Some(prompt) = request.prompt {
            requests.entry(prompt).or_default().push(*request);
        }
    }
    requests.values_mut().for_each(|of_one| of_one.sort_by_key(|request| request.begin));
    requests
}

/// How long it took from each kill until nothing was the dead process's any more, for those that held something. Kills
/// during which a stopped process had the tables in its hands are left out: no lease can be granted then.
pub fn times_to_get_back(troubles: &[Trouble], samples: &[Sample]) -> Vec<Duration> {
    let kills = troubles.iter().filter(|trouble| trouble.kind == Kind::Kill);
    kills.filter_map(|kill| time_to_get_back(kill, samples)).collect()
}

fn time_to_get_back(kill: &Trouble, samples: &[Sample]) -> Option<Duration> {
    let at = samples.partition_point(|sample| sample.at < kill.begin);
    let holds = |sample: &Sample| {
        sample.instances.get(&kill.pid).is_some_and(|part| part.in_use + part.quarantined > 0)
    };
    if !holds(samples.get(at.checked_sub(1)?)?) {
        return None;
    }
    let after = &samples[at..];
    let back = after.iter().position(|sample| !sample.torn && !holds(sample))?;
    let stuck = after[..back].iter().any(|sample| sample.stuck);
    (!stuck).then(|| Duration::from_micros(after[back].at - kill.begin))
}

/// The most leases that a process got while it was stopped: a stopped process cannot use a lease.
pub fn most_gained(troubles: &[Trouble], samples: &[Sample]) -> usize {
    let stops = troubles.iter().filter(|trouble| trouble.kind == Kind::Stop);
    stops.map(|stop| gained(stop, samples)).max().unwrap_or(0)
}

fn gained(stop: &Trouble, samples: &[Sample]) -> usize {
    let begin = samples.partition_point(|sample| sample.at < stop.begin);
    let during =
        samples[begin..].iter().take_while(|sample| sample.at < stop.end).filter(|sample| !sample.torn);
    let parts = during.filter_map(|sample| sample.instances.get(&stop.pid)).filter(|part| part.stopped);
    // The first sample that sees it stopped may have counted its leases before it was; the next one began afterwards.
    let parts = parts.skip(1);
    let mut held = parts.map(|part| part.in_use + part.quarantined);
    let first = held.next().unwrap_or(0);
    held.max().unwrap_or(0).saturating_sub(first)
}

/// How often there was a kind of trouble.
pub fn count(troubles: &[Trouble], kind: Kind) -> usize {
    troubles.iter().filter(|trouble| trouble.kind == kind).count()
}
