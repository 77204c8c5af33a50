//! A key that comes back from outside goes no further: not to the journal, the screen, errors, cassettes or commands.

use crate::support;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, json};
use std::path::Path;
use support::model::Model;
use support::{Said, World};

const KEY: &str = "canary-7f3a/91\"c0 de+ffee";

/// The key as it is, and as services, tools and models are known to pass it on.
fn forms() -> Vec<String> {
    let hex = |upper: bool| -> String {
        let one = |byte: u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
        KEY.bytes().map(one).collect()
    };
    let percent: String = KEY
        .bytes()
        .map(|b| match b {
            b'-' => "-".to_owned(),
            b if b.is_ascii_alphanumeric() => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect();
    let quoted = serde_json::to_string(KEY).unwrap();
    vec![
        KEY.to_owned(),
        STANDARD.encode(KEY),
        hex(false),
        percent,
        quoted[1..quoted.len() - 1].to_owned(),
        KEY.chars().rev().collect(),
    ]
}

/// Every place where a run leaves something, as text.
fn everything(world: &World, said: &Said) -> String {
    let run = world.runs()[0].clone();
    let mut all = format!("{}\n{}\n", said.stdout, said.stderr);
    for args in
        [vec!["events", &run, "--format", "json"], vec!["show", &run], vec!["show", &run, "--format", "json"]]
    {
        all.push_str(&world.convoke(&args).exits(0).stdout);
    }
    for task in ["told", "refused"] {
        all.push_str(&world.convoke(&["show", &run, task, "--format", "json"]).stdout);
    }
    gather(&world.state(), &mut all);
    gather(&world.work().join("tape"), &mut all);
    all
}

fn gather(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => gather(&entry.path(), all),
            false => all.push_str(&String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap())),
        }
    }
    // Last, because looking into a journal tidies up the files beside it.
    let journal = folder.join("journal.db");
    if journal.is_file() {
        unpack(&journal, all);
    }
}

/// The plan and the outputs of a run, which its journal holds packed.
fn unpack(journal: &Path, all: &mut String) {
    let journal = rusqlite::Connection::open(journal).unwrap();
    let mut rows = journal.prepare("SELECT body FROM blobs").unwrap();
    let bodies = rows.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap().map(Result::unwrap);
    for body in bodies {
        let text = zstd::decode_all(&body[..]).unwrap_or(body);
        all.push_str(&String::from_utf8_lossy(&text));
    }
}

/// An agent that is told the key, one that is refused with it in the message, and a command that looks for it.
fn workflow(url: &str) -> String {
    format!(
        r#"
workflow:
  name: leaky
  entry_point: [told, refused, child]
  runtime:
    provider: {{name: openai, base_url: "{url}", api_key: "${{SERVICE_KEY}}"}}
agents:
  - {{name: told, model: told, prompt: "What is my key?"}}
  - {{name: refused, model: refused, prompt: Go, on_error: [{{class: any, to: $end}}], retry: {{max_attempts: 1}}}}
  - {{name: child, type: script, command: env}}
output: {{told: "{{{{ told.output.result }}}}", child: "{{{{ child.output.stdout }}}}"}}
"#
    )
}

#[test]
fn no_form_of_a_key_is_left_anywhere() {
    let spoken = forms().join(" and ");
    let mut replies = Map::new();
    replies.insert("told".into(), json!({ "say": format!("It is {spoken}.") }));
    replies.insert("refused".into(), json!({ "status": 401, "message": format!("bad key {spoken}") }));
    let model = Model::start(&replies);
    let world = World::with_workflow(&workflow(&model.url()));
    let mut command = world.command(&["run", "w.yaml", "--record", "tape"]);
    let said = Said::from(command.env("SERVICE_KEY", KEY).output().unwrap());
    assert!(said.stdout.contains("It is [secret]"), "what was said is passed on without it\n{said}");
    assert!(said.stderr.contains("bad key "), "an error still says what happened\n{said}");
    assert_eq!(model.asked().len(), 2, "both agents asked with the key");
    let all = everything(&world, &said);
    for form in forms() {
        assert!(!all.contains(&form), "`{form}` was left somewhere");
    }
}

/// A coding agent that is given the key by reference and repeats it, and a command that is given it too.
const GIVEN: &str = r#"
workflow: {name: given, entry_point: [coder, child]}
agents:
  - name: coder
    provider:
      name: cli
      command: sh
      args: [-c, 'printf %s "$1" > coder.got; printf %s "$2" > coder.asked; echo "it was $1"', sh, "${SHOP_TOKEN}", "{prompt}"]
    prompt: "Say it, not {{ '$' }}{HOME}"
  - name: child
    type: script
    command: sh
    args: [-c, 'printf %s "$GIVEN" > child.got']
    env: {GIVEN: "x ${SHOP_TOKEN}"}
output: {coder: "{{ coder.output.result }}"}
"#;

fn left_behind(world: &World) -> String {
    let mut all = String::new();
    gather(&world.state(), &mut all);
    all
}

#[test]
fn what_programs_are_started_with_stays_a_reference() {
    let world = World::with_workflow(GIVEN).env("SHOP_TOKEN", KEY);
    let said = world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!((world.read("coder.got"), world.read("child.got")), (KEY.to_owned(), format!("x {KEY}")));
    assert_eq!(said.json(), json!({ "coder": "it was [secret]" }));
    let all = left_behind(&world) + &said.stderr;
    assert!(forms().iter().all(|form| !all.contains(form)), "the key was left somewhere");
    assert!(all.contains("${SHOP_TOKEN}"), "the plan holds the reference");
    for args in [
        vec!["plan", "w.yaml", "--format", "json"],
        vec!["check", "w.yaml"],
        vec!["run", "w.yaml", "--dry-run"],
    ] {
        let said = world.convoke(&args).exits(0);
        assert!(!format!("{}{}", said.stdout, said.stderr).contains(KEY), "{args:?}\n{said}");
    }
}

#[test]
fn a_prompt_is_no_place_for_references() {
    let world = World::with_workflow(GIVEN).env("SHOP_TOKEN", KEY).env("HOME", "/not-told");
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert!(world.read("coder.asked").contains("not ${HOME}"), "{}", world.read("coder.asked"));
}

#[test]
fn a_variable_that_programs_need_is_asked_for_before_anything_starts() {
    let world = World::with_workflow(GIVEN);
    let said = world.convoke(&["run", "w.yaml"]).exits(3).prints_nothing();
    said.mentions(&["environment variable `SHOP_TOKEN` is not set", "give a default: `${SHOP_TOKEN:-"]);
    assert!(world.runs().is_empty());
    world.write(
        "w.yaml",
        "workflow: {name: w, entry_point: a}\nagents: [{name: a, provider: mine, prompt: x}]\n",
    );
    let config = "[providers.mine]\nname = \"cli\"\ncommand = \"sh\"\nargs = [\"-c\", \"exit 1\", \"${SHOP_TOKEN}\"]\n";
    world.write("convoke.toml", config);
    let said = world.convoke(&["run", "w.yaml"]).exits(3).prints_nothing();
    said.mentions(&["variable `SHOP_TOKEN` is not set"]);
}

/// A command that prints the secret it was given, one that prints what it inherited, and two agents that are told it.
fn printing(url: &str) -> String {
    format!(
        r#"
workflow:
  name: printing
  entry_point: shop
  runtime: {{provider: {{name: openai, base_url: "{url}", api_key: none}}}}
agents:
  - name: shop
    type: script
    command: sh
    args: [-c, 'echo "the token is $GIVEN, also $AROUND_CREDENTIAL"; printf %s "$GIVEN" | base64 -w0']
    env: {{GIVEN: "${{SHOP_TOKEN}}"}}
    routes: [{{to: blind}}]
  - {{name: blind, model: blind, prompt: "Look: {{{{ shop.output.stdout }}}}", routes: [{{to: cleared}}]}}
  - {{name: cleared, model: cleared, secrets: [SHOP_TOKEN], prompt: "Look: {{{{ shop.output.stdout }}}}"}}
output: {{ok: "{{{{ cleared.output.result }}}}"}}
"#
    )
}

#[test]
fn a_model_is_sent_no_secret_that_its_contract_does_not_list() {
    let around = "around-canary-9a8b7c6d";
    let model = Model::answering(|_| json!("seen"));
    let world = World::with_workflow(&printing(&model.url()));
    let world = world.env("SHOP_TOKEN", KEY).env("AROUND_CREDENTIAL", around);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let asked = model.asked();
    let text = |name: &str| asked.iter().find(|asked| asked.model == name).unwrap().text.clone();
    let (blind, cleared) = (text("blind"), text("cleared"));
    assert!(blind.contains("the token is [secret], also [secret]"), "{blind}");
    assert!(forms().iter().all(|form| !blind.contains(form)), "{blind}");
    assert!(cleared.contains(&format!("the token is {KEY}, also [secret]")), "{cleared}");
    assert!(cleared.contains(&STANDARD.encode(KEY)), "{cleared}");
    assert!(!blind.contains(around) && !cleared.contains(around));
}

/// Says `leak` for every process whose environment or memory shows the key, and for its own parents if they can be opened.
const SPIES: &str = r#"
workflow: {name: w, entry_point: spies}
agents:
  - name: spies
    type: script
    command: sh
    args:
      - -c
      - |
        for process in /proc/[0-9]*; do
          if grep -qa canary-in-the-environment $process/environ 2>/dev/null; then echo "leak $process"; fi
        done
        supervisor=$(sed 's/.*) . \([0-9]*\).*/\1/' /proc/$$/stat)
        engine=$(sed 's/.*) . \([0-9]*\).*/\1/' /proc/$supervisor/stat)
        for process in $supervisor $engine; do
          if head -c 1 /proc/$process/environ >/dev/null 2>&1 || (: </proc/$process/mem) 2>/dev/null; then
            echo "open $process"
          fi
        done
        echo looked
output: {said: '{{ spies.output.stdout }}'}
"#;

/// The scripts of an ordinary user: nothing can be closed to root.
#[test]
fn the_environment_and_the_memory_of_the_engine_are_closed_to_its_scripts() {
    use std::os::unix::process::CommandExt;
    let world = World::with_workflow(SPIES);
    let mut command = world.command(&["run", "w.yaml", "--silent"]);
    command.env("OPENAI_API_KEY", "canary-in-the-environment");
    if rustix::process::geteuid().is_root() {
        const NOBODY: u32 = 65_534;
        hand_over(world.work().parent().expect("a folder"), NOBODY);
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = match command.output() {
        Ok(output) => Said::from(output),
        // The binary lies where an ordinary user cannot read it.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(output.exits(0).json(), json!({"said": "looked\n"}));
}

fn hand_over(folder: &Path, user: u32) {
    std::os::unix::fs::chown(folder, Some(user), Some(user)).unwrap();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => hand_over(&entry.path(), user),
            false => std::os::unix::fs::chown(entry.path(), Some(user), Some(user)).unwrap(),
        }
    }
}
