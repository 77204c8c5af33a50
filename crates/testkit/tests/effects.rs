//! Effects under crashes: after every commit of a run, and after every commit of its recovery.

use convoke_engine::effects::{EffectState, effects};
use convoke_model::{
    Answer, Assignment, AttemptEnd, Event, JsonText, ProbeFinding, RunStatus, Stamped, Work,
};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::json;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn plan(steps: &str) -> Arc<Plan> {
    plan_of(
        &format!(
            "
workflow: {{name: effects, entry_point: a}}
agents:
  - {{name: a, type: script, command: pay, {steps}, routes: [{{to: b}}]}}
  - {{name: b, type: script, command: send, {steps}, routes: [{{to: c}}]}}
  - {{name: c, type: script, command: tell, {steps}}}
output: {{done: 'yes'}}
"
        ),
        &[],
    )
}

const PROBE: &str = "on_unknown: probe, probe: {command: look, args: ['{key}']}";

/// What has happened in the world, by key. It outlives every crash.
type Book = Rc<RefCell<Vec<String>>>;

/// Scripts write their key into the book, and probes look there; `clear` says whether a probe can say anything.
fn acting(book: &Book, clear: bool) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    let book = book.clone();
    Box::new(move |assignment| match &assignment.work {
        Work::Script(_) => {
            book.borrow_mut().push(assignment.key.to_string());
            Behaviour::gives(10 * MS, json!({"made": true}))
        }
        Work::Probe(_) => {
            let finding = match book.borrow().contains(&assignment.key.to_string()) {
                _ if !clear => ProbeFinding::Unclear("the book is closed".into()),
                true => ProbeFinding::Happened(JsonText::of(&json!({"made": true}))),
                false => ProbeFinding::Absent,
            };
            Behaviour { takes: 5 * MS, end: AttemptEnd::Probed(finding) }
        }
        other => panic!("no such work: {other:?}"),
    })
}

/// The keys of what is claimed in these commits: without an outcome, and in all.
fn claimed(commits: &[Vec<Stamped>]) -> (Vec<String>, Vec<String>) {
    let all = effects(&commits.concat());
    let key = |effect: &convoke_engine::effects::Effect| effect.key.clone();
    let open =
        all.iter().filter(|effect| matches!(effect.state, EffectState::Claimed | EffectState::Unknown));
    (open.map(key).collect(), all.iter().map(key).collect())
}

/// The world as it was after these commits: what had an outcome has happened, and of the rest what the crash let happen.
fn book_after(commits: &[Vec<Stamped>], did: bool) -> Book {
    let (open, all) = claimed(commits);
    let mut seen = HashSet::new();
    let happened = |key: &String| (did || !open.contains(key)) && seen.insert(key.clone());
    Rc::new(RefCell::new(all.into_iter().filter(happened).collect()))
}

fn each_once(book: &Book) {
    let book = book.borrow();
    let different: HashSet<&String> = book.iter().collect();
    assert_eq!((book.len(), different.len()), (3, 3), "three effects, each once: {book:?}");
}

#[test]
fn with_a_probe_every_effect_happens_once_wherever_it_is_cut_off() {
    let plan = plan(PROBE);
    let mut whole = World::new(plan.clone(), json!({}), 2, 7, acting(&Book::default(), true));
    assert_eq!(whole.finish().status, RunStatus::Succeeded);
    for at in 1..whole.commits.len() {
        for did in [false, true] {
            let commits = whole.commits[..at].to_vec();
            let book = book_after(&commits, did);
            let mut recovered = World::resumed(plan.clone(), 2, commits.clone(), &whole, acting(&book, true));
            assert_eq!(recovered.finish().status, RunStatus::Succeeded, "cut at {at}, {did}");
            each_once(&book);
            let unknown = effects(&recovered.commits.concat());
            assert!(unknown.iter().all(|effect| effect.state != EffectState::Unknown), "{unknown:?}");
            // The recovery is cut off as well, also in the middle of a probe.
            for second in at + 1..recovered.commits.len() {
                let commits = recovered.commits[..second].to_vec();
                let book = book_after(&commits, did);
                let mut again = World::resumed(plan.clone(), 2, commits, &recovered, acting(&book, true));
                assert_eq!(again.finish().status, RunStatus::Succeeded, "cut at {at} and {second}");
                each_once(&book);
            }
        }
    }
}

#[test]
fn a_probe_that_cannot_say_leaves_it_to_a_person() {
    let plan = plan(PROBE);
    let mut whole = World::new(plan.clone(), json!({}), 2, 7, acting(&Book::default(), true));
    whole.finish();
    let is_claim =
        |commit: &Vec<Stamped>| commit.iter().any(|it| matches!(it.event, Event::EffectClaimed { .. }));
    let at = whole.commits.iter().position(is_claim).expect("there is a claim") + 1;
    let commits = whole.commits[..at].to_vec();
    let book = book_after(&commits, true);
    let mut asked = World::resumed(plan, 2, commits, &whole, acting(&book, false));
    assert_eq!(asked.finish().status, RunStatus::Parked);
    assert_eq!(book.borrow().len(), 1, "nothing is repeated unasked");
    assert_eq!(effects(&asked.commits.concat())[0].state, EffectState::Unknown);
    asked.answers.insert("*".into(), Answer::Retry);
    let task = effects(&asked.commits.concat())[0].task.clone();
    asked.answer(&task, Answer::Retry);
    assert_eq!(asked.finish().status, RunStatus::Succeeded);
    assert_eq!(effects(&asked.commits.concat())[0].state, EffectState::Repeated);
}

#[test]
fn without_a_word_nothing_that_was_claimed_is_made_again() {
    let plan = plan("on_unknown: ask");
    let mut whole = World::new(plan.clone(), json!({}), 2, 7, acting(&Book::default(), true));
    whole.finish();
    for at in 1..whole.commits.len() {
        let commits = whole.commits[..at].to_vec();
        let (open, _) = claimed(&commits);
        let book = book_after(&commits, true);
        let before = book.borrow().len();
        let mut recovered = World::resumed(plan.clone(), 2, commits, &whole, acting(&book, true));
        match open.is_empty() {
            true => assert_eq!(recovered.finish().status, RunStatus::Succeeded, "cut at {at}"),
            false => {
                assert_eq!(recovered.finish().status, RunStatus::Parked, "cut at {at}");
                assert_eq!(book.borrow().len(), before, "cut at {at}");
            }
        }
    }
}

#[test]
fn a_persons_time_is_no_part_of_the_limit_of_a_steps_work() {
    let plan = plan("on_unknown: ask, timeout: 1");
    let mut whole = World::new(plan.clone(), json!({}), 2, 7, acting(&Book::default(), true));
    whole.finish();
    let is_claim =
        |commit: &Vec<Stamped>| commit.iter().any(|it| matches!(it.event, Event::EffectClaimed { .. }));
    let at = whole.commits.iter().position(is_claim).expect("there is a claim") + 1;
    let mut asked =
        World::resumed(plan.clone(), 2, whole.commits[..at].to_vec(), &whole, acting(&Book::default(), true));
    assert_eq!(asked.finish().status, RunStatus::Parked);
    let open = asked.commits.concat().into_iter().find_map(|it| match it.event {
        Event::GateOpened { task, until, .. } => Some((task, until)),
        _ => None,
    });
    let (task, until) = open.expect("a person is asked");
    assert_eq!(until, None, "the limit of the work is no limit of the answer");
    asked.answers.insert("*".into(), Answer::Retry);
    asked.answer(&task, Answer::Retry);
    assert_eq!(asked.finish().status, RunStatus::Succeeded);
}

#[test]
fn a_command_that_survives_is_attached_to_and_never_started_twice() {
    let plan = plan("survive: true, timeout: 60");
    let attaching = |book: &Book| -> Box<dyn FnMut(&Assignment) -> Behaviour> {
        let book = book.clone();
        Box::new(move |assignment| {
            let Work::Script(call) = &assignment.work else { panic!("a script") };
            if !call.survival.as_ref().expect("it survives").attach {
                book.borrow_mut().push(assignment.key.to_string());
            }
            Behaviour::gives(10 * MS, json!({"made": true}))
        })
    };
    let mut whole = World::new(plan.clone(), json!({}), 2, 7, attaching(&Book::default()));
    assert_eq!(whole.finish().status, RunStatus::Succeeded);
    for at in 1..whole.commits.len() {
        let commits = whole.commits[..at].to_vec();
        let book = book_after(&commits, true);
        let mut recovered = World::resumed(plan.clone(), 2, commits, &whole, attaching(&book));
        assert_eq!(recovered.finish().status, RunStatus::Succeeded, "cut at {at}");
        each_once(&book);
        let states: Vec<EffectState> =
            effects(&recovered.commits.concat()).into_iter().map(|effect| effect.state).collect();
        assert_eq!(states, [EffectState::Done; 3], "cut at {at}");
    }
}
