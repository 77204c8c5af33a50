//! The router over plain values: what it decides, in which order, and that it always comes to an end.

mod anything;
mod failures;
mod honesty;
mod order;
mod plans;
mod play;
mod rounds;
mod spawning;
