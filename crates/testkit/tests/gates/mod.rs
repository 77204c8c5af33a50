//! Questions to people, wherever they stand in a run, over crashes.
//!
//! `peers` holds the bugs that users of other engines reported about several questions at once, one test for each;
//! `nestings` crashes a run with questions in every kind of nesting after every commit.

mod kit;
mod nestings;
mod peers;
mod timeouts;
