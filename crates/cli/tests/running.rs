//! Runs as a caller sees them: output, words, exit codes.
#![allow(clippy::print_stderr, reason = "a test that cannot run must say so")]

use crate::common;

use common::World;
use insta::assert_snapshot;

const HELLO: &str = "\
workflow:
  name: hello
  entry_point: greet
  input:
    who: {type: string, default: world}
agents:
  - name: greet
    type: script
    command: echo
    args: ['hello {{ workflow.input.who }}']
    routes: [{to: shout}]
  - name: shout
    type: set
    value: '{{ greet.output.stdout | trim | upper }}'
    output_type: string
output:
  said: '{{ shout.output }}'
";

const FAILING: &str = "\
workflow: {name: failing, entry_point: bad}
agents:
  - name: bad
    type: script
    command: no-such-command-anywhere
";

#[test]
fn the_result_is_json_on_stdout_and_nothing_else_is() {
    let said = World::with(HELLO).run(&["run", "w.yaml", "-i", "who=Ada"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "{\n  \"said\": \"HELLO ADA\"\n}\n"));
    assert_snapshot!(said.stderr, @r"
    [TIME] run [RUN] of hello (w.yaml)
    [TIME] greet started
    [TIME] greet done in [TOOK]
    [TIME] greet -> shout
    [TIME] shout done
    hello succeeded in [TOOK]: 2 steps (run [RUN])
    ");
}

#[test]
fn quiet_says_how_it_ended_and_silent_nothing() {
    let world = World::with(HELLO);
    assert_snapshot!(world.run(&["run", "w.yaml", "-q"]).stderr, @"hello succeeded in [TOOK]: 2 steps (run [RUN])");
    let silent = world.run(&["-s", "run", "w.yaml"]);
    assert_eq!((silent.stderr.as_str(), silent.code), ("", 0));
    assert!(silent.stdout.contains("HELLO WORLD"));
}

#[test]
fn a_failed_run_names_step_class_and_way_on() {
    let said = World::with(FAILING).run(&["run", "w.yaml", "-q"]);
    assert_eq!((said.code, said.stdout.as_str()), (1, ""));
    assert!(said.stderr.contains("error: step `bad`"), "{}", said.stderr);
    assert!(said.stderr.contains("no-such-command-anywhere"), "{}", said.stderr);
    assert!(said.stderr.contains("(fatal"), "{}", said.stderr);
    assert!(said.stderr.ends_with("hint: convoke resume [RUN]"), "{}", said.stderr);
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let world = World::with(HELLO);
    for args in
        [&["run"][..], &["run", "w.yaml", "-i", "who"], &["frobnicate"], &["run", "w.yaml", "-q", "-s"]]
    {
        assert_eq!(world.run(args).code, 2, "{args:?}");
    }
}

#[test]
fn inputs_that_do_not_fit_are_refused_together() {
    let said = World::with(HELLO).run(&["run", "w.yaml", "-i", "whom=x", "-i", "age=3"]);
    assert_eq!(said.code, 3);
    assert_snapshot!(said.stderr, @r"
    error: input `whom` is not declared by this workflow
      caused by: input `age` is not declared by this workflow
    hint: whom: did you mean `who`?
    hint: age: this workflow takes who
    hint: give inputs with -i NAME=VALUE or --input-file FILE
    ");
}

#[test]
fn inputs_come_from_a_file_too() {
    let world = World::with(HELLO);
    world.write("in.yaml", "who: Grace\n");
    assert!(world.run(&["run", "w.yaml", "--input-file", "in.yaml"]).stdout.contains("HELLO GRACE"));
    assert_eq!(world.run(&["run", "w.yaml", "--input-file", "none.yaml"]).code, 3);
}

#[test]
fn a_dry_run_spends_nothing() {
    let world = World::with(HELLO);
    let said = world.run(&["run", "w.yaml", "--dry-run"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""));
    assert_snapshot!(said.stderr, @r#"
    hello (w.yaml)
      level 1
        greet                        script
      level 2
        shout                        set         after greet
      critical path: greet -> shout
      parallelism: 1.00 (2 steps, longest chain 2)
      limits: 10 visits of a step, 100000 tasks
    inputs: {"who":"world"}
    at most 60 attempts at once
    estimate: at least 1 task and 0 model calls
    nothing was run (--dry-run)
    "#);
    assert!(!world.state().exists());
}

#[test]
fn agents_without_a_provider_are_refused_with_advice() {
    let world =
        World::with("workflow: {name: a, entry_point: a}\nagents:\n  - {name: a, prompt: hi, model: m}\n");
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!((said.code, said.stdout.as_str()), (3, ""));
    for word in ["no provider is set", "-p openai", "OPENAI_API_KEY", "-p scripted", "convoke.toml"] {
        assert!(said.stderr.contains(word), "no {word} in {}", said.stderr);
    }
    let keyless = world.run(&["run", "w.yaml", "-p", "openai"]);
    assert_eq!(keyless.code, 3);
    assert!(keyless.stderr.contains("OPENAI_API_KEY"), "{}", keyless.stderr);
    let other = world.run(&["run", "w.yaml", "-p", "copilot"]);
    assert_eq!(other.code, 3);
    assert!(other.stderr.contains("[providers.copilot]"), "{}", other.stderr);
}

#[test]
fn the_journal_says_that_another_model_answered() {
    let world = World::with(
        "workflow: {name: a, entry_point: a, runtime: {provider: {name: scripted, file: replies.yaml}}}\nagents:\n  - {name: a, prompt: hi, models: [big, small]}\noutput: {said: '{{ a.output.result }}'}\n",
    );
    world.write("replies.yaml", "replies: {a: [{status: 429}, hello]}\n");
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "{\n  \"said\": \"hello\"\n}\n"), "{}", said.stderr);
    let run = world.run(&["runs", "--format", "json"]).stdout;
    let run: serde_json::Value = serde_json::from_str(&run).expect("JSON");
    let run = run[0]["id"].as_str().expect("a run").to_owned();
    let events = world.run(&["events", &run, "--format", "json"]).stdout;
    let notes: Vec<_> = events.lines().filter(|line| line.contains("model_fallback")).collect();
    assert_eq!(notes.len(), 1, "{events}");
    assert!(
        notes[0].contains("model `big` gave no answer (rate_limit") && notes[0].contains("asking `small`")
    );
    assert!(!events.contains("attempt_failed"), "{events}");
}

#[test]
fn a_scripted_provider_answers_offline() {
    let world = World::with(
        "workflow: {name: a, entry_point: a}\nagents:\n  - {name: a, prompt: hi}\noutput: {said: '{{ a.output.result }}'}\n",
    );
    world.write("replies.yaml", "a: [well met]\n");
    world.write("convoke.toml", "[provider]\nname = 'scripted'\nfile = 'replies.yaml'\n");
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "{\n  \"said\": \"well met\"\n}\n"), "{}", said.stderr);
}

#[test]
fn a_limit_that_is_reached_has_its_own_code() {
    let looping = "\
workflow:
  name: loop
  entry_point: a
  limits: {max_iterations: 3}
agents:
  - {name: a, type: set, value: x, routes: [{to: a}]}
";
    let said = World::with(looping).run(&["run", "w.yaml"]);
    assert_eq!(said.code, 4, "{}", said.stderr);
    assert!(said.stderr.contains("max_iterations"), "{}", said.stderr);
}

#[test]
fn a_prompt_of_ten_megabytes_is_no_problem() {
    let world =
        World::with("workflow: {name: big, entry_point: a}\nagents:\n  - {name: a, prompt: !file big.txt}\n");
    world.write("big.txt", "x".repeat(10_000_000));
    let said = world.run(&["run", "w.yaml", "-p", "scripted", "-q"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
}

#[test]
fn the_configuration_says_where_each_value_came_from() {
    let world = World::new();
    world.write(
        "convoke.toml",
        "machine_concurrency = 3\n[limits.models.'openai/gpt-5.2']\nconcurrency = 2\n",
    );
    let said = world.run(&["config", "show", "-q"]);
    let values = said.stdout.lines().filter(|line| !line.starts_with('#'));
    let shown: Vec<_> = values.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_snapshot!(world.comparable(&shown.join("\n")), @r#"
    color = "auto" # default
    disk_wait_seconds = 600 # default
    lease_seconds = 10 # default
    machine_concurrency = 3 # convoke.toml:1
    notify.bell = true # default
    notify.desktop = false # default
    notify.stall_minutes = 15 # default
    pipelines.recursive_depth = 3 # default
    pipelines.relationship_children = 4 # default
    pipelines.topology_depth = 4 # default
    pipelines.topology_retries = 2 # default
    retention.every = "1d" # default
    run.quiet = true # flag --quiet
    run.strict = false # default
    sandbox.level = "trusted" # default
    sandbox.state = "hidden" # default
    telemetry.contents = false # default
    telemetry.service_name = "convoke" # default
    limits.models.openai/gpt-5.2.concurrency = 2 # convoke.toml:3
    state_dir = "[DIR]/state" # environment variable CONVOKE_STATE_DIR
    "#);
    assert_eq!(said.stderr, "");
}

#[test]
fn runs_tasks_presets_and_providers_are_completed() {
    let world = World::with(HELLO);
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    let run = world.newest();
    let complete = |words: &[&str]| world.run(&[&["complete", "--"], words].concat()).stdout;
    assert_eq!(complete(&["show", ""]), format!("last\n{run}\n"));
    assert_eq!(complete(&["-q", "events", ""]), format!("last\n{run}\n"));
    assert_eq!(complete(&["show", "last", ""]), "greet\nshout\n");
    assert!(complete(&["run", "preset:"]).lines().all(|name| name.starts_with("preset:")));
    assert!(!complete(&["run", "preset", ":", "r"]).contains("preset:"), "bash takes the colon for a word");
    let providers = complete(&["run", "w.yaml", "-p", ""]);
    assert!(
        providers.lines().any(|name| name == "anthropic") && providers.contains("scripted"),
        "{providers}"
    );
    let runs = format!("last\n{run}\n");
    for words in [
        &["fork", ""][..],
        &["diff", ""],
        &["diff", "last", ""],
        &["replay", ""],
        &["export", ""],
        &["resume", ""],
        &["repair", ""],
        &["verify", ""],
        &["stop", ""],
        &["attach", ""],
        &["guide", ""],
        &["run", "w.yaml", "--reuse", ""],
    ] {
        assert_eq!(complete(words), runs, "{words:?}");
    }
    for words in [
        &["fork", "last", "--at", ""][..],
        &["replay", "last", "--from", ""],
        &["replay", "last", "--speed", "2", "--to", ""],
        &["diff", "last", &run, "--task", ""],
    ] {
        assert_eq!(complete(words), "greet\nshout\n", "{words:?}");
    }
    assert_eq!(complete(&["export", "last", ""]), "", "a file to write");
    let learned = serde_json::json!({"services": {"model:openai/m": {"limit": 7, "at": 1}}});
    std::fs::write(world.state().join("learned.json"), learned.to_string()).expect("a file");
    assert_eq!(complete(&["capacity", "forget", ""]), "model:openai/m\n");
    assert_eq!(complete(&["run", ""]), "", "files are the shell's business");
    assert_eq!(complete(&["show", "--"]), "", "flags are in the script");
}

/// What a shell prints when it runs a script with our completions sourced from `./completions`; nothing, with a line that says so,
/// where that shell is not installed.
fn with_completions(world: &World, shell: &str, args: &[&str], script: &str) -> Option<String> {
    world.write("completions", world.run(&["completions", shell]).stdout);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_convoke"));
    let folders = [program.parent().expect("it lies in a folder").display().to_string()];
    let path = folders.into_iter().chain(std::env::var("PATH")).collect::<Vec<_>>().join(":");
    // A shell that waits for words that never come is ended.
    let output = std::process::Command::new("timeout")
        .args(["120", shell])
        .args(args)
        .arg(script)
        .current_dir(world.path(""))
        .env("CONVOKE_STATE_DIR", world.state())
        .env("HOME", world.path(""))
        .env("PATH", path)
        .output();
    let output = output.ok().filter(|output| !matches!(output.status.code(), Some(126 | 127)));
    if output.is_none() {
        eprintln!("skipped: {shell} is not installed");
    }
    let output = output?;
    assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn bash_completes_what_the_program_names() {
    let world = World::with(HELLO);
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    let script = "source ./completions; COMP_WORDS=(convoke show 20); COMP_CWORD=2; _convoke_names convoke 20 show; echo \"${COMPREPLY[*]}\"";
    let Some(said) = with_completions(&world, "bash", &["--norc", "-c"], script) else { return };
    assert_eq!(said.trim(), world.newest());
}

#[test]
fn fish_completes_runs_steps_presets_and_providers() {
    let world = World::with(HELLO);
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    let run = world.newest();
    let completed = |line: &str| {
        let script = format!("source ./completions; complete -C '{line}'");
        with_completions(&world, "fish", &["--no-config", "-c"], &script)
    };
    let Some(runs) = completed("convoke resume ") else { return };
    assert_eq!(runs, format!("last\n{run}\n"));
    assert_eq!(completed("convoke show last ").unwrap(), "greet\nshout\n");
    assert!(completed("convoke run preset:").unwrap().contains("preset:red_team"));
    let providers = completed("convoke run w.yaml -p ").unwrap();
    assert!(providers.contains("anthropic\n") && !providers.contains("w.yaml"), "{providers}");
    assert!(completed("convoke sho").unwrap().starts_with("show\t"), "commands are in the script");
}

#[test]
fn zsh_completes_runs_steps_presets_and_providers() {
    let world = World::with(HELLO);
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    let run = world.newest();
    // A terminal of zsh's own: each line is typed with a tab at its end, until what it becomes is on the screen.
    let lines = [
        (format!("convoke resume {}", &run[..run.len() - 3]), run.clone()),
        ("convoke show last gr".into(), "greet".into()),
        ("convoke run preset:red".into(), "preset:red_team".into()),
        ("convoke run w.yaml -p scri".into(), "scripted".into()),
        ("convoke sho".into(), "show".into()),
    ];
    let typed: String = lines
        .iter()
        .map(|(line, becomes)| {
            format!("zpty -w -n z $'{line}\\t'; zpty -r z x '*{becomes}*' || exit 1; print -r -- '{becomes}'; zpty -w -n z $'\\C-u'; ")
        })
        .collect();
    let script = format!(
        "zmodload zsh/zpty || exit 127; zpty z zsh -f -i; \
         zpty -w z \"PS1='> '; autoload -U compinit; compinit -u -D; source ./completions; echo rea''dy\"; \
         zpty -r z x '*ready*' || exit 1; {typed} zpty -d z"
    );
    let Some(said) = with_completions(&world, "zsh", &["-f", "-c"], &script) else { return };
    let expected: Vec<&str> = lines.iter().map(|(_, becomes)| becomes.as_str()).collect();
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn trying_a_file_out_starts_no_server_that_no_reply_calls() {
    let world = World::with(
        "workflow:
  name: w
  entry_point: a
  runtime:
    provider: openai
    mcp_servers:
      missing: {command: no-such-program-anywhere}
      absent: {command: no-such-program-either}
agents: [{name: a, prompt: hi}]
output: {said: '{{ a.output.result }}'}
",
    );
    let said = world.run(&["run", "w.yaml", "-p", "scripted"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    // A known secret, which is masked on the way to the provider, does not stand in between.
    let mut command = world.command(&["run", "w.yaml", "-p", "scripted"]);
    let said = world.said(command.env("SHOP_TOKEN", "tok-4f9a77c1b2d3").output().unwrap());
    assert_eq!(said.code, 0, "{}", said.stderr);
    world.write("convoke.toml", "[providers.trial]\nname = 'scripted'\nfile = 'replies.yaml'\n");
    world.write("replies.yaml", "a: [{tool_calls: [{name: missing__look}]}, done]\n");
    let said = world.run(&["run", "w.yaml", "-p", "trial"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(
        said.stderr.contains("missing") && !said.stderr.contains("absent"),
        "only it is started: {}",
        said.stderr
    );
}

#[test]
fn completions_manual_and_schema_can_be_made() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(world.run(&["completions", shell]).stdout.contains("convoke"), "{shell}");
    }
    assert!(world.run(&["man"]).stdout.contains("CONVOKE_STATE_DIR"));
    assert_eq!(world.run(&["man", "pages"]).code, 0);
    assert!(world.path("pages/convoke-run.1").is_file());
    let schema: serde_json::Value = serde_json::from_str(&world.run(&["schema"]).stdout).unwrap();
    assert!(schema.get("$schema").is_some() || schema.get("properties").is_some());
}

#[test]
fn a_script_that_falls_silent_fails_by_its_limit_and_is_tried_again() {
    let world = World::with(
        "\
workflow: {name: quiet, entry_point: watch}
agents:
  - name: watch
    type: script
    command: sh
    args: [-c, 'echo attempt >> tries; echo begun; read word < gate']
    timeouts: {idle: 200ms}
    retry: {max_attempts: 2, retry_on: [timeout], delay_seconds: 0}
",
    );
    world.write("tries", "");
    let made = std::process::Command::new("mkfifo").arg(world.path("gate")).status();
    assert!(made.expect("mkfifo is there").success());
    let said = world.run(&["run", "w.yaml", "-q"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    let words = "step `watch`: command `sh` wrote nothing for [TOOK] (timeouts.idle) (timeout, idle_timeout)";
    assert!(said.stderr.contains(words), "{}", said.stderr);
    assert_eq!(std::fs::read_to_string(world.path("tries")).unwrap().lines().count(), 2);
}
