//! What others are told about runs: traces, notices, numbers, logs.

use crate::common::{USER_FILE, World};
use crate::support::receiver::{Fate, Receiver, Taken, spans};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// Four agents side by side, a script, and an answer that is a secret to everybody.
const WORKFLOW: &str = "\
workflow: {name: panel, entry_point: all, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: a, prompt: 'the prompt of a'}
  - {name: b, prompt: 'the prompt of b'}
  - {name: c, prompt: 'the prompt of c'}
  - {name: build, type: script, command: sh, args: ['-c', 'echo traced by $TRACEPARENT']}
parallel:
  - {name: all, agents: [a, b, c, build]}
output: {said: '{{ all.outputs.build.stdout | trim }}'}
";

const REPLIES: &str = "a: a secret answer\nb: another one\nc: a third\n";

fn world(config: &str) -> World {
    let world = World::with(WORKFLOW);
    world.write("replies.yaml", REPLIES);
    world.write("convoke.toml", config);
    world
}

fn traced(receiver: &Receiver, more: &str) -> World {
    world(&format!("[telemetry]\nendpoint = '{}'\n{more}", receiver.url()))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn ids(receiver: &Receiver) -> BTreeMap<Vec<u8>, String> {
    receiver.spans().into_iter().collect()
}

/// Everything that can be sent.
const ALL_SIGNALS: &str = "signals = ['traces', 'metrics', 'logs']";

#[test]
fn metrics_and_log_records_are_sent_where_they_are_asked_for() {
    let receiver = Receiver::start();
    let world = traced(&receiver, ALL_SIGNALS);
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    let paths: HashSet<_> = receiver.taken().into_iter().map(|taken| taken.path).collect();
    assert_eq!(paths, ["/v1/traces", "/v1/metrics", "/v1/logs"].map(str::to_owned).into());
    let names: Vec<_> = receiver.records().into_iter().map(|(_, name)| name).collect();
    let count = |name: &str| names.iter().filter(|known| *known == name).count();
    assert_eq!(count("gen_ai.client.inference.operation.details"), 3, "{names:?}");
    assert_eq!((count("convoke.run_started"), count("convoke.run_finished")), (1, 1), "{names:?}");
    assert_eq!(receiver.counts("gen_ai.client.inference.duration").last(), Some(&3));
    assert_eq!(receiver.counts("gen_ai.invoke_agent.duration").last(), Some(&3));
    let told = json(&world.run(&["doctor", "--format", "json"]).stdout);
    let labels: Vec<_> = told["receivers"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(labels, ["telemetry", "telemetry.metrics", "telemetry.logs"], "{told}");
}

#[test]
fn a_signal_with_a_receiver_of_its_own_goes_there_and_nowhere_else() {
    let (traces, metrics) = (Receiver::start(), Receiver::start());
    let more =
        format!("headers.Authorization = 'Bearer 1'\n[telemetry.metrics]\nendpoint = '{}'", metrics.url());
    let world = traced(&traces, &more);
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    assert!(traces.taken().iter().all(|taken| taken.path == "/v1/traces"));
    let taken = metrics.taken();
    assert!(!taken.is_empty() && taken.iter().all(|taken| taken.path == "/v1/metrics"), "{taken:?}");
    assert!(taken.iter().all(|taken| !taken.headers.contains_key("authorization")));
}

#[test]
fn a_preset_that_takes_traces_alone_says_so() {
    let receiver = Receiver::start();
    let world = traced(&receiver, "preset = 'phoenix'\nsignals = ['traces', 'logs']");
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!(said.code, 0);
    let wanted = "telemetry.logs: nothing is sent: `phoenix` takes traces and no logs: name their receiver in \
                  `telemetry.logs.endpoint`";
    assert!(said.stderr.contains(wanted), "{}", said.stderr);
    assert!(receiver.taken().iter().all(|taken| taken.path == "/v1/traces"));
}

#[test]
fn a_run_leaves_its_trace_when_it_ends() {
    let receiver = Receiver::start();
    let world = traced(&receiver, "headers.Authorization = 'Bearer ${A_KEY}'");
    let output = world.command(&["run", "w.yaml"]).env("A_KEY", "key-4711").output().unwrap();
    let said = world.said(output);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let taken = receiver.taken();
    assert!(taken.iter().all(|taken| taken.path == "/v1/traces"), "{taken:?}");
    assert_eq!(taken[0].headers["authorization"], "Bearer key-4711");
    let all: Vec<_> = taken.iter().flat_map(|taken| spans(&taken.body)).collect();
    let mut names: Vec<_> = all.iter().map(|span| span.name.as_str()).collect();
    names.sort_unstable();
    let wanted = [
        "chat",
        "chat",
        "chat",
        "execute_tool build",
        "invoke_agent a",
        "invoke_agent b",
        "invoke_agent c",
        "invoke_workflow panel",
        "parallel all",
    ];
    assert_eq!(names, wanted);
    // The script was handed the span that stands for it.
    let build = all.iter().find(|span| span.name == "execute_tool build").unwrap();
    let id: String = build.span_id.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(said.stdout.contains(&id), "{} {id}", said.stdout);
    let text = format!("{all:?}");
    assert!(!text.contains("secret answer") && !text.contains("the prompt of"), "{text}");
    let events = world.run(&["events", "last", "--format", "json"]).stdout;
    assert!(!events.contains("key-4711") && !events.contains("A_KEY") && !events.contains(&receiver.url()));
}

#[test]
fn contents_are_sent_where_that_is_asked_for_and_without_keys() {
    let receiver = Receiver::start();
    let world = traced(&receiver, "contents = true");
    world.write("replies.yaml", "a: my key is sk-live-abcdefghijklmnop1234\nb: x\nc: y\n");
    let output =
        world.command(&["run", "w.yaml"]).env("SHOP_API_KEY", "sk-live-abcdefghijklmnop1234").output();
    assert_eq!(world.said(output.unwrap()).code, 0);
    let text = format!("{:?}", receiver.taken().iter().map(|taken| spans(&taken.body)).collect::<Vec<_>>());
    assert!(text.contains("the prompt of a") && text.contains("my key is"), "{text}");
    assert!(!text.contains("abcdefghijklmnop1234"), "{text}");
}

#[test]
fn without_telemetry_a_run_is_as_it_was() {
    let world = world("");
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!(said.stdout.trim(), "{\n  \"said\": \"traced by\"\n}");
    let events = world.run(&["events", "last", "--format", "json"]).stdout;
    assert!(!events.contains("model_called"), "{events}");
    assert!(!world.state().join("follow").exists());
}

#[test]
fn a_receiver_that_is_down_holds_up_no_run_and_misses_nothing() {
    let receiver = Receiver::start();
    let world = traced(&receiver, "");
    for fate in [Fate::Status(503), Fate::Status(429), Fate::Status(302), Fate::Hangs, Fate::Unheard] {
        receiver.usually(fate);
        let said = world.run(&["run", "w.yaml"]);
        assert_eq!(said.code, 0, "{fate:?}: {}", said.stderr);
    }
    let told = json(&world.run(&["doctor", "-p", "scripted", "--format", "json"]).stdout);
    assert_eq!(told["receivers"], serde_json::json!([]), "only providers were asked about");
    let told = json(&world.run(&["doctor", "--format", "json"]).stdout);
    assert!(told["receivers"][0]["problem"].is_string(), "{told}");
    receiver.usually(Fate::Taken);
    let once = world.run(&["follow", "--once", "--format", "json"]);
    assert_eq!(once.code, 0, "{}", once.stderr);
    let roots: HashSet<_> =
        ids(&receiver).into_iter().filter(|(_, name)| name == "invoke_workflow panel").collect();
    assert_eq!(roots.len(), 5);
    assert_eq!(ids(&receiver).len(), 5 * 9);
    assert_eq!(
        json(&world.run(&["doctor", "--format", "json"]).stdout)["receivers"][0]["problem"],
        Value::Null
    );
}

#[test]
fn a_sender_that_is_killed_again_and_again_leaves_nothing_out() {
    let kills = std::env::var("CONVOKE_SENDER_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let receiver = Receiver::start();
    let world = traced(&receiver, ALL_SIGNALS);
    receiver.usually(Fate::Status(503));
    let run = || assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    (0..3).for_each(|_| run());
    let mut runs = 3;
    let last = [Fate::Hangs, Fate::Taken, Fate::Unheard, Fate::Status(500)];
    for kill in 0..kills {
        let earlier = [Fate::Status(429), Fate::Unheard].into_iter().take(kill % 3);
        let (awaited, fates) = (1 + kill % 3, [last[kill % 4]].into_iter().chain(earlier).collect());
        receiver.fates(fates);
        let asked = receiver.asked();
        let mut sender = world.spawn(&["follow"]);
        receiver.wait_for(asked + awaited);
        sender.kill().unwrap();
        sender.wait().unwrap();
        receiver.fates(Vec::new());
        // There is always something left to deliver.
        if kill % 4 == 1 {
            run();
            runs += 1;
        }
    }
    receiver.fates(Vec::new());
    receiver.usually(Fate::Taken);
    assert_eq!(world.run(&["follow", "--once"]).code, 0);
    // The same runs once more to a receiver that takes everything: what must have arrived.
    let clean = Receiver::start();
    for run in json(&world.run(&["runs", "--format", "json"]).stdout).as_array().unwrap() {
        let id = run["id"].as_str().unwrap();
        let said = world.run(&["export", id, "--otlp", &clean.url(), "--signals", "traces,metrics,logs"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
    }
    assert_eq!(clean.spans().len(), runs * 9);
    assert_eq!(ids(&receiver), ids(&clean), "nothing is missing, and nothing double by its id");
    let records = |receiver: &Receiver| receiver.records().into_iter().collect::<BTreeMap<_, _>>();
    assert_eq!(records(&receiver).len(), clean.records().len(), "nor of the records");
    assert_eq!(records(&receiver), records(&clean));
    for instrument in ["gen_ai.invoke_workflow.duration", "gen_ai.client.inference.duration"] {
        let all: u64 = clean.counts(instrument).iter().sum();
        let counts = receiver.counts(instrument);
        assert_eq!(counts.last(), Some(&all), "{instrument}");
        assert!(counts.is_sorted(), "no counter goes down: {counts:?}");
    }
    assert_eq!(clean.counts("gen_ai.invoke_workflow.duration"), vec![1; runs], "each run by itself");
}

#[test]
fn one_process_at_a_time_delivers() {
    let receiver = Receiver::start();
    let world = traced(&receiver, "");
    let mut first = world.spawn(&["follow"]);
    let begun = std::time::Instant::now();
    while json(&world.run(&["doctor", "--format", "json"]).stdout)["receivers"][0]["active"] != true {
        assert!(begun.elapsed().as_secs() < 60, "it does not begin");
    }
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    receiver.wait_for(1);
    let second = world.run(&["follow", "--once", "--format", "json"]);
    let told = json(&second.stdout);
    assert!(told[0]["problem"].as_str().unwrap().contains("another process"), "{told}");
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(world.run(&["follow", "--once"]).code, 0);
    assert_eq!(ids(&receiver).len(), 9);
}

#[test]
fn an_old_run_is_exported_and_a_refusal_is_told() {
    let world = world("");
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    let receiver = Receiver::start();
    let said = world.run(&[
        "export",
        "last",
        "--otlp",
        &receiver.url(),
        "--header",
        "x-team=blue",
        "--format",
        "json",
    ]);
    let told = json(&said.stdout);
    let traces = &told["traces"];
    assert_eq!(
        (traces["sent"].as_u64(), traces["open"].as_u64(), told.get("metrics"), told.get("logs")),
        (Some(6), Some(0), None, None),
        "no single calls are known"
    );
    assert_eq!(receiver.taken()[0].headers["x-team"], "blue");
    receiver.usually(Fate::Status(400));
    let said = world.run(&["export", "last", "--otlp", &receiver.url()]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("refused"), "{}", said.stderr);
    assert_eq!(world.run(&["export", "last", "--otlp", "nonsense"]).code, 2);
    assert_eq!(world.run(&["export", "last"]).code, 2);
    for flag in [&["--signals", "logs"][..], &["--header", "a=b"], &["--contents"]] {
        let said = world.run(&[&["export", "last", "file"], flag].concat());
        assert_eq!(said.code, 2, "a file takes no {flag:?}");
    }
}

const GATE: &str = "\
workflow: {name: ship, entry_point: approve}
agents:
  - name: approve
    type: human_gate
    prompt: Ship it?
    options: [{label: 'Yes', value: 'yes', route: $end}]
";

fn hooked(receiver: &Receiver, more: &str) -> World {
    let world = World::with(GATE);
    let hook = format!("[notify.webhooks.team]\nurl = '${{HOOK}}'\nsecret = 'whsec_c2VjcmV0'\n{more}");
    world.write("convoke.toml", hook);
    world.write("hook", receiver.url() + "/hook/T0P-SECRET");
    world
}

fn with_hook(world: &World, args: &[&str]) -> crate::common::Said {
    let hook = std::fs::read_to_string(world.path("hook")).unwrap();
    world.said(world.command(args).env("HOOK", hook).output().unwrap())
}

fn bodies(taken: &[Taken]) -> Vec<Value> {
    taken.iter().map(|taken| serde_json::from_slice(&taken.body).unwrap()).collect()
}

#[test]
fn a_webhook_hears_of_a_gate_and_of_the_end_signed_and_with_ids() {
    let receiver = Receiver::start();
    let world = hooked(&receiver, "");
    assert_eq!(with_hook(&world, &["run", "w.yaml"]).code, 5);
    assert_eq!(with_hook(&world, &["answer", "last", "approve", "yes"]).code, 0);
    assert_eq!(with_hook(&world, &["resume", "last"]).code, 0);
    let taken = receiver.taken();
    let told = bodies(&taken);
    let words: Vec<_> = told.iter().map(|body| body["message"].as_str().unwrap()).collect();
    assert_eq!(words, ["`approve` waits for you: Ship it?", "it is parked", "it succeeded"]);
    let events: Vec<_> = told.iter().map(|body| body["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["gate", "end", "end"]);
    for (taken, body) in taken.iter().zip(&told) {
        let (id, at) = (&taken.headers["webhook-id"], &taken.headers["webhook-timestamp"]);
        assert_eq!(*id, body["id"].as_str().unwrap());
        let wanted =
            convoke_telemetry::notices::signature("whsec_c2VjcmV0", id, at.parse().unwrap(), &taken.body);
        assert_eq!(taken.headers["webhook-signature"], wanted);
    }
    let events = world.run(&["events", "last", "--format", "json"]).stdout;
    assert!(!events.contains("T0P-SECRET") && !events.contains("whsec"), "{events}");
}

#[test]
fn a_webhook_is_told_what_it_asked_for_and_again_until_it_listens() {
    let receiver = Receiver::start();
    let world = hooked(&receiver, "on = ['end']");
    receiver.usually(Fate::Status(503));
    assert_eq!(with_hook(&world, &["run", "w.yaml"]).code, 5);
    let told = with_hook(&world, &["doctor"]);
    assert!(told.stdout.contains("answered 503") && !told.stdout.contains("T0P-SECRET"), "{}", told.stdout);
    receiver.usually(Fate::Unheard);
    assert_eq!(with_hook(&world, &["follow", "--once"]).code, 1);
    receiver.usually(Fate::Taken);
    assert_eq!(with_hook(&world, &["follow", "--once"]).code, 0);
    let ids: Vec<_> = bodies(&receiver.taken()).iter().map(|body| body["id"].to_string()).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 1, "the repetition has the same id");
}

#[test]
fn a_receiver_that_hangs_takes_no_time_from_the_others() {
    let (hanging, receiver) = (Receiver::start(), Receiver::start());
    hanging.usually(Fate::Hangs);
    let world = hooked(&receiver, &format!("[telemetry]\nendpoint = '{}'\n{ALL_SIGNALS}", hanging.url()));
    assert_eq!(with_hook(&world, &["run", "w.yaml"]).code, 5);
    let told = bodies(&receiver.taken());
    let events: Vec<_> = told.iter().map(|body| body["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["gate", "end"]);
}

#[test]
fn a_webhook_whose_sender_is_killed_hears_of_everything_once_by_its_id() {
    let receiver = Receiver::start();
    let world = hooked(&receiver, "");
    receiver.usually(Fate::Status(503));
    for _ in 0..2 {
        assert_eq!(with_hook(&world, &["run", "w.yaml"]).code, 5);
    }
    let hook = std::fs::read_to_string(world.path("hook")).unwrap();
    for fates in [vec![Fate::Hangs], vec![Fate::Unheard], vec![Fate::Hangs, Fate::Taken], vec![Fate::Hangs]] {
        let awaited = receiver.asked() + fates.len();
        receiver.fates(fates);
        let mut sender = world.command(&["follow"]).env("HOOK", &hook).spawn().unwrap();
        receiver.wait_for(awaited);
        sender.kill().unwrap();
        sender.wait().unwrap();
    }
    receiver.usually(Fate::Taken);
    assert_eq!(with_hook(&world, &["follow", "--once"]).code, 0);
    let told = bodies(&receiver.taken());
    let ids: HashSet<_> = told.iter().map(|body| body["id"].to_string()).collect();
    assert_eq!(ids.len(), 4, "a question and a parked run, twice: {told:?}");
}

#[test]
fn a_webhook_of_a_project_is_told_of_its_own_runs_only() {
    let receiver = Receiver::start();
    let world = hooked(&receiver, "");
    let elsewhere = world.path("../elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let file = world.path("w.yaml");
    let mut other = world.command(&["run", file.to_str().unwrap()]);
    assert_eq!(with_hook(&world, &["run", "w.yaml"]).code, 5);
    assert_eq!(other.current_dir(&elsewhere).status().unwrap().code(), Some(5));
    assert_eq!(with_hook(&world, &["follow", "--once"]).code, 0);
    let runs: HashSet<_> = bodies(&receiver.taken()).iter().map(|body| body["run"].to_string()).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
}

#[test]
fn a_command_is_told_what_it_asked_for() {
    let world = World::with(
        "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, type: script, command: sh, args: ['-c', 'exit 3'], output: {x: {type: string}}}\n",
    );
    let told = world.path("told");
    let script = format!("echo \"$CONVOKE_EVENT $CONVOKE_STEP\" >> '{}'", told.display());
    world.write(
        USER_FILE,
        format!("[notify]\non = ['failure', 'end']\ncommand = ['sh', '-c', \"\"\"{script}\"\"\"]\n"),
    );
    assert_eq!(world.run(&["run", "w.yaml"]).code, 1);
    let begun = std::time::Instant::now();
    let lines = || {
        std::fs::read_to_string(&told).unwrap_or_default().lines().map(str::to_owned).collect::<HashSet<_>>()
    };
    let wanted = HashSet::from(["failure a".to_owned(), "ended ".to_owned()]);
    while lines() != wanted {
        assert!(begun.elapsed().as_secs() < 60, "{:?}", lines());
        std::thread::yield_now();
    }
}

#[test]
fn numbers_are_counted_once_and_never_go_down() {
    let world = world("");
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    let count = |series: &str| -> f64 {
        let page = world.run(&["metrics"]);
        assert_eq!(page.code, 0, "{}", page.stderr);
        let line = page.stdout.lines().find(|line| line.starts_with(series)).map(str::to_owned);
        let line = line.unwrap_or_else(|| panic!("{series}: {}", page.stdout));
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    let runs = "convoke_runs_total{workflow=\"panel\",status=\"succeeded\"}";
    let attempts = "convoke_attempts_total{workflow=\"panel\",outcome=\"finished\"}";
    assert_eq!((count(runs), count(attempts)), (1.0, 4.0));
    assert_eq!((count(runs), count(attempts)), (1.0, 4.0), "looking adds nothing");
    assert_eq!(world.run(&["run", "w.yaml"]).code, 0);
    assert_eq!((count(runs), count(attempts)), (2.0, 8.0));
    assert_eq!(world.run(&["prune", "--keep-last", "0"]).code, 0);
    assert_eq!((count(runs), count(attempts)), (2.0, 8.0), "what was removed was counted");
    assert_eq!(count("convoke_runs{status=\"parked\"}"), 0.0);
}

#[test]
fn standard_error_can_be_for_programs() {
    let world = world("");
    let output = world.command(&["--log-format", "json", "run", "w.yaml"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let records: Vec<Value> = text.lines().map(json).collect();
    assert!(records.iter().all(|record| record["time"].is_string() && record["level"].is_string()), "{text}");
    let named = |name: &str| records.iter().filter(|record| record["event"] == name).count();
    assert_eq!((named("run_started"), named("attempt_finished"), named("run_finished")), (1, 4, 1), "{text}");
    assert!(!text.contains("secret answer"), "{text}");
    let bad = world.command(&["--log-format", "json", "run", "absent.yaml"]).output().unwrap();
    let text = String::from_utf8(bad.stderr).unwrap();
    assert_eq!(json(text.lines().next().unwrap())["level"], "error", "{text}");
}
