//! Who waits, for how long, and who need not: labels of what is around a task, bounds of waiting, a full queue, breakers. All
//! decided in memory and in virtual time.

use convoke_engine::{
    Breaker, Core, Effect, Fact, Limits, Permits, Queue, Stated, Store, TenantLimit, Turn, What,
};
use convoke_model::{
    AttemptEnd, Class, Event, Failure, JsonText, Payload, RunId, RunStarted, Stamped, Timestamp, Usage,
    reason,
};
use convoke_schedule::{Scheduler, TaskIx};
use convoke_testkit::plan_of;
use std::time::Duration;

const SECOND: u64 = 1_000_000;

/// A run whose facts are told by hand, at moments that are said.
struct Desk {
    core: Core,
    events: Vec<Stamped>,
    /// Attempts that were started and have not ended.
    running: Vec<TaskIx>,
}

impl Desk {
    fn new(workflow: &str, at_once: u32, limits: &Limits) -> Desk {
        let plan = plan_of(workflow, &[("child.yaml", CHILD)]);
        let started = RunStarted {
            run: RunId("run".into()),
            workflow: "w".into(),
            file: "w.yaml".into(),
            folder: ".".into(),
            plan: plan.digest(),
            inputs: Payload::Inline(JsonText::of(&serde_json::json!({}))),
            seed: 1,
            skip_gates: false,
            version: "test".into(),
            metadata: Default::default(),
            configuration: Default::default(),
        };
        let mut scheduler = Scheduler::new(plan);
        scheduler.keep_house(limits.house());
        let store = Store::new(Box::new(|_| None));
        let mut core = Core::new(scheduler, Permits::new(at_once, limits), store, 1, Timestamp(1));
        let begun = core.stamp(Timestamp(1), Event::RunStarted(Box::new(started)));
        core.scheduler.apply(&begun).unwrap();
        let mut desk = Desk { core, events: Vec::new(), running: Vec::new() };
        desk.at(1, Vec::new());
        desk
    }

    fn at(&mut self, now: u64, what: Vec<What>) {
        let at = Timestamp(now);
        let turn: Turn = self.core.decide(at, what.into_iter().map(|what| Fact { at, what }).collect());
        self.events.extend(turn.events);
        for effect in turn.effects {
            if let Effect::Launch(task, ..) = effect {
                self.running.push(task);
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            self.running.iter().map(|task| self.core.scheduler.id(*task).to_string()).collect();
        names.sort();
        names
    }

    /// Ends what was started first.
    fn end(&mut self, now: u64, failure: Option<Failure>) {
        let task = self.running.remove(0);
        let usage = Usage::default();
        let end = match failure {
            Some(failure) => AttemptEnd::Failed { failure, usage, partial: None },
            None => AttemptEnd::Finished { output: JsonText::of(&serde_json::json!({"result": "x"})), usage },
        };
        let attempt = self.core.scheduler.attempts(task);
        self.at(now, vec![What::Ended { task, attempt, end }]);
    }

    fn failures(&self) -> Vec<(String, Failure)> {
        let failed = self.events.iter().filter_map(|stamped| match &stamped.event {
            Event::TaskFailed { task, failure } => Some((task.to_string(), failure.clone())),
            _ => None,
        });
        failed.collect()
    }

    fn notes(&self, word: &str) -> Vec<String> {
        let notes = self.events.iter().filter_map(|stamped| match &stamped.event {
            Event::Noted { task, code, .. } if code == word => Some(task.as_ref()?.to_string()),
            _ => None,
        });
        notes.collect()
    }
}

const CHILD: &str = "
workflow: {name: child, entry_point: g}
agents:
  - {name: c1, prompt: c1}
  - {name: c2, prompt: c2, labels: {tenant: green}}
parallel: [{name: g, agents: [c1, c2]}]
";

fn stated(limit: u64) -> Stated {
    Stated { limit, origin: "test".into() }
}

/// Labels hold for everything inside what has them, and the nearest wins; tenants' limits follow.
#[test]
fn labels_hold_for_everything_inside() {
    let workflow = "
workflow: {name: w, entry_point: all, runtime: {provider: openai, default_model: m}, labels: {class: batch}}
agents:
  - {name: a, prompt: a}
  - {name: b, prompt: b, labels: {priority: low}}
  - {name: sub, type: workflow, workflow: child.yaml, labels: {priority: high}}
parallel: [{name: all, agents: [a, b, sub, each], labels: {tenant: blue, priority: critical}}]
for_each: [{name: each, type: for_each, items: [0, 1], as: n, labels: {class: interactive}, agent: {name: i, prompt: i}}]
";
    let tenant = TenantLimit { name: "blue".into(), concurrency: Some(stated(2)), ..TenantLimit::default() };
    let desk = Desk::new(workflow, 60, &Limits { tenants: vec![tenant], ..Limits::default() });
    let labels = |name: &str| {
        let scheduler = &desk.core.scheduler;
        let task = scheduler.tasks().find(|task| scheduler.id(*task).to_string() == name);
        let labels = scheduler.labels(task.unwrap_or_else(|| panic!("{name} is there")));
        format!(
            "{:?} {:?} {:?}",
            labels.class.unwrap_or_default(),
            labels.priority.unwrap_or_default(),
            labels.tenant
        )
    };
    assert_eq!(labels("all/a"), "Batch Critical Some(\"blue\")", "of the group and of the workflow");
    assert_eq!(labels("all/b"), "Batch Low Some(\"blue\")", "its own before the group's");
    assert_eq!(labels("all/sub/g/c1"), "Batch High Some(\"blue\")", "of the step that calls, and around it");
    assert_eq!(labels("all/sub/g/c2"), "Batch High Some(\"green\")", "nearest wins");
    assert_eq!(labels("all/each[0]"), "Interactive Critical Some(\"blue\")");
    assert_eq!(desk.running.len(), 3, "two of blue at once, and the one of green: {:?}", desk.names());
}

const TWO: &str = "
workflow: {name: w, entry_point: both, runtime: {provider: openai, default_model: m}}
agents:
  - {name: a, prompt: a}
  - {name: b, prompt: b}
parallel: [{name: both, agents: [a, b], failure_mode: continue_on_error}]
";

/// A step that waits longer than it may fails as `capacity`, and is tried again as its policy says.
#[test]
fn waiting_is_bounded_where_that_is_asked() {
    let own = TWO.replace(
        "prompt: b}",
        "prompt: b, max_wait: 5s, retry: {max_attempts: 2, delay_seconds: 1, retry_on: [provider_error]}}",
    );
    let of_group = TWO.replace("continue_on_error}", "continue_on_error, max_wait: 5s}");
    let configured = Limits { max_wait: Some(Duration::from_secs(5)), ..Limits::default() };
    for (workflow, limits) in
        [(own.as_str(), Limits::default()), (&of_group, Limits::default()), (TWO, configured)]
    {
        let mut desk = Desk::new(workflow, 1, &limits);
        assert_eq!(desk.names(), ["both/a"]);
        let due = desk.core.next_wake().expect("there is a bound");
        assert_eq!(due, Timestamp(1 + 5 * SECOND));
        desk.at(due.0 - 1, Vec::new());
        assert!(desk.notes(reason::MAX_WAIT).is_empty());
        desk.at(due.0, Vec::new());
        assert_eq!(desk.notes(reason::MAX_WAIT), ["both/b"]);
        let again = desk.events.iter().any(|stamped| matches!(stamped.event, Event::RetryScheduled { .. }));
        assert!(again && desk.failures().is_empty(), "it is tried again");
        // It waits in vain as often as it may be tried.
        while desk.failures().is_empty() {
            let next = desk.core.next_wake().expect("it goes on");
            desk.at(next.0, Vec::new());
        }
        let (task, failure) = desk.failures().remove(0);
        assert_eq!(
            (task.as_str(), failure.class, failure.reason.as_deref()),
            ("both/b", Class::Capacity, Some(reason::MAX_WAIT))
        );
        desk.end(due.0 + 900 * SECOND, None);
        assert!(desk.running.is_empty());
    }
}

/// A full queue makes room by class; the one that gives way is told, and tried again.
#[test]
fn a_full_queue_makes_room_for_a_higher_class() {
    let all = "
workflow: {name: w, entry_point: all, runtime: {provider: openai, default_model: m}}
agents:
  - {name: a, prompt: a}
  - {name: b, prompt: b, labels: {class: batch}}
  - {name: c, prompt: c, labels: {class: interactive}}
parallel: [{name: all, agents: [a, b, c], failure_mode: continue_on_error}]
";
    let mut desk =
        Desk::new(all, 1, &Limits { queue: Queue { longest: 1, ..Queue::default() }, ..Limits::default() });
    assert_eq!(desk.running.len(), 1);
    assert_eq!(desk.notes(reason::QUEUE_FULL), ["all/b"], "not the one that came last");
    assert!(desk.failures().is_empty(), "and it is tried again: {:?}", desk.failures());
    let mut now = SECOND;
    for _ in 0..3 {
        let next = desk.core.next_wake().map_or(now, |next| next.0);
        now = now.max(next) + SECOND;
        desk.end(now, None);
        desk.at(now + 30 * SECOND, Vec::new());
        now += 31 * SECOND;
    }
    assert!(desk.running.is_empty() && desk.failures().is_empty(), "{:?}", desk.failures());
}

fn broken() -> Failure {
    Failure::new(Class::Transient, "no answer")
}

fn items(body: &str) -> String {
    format!(
        "
workflow: {{name: w, entry_point: each, runtime: {{provider: openai, default_model: m}}}}
agents:
  - {{name: rest, prompt: r}}
for_each: [{{name: each, type: for_each, items: [0, 1, 2, 3, 4, 5], as: n, max_concurrent: 6, failure_mode: continue_on_error, agent: {{name: one, prompt: p, retry: {{max_attempts: 1}}{body}}}}}]
"
    )
}

fn with_breaker() -> Limits {
    Limits { breaker: Some(Breaker::default()), ..Limits::default() }
}

/// Three failures in a row of one step leave it alone; then one attempt at a time is made until one goes well.
#[test]
fn three_failures_in_a_row_leave_a_step_alone_until_a_probe_goes_well() {
    let mut desk = Desk::new(&items(""), 1, &with_breaker());
    (1..=3).for_each(|second| desk.end(second * SECOND, Some(broken())));
    assert!(desk.running.is_empty(), "the fourth waits");
    let shut = desk.events.iter().find_map(|stamped| match &stamped.event {
        Event::LimitAdapted { resource, to, reason, .. } if reason == "breaker_opened" => {
            Some((resource.clone(), *to))
        }
        _ => None,
    });
    assert_eq!(
        shut,
        Some(("breaker:step one openai/m".to_owned(), 33 * SECOND)),
        "and it is said until when"
    );
    assert_eq!(desk.core.next_wake(), Some(Timestamp(33 * SECOND)));
    desk.at(33 * SECOND, Vec::new());
    assert_eq!(desk.running.len(), 1, "a probe");
    desk.end(34 * SECOND, None);
    assert_eq!(desk.running.len(), 1, "it is closed again");
}

/// Invalid answers count, another role's do not, and a threshold can be switched off.
#[test]
fn invalid_answers_count_and_without_a_breaker_nothing_does() {
    let invalid = || Some(Failure::new(Class::InvalidOutput, "not what was asked for"));
    let mut desk = Desk::new(&items(""), 1, &with_breaker());
    (1..=3).for_each(|second| desk.end(second * SECOND, invalid()));
    assert!(desk.running.is_empty());
    let mut desk = Desk::new(&items(""), 1, &Limits::default());
    (1..=5).for_each(|second| desk.end(second * SECOND, invalid()));
    assert_eq!(desk.running.len(), 1);
}

/// Where the workflow says what to do instead, nobody waits for a breaker.
#[test]
fn a_step_with_on_error_fails_at_once_while_its_breaker_is_open() {
    let workflow = "
workflow: {name: w, entry_point: a, runtime: {provider: openai, default_model: m}}
agents:
  - {name: a, prompt: a, retry: {max_attempts: 5, delay_seconds: 1, backoff: fixed, retry_on: [provider_error]}, on_error: [{to: other}]}
  - {name: other, prompt: o}
";
    let mut desk = Desk::new(workflow, 1, &with_breaker());
    for second in [1, 10, 20] {
        desk.end(second * SECOND, Some(broken()));
        desk.at((second + 5) * SECOND, Vec::new());
    }
    let (task, failure) =
        desk.failures().pop().expect("it fails at once, though it could be tried twice more");
    assert_eq!(
        (task.as_str(), failure.class, failure.reason.as_deref()),
        ("a", Class::Capacity, Some(reason::BREAKER_OPEN))
    );
    assert_eq!(desk.names(), ["other"]);
}
