//! 300 agents that ask a service over HTTP, 200 ms each: how close to five rounds of 200 ms, at what cost.

use crate::child::{self, Spent};
use crate::error::Error;
use crate::figure::Figure;
use crate::rounds::interleave;
use crate::served::Served;
use crate::workflow;
use crate::workshop::Workshop;

pub const NAME: &str = "network";

const COUNT: u32 = 300;
const LIMIT: u32 = 60;
const LATENCY_MS: u64 = 200;
/// Five rounds of agents, 200 ms each.
const IDEAL: f64 = 1.0;

/// The cases, by how many agents there are and how many at once.
const CASES: &[(u32, u32)] = &[(COUNT, LIMIT), (COUNT, COUNT), (1, 1)];

/// The service is a process of its own, and its work is not counted.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    let service = Served::start(workshop, LATENCY_MS, None)?;
    let provider = format!("{{name: vllm, base_url: \"{}\"}}, default_model: m", service.base_url);
    workshop.write("network.yaml", &workflow::flat(&provider))?;
    let taken = interleave(workshop.rounds.many, CASES, |(count, limit)| agents(workshop, *count, *limit))?;
    workshop.tidy();
    let [limited, at_once, one] = &taken[..] else { unreachable!("three cases were measured") };
    // The case without a limit shows that the service can see more than the limit allows.
    let peak = service.end()?.peak;
    if peak != u64::from(COUNT) {
        return Err(Error::Odd(format!("{COUNT} agents at once were {peak} requests at once")));
    }
    let over = |spent: &Spent| spent.wall.as_secs_f64() / IDEAL;
    let cpu = |spent: &Spent| spent.cpu.as_secs_f64() * 1e3 / f64::from(COUNT);
    let held = at_once
        .iter()
        .zip(one)
        .map(|(many, one)| (many.peak_bytes as f64 - one.peak_bytes as f64) / 1e3 / f64::from(COUNT - 1));
    Ok(vec![
        Figure::new(NAME, "60 at once, whole command, over 1 s", "×", limited.iter().map(over).collect())
            .at_most(1.10),
        Figure::new(NAME, "CPU per agent, HTTP and start included", "ms", limited.iter().map(cpu).collect())
            .at_most(2.0),
        Figure::new(NAME, "memory per agent that waits for its answer", "KB", held.collect()).at_most(100.0),
    ])
}

fn agents(workshop: &Workshop, count: u32, limit: u32) -> Result<Spent, Error> {
    let items: Vec<_> = (0..count).collect();
    let items = format!("items={}", serde_json::to_string(&items).expect("numbers are JSON"));
    let mut command = workshop.convoke(limit, &["--quiet", "run", "network.yaml", "-i", &items]);
    let (spent, output) = child::run(&mut command)?;
    crate::workshop::expect_done(&output, count)?;
    Ok(spent)
}
