//! Prints how long each filter, operator and method takes on its worst input of four megabytes:
//! `cargo run --release -p convoke-plan --example filter_seconds [WORD]`, of the calls with that word if one is given. What is
//! refused says so; more than two seconds is marked.

#[path = "../src/template/tests/worst.rs"]
mod worst;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use convoke_plan::template::{FILTER_NAMES, RenderFault, Renderer, TemplateId, TemplateSource, from_json};

const BYTES: usize = 4 << 20;
const BOUND: Duration = Duration::from_secs(2);

#[allow(clippy::print_stdout)]
fn main() {
    let names: Vec<&str> = FILTER_NAMES.to_vec();
    let inputs: Vec<_> =
        worst::inputs(BYTES).into_iter().map(|(name, json)| (name, from_json(&json))).collect();
    let mut slow = 0;
    println!("{:<34} {:>9}  worst input", "call", "seconds");
    let word = std::env::args().nth(1).unwrap_or_default();
    let calls = worst::calls(&names).into_iter().chain(worst::QUADRATIC.map(str::to_owned));
    for call in calls.filter(|call| call.contains(&word)) {
        let source = TemplateSource { text: worst::template(&call).into(), base: None };
        let renderer = Renderer::new(&[source], &[], &BTreeMap::new());
        let timed = inputs.iter().map(|(name, value)| {
            let context = convoke_plan::template::Value::from_pairs([("x", value.clone())]);
            let start = Instant::now();
            let rendered = renderer.render(TemplateId(0), context);
            let time = start.elapsed();
            let how = match rendered {
                Ok(_) => "",
                Err(error) if error.fault == RenderFault::Limit => " (refused)",
                Err(_) => " (an error)",
            };
            (time, *name, how)
        });
        let Some((time, input, how)) = timed.max() else { continue };
        slow += usize::from(time > BOUND);
        let mark = if time > BOUND { "  more than 2 s" } else { "" };
        println!("{call:<34} {:>9.3}  {input}{how}{mark}", time.as_secs_f64());
    }
    std::process::exit(i32::from(slow > 0));
}
