//! Which attempts wait, for how long, and which need not: labels of what is around a task, bounds of waiting, a full queue,
//! breakers. All decided in memory and in virtual time.

use convoke_agent::{Admitted, CallDemand};
use convoke_engine::{
    Breaker, CapacityFact, Core, Effect, Fact, Fence, Limits, Permits, Queue, ServiceLimit, Stated, Store,
    TenantLimit, Turn, What,
};
use convoke_govern::Outcome;
use convoke_model::{
    AttemptEnd, Class, Event, Failure, JsonText, LimitAdapted, LimitReason, Payload, RunId, RunStarted,
    Stamped, Timestamp, Usage, reason,
};
use convoke_schedule::{Scheduler, TaskIx};
use convoke_testkit::plan_of;
use std::time::Duration;
use tokio::sync::oneshot;

const SECOND: u64 = 1_000_000;

/// A run whose facts are told by hand, at moments that are said.
struct Harness {
    core: Core,
    events: Vec<Stamped>,
    /// Attempts that were started and have not ended.
    running: Vec<TaskIx>,
    /// Leases that the machine has given; it has as many as are wanted.
    leases: u64,
}

impl Harness {
    fn new(workflow: &str, at_once: u32, limits: &Limits) -> Harness {
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
            base: None,
        };
        let mut scheduler = Scheduler::new(plan);
        scheduler.set_configured_budgets(limits.configured_budgets());
        let store = Store::new(Box::new(|_| None));
        let mut core = Core::new(scheduler, Permits::new(at_once, limits), store, 1, Timestamp(1));
        let begun = core.stamp(Timestamp(1), Event::RunStarted(Box::new(started)));
        core.scheduler.apply(&begun).unwrap();
        let mut harness = Harness { core, events: Vec::new(), running: Vec::new(), leases: 0 };
        harness.at(1, Vec::new());
        harness
    }

    fn at(&mut self, now: u64, what: Vec<What>) {
        let at = Timestamp(now);
        let turn: Turn = self.core.decide(at, what.into_iter().map(|what| Fact { at, what }).collect());
        self.events.extend(turn.events);
        let mut granted = Vec::new();
        for effect in turn.effects {
            match effect {
                Effect::Launch(task, ..) => self.running.push(task),
                Effect::Answer(reply, answer) => drop(reply.send(*answer)),
                Effect::RequestLease { request, .. } => {
                    self.leases += 1;
                    granted
                        .push(What::Capacity(CapacityFact::Granted { request, fence: Fence(self.leases) }));
                }
                _ => {}
            }
        }
        if !granted.is_empty() {
            self.at(now, granted);
        }
    }

    /// The attempt at this place of those that run asks for a call.
    fn asks(&mut self, now: u64, place: usize, model: &str) -> oneshot::Receiver<Result<Admitted, Failure>> {
        let (reply, answer) = oneshot::channel();
        let task = self.running[place];
        let attempt = self.core.scheduler.attempts(task);
        let demand = CallDemand {
            task: self.core.scheduler.id(task).clone(),
            attempt,
            provider: "openai".into(),
            model: model.into(),
            input_tokens: 1,
            most_input_tokens: 1,
            output_tokens: 1,
            cost_micros: None,
            refused: Vec::new(),
        };
        self.at(now, vec![What::CallAsked { task, attempt, demand, reply }]);
        answer
    }

    /// Its call has ended.
    fn call_ended(&mut self, now: u64, place: usize, outcome: Outcome) {
        let task = self.running[place];
        let (attempt, usage) = (self.core.scheduler.attempts(task), Some(Usage::default()));
        self.at(now, vec![What::CallEnded { task, attempt, usage, outcome }]);
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
    let harness = Harness::new(workflow, 60, &Limits { tenants: vec![tenant], ..Limits::default() });
    let labels = |name: &str| {
        let scheduler = &harness.core.scheduler;
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
    assert_eq!(harness.running.len(), 3, "two of blue at once, and the one of green: {:?}", harness.names());
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
        let mut harness = Harness::new(workflow, 1, &limits);
        assert_eq!(harness.names(), ["both/a"]);
        let due = harness.core.next_wake().expect("there is a bound");
        assert_eq!(due, Timestamp(1 + 5 * SECOND));
        harness.at(due.0 - 1, Vec::new());
        assert!(harness.notes(reason::MAX_WAIT).is_empty());
        harness.at(due.0, Vec::new());
        assert_eq!(harness.notes(reason::MAX_WAIT), ["both/b"]);
        let again =
            harness.events.iter().any(|stamped| matches!(stamped.event, Event::RetryScheduled { .. }));
        assert!(again && harness.failures().is_empty(), "it is tried again");
        // It waits in vain as often as it may be tried.
        while harness.failures().is_empty() {
            let next = harness.core.next_wake().expect("it goes on");
            harness.at(next.0, Vec::new());
        }
        let (task, failure) = harness.failures().remove(0);
        assert_eq!(
            (task.as_str(), failure.class, failure.reason.as_deref()),
            ("both/b", Class::Capacity, Some(reason::MAX_WAIT))
        );
        harness.end(due.0 + 900 * SECOND, None);
        assert!(harness.running.is_empty());
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
    let mut harness = Harness::new(
        all,
        1,
        &Limits { queue: Queue { longest: 1, ..Queue::default() }, ..Limits::default() },
    );
    assert_eq!(harness.running.len(), 1);
    assert_eq!(harness.notes(reason::QUEUE_FULL), ["all/b"], "not the one that came last");
    assert!(harness.failures().is_empty(), "and it is tried again: {:?}", harness.failures());
    let mut now = SECOND;
    for _ in 0..3 {
        let next = harness.core.next_wake().map_or(now, |next| next.0);
        now = now.max(next) + SECOND;
        harness.end(now, None);
        harness.at(now + 30 * SECOND, Vec::new());
        now += 31 * SECOND;
    }
    assert!(harness.running.is_empty() && harness.failures().is_empty(), "{:?}", harness.failures());
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
    let mut harness = Harness::new(&items(""), 1, &with_breaker());
    (1..=3).for_each(|second| harness.end(second * SECOND, Some(broken())));
    assert!(harness.running.is_empty(), "the fourth waits");
    let shut = harness.events.iter().find_map(|stamped| match &stamped.event {
        Event::LimitAdapted(LimitAdapted { resource, to, reason: LimitReason::BreakerOpened, .. }) => {
            Some((resource.clone(), *to))
        }
        _ => None,
    });
    assert_eq!(
        shut,
        Some(("breaker:step one openai/m".to_owned(), 33 * SECOND)),
        "and it is said until when"
    );
    assert_eq!(harness.core.next_wake(), Some(Timestamp(33 * SECOND)));
    harness.at(33 * SECOND, Vec::new());
    assert_eq!(harness.running.len(), 1, "a probe");
    harness.end(34 * SECOND, None);
    assert_eq!(harness.running.len(), 1, "it is closed again");
}

/// Invalid answers count, another role's do not, and a threshold can be switched off.
#[test]
fn invalid_answers_count_and_without_a_breaker_nothing_does() {
    let invalid = || Some(Failure::new(Class::InvalidOutput, "not what was asked for"));
    let mut harness = Harness::new(&items(""), 1, &with_breaker());
    (1..=3).for_each(|second| harness.end(second * SECOND, invalid()));
    assert!(harness.running.is_empty());
    let mut harness = Harness::new(&items(""), 1, &Limits::default());
    (1..=5).for_each(|second| harness.end(second * SECOND, invalid()));
    assert_eq!(harness.running.len(), 1);
}

/// Where the workflow says what to do instead, a step does not wait for a breaker.
#[test]
fn a_step_with_on_error_fails_at_once_while_its_breaker_is_open() {
    let workflow = "
workflow: {name: w, entry_point: a, runtime: {provider: openai, default_model: m}}
agents:
  - {name: a, prompt: a, retry: {max_attempts: 5, delay_seconds: 1, backoff: fixed, retry_on: [provider_error]}, on_error: [{to: other}]}
  - {name: other, prompt: o}
";
    let mut harness = Harness::new(workflow, 1, &with_breaker());
    for second in [1, 10, 20] {
        harness.end(second * SECOND, Some(broken()));
        harness.at((second + 5) * SECOND, Vec::new());
    }
    let (task, failure) =
        harness.failures().pop().expect("it fails at once, though it could be tried twice more");
    assert_eq!(
        (task.as_str(), failure.class, failure.reason.as_deref()),
        ("a", Class::Capacity, Some(reason::BREAKER_OPEN))
    );
    assert_eq!(harness.names(), ["other"]);
}

/// `max_wait` holds for calls in the middle of an attempt as well; the attempt fails as `capacity` and is tried again.
#[test]
fn a_call_in_the_middle_of_an_attempt_waits_no_longer_than_it_may() {
    let workflow = TWO.replace("continue_on_error}", "continue_on_error, max_wait: 5s}");
    let one =
        ServiceLimit { provider: "openai".into(), concurrency: Some(stated(1)), ..ServiceLimit::default() };
    let mut harness = Harness::new(&workflow, 2, &Limits { services: vec![one], ..Limits::default() });
    assert_eq!(harness.running.len(), 1, "the first call of an attempt comes with its permit");
    harness.at(SECOND, Vec::new());
    let mut first = harness.asks(SECOND, 0, "m");
    assert!(first.try_recv().unwrap().is_ok());
    harness.call_ended(2 * SECOND, 0, Outcome::Succeeded);
    assert_eq!(harness.running.len(), 2, "between its calls another attempt begins");
    assert!(harness.asks(2 * SECOND, 1, "m").try_recv().unwrap().is_ok());
    let mut second = harness.asks(3 * SECOND, 0, "m");
    assert!(second.try_recv().is_err(), "it waits");
    assert_eq!(harness.core.next_wake(), Some(Timestamp(8 * SECOND)));
    harness.at(8 * SECOND, Vec::new());
    let failure = second.try_recv().unwrap().unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Capacity, Some(reason::MAX_WAIT)));
    assert!(failure.message.contains("waited for the permit of a call for 5 s"), "{failure}");
    harness.end(9 * SECOND, Some(failure));
    assert!(harness.failures().is_empty(), "it is tried again");
    harness.call_ended(10 * SECOND, 0, Outcome::Succeeded);
    let mut third = harness.asks(11 * SECOND, 0, "m");
    assert!(third.try_recv().unwrap().is_ok(), "what was given up is not held");
}

/// A step that waits for a breaker without another way has a bound, which is said when the breaker opens.
#[test]
fn a_breaker_is_not_waited_for_for_ever() {
    let limits = Limits {
        breaker: Some(Breaker { max_wait_seconds: 100, ..Breaker::default() }),
        ..Limits::default()
    };
    let mut harness = Harness::new(&items(""), 1, &limits);
    (1..=3).for_each(|second| harness.end(second * SECOND, Some(broken())));
    let said = harness.events.iter().any(|stamped| {
        matches!(&stamped.event, Event::Noted { code, message, .. }
            if code == reason::BREAKER_OPEN && message.contains("is open for 30 s") && message.contains("for 100 s at most"))
    });
    assert!(said, "{:?}", harness.events.last());
    harness.at(33 * SECOND, Vec::new());
    harness.end(34 * SECOND, Some(broken()));
    assert_eq!(harness.core.next_wake(), Some(Timestamp(94 * SECOND)), "the next probe");
    harness.at(94 * SECOND, Vec::new());
    harness.end(95 * SECOND, Some(broken()));
    assert!(harness.failures().iter().all(|(_, failure)| failure.class == Class::Transient));
    assert_eq!(harness.core.next_wake(), Some(Timestamp(103 * SECOND)), "the end of patience");
    harness.at(103 * SECOND, Vec::new());
    let failures = harness.failures();
    let failed = failures.iter().find(|(task, _)| task == "each[5]");
    let (_, failure) = failed.expect("the one that is left fails");
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Capacity, Some(reason::BREAKER_OPEN)));
    assert!(failure.message.contains("no probe went well within 100 s"), "{failure}");
}

/// `max_wait` is the shorter bound: behind an open breaker it ends the wait as the breaker's own bound does, and nothing waits again.
#[test]
fn a_breaker_is_waited_for_no_longer_than_a_step_may_wait() {
    let patient = "retry: {max_attempts: 3, delay_seconds: 1, retry_on: [provider_error]}";
    let workflow = items(", max_wait: 2s").replace("retry: {max_attempts: 1}", patient);
    let mut harness = Harness::new(&workflow, 6, &with_breaker());
    (1..=6).for_each(|moment| harness.end(moment * 1_000, Some(broken())));
    let said = harness.events.iter().any(|stamped| {
        matches!(&stamped.event, Event::Noted { code, message, .. }
            if code == reason::BREAKER_OPEN && message.contains("for 1800 s at most, or for its `max_wait`"))
    });
    assert!(said, "{:?}", harness.events.last());
    while harness.failures().is_empty() {
        let next = harness.core.next_wake().expect("there is a bound");
        assert!(next.0 < 30 * SECOND, "before the probe");
        harness.at(next.0, Vec::new());
    }
    let (task, failure) = harness.failures().remove(0);
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Capacity, Some(reason::BREAKER_OPEN)));
    assert!(failure.message.contains("no probe went well within 2 s"), "{task}: {failure}");
    assert!(harness.notes(reason::MAX_WAIT).is_empty(), "it does not wait again");
}

/// A call in the middle of an attempt does not go to what others have found broken: it waits to be the probe.
#[test]
fn a_call_in_the_middle_of_an_attempt_looks_at_the_breaker() {
    let mut harness = Harness::new(&items(""), 2, &with_breaker());
    let first = harness.running.remove(0);
    (1..=3).for_each(|second| harness.end(second * SECOND, Some(broken())));
    harness.running = vec![first];
    let mut call = harness.asks(4 * SECOND, 0, "m");
    assert!(call.try_recv().is_err(), "it waits");
    harness.at(33 * SECOND, Vec::new());
    assert!(call.try_recv().unwrap().is_ok(), "and is the probe");
    assert_eq!(harness.running.len(), 1, "nothing else begins meanwhile");
    harness.call_ended(34 * SECOND, 0, Outcome::Succeeded);
    assert!(harness.running.len() > 1, "it is closed again");
    assert!(harness.asks(35 * SECOND, 0, "m").try_recv().unwrap().is_ok());
}

/// A step with further models goes on with the next one while the breaker of its own is open; the probe asks its own again.
#[test]
fn a_chain_of_models_passes_over_the_one_whose_breaker_is_open() {
    let mut harness = Harness::new(&items(", models: [m, n]"), 1, &with_breaker());
    for second in [1, 3, 5] {
        assert!(harness.asks(second * SECOND, 0, "m").try_recv().unwrap().is_ok());
        harness.call_ended(second * SECOND + 1, 0, Outcome::Failed);
        assert!(harness.asks(second * SECOND + 2, 0, "n").try_recv().unwrap().is_ok());
        harness.call_ended(second * SECOND + 3, 0, Outcome::Succeeded);
        harness.end((second + 1) * SECOND, None);
    }
    assert_eq!(harness.running.len(), 1, "the fourth does not wait");
    let failure = harness.asks(7 * SECOND, 0, "m").try_recv().unwrap().unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Capacity, Some(reason::BREAKER_OPEN)));
    assert!(harness.asks(7 * SECOND, 0, "n").try_recv().unwrap().is_ok());
    harness.call_ended(8 * SECOND, 0, Outcome::Succeeded);
    harness.end(40 * SECOND, None);
    assert!(harness.asks(41 * SECOND, 0, "m").try_recv().unwrap().is_ok(), "the probe asks the first model");
    harness.call_ended(42 * SECOND, 0, Outcome::Failed);
    assert!(harness.asks(42 * SECOND, 0, "n").try_recv().unwrap().is_ok());
    harness.call_ended(43 * SECOND, 0, Outcome::Succeeded);
    harness.end(43 * SECOND, None);
    let failure = harness.asks(44 * SECOND, 0, "m").try_recv().unwrap().unwrap_err();
    assert_eq!(failure.reason.as_deref(), Some(reason::BREAKER_OPEN), "and it is open again");
}
