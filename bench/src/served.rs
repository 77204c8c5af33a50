//! A model service in a child process, for as long as it is held.

use crate::error::Error;
use crate::workshop::Workshop;
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
    /// Starts it.
    pub fn start(workshop: &Workshop, latency_ms: u64) -> Result<Served, Error> {
        let mut child = workshop.serve(latency_ms)?;
        let mut says = BufReader::new(child.stdout.take().expect("it was asked for"));
        let base_url = line(&mut says)?;
        Ok(Served { child, says, base_url })
    }

    /// Ends it; the most requests at once that it has seen.
    pub fn peak(mut self) -> Result<u32, Error> {
        drop(self.child.stdin.take());
        let said = line(&mut self.says)?;
        let peak = said.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        peak.ok_or_else(|| Error::Odd(format!("the service said `{said}`")))
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
