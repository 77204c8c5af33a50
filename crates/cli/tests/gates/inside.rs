//! A step does not answer for the person that its run asks, however it starts the command.

use crate::support::World;
use crate::support::journal::Events;
use crate::support::process::until;
use serde_json::json;

/// Steps see the state folder, as a person may have it: what is refused then is not refused by the sandbox.
fn in_sight(world: World) -> World {
    world.env("CONVOKE_SANDBOX_STATE", "visible")
}

/// The run asks while a script of it tries to answer, in the given way. What it was told is in `said`, the codes in `codes`.
fn trying(way: &str) -> World {
    let convoke = env!("CARGO_BIN_EXE_convoke");
    let world = World::with_workflow(
        "
workflow: {name: w, entry_point: both}
parallel: [{name: both, agents: [ask, sly]}]
agents:
  - {name: ask, type: human_gate, prompt: 'go?', options: [{label: Y, value: y}]}
  - {name: sly, type: script, command: sh, args: [try.sh]}
output: {said: '{{ both.outputs.ask.selected }}'}
",
    );
    // It waits until its own run asks, and until the command, which may be nobody's child, has ended.
    let script = format!(
        "
until {convoke} answer last --format json 2>/dev/null | grep -q ask~1; do sleep 0.02; done
cat >inner.sh <<'END'
{convoke} answer last both/ask y >>said 2>&1; echo $? >>codes
{convoke} stop last >>said 2>&1; echo $? >>codes
{convoke} guide last do it >>said 2>&1; echo $? >>codes
{convoke} resume last --skip-gates >>said 2>&1; echo $? >>codes
{convoke} prune >>said 2>&1; echo $? >>codes
{convoke} fork last --skip-gates >>said 2>&1; echo $? >>codes
{convoke} fork last --repeat-effects >>said 2>&1; echo $? >>codes
{convoke} run w.yaml --reuse last --skip-gates >>said 2>&1; echo $? >>codes
{convoke} resume last --budget 5 >>said 2>&1; echo $? >>codes
echo >done
END
{way}
until [ -e done ]; do sleep 0.02; done
"
    );
    world.write("try.sh", script);
    in_sight(world)
}

#[track_caller]
fn is_refused(way: &str) {
    let world = trying(way);
    world.convoke(&["run", "w.yaml"]).exits(5);
    assert_eq!(world.read("codes"), "24\n".repeat(9), "{way}: {}", world.read("said"));
    assert!(world.read("said").contains("started by a step of a run"), "{}", world.read("said"));
    let run = world.run();
    assert_eq!(Events::of(&world, &run).count("gate_answered"), 0, "{way}");
    let ended = world.convoke(&["answer", &run, "both/ask", "y", "--resume"]).exits(0);
    assert_eq!(ended.json(), json!({"said": "y"}), "a person may, from outside");
}

#[test]
fn a_script_does_not_answer_its_own_gate() {
    is_refused("sh inner.sh");
}

#[test]
fn taking_the_mark_out_of_the_environment_does_not_help() {
    is_refused("env -u CONVOKE_COMMAND sh inner.sh");
    is_refused("env -i PATH=\"$PATH\" HOME=\"$HOME\" CONVOKE_STATE_DIR=\"$CONVOKE_STATE_DIR\" sh inner.sh");
}

#[test]
fn a_session_of_its_own_does_not_help() {
    is_refused("setsid env -u CONVOKE_COMMAND sh inner.sh");
}

#[test]
fn a_double_fork_does_not_help() {
    is_refused("(setsid env -u CONVOKE_COMMAND sh inner.sh </dev/null >/dev/null 2>&1 &) &");
}

#[test]
fn nohup_does_not_help() {
    is_refused("nohup env -u CONVOKE_COMMAND sh inner.sh >/dev/null 2>&1 &");
}

/// A run asks, and a program that is told of it answers, in this way.
fn answering(way: &str, place: &str) -> World {
    let convoke = env!("CARGO_BIN_EXE_convoke");
    let world = World::with_workflow(
        "
workflow: {name: w, entry_point: sly}
agents:
  - {name: sly, type: script, command: sh, args: [-c, 'cp notify.toml convoke.toml'], routes: [{to: ask}]}
  - {name: ask, type: human_gate, prompt: 'go?', options: [{label: Y, value: y, route: later}]}
  - {name: later, type: script, command: sh, args: [-c, 'true']}
output: {said: '{{ ask.output.selected }}'}
",
    );
    let script = format!("{convoke} answer \"$CONVOKE_RUN\" ask y >said 2>&1; echo $? >code");
    world.write("told.sh", script);
    world.write(place, format!("[notify]\ncommand = ['sh', '-c', \"\"\"{way}\"\"\"]\n"));
    world
}

/// The person's own program is told of the gate, and counts as one that the run started.
#[test]
fn a_program_that_is_told_of_a_gate_does_not_answer_it() {
    for way in
        ["sh told.sh", "env -u CONVOKE_COMMAND sh told.sh", "(setsid env -u CONVOKE_COMMAND sh told.sh &) &"]
    {
        let world = answering(way, "user.toml");
        let file = world.work().join("user.toml").display().to_string();
        let world = world.env("CONVOKE_CONFIG", &file);
        world.write("notify.toml", "");
        world.convoke(&["run", "w.yaml"]).exits(5);
        until("it was told", || world.read("code").ends_with('\n'));
        assert_eq!(world.read("code"), "24\n", "{way}: {}", world.read("said"));
        assert_eq!(Events::of(&world, &world.run()).count("gate_answered"), 0, "{way}");
    }
}

/// A step writes the project's file, and the next process of the run reads it.
#[test]
fn a_step_names_no_program_that_is_told_of_its_gate() {
    let world = answering("sh told.sh", "notify.toml");
    world.convoke(&["run", "w.yaml"]).exits(5);
    assert!(world.work().join("convoke.toml").exists(), "the step wrote it");
    let again = world.convoke(&["resume", &world.run()]).exits(5);
    assert!(again.stderr.contains("convoke.toml:2: `notify.command` does not count"), "{}", again.stderr);
    assert!(!world.work().join("code").exists(), "nothing was started: {}", world.read("said"));
    assert_eq!(Events::of(&world, &world.run()).count("gate_answered"), 0);
}

/// A step may start runs of its own, and look at runs.
#[test]
fn a_step_may_start_runs() {
    let convoke = env!("CARGO_BIN_EXE_convoke");
    let world = World::with_workflow(&format!(
        "
workflow: {{name: w, entry_point: s}}
agents: [{{name: s, type: script, command: sh, args: [-c, '{convoke} run inner.yaml && {convoke} runs >/dev/null']}}]
output: {{said: '{{{{ s.output.stdout }}}}'}}
"
    ));
    let world = in_sight(world);
    world.write("inner.yaml", "workflow: {name: i, entry_point: a}\nagents: [{name: a, type: set, value: '1'}]\noutput: {n: '{{ a.output }}'}\n");
    let said = world.convoke(&["run", "w.yaml"]).exits(0).json();
    assert!(said["said"].to_string().contains('n'), "{said}");
}
