//! `convoke export RUN --html FILE`: what is in the file, what is not, and what happens to files that are there.

use crate::support::World;
use serde_json::Value;

const SECRET: &str = "wolpertinger-4711-secret";

const FLOW: &str = "\
workflow:
  name: 'tags <b> & more'
  entry_point: each
  runtime: {provider: {name: scripted, file: replies.yaml}}
  input:
    items: {type: array, default: [a, b, c]}
    key: {type: string, default: none}
for_each:
  - name: each
    type: for_each
    source: workflow.input.items
    as: item
    agent: {name: one, prompt: 'look at {{ item }} with {{ workflow.input.key }}'}
    routes: [{to: last}]
agents:
  - {name: last, prompt: say it}
output: {said: '{{ last.output.result }}'}
";

const REPLIES: &str = "\
replies:
  one:
    - \"</script><script>alert(1)</script> <!-- done\"
  last:
    - all is said
";

fn world() -> World {
    let world = World::with_workflow(FLOW).env("WOLPERTINGER_PASSWORD", SECRET);
    world.write("replies.yaml", REPLIES);
    world
}

/// The data of a page.
fn recorded(page: &str) -> Value {
    let begin = "<script type=\"application/json\" id=\"recorded-run\">";
    let from = page.find(begin).expect("the data is there") + begin.len();
    let text = &page[from..];
    serde_json::from_str(&text[..text.find("</script>").unwrap()]).expect("the data is JSON")
}

#[test]
fn a_page_holds_what_the_server_shows_and_no_secret() {
    let world = world();
    world.convoke(&["run", "w.yaml", "-i", &format!("key={SECRET}")]).exits(0);
    let said = world.convoke(&["export", "last", "--html", "run.html"]).exits(0).stderr;
    assert!(said.contains("is exported as a page") && said.contains("5 tasks"), "{said}");
    let page = world.read("run.html");
    assert!(!page.contains(SECRET), "the value of a variable that is named like a secret is in the file");
    let data = recorded(&page);
    assert_eq!(data["head"]["status"], "succeeded");
    assert_eq!(data["tasks"]["total"], 5);
    assert_eq!(data["tasks"]["tasks"].as_array().unwrap().len(), 5);
    let detail = &data["details"]["each[1]"];
    let text = detail["output"]["text"].as_str().unwrap();
    let said: Value = serde_json::from_str(text).unwrap();
    assert_eq!(said["result"], "</script><script>alert(1)</script> <!-- done", "it is text, and whole");
    assert_eq!(detail["prompt"]["parts"][0]["text"], "look at b with [secret]");
    assert!(data["graph"]["nodes"].as_array().unwrap().len() >= 2);
    assert!(data["story"]["sentences"].as_array().unwrap().len() > 2);
    assert_eq!(data["left_out"], serde_json::json!([]));
    assert!(page.contains("<title>tags &lt;b> &amp; more · Convoke</title>"), "the name is text as well");
}

#[test]
fn every_moment_of_a_short_run_is_in_the_page_as_the_server_shows_it() {
    let world = world();
    world.convoke(&["run", "w.yaml"]).exits(0);
    world.convoke(&["export", "last", "--html", "run.html"]).exits(0);
    let data = recorded(&world.read("run.html"));
    let served = crate::serving::Served::over(&world);
    let run = data["head"]["run"].as_str().unwrap().to_owned();
    let last = data["head"]["position"].as_u64().unwrap();
    let finals: Vec<Value> = data["tasks"]["tasks"].as_array().unwrap().clone();
    let of = |order: u64| finals.iter().find(|row| row["order"] == order).cloned().unwrap_or_default();
    let mut rows = std::collections::BTreeMap::new();
    let places = data["places"].as_array().unwrap();
    assert_eq!(places.len() as u64, last - 1, "each event but the last has a place");
    for place in places {
        for change in place["rows"].as_array().unwrap() {
            let mut row = of(change[0].as_u64().unwrap());
            for (name, value) in change[1].as_object().unwrap() {
                row[name] = value.clone();
            }
            rows.insert(change[0].as_u64().unwrap(), row);
        }
        let at = &place["position"];
        let shown = served.get(&format!("/runs/{run}/tasks?at={at}&limit=500")).is(200).json();
        let kept: Vec<&Value> = rows.values().collect();
        assert_eq!(kept, shown["tasks"].as_array().unwrap().iter().collect::<Vec<_>>(), "after event {at}");
        let head = served.get(&format!("/runs/{run}?at={at}")).is(200).json();
        for (name, value) in place["head"].as_object().unwrap() {
            assert_eq!(&head[name], value, "{name} after event {at}");
        }
        let critical =
            served.get(&format!("/runs/{run}/timeline?at={at}")).is(200).json()["critical"].clone();
        assert_eq!(
            place["critical"], critical,
            "no row of this run goes away, so its places are its numbers"
        );
    }
}

#[test]
fn a_page_asks_for_nothing_and_lets_nothing_else_run() {
    let world = world();
    world.convoke(&["run", "w.yaml"]).exits(0);
    let page = world.convoke(&["export", "last", "--html", "-"]).exits(0).stdout;
    let policy = page.split("http-equiv=\"Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = &policy[..policy.find('"').unwrap()];
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(
        !policy.contains("unsafe") && !policy.contains("http") && !policy.contains("connect-src"),
        "{policy}"
    );
    let frame = page.split("<div id=\"page\">").next().unwrap();
    let head = frame.split("<style>").next().unwrap();
    assert!(!head.contains(" src=") && !head.contains("href=\"/") && !head.contains("href=\"http"), "{head}");
}

#[test]
fn a_file_that_is_there_is_left_as_it_is() {
    let world = world();
    world.convoke(&["run", "w.yaml"]).exits(0);
    world.write("run.html", "mine");
    let refused = world.convoke(&["export", "last", "--html", "run.html"]).exits(2);
    assert!(
        refused.stderr.contains("`run.html` exists already") && refused.stderr.contains("hint:"),
        "{}",
        refused.stderr
    );
    assert_eq!(world.read("run.html"), "mine");
    let both = world.convoke(&["export", "last", "x.convoke", "--html", "y.html"]).exits(2);
    assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
    assert!(
        world.convoke(&["export", "no-such-run", "--html", "y.html"]).exits(2).stderr.contains("no-such-run")
    );
    assert!(!world.work().join("y.html").exists());
}
