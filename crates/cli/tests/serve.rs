//! `convoke serve`: runs of other processes over HTTP, what may reach it, and what it never loses.

use crate::serving::{Served, slow_service};
use crate::support::World;
use crate::support::process::until;
use convoke_model::is_control;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};

const GATED: &str = "\
workflow: {name: gated, entry_point: first}
agents:
  - {name: first, type: script, command: echo, args: ['<script>alert(1)</script>'], routes: [{to: ask}]}
  - name: ask
    type: human_gate
    prompt: go on?
    options:
      - {label: Yes, value: 'yes', route: last}
      - {label: No, value: 'no', route: $end, prompt_for: why}
  - {name: last, type: script, command: cat, stdin: '{{ first.output.stdout }}'}
output: {said: '{{ last.output.stdout }}'}
";

const WAITING: &str = "\
workflow: {name: waiting, entry_point: hold}
agents:
  - {name: hold, type: script, command: sleep, args: ['600']}
";

/// Many small tasks, without a model.
const MANY: &str = "\
workflow: {name: many, entry_point: each}
for_each:
  - name: each
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 8
    agent: {name: one, type: set, value: '{{ item }}'}
    routes: [{to: end}]
agents:
  - {name: end, type: set, value: '1'}
";

fn items(count: usize) -> Value {
    json!({ "items": (0..count).collect::<Vec<_>>() })
}

fn detached(world: &World, file: &str) -> String {
    world.convoke(&["run", "--detach", file]).exits(0).stdout.trim().to_owned()
}

fn status(served: &Served, run: &str) -> String {
    served.get(&format!("/runs/{run}")).is(200).json()["status"].as_str().unwrap().to_owned()
}

#[track_caller]
fn until_status(served: &Served, run: &str, wanted: &str) {
    until(&format!("run {run} is {wanted}"), || status(served, run) == wanted);
}

fn only_question(served: &Served) -> Value {
    until("a question waits", || {
        !served.get("/inbox").is(200).json()["questions"].as_array().unwrap().is_empty()
    });
    served.get("/inbox").json()["questions"][0].clone()
}

#[test]
fn a_run_of_a_terminal_is_watched_and_answered_over_http() {
    let world = World::with_workflow(GATED);
    let run = detached(&world, "w.yaml");
    let served = Served::over(&world);
    let question = only_question(&served);
    assert_eq!((question["run"].as_str(), question["id"].as_str()), (Some(run.as_str()), Some("ask~1")));
    assert_eq!(question["options"][1]["prompt_for"], "why");
    let listed = served.get("/runs?status=running,parked").json();
    assert_eq!((&listed["runs"][0]["run"], &listed["runs"][0]["asks"]), (&json!(run), &json!(1)), "{listed}");
    let graph = served.get(&format!("/runs/{run}/graph")).is(200).json();
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 4, "{graph}");
    let tasks = served.get(&format!("/runs/{run}/tasks")).is(200).json();
    let states: BTreeMap<_, _> = tasks["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["task"].as_str().unwrap(), row["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, BTreeMap::from([("first", "done"), ("ask", "asks"), ("last", "waiting")]), "{tasks}");
    // What a program printed is text in a value, whatever it looks like.
    let task = served.get(&format!("/runs/{run}/task?task=first")).is(200);
    assert_eq!(task.header("content-type"), Some("application/json"));
    assert!(task.json()["output"]["text"].as_str().unwrap().contains("<script>"), "{task:?}");
    assert_eq!(
        served.get(&format!("/runs/{run}/task?task=ask")).json()["question"]["shown"],
        question["shown"]
    );

    let answer = |shown: &str, question: &str, answer: Value| {
        served.post(
            &format!("/runs/{run}/answer"),
            json!({"question": question, "shown": shown, "answer": answer}),
        )
    };
    let shown = question["shown"].as_str().unwrap();
    let other = "0".repeat(64);
    assert_eq!(answer(&other, "ask~1", json!("yes")).is(409).code(), "stale");
    assert_eq!(answer(shown, "ask~2", json!("yes")).is(422).code(), "refused");
    assert_eq!(answer(shown, "ask~1", json!("maybe")).is(422).code(), "refused");
    assert_eq!(
        answer(shown, "ask~1", json!({"values": ["no"]})).is(422).code(),
        "refused",
        "it asks for a text"
    );
    answer(shown, "ask~1", json!("yes")).is(200);
    until_status(&served, &run, "succeeded");
    assert_eq!(
        answer(shown, "ask~1", json!("yes")).is(409).code(),
        "already_answered",
        "it is answered once"
    );
    let answered = world.convoke(&["events", &run, "--format", "json"]).stdout;
    let answered = answered.lines().find(|line| line.contains("gate_answered")).unwrap();
    assert!(answered.contains("\"origin\":\"server\"") && answered.contains("\"by\":\"link\""), "{answered}");
    let story = served.get(&format!("/runs/{run}/story")).is(200).json();
    assert!(story["sentences"].as_array().unwrap().len() > 3, "{story}");
    for part in
        ["timeline", "markers", "search?q=script", "events?limit=2", "tasks?at=3", "task?task=first&at=4", ""]
    {
        served.get(format!("/runs/{run}/{part}").trim_end_matches('/')).is(200);
    }
    let compared = served.get(&format!("/compare?a={run}&b={run}")).is(200).json();
    assert_eq!(compared["equal"], true, "{compared}");
    served.get("/capacity").is(200);
    served.get("/instances").is(200);
}

#[test]
fn runs_are_started_once_stopped_and_taken_up_again() {
    let world = World::with_workflow(WAITING);
    world.write("fails.yaml", "workflow: {name: f, entry_point: a}\nagents:\n  - {name: a, type: script, command: sh, args: [-c, 'test -f there && echo \"{\\\"ok\\\": true}\"'], output: {ok: {type: boolean}}}\n");
    let served = Served::over(&world);
    let files = served.get("/workflows").is(200).json();
    assert_eq!(files["workflows"].as_array().unwrap().len(), 2, "{files}");
    let start = |key: &str, file: &str| {
        let mut headers = served.honest();
        headers.push(("Idempotency-Key".to_owned(), key.to_owned()));
        served.send("POST", "/api/v1/runs", &headers, &json!({ "file": file }).to_string())
    };
    let run = start("one", "w.yaml").is(202).json()["run"].as_str().unwrap().to_owned();
    assert_eq!(
        start("one", "w.yaml").is(202).json()["run"],
        run.as_str(),
        "the same call starts no second run"
    );
    assert_eq!(start("one", "fails.yaml").is(409).code(), "key_reused");
    assert_eq!(world.runs(), std::slice::from_ref(&run));
    until("it runs", || served.get(&format!("/runs/{run}/tasks?state=running")).json()["total"] == 1);
    served.post(&format!("/runs/{run}/stop"), json!({"now": true})).is(202);
    until_status(&served, &run, "cancelled");
    served.post(&format!("/runs/{run}/resume"), json!({})).is(202);
    until_status(&served, &run, "running");
    assert_eq!(served.post(&format!("/runs/{run}/resume"), json!({})).is(409).code(), "owned");
    // A run that was started over HTTP outlives its server.
    drop(served);
    let served = Served::over(&world);
    assert_eq!(status(&served, &run), "running");
    served.post(&format!("/runs/{run}/stop"), json!({"now": true})).is(202);
    until_status(&served, &run, "cancelled");

    let failed = served.post("/runs", json!({"file": "fails.yaml"})).is(202).json()["run"]
        .as_str()
        .unwrap()
        .to_owned();
    until_status(&served, &failed, "failed");
    world.write("there", "");
    assert_eq!(
        served.post(&format!("/runs/{failed}/retry"), json!({"task": "b"})).is(409).code(),
        "not_retryable"
    );
    let retried = served.post(&format!("/runs/{failed}/retry"), json!({"task": "a"})).is(202).json();
    assert_eq!(retried["retried"], json!(["a"]));
    until_status(&served, &failed, "succeeded");
    assert_eq!(served.post(&format!("/runs/{failed}/guide"), json!({"text": "x"})).is(422).code(), "refused");
}

#[test]
fn a_file_is_checked_and_planned_and_one_elsewhere_is_not_started() {
    let world = World::with_workflow(GATED);
    world.write(
        "bad.yaml",
        "workflow: {name: bad, entry_point: nowhere}\nagents:\n  - {name: a, type: set, value: '1'}\n",
    );
    let served = Served::over(&world);
    assert_eq!(served.post("/check", json!({"file": "w.yaml"})).is(200).json()["ok"], true);
    let bad = served.post("/check", json!({"file": "bad.yaml"})).is(200).json();
    assert_eq!((&bad["ok"], bad["findings"][0]["line"].is_u64()), (&json!(false), true), "{bad}");
    let refused = served.post("/runs", json!({"file": "bad.yaml"})).is(422);
    assert!(!refused.json()["error"]["findings"].as_array().unwrap().is_empty(), "{refused:?}");
    let plan = served.post("/plan", json!({"text": GATED})).is(200).json();
    assert_eq!(plan["graph"]["entry"], json!(["first"]));
    for file in ["../work/../w.yaml", "/etc/passwd", "../../../etc/passwd", "none.yaml", "--config=x"] {
        served.post("/runs", json!({ "file": file })).is(404);
    }
    assert!(world.runs().is_empty());
}

/// Whatever a client has when its connection breaks, it goes on from there, without a gap and without seeing anything twice.
#[test]
fn a_stream_that_is_taken_up_at_any_place_gives_exactly_the_journal() {
    let world = World::with_workflow(MANY);
    world.write("items.json", items(12).to_string());
    world.convoke(&["run", "w.yaml", "--input-file", "items.json"]).exits(0);
    let (run, served) = (world.run(), Served::over(&world));
    let journal = world.convoke(&["events", &run, "--format", "json"]).stdout;
    let journal: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = journal.len() as u64;
    let topic = format!("events:{run}");
    let seen = |last_id: Option<&str>, from: u64| -> Vec<(Value, String)> {
        let mut stream = served.listen(&topic, last_id);
        assert_eq!(stream.next().event, "hello");
        let told = (from..=last).map(|_| stream.next());
        told.map(|mut told| {
            let data = told.data.as_object_mut().unwrap();
            assert_eq!(data.shift_remove("run"), Some(json!(run)));
            (told.data, told.id.unwrap())
        })
        .collect()
    };
    let whole = seen(None, 1);
    assert_eq!(whole.iter().map(|(event, _)| event.clone()).collect::<Vec<_>>(), journal);
    for (at, (_, id)) in whole.iter().enumerate().take(whole.len() - 1) {
        let rest = seen(Some(id), at as u64 + 2);
        assert_eq!(
            rest.iter().map(|(event, _)| event).collect::<Vec<_>>(),
            journal[at + 1..].iter().collect::<Vec<_>>()
        );
    }
}

/// Rows that a client has at the end, however seldom it read.
fn rows_by_messages(
    served: &Served,
    run: &str,
    mut stream: crate::serving::Listening,
) -> BTreeMap<String, Value> {
    let mut rows: BTreeMap<String, Value> = BTreeMap::new();
    let mut take = |row: &Value| {
        let task = row["task"].as_str().unwrap().to_owned();
        let is_newer =
            rows.get(&task).is_none_or(|known| known["changed"].as_u64() <= row["changed"].as_u64());
        if is_newer {
            rows.insert(task, row.clone());
        }
    };
    loop {
        let told = stream.next();
        match told.event.as_str() {
            "snapshot" => {
                let page = served.get(&format!("/runs/{run}/tasks?limit=2000")).is(200).json();
                page["tasks"].as_array().unwrap().iter().for_each(&mut take);
            }
            "tasks" => told.data["rows"].as_array().unwrap().iter().for_each(&mut take),
            _ => {}
        }
        if told.event != "hello" && told.data["head"]["status"] == "succeeded" {
            return rows;
        }
    }
}

#[test]
fn a_client_that_does_not_read_is_caught_up_and_nothing_waits_for_it() {
    let world = World::with_workflow(MANY);
    world.write("items.json", items(800).to_string());
    let served = Served::over(&world);
    let started = served.post("/runs", json!({"file": "w.yaml", "inputs": items(800)})).is(202).json();
    let run = started["run"].as_str().unwrap().to_owned();
    let sleeper = served.listen(&format!("run:{run}"), None);
    until_status(&served, &run, "succeeded");
    let rows = rows_by_messages(&served, &run, sleeper);
    let truth = served.get(&format!("/runs/{run}/tasks?limit=2000")).is(200).json();
    let truth = truth["tasks"].as_array().unwrap();
    assert_eq!(truth.len(), 802, "the fan-out, its items and the end");
    for row in truth {
        assert_eq!(rows.get(row["task"].as_str().unwrap()), Some(row));
    }
}

#[test]
fn topics_change_while_a_stream_is_open_and_new_questions_come() {
    let world = World::with_workflow(GATED);
    let served = Served::over(&world);
    let mut stream = served.listen("runs,inbox", None);
    let hello = stream.next();
    let id = hello.data["stream"].as_str().unwrap().to_owned();
    stream.until(|told| told.event == "snapshot" && told.data["topic"] == "inbox");
    let run = detached(&world, "w.yaml");
    let told = stream.until(|told| told.event == "inbox" && told.data["questions"][0]["run"] == run.as_str());
    assert!(
        told.iter().any(|told| told.event == "runs" && told.data["rows"][0]["run"] == run.as_str()),
        "{told:?}"
    );
    served.post(&format!("/stream/{id}"), json!({"topics": [format!("run:{run}")]})).is(204);
    let told = stream.until(|told| told.event == "snapshot" && told.data["topic"] == format!("run:{run}"));
    assert_eq!(told.last().unwrap().data["head"]["asks"], 1);
    served.post("/stream/s999", json!({"topics": []})).is(404);
    assert_eq!(
        served.send("GET", "/api/v1/stream?topics=nothing", &served.honest(), "").is(400).code(),
        "bad_request"
    );
}

// What reaches a server on loopback besides its own page (the http cases of the surface corpus, in our words).

fn changed(headers: Vec<(String, String)>, name: &str, value: Option<&str>) -> Vec<(String, String)> {
    let mut headers: Vec<_> = headers.into_iter().filter(|(known, _)| known != name).collect();
    headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    headers
}

#[test]
fn what_no_page_of_ours_sends_is_refused_before_it_is_looked_at() {
    let world = World::with_workflow(WAITING);
    let served = Served::over(&world);
    let start = json!({"file": "w.yaml"}).to_string();
    let with = |name: &str, value: Option<&str>| changed(served.honest(), name, value);
    // Another name: a browser that was led here by a name of an attacker.
    served.send("GET", "/api/v1/runs", &with("Host", Some("attacker.example")), "").is(421);
    served.send("GET", "/", &with("Host", Some("attacker.example")), "").is(421);
    // Another site's page, with everything else right.
    served.send("POST", "/api/v1/runs", &with("Origin", Some("https://attacker.example")), &start).is(403);
    served
        .send("GET", "/api/v1/stream?topics=runs", &with("Origin", Some("https://attacker.example")), "")
        .is(403);
    // What a form can send.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        assert_eq!(
            served.send("POST", "/api/v1/runs", &with("Content-Type", Some(kind)), &start).is(415).code(),
            "content_type"
        );
    }
    let asked = served.send("OPTIONS", "/api/v1/runs", &with("Origin", Some("https://attacker.example")), "");
    assert!(asked.status >= 400 && asked.header("access-control-allow-origin").is_none(), "{asked:?}");
    // No token, a wrong one, one that is nearly right, one that is not where it belongs.
    let nearly = format!("Bearer {}x", served.token);
    for token in [None, Some("Bearer x"), Some(nearly.as_str()), Some(served.token.as_str())] {
        let refused = served.send("GET", "/api/v1/runs", &with("Authorization", token), "").is(401);
        assert_eq!(
            (refused.code(), refused.header("www-authenticate")),
            ("token".to_owned(), Some("Bearer"))
        );
    }
    let cookie = vec![
        ("Host".to_owned(), served.address.clone()),
        ("Cookie".to_owned(), format!("token={}", served.token)),
    ];
    served.send("GET", "/api/v1/runs", &cookie, "").is(401);
    served.send("GET", &format!("/api/v1/runs?token={}", served.token), &cookie, "").is(401);
    served.send("GET", "/metrics", &cookie, "").is(401);
    assert!(world.runs().is_empty(), "nothing was started");
    // The page itself holds nothing and asks nobody else.
    let page = served.send("GET", "/runs/x/graph", &cookie, "").is(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'self'") && policy.contains("script-src 'self';"), "{policy}");
    for (header, value) in [("referrer-policy", "no-referrer"), ("x-content-type-options", "nosniff")] {
        assert_eq!(page.header(header), Some(value));
    }
    assert!(page.header("set-cookie").is_none() && !page.body.contains(&served.token));
    // Nothing that the server says or keeps has the token in it.
    let state = std::fs::read_to_string(world.state().join("tokens.json")).unwrap_or_default();
    assert!(!state.contains(&served.token));
    let command = std::fs::read(format!("/proc/{}/cmdline", served.process.pid().as_raw_nonzero())).unwrap();
    assert!(!String::from_utf8_lossy(&command).contains(&served.token));
}

#[test]
fn names_that_lead_elsewhere_lead_nowhere() {
    let world = World::with_workflow(WAITING);
    let served = Served::over(&world);
    for run in ["..", "%2e%2e", "..%2f..%2fetc", "x%00y", "a/../../b", "%2fetc%2fpasswd"] {
        for part in ["", "/tasks", "/events", "/values/x"] {
            let answered = served.get(&format!("/runs/{run}{part}"));
            assert!(matches!(answered.status, 400 | 404), "{run}{part}: {answered:?}");
        }
    }
    for path in
        ["/assets/../../../../etc/passwd", "/assets/%2e%2e/%2e%2e/Cargo.toml", "/..%2f..%2fetc/passwd"]
    {
        let answered = served.send("GET", path, &served.honest(), "");
        assert!(!answered.body.contains("root:") && !answered.body.contains("[package]"), "{path}");
    }
}

#[test]
fn bodies_have_a_size_a_depth_and_a_time() {
    let world = World::with_workflow(WAITING);
    let served = Served::over(&world);
    let huge = format!("{{\"file\":\"{}\"}}", "x".repeat(3 << 20));
    assert_eq!(served.send("POST", "/api/v1/runs", &served.honest(), &huge).is(413).code(), "too_large");
    let deep = format!(
        "{{\"file\":\"w.yaml\",\"inputs\":{{\"a\":{}{}}}}}",
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    served.send("POST", "/api/v1/runs", &served.honest(), &deep).is(400);
    for body in ["", "[]", "{\"file\":1}", "{\"file\":\"w.yaml\",\"more\":1}", "{", "\u{fffd}"] {
        served.send("POST", "/api/v1/runs", &served.honest(), body).is(400);
    }
    // One that never ends its head is let go of, and the others go on.
    let mut slow = served.connect();
    slow.write_all(b"GET /api/v1/runs HTTP/1.1\r\nHost: ").unwrap();
    served.get("/runs").is(200);
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).ok();
    assert!(!String::from_utf8_lossy(&rest).contains("200 OK"), "the connection is closed");
    served.get("/runs").is(200);
}

#[test]
fn a_token_may_what_its_role_says_until_it_is_revoked() {
    let world = World::with_workflow(GATED);
    let run = detached(&world, "w.yaml");
    let token = |name: &str, role: &str| {
        world.convoke(&["serve", "token", "add", name, "--role", role]).exits(0).stdout.trim().to_owned()
    };
    let (view, operate) = (token("eyes", "view"), token("hands", "operate"));
    world.convoke(&["serve", "token", "add", "eyes"]).exits(2).mentions(&["there is a token `eyes`"]);
    let served = Served::over(&world);
    let question = only_question(&served);
    let answer = json!({"question": question["id"], "shown": question["shown"], "answer": "yes"}).to_string();
    for (token, role, stops) in [(&view, "view", 403), (&operate, "operate", 202)] {
        assert_eq!(served.as_token(token, "GET", "/session", "").is(200).json()["role"], role);
        served.as_token(token, "GET", &format!("/runs/{run}"), "").is(200);
        assert_eq!(
            served.as_token(token, "POST", &format!("/runs/{run}/answer"), &answer).is(403).code(),
            "role"
        );
        served.as_token(token, "POST", &format!("/runs/{run}/stop"), "{}").is(stops);
    }
    until("the run is stopped", || status(&served, &run) != "running");
    let list = world.convoke(&["serve", "token", "list", "--format", "json"]).exits(0).json();
    assert_eq!((&list[0]["name"], &list[1]["role"]), (&json!("eyes"), &json!("operate")));
    world.convoke(&["serve", "token", "revoke", "eyes"]).exits(0);
    until("the token is refused", || served.as_token(&view, "GET", "/session", "").status == 401);
    served.as_token(&operate, "GET", "/session", "").is(200);
    world.convoke(&["serve", "token", "revoke", "eyes"]).exits(2);
}

/// Compiling a text looks up variables of the server and reads files, which is for those who may start runs.
#[test]
fn a_text_is_compiled_only_for_those_who_may_start_runs() {
    let world = World::with_workflow(GATED).env("PLANTED", "canary-of-the-server");
    world.write("planted.txt", "canary-of-the-file");
    world.write("inner.yaml", "workflow: {name: inner, entry_point: canary-of-another}\nagents: []\n");
    let token = |role: &str| {
        world.convoke(&["serve", "token", "add", role, "--role", role]).exits(0).stdout.trim().to_owned()
    };
    let (view, operate) = (token("view"), token("operate"));
    let served = Served::over(&world);
    let of = |prompt: &str| {
        let text = format!(
            "workflow: {{name: \"${{PLANTED}}\", entry_point: a}}\nagents:\n  - {{name: a, {prompt}}}\n"
        );
        json!({ "text": text }).to_string()
    };
    for text in [of("prompt: !file planted.txt"), of("type: workflow, workflow: inner.yaml")] {
        for call in ["/check", "/plan"] {
            let refused = served.as_token(&view, "POST", call, &text).is(403);
            assert!(refused.code() == "role" && !refused.body.contains("canary"), "{refused:?}");
        }
        served.as_token(&operate, "POST", "/check", &text).is(200);
    }
    let plan = served.as_token(&operate, "POST", "/plan", &of("prompt: !file planted.txt")).is(200);
    assert!(
        plan.body.contains("canary-of-the-server"),
        "who may start runs is told what would run: {plan:?}"
    );
    // A file that the operator has put there is no text of the caller.
    served.as_token(&view, "POST", "/check", &json!({"file": "w.yaml"}).to_string()).is(200);
}

/// A step of a run gets hold of a token and calls the server: it may look, and it decides nothing.
#[test]
fn a_step_of_a_run_may_look_and_not_act() {
    let world = World::with_workflow(GATED);
    let run = detached(&world, "w.yaml");
    let served = Served::over(&world);
    let question = only_question(&served);
    let body = json!({"question": question["id"], "shown": question["shown"], "answer": "yes"}).to_string();
    let port = served.address.rsplit(':').next().unwrap();
    let call = |method: &str, path: &str, body: &str| {
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port}; printf '%s' '{method} /api/v1{path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}' >&3; head -n 1 <&3",
            served.address,
            served.token,
            body.len()
        )
    };
    let answer = call("POST", &format!("/runs/{run}/answer"), &body);
    // Also when it has taken the mark out of its environment and left its session.
    let hidden = "exec env -i PATH=\"$PATH\" setsid -w bash answer.sh";
    world.write("look.sh", call("GET", &format!("/runs/{run}"), ""));
    world.write("answer.sh", answer);
    world.write("hidden.sh", hidden);
    let step = |name: &str| format!("  - {{name: {name}, type: script, command: bash, args: [{name}.sh]}}\n");
    let steps: String = ["look", "answer", "hidden"].map(step).concat();
    world.write("inside.yaml", format!(
        "workflow: {{name: inside, entry_point: all}}\nparallel:\n  - {{name: all, agents: [look, answer, hidden]}}\nagents:\n{steps}\
         output: {{look: '{{{{ all.outputs.look.stdout }}}}', answer: '{{{{ all.outputs.answer.stdout }}}}', hidden: '{{{{ all.outputs.hidden.stdout }}}}'}}\n"
    ));
    let said = world.convoke(&["run", "inside.yaml"]).exits(0).json();
    for (step, status) in [("look", "200"), ("answer", "403"), ("hidden", "403")] {
        assert!(said[step].as_str().unwrap_or_default().contains(status), "{step}: {said}");
    }
    assert_eq!(status(&served, &run), "running", "it still waits for a person");
}

#[test]
fn what_cannot_be_served_is_said() {
    let world = World::with_workflow(WAITING);
    world.convoke(&["serve", "--addr", "0.0.0.0:0"]).exits(3).mentions(&[
        "in the clear",
        "--tls-cert",
        "--behind-proxy",
    ]);
    world.convoke(&["serve", "--addr", "0.0.0.0:0", "--behind-proxy"]).exits(2);
    let served = Served::over(&world);
    world.convoke(&["serve", "--addr", &served.address]).exits(1).mentions(&[
        "cannot listen",
        "in use",
        "another port",
    ]);
    let missing = world.state().join("file");
    std::fs::write(&missing, "").unwrap();
    world.convoke(&["serve", "--state-dir", missing.to_str().unwrap()]).exits(74);
    // A journal that does not verify is told of, and the rest goes on.
    let run = {
        world.write(
            "ok.yaml",
            "workflow: {name: ok, entry_point: a}\nagents:\n  - {name: a, type: set, value: '1'}\n",
        );
        world.convoke(&["run", "ok.yaml"]).exits(0);
        world.run()
    };
    until_status(&served, &run, "succeeded");
    let bad = world.state().join("runs").join("20260101-000000-aaaa");
    std::fs::create_dir(&bad).unwrap();
    std::fs::write(bad.join("journal.db"), "this is no database at all, whatever its name says").unwrap();
    let listed = served.get("/runs").is(200).json();
    assert!(listed["runs"].as_array().unwrap().iter().any(|row| row["problem"].is_string()), "{listed}");
    let refused = served.get("/runs/20260101-000000-aaaa");
    assert!(matches!(refused.status, 409 | 503), "{refused:?}");
    assert!(!refused.json()["error"]["message"].as_str().unwrap().is_empty());
    served.get(&format!("/runs/{run}")).is(200);
}

#[test]
fn the_document_describes_every_call_and_is_the_one_that_is_printed() {
    let world = World::new();
    let served = Served::over(&world);
    let document = served.get("/openapi.json").is(200).json();
    assert_eq!(document["openapi"].as_str().unwrap().split('.').take(2).collect::<Vec<_>>(), ["3", "1"]);
    let printed = world.convoke(&["schema", "api"]).exits(0).json();
    assert_eq!(printed, document);
    for (path, calls) in document["paths"].as_object().unwrap() {
        for (method, call) in calls.as_object().unwrap() {
            let answers = call["responses"].as_object().unwrap();
            for status in ["400", "401", "403", "421", "500", "503"] {
                assert!(answers.contains_key(status), "{method} {path}: {status}");
            }
            for status in ["408", "413", "415"] {
                assert!(method == "get" || answers.contains_key(status), "{method} {path}: {status}");
            }
            let is_of_a_run = path.starts_with("/runs/{run}");
            assert!(!is_of_a_run || answers.contains_key("409"), "{method} {path} reads a journal");
        }
    }
}

#[test]
fn a_run_with_a_page_of_its_own_ends_with_the_run_unless_it_is_watched() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a}\nagents:\n  - {name: a, type: script, command: sh, args: [-c, 'until test -f go; do sleep 0.05; done']}\n",
    );
    let begin = || {
        let process = world.start(&["run", "w.yaml", "--web"]);
        process.await_words("is shown at http://");
        let link = process
            .said_so_far()
            .split("is shown at http://")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned();
        let (place, token) = link.split_once("#token=").unwrap();
        let (address, run) = place.split_once("/runs/").unwrap();
        let run = run.to_owned();
        (Served { process, address: address.to_owned(), token: token.to_owned() }, run)
    };
    let (served, run) = begin();
    assert_eq!(status(&served, &run), "running");
    let stream = served.listen(&format!("run:{run}"), None);
    world.write("go", "");
    until_status(&served, &run, "succeeded");
    served.process.await_words("a page is open");
    drop(stream);
    served.process.wait().exits(0);
    let (served, _) = begin();
    served.process.wait().exits(0);
}

#[test]
fn an_answer_is_read_while_it_is_made() {
    let (url, go) = slow_service();
    let world = World::with_workflow(&format!(
        "workflow: {{name: w, entry_point: a, runtime: {{provider: {{name: openai, base_url: '{url}'}}}}}}\nagents:\n  - {{name: a, model: m, prompt: tell}}\n"
    ))
    .env("OPENAI_API_KEY", "sk-test");
    let run = detached(&world, "w.yaml");
    let served = Served::over(&world);
    let mut stream = served.listen(&format!("task:{run}:a"), None);
    let told = stream.until(|told| told.event == "text");
    assert_eq!(told.last().unwrap().data["text"], "Once upon a time");
    go.send(()).unwrap();
    until_status(&served, &run, "succeeded");
    let told = stream.until(|told| told.event == "text" && told.data["text"] == "");
    assert!(told.iter().all(|told| told.event == "text"), "{told:?}");
    let task = served.get(&format!("/runs/{run}/task?task=a")).is(200).json();
    assert!(task["output"]["text"].as_str().unwrap().contains("Once upon a time, the end."), "{task}");
}

#[test]
fn nothing_that_a_terminal_obeys_is_sent_raw() {
    let hostile = "a\u{9b}2J\u{202e}b\u{2028}c";
    let world = World::with_workflow(
        r#"workflow: {name: hostile, entry_point: ask}
agents:
  - {name: ask, type: human_gate, prompt: "a\x9b2J\u202eb\u2028c", options: [{label: Yes, value: 'yes', route: $end}]}
"#,
    );
    let run = detached(&world, "w.yaml");
    let served = Served::over(&world);
    assert_eq!(only_question(&served)["text"], hostile);
    for path in [
        "/inbox",
        &format!("/runs/{run}"),
        &format!("/runs/{run}/task?task=ask"),
        &format!("/runs/{run}/events"),
    ] {
        let body = served.get(path).is(200).body;
        assert_eq!(body.chars().find(|c| is_control(*c) && *c != '\n'), None, "{path}: {body:?}");
    }
    // The stream's reader looks at each message.
    let told = served.listen("inbox", None).until(|told| told.data.to_string().contains(hostile));
    assert!(!told.is_empty());
}
