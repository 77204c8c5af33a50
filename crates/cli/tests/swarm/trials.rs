//! Troubles one at a time, at the moment that matters, where the swarm finds that moment only by chance.

use super::judge;
use super::lanes::{self, Kind, Lane, Shape, Trouble};
use super::provider::{Manner, Provider, Watch};
use super::samples::Sample;
use crate::support::World;
use crate::support::journal::Events;
use crate::support::process::{Process, until, within};
use convoke_capacity::{Capacity, Identity, Options, Reserved};
use rustix::process::Signal;
use std::process::{Command, Stdio};
use std::time::Duration;

struct Trial {
    watch: Watch,
    shape: Shape,
    provider: Provider,
    world: World,
}

impl Trial {
    fn new(shape: Shape, hold: (u64, u64)) -> Trial {
        let watch = Watch::new();
        let provider = Provider::start(watch, Manner { limit: shape.limit, hold, seed: 1, turns: false });
        let world = lanes::world(&shape, &provider.url());
        Trial { watch, shape, provider, world }
    }

    fn lane(&self, number: usize) -> Lane {
        Lane::start(&self.world, &self.shape, number)
    }

    fn table(&self) -> Option<Sample> {
        let path = self.world.state().join("capacity");
        let seen = Capacity::observe(&path).expect("the table can be looked at")?;
        Some(Sample::of(self.watch.now(), &seen))
    }

    fn await_in_flight(&self, count: usize) {
        until("the requests are there", || self.provider.in_flight() == count);
    }

    /// Waits until a process has a demand in the queue.
    fn await_waiting(&self, lane: &Lane) {
        let pid = lane.pid();
        until("it waits", || {
            self.table().is_some_and(|table| table.instances.get(&pid).is_some_and(|part| part.waiting > 0))
        });
    }

    fn finish(&self, lanes: &mut [Lane]) {
        until("the runs end", || {
            lanes.iter_mut().for_each(|lane| lane.look(&self.world, &self.shape, false));
            lanes.iter().all(Lane::is_over)
        });
    }

    fn events(&self, lane: usize) -> Events {
        Events::of(&self.world, &lanes::run_of(&self.world, lane, 0).expect("it has a run"))
    }
}

#[test]
fn a_process_that_was_away_for_longer_than_its_lease_sends_nothing_more_on_it() {
    let trial = Trial::new(
        Shape { lanes: 2, tasks: 3, limit: 3, lease: Duration::from_secs(1), conversing: None },
        (0, 0),
    );
    trial.provider.be_silent(true);
    let away = trial.lane(0);
    trial.await_in_flight(3);
    let other = trial.lane(1);
    trial.await_waiting(&other);
    let begin = trial.watch.now();
    away.signal(Signal::STOP);
    until("its leases run out", || trial.table().is_some_and(|table| table.quarantined == 3));
    assert_eq!((trial.provider.in_flight(), trial.provider.closed()), (3, 0), "and are nobody else's");
    let end = trial.watch.now();
    away.signal(Signal::CONT);
    until("it is cut off", || trial.provider.closed() == 3);
    trial.provider.be_silent(false);
    let pid = away.pid();
    trial.finish(&mut [away, other]);

    let events = [trial.events(0), trial.events(1)];
    let seen = trial.provider.end();
    let stop = Trouble { lane: 0, round: 0, pid, begin, end, kind: Kind::Stop };
    let requests = judge::by_prompt(&seen);
    let found = judge::judge_run((0, 0), &events[0], &trial.shape, &requests, &[stop]);
    assert_eq!((found.fences, found.lost, found.late_sends), (3, 3, 0), "{found:?}");
    let of_lane =
        |lane| requests.iter().filter(move |(prompt, _)| prompt.lane == lane).flat_map(|(_, all)| all);
    assert_eq!(of_lane(0).filter(|request| request.answered).count(), 3, "each was done again");
    assert!(of_lane(1).all(|request| request.begin > end), "what is in quarantine is nobody's");
    let other = judge::judge_run((1, 0), &events[1], &trial.shape, &requests, &[]);
    assert_eq!((other.fences, other.lost), (0, 0), "{other:?}");
    assert_eq!(seen.above, []);
}

#[test]
fn what_a_killed_process_held_is_used_by_another_before_its_lease_ends() {
    let trial = Trial::new(
        Shape { lanes: 2, tasks: 5, limit: 5, lease: Duration::from_secs(60), conversing: None },
        (0, 0),
    );
    trial.provider.be_silent(true);
    let mut killed = trial.lane(0);
    trial.await_in_flight(5);
    let other = trial.lane(1);
    trial.await_waiting(&other);
    let kill = killed.kill(&trial.world, &trial.shape, trial.watch).expect("it ran");
    until("it is cut off", || trial.provider.closed() == 5);
    trial.await_in_flight(5);
    trial.provider.be_silent(false);
    trial.finish(&mut [killed, other]);

    let events = [trial.events(0), trial.events(1)];
    let seen = trial.provider.end();
    assert_eq!(seen.above, []);
    let mut begins: Vec<_> =
        seen.requests.iter().map(|request| request.begin).filter(|begin| *begin > kill.begin).collect();
    begins.sort_unstable();
    let full_again = Duration::from_micros(begins[4] - kill.begin);
    assert!(full_again < trial.shape.lease, "full again after {full_again:?}");
    let requests = judge::by_prompt(&seen);
    for (lane, events) in events.iter().enumerate() {
        judge::judge_run((lane, 0), events, &trial.shape, &requests, &[]);
    }
}

#[test]
fn a_process_that_is_stopped_while_it_waits_does_not_keep_what_it_is_given() {
    let trial = Trial::new(
        Shape { lanes: 2, tasks: 20, limit: 2, lease: Duration::from_secs(1), conversing: None },
        (0, 0),
    );
    trial.provider.be_silent(true);
    let going_on = trial.lane(0);
    trial.await_in_flight(2);
    let stopped = trial.lane(1);
    trial.await_waiting(&stopped);
    stopped.signal(Signal::STOP);
    trial.provider.be_silent(false);
    // It is given both slots, cannot use them, and the other one has nothing until they run out.
    trial.finish(&mut [going_on]);
    assert_eq!(trial.events(0).count("fenced"), 0);
    stopped.signal(Signal::CONT);
    trial.finish(&mut [stopped]);
    let events = [trial.events(0), trial.events(1)];
    let seen = trial.provider.end();
    assert_eq!(seen.above, []);
    let requests = judge::by_prompt(&seen);
    for (lane, events) in events.iter().enumerate() {
        judge::judge_run((lane, 0), events, &trial.shape, &requests, &[]);
    }
}

#[test]
fn a_process_that_is_stopped_inside_the_table_is_named_and_nobody_exceeds_a_limit() {
    let trial = Trial::new(
        Shape { lanes: 2, tasks: 300, limit: 2, lease: Duration::from_secs(10), conversing: None },
        (0, 1),
    );
    let mut lanes: Vec<_> = (0..2).map(|lane| trial.lane(lane)).collect();
    lanes.iter().for_each(|lane| trial.await_waiting(lane));
    let inside = hold_inside(&trial);
    let pid = inside.pid().as_raw_nonzero().to_string();
    let is_named = |lane: usize| {
        let events = lanes::run_of(&trial.world, lane, 0).map(|run| Events::of(&trial.world, &run).0);
        let notes = events.iter().flatten().filter_map(|event| event["event"].get("noted"));
        let mut stuck = notes.filter(|note| note["code"] == "capacity_stuck");
        stuck.any(|note| note["message"].as_str().is_some_and(|message| message.contains(&pid)))
    };
    until("whoever needs the table names it", || is_named(0) || is_named(1));
    assert!(trial.table().is_some_and(|table| table.stuck), "it is there still");
    inside.signal(Signal::CONT);
    trial.finish(&mut lanes);
    assert_eq!(trial.provider.end().above, []);
}

/// A process that does nothing but take from the table and give back, stopped while it holds the tables.
fn hold_inside(trial: &Trial) -> Process {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--ignored", "--exact", "swarm::trials::busy_at_the_table"]);
    command.env(TABLE, trial.world.state().join("capacity")).stdout(Stdio::null()).stderr(Stdio::null());
    let process = Process::start(command);
    let pid = process.pid().as_raw_nonzero().get().cast_unsigned();
    let is_inside = || trial.table().is_some_and(|table| table.stuck && table.instances[&pid].stopped);
    until("it is caught inside", || {
        process.signal(Signal::STOP);
        // Its threads stop one by one: what it holds now it may have let go of a moment later.
        let caught = is_inside() && !within(Duration::from_millis(50), || !is_inside());
        if !caught {
            process.signal(Signal::CONT);
        }
        caught
    });
    process
}

/// Where the process that is always at the table finds it.
const TABLE: &str = "CONVOKE_SWARM_TABLE";

#[test]
#[ignore = "a process of another test"]
fn busy_at_the_table() {
    let Some(path) = std::env::var_os(TABLE) else { return };
    let identity = Identity { label: "busy".into(), ..Identity::default() };
    let table = Capacity::open(path.as_ref(), &identity, Options::default()).expect("it can be opened");
    let own = table.define("nobody else's", 1, "test").expect("there is room").id;
    // Until it is killed, with the test that started it.
    loop {
        if let Ok(Reserved::Granted(lease)) = table.reserve(&[(own, 1)], Duration::from_secs(60)) {
            table.release(&lease).expect("it is ours");
        }
    }
}
