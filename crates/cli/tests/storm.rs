//! Several processes, one service with an undocumented limit: what one process learns holds for all.

use crate::support;

use serde_json::Value;
use support::World;
use support::model::Model;
use support::process::{Process, until};

/// As many calls at once are answered.
const HIDDEN: usize = 10;

/// A run of so many calls, all of which would be made at once.
fn workflow(calls: usize, url: &str) -> String {
    let items = (0..calls).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    format!(
        "workflow:
  name: storm
  entry_point: all
  runtime: {{provider: {{name: vllm, base_url: \"{url}\"}}, default_model: m}}
  input: {{items: {{type: array, default: [{items}]}}}}
agents: []
for_each:
  - name: all
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 1000
    agent: {{name: one, prompt: 'Say {{{{ item }}}}'}}
output: {{done: '{{{{ all.outputs | length }}}}'}}
"
    )
}

fn start(world: &World) -> Process {
    let mut command = world.command(&["run", "w.yaml", "--quiet"]);
    command.env("CONVOKE_MACHINE_CONCURRENCY", "300").env("CONVOKE_MAX_CONCURRENCY", "300");
    Process::start(command)
}

/// The learned limit of the service, as every process can see it.
fn learned(world: &World) -> Option<Value> {
    let table = world.convoke(&["capacity", "--format", "json"]).json();
    let limits = table["limits"].as_array()?.iter();
    let mut learned =
        limits.filter(|limit| limit["name"].as_str().is_some_and(|name| name.starts_with("learned:")));
    learned.find(|limit| !limit["limit"].is_null()).cloned()
}

#[test]
fn a_process_that_comes_later_knows_what_the_others_have_learned() {
    let model = Model::with_hidden_limit(HIDDEN, 100);
    let world = World::with_workflow(&workflow(150, &model.url()));
    let first = start(&world);
    until("the first one has learned a limit that the service keeps, and goes on", || {
        let limit = learned(&world).and_then(|learned| learned["limit"].as_u64());
        model.asked().len() > model.refused() + 2 * HIDDEN
            // A little more than it keeps is tried from time to time.
            && limit.is_some_and(|limit| limit <= HIDDEN as u64 + 2)
    });
    let refused = model.refused();
    assert!(refused >= HIDDEN, "far too many were asked at once: {refused} refused");
    let second = start(&world);
    for run in [first, second] {
        assert_eq!(run.wait().code, Some(0));
    }
    // None to five on an idle machine; one that knows nothing has nearly all of its 150 refused.
    let more = model.refused() - refused;
    assert!(more <= HIDDEN, "{more} calls were refused that the first process knew to be too many");
}

#[test]
fn processes_that_meet_a_storm_together_come_out_with_one_limit() {
    let model = Model::with_hidden_limit(HIDDEN, 100);
    let world = World::with_workflow(&workflow(60, &model.url()));
    let runs: Vec<_> = (0..3).map(|_| start(&world)).collect();
    until("each has a part in it", || model.asked().len() > model.refused() + 3 * HIDDEN);
    // A storm on a busy machine may make it smaller than that for a while; it must not stay there. A little more is tried from
    // time to time.
    until("one limit for all is found", || {
        let limit = learned(&world).and_then(|learned| learned["limit"].as_u64());
        limit.is_some_and(|limit| (5..=HIDDEN as u64 + 2).contains(&limit))
    });
    for run in runs {
        assert_eq!(run.wait().code, Some(0));
    }
    let (asked, refused) = (model.asked().len(), model.refused());
    assert_eq!(asked - refused, 180, "everything was answered once");
    assert!(
        refused <= 220,
        "{refused} of {asked} were refused: 170 in the beginning and hardly any after it"
    );
}

/// What was learned of a service is forgotten by all: by the table, and by those that come later.
#[test]
fn what_was_learned_can_be_forgotten() {
    let model = Model::with_hidden_limit(HIDDEN, 20);
    let world = World::with_workflow(&workflow(60, &model.url()));
    world.convoke(&["capacity", "forget"]).exits(0).prints_nothing().mentions(&["nothing was learned"]);
    let run = start(&world);
    until("a limit is learned", || learned(&world).is_some());
    assert_eq!(run.wait().code, Some(0));
    let notes = world.state().join("learned.json");
    let known = || std::fs::read_to_string(&notes).is_ok_and(|text| text.contains("model:vllm/m"));
    assert!(known(), "it is kept for later runs");
    world
        .convoke(&["capacity", "forget", "vllm/n"])
        .exits(2)
        .mentions(&["nothing was learned of `vllm/n`", "vllm/m"]);
    let said = world.convoke(&["capacity", "forget", "vllm/m"]).exits(0);
    assert!(said.stdout.contains("model:vllm/m") && said.stdout.contains("-> unknown"), "{}", said.stdout);
    assert!(!known() && learned(&world).is_none());
}
