//! The world in which a run is simulated.

use crate::project::Project;
use crate::start::started;
use convoke_engine::{Changes, Core, Effect, Fact, Limits, Permits, Reply, Store, What, fold_into, replay};
use convoke_model::{
    Answer, Assignment, AttemptEnd, Class, Condition, Digest, Event, Failure, JsonText, Payload, ProofCheck,
    ProofFinding, ProofLook, ProofSeen, ProofTold, RunStatus, Stamped, StatedCondition, TaskId, Timestamp,
    Usage, WorkspaceTold,
};
use convoke_plan::Plan;
use convoke_schedule::{Scheduler, TaskIx};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How one attempt behaves.
pub struct Behaviour {
    /// How long it takes.
    pub takes: Duration,
    /// How it ends.
    pub end: AttemptEnd,
}

impl Behaviour {
    /// Ends well with a value.
    pub fn gives(takes: Duration, value: serde_json::Value) -> Behaviour {
        Behaviour {
            takes,
            end: AttemptEnd::Finished { output: JsonText::of(&value), usage: Usage::default() },
        }
    }

    /// Fails.
    pub fn fails(takes: Duration, class: Class) -> Behaviour {
        let failure = Failure::new(class, format!("simulated {class}"));
        Behaviour { takes, end: AttemptEnd::Failed { failure, usage: Usage::default(), partial: None } }
    }
}

/// How a simulation ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// How the run stands.
    pub status: RunStatus,
    /// Its output.
    pub output: Option<serde_json::Value>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// How much virtual time passed.
    pub took: Duration,
}

type Script = Box<dyn FnMut(&Assignment) -> Behaviour>;
type Blobs = Arc<Mutex<HashMap<Digest, JsonText>>>;

/// One simulated run.
pub struct World {
    plan: Arc<Plan>,
    core: Core,
    script: Script,
    blobs: Blobs,
    now: Timestamp,
    order: u64,
    pending: BinaryHeap<Reverse<(Timestamp, u64)>>,
    due: BTreeMap<u64, (TaskIx, u32, AttemptEnd)>,
    running: HashMap<TaskIx, (u64, u32)>,
    /// Commits, in order: what a crash may leave is a prefix of these.
    pub commits: Vec<Vec<Stamped>>,
    /// The most attempts that ran at once.
    pub peak: usize,
    /// Every launch, in order: task and attempt.
    pub launches: Vec<(TaskId, u32)>,
    /// Attempts that are told to stop are done already: their output comes all the same.
    pub stubborn: bool,
    /// Answers for gates, given as soon as a gate opens.
    pub answers: HashMap<String, Answer>,
    /// Files that exist below the folder of the run.
    pub files: BTreeSet<String>,
    /// What the runs of the project share; it outlives a crash.
    pub project: Project,
    /// What was asked of the outside, and is answered now.
    lookups: Vec<What>,
    limit: u32,
}

const START: Timestamp = Timestamp(1_000_000_000);

impl World {
    /// A new run of a plan.
    pub fn new(plan: Arc<Plan>, inputs: serde_json::Value, limit: u32, seed: u64, script: Script) -> World {
        let started = started(&plan, &inputs, seed);
        let scheduler = Scheduler::new(plan.clone());
        let mut world = World::empty(plan, scheduler, limit, script, Vec::new());
        world.open(vec![Event::RunStarted(Box::new(started))]);
        world
    }

    /// The same run after a crash that left these commits, or after it had ended, with a new owner.
    ///
    /// Panics where the engine would refuse to resume.
    pub fn resumed(
        plan: Arc<Plan>,
        limit: u32,
        commits: Vec<Vec<Stamped>>,
        blobs: &World,
        script: Script,
    ) -> World {
        let (scheduler, opening) =
            replay(&plan, commits.concat(), &Changes::None, &|digest| blobs.kept(digest))
                .expect("it can be resumed");
        let mut world = World::empty(plan, scheduler, limit, script, commits);
        world.goes_on_from(blobs);
        world.open(opening);
        world
    }

    /// The same run under a changed plan that was accepted.
    ///
    /// Panics where the engine would refuse to resume.
    pub fn changed(before: Arc<Plan>, now: Arc<Plan>, limit: u32, earlier: &World, script: Script) -> World {
        let commits = earlier.commits.clone();
        let changes = Changes::Accept { before };
        let (scheduler, opening) = replay(&now, commits.concat(), &changes, &|digest| earlier.kept(digest))
            .expect("it can be resumed");
        let mut world = World::empty(now, scheduler, limit, script, commits);
        world.goes_on_from(earlier);
        world.open(opening);
        world
    }

    /// How many tasks of goals were looked at so far.
    pub fn looked_at(&self) -> u64 {
        self.core.scheduler.looked_at()
    }

    /// A value that was stored with a commit.
    pub fn kept(&self, digest: &Digest) -> Option<JsonText> {
        self.blobs.lock().expect("one thread").get(digest).cloned()
    }

    fn empty(
        plan: Arc<Plan>,
        scheduler: Scheduler,
        limit: u32,
        script: Script,
        commits: Vec<Vec<Stamped>>,
    ) -> World {
        let blobs = Blobs::default();
        let lookup = blobs.clone();
        let store =
            Store::new(Box::new(move |digest| lookup.lock().expect("one thread").get(&digest).cloned()));
        let newest = commits.iter().flatten().last();
        let last = newest.map_or(START, |event| event.at);
        let next_seq = newest.map_or(1, |event| event.seq + 1);
        World {
            plan,
            core: Core::new(scheduler, Permits::new(limit, &Limits::default()), store, next_seq, last),
            script,
            blobs,
            now: last,
            order: 0,
            pending: BinaryHeap::new(),
            due: BTreeMap::new(),
            running: HashMap::new(),
            commits,
            peak: 0,
            launches: Vec::new(),
            stubborn: false,
            answers: HashMap::new(),
            files: BTreeSet::new(),
            project: Project::default(),
            lookups: Vec::new(),
            limit,
        }
    }

    /// What is outside of a run stays when its process is gone.
    fn goes_on_from(&mut self, earlier: &World) {
        self.blobs.lock().expect("one thread").extend(earlier.blobs.lock().expect("one thread").clone());
        self.files.clone_from(&earlier.files);
        self.project = earlier.project.clone();
    }

    fn open(&mut self, mut events: Vec<Event>) {
        events.push(Event::RunOwned {
            epoch: self.commits.len() as u64 + 1,
            pid: 1,
            host: "simulated".into(),
            uptime: None,
        });
        if let Some(place) = self.plan.root().project_place() {
            let state = self.project.state();
            let (revision, context) = (state.revision, Payload::Inline(state.context));
            events.push(Event::ProjectSeen { task: None, revision, context, place });
        }
        let stamped: Vec<_> = events.into_iter().map(|event| self.core.stamp(self.now, event)).collect();
        for event in &stamped {
            self.core.scheduler.apply(event).expect("an opening is legal");
        }
        self.commits.push(stamped);
    }

    /// Runs until the end, until only people could go on, or until `commits` commits have been made.
    pub fn run(&mut self, commits: usize) -> Option<Ended> {
        let mut facts = Vec::new();
        while self.commits.len() < commits {
            let turn = self.core.decide(self.now, std::mem::take(&mut facts));
            self.commit(&turn.events);
            for effect in turn.effects {
                self.perform(effect);
            }
            if turn.cut_off {
                let anew = self.core.scheduler.begun_anew();
                let scheduler = fold_into(anew, self.commits.concat()).expect("a journal can be read");
                self.core.continue_from(scheduler);
            }
            facts.extend(self.answer_gates(&turn.events));
            let at = self.now;
            facts.extend(self.lookups.drain(..).map(|what| Fact { at, what }));
            if let Some(ended) = self.ended() {
                return Some(ended);
            }
            if facts.is_empty() && self.commits.len() < commits {
                facts.extend(self.next_fact()?);
            }
        }
        None
    }

    /// Runs to the end, however long it takes.
    pub fn finish(&mut self) -> Ended {
        let parked =
            Ended { status: RunStatus::Parked, output: None, failure: None, took: self.now.since(START) };
        self.run(usize::MAX).unwrap_or(parked)
    }

    /// Stops the run from outside.
    pub fn stop(&mut self, now: bool) -> Ended {
        let what = What::Stop { now, by: "simulated".into(), message: None };
        let turn = self.core.decide(self.now, vec![Fact { at: self.now, what }]);
        self.commit(&turn.events);
        turn.effects.into_iter().for_each(|effect| self.perform(effect));
        self.ended().unwrap_or_else(|| self.finish())
    }

    /// Cancels renderings once they have looked so many times whether they are cancelled. From then on nothing is decided,
    /// and what runs comes to its end.
    pub fn cancel_rendering_after(&mut self, looks: u64) {
        self.core.scheduler.cancellation().cancel_after(looks);
    }

    /// Says something to the run from outside.
    pub fn guide(&mut self, text: &str) {
        let what = What::Guided { task: None, text: text.into(), by: "simulated".into(), message: None };
        let turn = self.core.decide(self.now, vec![Fact { at: self.now, what }]);
        self.commit(&turn.events);
        turn.effects.into_iter().for_each(|effect| self.perform(effect));
    }

    /// Answers a task that waits for a person.
    pub fn answer(&mut self, task: &TaskId, answer: Answer) {
        let reply = Box::new(Reply::new(task.clone(), answer, "simulated"));
        let what = What::Answered { reply, sent: self.now, message: None };
        let turn = self.core.decide(self.now, vec![Fact { at: self.now, what }]);
        self.commit(&turn.events);
        turn.effects.into_iter().for_each(|effect| self.perform(effect));
    }

    fn commit(&mut self, events: &[Stamped]) {
        for blob in self.core.store.take_pending() {
            self.blobs.lock().expect("one thread").insert(blob.digest, blob.text);
        }
        if !events.is_empty() {
            self.commits.push(events.to_vec());
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Launch(task, assignment, _) => self.launch(task, &assignment),
            Effect::Abort(task) => self.abort(task),
            Effect::Acknowledge(written) => drop(written.send(())),
            Effect::Answer(reply, answer) => drop(reply.send(*answer)),
            Effect::LookUpFiles(task, paths) => {
                let (present, absent) = paths.into_iter().partition(|path| self.files.contains(path));
                self.lookups.push(What::FilesSeen { task, present, absent });
            }
            Effect::Patch { task, key, patch } => {
                let state = self.project.patch(&key, &patch);
                self.lookups.push(What::ProjectSeen { task: Some(task), state });
            }
            Effect::LetGo { task, .. } => {
                let left = Ok(vec![WorkspaceTold::Released]);
                self.lookups.push(What::WorkspaceLeft { task, left });
            }
            Effect::LookAtProof(task, look) => {
                let seen = Box::new(Ok(ProofSeen { leased: Vec::new(), told: self.looked(&look) }));
                self.lookups.push(What::ProofLooked { task, seen });
            }
            // What an attempt hears meanwhile is the agent's matter; the journal has it.
            Effect::Guide(..) => {}
            // Attempts make no calls here, and there is no other process to hear of a pause or of a budget that a person raised.
            Effect::StopCalls | Effect::Pause { .. } | Effect::Allow { .. } => {}
            // `machine` simulates what processes share; a run that shares nothing must not ask for it.
            Effect::RequestLease { .. }
            | Effect::WithdrawRequest(_)
            | Effect::GiveBack(_)
            | Effect::Subscribe { .. }
            | Effect::CallStarted(_)
            | Effect::CallEnded(_)
            | Effect::ReportSample { .. } => unreachable!("this run shares nothing with other processes"),
            Effect::AbortAll => {
                let running: Vec<_> = self.running.keys().copied().collect();
                running.into_iter().for_each(|task| self.abort(task));
            }
        }
    }

    fn launch(&mut self, task: TaskIx, assignment: &Assignment) {
        let behaviour = (self.script)(assignment);
        self.launches.push((assignment.task.clone(), assignment.attempt));
        self.order += 1;
        let previous = self.running.insert(task, (self.order, assignment.attempt));
        assert!(previous.is_none(), "{} runs twice at once", assignment.task);
        self.peak = self.peak.max(self.running.len());
        assert!(self.running.len() <= self.limit as usize, "more attempts than the limit of {}", self.limit);
        self.pending.push(Reverse((self.now + behaviour.takes, self.order)));
        self.due.insert(self.order, (task, assignment.attempt, behaviour.end));
    }

    /// An attempt that is told to stop ends a moment later.
    fn abort(&mut self, task: TaskIx) {
        let Some((order, attempt)) = self.running.get(&task).copied() else { return };
        let own = self.due.remove(&order);
        self.order += 1;
        self.running.insert(task, (self.order, attempt));
        self.pending.push(Reverse((self.now + Duration::from_millis(1), self.order)));
        let cancelled = || Behaviour::fails(Duration::ZERO, Class::Cancelled).end;
        let end = own.filter(|_| self.stubborn).map_or_else(cancelled, |(_, _, end)| end);
        self.due.insert(self.order, (task, attempt, end));
    }

    /// What a look at work sees: which files are there, and nothing else.
    fn looked(&self, look: &ProofLook) -> ProofTold {
        let Some((check, _)) = &look.ended else { return ProofTold::Begun(JsonText::of(&())) };
        let found = |stated: StatedCondition| {
            let held = match &stated.condition {
                Condition::FileExists(path) => self.files.contains(path),
                // Nothing changes a file here.
                Condition::Protected(_) => true,
                _ => false,
            };
            ProofFinding::new(stated.condition, held, "")
        };
        ProofTold::Checked(ProofCheck {
            check: check.clone(),
            findings: look.proof.all().map(found).collect(),
        })
    }

    fn answer_gates(&mut self, events: &[Stamped]) -> Vec<Fact> {
        let answers = events.iter().filter_map(|stamped| match &stamped.event {
            Event::GateOpened { task, .. } => {
                let name = task.segments().last().expect("an id has parts").node;
                Some((task.clone(), self.answers.get(&name).or(self.answers.get("*")).cloned()?))
            }
            _ => None,
        });
        let fact = |(task, answer)| {
            let reply = Box::new(Reply::new(task, answer, "simulated"));
            let what = What::Answered { reply, sent: self.now, message: None };
            Fact { at: self.now, what }
        };
        answers.map(fact).collect()
    }

    /// Moves the clock to the next thing that happens.
    fn next_fact(&mut self) -> Option<Option<Fact>> {
        while let Some(Reverse((_, order))) = self.pending.peek() {
            if self.due.contains_key(order) {
                break;
            }
            self.pending.pop();
        }
        let attempt = self.pending.peek().map(|Reverse((at, _))| *at);
        let timer = self.core.next_wake();
        let at = attempt.into_iter().chain(timer).min()?;
        self.now = self.now.max(at);
        if attempt != Some(at) {
            return Some(None);
        }
        let Reverse((_, order)) = self.pending.pop().expect("peeked just now");
        let (task, attempt, end) = self.due.remove(&order).expect("checked just now");
        self.running.remove(&task);
        Some(Some(Fact { at: self.now, what: What::Ended { task, attempt, end } }))
    }

    /// How the run ended, once it has.
    pub fn ended(&self) -> Option<Ended> {
        let finished = self.core.scheduler.finished()?;
        let output = finished.output.as_ref().and_then(|payload| self.core.store.text(payload));
        Some(Ended {
            status: finished.status,
            output: output.map(|text| text.value()),
            failure: finished.failure.clone(),
            took: self.now.since(START),
        })
    }

    /// All events so far.
    pub fn events(&self) -> impl Iterator<Item = &Stamped> {
        self.commits.iter().flatten()
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Attempts that run right now.
    pub fn running(&self) -> usize {
        self.running.len()
    }
}
