//! A cockpit without a terminal, with runs that no process drives.

use convoke_cockpit::draw::{Theme, draw};
use convoke_cockpit::seen::{Asked, Choice, Field, RunLine, RunSeen, RunsSeen};
use convoke_cockpit::{Cockpit, Effect, Input, Key, Permission};
use convoke_model::{RunId, RunStatus, TaskId, Timestamp, Usage};
use convoke_view::{Row, Standing};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::Duration;

pub const NOON: Timestamp = Timestamp(1_800_000_000_000_000);

pub fn cockpit() -> Cockpit {
    Cockpit::new("/home/me/.local/state/convoke", Permission::Given, NOON)
}

/// The screen as text, one line each, without blanks at their ends.
pub fn screen(cockpit: &mut Cockpit, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, cockpit, Theme { colors: false })).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

pub fn press(cockpit: &mut Cockpit, keys: &str) -> Vec<Effect> {
    keys.chars().flat_map(|key| cockpit.step(Input::Key(Key::Char(key)))).collect()
}

pub fn key(cockpit: &mut Cockpit, key: Key) -> Vec<Effect> {
    cockpit.step(Input::Key(key))
}

pub fn later(cockpit: &mut Cockpit, millis: u64) {
    cockpit.step(Input::Tick(NOON + Duration::from_millis(millis)));
}

pub fn id(task: &str) -> TaskId {
    TaskId(task.into())
}

pub fn run(name: &str) -> RunId {
    RunId(name.into())
}

pub fn line(name: &str, status: RunStatus, asks: usize) -> RunLine {
    RunLine {
        run: run(name),
        workflow: format!("workflow-{name}"),
        status,
        started: Timestamp(NOON.0 - 192_000_000),
        worked_ms: 192_000,
        last: NOON,
        live: status == RunStatus::Running,
        running: 2,
        total: 12,
        done: 5,
        failed: 1,
        asks,
        cost: Some("$0.42".to_owned()),
        problem: None,
    }
}

pub fn choice(value: &str, label: &str) -> Choice {
    Choice {
        value: value.to_owned(),
        label: label.to_owned(),
        then: Some(format!("{value} follows")),
        prompt_for: None,
    }
}

pub fn asked(name: &str, task: &str) -> Asked {
    Asked {
        run: run(name),
        workflow: format!("workflow-{name}"),
        task: id(task),
        id: format!("{task}~1"),
        shown: format!("hash of {task}"),
        kind: "choice".to_owned(),
        text: "May the report be sent to all 300 customers?".to_owned(),
        options: vec![choice("yes", "Send it"), choice("no", "Keep it")],
        fields: Vec::new(),
        opened: Timestamp(NOON.0 - 65_000_000),
        until: None,
        last_steps: vec!["draft ended well".to_owned()],
        alike: "workflow/choice/gate".to_owned(),
    }
}

pub fn field(id: &str, choices: &[&str], required: bool) -> Field {
    let choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
    Field { id: id.to_owned(), text: format!("which {id}?"), choices, default: None, required }
}

/// Three runs, one of which asks.
pub fn runs() -> RunsSeen {
    RunsSeen {
        runs: vec![
            line("a", RunStatus::Running, 0),
            line("b", RunStatus::Parked, 1),
            line("c", RunStatus::Failed, 0),
        ],
        questions: vec![asked("b", "gate")],
        ..RunsSeen::default()
    }
}

pub fn row(task: &str, standing: Standing, at: u64) -> Row {
    Row {
        task: id(task),
        changed: at,
        standing,
        since: Timestamp(NOON.0 - 4_000_000),
        started: Some(Timestamp(NOON.0 - 4_000_000)),
        ended: standing.is_end().then_some(NOON),
        queued: Duration::ZERO,
        ran: Duration::ZERO,
        attempts: 1,
        retries: Vec::new(),
        failure: (standing == Standing::Failed).then(|| "the service said no".to_owned()),
        usage: Usage::default(),
        waits: None,
        last_sign: NOON,
        aside: false,
        gone: false,
    }
}

pub fn run_seen(name: &str, live: bool, rows: Vec<Row>) -> RunSeen {
    RunSeen {
        run: run(name),
        workflow: format!("workflow-{name}"),
        status: if live { RunStatus::Running } else { RunStatus::Failed },
        live,
        worked: "3 m 12 s".to_owned(),
        ended: 5,
        total: 12,
        failed: 1,
        running: 2,
        eta: Some("2 m 10 s".to_owned()),
        spent: Some("$0.42 of $1.00".to_owned()),
        notice: None,
        problem: None,
        rows: rows.into_iter().enumerate().collect(),
        is_whole: true,
        doing: vec![(id("write"), "writes …and so the third paragraph".to_owned())],
    }
}

/// Some tasks of each kind.
pub fn rows() -> Vec<Row> {
    vec![
        row("read", Standing::Done, 1),
        row("write", Standing::Running, 2),
        row("check", Standing::Failed, 3),
        row("items[a b]/sum", Standing::Waiting, 4),
        row("gate", Standing::Asks, 5),
    ]
}
