use super::*;
use convoke_model::{ChildKind, ChildSpec, Event, JsonText, MergeStrategy};
use convoke_testkit::events::{attempt, done, fan_out, group, id, stamp, started};
use convoke_view::{Doing, Outline};

const OFF: Paint = Paint::off();

fn outline(steps: &[(&str, &[&str])]) -> Outline {
    let steps = steps.iter().map(|(task, needs)| (id(task), needs.iter().map(|need| id(need)).collect()));
    Outline { steps: steps.collect(), ..Outline::default() }
}

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
        "w · 3.5 s · 1/3 done · 1 running · 15 tokens",
        "  ▸ a                                2.5 s",
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
    assert_eq!(lines.len(), 2, "items of one group are one row: {lines:#?}");
    assert!(
        lines[1].contains("▸ g ") && lines[1].contains("500/10000, 500 running, oldest 16 m"),
        "{lines:#?}"
    );
}

#[test]
fn a_narrow_window_shows_whole_words() {
    let mut events = vec![started(), group("g"), fan_out("g", 40)];
    events.extend((0..20).map(|i| attempt(&format!("g[{i}]"), 1)));
    events.extend((0..10).map(|i| done(&format!("g[{i}]"))));
    let events = stamp(events);
    let now = events.last().unwrap().at;
    let lines = block(&State::fold(Outline::default(), &events), now, 40, 6, OFF);
    assert_eq!(lines, ["w · 32.0 s · 10/41 done · 10 running", "  ▸ g   10/40, 10 running, oldest 19.0 s"]);
}

#[test]
fn what_does_not_fit_is_counted() {
    let mut events = vec![started()];
    events.extend((0..40).map(|i| attempt(&format!("a{i}"), 1)));
    let lines = view(Outline::default(), events, 12);
    assert!(lines.len() <= 12, "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("… 36 more running")), "{lines:#?}");
}

#[test]
fn a_task_is_told_in_its_own_words_with_its_tool_and_its_tokens() {
    let item = serde_json::json!({"description": "find out what a ticket from A to B costs on a Sunday"});
    let item = ChildKind::Item(Box::new(serde_json::from_value(item).unwrap()));
    let role = ChildKind::Role { role: convoke_model::Role::Execute, note: None };
    let asks = |task: &str, kind| Event::ChildrenSpawned {
        task: id(task),
        children: vec![ChildSpec::new("1", kind)],
    };
    let events = vec![started(), asks("goal", item), asks("goal/1", role), attempt("goal/1/execute[1]", 1)];
    let events = stamp(events);
    let mut state = State::fold(Outline::default(), &events);
    let task = || id("goal/1/execute[1]");
    state.activity.take(Doing::Says { task: task(), text: "I look at\nthe \x1b[2Jtimetable".into() });
    state.activity.take(Doing::Calls { task: task(), tool: "web_search".into() });
    let shown = |width| block(&state, events.last().unwrap().at, width, 20, OFF);
    let wide = shown(140);
    assert!(wide[0].contains("1 running · about 7 tokens"), "{wide:#?}");
    let row = &wide[1];
    for part in
        ["▸ find out what a ticket from A to B", "calls web_search", "about 7 tokens", "\\u{1b}[2Jtimetable"]
    {
        assert!(row.contains(part), "no {part:?} in {row:?}");
    }
    let narrow = &shown(60)[1];
    assert!(narrow.contains("find out w") && narrow.contains("calls web_search"), "{narrow:?}");
}

#[test]
fn a_long_path_gives_way_to_how_it_stands() {
    let deep = "first/second/third/fourth/fifth/sixth/seventh/the-last-one";
    let events = vec![started(), Event::Blocked { task: id(deep), on: "model:openai/gpt".into() }];
    let lines = view(Outline::default(), events, 10);
    assert!(lines[1].ends_with("waits for model:openai/gpt"), "{lines:#?}");
    assert!(lines[1].contains("…/fifth/sixth/seventh/the-last-one"), "{lines:#?}");
}

#[test]
fn totals_stay_whatever_the_workflow_is_called() {
    let mut events = stamp(vec![started(), attempt("a", 1), done("a"), attempt("b", 1)]);
    let Event::RunStarted(first) = &mut events[0].event else { panic!("the first event") };
    first.workflow = "a workflow with a name that is much longer than any window should be".into();
    let now = events.last().unwrap().at;
    let lines = block(&State::fold(Outline::default(), &events), now, 60, 10, OFF);
    assert!(lines[0].starts_with("a workflow") && lines[0].ends_with("1 running · 15 tokens"), "{lines:#?}");
}

#[test]
fn names_with_slashes_are_shown_as_written() {
    let task = convoke_model::TaskId::new(None, "reports/2024 [draft]", None, 1);
    let lines = view(Outline::default(), vec![started(), attempt(&task.0, 1)], 10);
    assert!(lines[1].contains("▸ reports/2024 [draft] "), "{lines:#?}");
}

#[test]
fn lines_are_no_wider_than_the_window() {
    for long in ["x".repeat(300), "漢".repeat(90), "a/".repeat(90)] {
        let gate = Event::GateOpened {
            task: id(&long),
            question: 1,
            ask: convoke_model::Payload::Gathered,
            shown: None,
            until: None,
        };
        for event in [attempt(&long, 1), group(&long), fan_out(&long, 9), gate] {
            let lines = view(outline(&[(&long, &[]), ("b", &[&long])]), vec![started(), event], 9);
            assert!(lines.iter().all(|line| crate::escape::columns(line) <= 72), "{lines:#?}");
        }
    }
}

#[test]
fn a_merge_shows_how_its_text_begins() {
    let began = Event::MergeStarted {
        task: id("s"),
        strategy: MergeStrategy::Progressive,
        sources: vec![],
        missing: vec![],
        closed: false,
    };
    let child = |key: &str| ChildSpec::new(key, ChildKind::Merge { of: vec![] });
    let spawned = |key: &str| Event::ChildrenSpawned { task: id("s"), children: vec![child(key)] };
    let first = [attempt("s/merge[1]", 1), done("s/merge[1]")];
    let events = [vec![started(), began, spawned("1")], first.to_vec(), vec![spawned("2")]].concat();
    let events = stamp(events);
    let mut state = State::fold(Outline::default(), &events);
    state.partial_merges.read_heads(&|_| Some(JsonText::of("the sun\nis hot")));
    let lines = block(&state, events.last().unwrap().at, 100, 20, OFF);
    assert!(
        lines.iter().any(|line| line.contains("▪ s ") && line.ends_with("1/2  the sun is hot")),
        "{lines:#?}"
    );
}
