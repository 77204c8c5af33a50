//! Figures for people, and figures for programs.

use crate::args::Args;
use crate::error::Error;
use crate::figure::Figure;
use crate::machine::{self, Load};
use comfy_table::{Table, presets};
use convoke_model::Timestamp;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A table in Markdown.
pub fn of(figures: &[Figure]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["benchmark", "figure", "measured", "at most", "", "least – most", "rounds"]);
    for figure in figures {
        table.add_row(row(figure));
    }
    table.to_string()
}

fn row(figure: &Figure) -> [String; 7] {
    let (least, most) = figure.range();
    [
        figure.benchmark.to_owned(),
        figure.name.clone(),
        format!("{} {}", number(figure.value), figure.unit),
        figure.bound.map(|bound| format!("{} {}", number(bound), figure.unit)).unwrap_or_default(),
        match figure.met() {
            Some(true) => "ok".into(),
            Some(false) => "MISSED".into(),
            None => String::new(),
        },
        format!("{} – {}", number(least), number(most)),
        figure.samples.len().to_string(),
    ]
}

/// Three digits that matter; more say nothing here.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Writes the figures to `bench/results`; gives the file.
pub fn keep(args: &Args, loads: &[Load; 2], figures: &[Figure]) -> Result<PathBuf, Error> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    fs::create_dir_all(&folder).map_err(Error::io("make", &folder))?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let at = Timestamp(now.as_micros() as u64).rfc3339();
    let quick = if args.quick { "-quick" } else { "" };
    let path = folder.join(format!("{}-{}{quick}.json", at.replace(':', "."), args.what.name()));
    let content = json!({
        "at": at,
        "machine": machine::kind(),
        "load": {"before": loads[0], "after": loads[1]},
        "quick": args.quick,
        "figures": figures,
    });
    let text = serde_json::to_string_pretty(&content).expect("figures are JSON");
    fs::write(&path, text + "\n").map_err(Error::io("write", &path))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_bound_is_seen() {
        let figure = |value| Figure::new("fanout", "time", "µs", vec![value]).at_most(20.0);
        let text = of(&[figure(12.345), figure(200.0)]);
        let lines: Vec<_> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines[2], "| fanout | time | 12.3 µs | 20.0 µs | ok | 12.3 – 12.3 | 1 |");
        assert_eq!(lines[3], "| fanout | time | 200 µs | 20.0 µs | MISSED | 200 – 200 | 1 |");
    }
}
