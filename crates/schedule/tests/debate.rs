//! A kind of composite task that the language does not have: a debate in two rounds with a verdict.
//!
//! All of it is this file and one registration ([`Scheduler::with_composite`]). The order of speakers is said once, by
//! needs among the children; the frontier starts them.

mod kit;

use convoke_model::{
    AgentCall, ChildKind, ChildSpec, Event, Failure, JsonText, Payload, RunStatus, Stamped, TaskId,
};
use convoke_model::{Timestamp, Usage, Work};
use convoke_plan::{Kind, Node, NodeIx, Plan};
use convoke_schedule::{Command, Composite, Launch, Scheduler, State, Step, TaskIx, TaskState, View};
use kit::{Run, planned};
use serde_json::json;
use std::sync::Arc;

/// A parallel group named `debate` whose last member judges the others.
struct Debate;

impl Debate {
    fn members(state: &State, task: TaskIx) -> Vec<NodeIx> {
        let Kind::Parallel(group) = &state.node(task).kind else { return Vec::new() };
        group.members.clone()
    }

    fn child(task: &TaskId, role: &str, speaker: &str) -> TaskId {
        part(role, speaker, Vec::new()).child_of(task)
    }
}

fn part(role: &str, speaker: &str, needs: Vec<TaskId>) -> ChildSpec {
    let kind = ChildKind::Part { role: role.to_owned(), note: Some(speaker.to_owned()) };
    ChildSpec { key: speaker.to_owned(), kind, needs }
}

impl Composite for Debate {
    fn claims(&self, node: &Node) -> bool {
        &*node.name == "debate"
    }

    fn worker(&self, state: &State, task: TaskIx, child: &ChildKind) -> Option<NodeIx> {
        let ChildKind::Part { note: Some(speaker), .. } = child else { return None };
        let named = |member: &NodeIx| *state.plan().root().node(*member).name == **speaker;
        Debate::members(state, task).into_iter().find(named)
    }

    fn begin(&self, view: &View<'_>, task: TaskIx) -> Vec<Step> {
        let names = Debate::members(view, task)
            .into_iter()
            .map(|node| view.plan().root().node(node).name.to_string());
        let mut speakers: Vec<String> = names.collect();
        let judge = speakers.pop().expect("a group has members");
        let id = view.id(task);
        let of_all =
            |role: &str| speakers.iter().map(|speaker| Debate::child(id, role, speaker)).collect::<Vec<_>>();
        let openings = speakers.iter().map(|speaker| part("opening", speaker, Vec::new()));
        let replies = speakers.iter().map(|speaker| part("reply", speaker, of_all("opening")));
        let verdict = part("verdict", &judge, of_all("reply"));
        vec![Step::Spawn { on: task, children: openings.chain(replies).chain([verdict]).collect() }]
    }

    fn advance(&self, view: &View<'_>, task: TaskIx, _changed: &[TaskIx]) -> Vec<Step> {
        let children = view.children(task);
        if children.iter().any(|child| !matches!(view.state(*child), TaskState::Ended(_))) {
            return Vec::new();
        }
        let verdict = children.last().and_then(|judge| view.output(*judge)).cloned();
        let failure =
            || children.iter().find_map(|child| view.failure(*child)).cloned().expect("somebody failed");
        match verdict {
            Some(output) => vec![Step::SucceedWith { on: task, output }],
            None => vec![Step::Fail { on: task, failure: failure() }],
        }
    }

    fn prompt(&self, view: &View<'_>, child: TaskIx, mut call: AgentCall) -> Result<AgentCall, Failure> {
        let task = view.parent_of(child).expect("a child has a task that asks it");
        let heard = view.children(task).iter().filter(|other| view.output(**other).is_some());
        for other in heard {
            call.prompt = format!("{}\n{}: {}", call.prompt, view.id(*other), view.json_of(*other)["result"]);
        }
        Ok(call)
    }
}

const DEBATE: &str = "workflow: {name: w, entry_point: debate}
agents:
  - {name: ann, prompt: You are for it.}
  - {name: bob, prompt: You are against it.}
  - {name: judge, prompt: Who has won?}
parallel:
  - {name: debate, agents: [ann, bob, judge]}
output: {won: '{{ debate.result }}'}
";

/// Everything that a run of the debate records, and the prompts in the order of asking; `fails` gives no answer.
fn debated(plan: &Arc<Plan>, fails: Option<&str>) -> (Vec<Event>, Vec<(String, String)>, Scheduler) {
    let mut run = Run::begun_by(Scheduler::with_composite(plan.clone(), Arc::new(Debate)), plan);
    let (mut events, mut prompts) = (Vec::new(), Vec::new());
    while run.scheduler.finished().is_none() {
        let turn = run.scheduler.decide(Timestamp(run.now as _), &run.outputs);
        events.extend(turn.events);
        for command in turn.commands {
            let Command::Admit(task) = command else { panic!("{command:?}") };
            let Launch::Start(assignment) = run.scheduler.launch(task, None, &run.outputs) else {
                panic!("{:?}", run.scheduler.failure(task))
            };
            let Work::Agent(call) = &assignment.work else { panic!("a model") };
            let (task, attempt) = (assignment.task.clone(), assignment.attempt);
            prompts.push((task.to_string(), call.prompt.clone()));
            let event = match fails == Some(&*task.0) {
                true => {
                    let failure = Failure::new(convoke_model::Class::Permission, "no");
                    Event::AttemptFailed { task, attempt, failure, usage: Usage::default(), partial: None }
                }
                false => {
                    let output = Payload::Inline(JsonText::of(&json!({"result": format!("{task} says so")})));
                    Event::AttemptFinished { task, attempt, output, usage: Usage::default() }
                }
            };
            // The start of the attempt is told with the next decisions, before what came of it.
            events.extend(run.scheduler.decide(Timestamp(run.now as _), &run.outputs).events);
            events.push(event.clone());
            run.happens(event);
        }
    }
    (events, prompts, run.scheduler)
}

#[test]
fn a_new_kind_of_composite_is_one_file_and_one_registration() {
    let plan = planned(DEBATE.to_owned());
    let (_, prompts, scheduler) = debated(&plan, None);
    let asked: Vec<&str> = prompts.iter().map(|(task, _)| task.as_str()).collect();
    assert_eq!(
        asked,
        [
            "debate/opening[ann]",
            "debate/opening[bob]",
            "debate/reply[ann]",
            "debate/reply[bob]",
            "debate/verdict[judge]"
        ]
    );
    assert_eq!(prompts[0].1, "You are for it.");
    let opening = |speaker: &str| format!("debate/opening[{speaker}]: \"debate/opening[{speaker}] says so\"");
    assert_eq!(prompts[2].1, format!("You are for it.\n{}\n{}", opening("ann"), opening("bob")));
    assert_eq!(prompts[4].1.lines().count(), 5, "the judge has heard both rounds");
    let finished = scheduler.finished().expect("it has ended");
    assert_eq!(finished.status, RunStatus::Succeeded);
    assert!(format!("{:?}", finished.output).contains("debate/verdict[judge] says so"));
}

#[test]
fn what_needs_a_child_that_failed_is_left_out() {
    let plan = planned(DEBATE.to_owned());
    let (_, prompts, scheduler) = debated(&plan, Some("debate/opening[bob]"));
    assert_eq!(prompts.len(), 2, "nobody replies to what was not said: {prompts:?}");
    assert_eq!(scheduler.finished().expect("it has ended").status, RunStatus::Failed);
}

#[test]
fn a_journal_cut_anywhere_goes_on_to_the_same_end() {
    let plan = planned(DEBATE.to_owned());
    let (events, ..) = debated(&plan, None);
    for cut in 0..events.len() {
        let mut run = Run::begun_by(Scheduler::with_composite(plan.clone(), Arc::new(Debate)), &plan);
        for (seq, event) in events[..cut].iter().enumerate() {
            let stamped = Stamped { seq: seq as u64 + 2, at: Timestamp(2), event: event.clone() };
            run.scheduler.apply(&stamped).expect("it follows");
        }
        let turn = run.scheduler.decide(Timestamp(2), &run.outputs);
        let told: Vec<&Event> = turn.events.iter().collect();
        let expected: Vec<&Event> = events[cut..].iter().take(told.len()).collect();
        assert_eq!(told, expected, "after {cut} events");
    }
}
