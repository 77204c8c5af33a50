//! The dashboard asks for nothing that is not exposed.

use convoke_telemetry::metrics::series;
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn every_series_of_the_dashboard_is_exposed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/grafana/convoke.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let asked: BTreeSet<&str> = targets.flat_map(|target| names(target["expr"].as_str().unwrap())).collect();
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
