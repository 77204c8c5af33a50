//! 300 agents against a service with a hidden limit of 40: how much of what it can do is used, and how often it says no.

use crate::child;
use crate::error::Error;
use crate::figure::Figure;
use crate::served::Served;
use crate::workflow;
use crate::workshop::Workshop;

pub const NAME: &str = "storm";

const CALLS: u32 = 3_000;
const AGENTS: u32 = 300;
const HIDDEN: u64 = 40;
const LATENCY_MS: u64 = 200;

/// What the service can do is used to nine tenths at least, and it says no to a tenth of what it answers at most.
pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    let ideal = f64::from(CALLS) / HIDDEN as f64 * LATENCY_MS as f64 / 1e3;
    let (mut goodput, mut refused) = (vec![], vec![]);
    for _ in 0..workshop.rounds.few {
        let service = Served::start(workshop, LATENCY_MS, Some(HIDDEN))?;
        let provider = format!("{{name: vllm, base_url: \"{}\"}}, default_model: m", service.base_url);
        workshop.write("storm.yaml", &workflow::flat(&provider))?;
        let items: Vec<_> = (0..CALLS).collect();
        workshop.write("items.json", &serde_json::json!({ "items": items }).to_string())?;
        let args = ["--quiet", "run", "storm.yaml", "--input-file", "items.json"];
        let (spent, output) = child::run(&mut workshop.convoke(AGENTS, &args))?;
        crate::workshop::expect_done(&output, CALLS)?;
        goodput.push(spent.wall.as_secs_f64() / ideal);
        refused.push(service.end()?.refused as f64 / f64::from(CALLS) * 100.0);
        workshop.tidy();
    }
    Ok(vec![
        Figure::new(NAME, "over the time that 40 at once take", "×", goodput).at_most(1.0 / 0.9),
        Figure::new(NAME, "answered with 429, of those answered well", "%", refused).at_most(10.0),
    ])
}
