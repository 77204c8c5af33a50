use super::*;
use convoke_model::{Class, RunReopened};
use convoke_testkit::events::{attempt, done, fan_out, group, id, stamp, started};

fn fold(expected: &[&str], events: Vec<Event>) -> Table {
    let expected: Vec<TaskId> = expected.iter().map(|task| id(task)).collect();
    let mut table = Table::expecting(expected.iter());
    stamp(events).iter().for_each(|stamped| table.apply(stamped, &|task| task.0.contains("ask")));
    table
}

fn blocked(task: &str) -> Event {
    Event::Blocked { task: id(task), on: "machine".into() }
}

fn failed(task: &str) -> Event {
    let failure = Failure::new(Class::Timeout, "too slow\nby far");
    Event::AttemptFailed { task: id(task), attempt: 1, failure, usage: Usage::default(), partial: None }
}

#[test]
fn time_in_the_queue_is_told_apart_from_time_at_work() {
    let table = fold(
        &[],
        vec![started(), blocked("a"), blocked("a"), attempt("a", 1), failed("a"), attempt("a", 2), done("a")],
    );
    let (_, row) = table.get(&id("a")).unwrap();
    let second = Duration::from_secs(1);
    assert_eq!((row.queued, row.ran, row.standing), (2 * second, 2 * second, Standing::Done));
    assert_eq!((row.attempts, row.retries.len(), row.failure.as_deref()), (2, 1, Some("too slow …")));
    assert_eq!((row.started, row.ended), (Some(Timestamp(1_000_000)), Some(Timestamp(6_000_000))));
}

#[test]
fn a_reader_is_given_what_changed_after_its_position_and_nothing_else() {
    let events = vec![started(), attempt("a", 1), attempt("b", 1), done("a"), attempt("c", 1)];
    let table = fold(&["a", "z"], events);
    let since = |position| {
        let rows = table.changed_since(position).map(|place| table.rows()[place].task.to_string());
        rows.collect::<Vec<_>>()
    };
    assert_eq!(since(0), ["b", "a", "c"]);
    assert_eq!(since(3), ["a", "c"]);
    assert_eq!(since(5), [""; 0]);
    assert!(table.get(&id("z")).unwrap().1.is_expected());
}

#[test]
fn steps_are_counted_by_how_they_stand_and_questions_are_not() {
    let events =
        vec![started(), group("g"), fan_out("g", 2), attempt("g[0]", 1), done("g[0]"), attempt("ask", 1)];
    let table = fold(&["g", "after"], events);
    let counts = Standing::ALL.map(|standing| table.count(standing));
    assert_eq!(counts, [1, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn what_a_restart_takes_away_is_gone_and_may_come_again() {
    let restart = Event::RunReopened(RunReopened { restarted: vec![id("g")], ..RunReopened::default() });
    let before = vec![started(), group("g"), fan_out("g", 2), attempt("g[0]", 1), done("g[0]"), restart];
    let table = fold(&[], before.clone());
    assert_eq!((table.get(&id("g[0]")), table.count(Standing::Waiting)), (None, 1));
    assert!(table.changed_since(5).any(|place| table.rows()[place].gone), "readers are told");
    let again = fold(&[], [before, vec![attempt("g[0]", 1)]].concat());
    assert_eq!((again.get(&id("g[0]")).unwrap().0, again.count(Standing::Running)), (1, 1));
}

#[test]
fn counts_are_those_of_the_rows_after_any_order_of_events() {
    let mut events = vec![done("x"), fan_out("y", 3), attempt("z", 1), failed("q"), group("y"), blocked("z")];
    for _ in 0..events.len() {
        events.rotate_left(1);
        let table = fold(&["x"], events.clone());
        for standing in Standing::ALL {
            let rows = table.rows().iter().filter(|row| row.standing == standing && !row.gone);
            assert_eq!(table.count(standing), rows.count() as u64, "{standing:?}");
        }
    }
}
