//! Clocks that jump and machines that sleep: no timer is early, no duration negative.
//!
//! Time is virtual here; the date, the boot clock and the suspensions are the test's.

use crate::common;

use common::{drive_on, fresh};
use convoke_engine::{Changes, Clock, Machine, Start};
use convoke_journal::{Journal as _, Memory};
use convoke_model::{Event, RunStatus, Stamped, Timestamp, Uptime};
use convoke_plan::Plan;
use convoke_testkit::{Random, plan_of};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

const SECOND: u64 = 1_000_000;
const HOUR: u64 = 3600 * SECOND;
const DAY: u64 = 24 * HOUR;

/// A machine whose date a person can change and which can be suspended.
#[derive(Clone)]
struct World {
    began: Instant,
    date: Arc<Mutex<u64>>,
    slept: Arc<AtomicU64>,
    boot: Arc<Mutex<(String, u64)>>,
}

impl World {
    fn new() -> World {
        let boot = Arc::new(Mutex::new(("first".to_owned(), 0)));
        World { began: Instant::now(), date: Arc::new(Mutex::new(1_000 * DAY)), slept: Arc::default(), boot }
    }

    /// Real time that has passed, suspensions included.
    fn real(&self) -> u64 {
        self.began.elapsed().as_micros() as u64 + self.slept.load(Ordering::SeqCst)
    }

    fn jump(&self, micros: i64) {
        let mut date = self.date.lock().unwrap();
        *date = date.saturating_add_signed(micros);
    }

    fn sleep(&self, micros: u64) {
        self.slept.fetch_add(micros, Ordering::SeqCst);
    }

    fn reboot(&self) {
        *self.boot.lock().unwrap() = ("second".into(), self.real());
    }

    fn clock(&self) -> Clock {
        let (boot, since) = self.boot.lock().unwrap().clone();
        let wall = Timestamp(*self.date.lock().unwrap() + self.real());
        let uptime = Uptime { boot, micros: self.real() - since };
        let slept = self.slept.clone();
        let asleep = Arc::new(move || Duration::from_micros(slept.load(Ordering::SeqCst)));
        Clock::of(Machine { wall, uptime, asleep })
    }
}

/// A wait of an hour between two steps.
fn waits() -> Arc<Plan> {
    plan_of(
        "
workflow: {name: waits, entry_point: a}
agents:
  - {name: a, prompt: x, routes: [{to: rest}]}
  - {name: rest, type: wait, duration: 3600s, routes: [{to: b}]}
  - {name: b, prompt: y}
output: {said: '{{ b.output.result }}'}
",
        &[],
    )
}

fn in_order(events: &[Stamped]) {
    for pair in events.windows(2) {
        assert!(pair[0].at <= pair[1].at, "time went back: {pair:?}");
    }
}

fn at_of(events: &[Stamped], is_it: impl Fn(&Event) -> bool) -> Option<Timestamp> {
    events.iter().find(|stamped| is_it(&stamped.event)).map(|stamped| stamped.at)
}

/// When the wait began, in real time: by the first owner's clock, which nothing had moved yet.
fn waits_since(journal: &Memory) -> u64 {
    let begun = at_of(
        &journal.read_all().unwrap(),
        |event| matches!(event, Event::TaskStarted { task, .. } if &*task.0 == "rest"),
    );
    begun.expect("it waits").0 - 1_000 * DAY
}

/// Lets a run begin its wait, lets go of it, does something to the machine, and resumes it. Gives the real time, in microseconds,
/// from the beginning of the wait to the end of the run, and the events.
async fn resumed_after(world: &World, between: impl FnOnce(&World)) -> (u64, Vec<Stamped>) {
    let (plan, journal) = (waits(), Memory::new());
    let begun =
        drive_on(world.clock(), &plan, journal.clone(), fresh(&plan), Some(Duration::from_secs(10))).await;
    assert_eq!(begun.status, RunStatus::Interrupted);
    let waits_since = waits_since(&journal);
    between(world);
    let ended = drive_on(world.clock(), &plan, journal.reopen(), Start::Resume(Changes::None), None).await;
    assert_eq!(ended.status, RunStatus::Succeeded);
    (world.real() - waits_since, journal.read_all().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_date_that_jumps_between_two_processes_fires_no_timer() {
    for jump in [DAY as i64, -(HOUR as i64), 400 * DAY as i64] {
        let world = World::new();
        let (took, events) = resumed_after(&world, |world| world.jump(jump)).await;
        in_order(&events);
        assert!((HOUR..HOUR + 60 * SECOND).contains(&took), "jump of {jump}: {} s", took / SECOND);
    }
}

/// A person changes the date so long after now.
fn jumps_after(world: &World, after: Duration, micros: i64) {
    let world = world.clone();
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        world.jump(micros);
    });
}

#[tokio::test(start_paused = true)]
async fn a_date_that_jumps_during_a_run_fires_no_timer() {
    for jump in [DAY as i64, -(HOUR as i64), 400 * DAY as i64] {
        let (world, journal, plan) = (World::new(), Memory::new(), waits());
        jumps_after(&world, Duration::from_secs(1800), jump);
        let ended = drive_on(world.clock(), &plan, journal.clone(), fresh(&plan), None).await;
        assert_eq!(ended.status, RunStatus::Succeeded);
        let events = journal.read_all().unwrap();
        in_order(&events);
        let took = world.real() - waits_since(&journal);
        assert!((HOUR..HOUR + 60 * SECOND).contains(&took), "jump of {jump}: {} s", took / SECOND);
    }
}

/// The next owner reads the changed date, and the journal has times of the owner that did not see it change.
#[tokio::test(start_paused = true)]
async fn a_date_that_jumped_during_an_owner_fires_no_timer_of_the_next() {
    for jump in [DAY as i64, -(HOUR as i64)] {
        let (world, journal, plan) = (World::new(), Memory::new(), waits());
        jumps_after(&world, Duration::from_secs(600), jump);
        let limit = Some(Duration::from_secs(1200));
        let begun = drive_on(world.clock(), &plan, journal.clone(), fresh(&plan), limit).await;
        assert_eq!(begun.status, RunStatus::Interrupted);
        jumps_after(&world, Duration::from_secs(600), jump);
        let start = Start::Resume(Changes::None);
        let ended = drive_on(world.clock(), &plan, journal.reopen(), start, None).await;
        assert_eq!(ended.status, RunStatus::Succeeded);
        in_order(&journal.read_all().unwrap());
        let took = world.real() - waits_since(&journal);
        assert!((HOUR..HOUR + 60 * SECOND).contains(&took), "jump of {jump}: {} s", took / SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_while_the_machine_sleeps_between_two_processes() {
    let world = World::new();
    let (took, events) = resumed_after(&world, |world| world.sleep(HOUR / 2)).await;
    in_order(&events);
    assert!((HOUR..HOUR + 60 * SECOND).contains(&took), "{} s", took / SECOND);
}

#[tokio::test(start_paused = true)]
async fn after_a_boot_the_date_counts_and_never_goes_back() {
    let world = World::new();
    let back = |world: &World| {
        world.reboot();
        world.jump(-(DAY as i64));
    };
    let (took, events) = resumed_after(&world, back).await;
    in_order(&events);
    assert!(
        (HOUR..HOUR + 60 * SECOND).contains(&took),
        "late at most by what was waited: {} s",
        took / SECOND
    );
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_sleeps_costs_a_step_none_of_its_time() {
    let plan = plan_of(
        "
workflow: {name: slow, entry_point: rest, limits: {timeout_seconds: 7200}}
agents:
  - {name: rest, type: wait, duration: 3600s, routes: [{to: b}]}
  - {name: b, prompt: y}
output: {said: '{{ b.output.result }}'}
",
        &[],
    );
    let (world, journal) = (World::new(), Memory::new());
    let sleeper = world.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1800)).await;
        sleeper.sleep(DAY);
    });
    let ended = drive_on(world.clock(), &plan, journal.clone(), fresh(&plan), None).await;
    assert_eq!(ended.status, RunStatus::Succeeded, "the workflow's two hours were not a night's");
    let events = journal.read_all().unwrap();
    in_order(&events);
    let slept = at_of(&events, |event| matches!(event, Event::MachineSlept { ms } if *ms == DAY / 1000));
    let woken = at_of(&events, |event| matches!(event, Event::AttemptStarted { .. }));
    assert!(woken.unwrap().since(slept.unwrap()) < Duration::from_secs(60), "the wait was over meanwhile");
    let mut absences = convoke_model::Absences::default();
    events.iter().for_each(|event| absences.take(event));
    let worked = absences.worked(events[0].at, events.last().unwrap().at);
    assert!(worked < Duration::from_secs(3600), "a night is no work: {worked:?}");
}

/// Any number of owners, jumps, suspensions and boots: events in order, the wait never early in real time.
#[tokio::test(start_paused = true)]
async fn whatever_the_clocks_do_no_timer_is_early() {
    let rounds = std::env::var("CONVOKE_CLOCKS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    for seed in 0..rounds {
        let (world, mut random) = (World::new(), Random::new(seed));
        let (plan, journal) = (waits(), Memory::new());
        let (mut start, mut booted) = (fresh(&plan), false);
        loop {
            let seconds = 1 + random.below(900);
            // Half of the owners see the date change under them.
            if random.below(2) == 0 {
                let jump = if random.below(2) == 0 { DAY as i64 } else { -(HOUR as i64) };
                jumps_after(&world, Duration::from_secs(random.below(seconds)), jump);
            }
            let outcome =
                drive_on(world.clock(), &plan, journal.reopen(), start, Some(Duration::from_secs(seconds)))
                    .await;
            if outcome.status == RunStatus::Succeeded {
                break;
            }
            match random.below(4) {
                0 => world.jump(DAY as i64),
                1 => world.jump(-(HOUR as i64)),
                2 => world.sleep(random.below(600) * SECOND),
                _ => {
                    world.reboot();
                    booted = true;
                }
            }
            start = Start::Resume(Changes::None);
        }
        let events = journal.read_all().unwrap();
        in_order(&events);
        let took = world.real() - waits_since(&journal);
        // After a boot only the date can tell how long it took.
        assert!(booted || took >= HOUR, "seed {seed}: an hour was over after {} s", took / SECOND);
    }
}
