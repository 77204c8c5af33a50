use super::*;
use convoke_model::{Cause, CauseKind, Class, Failure, Role, RunReopened};
use convoke_testkit::events::{attempt, done, fan_out, group, id, stamp, started};

fn failed(task: &str) -> Event {
    let failure = Failure::new(Class::Timeout, "too slow");
    Event::AttemptFailed { task: id(task), attempt: 1, failure, usage: Usage::default(), partial: None }
}

fn outline(steps: &[(&str, &[&str])]) -> Outline {
    let steps = steps.iter().map(|(task, needs)| (id(task), needs.iter().map(|need| id(need)).collect()));
    Outline { steps: steps.collect(), ..Outline::default() }
}

fn fold(steps: &[(&str, &[&str])], events: Vec<Event>) -> State {
    State::fold(outline(steps), &stamp(events))
}

#[test]
fn an_attempt_runs_and_ends() {
    let state = fold(&[("a", &[]), ("b", &["a"])], vec![started(), attempt("a", 1)]);
    assert_eq!((state.running.len(), state.total(), state.ended.total()), (1, 2, 0));
    assert_eq!(state.not_ready().collect::<Vec<_>>(), [(&id("b"), vec![&id("a")])]);
    let state = fold(&[("a", &[]), ("b", &["a"])], vec![started(), attempt("a", 1), done("a")]);
    assert_eq!((state.running.len(), state.ended.succeeded, state.usage.input_tokens), (0, 1, 10));
    assert_eq!(state.not_ready().count(), 0);
    let took = std::time::Duration::from_secs(1);
    assert_eq!(state.tasks[&id("a")].phase, Phase::Ended { end: End::Succeeded, took });
}

#[test]
fn a_retry_waits_and_runs_again_as_one_task() {
    let retry = Event::RetryScheduled { task: id("a"), at: Timestamp(9_000_000) };
    let state = fold(&[], vec![started(), attempt("a", 1), failed("a"), retry]);
    assert_eq!(state.waiting.values().collect::<Vec<_>>(), [&id("a")]);
    assert!(state.running.is_empty());
    let retry = Event::RetryScheduled { task: id("a"), at: Timestamp(9_000_000) };
    let events = vec![started(), attempt("a", 1), failed("a"), retry, attempt("a", 2), done("a")];
    let state = fold(&[], events);
    assert_eq!((state.tasks.len(), state.ended.succeeded, state.waiting.len()), (1, 1, 0));
    assert_eq!(state.tasks[&id("a")].attempts, 2);
}

#[test]
fn items_are_counted_once_whether_announced_or_seen() {
    let events =
        vec![started(), group("g"), fan_out("g", 5), attempt("g[0]", 1), attempt("g[1]", 1), done("g[0]")];
    let state = fold(&[("g", &[]), ("after", &["g"])], events);
    assert_eq!(state.total(), 1 + 5 + 1);
    let Phase::Holding(members) = state.tasks[&id("g")].phase else { panic!("still open") };
    assert_eq!(members, Members { total: Some(5), seen: 2, ended: 1, announced: 3, steps: 0 });
}

#[test]
fn a_reopened_task_is_open_again() {
    let events = vec![
        started(),
        attempt("a", 1),
        failed("a"),
        Event::TaskFailed { task: id("a"), failure: Failure::new(Class::Fatal, "no") },
    ];
    let state = fold(&[("a", &[])], events.clone());
    assert_eq!((state.ended.failed, state.total()), (1, 1));
    let mut again = events;
    again.push(Event::RunReopened(RunReopened { tasks: vec![id("a")], ..RunReopened::default() }));
    let state = fold(&[("a", &[])], again);
    assert_eq!((state.ended.total(), state.total(), state.tasks.len()), (0, 1, 0));
}

#[test]
fn what_lies_below_a_restarted_task_is_forgotten() {
    let mut events = vec![
        started(),
        group("g"),
        fan_out("g", 2),
        attempt("g[0]", 1),
        done("g[0]"),
        attempt("x", 1),
        done("x"),
    ];
    events.push(Event::RunReopened(RunReopened { restarted: vec![id("g")], ..RunReopened::default() }));
    let state = fold(&[("g", &[]), ("x", &[])], events);
    assert_eq!(state.tasks.keys().collect::<Vec<_>>(), [&id("x")]);
    assert_eq!((state.ended.total(), state.total()), (1, 2));
}

#[test]
fn an_end_counts_once() {
    let cause = Cause { kind: CauseKind::Stopped, task: None };
    let cancelled = Event::TaskCancelled { task: id("a"), cause };
    let state = fold(&[], vec![started(), attempt("a", 1), cancelled.clone(), cancelled]);
    assert_eq!((state.ended.cancelled, state.ended.total()), (1, 1));
}

#[test]
fn the_owner_of_an_item_or_member_is_its_group() {
    assert_eq!(owner(&id("g[3]")), Some(id("g")));
    assert_eq!(owner(&id("a/g[3]#2")), Some(id("a/g#2")));
    assert_eq!(owner(&id("g[3]/x")), Some(id("g[3]")));
    assert_eq!(owner(&id("a")), None);
}

#[test]
fn events_in_any_order_give_a_state() {
    let mut events = vec![done("x"), fan_out("y", 3), attempt("z", 1), started(), failed("q"), group("y")];
    events.reverse();
    let state = fold(&[], events);
    assert_eq!(state.tasks.len(), 4);
}

fn asks(task: &str, kinds: Vec<(&str, ChildKind)>) -> Event {
    let children = kinds.into_iter().map(|(key, kind)| ChildSpec::new(key, kind));
    Event::ChildrenSpawned { task: id(task), children: children.collect() }
}

#[test]
fn what_a_step_asks_on_its_way_is_no_step() {
    let tried = |key| (key, ChildKind::Try { after: None });
    let events = vec![
        started(),
        asks("write", vec![tried("1")]),
        attempt("write/try[1]", 1),
        done("write/try[1]"),
        asks("write/try[1]", vec![tried("1")]),
        attempt("write/try[1]/try[1]", 1),
        done("write/try[1]/try[1]"),
        asks("write", vec![tried("2")]),
        attempt("write/try[2]", 1),
    ];
    let state = fold(&[("write", &[]), ("copy", &["write"])], events);
    assert_eq!((state.ended.total(), state.total()), (0, 2));
    let Phase::Holding(members) = state.tasks[&id("write")].phase else { panic!("still open") };
    assert_eq!((members.ended, members.total), (1, Some(2)), "its own line says how far it is");
}

#[test]
fn tasks_of_a_goal_are_steps_and_its_roles_are_not() {
    let role = |key, role| (key, ChildKind::Role { role, note: None });
    let item = |key: &'static str| {
        (
            key,
            ChildKind::Item(Box::new(
                serde_json::from_value(serde_json::json!({"description": "d"})).unwrap(),
            )),
        )
    };
    let mut events = vec![
        started(),
        group("goal"),
        asks("goal", vec![role("1", Role::Plan)]),
        attempt("goal/plan[1]", 1),
        done("goal/plan[1]"),
        asks("goal", vec![item("1"), item("2")]),
        asks("goal/1", vec![role("1", Role::Execute)]),
        attempt("goal/1/execute[1]", 1),
        done("goal/1/execute[1]"),
        done("goal/1"),
    ];
    let state = fold(&[("goal", &[])], events.clone());
    assert_eq!((state.ended.total(), state.total()), (1, 3));
    let Phase::Holding(members) = state.tasks[&id("goal")].phase else { panic!("still open") };
    assert_eq!((members.ended, members.total), (1, Some(2)));
    events.push(done("goal"));
    let state = fold(&[("goal", &[])], events);
    assert_eq!((state.ended.total(), state.total()), (2, 2), "what was never begun does not come any more");
    assert_eq!(state.ended.words(), "2 steps");
}
