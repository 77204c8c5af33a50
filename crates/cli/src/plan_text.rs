//! A plan for people: what runs when, what decides its length, what bounds it.

use crate::paint::Paint;
use crate::view::words;
use convoke_plan::view::{Levels, PlacedNode, levels};
use convoke_plan::{Limits, Plan, Workflow};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Every workflow of the plan, the root first.
pub fn text(plan: &Plan, paint: Paint) -> String {
    let parts: Vec<_> = plan.workflows.iter().map(|workflow| one(plan, workflow, paint)).collect();
    parts.join("\n")
}

fn one(plan: &Plan, workflow: &Workflow, paint: Paint) -> String {
    let levels = levels(plan, workflow, &BTreeMap::new());
    let mut text = format!("{} ({})\n", paint.strong(&workflow.name), workflow.file);
    for (number, names) in levels.levels.iter().enumerate() {
        writeln!(text, "  level {}", number + 1).expect("text takes text");
        for node in levels.nodes.iter().filter(|node| names.contains(&node.name)) {
            text.push_str(&row(node));
        }
    }
    writeln!(text, "  critical path: {}", levels.critical_path.join(" -> ")).expect("text takes text");
    writeln!(text, "  parallelism: {}", parallelism(&levels)).expect("text takes text");
    writeln!(text, "  limits: {}", limits(&workflow.limits)).expect("text takes text");
    text
}

fn row(node: &PlacedNode) -> String {
    let within = node.within.as_ref().map(|group| format!("  in {group}")).unwrap_or_default();
    let after =
        if node.after.is_empty() { String::new() } else { format!("  after {}", node.after.join(", ")) };
    let line = format!("    {:<28} {:<10}{within}{after}", node.name, node.kind);
    format!("{}\n", line.trim_end())
}

fn parallelism(levels: &Levels) -> String {
    let steps = words::plural(levels.work as u64, "step");
    format!("{:.2} ({steps}, longest chain {})", levels.parallelism, levels.critical_length)
}

fn limits(limits: &Limits) -> String {
    let mut parts =
        vec![format!("{} iterations", limits.max_iterations), format!("{} tasks", limits.max_tasks)];
    parts.extend(limits.timeout_ms.map(|millis| words::duration(std::time::Duration::from_millis(millis))));
    parts.extend(limits.budget_micros.map(words::money));
    parts.extend(limits.max_concurrency.map(|number| format!("{number} at once")));
    parts.join(", ")
}
