//! The journal on a real disk: what an acknowledged append takes, many events in one commit, and opening long journals.

use crate::disk;
use crate::error::Error;
use crate::figure::Figure;
use crate::inner::Job;
use crate::journals::{self, Growth};
use crate::rounds::median;
use crate::workshop::Workshop;
use convoke_journal::Journal;
use std::path::PathBuf;
use std::time::Instant;

pub const NAME: &str = "durable";

const PROBES: usize = 500;
/// Commits of one event.
const SINGLE: usize = 2_000;
/// Commits of many events, and how many: each attempt of a run waits for its own event before it goes on.
const GROUPS: usize = 400;
const AT_ONCE: u64 = 300;

/// Appends against the disk's own durable writes, then opening.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    let mut figures = appends(workshop)?;
    figures.extend(openings(workshop)?);
    workshop.tidy();
    Ok(figures)
}

fn appends(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    let (mut single, mut grouped, mut each, mut sync) = (vec![], vec![], vec![], vec![]);
    for _ in 0..workshop.rounds.some {
        let mut journal = journals::create(&workshop.path("appends"))?;
        let mut probes = disk::syncs(workshop.place(), PROBES)?;
        let ones = commits(&mut journal, SINGLE, 1)?;
        let many = commits(&mut journal, GROUPS, AT_ONCE)?;
        probes.extend(disk::syncs(workshop.place(), PROBES)?);
        drop(journal);
        let _ = std::fs::remove_dir_all(workshop.path("appends"));
        let one_sync = disk::sync_time(&probes);
        sync.push(one_sync * 1e3);
        each.push(many.iter().sum::<f64>() / (many.len() as u64 * AT_ONCE) as f64 * 1e6);
        single.push([median(&ones), at_most(&ones, 0.99)].map(|time| time / one_sync));
        grouped.push([median(&many), at_most(&many, 0.99)].map(|time| time / one_sync));
    }
    let part = |of: &[[f64; 2]], at: usize| of.iter().map(|pair| pair[at]).collect::<Vec<_>>();
    let per_sync = |name: &str, samples| Figure::new(NAME, name, "×", samples);
    Ok(vec![
        Figure::new(NAME, "time per event, 300 in each commit (50 µs is 20 000 a second)", "µs", each)
            .at_most(50.0),
        per_sync("an append of one event, p99 over the median fdatasync", part(&single, 1)).at_most(20.0),
        per_sync("an append of 300 events, p99 over the median fdatasync", part(&grouped, 1)).at_most(20.0),
        per_sync("an append of one event, median over the same", part(&single, 0)),
        per_sync("an append of 300 events, median over the same", part(&grouped, 0)),
        Figure::new(NAME, "fdatasync of 4 KiB, median", "ms", sync),
    ])
}

/// What each of some commits took, in seconds.
fn commits(journal: &mut dyn Journal, times: usize, count: u64) -> Result<Vec<f64>, Error> {
    let one = |_| {
        let events = journals::small_events(journal.next_seq(), count);
        let started = Instant::now();
        journal.append(&events, &[], &[])?;
        Ok(started.elapsed().as_secs_f64())
    };
    (0..times).map(one).collect()
}

/// The time that a part of the commits took at most.
fn at_most(times: &[f64], part: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() as f64 * part).ceil() as usize).clamp(1, sorted.len()) - 1]
}

const SHORT: u64 = 100_000;
const LONG: u64 = 1_000_000;

fn openings(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    let mut figures = Vec::new();
    for (growth, bound) in [(Growth::More, Some(2.0)), (Growth::Longer, Some(2.0)), (Growth::FanOut, None)] {
        let folder = |events: u64| workshop.path(&format!("open-{events}"));
        // In children: the kernel charges a child with the memory that its parent had when it forked.
        for events in [SHORT, LONG] {
            workshop.inner(&Job::WriteJournal { state: folder(events), growth, events })?;
        }
        let mut taken = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..workshop.rounds.some {
            for (times, (events, snapshots)) in
                taken.iter_mut().zip([(SHORT, true), (LONG, true), (LONG, false)])
            {
                times.push(open(workshop, folder(events), snapshots)?);
            }
        }
        let ratio = super::ratios(&taken[1], &taken[0]);
        let ratio = Figure::new(
            NAME,
            format!("opening 1 000 000 events over 100 000: {}", growth.words()),
            "×",
            ratio,
        );
        figures.push(bound.map_or(ratio.clone(), |bound| ratio.at_most(bound)));
        let [short, long, whole] = taken;
        for (words, samples) in
            [("100 000 events", short), ("1 000 000 events", long), ("1 000 000 events, no snapshots", whole)]
        {
            figures.push(Figure::new(NAME, format!("opening {words}: {}", growth.words()), "ms", samples));
        }
        [SHORT, LONG].iter().for_each(|events| drop(std::fs::remove_dir_all(folder(*events))));
    }
    Ok(figures)
}

fn open(workshop: &Workshop, state: PathBuf, snapshots: bool) -> Result<f64, Error> {
    let spent = workshop.inner(&Job::Open { state, snapshots })?;
    Ok(spent.wall.as_secs_f64() * 1e3)
}
