//! What a long pipeline costs: each worker is told a bounded part of what was said before it.

mod kit;

use convoke_model::{Event, JsonText, Payload, RunStatus, TaskId, Timestamp, Usage, Work};
use convoke_plan::Plan;
use convoke_schedule::{Command, Launch, Outputs, TaskIx};
use kit::{Run, planned};
use serde_json::json;
use std::sync::Arc;

/// Phases one after the other; each edge looks at a flag by an expression.
fn chain(phases: usize) -> Arc<Plan> {
    let node = |at| format!("    - {{id: p{at}, actorId: m, personaId: one}}\n");
    let edge = |at| format!("    - {{from: p{}, to: p{at}, when: 'not state.flags.stop'}}\n", at - 1);
    planned(format!(
        "schemaVersion: '1'\npersonas: [{{id: one, displayName: One, systemPromptTemplate: You are one.}}]\nrelationships: []\n\
         pipeline:\n  entryNodeId: p1\n  nodes:\n{}  edges:\n{}",
        (1..=phases).map(node).collect::<String>(),
        (2..=phases).map(edge).collect::<String>(),
    ))
}

/// A run in which every worker announces something that is too large to travel inside an event: how it ends, how often a value
/// was read, and how long the longest prompt was.
fn finish(mut run: Run) -> (RunStatus, u64, usize) {
    let mut longest = 0;
    while run.scheduler.finished().is_none() {
        run.now += 1;
        let turn = run.scheduler.decide(Timestamp(run.now as _), &run.outputs);
        for command in turn.commands {
            if let Command::Admit(task) = command {
                longest = longest.max(work(&mut run, task));
            }
        }
    }
    let status = run.scheduler.finished().expect("it has ended").status;
    (status, run.outputs.reads.get(), longest)
}

/// Does one task; how long its prompt was.
fn work(run: &mut Run, task: TaskIx) -> usize {
    let Launch::Start(assignment) = run.scheduler.launch(task, None, &run.outputs) else {
        panic!("{:?}", run.scheduler.failure(task))
    };
    let Work::Agent(call) = &assignment.work else { panic!("a model") };
    let large = "x".repeat(5_000);
    let said = json!({
        "status": "success", "payload": {"large": large},
        "events": [{"type": "code_committed", "payload": {"summary": large}}],
    });
    let (output, blob) = Payload::new(JsonText::of(&said));
    blob.into_iter().for_each(|blob| run.outputs.put(blob));
    let (task, attempt) = (assignment.task.clone(), assignment.attempt);
    run.happens(Event::AttemptFinished { task, attempt, output, usage: Usage::default() });
    call.prompt.len()
}

#[test]
fn what_a_pipeline_reads_grows_with_its_length_and_not_with_its_square() {
    let [(_, short, _), (status, long, prompt)] =
        [50, 150].map(|phases| finish(Run::begun(chain(phases), &json!({}))));
    assert_eq!(status, RunStatus::Succeeded);
    // Three times as many phases; the first are told less than those that follow, a square would be nine times as much.
    assert!(long < short * 5, "{short} reads of 50 phases, {long} of 150");
    assert!(prompt < 200_000, "a prompt of {prompt} bytes");
}

/// Whatever order their answers come in, the newest state of the project is what counts.
#[test]
fn of_changes_of_a_run_the_newest_state_of_the_project_counts() {
    let mut run = Run::begun(chain(1), &json!({}));
    let seen = |run: &mut Run, task: Option<&str>, revision: u64| {
        let context = Payload::Inline(JsonText::of(&json!({"globalFlags": {format!("r{revision}"): true}})));
        let task = task.map(|task| TaskId(task.into()));
        run.happens(Event::ProjectSeen { task, revision, context, place: String::new() });
    };
    seen(&mut run, None, 7);
    seen(&mut run, None, 3);
    let turn = run.scheduler.decide(Timestamp(9), &run.outputs);
    let task = turn.commands.iter().find_map(|command| match command {
        Command::Admit(task) => Some(*task),
        _ => None,
    });
    seen(&mut run, Some("p1"), 5);
    seen(&mut run, Some("p1"), 4);
    let launch = run.scheduler.launch(task.expect("its first try"), None, &run.outputs);
    let Launch::Start(assignment) = launch else { panic!("it starts") };
    let Work::Agent(call) = &assignment.work else { panic!("a model") };
    assert!(call.prompt.contains("\"r5\": true"), "{}", call.prompt);
}
