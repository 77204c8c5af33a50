//! A model service in a process of its own, so that its work is nobody else's.

use crate::child::{Meter, Spent};
use crate::error::Error;
use convoke_testkit::{ModelServer, ModelService, Seen};
use std::io::{self, Read, Write};
use std::time::Duration;
use tokio::runtime::Builder;

/// Says its address in one line, answers until standard input ends, then says what it has seen.
pub fn run(latency_ms: u64, most: Option<u64>, faults: u64) -> Result<Spent, Error> {
    let failed = || Error::io("start", "the model service".as_ref());
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed())?;
    let meter = Meter::start();
    let service = ModelService {
        latency: Duration::from_millis(latency_ms),
        answer: "{\"answer\": \"done\"}".into(),
        most,
        faults,
    };
    let seen = runtime.block_on(serve(service)).map_err(failed())?;
    println!("{} {} {}", seen.requests, seen.peak, seen.refused);
    Ok(meter.spent())
}

async fn serve(service: ModelService) -> io::Result<Seen> {
    let server = ModelServer::start(service).await?;
    println!("{}", server.base_url());
    io::stdout().flush()?;
    // Ends when whoever started it closes the pipe, or dies.
    let _ = tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new())).await;
    Ok(server.seen())
}
