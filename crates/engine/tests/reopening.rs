//! Failed runs that are resumed, where their groups have few places.

use crate::common;

use common::{FailsAtFirst, drive_by, fresh};
use convoke_engine::{Changes, Start};
use convoke_journal::Memory;
use convoke_model::RunStatus;
use convoke_testkit::plan_of;
use std::sync::Arc;
use std::time::Duration;

async fn fails_and_goes_on(text: &str, failing: &[&'static str], attempts: &[(&str, u32)]) {
    let plan = plan_of(text, &[]);
    let journal = Memory::new();
    let executor = Arc::new(FailsAtFirst::of(failing));
    let failed = drive_by(executor.clone(), &plan, journal.clone(), fresh(&plan), Duration::ZERO).await;
    assert_eq!(failed.status, RunStatus::Failed, "{text}");
    let resume = Start::Resume(Changes::None);
    let ended = drive_by(executor.clone(), &plan, journal.reopen(), resume, Duration::ZERO).await;
    assert_eq!((ended.status, ended.failure), (RunStatus::Succeeded, None), "{text}");
    let mut seen = executor.attempts();
    seen.sort();
    let mut expected: Vec<_> = attempts.iter().map(|(task, n)| ((*task).to_owned(), *n)).collect();
    expected.sort();
    assert_eq!(seen, expected, "{text}");
    assert_eq!(executor.peak(), 1, "one place is one attempt at a time: {text}");
}

#[tokio::test]
async fn what_ran_after_a_failed_item_stays_and_only_that_item_runs_again() {
    let text = "
workflow: {name: w, entry_point: list}
agents:
  - {name: list, type: set, values: {all: '[0, 1, 2, 3]'}, routes: [{to: f}]}
for_each:
  - {name: f, type: for_each, source: list.output.all, as: x, max_concurrent: 1, failure_mode: all_or_nothing,
     agent: {name: w, prompt: '{{ x }}', retry: {max_attempts: 1}}}
";
    let attempts = [("f[0]", 1), ("f[1]", 1), ("f[1]", 2), ("f[2]", 1), ("f[2]", 2), ("f[3]", 1)];
    fails_and_goes_on(text, &["f[1]", "f[2]"], &attempts).await;
}

#[tokio::test]
async fn nested_groups_go_on_inside() {
    let text = "
workflow: {name: w, entry_point: list}
agents:
  - {name: list, type: set, values: {all: '[0, 1]'}, routes: [{to: outer}]}
for_each:
  - {name: outer, type: for_each, source: list.output.all, as: x, max_concurrent: 1, run: inner,
     failure_mode: all_or_nothing}
  - {name: inner, type: for_each, source: list.output.all, as: y, max_concurrent: 1,
     failure_mode: all_or_nothing, agent: {name: w, prompt: '{{ x }}{{ y }}', retry: {max_attempts: 1}}}
";
    let attempts = [
        ("outer[0]/inner[0]", 1),
        ("outer[0]/inner[0]", 2),
        ("outer[0]/inner[1]", 1),
        ("outer[1]/inner[0]", 1),
        ("outer[1]/inner[1]", 1),
    ];
    fails_and_goes_on(text, &["outer[0]/inner[0]"], &attempts).await;
}

#[tokio::test]
async fn a_place_in_a_parallel_group_is_given_out_anew() {
    let text = "
workflow: {name: w, entry_point: g}
parallel:
  - {name: g, agents: [a, b, c], max_concurrent: 1, failure_mode: all_or_nothing}
agents:
  - {name: a, prompt: x, retry: {max_attempts: 1}}
  - {name: b, prompt: x, retry: {max_attempts: 1}}
  - {name: c, prompt: x, retry: {max_attempts: 1}}
";
    let attempts = [("g/a", 1), ("g/a", 2), ("g/b", 1), ("g/b", 2), ("g/c", 1)];
    fails_and_goes_on(text, &["g/a", "g/b"], &attempts).await;
}
