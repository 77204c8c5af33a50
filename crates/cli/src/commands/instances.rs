//! `convoke instances`: the processes that share the capacity of a state folder, and how they are.

use super::capacity::{NOTHING_SHARED, look};
use crate::args::Format;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::view::columns::Columns;
use crate::view::format;
use convoke_capacity::{Instance, Liveness};
use serde_json::{Value, json};

/// Lists the processes.
pub fn run(console: &Console, format: Format) -> Result<Exit, CommandFailure> {
    let (_, snapshot) = look(console)?;
    let shared = snapshot.is_some();
    let mut instances = snapshot.map(|snapshot| snapshot.instances).unwrap_or_default();
    // A process that is gone and left nothing behind is a slot that was not reused yet.
    instances.retain(|instance| {
        instance.liveness != Liveness::Dead || instance.leases > 0 || instance.waiting > 0
    });
    match format {
        Format::Json => console.json(&instances.iter().map(record).collect::<Vec<_>>())?,
        Format::Text if !shared => console.say(NOTHING_SHARED),
        Format::Text if instances.is_empty() => console.say("no process takes part at this moment"),
        Format::Text => console.data(&table(&instances))?,
    }
    Ok(Exit::Success)
}

fn table(instances: &[Instance]) -> String {
    let mut table = Columns::new([
        "PID",
        "STATE",
        "RUN",
        "WORKFLOW",
        "TAKES PART FOR",
        "LAST HEARTBEAT",
        "LEASES",
        "WAITING",
    ]);
    for instance in instances {
        table.add_row([
            instance.pid.to_string(),
            state(instance).to_owned(),
            instance.run.clone(),
            instance.label.clone(),
            format::duration(instance.age),
            format!("{} ago", format::duration(instance.silent_for)),
            instance.leases.to_string(),
            instance.waiting.to_string(),
        ]);
    }
    table.text()
}

fn record(instance: &Instance) -> Value {
    json!({
        "pid": instance.pid,
        "state": state(instance),
        "run": instance.run,
        "workflow": instance.label,
        "age_ms": super::capacity::millis(instance.age),
        "silent_for_ms": super::capacity::millis(instance.silent_for),
        "leases": instance.leases,
        "waiting": instance.waiting,
    })
}

/// The word for how a process is.
fn state(instance: &Instance) -> &'static str {
    match instance.liveness {
        Liveness::Dead => "gone",
        _ if instance.stopped => "stopped",
        Liveness::Alive => "running",
        Liveness::Closed => "leaving",
    }
}
