//! What is kept on a read-only disk can be looked at, but not run.

use crate::common;

use common::{Small, notes};
use convoke_journal::{Error, Index, Journal, Reader, StateDir, Unsuitable, verify};

#[test]
fn a_finished_run_can_be_read_where_nothing_can_be_written() {
    let Some(small) = Small::mount() else { return };
    let disk = small.disk();
    let mut owner = disk.create();
    owner.append(&notes(1..9), &[], &[]).unwrap();
    drop(owner);
    small.freeze();

    let refused = StateDir::open(disk.state.path()).unwrap_err();
    assert!(matches!(refused, Error::StateDir { why: Unsuitable::ReadOnly, .. }), "{refused}");
    let state = StateDir::for_reading(disk.state.path());
    assert_eq!(Reader::open(&state, &disk.run).unwrap().read_all().unwrap(), notes(1..9));
    assert_eq!(verify(&state, &disk.run).unwrap().events, 8);
    assert_eq!(Index::open(&state).unwrap().list().unwrap()[0].id, disk.run);
}
