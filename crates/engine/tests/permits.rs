//! Attempts take leases, calls take permits of their own, budgets are kept before anything is sent. All decided in
//! memory: facts in, events and effects out.

use convoke_agent::{Admitted, CallDemand};
use convoke_engine::budget::Spent;
use convoke_engine::{
    CallReply, Calls, CapacityFact, Core, Effect, Fact, Fence, Limits, Permits, RequestNo, ServiceLimit,
    Stated, Store, Turn, What,
};
use convoke_govern::Outcome;
use convoke_model::{
    AttemptEnd, Budget, Class, Event, Failure, JsonText, Payload, RunId, RunStarted, TaskId, Timestamp,
    Usage, WhenSpent, reason,
};
use convoke_schedule::{Scheduler, TaskIx};
use convoke_testkit::plan_of;
use tokio::sync::oneshot;

type Answer = oneshot::Receiver<Result<Admitted, Failure>>;

const TWO: &str = "workflow:
  name: two
  entry_point: both
  runtime: {provider: openai, default_model: gpt-5}
parallel: [{name: both, agents: [a, b]}]
agents:
  - {name: a, prompt: hi}
  - {name: b, prompt: hi}
";

/// A run whose facts are told by hand.
struct Harness {
    core: Core,
    now: Timestamp,
}

impl Harness {
    fn new(workflow: &str, limits: &Limits) -> (Harness, Turn) {
        let plan = plan_of(workflow, &[]);
        let started = RunStarted {
            run: RunId("run".into()),
            workflow: "two".into(),
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
        let store = Store::new(Box::new(|_| None));
        let mut scheduler = Scheduler::new(plan);
        scheduler.set_configured_budgets(limits.configured_budgets());
        let mut core = Core::new(scheduler, Permits::new(8, limits), store, 1, Timestamp(1));
        let begun = core.stamp(Timestamp(1), Event::RunStarted(Box::new(started)));
        core.scheduler.apply(&begun).unwrap();
        let mut harness = Harness { core, now: Timestamp(1) };
        let turn = harness.tell(Vec::new());
        (harness, turn)
    }

    fn tell(&mut self, what: Vec<What>) -> Turn {
        self.now = Timestamp(self.now.0 + 1000);
        let at = self.now;
        self.core.decide(at, what.into_iter().map(|what| Fact { at, what }).collect())
    }

    fn task(&self, name: &str) -> TaskIx {
        let id = self
            .core
            .scheduler
            .tasks()
            .find(|task| self.core.scheduler.id(*task).to_string().ends_with(name));
        id.expect("a task of that name")
    }

    fn call(&mut self, task: &str, tokens: u64, micros: u64) -> (Turn, Answer) {
        let (reply, answer) = oneshot::channel();
        let turn = self.tell(vec![self.asks(task, "gpt-5", tokens, micros, reply)]);
        (turn, answer)
    }

    fn asks(&self, task: &str, model: &str, tokens: u64, micros: u64, reply: CallReply) -> What {
        let demand = CallDemand {
            task: TaskId(task.into()),
            attempt: 1,
            provider: "openai".into(),
            model: model.into(),
            input_tokens: 0,
            most_input_tokens: 0,
            output_tokens: tokens,
            cost_micros: Some(micros),
            refused: Vec::new(),
        };
        What::CallAsked { task: self.task(task), attempt: 1, demand, reply }
    }

    fn ended(&self, task: &str, micros: u64, outcome: Outcome) -> What {
        let usage = Usage { calls: 1, output_tokens: 1, cost_micros: micros, ..Usage::default() };
        What::CallEnded { task: self.task(task), attempt: 1, usage: Some(usage), outcome }
    }

    fn finished(&self, task: &str) -> What {
        let output = JsonText::of(&serde_json::json!({"result": "done"}));
        let end = AttemptEnd::Finished { output, usage: Usage::default() };
        What::Ended { task: self.task(task), attempt: 1, end }
    }
}

fn launched(turn: &Turn) -> Vec<Option<u64>> {
    let terms = turn.effects.iter().filter_map(|effect| match effect {
        Effect::Launch(_, _, terms) => Some(terms.fence.map(|fence| fence.0)),
        _ => None,
    });
    terms.collect()
}

fn asked(turn: &Turn) -> Vec<RequestNo> {
    let asks = turn.effects.iter().filter_map(|effect| match effect {
        Effect::RequestLease { request, .. } => Some(*request),
        _ => None,
    });
    asks.collect()
}

fn given_back(turn: &Turn) -> Vec<u64> {
    let backs = turn.effects.iter().filter_map(|effect| match effect {
        Effect::GiveBack(back) => Some(back.fence.0),
        _ => None,
    });
    backs.collect()
}

/// Performs the answers among the effects.
fn answer(turn: Turn) {
    for effect in turn.effects {
        if let Effect::Answer(reply, answer) = effect {
            let _ = reply.send(*answer);
        }
    }
}

fn stated(limit: u64) -> Stated {
    Stated { limit, origin: "test".into() }
}

fn granted(request: RequestNo, fence: u64) -> What {
    What::Capacity(CapacityFact::Granted { request, fence: Fence(fence) })
}

fn machine() -> Limits {
    Limits { machine: Some(stated(2)), ..Limits::default() }
}

#[test]
fn an_attempt_starts_with_its_lease_and_leaves_it_to_the_next() {
    let (mut harness, turn) = Harness::new(TWO, &machine());
    let asks = asked(&turn);
    assert_eq!((asks.len(), launched(&turn).len()), (2, 0), "nothing starts without a lease");
    let turn = harness.tell(vec![granted(asks[0], 7)]);
    assert_eq!(launched(&turn), [Some(7)]);
    let leases = turn.events.iter().filter_map(|stamped| match stamped.event {
        Event::AttemptStarted { lease, .. } => Some(lease),
        _ => None,
    });
    assert_eq!(leases.collect::<Vec<_>>(), [Some(7)], "the journal names it");
    let first = if harness.core.scheduler.attempts(harness.task("a")) == 1 { "a" } else { "b" };
    let turn = harness.tell(vec![harness.finished(first)]);
    assert_eq!(
        (launched(&turn), given_back(&turn).len()),
        (vec![Some(7)], 0),
        "the other one goes on with it"
    );
    assert!(
        turn.effects.iter().any(|effect| matches!(effect, Effect::WithdrawRequest(_))),
        "and needs no other"
    );
    let other = if first == "a" { "b" } else { "a" };
    assert_eq!(given_back(&harness.tell(vec![harness.finished(other)])), [7], "nobody is left to use it");
}

#[test]
fn while_others_wait_a_lease_goes_back() {
    let (mut harness, turn) = Harness::new(TWO, &machine());
    harness.tell(vec![granted(asked(&turn)[0], 7)]);
    let first = if harness.core.scheduler.attempts(harness.task("a")) == 1 { "a" } else { "b" };
    let crowded = What::Capacity(CapacityFact::Crowded { waits: true });
    let turn = harness.tell(vec![crowded, harness.finished(first)]);
    assert_eq!((launched(&turn).len(), given_back(&turn)), (0, vec![7]));
}

#[test]
fn a_lease_is_for_whoever_comes_first_when_it_is_there() {
    let workflow =
        TWO.replace("{name: b, prompt: hi}", "{name: b, prompt: hi, labels: {priority: critical}}");
    let (mut harness, turn) = Harness::new(&workflow, &machine());
    harness.tell(vec![granted(asked(&turn)[0], 7)]);
    assert_eq!(harness.core.scheduler.attempts(harness.task("b")), 1, "whatever the request was made for");
}

#[test]
fn nobody_holds_a_model_while_a_lease_is_waited_for() {
    let service = ServiceLimit {
        provider: "openai".into(),
        model: Some("gpt-5".into()),
        concurrency: Some(stated(1)),
        ..ServiceLimit::default()
    };
    let limits = Limits { services: vec![service], ..machine() };
    let (mut harness, turn) = Harness::new(TWO, &limits);
    let asks = asked(&turn);
    assert_eq!(asks.len(), 1, "more could not be used");
    harness.tell(vec![granted(asks[0], 7)]);
    let first = if harness.core.scheduler.attempts(harness.task("a")) == 1 { "a" } else { "b" };
    // Between two calls of the first the model is free: the second one could start, had it a lease.
    let turn = harness.tell(vec![harness.ended(first, 0, Outcome::Succeeded)]);
    assert_eq!((asked(&turn).len(), launched(&turn).len()), (1, 0));
    let (turn, mut call) = harness.call(first, 1, 0);
    answer(harness.tell(vec![granted(*asked(&turn).last().expect("the call asks"), 8)]));
    assert!(matches!(call.try_recv(), Ok(Ok(Admitted::Go(_)))), "who runs goes on");
}

#[test]
fn a_lease_that_comes_too_late_goes_back() {
    let (mut harness, turn) = Harness::new(TWO, &machine());
    let request = asked(&turn)[0];
    let turn = harness.tell(vec![What::Stop { now: true, by: "test".into(), message: None }]);
    assert!(turn.effects.iter().any(|effect| matches!(effect, Effect::WithdrawRequest(_))));
    assert_eq!(given_back(&harness.tell(vec![granted(request, 9)])), [9]);
}

#[test]
fn an_agent_whose_lease_ran_out_is_cut_off_and_begun_again() {
    let (mut harness, turn) = Harness::new(TWO, &machine());
    let asks = asked(&turn);
    harness.tell(vec![granted(asks[0], 7), granted(asks[1], 8)]);
    let turn = harness.tell(vec![What::Capacity(CapacityFact::Lost { fences: vec![7] })]);
    let fenced = turn.events.iter().any(|stamped| matches!(stamped.event, Event::Fenced { lease: 7, .. }));
    assert!(fenced);
    let Some(Effect::Abort(task)) = turn.effects.first() else { panic!("it is told to stop") };
    let failure = Failure::new(Class::Cancelled, "the attempt was told to stop");
    let usage = Usage { calls: 1, ..Usage::default() };
    let end = AttemptEnd::Failed { failure, usage, partial: None };
    let turn = harness.tell(vec![What::Ended { task: *task, attempt: 1, end }]);
    assert_eq!(given_back(&turn), [7], "it says that nothing runs on it any more");
    let lost = turn.events.iter().find_map(|stamped| match &stamped.event {
        Event::AttemptLost { usage, .. } => Some(usage.calls),
        _ => None,
    });
    assert_eq!(lost, Some(1), "what it used is not forgotten");
    assert_eq!(asked(&turn).len(), 1, "and it asks for another lease");
}

#[test]
fn an_agent_that_finds_out_by_itself_that_its_lease_ran_out_is_begun_again_too() {
    let (mut harness, turn) = Harness::new(TWO, &machine());
    harness.tell(vec![granted(asked(&turn)[0], 7)]);
    let first = if harness.core.scheduler.attempts(harness.task("a")) == 1 { "a" } else { "b" };
    let failure = Failure::new(Class::Cancelled, "nothing was sent").reason(reason::FENCED);
    let end = AttemptEnd::Failed { failure, usage: Usage::default(), partial: None };
    let turn = harness.tell(vec![What::Ended { task: harness.task(first), attempt: 1, end }]);
    let is_told = |wanted: fn(&Event) -> bool| turn.events.iter().any(|stamped| wanted(&stamped.event));
    assert!(is_told(|event| matches!(event, Event::Fenced { lease: 7, .. })));
    assert!(is_told(|event| matches!(event, Event::AttemptLost { .. })), "it has not failed");
    assert_eq!(given_back(&turn), [7], "nobody takes over what ran out");
    assert_eq!(asked(&turn).len(), 1, "and it asks for another lease");
}

#[test]
fn what_a_machine_can_never_give_fails_the_step() {
    let (mut harness, turn) = Harness::new(TWO, &machine());
    let why = "`machine`: 1 wanted of 0".to_owned();
    let turn = harness.tell(vec![What::Capacity(CapacityFact::Refused { request: asked(&turn)[0], why })]);
    let failed = turn.events.iter().any(
        |stamped| matches!(&stamped.event, Event::TaskFailed { failure, .. } if failure.class == Class::Capacity),
    );
    assert!(failed);
}

#[test]
fn the_first_call_needs_no_asking_and_the_next_one_does() {
    let (mut harness, turn) = Harness::new(TWO, &Limits::default());
    let calls = turn.effects.iter().filter_map(|effect| match effect {
        Effect::Launch(_, _, terms) => Some(terms.calls.clone()),
        _ => None,
    });
    assert!(calls.clone().all(|calls| calls == Calls::Asked(Some("gpt-5".into()))) && calls.count() == 2);
    harness.tell(vec![harness.ended("a", 0, Outcome::Succeeded)]);
    let (turn, mut next) = harness.call("a", 10, 0);
    answer(turn);
    assert!(matches!(next.try_recv().unwrap(), Ok(Admitted::Go(_))));
}

#[test]
fn calls_to_one_model_are_never_more_than_it_may_have() {
    let service = ServiceLimit {
        provider: "openai".into(),
        model: Some("gpt-5".into()),
        concurrency: Some(stated(1)),
        ..ServiceLimit::default()
    };
    let limits = Limits { services: vec![service], ..Limits::default() };
    let (mut harness, turn) = Harness::new(TWO, &limits);
    assert_eq!(launched(&turn).len(), 1, "an attempt whose first call cannot be made does not take a slot");
    let first = if harness.core.scheduler.attempts(harness.task("a")) == 1 { "a" } else { "b" };
    let turn = harness.tell(vec![harness.ended(first, 0, Outcome::Succeeded)]);
    assert_eq!(launched(&turn).len(), 1, "between two calls of one, another may be made");
    let (turn, mut waits) = harness.call(first, 1, 0);
    answer(turn);
    assert!(waits.try_recv().is_err(), "and then it has to wait");
    let other = if first == "a" { "b" } else { "a" };
    let turn = harness.tell(vec![harness.ended(other, 0, Outcome::Succeeded)]);
    // What is configured is shared, so the machine is asked as well.
    answer(harness.tell(vec![granted(asked(&turn)[0], 3)]));
    assert!(waits.try_recv().is_ok());
}

fn budget(micros: u64, when_spent: WhenSpent) -> Limits {
    let run = Budget { micros: Some(micros), when_spent, ..Budget::default() };
    Limits { run: Some(run), ..Limits::default() }
}

#[test]
fn a_budget_is_reserved_before_a_call_and_settled_after() {
    let (mut harness, _) = Harness::new(TWO, &budget(100, WhenSpent::Stop));
    let (turn, mut a) = harness.call("a", 1, 60);
    answer(turn);
    assert!(matches!(a.try_recv().unwrap(), Ok(Admitted::Go(_))));
    let (turn, mut b) = harness.call("b", 1, 60);
    answer(turn);
    assert!(b.try_recv().is_err(), "what is reserved cannot be spent twice; it may come back");
    answer(harness.tell(vec![harness.ended("a", 10, Outcome::Succeeded)]));
    assert!(matches!(b.try_recv().unwrap(), Ok(Admitted::Go(_))), "the first one was cheaper than feared");
    answer(harness.tell(vec![harness.ended("b", 60, Outcome::Succeeded)]));
    let (turn, mut a) = harness.call("a", 1, 60);
    answer(turn);
    let refused = a.try_recv().unwrap().unwrap_err();
    assert_eq!((refused.class, refused.limit()), (Class::Budget, Some("budget_usd")));
}

const CHECKED: &str = "workflow:
  name: checked
  entry_point: writer
  runtime: {provider: openai, default_model: gpt-5}
agents:
  - {name: writer, prompt: hi}
  - {name: checked, type: verify, needs: [writer], query: how?, budget: {usd: 0.0001}}
";

#[test]
fn what_a_step_asks_is_paid_from_its_budget_with_what_it_asked_before_a_resume() {
    for (spent, class) in [(0, None), (60, Some(Class::Budget))] {
        let (mut harness, _) = Harness::new(CHECKED, &Limits::default());
        harness.tell(vec![harness.finished("writer")]);
        // By a question that is gone, and by one that goes on.
        for task in ["checked/correct[1]", "checked/assess[1]"] {
            let usage = Usage { cost_micros: spent / 2, output_tokens: 1, ..Usage::default() };
            let spent = Spent { task: TaskId(task.into()), usage, at: harness.now };
            harness.core.permits.spent_before(&spent, &harness.core.scheduler);
        }
        let (turn, mut call) = harness.call("checked/assess[1]", 1, 60);
        answer(turn);
        let refused = call.try_recv().unwrap().err().map(|failure| failure.class);
        assert_eq!(refused, class, "{spent} of 100 are spent, the call may cost 60");
    }
}

#[test]
fn a_spent_budget_can_mean_a_cheaper_model() {
    let (mut harness, _) = Harness::new(TWO, &budget(100, WhenSpent::Degrade("mini".into())));
    let (turn, mut a) = harness.call("a", 1, 200);
    answer(turn);
    assert!(matches!(a.try_recv().unwrap(), Ok(Admitted::Instead(model)) if model == "mini"));
    let (reply, mut a) = oneshot::channel();
    answer(harness.tell(vec![harness.asks("a", "mini", 1, 20, reply)]));
    assert!(matches!(a.try_recv().unwrap(), Ok(Admitted::Go(_))));
    answer(harness.tell(vec![harness.ended("a", 95, Outcome::Succeeded)]));
    let (reply, mut a) = oneshot::channel();
    answer(harness.tell(vec![harness.asks("a", "mini", 1, 20, reply)]));
    let refused = a.try_recv().unwrap().unwrap_err();
    assert_eq!(refused.class, Class::Budget, "there is no model that is cheaper still");
}

#[test]
fn a_model_that_was_refused_is_not_offered_again() {
    let (mut harness, _) = Harness::new(TWO, &budget(100, WhenSpent::Degrade("mini".into())));
    let (reply, mut a) = oneshot::channel();
    let mut asked = harness.asks("a", "nano", 1, 200, reply);
    if let What::CallAsked { demand, .. } = &mut asked {
        demand.refused = vec!["gpt-5".into(), "mini".into()];
    }
    answer(harness.tell(vec![asked]));
    assert_eq!(
        a.try_recv().unwrap().unwrap_err().class,
        Class::Budget,
        "another budget could not pay `mini`"
    );
}

#[test]
fn a_call_whose_lease_comes_while_its_service_is_paused_waits_for_the_end_of_the_pause() {
    let service = ServiceLimit {
        provider: "openai".into(),
        requests_per_minute: Some(stated(60)),
        ..ServiceLimit::default()
    };
    let limits = Limits { services: vec![service], ..machine() };
    let (mut harness, turn) = Harness::new(TWO, &limits);
    harness.tell(asked(&turn).into_iter().zip(1..).map(|(request, fence)| granted(request, fence)).collect());
    let (turn, mut made) = harness.call("a", 1, 0);
    let [request] = asked(&turn)[..] else { panic!("the call asks for its lease") };
    let pause = std::time::Duration::from_secs(5);
    let paused = CapacityFact::Paused { service: "model:openai/gpt-5".into(), pause };
    answer(harness.tell(vec![What::Capacity(paused)]));
    let opens = harness.now + pause;
    answer(harness.tell(vec![granted(request, 3)]));
    assert!(made.try_recv().is_err(), "another process was told to come back later");
    assert_eq!(harness.core.next_wake(), Some(opens));
    harness.now = opens;
    answer(harness.tell(Vec::new()));
    assert!(matches!(made.try_recv(), Ok(Ok(Admitted::Go(_)))));
}

#[test]
fn a_call_that_nobody_waits_for_any_more_gives_everything_back() {
    let (mut harness, _) = Harness::new(TWO, &budget(100, WhenSpent::Stop));
    let (turn, _a) = harness.call("a", 1, 100);
    answer(turn);
    let (turn, b) = harness.call("b", 1, 100);
    answer(turn);
    drop(b);
    let gone =
        What::CallEnded { task: harness.task("b"), attempt: 1, usage: None, outcome: Outcome::Unknown };
    harness.tell(vec![gone, harness.ended("a", 0, Outcome::Succeeded)]);
    let (turn, mut a) = harness.call("a", 1, 100);
    answer(turn);
    assert!(a.try_recv().unwrap().is_ok(), "nothing is left of the call that was given up");
}

/// What is launched first when only one at a time may run.
fn first_of(workflow: &str) -> String {
    let plan = plan_of(workflow, &[]);
    let mut world = convoke_testkit::World::new(
        plan,
        serde_json::json!({}),
        1,
        1,
        Box::new(|_| {
            convoke_testkit::Behaviour::gives(
                std::time::Duration::from_millis(5),
                serde_json::json!({"result": 1}),
            )
        }),
    );
    world.finish();
    world.launches[0].0.to_string()
}

#[test]
fn the_step_that_holds_up_most_goes_first() {
    let workflow = "workflow: {name: paths, runtime: {provider: openai, default_model: m}}
agents:
  - {name: short, prompt: p}
  - {name: long, prompt: p}
  - {name: after, prompt: p, needs: [long]}
  - {name: last, prompt: p, needs: [after]}
";
    assert_eq!(first_of(workflow), "long");
    let urgent =
        workflow.replace("{name: short, prompt: p}", "{name: short, prompt: p, labels: {priority: high}}");
    assert_eq!(first_of(&urgent), "short", "a stated priority comes before");
}

#[test]
fn what_a_service_says_of_itself_bounds_what_was_configured() {
    let service = ServiceLimit {
        provider: "openai".into(),
        requests_per_minute: Some(stated(100)),
        ..ServiceLimit::default()
    };
    let (mut harness, _) = Harness::new(TWO, &Limits { services: vec![service], ..Limits::default() });
    let meter = convoke_agent::Meter { limit: Some(10), remaining: Some(9), resets_in_ms: None };
    let limits = convoke_agent::Limits { model: "gpt-5".into(), requests: meter, ..Default::default() };
    let report = convoke_agent::Report::LimitsSeen(limits);
    let turn = harness.tell(vec![What::Reported { task: harness.task("a"), attempt: 1, report }]);
    let adapted = turn.events.iter().find_map(|stamped| match &stamped.event {
        Event::LimitAdapted(adapted) => Some((adapted.resource.as_str(), adapted.to, adapted.reason.word())),
        _ => None,
    });
    assert_eq!(adapted, Some(("requests:openai", 10, "headers_seen")));
}

#[test]
fn who_is_told_to_let_go_begins_nothing_and_lets_calls_be_made() {
    let (mut harness, turn) = Harness::new(TWO, &machine());
    let asks = asked(&turn);
    harness.tell(vec![granted(asks[0], 7)]);
    let first = if harness.core.scheduler.attempts(harness.task("a")) == 1 { "a" } else { "b" };
    harness.tell(vec![harness.ended(first, 0, Outcome::Succeeded)]);
    let turn = harness.tell(vec![What::Interrupt { now: false, by: "test".into() }, granted(asks[1], 8)]);
    assert_eq!((launched(&turn).len(), given_back(&turn)), (0, vec![8]));
    let (turn, mut call) = harness.call(first, 1, 0);
    answer(turn);
    assert!(matches!(call.try_recv(), Ok(Ok(Admitted::Go(_)))));
}
