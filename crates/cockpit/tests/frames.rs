//! Frames, on 80 columns by 24 lines and on less.

use crate::support::*;
use convoke_cockpit::seen::{CapacitySeen, LimitLine, RunsSeen, Section, TaskSeen};
use convoke_cockpit::{Input, Key};
use convoke_model::{RunStatus, is_control};
use convoke_view::Standing;

#[test]
fn all_runs() {
    let mut cockpit = cockpit();
    cockpit.step(Input::Runs(runs()));
    insta::assert_snapshot!(screen(&mut cockpit, 80, 24));
}

#[test]
fn the_inbox_with_what_is_asked() {
    let mut cockpit = cockpit();
    let mut seen = runs();
    seen.questions.push(asked("c", "other"));
    cockpit.step(Input::Runs(seen));
    press(&mut cockpit, "2");
    insta::assert_snapshot!(screen(&mut cockpit, 80, 24));
}

#[test]
fn a_question_with_its_options() {
    let mut cockpit = cockpit();
    cockpit.step(Input::Runs(runs()));
    press(&mut cockpit, "ja");
    insta::assert_snapshot!(screen(&mut cockpit, 80, 24));
}

#[test]
fn one_run_and_its_tasks() {
    let mut cockpit = cockpit();
    cockpit.step(Input::Runs(runs()));
    key(&mut cockpit, Key::Enter);
    cockpit.step(Input::Run(Box::new(run_seen("a", true, rows()))));
    insta::assert_snapshot!(screen(&mut cockpit, 80, 24));
}

#[test]
fn a_task_whose_answer_grows_is_followed() {
    let mut cockpit = cockpit();
    cockpit.step(Input::Runs(runs()));
    key(&mut cockpit, Key::Enter);
    cockpit.step(Input::Run(Box::new(run_seen("a", true, rows()))));
    press(&mut cockpit, "j");
    key(&mut cockpit, Key::Enter);
    let text: String = (1..=60).map(|line| format!("line {line} of what it says\n")).collect();
    let seen = |text: &str| {
        Input::Task(Box::new(TaskSeen {
            run: run("a"),
            task: id("write"),
            facts: vec![("state".to_owned(), "running".to_owned())],
            sections: vec![Section { name: "says".to_owned(), text: text.to_owned(), grows: true }],
        }))
    };
    cockpit.step(seen(&text));
    let followed = screen(&mut cockpit, 80, 24);
    assert!(followed.contains("line 60 of") && followed.contains("following"), "{followed}");
    cockpit.step(seen(&format!("{text}and one more")));
    assert!(screen(&mut cockpit, 80, 24).contains("and one more"));
    press(&mut cockpit, "k");
    cockpit.step(seen(&format!("{text}and one more\nand another")));
    let stays = screen(&mut cockpit, 80, 24);
    assert!(!stays.contains("and another") && !stays.contains("following"), "{stays}");
    press(&mut cockpit, "f");
    assert!(screen(&mut cockpit, 80, 24).contains("and another"));
}

#[test]
fn capacity_with_holders_and_budgets() {
    let mut cockpit = cockpit();
    let limit = |name: &str, used: &str, limit: &str, permille: u16, queued: u32| LimitLine {
        name: name.to_owned(),
        limit: limit.to_owned(),
        used: used.to_owned(),
        permille: Some(permille),
        queued,
        state: "open".to_owned(),
        origin: "learned".to_owned(),
        holders: vec!["8 by process 4711, run a (workflow-a)".to_owned()],
        ..LimitLine::default()
    };
    let limits = vec![
        limit("machine", "8", "8", 1_000, 3),
        limit("model openai/gpt-5.2", "5", "12", 416, 0),
        limit("budget of the day (money)", "$4.12", "$5.00", 824, 0),
    ];
    press(&mut cockpit, "3");
    cockpit.step(Input::Capacity(CapacitySeen { limits, ..CapacitySeen::default() }));
    insta::assert_snapshot!(screen(&mut cockpit, 80, 24));
}

#[test]
fn the_keys() {
    let mut cockpit = cockpit();
    press(&mut cockpit, "?");
    insta::assert_snapshot!(screen(&mut cockpit, 80, 24));
    key(&mut cockpit, Key::Escape);
    assert!(!screen(&mut cockpit, 80, 24).contains("keys ─"));
}

#[test]
fn nothing_yet_and_what_cannot_be_read_say_so() {
    let mut cockpit = cockpit();
    assert!(screen(&mut cockpit, 80, 24).contains("looking"));
    cockpit.step(Input::Runs(RunsSeen::default()));
    assert!(screen(&mut cockpit, 80, 24).contains("no run yet"));
    let problem = Some("the state folder `/root/x` cannot be opened: permission denied".to_owned());
    cockpit.step(Input::Runs(RunsSeen { problem, ..RunsSeen::default() }));
    assert!(screen(&mut cockpit, 80, 24).contains("! the runs cannot be read: the state folder"));
    // One damaged journal is a word in its line; the others are as they are.
    let mut seen = runs();
    seen.runs[0].problem = Some("record 12 does not verify".to_owned());
    cockpit.step(Input::Runs(seen));
    let shown = screen(&mut cockpit, 120, 24);
    assert!(shown.contains("record 12 does not verify") && shown.contains("workflow-c"), "{shown}");
}

#[test]
fn no_control_character_reaches_the_screen() {
    let hostile = "x\x1b]0;t\x07\u{9b}2J\u{202e}y\r\n\tz\x7f";
    let mut cockpit = cockpit();
    let mut seen = runs();
    seen.runs[0].workflow = hostile.to_owned();
    seen.runs[1].problem = Some(hostile.to_owned());
    seen.questions[0].text = hostile.repeat(3);
    seen.questions[0].task = id(hostile);
    seen.questions[0].options[0].label = hostile.to_owned();
    seen.problem = Some(hostile.to_owned());
    cockpit.step(Input::Runs(seen));
    let mut task = row(hostile, Standing::Failed, 1);
    task.failure = Some(hostile.to_owned());
    let mut open = run_seen("a", true, vec![task]);
    open.notice = Some(hostile.to_owned());
    open.workflow = hostile.to_owned();
    for keys in ["", "2", "2\n", "1\n", "1\n\n"] {
        for pressed in keys.chars() {
            match pressed {
                '\n' => key(&mut cockpit, Key::Enter),
                other => press(&mut cockpit, &other.to_string()),
            };
            cockpit.step(Input::Run(Box::new(open.clone())));
        }
        let shown = screen(&mut cockpit, 80, 24);
        assert!(!shown.chars().any(|c| c != '\n' && is_control(c)), "{shown:?}");
        key(&mut cockpit, Key::Escape);
    }
}

#[test]
fn every_size_is_drawn() {
    let mut cockpit = cockpit();
    cockpit.step(Input::Runs(runs()));
    for keys in ["1", "2", "3", "?"] {
        for (width, height) in [(1, 1), (40, 8), (39, 9), (80, 24), (200, 60), (41, 200), (300, 8)] {
            press(&mut cockpit, keys);
            screen(&mut cockpit, width, height);
        }
        key(&mut cockpit, Key::Escape);
    }
    assert!(screen(&mut cockpit, 30, 6).contains("too small"));
    let narrow = screen(&mut cockpit, 60, 10);
    assert!(narrow.split('\n').count() == 10, "{narrow}");
    assert_eq!(RunStatus::Failed.word(), "failed");
}
