//! Secrets of a run seen from other processes: pages, servers, receivers, people.

use super::*;
use crate::serving::{Served, slow_service_saying};
use crate::support::process::until;

fn gated(url: &str) -> String {
    format!(
        r#"
workflow:
  name: elsewhere
  entry_point: from_env
  runtime:
    provider: {{name: openai, base_url: "{url}", api_key: "${{FROM_VAULT}}"}}
    mcp_servers: {{teller: {{command: python3, args: [server.py], secrets: [FROM_VAULT], tools: [tell]}}}}
secrets:
  FROM_ENV: {{env: HELD_IN}}
  FROM_FILE: {{file: keys/token}}
  FROM_COMMAND: {{command: [sh, print.sh]}}
  FROM_VAULT: {{vault: shop}}
agents:
  - {{name: from_env, type: script, command: python3, args: [printer.py, FROM_ENV, from_env.got], secrets: [FROM_ENV], routes: [{{to: from_file}}]}}
  - {{name: from_file, type: script, command: python3, args: [printer.py, FROM_FILE, from_file.got], secrets: [FROM_FILE], routes: [{{to: from_command}}]}}
  - {{name: from_command, type: script, command: python3, args: [printer.py, FROM_COMMAND, from_command.got], secrets: [FROM_COMMAND], routes: [{{to: told}}]}}
  - {{name: told, model: cleared, tools: [tell], secrets: [FROM_VAULT], prompt: "{{{{ from_file.output.stdout }}}} {{{{ from_command.output.stdout }}}}", routes: [{{to: ask}}]}}
  - {{name: ask, type: human_gate, prompt: "Ship {{{{ from_env.output.stdout }}}} and {{{{ told.output.result }}}}?", options: [{{label: Ship, value: ship, route: fails}}]}}
  - {{name: fails, type: script, command: sh, args: [-c, 'echo "not with $FROM_FILE" >&2; exit 3'], secrets: [FROM_FILE], output: {{x: {{type: string}}}}}}
"#
    )
}

/// The calls of the API that tell what was said in a run.
fn served_of(served: &Served, run: &str) -> String {
    let tasks = ["from_env", "from_file", "from_command", "told", "ask"];
    let mut all = String::new();
    let of_run = ["", "/graph", "/timeline", "/story", "/markers", "/tasks", "/events", "/search?q=secret"];
    let of_run = of_run.iter().map(|call| format!("/runs/{run}{call}"));
    let of_task = tasks.iter().map(|task| format!("/runs/{run}/task?task={task}"));
    for path in of_run.chain(of_task).chain(["/runs".to_owned(), "/inbox".to_owned()]) {
        all.push_str(&served.get(&path).is(200).body);
    }
    for topic in ["runs", "inbox", &format!("run:{run}"), &format!("task:{run}:told")] {
        all.push_str(&served.listen(topic, None).next().data.to_string());
    }
    all
}

/// What a receiver was sent, unpacked.
fn received(receiver: &Receiver) -> String {
    let text = |body: &[u8]| {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(body), &mut text).ok();
        String::from_utf8_lossy(if text.is_empty() { body } else { &text }).into_owned()
    };
    receiver.taken().iter().map(|taken| text(&taken.body)).collect()
}

#[track_caller]
fn is_masked(what: &str, text: &str) {
    assert!(text.contains("[secret]"), "{what} tells what was said: {text}");
    holds_none(what, text, &VALUES);
}

#[test]
fn no_other_process_shows_or_sends_a_secret() {
    let (model, hook, receiver) = (teller(), Receiver::start(), Receiver::start());
    let world = world(&gated(&model.url())).env("HOOK", &hook.url());
    let on = "on = ['gate', 'failure', 'end']";
    world.write(
        "convoke.toml",
        format!("[notify.webhooks.team]\nurl = '${{HOOK}}'\nsecret = 'whsec_c2VjcmV0'\n{on}\n"),
    );
    let told = world.work().join("told");
    let script = format!("echo \"$CONVOKE_EVENT $0\" >> '{}'", told.display());
    let user = world.work().join("../home/.config/convoke/config.toml");
    std::fs::create_dir_all(user.parent().unwrap()).unwrap();
    std::fs::write(user, format!("[notify]\n{on}\ncommand = ['sh', '-c', \"\"\"{script}\"\"\"]\n")).unwrap();
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    let mut served = Served::over(&world);
    is_masked("what a server says while a person is asked", &served_of(&served, &run));
    world.convoke(&["answer", &run, "ask", "ship"]).exits(0);
    world.convoke(&["resume", &run]).exits(1);
    is_masked("what a server says of the end", &served_of(&served, &run));
    is_masked("a page", &world.convoke(&["export", &run, "--html", "-"]).exits(0).stdout);
    world
        .convoke(&[
            "export",
            &run,
            "--otlp",
            &receiver.url(),
            "--contents",
            "--signals",
            "traces,metrics,logs",
        ])
        .exits(0);
    is_masked("traces and logs", &received(&receiver));
    until("the server has told the webhook of the end", || received(&hook).contains("\"event\":\"end\""));
    is_masked("a webhook", &received(&hook));
    served.process.kill();
    world.convoke(&["follow", "--once"]).exits(0);
    is_masked("a webhook that another process posts to", &received(&hook));
    let lines = || std::fs::read_to_string(&told).unwrap_or_default();
    until("the command has heard of the end", || {
        ["gate", "failure", "ended"].iter().all(|event| lines().contains(event))
    });
    is_masked("a command that tells people", &lines());
    let attached = world.convoke(&["attach", &run]);
    holds_none("what `attach` says", &attached.to_string(), &VALUES);
}

/// A model says a secret in two pieces, and other processes read along.
#[test]
fn a_secret_in_a_growing_answer_is_masked_for_those_who_read_along() {
    let secret = VALUES[1].1;
    let (begin, end) = secret.split_at(9);
    let (first, second) = (format!("It says {begin}"), format!("{end} as we know"));
    let (url, go) = slow_service_saying(&[&first, &second, " by now."]);
    let text = format!(
        "workflow: {{name: w, entry_point: a, runtime: {{provider: {{name: vllm, base_url: '{url}'}}, default_model: m}}}}\nsecrets: {{FROM_FILE: {{file: keys/token}}}}\nagents:\n  - {{name: a, prompt: tell, routes: [{{to: b}}]}}\n  - {{name: b, type: script, command: 'true', secrets: [FROM_FILE]}}\n"
    );
    let world = world(&text);
    let run = world.convoke(&["run", "w.yaml", "--detach"]).exits(0).stdout.trim().to_owned();
    let served = Served::over(&world);
    let mut stream = served.listen(&format!("task:{run}:a"), None);
    go.send(()).unwrap();
    let heard =
        stream.until(|told| told.data["text"].as_str().is_some_and(|text| text.contains("as we know")));
    let texts: String = heard.iter().map(|told| told.data.to_string()).collect();
    assert!(texts.contains("It says [secret] as we know"), "{texts}");
    holds_none("the stream", &texts, &VALUES);
    assert!(!texts.contains(begin), "nor does its beginning come by itself: {texts}");
    go.send(()).unwrap();
    world.convoke(&["attach", &run]).exits(0);
}

/// What is given to a run is written down with it as it is, so a secret is no input.
#[test]
fn an_input_that_holds_a_secret_is_refused_before_anything_is_written() {
    let world = world(&LISTING.replace("entry_point: one", "entry_point: one, input: {key: {type: string}}"));
    for form in forms(VALUES[1].1) {
        let said =
            world.convoke(&["run", "w.yaml", "-i", &format!("key=see {form}")]).exits(3).prints_nothing();
        let said =
            said.mentions(&["input `key` holds the value of secret `FROM_FILE`", "secrets: [FROM_FILE]"]);
        holds_none("the refusal", &said.to_string(), &VALUES);
    }
    assert!(world.runs().is_empty() && !world.work().join("ran").exists());
    world.convoke(&["run", "w.yaml", "-i", "key=canary-fil"]).exits(0);
}
