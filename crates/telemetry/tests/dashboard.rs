//! The dashboard asks for nothing that is not exposed.

use convoke_capacity::{ResourceView, Snapshot};
use convoke_follow::Account;
use convoke_model::{RunId, Timestamp};
use convoke_telemetry::metrics::{Count, Moment, Totals, metrics, series};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The page of a machine on which everything has happened once.
fn page() -> String {
    let times = json!({"counts": [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "count": 1, "micros": 9});
    let totals: Totals = serde_json::from_value(json!({
        "workflow": "w", "ends": {"succeeded": 1}, "run_times": times, "attempts": {"finished": 1},
        "attempt_times": times, "failures": {"timeout": 1}, "failed_tasks": 1,
        "usage": {"calls": 2, "cost_micros": 5, "unpriced_calls": 1}, "models": {"openai/m": {"times": times, "usage": {"calls": 1}}},
        "tools": {"t": [1, 1]}, "gate_times": times, "budgets": 1, "open_gates": 1, "running": 1,
    }))
    .unwrap();
    let resource = ResourceView {
        name: "model:m".into(),
        limit: 1,
        origin: String::new(),
        by_hand: false,
        window: None,
        in_use: 1,
        quarantined: 0,
        lingering: 0,
        eases_in: None,
        paused_for: None,
        waiting: 0,
    };
    let moment = Moment {
        open: BTreeMap::from([("running", 1)]),
        running: 1,
        capacity: Some(Snapshot { resources: vec![resource], ..Snapshot::default() }),
        receivers: vec![Account { problem: Some(("away".into(), Timestamp(1))), ..Account::default() }],
    };
    metrics(&Count { runs: vec![(RunId("r".into()), totals)], removed: Vec::new() }, &moment)
}

/// The labels of every sample of a page, by its name.
fn labels(page: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once('{').unwrap_or((line.split(' ').next().unwrap(), ""));
        let pairs = rest.split('}').next().unwrap().split(',').filter_map(|pair| pair.split_once('='));
        all.entry(name).or_default().extend(pairs.map(|(label, _)| label));
    }
    all
}

#[test]
fn every_series_is_on_a_page_and_the_dashboard_asks_by_labels_that_are_there() {
    let page = page();
    let labels = labels(&page);
    for series in series::ALL {
        let of = |end: &str| labels.contains_key(format!("{}{end}", series.name).as_str());
        let is_there =
            if series.kind == series::Type::Histogram { of("_bucket") && of("_sum") } else { of("") };
        assert!(is_there, "{} is not on the page: {page}", series.name);
    }
    let known: BTreeSet<&str> = labels.values().flatten().copied().collect();
    let mut asked = 0;
    for target in targets(&dashboard()) {
        let expression = target["expr"].as_str().unwrap();
        for name in names(expression) {
            assert!(labels.contains_key(name), "`{name}` is not on the page: {expression}");
        }
        // `sum by (a, b)`, and what the legend shows of each series.
        let grouped = expression.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
        let legend = target["legendFormat"].as_str().unwrap_or_default();
        let shown = legend.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
        for label in grouped.flat_map(|labels| labels.split(',')).chain(shown).map(str::trim) {
            assert!(known.contains(label), "`{label}` is no label: {expression} {legend}");
            asked += 1;
        }
    }
    assert!(asked > 10, "{asked}");
}

fn dashboard() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/grafana/convoke.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn targets(dashboard: &Value) -> Vec<&Value> {
    let panels = dashboard["panels"].as_array().unwrap();
    panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap()).collect()
}

#[test]
fn every_series_of_the_dashboard_is_exposed() {
    let dashboard = dashboard();
    let targets = targets(&dashboard);
    let asked: BTreeSet<&str> =
        targets.iter().flat_map(|target| names(target["expr"].as_str().unwrap())).collect();
    let exposed: BTreeSet<&str> = series::ALL.iter().map(|series| series.name).collect();
    let unknown: Vec<_> = asked
        .iter()
        .filter(|name| {
            let parts = ["_bucket", "_sum", "_count"];
            let whole = parts.iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name);
            !exposed.contains(*name) && !exposed.contains(whole)
        })
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(asked.len() > 15, "{asked:?}");
}

#[test]
fn names_are_as_prometheus_wants_them() {
    for series in series::ALL {
        assert!(series.name.starts_with("convoke_"), "{}", series.name);
        assert_eq!(series.name.ends_with("_total"), series.kind == series::Type::Counter, "{}", series.name);
    }
    let names: BTreeSet<_> = series::ALL.iter().map(|series| series.name).collect();
    assert_eq!(names.len(), series::ALL.len());
}

fn names(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("convoke_"))
}
