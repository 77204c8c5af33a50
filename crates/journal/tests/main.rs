//! What the journal promises, on a real disk.
//!
//! One program for all files: each program more is linked, and compiles what they share, once more.

mod archive;
mod common;
mod conformance;
mod crash;
mod damage;
mod flips;
mod format;
mod full_disk;
mod images;
mod index;
mod lines;
mod ownership;
mod project;
mod pruning;
mod read_only;
mod round_trip;
mod snapshots;
mod speed;
