//! A simulated run whose questions are answered by id, each with an answer of its own.

use convoke_model::{Answer, Assignment, Event, GateId, RunStatus, Stamped, TaskId, Work};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The option and the text that every gate of these tests takes.
pub const OPTIONS: &str = "options: [{label: Yes, value: y, prompt_for: note}]";

pub type Script = fn() -> Box<dyn FnMut(&Assignment) -> Behaviour>;

/// Agents answer with their prompt, after as many milliseconds as it has letters.
pub fn echo() -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(|assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only agents here") };
        Behaviour::gives(Duration::from_millis(call.prompt.len() as u64), json!({ "said": call.prompt }))
    })
}

/// A run that crashes and is resumed, with everything that a person sees of it.
pub struct Asked {
    plan: Arc<Plan>,
    script: Script,
    pub world: World,
    /// Every launch of all its owners.
    pub launches: Vec<String>,
}

impl Asked {
    pub fn new(text: &str, files: &[(&str, &str)], inputs: Value) -> Asked {
        Asked::with(text, files, inputs, echo)
    }

    pub fn with(text: &str, files: &[(&str, &str)], inputs: Value, script: Script) -> Asked {
        let plan = plan_of(text, files);
        let world = World::new(plan.clone(), inputs, 4, 7, script());
        Asked { plan, script, world, launches: Vec::new() }
    }

    pub fn finish(&mut self) -> Ended {
        self.world.finish()
    }

    /// Runs until only people could go on.
    #[track_caller]
    pub fn park(&mut self) -> Vec<String> {
        let ended = self.finish();
        assert_eq!(ended.status, RunStatus::Parked, "{ended:?}");
        self.open()
    }

    pub fn events(&self) -> Vec<Stamped> {
        self.world.commits.concat()
    }

    /// The ids of the questions that wait.
    pub fn open(&self) -> Vec<String> {
        open(&self.events()).into_values().map(|id| id.to_string()).collect()
    }

    /// Answers a question by its id; the text of the answer is the id.
    #[track_caller]
    pub fn answer(&mut self, gate: &str) {
        let id = GateId::parse(gate).expect("an id of a gate");
        assert!(self.open().contains(&gate.to_owned()), "{gate} is not open: {:?}", self.open());
        self.world.answer(&id.task, note(gate));
    }

    /// Fills in a form whose one question is `q`; the text of the answer is the id of the gate.
    pub fn fill_in(&mut self, gate: &str) {
        let id = GateId::parse(gate).expect("an id of a gate");
        let answers = [("q".to_owned(), gate.to_owned())].into_iter().collect();
        self.world.answer(&id.task, Answer::Questions { answers, aborted: false, skipped_rest: false });
    }

    /// The process dies, and another one goes on.
    pub fn crash(&mut self) {
        self.crash_after(self.world.commits.len());
    }

    pub fn crash_after(&mut self, commits: usize) {
        self.note_launches();
        let commits = self.world.commits[..commits].to_vec();
        self.world = World::resumed(self.plan.clone(), 4, commits, &self.world, (self.script)());
    }

    fn note_launches(&mut self) {
        let launched = std::mem::take(&mut self.world.launches);
        self.launches.extend(launched.iter().map(|(task, attempt)| format!("{task} {attempt}")));
    }

    pub fn launched(&mut self) -> &[String] {
        self.note_launches();
        &self.launches
    }

    /// How often each question was asked and answered, by its id.
    pub fn record(&self) -> BTreeMap<String, (usize, usize)> {
        let mut record: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for stamped in self.events() {
            match stamped.event {
                Event::GateOpened { task, question, .. } => {
                    record.entry(GateId { task, question }.to_string()).or_default().0 += 1;
                }
                Event::GateAnswered { task, question, .. } => {
                    record.entry(GateId { task, question }.to_string()).or_default().1 += 1;
                }
                _ => {}
            }
        }
        record
    }
}

/// The answer whose text is the id of the question.
pub fn note(gate: &str) -> Answer {
    Answer::Choice { value: "y".into(), input: [("note".to_owned(), gate.to_owned())].into_iter().collect() }
}

/// The questions that wait after some events.
pub fn open(events: &[Stamped]) -> BTreeMap<TaskId, GateId> {
    let mut open = BTreeMap::new();
    for stamped in events {
        match &stamped.event {
            Event::GateOpened { task, question, .. } => {
                open.insert(task.clone(), GateId { task: task.clone(), question: *question });
            }
            Event::GateAnswered { task, .. }
            | Event::TaskSucceeded { task, .. }
            | Event::TaskFailed { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task, .. } => drop(open.remove(task)),
            _ => {}
        }
    }
    open
}
