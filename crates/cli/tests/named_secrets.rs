//! Named secrets: each reaches what lists it, and nothing else has it, in whatever form.

mod elsewhere;

use crate::support::model::Model;
use crate::support::receiver::Receiver;
use crate::support::{Said, World};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

/// One for each source, with what encoders change.
const VALUES: [(&str, &str); 4] = [
    ("FROM_ENV", "canary-env/91\"c0 de+ff"),
    ("FROM_FILE", "canary-file/91\"c0 de+ff"),
    ("FROM_COMMAND", "canary-command/91\"c0 de+ff"),
    ("FROM_VAULT", "canary-vault/91-c0de+ff"),
];

/// A value as it is, and in the encodings in which tools and models pass it on.
fn forms(value: &str) -> Vec<String> {
    let bytes = |one: fn(u8) -> String| value.bytes().map(one).collect::<String>();
    let quoted = serde_json::to_string(value).unwrap();
    vec![
        value.to_owned(),
        STANDARD.encode(value),
        bytes(|byte| format!("{byte:02x}")),
        bytes(|byte| format!("%{byte:02X}")),
        quoted[1..quoted.len() - 1].to_owned(),
        value.chars().rev().collect(),
    ]
}

/// Prints what it is given by name in every form, and keeps a witness of what it got.
const PRINTER: &str = r#"
import base64, json, os, sys, urllib.parse
name, witness = sys.argv[1:3]
value = os.environ.get(name, "nothing")
open(witness, "w").write(value)
raw = value.encode()
forms = [value, base64.b64encode(raw).decode(), raw.hex(), "".join(f"%{b:02X}" for b in raw), json.dumps(value)[1:-1], value[::-1]]
print("it is " + " and ".join(forms))
print(value, file=sys.stderr)
"#;

/// An MCP server whose one tool says what the server was given.
const SERVER: &str = r#"
import base64, json, os, sys
value = os.environ.get("FROM_VAULT", "nothing")
open("server.got", "w").write(value + "\n" + "\n".join(sorted(os.environ)))
for line in sys.stdin:
    request = json.loads(line)
    method = request["method"]
    if method == "initialize":
        result = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "tell", "description": "Tells.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]}
    elif method == "tools/call":
        text = f"the server has {value} or {base64.b64encode(value.encode()).decode()}"
        result = {"content": [{"type": "text", "text": text}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

fn workflow(url: &str) -> String {
    let printer = |name: &str, next: &str| {
        format!(
            "  - {{name: {name}, type: script, command: python3, args: [printer.py, {upper}, {name}.got], secrets: [{upper}], routes: [{{to: {next}}}]}}\n",
            upper = name.to_uppercase()
        )
    };
    let printers = printer("from_env", "from_file")
        + &printer("from_file", "from_command")
        + &printer("from_command", "other");
    format!(
        r#"
workflow:
  name: shop
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
{printers}
  - {{name: other, type: script, command: sh, args: [-c, 'env; cat keys/token; echo done'], routes: [{{to: blind}}]}}
  - {{name: blind, model: blind, tools: [tell], prompt: "{{{{ from_env.output.stdout }}}} {{{{ from_file.output.stderr }}}} {{{{ from_command.output.stdout }}}}", routes: [{{to: cleared}}]}}
  - {{name: cleared, model: cleared, tools: [tell], secrets: [FROM_VAULT], prompt: "{{{{ from_file.output.stdout }}}}"}}
output: {{said: "{{{{ cleared.output.result }}}}", other: "{{{{ other.output.stdout }}}}"}}
"#
    )
}

/// A model that calls the tool once, and then says what it was told.
fn teller() -> Model {
    Model::answering(|body| {
        let messages = body["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        match last["role"].as_str() {
            Some("tool") => json!(format!("I heard: {}", last["content"].as_str().unwrap_or_default())),
            _ => json!({"call": {"name": "teller__tell", "arguments": {}}}),
        }
    })
}

fn private(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// A world with the four secrets.
fn world(text: &str) -> World {
    let world = World::with_workflow(text).env("HELD_IN", VALUES[0].1);
    world.write("printer.py", PRINTER);
    world.write("server.py", SERVER);
    private(&world.work().join("keys/token"), &format!("{}\n", VALUES[1].1));
    world.write("print.sh", format!("cat <<'END'\n{}\nEND\n", VALUES[2].1));
    world.convoke(&["secrets", "init", "--identity", "vault.key"]).exits(0).prints_nothing();
    set(&world, "shop", VALUES[3].1).exits(0);
    world
}

fn set(world: &World, name: &str, value: &str) -> Said {
    let mut child = world.command(&["secrets", "set", name]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(value.as_bytes()).unwrap();
    Said::from(child.wait_with_output().unwrap())
}

/// Everything that lies below a folder, journals unpacked.
fn gathered(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match entry.file_type().unwrap().is_dir() {
            true => all.push_str(&gathered(&path)),
            false => all.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default())),
        }
    }
    let journal = folder.join("journal.db");
    if journal.is_file() {
        let journal = rusqlite::Connection::open(journal).unwrap();
        let mut rows = journal.prepare("SELECT body FROM blobs").unwrap();
        for body in rows.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap().map(Result::unwrap) {
            all.push_str(&String::from_utf8_lossy(&zstd::decode_all(&body[..]).unwrap_or(body)));
        }
    }
    all
}

#[track_caller]
fn holds_none(what: &str, text: &str, values: &[(&str, &str)]) {
    for (name, value) in values {
        for form in forms(value) {
            if let Some(at) = text.find(&form) {
                let from = text[..at].char_indices().rev().nth(80).map_or(0, |(at, _)| at);
                panic!("{name} stands in {what} as `{form}`, behind: {}", &text[from..at]);
            }
        }
    }
}

#[test]
fn each_secret_reaches_what_lists_it_and_no_form_of_it_is_left_anywhere() {
    let (model, receiver) = (teller(), Receiver::start());
    let world = world(&workflow(&model.url()));
    world.write("convoke.toml", format!("[telemetry]\nendpoint = '{}'\ncontents = true\n", receiver.url()));
    let said = world.convoke(&["run", "w.yaml", "--record", "tape", "--log-format", "json"]).exits(0);
    for (name, value) in &VALUES[..3] {
        assert_eq!(world.read(&format!("{}.got", name.to_lowercase())), *value, "{name} reached its script");
    }
    let got = world.read("server.got");
    assert_eq!(got.lines().next(), Some(VALUES[3].1), "the server has the one that it lists");
    for (name, _) in VALUES[..3].iter().chain(&[("HELD_IN", "")]) {
        assert!(!got.lines().skip(1).any(|variable| variable == *name), "and not {name}");
    }
    // Models: the key as a header, and only the listed secret in what the cleared one is told.
    let asked = model.asked();
    assert!(asked.iter().all(|asked| asked.authorization == format!("Bearer {}", VALUES[3].1)), "{asked:?}");
    for asked in asked.iter().filter(|asked| asked.model == "blind") {
        holds_none("what the blind model is told", &asked.text, &VALUES);
    }
    assert!(
        asked.iter().any(|asked| asked.model == "blind" && asked.text.contains("the server has [secret]"))
    );
    let cleared: String =
        asked.iter().filter(|asked| asked.model == "cleared").map(|asked| asked.text.as_str()).collect();
    holds_none("what the cleared model is told", &cleared, &VALUES[..3]);
    assert!(cleared.contains(&format!("the server has {}", VALUES[3].1)), "its contract lists it: {cleared}");
    // Everything that is written down or told.
    let output = said.json();
    assert_eq!(output["said"], "I heard: the server has [secret] or [secret]");
    assert!(output["other"].as_str().unwrap().ends_with("done\n"), "{output}");
    let run = world.run();
    let mut shown = said.to_string();
    for args in [
        &["show", &run][..],
        &["show", &run, "blind"],
        &["show", &run, "from_env", "--format", "json"],
        &["events", &run, "--format", "json"],
        &["metrics"],
        &["runs", "--format", "json"],
        &["plan", "w.yaml", "--format", "json"],
        &["check", "w.yaml"],
        &["config", "show"],
        &["secrets", "check", "w.yaml"],
        &["secrets", "list", "--format", "json"],
    ] {
        write!(shown, "{}", world.convoke(args).exits(0)).unwrap();
    }
    holds_none("what is said", &shown, &VALUES);
    holds_none("the state folder", &gathered(&world.state()), &VALUES);
    holds_none("the cassette", &gathered(&world.work().join("tape")), &VALUES);
    let traces = receiver.taken();
    assert!(!traces.is_empty(), "contents are traced");
    for taken in traces {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&taken.body[..]), &mut text).ok();
        let text = String::from_utf8_lossy(if text.is_empty() { &taken.body } else { &text }).into_owned();
        holds_none("a trace", &text, &VALUES);
    }
    // The recording plays without the service and without the vault: nothing that is played back needs it.
    std::fs::remove_file(world.work().join("vault.key")).unwrap();
    let played = world.convoke(&["run", "w.yaml", "--replay", "tape"]).exits(0);
    assert_eq!(played.json()["said"], output["said"]);
}

const LISTING: &str = r#"
workflow: {name: listing, entry_point: one}
secrets:
  FROM_ENV: {env: HELD_IN}
  FROM_FILE: {file: keys/token}
  FROM_COMMAND: {command: [sh, print.sh]}
  FROM_VAULT: {vault: shop}
agents:
  - {name: one, type: script, command: sh, args: [-c, 'touch ran'], secrets: [FROM_ENV, FROM_FILE, FROM_COMMAND, FROM_VAULT]}
"#;

#[test]
fn every_missing_secret_is_named_before_anything_is_done() {
    let world = world(LISTING).env("HELD_IN", "");
    std::fs::remove_file(world.work().join("keys/token")).unwrap();
    world.write("print.sh", "echo canary-in-an-error >&2; exit 3\n");
    world.convoke(&["secrets", "remove", "shop"]).exits(0);
    let said = world.convoke(&["run", "w.yaml"]).exits(3).prints_nothing();
    let said = said.mentions(&[
        "secret `FROM_ENV` cannot be fetched: environment variable `HELD_IN` is not set",
        "secret `FROM_FILE` cannot be fetched: file `keys/token`: it cannot be read",
        "secret `FROM_COMMAND` cannot be fetched: command `sh` ended with exit code 3",
        "secret `FROM_VAULT` cannot be fetched: the vault has no `shop`",
        "convoke secrets set shop",
    ]);
    assert!(!said.stderr.contains("canary"), "what the command says may be the secret\n{said}");
    assert!(world.runs().is_empty() && !world.work().join("ran").exists());
    world.convoke(&["secrets", "check", "w.yaml"]).exits(3).mentions(&["missing: `FROM_VAULT`", "4 secrets"]);
    world.convoke(&["check", "w.yaml"]).exits(0).mentions(&["env::unset_secret", "`HELD_IN`"]);
}

#[test]
fn what_could_leak_or_hang_is_refused() {
    let world = world(LISTING).env("CONVOKE_TEST_SECRET_BOUND", "1");
    let token = world.work().join("keys/token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    world
        .convoke(&["run", "w.yaml"])
        .exits(3)
        .mentions(&["others can read it (mode 0644)", "chmod 600 keys/token"]);
    private(&token, "short\n");
    world.convoke(&["run", "w.yaml"]).exits(3).mentions(&["`FROM_FILE`", "5 bytes", "cannot be masked"]);
    private(&token, VALUES[1].1);
    world.write("print.sh", "echo $$ > pid; (sleep 1000 & echo $! >> pid); exec sleep 1000\n");
    world.convoke(&["run", "w.yaml"]).exits(3).mentions(&["command `sh` took longer than 1 s"]);
    for pid in world.read("pid").lines() {
        assert!(!Path::new("/proc").join(pid).exists(), "process {pid} is left");
    }
    assert!(world.runs().is_empty());
}

/// A run that waits for a person goes on with what the secret is then.
#[test]
fn a_run_that_goes_on_fetches_secrets_anew() {
    let text = "\
workflow: {name: w, entry_point: before}
secrets: {TOKEN: {file: token}}
agents:
  - {name: before, type: script, command: sh, args: [-c, 'printf %s \"$TOKEN\" > before.got'], secrets: [TOKEN], routes: [{to: ask}]}
  - {name: ask, type: human_gate, prompt: Go on?, options: [{label: Go, value: go, route: after}]}
  - {name: after, type: script, command: sh, args: [-c, 'printf %s \"$TOKEN\" > after.got'], secrets: [TOKEN]}
";
    let world = World::with_workflow(text);
    private(&world.work().join("token"), "canary-before\n");
    world.convoke(&["run", "w.yaml"]).exits(5);
    std::fs::remove_file(world.work().join("token")).unwrap();
    let run = world.run();
    world
        .convoke(&["answer", &run, "ask", "go", "--resume"])
        .exits(3)
        .mentions(&["secret `TOKEN` cannot be fetched"]);
    assert!(
        !["failed", "succeeded"].contains(&world.status().as_str()),
        "the run waits for it, and what was done is kept"
    );
    private(&world.work().join("token"), "canary-after\n");
    world.convoke(&["resume", &run]).exits(0);
    assert_eq!(
        (world.read("before.got").as_str(), world.read("after.got").as_str()),
        ("canary-before", "canary-after")
    );
    holds_none(
        "the state folder",
        &gathered(&world.state()),
        &[("A", "canary-before"), ("B", "canary-after")],
    );
}

#[test]
fn a_secret_of_the_configuration_goes_over_the_file_and_is_a_providers_key() {
    let model = Model::answering(|_| json!("well"));
    let text = format!(
        "workflow: {{name: w, entry_point: a, runtime: {{provider: {{name: openai, base_url: '{}'}}, default_model: m}}}}\nagents: [{{name: a, prompt: x}}]\n",
        model.url()
    );
    let world = World::with_workflow(&text).env("OPENAI_API_KEY", "canary-in-the-environment");
    world.write("convoke.toml", "[secrets]\nOPENAI_API_KEY.file = 'key'\n");
    private(&world.work().join("key"), "canary-of-the-file\n");
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(model.asked()[0].authorization, "Bearer canary-of-the-file");
    world.write("convoke.toml", "[secrets]\nOPENAI_API_KEY.file = 'key'\nOPENAI_API_KEY.env = 'X'\n");
    world.convoke(&["run", "w.yaml"]).exits(2).mentions(&["convoke.toml:2", "a secret has one source"]);
}

#[test]
fn the_vault_opens_for_a_person_and_for_no_step() {
    let world = world(LISTING);
    let names = world.convoke(&["secrets", "list"]).exits(0);
    assert!(names.stdout.starts_with("shop  set 20"), "{names}");
    world.convoke(&["secrets", "get", "shop"]).exits(3).prints_nothing().mentions(&["--reveal"]);
    assert_eq!(
        world.convoke(&["secrets", "get", "shop", "--reveal"]).exits(0).stdout,
        format!("{}\n", VALUES[3].1)
    );
    world.convoke(&["secrets", "get", "none", "--reveal"]).exits(2).mentions(&["the vault has no `none`"]);
    world.convoke(&["secrets", "init"]).exits(3).mentions(&["there is a vault already"]);
    world.convoke(&["secrets", "set", "a-b"]).exits(2);
    set(&world, "short", "1234567").exits(3).mentions(&["cannot be masked"]);
    for entry in std::fs::read_dir(world.state().join("secrets")).unwrap().flatten() {
        assert_eq!(
            entry.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{}",
            entry.path().display()
        );
    }
    // A step finds the vault closed, also where it sees the state folder and has given up its mark.
    let convoke = crate::support::binary().display().to_string();
    for command in
        ["secrets list", "secrets get shop --reveal", "secrets set new", "trust w.yaml", "run inner.yaml"]
    {
        let script = format!("env -u CONVOKE_COMMAND '{convoke}' {command} </dev/null; echo exit $?");
        let text = format!(
            "workflow: {{name: w, entry_point: a}}\nagents: [{{name: a, type: script, command: sh, args: [-c, {}]}}]\noutput: {{said: '{{{{ a.output.stdout }}}}'}}\n",
            json!(script)
        );
        world.write("step.yaml", text);
        world.write("inner.yaml", LISTING);
        let user = world.work().join("../home/.config/convoke/config.toml");
        std::fs::create_dir_all(user.parent().unwrap()).unwrap();
        std::fs::write(user, "[sandbox]\nstate = 'visible'\n").unwrap();
        let said = world.convoke(&["run", "step.yaml", "--silent"]).exits(0);
        let heard = said.json()["said"].as_str().unwrap().to_owned();
        assert!(heard.ends_with("exit 24\n") && !heard.contains("canary"), "{command}: {heard}");
    }
    assert!(!world.work().join("ran").exists());
}

#[test]
fn a_passphrase_comes_from_a_file_or_a_terminal_alone() {
    let world = World::with_workflow(LISTING);
    world.convoke(&["secrets", "init"]).exits(3).mentions(&["asked for at a terminal", "--identity FILE"]);
    private(&world.work().join("pass"), "correct horse battery\n");
    private(&world.work().join("other"), "staple staple staple\n");
    private(&world.work().join("weak"), "secret\n");
    world
        .convoke(&["secrets", "init", "--vault-passphrase-file", "weak"])
        .exits(3)
        .mentions(&["6 characters"]);
    world.convoke(&["secrets", "init", "--vault-passphrase-file", "pass"]).exits(0);
    world.convoke(&["secrets", "list", "--vault-passphrase-file", "pass"]).exits(0);
    let wrong = world.convoke(&["secrets", "list", "--vault-passphrase-file", "other"]).exits(3);
    wrong.mentions(&["the passphrase does not open the vault"]);
    std::fs::set_permissions(world.work().join("pass"), std::fs::Permissions::from_mode(0o644)).unwrap();
    world
        .convoke(&["secrets", "list", "--vault-passphrase-file", "pass"])
        .exits(3)
        .mentions(&["others can read it"]);
    let said = world.convoke(&["run", "w.yaml"]).exits(3);
    said.mentions(&["secret `FROM_VAULT` is in the vault: a passphrase is asked for at a terminal"]);
}

/// Whatever a step was not given it does not find: not in its environment, not in the file.
#[test]
fn a_file_with_a_secret_is_hidden_from_steps() {
    let text = "\
workflow: {name: w, entry_point: a}
secrets: {TOKEN: {file: token}}
agents: [{name: a, type: script, command: sh, args: [-c, 'cat token; echo \"<$TOKEN>\"']}]
output: {said: '{{ a.output.stdout }}'}
";
    let world = World::with_workflow(text).env("TOKEN", "canary-around-4242");
    private(&world.work().join("token"), "canary-4242\n");
    let said = world.convoke(&["run", "w.yaml"]).exits(0);
    let heard: Value = said.json();
    // The file is empty to steps. Without a sandbox it can be read, and what it holds is masked all the same.
    let wanted = if said.stderr.contains("without a sandbox") { "[secret]\n<>\n" } else { "<>\n" };
    assert_eq!(heard["said"], wanted, "{said}");
}
