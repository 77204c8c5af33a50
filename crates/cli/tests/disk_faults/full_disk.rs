//! A small file system has so much room left and no more: the run is blocked at that moment, whichever it is, and goes on when there is
//! room.
#![allow(clippy::print_stderr, reason = "what was counted is for people")]

use super::world::{Judged, result, world};
use crate::support::disk::SmallDisk;
use crate::support::process::until;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// The least that a file grows by.
const PAGE: u64 = 4096;

/// More than this the run does not take.
const PAGES: u64 = 90;

/// Of these, what the sample leaves: nothing, and what is used up in the middle of a run.
const FEW: [u64; 3] = [0, 68, 76];

/// Takes all room but so much.
fn fill(disk: &Path, left: u64) -> std::path::PathBuf {
    let path = disk.join("filler");
    let mut file = File::create(&path).expect("a file");
    let block = vec![0; PAGE as usize];
    while file.write_all(&block).is_ok() {}
    let length = file.metadata().expect("a file").len();
    file.set_len(length.saturating_sub(left)).expect("it is shortened");
    path
}

#[derive(Default, Debug)]
struct Count {
    tried: u64,
    paused: u64,
    ended: u64,
    untouched: u64,
}

#[test]
fn a_disk_that_is_full_at_any_moment_blocks_the_run_which_goes_on() {
    let all = std::env::var("CONVOKE_FULL_DISKS").is_ok_and(|told| told == "all");
    let moments: Vec<u64> = if all { (0..=PAGES).collect() } else { FEW.to_vec() };
    let mut count = Count::default();
    for pages in moments {
        if !full_with(pages * PAGE, &mut count) {
            return;
        }
    }
    eprintln!("{count:?}");
    assert_eq!(count.tried, count.paused + count.ended + count.untouched);
    assert!(!all || count.paused > 0, "no moment was in the middle of the run");
}

/// False if no file system can be made.
fn full_with(left: u64, count: &mut Count) -> bool {
    let world = world();
    let Some(disk) = SmallDisk::mount(&world, "4m") else { return false };
    let state = disk.path().join("state");
    let world = world.env("CONVOKE_STATE_DIR", &state.display().to_string());
    let filler = fill(disk.path(), left);
    let mut process = world.start(&["run", "w.yaml"]);
    until("it pauses or ends", || process.has_said("the run pauses") || process.has_ended());
    let paused = !process.has_ended();
    fs::remove_file(filler).expect("it is there");
    let said = process.wait();
    let mut judged = Judged::new(&world, &state, format!("full with {left} bytes left"));
    count.tried += 1;
    match said.code {
        Some(0) => {
            assert_eq!(said.json(), result(), "{}", judged.name);
            *(if paused { &mut count.paused } else { &mut count.untouched }) += 1;
        }
        Some(74) => {
            assert!(said.stderr.to_lowercase().contains("space"), "{}: no reason\n{said}", judged.name);
            count.ended += 1;
        }
        _ => panic!("{}\n{said}", judged.name),
    }
    judged.goes_on();
    true
}
