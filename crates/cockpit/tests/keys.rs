//! What keys do: effects, and nothing without a word.

use crate::support::*;
use convoke_cockpit::{Cockpit, Effect, Focus, Given, Input, Key, Permission, Place};

fn at_runs() -> Cockpit {
    let mut cockpit = cockpit();
    cockpit.step(Input::Runs(runs()));
    cockpit
}

fn at_task(live: bool, down: usize) -> Cockpit {
    let mut cockpit = at_runs();
    key(&mut cockpit, Key::Enter);
    cockpit.step(Input::Run(Box::new(run_seen("a", live, rows()))));
    press(&mut cockpit, &"j".repeat(down));
    cockpit
}

fn answer(run_name: &str, task: &str, value: &str) -> Effect {
    let given = Given { values: vec![value.to_owned()], ..Given::default() };
    Effect::Answer {
        run: run(run_name),
        question: format!("{task}~1"),
        shown: format!("hash of {task}"),
        given,
    }
}

#[test]
fn an_answer_is_bound_to_what_was_shown_and_not_given_by_a_key_that_was_on_its_way() {
    let mut cockpit = at_runs();
    press(&mut cockpit, "ja");
    assert_eq!(key(&mut cockpit, Key::Enter), [], "the text has stood for no time yet");
    assert!(cockpit.message().unwrap().contains("just changed"));
    later(&mut cockpit, 600);
    press(&mut cockpit, "j");
    assert_eq!(key(&mut cockpit, Key::Enter), [answer("b", "gate", "no")]);
}

#[test]
fn a_question_that_reads_otherwise_is_shown_again_first() {
    let mut cockpit = at_runs();
    press(&mut cockpit, "ja");
    later(&mut cockpit, 600);
    let mut seen = runs();
    seen.questions[0].shown = "another hash".to_owned();
    seen.questions[0].text = "May it be sent to nobody?".to_owned();
    cockpit.step(Input::Runs(seen));
    assert!(screen(&mut cockpit, 80, 24).contains("to nobody?"));
    assert_eq!(key(&mut cockpit, Key::Enter), []);
    later(&mut cockpit, 1_200);
    let effects = key(&mut cockpit, Key::Enter);
    assert!(matches!(&effects[..], [Effect::Answer { shown, .. }] if shown == "another hash"), "{effects:?}");
}

#[test]
fn a_question_that_is_answered_elsewhere_goes_with_a_word() {
    let mut cockpit = at_runs();
    press(&mut cockpit, "ja");
    let mut seen = runs();
    seen.questions.clear();
    cockpit.step(Input::Runs(seen));
    assert!(cockpit.message().unwrap().contains("does not ask any more"));
    assert!(!screen(&mut cockpit, 80, 24).contains("May the report"));
}

#[test]
fn alike_questions_are_answered_together_each_by_its_own_hash() {
    let mut cockpit = cockpit();
    let mut seen = runs();
    seen.questions.push(asked("c", "other"));
    let mut stranger = asked("c", "stranger");
    stranger.alike = "something else".to_owned();
    seen.questions.push(stranger);
    cockpit.step(Input::Runs(seen));
    press(&mut cockpit, "2a");
    later(&mut cockpit, 600);
    assert_eq!(press(&mut cockpit, "A"), [answer("b", "gate", "yes"), answer("c", "other", "yes")]);
}

#[test]
fn an_option_that_wants_words_asks_for_them() {
    let mut cockpit = cockpit();
    let mut seen = runs();
    seen.questions[0].options[0].prompt_for = Some("why".to_owned());
    cockpit.step(Input::Runs(seen));
    press(&mut cockpit, "2a");
    later(&mut cockpit, 600);
    assert_eq!(key(&mut cockpit, Key::Enter), []);
    press(&mut cockpit, "no jokes");
    key(&mut cockpit, Key::Backspace);
    let effects = key(&mut cockpit, Key::Enter);
    let [Effect::Answer { given, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(given.inputs, [("why".to_owned(), "no joke".to_owned())]);
}

#[test]
fn a_form_is_asked_field_by_field() {
    let mut cockpit = cockpit();
    let mut seen = runs();
    seen.questions[0].options.clear();
    seen.questions[0].fields =
        vec![field("colour", &["red", "blue"], true), field("note", &[], false), field("name", &[], true)];
    cockpit.step(Input::Runs(seen));
    press(&mut cockpit, "2a");
    later(&mut cockpit, 600);
    press(&mut cockpit, "j");
    assert_eq!(key(&mut cockpit, Key::Enter), []);
    assert_eq!(key(&mut cockpit, Key::Enter), [], "a note may stay empty");
    assert_eq!(key(&mut cockpit, Key::Enter), [], "a name may not");
    press(&mut cockpit, "Ada");
    let effects = key(&mut cockpit, Key::Enter);
    let [Effect::Answer { given, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((given.values.join(";").as_str(), given.skip_rest), ("colour=blue;name=Ada", true));
}

#[test]
fn stop_resume_and_retry_are_asked_about_first() {
    let mut cockpit = at_runs();
    assert_eq!(press(&mut cockpit, "s"), []);
    assert!(screen(&mut cockpit, 80, 24).contains("stop run a?"));
    assert_eq!(press(&mut cockpit, "n"), []);
    assert_eq!(press(&mut cockpit, "Sy"), [Effect::Stop { run: run("a"), now: true }]);
    assert_eq!(press(&mut cockpit, "r"), []);
    assert!(cockpit.message().unwrap().contains("drives the run already"));
    assert_eq!(press(&mut cockpit, "jjry"), [Effect::Resume(run("c"))]);

    let mut cockpit = at_task(false, 2);
    let retry = |repeat_effects| Effect::Retry { run: run("a"), task: id("check"), repeat_effects };
    assert_eq!(press(&mut cockpit, "Ry"), [retry(false)]);
    let effects = "run `a` did this already:\n  check: rm -rf x".to_owned();
    cockpit.step(Input::WouldRepeat { run: run("a"), task: id("check"), effects });
    assert!(screen(&mut cockpit, 80, 24).contains("rm -rf x"));
    assert_eq!(press(&mut cockpit, "y"), [retry(true)]);

    let mut cockpit = at_task(true, 2);
    assert_eq!(press(&mut cockpit, "R"), []);
    assert!(cockpit.message().is_some());
    assert_eq!(press(&mut cockpit, "y"), []);
}

#[test]
fn words_go_to_the_chosen_task_that_can_still_hear_them() {
    let mut cockpit = at_task(true, 1);
    press(&mut cockpit, "gmind the gap? q");
    assert_eq!(
        key(&mut cockpit, Key::Enter),
        [Effect::Guide { run: run("a"), task: Some(id("write")), text: "mind the gap? q".to_owned() }]
    );
    let mut cockpit = at_task(true, 0);
    press(&mut cockpit, "g");
    assert!(cockpit.message().unwrap().contains("`read` has ended"), "{:?}", cockpit.message());
    let mut cockpit = at_runs();
    press(&mut cockpit, "gfaster");
    assert_eq!(
        key(&mut cockpit, Key::Enter),
        [Effect::Guide { run: run("a"), task: None, text: "faster".to_owned() }]
    );
    press(&mut cockpit, "g");
    assert_eq!(key(&mut cockpit, Key::Enter), [], "nothing was typed");
}

#[test]
fn a_step_of_a_run_may_look_and_decides_nothing() {
    let mut cockpit = Cockpit::new("s", Permission::Refused("it does not decide for people".into()), NOON);
    cockpit.step(Input::Runs(runs()));
    later(&mut cockpit, 5_000);
    for keys in ["ja", "s", "S", "r", "g"] {
        assert_eq!(press(&mut cockpit, keys), [], "{keys}");
        assert!(cockpit.message().is_some(), "{keys}");
        assert_eq!(
            key(&mut cockpit, Key::Enter).iter().filter(|effect| !matches!(effect, Effect::Look(_))).count(),
            0
        );
        cockpit.step(Input::Key(Key::Char('1')));
    }
    assert!(screen(&mut cockpit, 80, 24).contains("workflow-a"));
}

#[test]
fn places_are_opened_and_left_and_what_is_read_follows() {
    let mut cockpit = at_runs();
    let focus = |name: &str, task: Option<&str>| Focus {
        run: Some((run(name), task.map(id))),
        capacity: false,
        generation: 1,
    };
    assert_eq!(key(&mut cockpit, Key::Enter), [Effect::Look(focus("a", None))]);
    cockpit.step(Input::Run(Box::new(run_seen("a", true, rows()))));
    assert_eq!(key(&mut cockpit, Key::Enter), [Effect::Look(focus("a", Some("read")))]);
    assert_eq!(press(&mut cockpit, "q"), [Effect::Look(focus("a", None))]);
    assert_eq!(cockpit.place(), &Place::Run(run("a")));
    key(&mut cockpit, Key::Escape);
    assert_eq!(cockpit.place(), &Place::Runs);
    assert_eq!(press(&mut cockpit, "3"), [Effect::Look(Focus { run: None, capacity: true, generation: 1 })]);
    assert_eq!(press(&mut cockpit, "q"), [Effect::Quit]);
    press(&mut cockpit, "1a?");
    assert_eq!(key(&mut cockpit, Key::Leave), [Effect::Quit], "whatever is open");
}

#[test]
fn the_chosen_row_stays_with_its_run() {
    let mut cockpit = at_runs();
    press(&mut cockpit, "jj");
    let mut seen = runs();
    seen.runs.insert(0, line("new", convoke_model::RunStatus::Running, 0));
    cockpit.step(Input::Runs(seen));
    assert_eq!(press(&mut cockpit, "ry"), [Effect::Resume(run("c"))]);
}

#[test]
fn tasks_are_narrowed_by_standing_and_by_word() {
    let mut cockpit = at_task(true, 0);
    press(&mut cockpit, "fff");
    let failed = screen(&mut cockpit, 80, 24);
    assert!(
        failed.contains("1 task (failed)") && failed.contains("check") && !failed.contains("write"),
        "{failed}"
    );
    press(&mut cockpit, "ff/IT");
    let found = screen(&mut cockpit, 80, 24);
    assert!(
        found.contains("2 tasks (all, with `IT`)") && found.contains("write") && found.contains("sum"),
        "{found}"
    );
    key(&mut cockpit, Key::Escape);
    assert!(screen(&mut cockpit, 80, 24).contains("5 tasks"));
}

#[test]
fn a_pasted_text_is_words_and_no_keys() {
    let mut cockpit = at_runs();
    later(&mut cockpit, 5_000);
    assert_eq!(cockpit.step(Input::Paste("Sy\nja\n".to_owned())), []);
    assert!(cockpit.message().unwrap().contains("pasted") && cockpit.place() == &Place::Runs);
    press(&mut cockpit, "g");
    cockpit.step(Input::Paste("two\nlines\n".to_owned()));
    assert_eq!(
        key(&mut cockpit, Key::Enter),
        [Effect::Guide { run: run("a"), task: None, text: "two lines".to_owned() }]
    );
}
