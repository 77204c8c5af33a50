//! Journals of simulated runs, and what their graphs must be.

use convoke_journal::{Journal, Owner, RunMeta, Sqlite, StateDir};
use convoke_knowledge::project::{Change, NothingBeside, Projector, Telling, graph_of};
use convoke_knowledge::store::{Store, quads_of};
use convoke_knowledge::update;
use convoke_model::{Assignment, Class, Event, JsonText, RunId, Stamped};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Random, World, plan_of};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Workflows of every kind that a simulated world can drive without a person.
pub const WORKFLOWS: [&str; 5] = [
    "agents:\n  - {id: a, task: 'Look at {{ query }}'}\n  - {id: b, role: writer, partitions: [x, y]}\n  - {id: c, depends_on: [a, b]}\n\
     query: why?\nsynthesis: {strategy: hierarchical}\n",
    "workflow: {name: loop, entry_point: draft}\nagents:\n  - name: draft\n    prompt: Write\n    routes: [{to: judge}]\n\
     \x20 - name: judge\n    prompt: 'Judge {{ draft.output }}'\n    routes: [{to: $end}]\n",
    "workflow: {name: fan, entry_point: all}\nfor_each:\n  - name: all\n    type: for_each\n    source: workflow.input.items\n    as: item\n\
     \x20   agent: {name: one, prompt: 'Do {{ item }}'}\n    failure_mode: continue_on_error\n    routes: [{to: last}]\n\
     agents:\n  - {name: last, prompt: 'End {{ all.outputs }}', routes: [{to: $end}]}\n",
    "agents:\n  - {id: w1, task: t}\n  - {id: w2, task: t}\n  - {id: lead, task: m, depends_on: [{agent: w1, requires: some}, {agent: w2, requires: some}]}\n\
     query: q\nmetadata: {org: {company: 'https://h.example/#c', roles: {w1: 'https://h.example/#w1'}, departments: {w1: 'https://h.example/#d'}}}\n",
    "query: q\nmembers: [ann, ben, cay]\nprotocol: debate\nname: team\n",
];

/// A simulated run of a workflow: some attempts fail.
pub fn world(workflow: usize, seed: u64) -> World {
    let plan = plan_of(WORKFLOWS[workflow % WORKFLOWS.len()], &[]);
    World::new(plan, inputs(workflow), 3, seed, script(seed))
}

/// What a workflow is given.
pub fn inputs(workflow: usize) -> serde_json::Value {
    if workflow % WORKFLOWS.len() == 2 {
        json!({"items": ["canary-item-one", "canary-item-two", "canary-item-three"]})
    } else {
        json!({})
    }
}

/// Every answer has a canary in it; one in five attempts fails.
pub fn script(seed: u64) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    let mut random = Random::new(seed);
    Box::new(move |_: &Assignment| {
        let takes = Duration::from_millis(1 + random.below(5000));
        match random.below(10) {
            0 => Behaviour::fails(takes, Class::Fatal),
            1 => Behaviour::fails(takes, Class::Transient),
            _ => Behaviour::gives(
                takes,
                json!({"result": format!("canary-output {} that is long enough to be named by its digest", seed)}),
            ),
        }
    })
}

/// A state directory.
pub struct Place {
    _folder: tempfile::TempDir,
    pub state: StateDir,
}

impl Place {
    pub fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        Place { _folder: folder, state }
    }

    /// A journal without events.
    pub fn journal(&self, run: &RunId, plan: &Plan) -> Sqlite {
        let meta = RunMeta { plan: JsonText::of(plan), source: JsonText::of(&"w") };
        let owner = Owner { pid: std::process::id(), start: None, host: "here".into(), boot: "b".into() };
        Sqlite::create(&self.state, run, &meta, &owner).unwrap()
    }

    /// Takes in what is new.
    pub fn update(&self) {
        update::update(&self.state, Duration::from_secs(10)).unwrap();
    }

    /// What the store says of a run.
    pub fn graph(&self, run: &RunId) -> BTreeSet<String> {
        let connection = Store::reader(&update::file(&self.state)).unwrap();
        quads_of(&connection, &graph_of(run)).unwrap().iter().map(ToString::to_string).collect()
    }
}

/// The events of a run under a name of its own.
pub fn named(events: impl IntoIterator<Item = Stamped>, run: &RunId) -> Vec<Stamped> {
    let rename = |mut stamped: Stamped| {
        if let Event::RunStarted(started) = &mut stamped.event {
            started.run = run.clone();
        }
        stamped
    };
    events.into_iter().map(rename).collect()
}

/// What the events of a run come to.
pub fn expected(run: &RunId, plan: &Arc<Plan>, events: &[Stamped]) -> BTreeSet<String> {
    let mut projector = Projector::new(run, (**plan).clone(), Telling::default());
    let mut quads = BTreeSet::new();
    for stamped in events {
        for change in projector.take(stamped, &NothingBeside) {
            match change {
                Change::Begin => quads.clear(),
                Change::Add(added) => quads.extend(added.iter().map(ToString::to_string)),
                Change::Remove(removed) => removed.iter().for_each(|quad| {
                    quads.remove(&quad.to_string());
                }),
            }
        }
    }
    quads
}

/// Appends events in the pieces in which they were committed, some together.
pub fn append(journal: &mut Sqlite, events: &[Stamped]) {
    journal.append(events, &[], &[]).unwrap();
}
