//! Where prompts go, and which configuration says so: replaced addresses, files of projects, runs that go on from elsewhere.

use crate::support;

use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use support::model::Model;
use support::{Said, World};

/// A service that says `well` to everything.
fn model() -> Model {
    Model::answering(|_| json!("well"))
}

/// A workflow whose only agent is asked with these words about its provider.
fn workflow(runtime: &str, agent: &str) -> String {
    format!(
        "workflow: {{name: w, entry_point: a{runtime}}}\n\
         agents:\n  - {{name: a, prompt: hello, model: m{agent}}}\n\
         output: {{said: '{{{{ a.output.result }}}}'}}\n"
    )
}

/// A world in which nothing gets out of this machine, with a key for every service.
fn closed(workflow: &str) -> World {
    let world = World::with_workflow(workflow).env("HTTPS_PROXY", "http://127.0.0.1:1");
    world.env("OPENAI_API_KEY", "sk-one").env("ANTHROPIC_API_KEY", "sk-two").env("NO_PROXY", "127.0.0.1")
}

/// What standard error says first.
fn first_line(said: &Said) -> &str {
    said.stderr.lines().next().unwrap_or_default()
}

#[test]
fn a_replaced_address_holds_wherever_a_file_names_the_provider_without_one() {
    let by_runtime = workflow(", runtime: {provider: openai}", "");
    let with_settings = workflow(", runtime: {provider: {name: openai, api_key: '${OPENAI_API_KEY}'}}", "");
    let by_agent = workflow("", ", provider: openai");
    for file in [&by_runtime, &with_settings, &by_agent] {
        for variable in ["CONVOKE_BASE_URL", "OPENAI_BASE_URL"] {
            let model = model();
            let world = closed(file).env(variable, &model.url());
            let said = world.convoke(&["run", "w.yaml"]).exits(0);
            assert_eq!(model.asked().len(), 1, "{variable}\n{file}\n{said}");
            assert!(first_line(&said).contains(&model.url()), "{said}");
            assert!(first_line(&said).contains(variable), "{said}");
        }
    }
}

#[test]
fn the_configured_provider_is_where_the_file_names_it() {
    let model = model();
    let world = closed(&workflow(", runtime: {provider: openai}", ""));
    let text = format!("[provider]\nname = 'openai'\nbase_url = '{}'\n", model.url());
    world.write("convoke.toml", text);
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(model.asked().len(), 1);
}

#[test]
fn other_services_are_replaced_too() {
    for variable in ["CONVOKE_BASE_URL", "ANTHROPIC_BASE_URL"] {
        for name in ["anthropic", "claude"] {
            let model = model();
            let world = closed(&workflow(&format!(", runtime: {{provider: {name}}}"), ""));
            // The answer is none that this protocol knows; what counts is where the prompt went.
            world.env(variable, &model.url()).convoke(&["run", "w.yaml"]);
            assert!(!model.asked().is_empty(), "{variable} {name}");
        }
    }
}

#[test]
fn an_address_of_the_files_own_stays() {
    let (own, other) = (model(), model());
    let file = workflow(&format!(", runtime: {{provider: {{name: openai, base_url: '{}'}}}}", own.url()), "");
    let world = closed(&file).env("CONVOKE_BASE_URL", &other.url());
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!((own.asked().len(), other.asked().len()), (1, 0));
}

#[test]
fn an_address_that_replaces_another_providers_refuses_the_run() {
    let model = model();
    let world = closed(&workflow(", runtime: {provider: anthropic}", ""));
    let world = world.env("CONVOKE_PROVIDER", "openai").env("CONVOKE_BASE_URL", &model.url());
    let said = world.convoke(&["run", "w.yaml"]).exits(3).prints_nothing();
    said.mentions(&["api.anthropic.com", "CONVOKE_BASE_URL", "hint:"]);
    world.convoke(&["run", "w.yaml", "--dry-run"]).exits(3).mentions(&["api.anthropic.com", "hint:"]);
    assert!(model.asked().is_empty() && world.runs().is_empty());
}

#[test]
fn the_configuration_says_where_prompts_go() {
    let world = World::new().env("OPENAI_BASE_URL", "http://me:secret@house.test/v1");
    let said = world.convoke(&["config", "show"]).exits(0);
    assert!(
        said.stdout.contains("openai: http://house.test/v1 (environment variable OPENAI_BASE_URL)"),
        "{said}"
    );
    assert!(said.stdout.contains("anthropic: https://api.anthropic.com (built in)"), "{said}");
    assert!(!said.stdout.contains("secret"), "{said}");
    let rows = world.convoke(&["config", "show", "--format", "json"]).json();
    let row = |key: &str| rows.as_array().unwrap().iter().find(|row| row["key"] == key).cloned().unwrap();
    assert_eq!(row("addresses.openai")["value"], json!("http://house.test/v1"));
    assert_eq!(row("addresses.claude")["origin"], json!("built in"));
}

/// A run that waits for a person before its agent is asked, in a folder with a configuration of its own.
const GATED: &str = "\
workflow: {name: gated, entry_point: ok}
agents:
  - name: ok
    type: human_gate
    prompt: go on?
    options: [{label: 'Yes', value: 'yes', route: a}]
  - {name: a, prompt: hello, model: m, provider: house}
output: {said: '{{ a.output.result }}'}
";

/// The work folder with two projects in it, each with a service of its own under the same name.
fn two_projects() -> (World, Model, Model) {
    let (own, other) = (model(), model());
    let world = World::new();
    for (folder, model) in [("own", &own), ("other", &other)] {
        std::fs::create_dir(world.work().join(folder)).unwrap();
        world.write(&format!("{folder}/convoke.toml"), house(model));
    }
    world.write("own/w.yaml", GATED);
    let said = in_folder(&world, "own", &["run", "w.yaml", "--no-interactive"]);
    assert_eq!(said.code, Some(5), "{said}");
    (world, own, other)
}

fn house(model: &Model) -> String {
    format!("[providers.house]\nname = 'openai'\nbase_url = '{}'\napi_key = 'none'\n", model.url())
}

fn in_folder(world: &World, folder: &str, args: &[&str]) -> Said {
    Said::from(world.command(args).current_dir(world.work().join(folder)).output().expect("it starts"))
}

#[test]
fn a_run_goes_on_with_its_own_configuration_from_whichever_folder() {
    let (world, own, other) = two_projects();
    let run = world.run();
    let said = in_folder(&world, "other", &["answer", &run, "ok", "yes", "--resume"]).exits(0);
    assert_eq!((own.asked().len(), other.asked().len()), (1, 0), "{said}");
    assert!(!said.stderr.contains("when the run was started"), "nothing differs\n{said}");
}

#[test]
fn what_differs_from_the_runs_start_is_told_before_anything_is_sent() {
    let (world, own, other) = two_projects();
    let run = world.run();
    world.write("own/convoke.toml", format!("{}[limits]\nqueue = 9\n", house(&other)));
    in_folder(&world, "other", &["answer", &run, "ok", "yes"]).exits(0);
    let said = in_folder(&world, "other", &["resume", &run, "-q"]).exits(0);
    assert_eq!((own.asked().len(), other.asked().len()), (0, 1));
    let moved = format!(
        "prompts go to {} (openai); when the run was started, to {} (openai)",
        other.url(),
        own.url()
    );
    said.mentions(&[&moved, "`limits.queue` is 9", "`providers.house.base_url` is"]);
}

#[test]
fn a_relative_state_folder_is_the_callers() {
    let (world, own, _) = two_projects();
    let run = world.run();
    let flag = ["--state-dir", "../../state"];
    in_folder(&world, "other", &[&["answer", &run, "ok", "yes", "--resume"], &flag[..]].concat()).exits(0);
    assert_eq!(own.asked().len(), 1);
}

fn queue_of(world: &World, folder: &str) -> Option<Value> {
    let rows = in_folder(world, folder, &["config", "show", "--format", "json"]).exits(0).json();
    let rows = rows.as_array().unwrap();
    rows.iter().find(|row| row["key"] == "limits.queue").map(|row| row["value"].clone())
}

#[test]
fn a_projects_configuration_is_found_from_its_subfolders_and_not_beyond_the_repository() {
    let world = World::new();
    std::fs::create_dir_all(world.work().join("repo/a/b")).unwrap();
    world.write("convoke.toml", "limits.queue = 7\n");
    assert_eq!(queue_of(&world, "repo/a/b"), Some(json!(7)));
    std::fs::create_dir(world.work().join("repo/.git")).unwrap();
    assert_eq!(queue_of(&world, "repo/a/b"), None, "beyond the repository");
    world.write("repo/convoke.toml", "limits.queue = 8\nproject.context = 'shared.json'\n");
    assert_eq!(queue_of(&world, "repo/a/b"), Some(json!(8)));
    let shown = in_folder(&world, "repo/a/b", &["config", "show"]).exits(0);
    assert!(shown.stdout.contains("/repo/shared.json"), "a path of the file begins there\n{shown}");
}

#[test]
fn a_configuration_that_others_could_have_written_is_refused_with_the_reason() {
    let world = World::new();
    world.write("convoke.toml", "limits.queue = 7\n");
    let path = world.work().join("convoke.toml");
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(&path, 0o666);
    let said = world.convoke(&["config", "show"]).exits(3).prints_nothing();
    said.mentions(&["convoke.toml: refused: other users may write to it (mode 0666)", "chmod go-w"]);
    mode(&path, 0o644);
    world.convoke(&["config", "show"]).exits(0);
    // Only the administrator can give a file away.
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(54_321), None).unwrap();
        let said = world.convoke(&["config", "show"]).exits(3).prints_nothing();
        said.mentions(&["convoke.toml: refused: it belongs to another user (uid 54321)"]);
    }
}
