//! `diff` names the right cause: one thing is planted in one of two runs, among timing that differs.
//!
//! Every pair follows from a number. `CONVOKE_COMPARISONS` says how many rounds of timing each plant is judged in (1 without it).
#![allow(clippy::print_stderr, reason = "misses are told")]

mod kit;

use convoke_engine::compare::{Comparison, Kind};
use convoke_model::Class;
use kit::{GOAL, MERGE, PIPELINE, RACE, ROUTES, Setup, TOOLS, WORKFLOW, compared};
use serde_json::json;

/// What is planted, and what `diff` must name first.
struct Plant {
    name: String,
    old: Setup,
    new: Setup,
    kind: Kind,
    /// The task or step; empty for the run as a whole.
    task: &'static str,
}

fn plant(name: &str, old: &Setup, new: Setup, kind: Kind, task: &'static str) -> Plant {
    Plant { name: name.to_owned(), old: old.clone(), new, kind, task }
}

fn changed(base: &Setup, change: impl FnOnce(&mut Setup)) -> Setup {
    let mut other = base.clone();
    change(&mut other);
    other
}

fn in_workflow(all: &mut Vec<Plant>) {
    let base = Setup::of(WORKFLOW);
    let mut text = |name: &str, old: &str, new: &str, kind, task| {
        all.push(plant(&format!("workflow: {name}"), &base, base.with(old, new), kind, task));
    };
    text("prompt of a member", "a about", "a, briefly, about", Kind::Prompt, "a");
    text("prompt of another member", "'b stays'", "'b leaves'", Kind::Prompt, "b");
    text("prompt of items", "one {{ it }} of", "one {{ it }} out of", Kind::Prompt, "each");
    text("prompt of the last step", "'last ", "'at last ", Kind::Prompt, "last");
    text("prompt in a sub-workflow", "'first of", "'first for", Kind::Prompt, "sub/first");
    text("second prompt in a sub-workflow", "'second of", "'second for", Kind::Prompt, "sub/second");
    text("prompt of an agent with tools", "'look at", "'look well at", Kind::Prompt, "tooled");
    text("system prompt", "name: b, prompt", "name: b, system_prompt: 'be kind', prompt", Kind::Prompt, "b");
    text("model of a member", "topic }}', model: m1", "topic }}', model: m2", Kind::Model, "a");
    text("model of another", "'b stays', model: m1", "'b stays', model: m9", Kind::Model, "b");
    text("model where none was", "name: last, prompt", "name: last, model: m7, prompt", Kind::Model, "last");
    text("concurrency of a group", "max_concurrent: 3}]", "max_concurrent: 1}]", Kind::Limit, "both");
    text(
        "concurrency of a fan-out",
        "as: it, max_concurrent: 3",
        "as: it, max_concurrent: 2",
        Kind::Limit,
        "each",
    );
    text("timeout", "timeout_seconds: 900", "timeout_seconds: 1", Kind::Limit, "c");
    text("timeout without effect", "timeout_seconds: 900", "timeout_seconds: 800", Kind::Limit, "c");
    text("iterations", "max_iterations: 1000", "max_iterations: 5", Kind::Limit, "");
    text("command", "command: make", "command: ninja", Kind::Plan, "build");
    text("items", "items: [x, y, z]", "items: [x, y, w]", Kind::Plan, "each");
    let mut set = |name: &str, change: &dyn Fn(&mut Setup), kind, task| {
        let new = changed(&base, |setup| change(setup));
        all.push(plant(&format!("workflow: {name}"), &base, new, kind, task));
    };
    for task in [
        "a",
        "b",
        "both/a",
        "both/b",
        "each[x]",
        "each[0]",
        "each[1]",
        "last",
        "sub/first",
        "sub/second",
        "tooled",
    ] {
        set(&format!("answer of {task}"), &|setup| setup.answers = vec![task], Kind::Answer, task);
    }
    set("result of a command", &|setup| setup.answers = vec!["build"], Kind::ToolResult, "build");
    set("result of a tool on the way", &|setup| setup.tool_gave = "30 degrees", Kind::ToolResult, "tooled");
    set("input", &|setup| setup.inputs = json!({"topic": "snow"}), Kind::Input, "");
    for task in ["both/a", "both/c"] {
        for class in [Class::RateLimit, Class::Timeout, Class::Transient] {
            set(
                &format!("{class} of {task}"),
                &|setup| setup.faults = vec![(task, 1, class)],
                Kind::Fault,
                task,
            );
        }
    }
    set(
        "concurrency of the run",
        &|setup| setup.configuration = Some(("run.max_concurrency", "2")),
        Kind::Limit,
        "",
    );
    set("budget of the run", &|setup| setup.configuration = Some(("budget.max_cost", "2")), Kind::Limit, "");
    for cut in [4, 9, 12] {
        set(&format!("cut off after {cut}"), &|setup| setup.cut = Some(cut), Kind::Unfinished, "");
        set(&format!("stopped after {cut}"), &|setup| setup.stop = Some(cut), Kind::Stop, "");
    }
    let failing = changed(&base, |setup| setup.faults = vec![("both/a", 2, Class::RateLimit)]);
    let fewer = failing.with("retry: {max_attempts: 3", "retry: {max_attempts: 2");
    all.push(plant("workflow: retries", &failing, fewer, Kind::Limit, "a"));
    let failing = changed(&base, |setup| setup.faults = vec![("both/c", 1, Class::Transient)]);
    let once = failing.with("900, retry: {max_attempts: 3", "900, retry: {max_attempts: 1");
    all.push(plant("workflow: retries of another", &failing, once, Kind::Limit, "c"));
}

fn in_routes(all: &mut Vec<Plant>) {
    let base = Setup::of(ROUTES);
    let mut text = |name: &str, old: &str, new: &str, kind, task| {
        all.push(plant(&format!("routes: {name}"), &base, base.with(old, new), kind, task));
    };
    text("prompt", "'draft ", "'a draft of ", Kind::Prompt, "draft");
    text("prompt in a loop", "'review ", "'look over ", Kind::Prompt, "review");
    text("question at a gate", "'go?'", "'shall we go?'", Kind::Prompt, "ask");
    text("model", "model: m1", "model: m2", Kind::Model, "draft");
    text("condition", "!= 'x'", "== 'x'", Kind::Plan, "draft");
    text("rounds", "iteration < 3", "iteration < 4", Kind::Plan, "review");
    let mut set = |name: &str, change: &dyn Fn(&mut Setup), kind, task| {
        let new = changed(&base, |setup| change(setup));
        all.push(plant(&format!("routes: {name}"), &base, new, kind, task));
    };
    set("answer at a gate", &|setup| setup.choice = "n", Kind::Person, "ask");
    for task in ["draft", "review", "review#2", "publish"] {
        set(&format!("answer of {task}"), &|setup| setup.answers = vec![task], Kind::Answer, task);
    }
    for task in ["draft", "review", "publish"] {
        set(
            &format!("fault of {task}"),
            &|setup| setup.faults = vec![(task, 1, Class::Transient)],
            Kind::Fault,
            task,
        );
    }
    set("input", &|setup| setup.inputs = json!({"topic": "hail"}), Kind::Input, "");
}

fn in_race(all: &mut Vec<Plant>) {
    let racing = |first| changed(&Setup::of(RACE), |setup| setup.first = Some(first));
    for (one, other) in [("a", "b"), ("b", "a"), ("a", "c"), ("c", "b"), ("b", "c"), ("c", "a")] {
        let name = format!("race: {other} wins instead of {one}");
        all.push(plant(&name, &racing(one), racing(other), Kind::Order, "pick"));
    }
    for (one, task) in [("a", "pick"), ("b", "after")] {
        let new = changed(&racing(one), |setup| setup.answers = vec![task]);
        all.push(plant(&format!("race: answer of {task}"), &racing(one), new, Kind::Answer, task));
    }
    for one in ["a", "b"] {
        let new = changed(&racing(one), |setup| setup.faults = vec![(one, 1, Class::RateLimit)]);
        all.push(plant(&format!("race: {one} is refused and loses"), &racing(one), new, Kind::Fault, one));
    }
    let new = racing("a").with("join: any", "join: all");
    all.push(plant("race: join", &racing("a"), new, Kind::Plan, "pick"));
}

fn in_goal(all: &mut Vec<Plant>) {
    let base = Setup::of(GOAL);
    let mut set = |name: &str, change: &dyn Fn(&mut Setup), kind, task| {
        let new = changed(&base, |setup| change(setup));
        all.push(plant(&format!("goal: {name}"), &base, new, kind, task));
    };
    for task in
        ["g/1/execute[1]", "g/2/1/execute[1]", "g/2/2/execute[1]", "g/2/4/execute[1]", "g/3/execute[1]"]
    {
        set(&format!("answer of {task}"), &|setup| setup.answers = vec![task], Kind::Answer, task);
        set(
            &format!("fault of {task}"),
            &|setup| setup.faults = vec![(task, 1, Class::Transient)],
            Kind::Fault,
            task,
        );
    }
    set("input", &|setup| setup.inputs = json!({"topic": "snow"}), Kind::Input, "");
    set("guidance", &|setup| setup.guidance = Some("be brief"), Kind::Person, "");
    let words = base.with("write the report", "write the whole report");
    all.push(plant("goal: words", &base, words, Kind::Prompt, "g"));
    let policies = base.with("fatal: [decompose, fail]", "fatal: [fail]");
    all.push(plant("goal: policy", &base, policies, Kind::Limit, "g"));
}

fn in_pipeline(all: &mut Vec<Plant>) {
    let base = changed(&Setup::of(PIPELINE), |setup| setup.inputs = json!({}));
    let mut set = |name: &str, change: &dyn Fn(&mut Setup), kind, task| {
        let new = changed(&base, |setup| change(setup));
        all.push(plant(&format!("pipeline: {name}"), &base, new, kind, task));
    };
    for task in ["plan/try[1]", "build/try[1]", "docs/try[1]", "release/try[1]"] {
        set(&format!("answer of {task}"), &|setup| setup.answers = vec![task], Kind::Answer, task);
    }
    for task in ["build/try[1]", "docs/try[1]"] {
        set(
            &format!("fault of {task}"),
            &|setup| setup.faults = vec![(task, 1, Class::Transient)],
            Kind::Fault,
            task,
        );
    }
    let persona = base.with("You are p.", "You are the new p.");
    all.push(plant("pipeline: persona", &base, persona, Kind::Prompt, "plan"));
    let persona = base.with("You are r.", "You are the new r.");
    all.push(plant("pipeline: last persona", &base, persona, Kind::Prompt, "release"));
}

fn in_merge(all: &mut Vec<Plant>) {
    let base = Setup::of(MERGE);
    for task in ["a[0]", "a[3]", "a[5]", "s/merge[1.0]", "s/merge[1.1]", "end"] {
        let new = changed(&base, |setup| setup.answers = vec![task]);
        all.push(plant(&format!("merge: answer of {task}"), &base, new, Kind::Answer, task));
    }
    let prompt = base.with("'say {{ n }}'", "'say only {{ n }}'");
    all.push(plant("merge: prompt of items", &base, prompt, Kind::Prompt, "a"));
    let strategy = base.with("ratio: 2", "ratio: 3");
    all.push(plant("merge: ratio", &base, strategy, Kind::Plan, "s"));
    let fault = changed(&base, |setup| setup.faults = vec![("a[2]", 1, Class::RateLimit)]);
    all.push(plant("merge: fault of an item", &base, fault, Kind::Fault, "a[2]"));
    let arriving = Setup::of(&MERGE.replace("strategy: hierarchical, ratio: 2", "strategy: progressive"));
    let racing = |first| changed(&arriving, |setup| setup.first = Some(first));
    for (one, other) in [("a[0]", "a[5]"), ("a[4]", "a[1]"), ("a[2]", "a[3]")] {
        let name = format!("merge: {other} arrives instead of {one}");
        all.push(plant(&name, &racing(one), racing(other), Kind::Order, "s"));
    }
}

fn in_tools(all: &mut Vec<Plant>) {
    let base = Setup::of(TOOLS);
    for task in ["fetch", "other"] {
        let new = changed(&base, |setup| setup.answers = vec![task]);
        all.push(plant(&format!("tools: result of {task}"), &base, new, Kind::ToolResult, task));
    }
    for gave in ["nothing", "13 degrees", "12 degrees, cloudy"] {
        let new = changed(&base, |setup| setup.tool_gave = gave);
        all.push(plant(&format!("tools: a tool gave {gave}"), &base, new, Kind::ToolResult, "tooled"));
    }
    for task in ["tooled", "close"] {
        let new = changed(&base, |setup| setup.answers = vec![task]);
        all.push(plant(&format!("tools: answer of {task}"), &base, new, Kind::Answer, task));
    }
    all.push(plant("tools: arguments", &base, base.with("path: x", "path: y"), Kind::Plan, "other"));
    all.push(plant("tools: prompt", &base, base.with("'use ", "'use well "), Kind::Prompt, "tooled"));
    let fault = changed(&base, |setup| setup.faults = vec![("tooled", 1, Class::RateLimit)]);
    all.push(plant("tools: fault", &base, fault, Kind::Fault, "tooled"));
}

fn plants() -> Vec<Plant> {
    let mut all = Vec::new();
    in_workflow(&mut all);
    in_routes(&mut all);
    in_race(&mut all);
    in_goal(&mut all);
    in_pipeline(&mut all);
    in_merge(&mut all);
    in_tools(&mut all);
    // A task that the shape does not have plants nothing.
    all.retain(|plant| plant.plants_something());
    all
}

impl Plant {
    fn plants_something(&self) -> bool {
        let ran = self.old.run(1);
        let names = |task: &str| {
            ran.events.iter().any(|stamped| {
            matches!(&stamped.event, convoke_model::Event::AttemptStarted { task: other, .. } if *other.0 == *task)
        })
        };
        let faults = self.new.faults.iter().map(|(task, _, _)| *task);
        self.new.answers.iter().copied().chain(faults).all(names)
    }

    fn judge(&self, seeds: [u64; 2]) -> Result<(), String> {
        let comparison = compared(&self.old.run(seeds[0]), &self.new.run(seeds[1]));
        let first = comparison.causes.first();
        let hit =
            first.is_some_and(|first| first.kind == self.kind && is_named(first.task.as_deref(), self.task));
        match hit {
            true => Ok(()),
            false => Err(format!(
                "{} {seeds:?}: wanted {} {}, got {}",
                self.name,
                self.kind.word(),
                self.task,
                told(&comparison)
            )),
        }
    }
}

/// The cause is named by its task, or by the step that the task is an instance of.
fn is_named(told: Option<&str>, wanted: &str) -> bool {
    match told {
        None => wanted.is_empty(),
        Some(told) => {
            let told = told.trim_start_matches('$');
            told == wanted
                || (!wanted.is_empty()
                    && told.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(['[', '/', '.', '#'])))
                || told.rsplit('/').next() == Some(wanted)
        }
    }
}

fn told(comparison: &Comparison) -> String {
    let causes = comparison.causes.iter().take(4).map(|cause| {
        format!("{} {} ({})", cause.kind.word(), cause.task.as_deref().unwrap_or("-"), cause.what)
    });
    let consequences =
        comparison.consequences.iter().take(3).map(|one| format!("{:?}: {}", one.task, one.what));
    format!("{:?}, then {:?}", causes.collect::<Vec<_>>(), consequences.collect::<Vec<_>>())
}

#[test]
fn the_planted_cause_is_named_first() {
    let rounds: u64 =
        std::env::var("CONVOKE_COMPARISONS").ok().and_then(|count| count.parse().ok()).unwrap_or(1);
    let plants = plants();
    let (mut judged, mut misses) = (0, Vec::new());
    for round in 0..rounds {
        for (at, plant) in plants.iter().enumerate() {
            let seed = round * 1_000 + at as u64;
            judged += 1;
            misses.extend(plant.judge([2 * seed + 1, 2 * seed + 2]).err());
        }
    }
    let named = judged - misses.len();
    eprintln!("{named} of {judged} planted causes are named first");
    misses.iter().for_each(|miss| eprintln!("missed: {miss}"));
    assert!(plants.len() >= 100, "{} plants", plants.len());
    assert!(named * 100 >= judged * 95, "{named} of {judged}\n{}", misses.join("\n"));
}

#[test]
fn timing_alone_is_no_difference() {
    for text in [WORKFLOW, ROUTES, GOAL, PIPELINE, MERGE, TOOLS] {
        for seed in 1..12 {
            let setup = changed(&Setup::of(text), |setup| {
                if text == PIPELINE {
                    setup.inputs = json!({});
                }
            });
            let comparison = compared(&setup.run(seed), &setup.run(seed + 100));
            // Prompts of phases tell what has happened in their pipeline so far: there the order itself is a difference.
            let told_by_order =
                text == PIPELINE && comparison.causes.iter().all(|one| one.kind == Kind::Order);
            assert!(comparison.equal || told_by_order, "{text}{}", told(&comparison));
        }
    }
}

#[test]
fn what_follows_from_a_cause_is_no_cause() {
    let base = Setup::of(WORKFLOW);
    let other = changed(&base, |setup| setup.answers = vec!["both/a"]);
    let name =
        |task: &str| base.run(1).events.iter().any(|stamped| format!("{:?}", stamped.event).contains(task));
    assert!(name("both/a"), "the shape has the task");
    let comparison = compared(&base.run(3), &other.run(4));
    assert_eq!(comparison.causes.len(), 1, "{}", told(&comparison));
    assert_eq!(comparison.causes[0].consequences, comparison.consequences.len());
    let tasks: Vec<_> = comparison.consequences.iter().filter_map(|one| one.task.as_deref()).collect();
    assert!(
        tasks.contains(&"build") && tasks.contains(&"sub/second") && tasks.contains(&"last"),
        "{tasks:?}"
    );
    assert!(!tasks.contains(&"tooled") && !tasks.iter().any(|task| task.starts_with("each[")), "{tasks:?}");
}
