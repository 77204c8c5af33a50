//! What the runtime alone takes: the limit of what can be reached.

use crate::child::{Meter, Spent};
use crate::error::Error;
use std::hint::black_box;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// Spawns `count` tasks that give a number, and waits for all.
pub fn run(count: u32) -> Result<Spent, Error> {
    let runtime = Builder::new_current_thread().build().map_err(Error::io("start", "runtime".as_ref()))?;
    let meter = Meter::start();
    black_box(runtime.block_on(spawn(count)));
    Ok(meter.spent())
}

async fn spawn(count: u32) -> u64 {
    let mut tasks: JoinSet<u64> = (0..count).map(|n| async move { black_box(u64::from(n)) }).collect();
    let mut sum = 0;
    while let Some(Ok(n)) = tasks.join_next().await {
        sum += n;
    }
    sum
}
