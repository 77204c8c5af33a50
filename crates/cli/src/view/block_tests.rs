use super::super::Outline;
use super::super::state::tests::{attempt, done, fan_out, group, id, outline, stamp, started};
use super::*;
use convoke_model::{About, Event, Inquiry, JsonText};

const OFF: Paint = Paint::off();

fn view(outline: Outline, events: Vec<Event>, height: usize) -> Vec<String> {
    let events = stamp(events);
    let now = events.last().unwrap().at + Duration::from_millis(500);
    block(&State::fold(outline, &events), now, 72, height, OFF)
}

#[test]
fn says_what_runs_since_when_and_what_waits_for_what() {
    let outline = outline(&[("a", &[]), ("b", &[]), ("c", &["a", "b"])]);
    let lines = view(outline, vec![started(), attempt("a", 1), attempt("b", 1), done("b")], 20);
    let expected = [
        "w · 3.5 s · 1/3 done · 15 tokens",
        "  ▸ a                                          2.5 s",
        "  ◦ c                                waits for a",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn ten_thousand_tasks_fit_on_the_screen() {
    let mut events = vec![started(), group("g"), fan_out("g", 10_000)];
    events.extend((0..1_000).map(|i| attempt(&format!("g[{i}]"), 1)));
    events.extend((0..500).map(|i| done(&format!("g[{i}]"))));
    let lines = view(Outline::default(), events, 12);
    assert!(lines.len() <= 12, "{lines:#?}");
    assert!(lines[0].contains("500/10.0k done"), "{}", lines[0]);
    assert!(lines.iter().any(|line| line.contains("… 495 more running")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("500/10000")), "{lines:#?}");
}

#[test]
fn lines_are_no_wider_than_the_window() {
    let long = "x".repeat(300);
    let lines = view(Outline::default(), vec![started(), attempt(&long, 1)], 5);
    assert!(lines.iter().all(|line| line.chars().count() <= 72));
}

#[test]
fn a_merge_shows_how_its_text_begins() {
    let began = Event::MergeStarted {
        task: id("s"),
        strategy: "progressive".into(),
        sources: vec![],
        missing: vec![],
        closed: false,
    };
    let inquiry = |key: &str| Inquiry { key: key.into(), about: About::Merge { of: vec![] } };
    let asked = |key: &str| Event::Asked { task: id("s"), questions: vec![inquiry(key)] };
    let first = [attempt("s/merge[1]", 1), done("s/merge[1]")];
    let events = [vec![started(), began, asked("1")], first.to_vec(), vec![asked("2")]].concat();
    let events = stamp(events);
    let mut state = State::fold(Outline::default(), &events);
    state.growing.read_heads(&|_| Some(JsonText::of("the sun\nis hot")));
    let lines = block(&state, events.last().unwrap().at, 100, 20, OFF);
    assert!(
        lines.iter().any(|line| line.contains("▪ s ") && line.ends_with("1/2  the sun is hot")),
        "{lines:#?}"
    );
}
