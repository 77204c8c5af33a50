//! From a goal to its answer, in a simulated world: planned, spawned, recovered, rejoined and answered; cut off at every
//! commit and resumed; steered by people; and never better than its tasks.

use convoke_model::{Answer, Assignment, Class, Event, RunStatus, Stamped, TaskId, Work};
use convoke_plan::Plan;
use convoke_schedule::{Owner, Scheduler};
use convoke_testkit::{Behaviour, Ended, Random, World, plan_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(50);

type Says = fn(&str, &str) -> Result<Value, Class>;

/// Every model call takes a tick and answers what `says` gives for task and prompt.
fn model(
    says: impl Fn(&str, &str) -> Result<Value, Class> + 'static,
) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only models are asked here") };
        match says(&assignment.task.to_string(), &call.prompt) {
            Ok(value) => Behaviour::gives(TICK, value),
            Err(class) => Behaviour::fails(TICK, class),
        }
    })
}

fn goal(more: &str) -> Arc<Plan> {
    let text = format!(
        "
workflow: {{name: w, entry_point: g, runtime: {{provider: scripted}}}}
agents:
  - {{name: g, type: goal, goal: 'write the report'{more}}}
output: {{answer: '{{{{ g.output | json }}}}'}}
"
    );
    plan_of(&text, &[])
}

fn run(plan: &Arc<Plan>, limit: u32, says: Says) -> (Ended, World) {
    let mut world = World::new(plan.clone(), json!({}), limit, 1, model(says));
    (world.finish(), world)
}

fn answer(ended: &Ended) -> Value {
    ended.output.as_ref().unwrap_or_else(|| panic!("{ended:?}"))["answer"].clone()
}

fn task(id: &str, inputs: &[&str]) -> Value {
    json!({"id": id, "description": format!("do {id}"), "inputs": inputs, "tools": [], "skip_probability": 0})
}

fn large(id: &str) -> Value {
    let mut task = task(id, &[]);
    task["estimated_tokens"] = json!(50_000);
    task
}

fn impossible(id: &str) -> Value {
    let mut task = task(id, &[]);
    (task["skip_probability"], task["skip_reason"]) = (json!(95), json!("there is no network"));
    task
}

fn done(what: &str) -> Result<Value, Class> {
    let summary = format!("{what} is there");
    Ok(json!({"result": format!("<{what}>"), "summary": summary, "goal_achieved": true, "reason": "seen"}))
}

fn undone() -> Result<Value, Class> {
    Ok(json!({"result": null, "summary": "", "goal_achieved": false, "reason": "no such file"}))
}

fn final_words(message: &str) -> Result<Value, Class> {
    Ok(json!({"message": message, "next_steps": "", "issues": "", "reason": "all is there"}))
}

fn launched(world: &World) -> Vec<String> {
    world.launches.iter().map(|(task, _)| task.to_string()).collect()
}

fn routed(world: &World) -> Vec<String> {
    let word = |stamped: &Stamped| match &stamped.event {
        Event::Routed { chosen, about: Some(about), .. } => Some(format!("{chosen} {about}")),
        Event::Routed { chosen, .. } => Some(chosen.clone()),
        _ => None,
    };
    world.events().filter_map(word).collect()
}

/// Cuts the run off after every commit and resumes it: the end is the same, and nothing that had ended is done again.
fn resumes_everywhere(plan: &Arc<Plan>, limit: u32, says: Says) {
    let (expected, whole) = run(plan, limit, says);
    for cut in 1..whole.commits.len() {
        let again = resumed(plan, limit, says, &whole, cut);
        assert_eq!((again.0.status, &again.0.output), (expected.status, &expected.output), "cut after {cut}");
        let (after, before) = (by_task(&again.1), by_task(&whole));
        let differs = before.iter().find(|(task, events)| after.get(*task) != Some(events));
        assert!(
            after == before,
            "cut after {cut}: {:?}",
            differs.map(|(task, events)| (task, events, after.get(task)))
        );
    }
}

fn resumed(plan: &Arc<Plan>, limit: u32, says: Says, whole: &World, cut: usize) -> (Ended, World) {
    let left = whole.commits[..cut].to_vec();
    let finished = |stamped: &Stamped| match &stamped.event {
        Event::AttemptFinished { task, .. } => Some(task.to_string()),
        _ => None,
    };
    let done: HashSet<String> = left.iter().flatten().filter_map(finished).collect();
    let mut again = World::resumed(plan.clone(), limit, left, whole, model(says));
    let ended = again.finish();
    let twice = again.launches.iter().find(|(task, _)| done.contains(&task.to_string()));
    assert_eq!(twice, None, "cut after {cut}: done twice");
    (ended, again)
}

/// The events without times, owners, attempts that a crash cut off, and who waited for capacity.
fn told(world: &World) -> Vec<Value> {
    let lost: HashSet<(TaskId, u32)> = world
        .events()
        .filter_map(|stamped| match &stamped.event {
            Event::AttemptLost { task, attempt, .. } => Some((task.clone(), *attempt)),
            _ => None,
        })
        .collect();
    let counts = |event: &Event| match event {
        Event::RunOwned { .. } | Event::AttemptLost { .. } | Event::Blocked { .. } => false,
        Event::AttemptStarted { task, attempt, .. } => !lost.contains(&(task.clone(), *attempt)),
        _ => true,
    };
    let mut started: BTreeMap<String, u64> = BTreeMap::new();
    let events = world.events().map(|stamped| &stamped.event).filter(|event| counts(event));
    events.map(|event| without_times(serde_json::to_value(event).unwrap(), &mut started)).collect()
}

fn without_times(mut event: Value, started: &mut BTreeMap<String, u64>) -> Value {
    let (kind, body) =
        event.as_object_mut().and_then(|event| event.iter_mut().next()).expect("an event has a kind");
    if kind == "run_started" {
        *body = json!({});
    }
    if let Some(fields) = body.as_object_mut() {
        fields.remove("at");
        if fields.contains_key("attempt") {
            let count = started.entry(fields["task"].to_string()).or_default();
            *count += u64::from(kind == "attempt_started");
            fields.insert("attempt".into(), json!(count));
        }
    }
    event
}

/// The events of each task, in order: what happens side by side may change its order when time is lost.
fn by_task(world: &World) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in told(world) {
        let body = event.as_object().and_then(|event| event.values().next()).cloned().unwrap_or_default();
        let about = [&body["about"], &body["task"]]
            .into_iter()
            .find_map(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        all.entry(about).or_default().push(event);
    }
    all
}

fn assert_golden(name: &str, world: &World) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let told: String = told(world).iter().map(|event| format!("{event}\n")).collect();
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(&path, &told).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = golden.lines().zip(told.lines()).position(|(golden, told)| golden != told);
    assert!(
        golden == told,
        "{name} differs from line {differs:?} on; CONVOKE_BLESS=1 writes it anew:\n{told}"
    );
}

/// Three tasks; the second spawns four children, of which the third fails and is recovered by decomposition.
fn report(id: &str, prompt: &str) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => Ok(
            json!({"tasks": [task("sources", &[]), large("chapters"), task("title", &["sources", "chapters"])]}),
        ),
        "g/2/decompose[1]" => Ok(
            json!({"tasks": [task("one", &[]), task("two", &[]), task("three", &[]), task("four", &["one"])]}),
        ),
        "g/2/3/execute[1]" => Err(Class::Fatal),
        "g/2/3/decompose[1]" => {
            Ok(json!({"tasks": [task("first half", &[]), task("second half", &["first half"])]}))
        }
        "g/2/3/2/execute[1]" => {
            assert!(prompt.contains("<first half>"), "the input's result is in the prompt: {prompt}");
            done("second half")
        }
        "g/finalise[1]" => final_words("The report is written."),
        id => {
            let what = prompt.lines().find(|line| line.starts_with("do ")).unwrap_or(id);
            done(what.trim_start_matches("do "))
        }
    }
}

const DECOMPOSE: &str = ", policies: {fatal: [decompose, fail]}";

#[test]
fn the_golden_run_equals_its_file() {
    let plan = goal(DECOMPOSE);
    let (ended, world) = run(&plan, 4, report);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let answer = answer(&ended);
    assert_eq!(
        (&answer["message"], &answer["status"]),
        (&json!("The report is written."), &json!("succeeded"))
    );
    assert_eq!(answer["tasks"].as_array().unwrap().len(), 9);
    assert_golden("goal.jsonl", &world);
}

#[test]
fn the_golden_run_is_the_same_wherever_it_was_killed() {
    resumes_everywhere(&goal(DECOMPOSE), 4, report);
    resumes_everywhere(&goal(DECOMPOSE), 1, report);
}

#[test]
fn defect_2_nested_parents_complete_also_at_concurrency_one() {
    let (ended, world) = run(&goal(DECOMPOSE), 1, report);
    assert_eq!((ended.status, world.peak), (RunStatus::Succeeded, 1));
}

/// The same with one thing at a time: what comes after what is fixed.
fn chain(id: &str, prompt: &str) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => {
            let mut chapters = large("chapters");
            chapters["inputs"] = json!(["sources"]);
            Ok(json!({"tasks": [task("sources", &[]), chapters, task("title", &["chapters"])]}))
        }
        "g/2/decompose[1]" => {
            let one_by_one =
                [task("one", &[]), task("two", &["one"]), task("three", &["two"]), task("four", &["three"])];
            Ok(json!({ "tasks": one_by_one }))
        }
        id => report(id, prompt),
    }
}

#[test]
fn killed_anywhere_the_same_events_follow_in_the_same_order() {
    let plan = goal(DECOMPOSE);
    let (expected, whole) = run(&plan, 4, chain);
    assert_eq!(expected.status, RunStatus::Succeeded);
    for cut in 1..whole.commits.len() {
        let (ended, again) = resumed(&plan, 4, chain, &whole, cut);
        assert_eq!(ended.output, expected.output, "cut after {cut}");
        assert!(told(&again) == told(&whole), "cut after {cut}: other events");
    }
}

#[test]
fn what_duties_spend_is_paid_by_the_step() {
    let plan = goal(", budget: {usd: 5}");
    let (_, world) = run(&plan, 4, report);
    let mut scheduler = Scheduler::new(plan.clone());
    world.events().for_each(|event| scheduler.apply(event).expect("it happened"));
    let knows_nothing = Scheduler::new(plan);
    for task in scheduler.tasks() {
        let id = scheduler.id(task);
        let payers = scheduler.payers(task);
        assert_eq!(payers.len(), 1, "{id}");
        assert_eq!(payers[0].owner, Owner::Step("g".into()), "{id}");
        assert_eq!(knows_nothing.payers_of(id).0, payers, "{id}");
    }
}

#[test]
fn independent_tasks_run_side_by_side() {
    let (ended, world) = run(&goal(DECOMPOSE), 9, report);
    // plan | 1, decompose 2 | three children | 2/3 decompose, 2/4 | half | half | reconcile 3 | reconcile 2 | 3 | finalise
    assert_eq!(ended.took, TICK * 10, "{:?}", launched(&world));
    assert!(world.peak >= 3);
}

#[test]
fn defect_8_an_atomic_task_takes_one_call_besides_the_plan_and_the_answer() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &[])]})),
            "g/finalise[1]" => final_words("done"),
            _ => done("it"),
        }
    }
    let (_, world) = run(&goal(""), 9, says);
    assert_eq!(launched(&world), ["g/plan[1]", "g/1/execute[1]", "g/2/execute[1]", "g/finalise[1]"]);
    assert_eq!(
        routed(&world),
        ["plan", "add_tasks", "execute g/1", "execute g/2", "end g/1", "end g/2", "finalise", "end"]
    );
}

#[test]
fn defect_7_prompts_do_not_grow_with_the_number_of_tasks() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => {
                let chain =
                    |n: usize| task(&n.to_string(), &[(n - 1).to_string().as_str()][usize::from(n == 0)..]);
                let tasks: Vec<Value> =
                    (0..40).map(|n| if n == 0 { task("0", &[]) } else { chain(n) }).collect();
                Ok(json!({ "tasks": tasks }))
            }
            "g/finalise[1]" => final_words("done"),
            _ => {
                assert!(prompt.len() < 30_000, "{id} has {} characters", prompt.len());
                let result = "x".repeat(20_000);
                Ok(json!({"result": result, "summary": "long", "goal_achieved": true, "reason": "r"}))
            }
        }
    }
    let (ended, _) = run(&goal(", max_tasks: 50"), 9, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
}

#[test]
fn ao_12_all_skipped_some_skipped_and_one_failed() {
    fn all(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [impossible("a"), task("b", &["a"])]})),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "it cannot be done", "tasks": []})),
            _ => final_words("nothing could be done"),
        }
    }
    fn some(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [impossible("a"), task("b", &[])]})),
            "g/2/execute[1]" => done("b"),
            id => all(id, prompt),
        }
    }
    fn one(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/1/execute[1]" => undone(),
            id => some(id, prompt).map(|said| {
                if id == "g/plan[1]" { json!({"tasks": [task("a", &[]), task("b", &[])]}) } else { said }
            }),
        }
    }
    let plan = goal(", policies: {any: [fail]}");
    let expected =
        [(all as Says, RunStatus::SkippedAll), (some, RunStatus::Partial), (one, RunStatus::Failed)];
    for (says, status) in expected {
        let (ended, _) = run(&plan, 9, says);
        assert_eq!(ended.status, status, "{ended:?}");
        assert_eq!(answer(&ended)["status"], json!(status.word()));
        assert!(!answer(&ended)["message"].as_str().unwrap().is_empty(), "somebody answers all the same");
        resumes_everywhere(&plan, 9, says);
    }
}

#[test]
fn a_goal_that_was_not_achieved_never_reports_success() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "everything is wonderful", "tasks": []})),
            "g/finalise[1]" => final_words("Everything is wonderful!"),
            _ => undone(),
        }
    }
    let (ended, _) = run(&goal(", policies: {any: [fail]}"), 9, says);
    let failure = ended.failure.clone().expect("it failed");
    assert_eq!((ended.status, failure.reason.as_deref()), (RunStatus::Failed, Some("goal_not_achieved")));
    assert!(failure.message.contains("no such file"), "{failure}");
    assert_eq!(answer(&ended)["status"], json!("failed"));
    assert_eq!(answer(&ended)["tasks"][0]["status"], json!("failed"));
}

/// Plans half of the goal, and then says this about the rest.
fn half(id: &str, more: Result<Value, Class>) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])], "complete": false})),
        "g/finalise[1]" => final_words("the first half"),
        _ if id.starts_with("g/classify") => more,
        _ => done("it"),
    }
}

#[test]
fn a_goal_of_which_more_was_needed_than_was_done_was_not_achieved() {
    fn nothing(id: &str, _: &str) -> Result<Value, Class> {
        half(id, Ok(json!({"done": false, "reason": "the second half is missing", "tasks": []})))
    }
    fn silent(id: &str, _: &str) -> Result<Value, Class> {
        half(id, Err(Class::Fatal))
    }
    fn useless(id: &str, _: &str) -> Result<Value, Class> {
        half(id, Ok(json!({"done": false, "reason": "more", "tasks": [task("b", &["zzz"])]})))
    }
    fn enough(id: &str, _: &str) -> Result<Value, Class> {
        half(id, Ok(json!({"done": true, "reason": "it will do", "tasks": []})))
    }
    fn one_more(id: &str, _: &str) -> Result<Value, Class> {
        half(id, Ok(json!({"done": false, "reason": "more", "tasks": [task("b", &[])]})))
    }
    let unmet: [(&str, Says); 4] =
        [("", nothing), ("", silent), ("", useless), (", max_rounds: 1", one_more)];
    for (bounds, says) in unmet {
        let (ended, _) = run(&goal(bounds), 9, says);
        assert_eq!(ended.status, RunStatus::Failed, "{ended:?}");
        let failure = ended.failure.clone().expect("why");
        assert_eq!(failure.reason.as_deref(), Some("goal_not_achieved"));
        assert_eq!(answer(&ended)["status"], "failed");
    }
    for says in [enough as Says, one_more] {
        assert_eq!(run(&goal(""), 9, says).0.status, RunStatus::Succeeded);
    }
}

#[test]
fn ao_9_a_failed_task_is_not_tried_before_its_back_off_has_passed() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/finalise[1]" => final_words("done"),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
            _ => Err(Class::Transient),
        }
    }
    let (_, world) = run(&goal(", backoff: 2"), 9, says);
    let mut starts = Vec::new();
    for stamped in world.events() {
        match &stamped.event {
            Event::AttemptStarted { task, .. } if &*task.0 == "g/1/execute[1]" => starts.push(stamped.at),
            _ => {}
        }
    }
    let pauses: Vec<Duration> = starts.windows(2).map(|pair| pair[1].since(pair[0]) - TICK).collect();
    assert_eq!(pauses.len(), 2, "{pauses:?}");
    assert!(pauses[0] >= Duration::from_secs(2) && pauses[1] >= Duration::from_secs(4), "{pauses:?}");
    resumes_everywhere(&goal(", backoff: 2"), 9, says);
}

#[test]
fn defect_1_what_was_not_achieved_waits_for_its_retry_and_the_moment_survives_a_restart() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/1/execute[1]" => undone(),
            "g/1/execute[2]" => {
                assert!(prompt.contains("no such file"), "{prompt}");
                done("a")
            }
            _ => final_words("done"),
        }
    }
    let plan = goal(", backoff: 5, policies: {invalid_output: [retry, fail]}");
    let (ended, world) = run(&plan, 9, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert!(ended.took >= Duration::from_secs(5));
    assert!(
        world
            .events()
            .any(|stamped| matches!(&stamped.event, Event::RetryScheduled { task, .. } if &*task.0 == "g/1"))
    );
    resumes_everywhere(&plan, 9, says);
}

#[test]
fn defect_4_every_way_to_recover_is_taken_at_most_once() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/finalise[1]" => final_words("it could not be done"),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
            id if id.contains("recover") => {
                // Always the first that is offered.
                let offered = prompt
                    .split("`strategy` is one of: ")
                    .nth(1)
                    .and_then(|rest| rest.split(['.', ',']).next());
                Ok(
                    json!({"strategy": offered, "reasoning": "r", "confidence": "low", "success_probability": 1, "next_steps": "n"}),
                )
            }
            id if id.contains("decompose") => Ok(json!({"tasks": [task("x", &[]), task("y", &[])]})),
            _ => undone(),
        }
    }
    let plan = goal(
        ", max_depth: 1, max_recoveries: 9, policies: {any: [repair_parameters, decompose, spawn_recovery, skip]}",
    );
    let (ended, world) = run(&plan, 9, says);
    assert_eq!(ended.status, RunStatus::SkippedAll, "{ended:?}");
    let mut taken = routed(&world);
    taken.retain(|word| word.ends_with(" g/1"));
    let expected = [
        "execute g/1",
        "recover g/1",
        "repair_parameters g/1",
        "recover g/1",
        "decompose g/1",
        "add_tasks g/1",
    ];
    assert_eq!(taken[..6], expected, "{taken:?}");
    assert_eq!(taken.iter().filter(|word| word.starts_with("repair_parameters")).count(), 1);
    resumes_everywhere(&plan, 9, says);
}

#[test]
fn a_person_decides_about_what_is_escalated() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/1/execute[1]" => Err(Class::Permission),
            "g/1/execute[2]" => done("a"),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
            _ => final_words("done"),
        }
    }
    let plan = goal(", policies: {permission: [escalate, fail]}");
    for (answer, status) in [(Answer::Retry, RunStatus::Succeeded), (Answer::Fail, RunStatus::Failed)] {
        let mut world = World::new(plan.clone(), json!({}), 4, 1, model(says));
        world.answers.insert("1".into(), answer);
        let ended = world.finish();
        assert_eq!(ended.status, status, "{ended:?}");
    }
    let mut alone = World::new(plan, json!({}), 4, 1, model(says));
    assert_eq!(alone.finish().status, RunStatus::Parked, "it waits for a person");
    assert_eq!(alone.running(), 0, "and holds nothing meanwhile");
}

#[test]
fn a_person_edits_and_approves_the_plan() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &["a"])]})),
            "g/1/execute[1]" => {
                assert!(prompt.contains("only this"), "{prompt}");
                done("it")
            }
            _ => final_words("done"),
        }
    }
    let plan = goal(", approve: true");
    let mut world = World::new(plan.clone(), json!({}), 4, 1, model(says));
    world.answers.insert("g".into(), Answer::Plan { plan: "- description: only this\n".into() });
    let ended = world.finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert_eq!(launched(&world), ["g/plan[1]", "g/1/execute[1]", "g/finalise[1]"]);
    let asked = world.events().find_map(|stamped| match &stamped.event {
        Event::GateOpened { ask, .. } => Some(serde_json::to_string(ask).unwrap()),
        _ => None,
    });
    assert!(asked.unwrap().contains("do a"), "the plan is shown");
    let mut refused = World::new(plan.clone(), json!({}), 4, 1, model(says));
    refused.answers.insert("g".into(), Answer::Fail);
    let ended = refused.finish();
    assert_eq!((ended.status, launched(&refused).len()), (RunStatus::Failed, 1), "{ended:?}");
    let mut open = World::new(plan, json!({}), 4, 1, model(says));
    assert_eq!(open.finish().status, RunStatus::Parked);
}

#[test]
fn only_the_plan_can_be_asked_for_or_given() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &["a"])], "complete": true})),
            "g/finalise[1]" => final_words("done"),
            _ => done("it"),
        }
    }
    let (ended, world) = run(&goal(", plan_only: true"), 9, says);
    assert_eq!((ended.status, launched(&world)), (RunStatus::Succeeded, vec!["g/plan[1]".to_owned()]));
    assert_eq!(answer(&ended)["tasks"][1]["inputs"], json!(["a"]));
    let (ended, world) =
        run(&goal(", plan: [{id: x, description: first}, {description: second, inputs: [x]}]"), 9, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert_eq!(launched(&world), ["g/1/execute[1]", "g/2/execute[1]", "g/finalise[1]"]);
}

#[test]
fn guidance_reaches_whoever_is_asked_afterwards() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        let guided = prompt.contains("use metric units");
        match id {
            "g/plan[1]" => {
                assert!(!guided);
                Ok(json!({"tasks": [task("a", &[])]}))
            }
            "g/finalise[1]" => {
                assert!(guided, "{prompt}");
                final_words("done")
            }
            _ => done(if guided { "metric" } else { "imperial" }),
        }
    }
    let plan = goal("");
    let mut world = World::new(plan.clone(), json!({}), 4, 1, model(says));
    world.run(2);
    world.guide("use metric units");
    assert_eq!(world.finish().status, RunStatus::Succeeded);
    let mut again = World::resumed(plan, 4, world.commits[..4].to_vec(), &world, model(says));
    assert_eq!(again.finish().status, RunStatus::Succeeded, "what was said is not forgotten");
}

#[test]
fn a_plan_that_cannot_be_used_is_refused_once_with_the_reason() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &["b"]), task("b", &["a"])]})),
            "g/plan[2]" => {
                assert!(prompt.contains("in a circle"), "{prompt}");
                Ok(json!({"tasks": [task("a", &[])]}))
            }
            "g/finalise[1]" => final_words("done"),
            _ => done("a"),
        }
    }
    fn never(id: &str, _: &str) -> Result<Value, Class> {
        assert!(id.starts_with("g/plan"), "{id}");
        Ok(json!({"tasks": []}))
    }
    assert_eq!(run(&goal(""), 4, says).0.status, RunStatus::Succeeded);
    let (ended, world) = run(&goal(""), 4, never);
    assert_eq!((ended.status, launched(&world).len()), (RunStatus::Failed, 2));
    assert_eq!(ended.failure.unwrap().reason.as_deref(), Some("plan_refused"));
}

#[test]
fn ao_6_and_ao_7_a_tool_that_is_not_there_is_left_out_and_said() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => {
                assert!(prompt.contains("There are no tools"), "{prompt}");
                let mut wants = task("a", &[]);
                wants["tools"] = json!(["magic"]);
                Ok(json!({"tasks": [wants]}))
            }
            "g/finalise[1]" => final_words("done"),
            _ => done("a"),
        }
    }
    let (ended, world) = run(&goal(""), 4, says);
    assert_eq!(ended.status, RunStatus::Succeeded);
    let noted = |stamped: &Stamped| matches!(&stamped.event, Event::Noted { code, message, .. } if code == "unknown_tool" && message.contains("magic"));
    assert!(world.events().any(noted));
}

#[test]
fn ao_11_whoever_does_a_task_has_only_the_tools_that_are_allowed_and_named() {
    let text = "
workflow: {name: w, entry_point: g, runtime: {provider: scripted, mcp_servers: {s: {command: s, tools: [read, write, list]}}}}
agents: [{name: g, type: goal, goal: x, tools: [s__read, s__write]}]
output: {answer: '{{ g.output | json }}'}
";
    let plan = plan_of(text, &[]);
    let script = |assignment: &Assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only models are asked here") };
        let said = match &*assignment.task.0 {
            "g/plan[1]" => {
                let mut both = task("a", &[]);
                both["tools"] = json!(["s__read", "s__write", "s__list"]);
                let mut one = task("b", &[]);
                one["tools"] = json!(["write"]);
                json!({"tasks": [both, one, task("c", &[])]})
            }
            "g/1/analyse[1]" => {
                json!({"decision": "execute", "reasoning": "r", "tools": ["s__read", "s__list"]})
            }
            "g/finalise[1]" => final_words("done").unwrap(),
            id => {
                let expected = match id {
                    "g/1/execute[1]" => vec!["s__read"],
                    "g/2/execute[1]" => vec!["s__write"],
                    _ => vec!["s__read", "s__write"],
                };
                assert_eq!(call.settings.tools.as_deref().unwrap(), expected, "{id}");
                done("it").unwrap()
            }
        };
        Behaviour::gives(TICK, said)
    };
    let ended = World::new(plan, json!({}), 4, 1, Box::new(script)).finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
}

#[test]
fn defect_6_a_timeout_stops_everything_below_and_nothing_goes_on_behind_it() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &["a"]), task("c", &["b"])]})),
            _ => done("it"),
        }
    }
    let (ended, world) = run(&goal(", timeout: 0.12"), 4, says);
    assert_eq!(ended.status, RunStatus::Failed, "{ended:?}");
    assert_eq!((world.running(), ended.failure.unwrap().class), (0, Class::Timeout));
    let open: Vec<_> = launched(&world);
    assert!(!open.iter().any(|task| task.contains("finalise")), "{open:?}");
}

#[test]
fn a_goal_that_failed_goes_on_where_it_failed() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &[]), task("c", &["b"])]})),
            "g/2/execute[1]" => Err(Class::Fatal),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
            "g/finalise[1]" => final_words("something is missing"),
            _ => done("it"),
        }
    }
    fn better(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/2/execute[1]" => done("b"),
            "g/finalise[1]" => final_words("all is there"),
            id => says(id, prompt),
        }
    }
    let plan = goal("");
    let (failed, first) = run(&plan, 4, says);
    assert_eq!(failed.status, RunStatus::Failed, "{failed:?}");
    let mut second = World::resumed(plan, 4, first.commits.clone(), &first, model(better));
    let ended = second.finish();
    assert_eq!(
        (ended.status, &answer(&ended)["message"]),
        (RunStatus::Succeeded, &json!("all is there")),
        "{ended:?}"
    );
    assert_eq!(launched(&second), ["g/2/execute[1]", "g/3/execute[1]", "g/finalise[1]"]);
}

#[test]
fn a_goal_that_was_stopped_goes_on_without_doing_anything_twice() {
    let plan = goal(DECOMPOSE);
    let (whole, _) = run(&plan, 2, report);
    for commits in 3..14 {
        let mut first = World::new(plan.clone(), json!({}), 2, 1, model(report));
        if first.run(commits).is_some() {
            break;
        }
        first.stop(true);
        let done: HashSet<String> = first
            .events()
            .filter_map(|stamped| match &stamped.event {
                Event::AttemptFinished { task, .. } => Some(task.to_string()),
                _ => None,
            })
            .collect();
        let mut second = World::resumed(plan.clone(), 2, first.commits.clone(), &first, model(report));
        let ended = second.finish();
        assert_eq!((ended.status, &ended.output), (whole.status, &whole.output), "stopped after {commits}");
        let twice: Vec<_> = launched(&second).into_iter().filter(|task| done.contains(task)).collect();
        assert!(twice.is_empty(), "stopped after {commits}: {twice:?}");
    }
}

#[test]
fn the_words_of_a_finaliser_that_fails_are_missed_and_said() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/finalise[1]" => Err(Class::Refused),
            _ => done("a"),
        }
    }
    let (ended, _) = run(&goal(""), 4, says);
    assert_eq!(ended.status, RunStatus::Failed);
    assert_eq!(ended.failure.unwrap().reason.as_deref(), Some("not_answered"));
}

/// A model that says anything at all: bad answers, cycles, hundreds of tasks, endless spawning, endless failing.
fn anything(random: &mut Random, id: &str) -> Result<Value, Class> {
    let duty = id.rsplit('/').next().and_then(|last| last.split('[').next()).unwrap_or_default().to_owned();
    if random.percent(15) {
        return Err(Class::ALL[random.below(12) as usize]);
    }
    if random.percent(10) {
        return Ok(json!({"nonsense": true}));
    }
    let mut tasks = || {
        let count = if random.percent(5) { 300 } else { random.below(6) };
        let mut all = Vec::new();
        for n in 0..count {
            let input = random.below(count + 1).to_string();
            let mut one = task(
                &n.to_string(),
                if random.percent(40) { std::slice::from_ref(&input) } else { &[] }
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .as_slice(),
            );
            if random.percent(50) {
                one["estimated_tokens"] = json!(90_000);
            }
            if random.percent(10) {
                (one["skip_probability"], one["skip_reason"]) = (json!(90), json!("r"));
            }
            all.push(one);
        }
        json!(all)
    };
    let tasks = tasks();
    Ok(match duty.as_str() {
        "plan" | "decompose" => json!({"tasks": tasks, "complete": random.percent(50)}),
        "analyse" => json!({"decision": "spawn", "reasoning": "r", "tools": []}),
        "recover" => {
            let words = ["repair_parameters", "decompose", "spawn_recovery", "skip", "fail", "what?"];
            json!({"strategy": words[random.below(6) as usize], "reasoning": "r", "next_steps": ""})
        }
        "classify" => json!({"done": random.percent(30), "reason": "r", "tasks": tasks}),
        "finalise" => json!({"message": if random.percent(90) { "m" } else { "" }, "reason": "r"}),
        _ => json!({"result": "r", "summary": "s", "goal_achieved": random.percent(60), "reason": "r"}),
    })
}

#[test]
fn whatever_models_say_the_run_ends_within_its_bounds_and_honestly() {
    let policies =
        "policies: {any: [retry, repair_parameters, decompose, spawn_recovery, skip, fail]}, backoff: 1";
    let plan = goal(&format!(", max_tasks: 15, max_depth: 2, max_children: 3, max_rounds: 2, {policies}"));
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let script = move |assignment: &Assignment| match anything(&mut random, &assignment.task.0) {
            Ok(value) => Behaviour::gives(TICK, value),
            Err(class) => Behaviour::fails(TICK, class),
        };
        let mut world = World::new(plan.clone(), json!({}), 1 + (seed % 4) as u32, seed, Box::new(script));
        let ended = world.finish();
        assert!(ended.status.is_end(), "seed {seed}: {ended:?}");
        assert!(world.launches.len() < 400, "seed {seed}: {} calls", world.launches.len());
        judge(&world, &ended, seed);
    }
}

/// What must hold of any run, told from its events alone.
fn judge(world: &World, ended: &Ended, seed: u64) {
    let (mut items, mut failed, mut over, mut tried) =
        (Vec::new(), HashSet::new(), HashSet::new(), HashSet::new());
    for stamped in world.events() {
        match &stamped.event {
            Event::Asked { task, questions } => items.extend(
                questions
                    .iter()
                    .filter(|question| question.about.word() == "task")
                    .map(|question| question.child_of(task)),
            ),
            Event::TaskFailed { task, .. } => {
                failed.insert(task.clone());
                over.insert(task.clone());
            }
            Event::TaskSucceeded { task, .. } | Event::TaskSkipped { task, .. } => {
                over.insert(task.clone());
            }
            Event::Routed { chosen, about: Some(about), .. }
                if chosen.contains('_') && chosen != "add_tasks" && chosen != "ask_again" =>
            {
                assert!(
                    tried.insert((about.clone(), chosen.clone())),
                    "seed {seed}: {chosen} of {about} twice"
                );
            }
            _ => {}
        }
    }
    assert!(items.len() <= 15, "seed {seed}: {} tasks", items.len());
    let top = |id: &TaskId| id.depth() == 1;
    for item in &items {
        assert!(item.depth() <= 3, "seed {seed}: {item} is too deep");
        assert!(over.contains(item), "seed {seed}: {item} has no end");
    }
    let lost = items.iter().any(|item| top(item) && failed.contains(item));
    if lost {
        assert_ne!(ended.status, RunStatus::Succeeded, "seed {seed}");
    }
}

#[test]
fn hundreds_of_tasks_are_no_burden() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => {
                Ok(json!({"tasks": (0..400).map(|n| task(&n.to_string(), &[])).collect::<Vec<_>>()}))
            }
            "g/finalise[1]" => final_words("done"),
            _ => done("it"),
        }
    }
    let (ended, world) = run(&goal(", max_tasks: 400"), 50, says);
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Succeeded, 402));
}
