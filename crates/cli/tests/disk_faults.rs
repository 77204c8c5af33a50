//! The disk fails under the whole program: at every call that writes, syncs or renames, by `strace`; and by being full, on a file system of
//! its own.
//!
//! | what fails | what must hold |
//! |---|---|
//! | a write, sync or change of a name (EIO) | nothing that was acknowledged is lost; exit code 74 with the reason, or the file is an aid; what failed to sync is not synced again |
//! | one of them, for want of room (ENOSPC) | the run pauses and goes on by itself; one that cannot begin ends with exit code 74 |
//! | the disk is full for a while | the run is blocked, and goes on when there is room |
//!
//! After each of them the run is resumed to its end: the result is the undisturbed one, the journal goes on behind what it held, and a
//! witness outside the program has no effect twice unless a person allowed it.
//!
//!     CONVOKE_DISK_FAULTS=all cargo test -p convoke --test all disk_faults:: -- --nocapture
//!
//! fails every call of every kind, of a run and of a resume; a sample by a seed unless told. `CONVOKE_DISK_FAULTS=fsync` (or another
//! call) fails every one of that kind.

mod full_disk;
mod injected;
mod world;
