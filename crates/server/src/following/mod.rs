//! Followers: each run that is looked at is folded once, whatever the number of those that look.
//!
//! One thread reads on in all journals that are followed, often where something happens and seldom where nothing does, and tells that
//! something has changed ([`Hub::changes`]). A follower that is of no use to any caller is dropped after a while, and begins again when it is
//! wanted. The `board` does the same for the list of all runs and their open questions.

mod board;
mod events;
mod follower;
mod hub;
mod keeper;
mod usage;

pub(crate) use board::{Gone, Listed};
pub(crate) use follower::{Follower, Seen};
pub(crate) use hub::{Hub, waiting};
