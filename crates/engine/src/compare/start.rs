//! What two runs were started with.

use super::Side;
use super::definition::limits;
use super::result::{Cause, Change, Kind};
use convoke_model::{Event, GOAL, RunStarted};
use serde_json::{Map, Value};

/// Something of a run that its work need not depend on.
type Place = fn(&RunStarted) -> &str;

/// What differs at the start.
#[derive(Default)]
pub struct Started {
    /// What the work depends on.
    pub causes: Vec<Cause>,
    /// What it need not depend on: places, versions.
    pub circumstances: Vec<Change>,
}

/// Compares the first events of two runs.
pub fn changes(sides: &[Side<'_>; 2]) -> Started {
    let [Some(old), Some(new)] = sides.map(|side| first(&side)) else { return Started::default() };
    let mut started = Started::default();
    let inputs = [(&sides[0], old), (&sides[1], new)].map(|(side, run)| inputs(side, run));
    for change in keys(&inputs[0], &inputs[1]) {
        let what = format!("input `{}` of the run differs", change.field);
        started.causes.push(cause(Kind::Input, what, change));
    }
    let sentences = [old, new].map(|run| text(run.metadata.get(GOAL)));
    started.causes.extend(different("goal", &sentences).map(|change| {
        let what = "the goal differs".to_owned();
        cause(Kind::Input, what, change)
    }));
    let settings = [old, new].map(|run| {
        run.configuration
            .iter()
            .map(|(key, value)| (key.clone(), value.clone().into()))
            .collect::<Map<_, _>>()
    });
    for change in keys(&settings[0], &settings[1]) {
        let what = format!("setting `{}` of the configuration differs", change.field);
        started.causes.push(cause(kind_of(&change.field), what, change));
    }
    let skips = [old, new].map(|run| Some(run.skip_gates.to_string()));
    started.causes.extend(different("skip_gates", &skips).map(|change| {
        let what = "gates take their first option in one of the runs".to_owned();
        cause(Kind::Setting, what, change)
    }));
    let places: [(&str, Place); 4] = [
        ("workflow", |run| &run.workflow),
        ("file", |run| &run.file),
        ("folder", |run| &run.folder),
        ("version", |run| &run.version),
    ];
    let circumstances = places.iter().flat_map(|(field, of)| {
        let values = [old, new].map(|run| Some(of(run).to_owned()));
        different(field, &values)
    });
    started.circumstances = circumstances.collect();
    started
}

fn first<'a>(side: &Side<'a>) -> Option<&'a RunStarted> {
    match &side.events.first()?.event {
        Event::RunStarted(started) => Some(started),
        _ => None,
    }
}

fn inputs(side: &Side<'_>, run: &RunStarted) -> Map<String, Value> {
    match run.inputs.text(side.blob).map(|text| text.value()) {
        Some(Value::Object(inputs)) => inputs,
        _ => Map::new(),
    }
}

/// A value as people write it.
pub fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn keys(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<Change> {
    let added = new.keys().filter(|key| !old.contains_key(*key));
    let all = old.keys().chain(added);
    all.filter_map(|key| different(key, &[text(old.get(key)), text(new.get(key))])).collect()
}

fn different(field: &str, values: &[Option<String>; 2]) -> Option<Change> {
    let [before, after] = values.clone();
    (before != after).then(|| Change { field: field.to_owned(), before, after })
}

fn cause(kind: Kind, what: String, change: Change) -> Cause {
    Cause {
        kind,
        task: None,
        also: Vec::new(),
        what,
        events: [Some(1), Some(1)],
        changes: vec![change],
        consequences: 0,
        has_effect: true,
    }
}

fn kind_of(key: &str) -> Kind {
    let last = key.rsplit('.').next().unwrap_or(key);
    match last {
        "model" | "provider" | "name" | "default_model" => Kind::Model,
        _ if limits(key) => Kind::Limit,
        _ => Kind::Setting,
    }
}
