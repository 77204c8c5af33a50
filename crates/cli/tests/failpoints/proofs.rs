//! Work that must be proven: what was there before it, that it is done, and what its check found are on disk one after the other.

use super::commands::scenario;
use super::scenarios::{Scenario, with_script};

/// All of them.
pub fn all() -> Vec<fn() -> Scenario> {
    vec![proof]
}

/// A script that must change a file, an agent whose output must hold, and a group that must prove what its members did.
fn proof() -> Scenario {
    let file = "
workflow: {name: w, entry_point: first, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: first, type: script, command: sh, args: [act.sh, first], ensure: [{file_changed: witness}], routes: [{to: second}]}
  - {name: second, prompt: p, ensure: [{that: output.result == 'done'}], routes: [{to: both}]}
  - {name: left, type: script, command: sh, args: [act.sh, left]}
  - {name: right, type: script, command: sh, args: [act.sh, right]}
parallel:
  - {name: both, agents: [left, right], ensure: [{file_changed: witness}]}
output: {both: '{{ both.outputs.left.ok }}', said: '{{ second.output.result }}', ok: '{{ first.output.ok }}'}
";
    let world = move || {
        let world = with_script(file);
        world.write("replies.yaml", "default: done\n");
        world
    };
    scenario("proof", world, |driver| driver.drive_to_its_end(&["run", "w.yaml"]).json())
}
