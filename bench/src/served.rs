//! A model service in a child process, for as long as it is held.

use crate::error::Error;
use crate::workshop::Workshop;
use convoke_testkit::Seen;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};

/// The child and what it says.
pub struct Served {
    child: Child,
    says: BufReader<ChildStdout>,
    /// Where it is.
    pub base_url: String,
}

impl Served {
    /// Starts one that takes so many at once.
    pub fn start(workshop: &Workshop, latency_ms: u64, most: Option<u64>) -> Result<Served, Error> {
        Served::of(workshop.serve(latency_ms, most, 0)?)
    }

    /// Starts one that takes any number, and refuses so many of a thousand.
    pub fn faulty(workshop: &Workshop, latency_ms: u64, faults: u64) -> Result<Served, Error> {
        Served::of(workshop.serve(latency_ms, None, faults)?)
    }

    fn of(mut child: Child) -> Result<Served, Error> {
        let mut says = BufReader::new(child.stdout.take().expect("it was asked for"));
        let base_url = line(&mut says)?;
        Ok(Served { child, says, base_url })
    }

    /// Ends it; what it has seen.
    pub fn end(mut self) -> Result<Seen, Error> {
        drop(self.child.stdin.take());
        let said = line(&mut self.says)?;
        let numbers: Vec<u64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        match numbers[..] {
            [requests, peak, refused] => Ok(Seen { requests, peak, refused }),
            _ => Err(Error::Odd(format!("the service said `{said}`"))),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn line(says: &mut BufReader<ChildStdout>) -> Result<String, Error> {
    let mut line = String::new();
    says.read_line(&mut line).map_err(Error::io("hear", "the model service".as_ref()))?;
    Ok(line.trim().to_owned())
}
