//! Prints totals, and what is going on, in the text format of Prometheus.

use super::count::Count;
use super::series::{self, Series};
use super::totals::{BUCKETS, OTHER, Times, Totals};
use crate::by_run::Part;
use convoke_capacity::Snapshot;
use convoke_follow::Account;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What is going on besides the runs' own totals.
#[derive(Debug, Default)]
pub struct Moment {
    /// Runs that have not ended, by status.
    pub open: BTreeMap<&'static str, u64>,
    /// Attempts under way in runs that a process drives.
    pub running: u64,
    /// What processes share, where they do.
    pub capacity: Option<Snapshot>,
    /// What became of deliveries.
    pub receivers: Vec<Account>,
}

/// Names of workflows, models, tools and resources that get a line of their own.
const NAMES: usize = 200;

/// The page that Prometheus reads.
pub fn metrics(count: &Count, moment: &Moment) -> String {
    let mut page = Page::default();
    let workflows = by_workflow(count);
    page.workflows(&workflows);
    page.models_and_tools(&workflows);
    let open_gates = count.runs.iter().map(|(_, totals)| totals.open_gates).sum::<u64>();
    page.add(series::OPEN_GATES, &[], open_gates as f64);
    page.add(series::RUNNING, &[], moment.running as f64);
    for (status, runs) in &moment.open {
        page.add(series::STATUS, &[("status", status)], *runs as f64);
    }
    moment.capacity.iter().for_each(|capacity| page.capacity(capacity));
    moment.receivers.iter().for_each(|receiver| page.receiver(receiver));
    page.print()
}

/// Totals by workflow; of too many names those that sort last are told together. The order never changes, but a name may come.
fn by_workflow(count: &Count) -> BTreeMap<String, Totals> {
    let mut all: BTreeMap<String, Totals> = BTreeMap::new();
    for totals in count.runs.iter().map(|(_, totals)| totals).chain(&count.removed) {
        let name = named(&all, &totals.workflow);
        totals.add_to(all.entry(name).or_default());
    }
    all
}

fn named<T>(known: &BTreeMap<String, T>, name: &str) -> String {
    if known.len() < NAMES || known.contains_key(name) { name.to_owned() } else { OTHER.to_owned() }
}

/// Samples by series.
#[derive(Default)]
struct Page(BTreeMap<&'static str, String>);

impl Page {
    fn add(&mut self, series: Series, labels: &[(&str, &str)], value: f64) {
        self.sample(series, series.name, labels, value);
    }

    fn sample(&mut self, series: Series, name: &str, labels: &[(&str, &str)], value: f64) {
        let text = self.0.entry(series.name).or_default();
        text.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            // Writing to a text never fails.
            let _ = write!(text, "{}{label}=\"{}\"", if at == 0 { '{' } else { ',' }, escaped(value));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(text, "{end} {value}");
    }

    fn times(&mut self, series: Series, labels: &[(&str, &str)], times: &Times) {
        let mut within = 0;
        let name = format!("{}_bucket", series.name);
        for (bound, count) in BUCKETS.iter().zip(times.counts) {
            within += count;
            let bound = bound.to_string();
            self.sample(series, &name, &[labels, &[("le", bound.as_str())]].concat(), within as f64);
        }
        self.sample(series, &name, &[labels, &[("le", "+Inf")]].concat(), times.count as f64);
        self.sample(series, &format!("{}_sum", series.name), labels, times.seconds());
        self.sample(series, &format!("{}_count", series.name), labels, times.count as f64);
    }

    fn workflows(&mut self, workflows: &BTreeMap<String, Totals>) {
        let (mut failures, mut gates) = (BTreeMap::<&str, u64>::new(), Times::default());
        for (workflow, totals) in workflows {
            let label = ("workflow", workflow.as_str());
            for (status, runs) in &totals.ends {
                self.add(series::RUNS, &[label, ("status", status)], *runs as f64);
            }
            for (outcome, attempts) in &totals.attempts {
                self.add(series::ATTEMPTS, &[label, ("outcome", outcome)], *attempts as f64);
            }
            self.times(series::RUN_SECONDS, &[label], &totals.run_times);
            self.times(series::ATTEMPT_SECONDS, &[label], &totals.attempt_times);
            self.add(series::TASKS, &[label], totals.failed_tasks as f64);
            self.add(series::CALLS, &[label], totals.usage.calls as f64);
            self.tokens(series::TOKENS, &[label], &totals.usage);
            if totals.usage.is_cost_known_in_part() {
                self.add(series::COST, &[label], totals.usage.known_cost_usd());
            }
            self.add(series::UNPRICED, &[label], totals.usage.unpriced_calls as f64);
            self.add(series::BUDGETS, &[label], totals.budgets as f64);
            totals.failures.iter().for_each(|(class, count)| *failures.entry(class).or_default() += count);
            gates.add_all(&totals.gate_times);
        }
        for (class, count) in failures {
            self.add(series::FAILURES, &[("class", class)], count as f64);
        }
        self.times(series::GATE_SECONDS, &[], &gates);
    }

    fn models_and_tools(&mut self, workflows: &BTreeMap<String, Totals>) {
        let mut all = Totals::default();
        for totals in workflows.values() {
            for (name, model) in &totals.models {
                let to = all.models.entry(named(&all.models, name)).or_default();
                to.times.add_all(&model.times);
                to.usage += model.usage;
            }
            for (name, calls) in &totals.tools {
                let to = all.tools.entry(named(&all.tools, name)).or_default();
                to.iter_mut().zip(calls).for_each(|(to, more)| *to += more);
            }
        }
        for (name, model) in &all.models {
            let (provider, model_name) = name.split_once('/').unwrap_or((name, ""));
            let labels = [("provider", provider), ("model", model_name)];
            self.times(series::MODEL_SECONDS, &labels, &model.times);
            self.tokens(series::MODEL_TOKENS, &labels, &model.usage);
        }
        for (tool, [well, badly]) in &all.tools {
            self.add(series::TOOL_CALLS, &[("tool", tool), ("outcome", "finished")], *well as f64);
            self.add(series::TOOL_CALLS, &[("tool", tool), ("outcome", "failed")], *badly as f64);
        }
    }

    fn tokens(&mut self, series: Series, labels: &[(&str, &str)], usage: &convoke_model::Usage) {
        let directions = [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cache_read", usage.cache_read_tokens),
            ("cache_write", usage.cache_write_tokens),
        ];
        for (direction, tokens) in directions {
            self.add(series, &[labels, &[("direction", direction)]].concat(), tokens as f64);
        }
    }

    fn capacity(&mut self, capacity: &Snapshot) {
        for resource in capacity.resources.iter().take(NAMES) {
            let label = [("resource", resource.name.as_str())];
            if resource.limit != u32::MAX {
                self.add(series::LIMIT, &label, f64::from(resource.limit));
            }
            self.add(series::IN_USE, &label, f64::from(resource.in_use) + resource.lingering as f64);
            self.add(series::QUARANTINED, &label, f64::from(resource.quarantined));
            self.add(series::WAITING, &label, f64::from(resource.waiting));
            let paused = resource.paused_for.map_or(0.0, |time| time.as_secs_f64());
            self.add(series::PAUSED, &label, paused);
        }
        let lives =
            |instance: &&convoke_capacity::Instance| instance.liveness == convoke_capacity::Liveness::Alive;
        self.add(series::INSTANCES, &[], capacity.instances.iter().filter(lives).count() as f64);
        self.add(series::GRANTS, &[], capacity.counters.grants as f64);
        self.add(series::LOST, &[], capacity.counters.lost_leases as f64);
    }

    fn receiver(&mut self, receiver: &Account) {
        let label = [("receiver", receiver.name.as_str())];
        self.add(series::DELIVERED, &label, receiver.delivered as f64);
        self.add(series::REFUSED, &label, receiver.refused as f64);
        self.add(series::DROPPED, &label, receiver.dropped as f64);
        self.add(series::FAILING, &label, f64::from(u8::from(receiver.problem.is_some())));
    }

    fn print(self) -> String {
        let mut text = String::new();
        for Series { name, kind, help } in series::ALL {
            if let Some(samples) = self.0.get(name) {
                let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {}\n{samples}", kind.word());
            }
        }
        text
    }
}

/// What would end a label's value.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_format_and_histograms_add_up() {
        let mut totals = Totals { workflow: "a\"b\\c\nd".into(), ..Totals::default() };
        totals.run_times = Times { counts: [0; BUCKETS.len()], count: 2, micros: 3_500_000 };
        totals.run_times.counts[1] = 1;
        totals.run_times.counts[3] = 1;
        let count = Count { runs: vec![(convoke_model::RunId("r".into()), totals)], removed: Vec::new() };
        let page = metrics(&count, &Moment::default());
        let label = r#"workflow="a\"b\\c\nd""#;
        for line in [
            format!("convoke_run_duration_seconds_bucket{{{label},le=\"0.05\"}} 0"),
            format!("convoke_run_duration_seconds_bucket{{{label},le=\"1\"}} 1"),
            format!("convoke_run_duration_seconds_bucket{{{label},le=\"2.5\"}} 2"),
            format!("convoke_run_duration_seconds_bucket{{{label},le=\"+Inf\"}} 2"),
            format!("convoke_run_duration_seconds_sum{{{label}}} 3.5"),
        ] {
            assert!(page.lines().any(|known| known == line), "{line}\n{page}");
        }
    }
}
