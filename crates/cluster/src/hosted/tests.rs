use super::*;
use crate::wire::{Sender, TermsOfCalls};
use convoke_model::{Payload, ProofCheck, ProofTold, Usage};
use convoke_testkit::{Random, plan_of};
use std::collections::BTreeMap;

/// Runs side by side and one after the other, a task that is lost, one that fails and is tried again, and a wait.
const WORKFLOW: &str = r#"
workflow:
  name: changing hands
  entry_point: first
  limits: {max_iterations: 100}
agents:
  - {name: first, type: script, command: echo, args: [one], routes: [{to: each}]}
  - {name: nap, type: wait, duration: 3s, routes: [{to: last}]}
  - {name: last, type: script, command: echo, args: ["{{ each.outputs | length }}"]}
for_each:
  - name: each
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 7
    failure_mode: continue_on_error
    agent:
      name: one
      type: script
      command: echo
      args: ["{{ item }}"]
      on_unknown: retry
      retry: {max_attempts: 3, backoff: fixed, delay_seconds: 1}
    routes: [{to: nap}]
output:
  count: "{{ last.output.stdout }}"
"#;

/// Attempts at once.
const AT_ONCE: u32 = 5;

/// What a cluster keeps of a run, and the attempts that are under way somewhere.
struct Cluster {
    plan: Arc<Plan>,
    events: Vec<Stamped>,
    head: Head,
    book: Book,
    under_way: BTreeMap<String, Launch>,
    most_under_way: usize,
    now: Timestamp,
    hosted: Option<Hosted>,
    /// How often a host was made in place of another.
    folded: u32,
}

fn options() -> RunOptions {
    RunOptions { max_concurrency: AT_ONCE, interactive: false, limits: Default::default() }
}

fn nothing() -> Load {
    Box::new(|_| None)
}

impl Cluster {
    fn begin(items: u32) -> Cluster {
        let plan = plan_of(WORKFLOW, &[]);
        let inputs = serde_json::json!({ "items": (0..items).collect::<Vec<_>>() });
        let started = RunStarted {
            run: RunId("r".into()),
            workflow: "w".into(),
            file: "w.yaml".into(),
            folder: "/".into(),
            plan: plan.digest(),
            inputs: Payload::Inline(JsonText::of(&inputs)),
            seed: 1,
            skip_gates: false,
            version: "v".into(),
            metadata: Default::default(),
            configuration: Default::default(),
            base: None,
        };
        let now = Timestamp(1_000_000_000);
        let text = JsonText::of(&*plan);
        let begin = Begin {
            plan: text.clone(),
            started: JsonText::of(&started),
            options: options(),
            settings: JsonText::of(&()),
            host: "h".into(),
            pid: 1,
            at: now,
        };
        let read: Plan = serde_json::from_str(text.as_str()).unwrap();
        let hosted = Hosted::begin(RunId("r".into()), read, started, &begin, nothing()).unwrap();
        let mut cluster = Cluster {
            plan,
            events: Vec::new(),
            head: Head::default(),
            book: Book::default(),
            under_way: BTreeMap::new(),
            most_under_way: 0,
            now,
            hosted: Some(hosted),
            folded: 0,
        };
        cluster.turn(Vec::new());
        cluster
    }

    /// A turn, in the process that has the state, or in another one.
    fn turn(&mut self, facts: Vec<ClusterFact>) {
        let run = RunId("r".into());
        let mut hosted = self.hosted.take().unwrap_or_else(|| {
            self.folded += 1;
            let past = Past { plan: self.plan.clone(), events: self.events.clone(), options: options() };
            Hosted::attending(run, past, (self.head.clone(), self.book.clone()), self.now, nothing()).unwrap()
        });
        let decided = hosted.decide(self.now, facts);
        // What is put on record is read back in another process.
        let decided: Decided = serde_json::from_slice(&serde_json::to_vec(&decided).unwrap()).unwrap();
        self.events.extend(decided.events);
        (self.head, self.book) = (decided.head, decided.book);
        for act in decided.acts {
            match act {
                Act::Launch { name, launch } => drop(self.under_way.insert(name, *launch)),
                Act::Abort { name } => drop(self.under_way.remove(&name)),
                Act::Answer { .. } | Act::Wake { .. } | Act::List => {}
            }
        }
        self.most_under_way = self.most_under_way.max(self.under_way.len());
        assert!(hosted.is_at(&self.head, &self.book));
        self.hosted = Some(hosted);
    }

    fn end(&mut self, name: &str, end: AttemptEnd) {
        let launch = self.under_way.remove(name).unwrap();
        assert_eq!(launch.calls, TermsOfCalls::Free);
        let assignment = launch.assignment.unwrap();
        let fact = ended(&assignment.task, assignment.attempt, end, self.now);
        self.turn(vec![fact]);
    }
}

fn ended(task: &TaskId, attempt: u32, end: AttemptEnd, at: Timestamp) -> ClusterFact {
    ClusterFact { at, said: Said::Ended { task: task.clone(), attempt, end: Box::new(end) } }
}

fn finished(text: &str) -> AttemptEnd {
    let output = JsonText::of(&serde_json::json!({ "stdout": text, "stderr": "", "exit_code": 0 }));
    AttemptEnd::Finished { output, usage: Usage::default() }
}

/// How an attempt ends: by its name alone, so that no order of events changes it.
fn fate(name: &str) -> AttemptEnd {
    let number = name.bytes().map(u64::from).sum::<u64>();
    let is_first = name.ends_with("#1");
    match number % 5 {
        0 if is_first && name.contains('[') => AttemptEnd::Lost,
        1 if is_first && name.contains('[') => AttemptEnd::Failed {
            failure: Failure::new(Class::Transient, "once"),
            usage: Usage::default(),
            partial: None,
        },
        _ => finished(name),
    }
}

/// Plays a run to its end; after each turn its state is lost with this chance in a hundred.
fn play(items: u32, seed: u64, lost: u64) -> Cluster {
    let (mut cluster, mut random) = (Cluster::begin(items), Random::new(seed));
    for _ in 0..10_000 {
        if !cluster.head.is_live() {
            return cluster;
        }
        if random.percent(lost) {
            cluster.hosted = None;
        }
        let names: Vec<String> = cluster.under_way.keys().cloned().collect();
        match names.is_empty() {
            true => {
                cluster.now = cluster.now + Duration::from_millis(500);
                cluster.turn(Vec::new());
            }
            false => {
                let name = &names[random.below(names.len() as u64) as usize];
                cluster.end(name, fate(name));
            }
        }
    }
    panic!("the run does not end: {:?}", cluster.under_way.keys().collect::<Vec<_>>());
}

/// What happened, without numbers, times and order.
fn story(cluster: &Cluster) -> Vec<String> {
    let told = |stamped: &Stamped| match &stamped.event {
        Event::RetryScheduled { task, .. } => format!("retry of {task}"),
        Event::TaskStarted { task, .. } => format!("start of {task}"),
        // A queue that is made anew tells anew what it waits for.
        Event::Blocked { .. } => String::new(),
        event => serde_json::to_string(event).unwrap(),
    };
    let mut all: Vec<String> = cluster.events.iter().map(told).filter(|line| !line.is_empty()).collect();
    all.sort();
    all
}

#[test]
fn a_run_that_changes_hands_at_any_turn_tells_the_same() {
    for seed in 0..20 {
        let stays = play(23, seed, 0);
        assert_eq!(stays.head.status, Some(RunStatus::Succeeded), "seed {seed}");
        for lost in [20, 100] {
            let moves = play(23, seed, lost);
            assert!(moves.folded > 0);
            assert_eq!(story(&moves), story(&stays), "seed {seed}, {lost} in a hundred");
        }
    }
}

#[test]
fn the_limit_of_attempts_holds_across_hands() {
    for seed in 0..20 {
        let moves = play(40, seed, 100);
        assert!(moves.most_under_way <= AT_ONCE as usize, "{}", moves.most_under_way);
        assert_eq!(moves.most_under_way, AT_ONCE as usize, "it is made use of");
    }
}

#[test]
fn events_are_numbered_without_a_gap_and_the_hash_is_over_all_of_them() {
    let cluster = play(9, 3, 50);
    for (at, stamped) in cluster.events.iter().enumerate() {
        assert_eq!(stamped.seq, at as u64 + 1);
    }
    assert_eq!(cluster.head.next_seq, cluster.events.len() as u64 + 1);
    let other = play(9, 4, 50);
    assert_ne!(cluster.head.hash, other.head.hash);
}

#[test]
fn what_an_attempt_says_after_it_was_given_up_changes_nothing_and_its_cost_is_noted() {
    let mut cluster = Cluster::begin(1);
    let name = cluster.under_way.keys().next().unwrap().clone();
    let first = cluster.under_way[&name].assignment.clone().unwrap();
    cluster.end(&name, AttemptEnd::Lost);
    let before = (cluster.events.len(), cluster.under_way.len());
    let usage = Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() };
    let AttemptEnd::Finished { output, .. } = finished("late") else { unreachable!() };
    let late = ended(&first.task, first.attempt, AttemptEnd::Finished { output, usage }, cluster.now);
    cluster.turn(vec![late]);
    let noted = &cluster.events[before.0..];
    assert_eq!((noted.len(), cluster.under_way.len()), (1, before.1));
    assert!(matches!(&noted[0].event, Event::Noted { code, .. } if code == "stale_result"));
    // The same without a cost is no news at all.
    let silent = ended(&first.task, first.attempt, finished("late"), cluster.now);
    cluster.turn(vec![silent]);
    assert_eq!(cluster.events.len(), before.0 + 1);
}

#[test]
fn what_an_attempt_found_about_its_work_is_recorded_while_the_run_waits_for_it() {
    let mut cluster = Cluster::begin(1);
    let name = cluster.under_way.keys().next().unwrap().clone();
    let assignment = cluster.under_way[&name].assignment.clone().unwrap();
    let (task, attempt) = (assignment.task, assignment.attempt);
    let told = |attempt| {
        let check = ProofCheck { check: "attempt 1".into(), findings: Vec::new() };
        let told = Box::new(ProofTold::Checked(check));
        ClusterFact { at: Timestamp(0), said: Said::Proof { task: task.clone(), attempt, told } }
    };
    let recorded = |cluster: &Cluster| {
        let is_check = |stamped: &&Stamped| matches!(stamped.event, Event::ProofChecked { .. });
        cluster.events.iter().filter(is_check).count()
    };
    cluster.turn(vec![told(attempt)]);
    assert_eq!(recorded(&cluster), 1);
    cluster.turn(vec![told(attempt + 1)]);
    assert_eq!(recorded(&cluster), 1, "another attempt is not under way");
}

#[test]
fn two_ends_of_an_attempt_in_one_batch_are_one_end() {
    let mut cluster = Cluster::begin(1);
    let name = cluster.under_way.keys().next().unwrap().clone();
    let assignment = cluster.under_way.remove(&name).unwrap().assignment.unwrap();
    let end = |end| ended(&assignment.task, assignment.attempt, end, cluster.now);
    let facts = vec![end(finished("one")), end(AttemptEnd::Lost)];
    cluster.turn(facts);
    let ends = cluster.events.iter().filter(|stamped| {
        matches!(&stamped.event, Event::AttemptFinished { .. } | Event::AttemptLost { .. })
    });
    assert_eq!(ends.count(), 1);
}

#[test]
fn a_batch_is_new_once() {
    let sender = |batch| Sender { process: "p".into(), batch };
    let mut book = Book::default();
    assert!(Hosted::is_new(&book, &sender(1)));
    book.senders.insert("p".into(), 2);
    assert!(!Hosted::is_new(&book, &sender(1)) && !Hosted::is_new(&book, &sender(2)));
    assert!(Hosted::is_new(&book, &sender(3)));
}

#[test]
fn a_command_that_lets_go_has_the_attempts_end_and_a_grace_stops_them() {
    let mut cluster = Cluster::begin(1);
    let said = Said::Interrupt { now: false, by: "Ctrl-C".into() };
    cluster.turn(vec![ClusterFact { at: cluster.now, said }]);
    assert!(cluster.head.stopping && cluster.head.is_live() && cluster.under_way.len() == 1);
    // In another process, and after the grace.
    cluster.hosted = None;
    cluster.now = cluster.now + INTERRUPT_GRACE;
    let name = cluster.under_way.keys().next().unwrap().clone();
    let assignment = cluster.under_way[&name].assignment.clone().unwrap();
    cluster.turn(Vec::new());
    assert!(cluster.under_way.is_empty(), "it is told to stop");
    let failure = Failure::new(Class::Cancelled, "stopped");
    let end = AttemptEnd::Failed { failure, usage: Usage::default(), partial: None };
    cluster.turn(vec![ended(&assignment.task, assignment.attempt, end, cluster.now)]);
    assert_eq!(cluster.head.status, Some(RunStatus::Interrupted));
    assert!(matches!(cluster.events.last().unwrap().event, Event::RunInterrupted { .. }));
}
