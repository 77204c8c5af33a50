//! Two engines on one machine, simulated: what they share, the calls of their attempts, leases that run out, performers
//! that fall silent, commits that take long. Whatever the order of things, promises hold.
//!
//! Every schedule follows from a number. `CONVOKE_SCHEDULES` says how many there are, `CONVOKE_SCHEDULES_FROM` which
//! number is the first. The long form: `CONVOKE_SCHEDULES=100000 cargo nextest run -p convoke-testkit machine::
//! --no-capture`.
//!
//! Not simulated here: rates and budgets that processes share, limits that are learned, and processes that die
//! (`properties` has crashes, without capacity).
#![allow(clippy::print_stderr, reason = "the count is told")]

mod process;
mod table;

use convoke_agent::{Admitted, CallDemand, Report};
use convoke_engine::budget::Spending;
use convoke_engine::{Calls, CapacityFact, Effect, Fact, Fence, Limits, ServiceLimit, Stated, Terms, What};
use convoke_govern::Outcome;
use convoke_model::{
    Assignment, AttemptEnd, Budget, Class, Event, Failure, JsonText, TaskId, Timestamp, Usage, reason,
};
use convoke_plan::Plan;
use convoke_schedule::TaskIx;
use convoke_testkit::{Random, plan_of};
use process::{Attempt, Happening, Process, START};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;
use table::Table;
use tokio::sync::oneshot;

const MODEL: &str = "gpt-5";

/// What every call sends, and the most that comes back, in tokens.
const INPUT: u64 = 10;
const OUTPUT: u64 = 20;
const WORST: u64 = INPUT + OUTPUT;

/// How unkind the world is, in percent.
struct Weather {
    away: u64,
    silent: u64,
    fails: u64,
}

#[derive(Default)]
struct Tally {
    schedules: u64,
    calls: u64,
    lost: u64,
    silent: u64,
    refused: u64,
    lapsed: u64,
    most: usize,
}

struct Machine<'a> {
    now: Timestamp,
    order: u64,
    agenda: BTreeMap<(Timestamp, u64), Happening>,
    processes: Vec<Process>,
    table: Table,
    /// Calls that the provider works on, and how many it may at once.
    in_flight: BTreeSet<u64>,
    limit: usize,
    /// Calls whose performers are silent.
    unheard: BTreeSet<u64>,
    random: Random,
    weather: Weather,
    tally: &'a mut Tally,
}

impl Machine<'_> {
    fn soon(&mut self, most: u64, what: Happening) {
        let at = self.now + Duration::from_micros(1 + self.random.below(most));
        self.at(at, what);
    }

    fn at(&mut self, at: Timestamp, what: Happening) {
        self.order += 1;
        self.agenda.insert((at, self.order), what);
    }

    /// Until nothing happens any more.
    fn run(&mut self) {
        for process in 0..self.processes.len() {
            self.soon(1000, Happening::Wakes(process));
        }
        let mut steps = 0;
        while let Some(((at, _), what)) = self.agenda.pop_first() {
            self.now = self.now.max(at);
            self.happen(what);
            steps += 1;
            assert!(steps < 100_000, "it does not come to its end");
        }
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Hears(process, what) => {
                self.processes[process].inbox.push(what);
                self.decide(process);
            }
            Happening::Wakes(process) => self.decide(process),
            Happening::Committed(process, events, effects) => self.committed(process, events, effects),
            Happening::GoesOn(process, task, attempt) => self.goes_on(process, task, attempt),
            Happening::Answered(process, task, attempt, call) => self.answered(process, task, attempt, call),
        }
    }

    /// Decides what follows from what was heard; the commit takes a while, sometimes longer than leases last.
    fn decide(&mut self, process: usize) {
        let own = &mut self.processes[process];
        if own.busy {
            return;
        }
        let at = self.now;
        let facts = own.inbox.drain(..).map(|what| Fact { at, what }).collect();
        let turn = own.core.decide(at, facts);
        assert!(!turn.cut_off);
        own.busy = true;
        let takes = match self.random.percent(self.weather.away) {
            true => {
                self.processes[process].away = at + Duration::from_secs(30);
                30_000_000
            }
            false => self.random.below(3000),
        };
        let done = at + Duration::from_micros(takes);
        self.at(done, Happening::Committed(process, turn.events, turn.effects));
    }

    fn committed(&mut self, process: usize, events: Vec<convoke_model::Stamped>, effects: Vec<Effect>) {
        let was_away = self.processes[process].away == self.now;
        self.processes[process].commit(events);
        self.processes[process].busy = false;
        effects.into_iter().for_each(|effect| self.perform(process, effect));
        if was_away {
            let fences = self.table.lose(process);
            self.tally.lost += fences.len() as u64;
            self.processes[process].inbox.push(What::Capacity(CapacityFact::Lost { fences }));
        }
        self.grant();
        self.hear_answers(process);
        if !self.processes[process].inbox.is_empty() {
            self.soon(10, Happening::Wakes(process));
        }
        if let Some(at) = self.processes[process].core.next_wake() {
            let next = at.max(self.now + Duration::from_micros(1));
            self.at(next, Happening::Wakes(process));
        }
    }

    fn grant(&mut self) {
        for (process, request, fence) in self.table.grant() {
            let is_away = self.processes[process].away > self.now;
            let news = match is_away && self.random.percent(50) {
                true => {
                    self.table.lapse(fence);
                    self.tally.lapsed += 1;
                    CapacityFact::Lapsed { request }
                }
                false => CapacityFact::Granted { request, fence: Fence(fence) },
            };
            self.soon(500, Happening::Hears(process, What::Capacity(news)));
        }
    }

    fn perform(&mut self, process: usize, effect: Effect) {
        match effect {
            Effect::Launch(task, assignment, terms) => self.launch(process, task, &assignment, terms),
            Effect::Abort(task) => self.abort(process, task),
            Effect::AbortAll => {
                let running: Vec<_> = self.processes[process].attempts.keys().copied().collect();
                running.into_iter().for_each(|task| self.abort(process, task));
            }
            Effect::Answer(reply, answer) => drop(reply.send(*answer)),
            Effect::Acknowledge(written) => drop(written.send(())),
            Effect::RequestLease { request, wants } => self.table.request(process, request, wants),
            Effect::WithdrawRequest(request) => self.table.withdraw(process, request),
            Effect::GiveBack(back) => self.table.give_back(process, &back),
            Effect::LookUpFiles(..) | Effect::Patch { .. } => unreachable!("these plans look at nothing"),
            // Nothing is learned of services here, and nobody raises budgets.
            Effect::StopCalls
            | Effect::Subscribe { .. }
            | Effect::CallStarted(_)
            | Effect::CallEnded(_)
            | Effect::ReportSample { .. }
            | Effect::Pause { .. }
            | Effect::Allow { .. } => {}
        }
    }

    fn launch(&mut self, process: usize, task: TaskIx, assignment: &Assignment, terms: Terms) {
        let attempt = Attempt {
            id: assignment.task.clone(),
            number: assignment.attempt,
            fence: terms.fence.map(|fence| fence.0),
            left: 1 + self.random.below(3),
            covered: matches!(&terms.calls, Calls::Asked(Some(model)) if **model == *MODEL),
            free: terms.calls == Calls::Free,
            answer: None,
            call: None,
            usage: Usage::default(),
        };
        let before = self.processes[process].attempts.insert(task, attempt);
        assert!(before.is_none(), "{} runs twice at once", assignment.task);
        self.soon(2000, Happening::GoesOn(process, task, assignment.attempt));
    }

    /// The attempt that is meant, if it runs still.
    fn attempt(&mut self, process: usize, task: TaskIx, number: u32) -> Option<&mut Attempt> {
        self.processes[process].attempts.get_mut(&task).filter(|attempt| attempt.number == number)
    }

    /// What an attempt does stands still while its process does.
    fn stands_still(&mut self, process: usize, again: Happening) -> Option<Happening> {
        let away = self.processes[process].away;
        if away <= self.now {
            return Some(again);
        }
        self.at(away + Duration::from_micros(1), again);
        None
    }

    fn goes_on(&mut self, process: usize, task: TaskIx, number: u32) {
        if self.stands_still(process, Happening::GoesOn(process, task, number)).is_none() {
            return;
        }
        let Some(attempt) = self.attempt(process, task, number) else { return };
        if attempt.left == 0 {
            let (id, usage) = (attempt.id.clone(), attempt.usage);
            let output = JsonText::of(&serde_json::json!({ "said": id.to_string() }));
            self.processes[process].finished.push((id, number));
            return self.end(process, task, AttemptEnd::Finished { output, usage });
        }
        if std::mem::take(&mut attempt.covered) || attempt.free {
            return self.call(process, task);
        }
        let (reply, answer) = oneshot::channel();
        attempt.answer = Some(answer);
        let demand = CallDemand {
            task: attempt.id.clone(),
            attempt: number,
            provider: "openai".into(),
            model: MODEL.into(),
            input_tokens: INPUT,
            output_tokens: OUTPUT,
            cost_micros: Some(WORST),
            refused: Vec::new(),
        };
        let asked = What::CallAsked { task, attempt: number, demand, reply };
        // What an attempt says is heard in its order.
        self.processes[process].inbox.push(asked);
        self.soon(100, Happening::Wakes(process));
    }

    /// Attempts that asked for a call hear whether they may make it.
    fn hear_answers(&mut self, process: usize) {
        let tasks: Vec<_> = self.processes[process].attempts.keys().copied().collect();
        for task in tasks {
            let attempt = self.processes[process].attempts.get_mut(&task).expect("listed just now");
            let Some(answer) = attempt.answer.as_mut().and_then(|answer| answer.try_recv().ok()) else {
                continue;
            };
            attempt.answer = None;
            match answer {
                Ok(Admitted::Go(_)) => self.call(process, task),
                Ok(Admitted::Instead(model)) => panic!("nobody offers {model}"),
                Err(failure) => {
                    self.tally.refused += 1;
                    self.fail(process, task, failure);
                }
            }
        }
    }

    /// A call is sent, unless the lease of the attempt has run out.
    fn call(&mut self, process: usize, task: TaskIx) {
        let attempt = &self.processes[process].attempts[&task];
        if attempt.fence.is_some_and(|fence| self.table.is_lost(fence)) {
            let failure = Failure::new(Class::Cancelled, "its lease ran out").reason(reason::FENCED);
            return self.fail(process, task, failure);
        }
        self.order += 1;
        let (call, number) = (self.order, attempt.number);
        self.in_flight.insert(call);
        // Until more is known it has used all that it may.
        self.processes[process].spent += WORST;
        self.tally.calls += 1;
        self.tally.most = self.tally.most.max(self.in_flight.len());
        assert!(self.in_flight.len() <= self.limit, "more calls than the limit of {}", self.limit);
        self.processes[process].attempts.get_mut(&task).expect("it runs").call = Some(call);
        self.soon(20_000, Happening::Answered(process, task, number, call));
        if self.random.percent(self.weather.silent) {
            self.unheard.insert(call);
            self.fall_silent(process, task, number);
        }
    }

    /// The attempt's performer is not heard of any more; its call goes on.
    fn fall_silent(&mut self, process: usize, task: TaskIx, attempt: u32) {
        self.tally.silent += 1;
        self.processes[process].attempts.remove(&task);
        let silent = What::Reported { task, attempt, report: Report::Silent };
        self.processes[process].inbox.extend([silent, What::Ended { task, attempt, end: AttemptEnd::Lost }]);
        self.soon(10, Happening::Wakes(process));
    }

    fn answered(&mut self, process: usize, task: TaskIx, number: u32, call: u64) {
        // The provider is done at its own time, whatever the process does; one that was dropped is gone already.
        let is_news = self.in_flight.remove(&call);
        let output_tokens = OUTPUT / 2 + call % (OUTPUT / 2 + 1);
        if is_news {
            self.processes[process].spent -= OUTPUT - output_tokens;
        }
        let again = Happening::Answered(process, task, number, call);
        if self.stands_still(process, again).is_none() {
            return;
        }
        let fails = self.random.percent(self.weather.fails);
        let Some(attempt) = self.attempt(process, task, number).filter(|attempt| attempt.call == Some(call))
        else {
            // The attempt has ended: it was aborted, or its performer fell silent and is done now.
            if self.unheard.remove(&call) {
                let gone = What::Reported { task, attempt: number, report: Report::LetGo };
                self.soon(100, Happening::Hears(process, gone));
            }
            return;
        };
        attempt.call = None;
        attempt.left -= 1;
        let used = Usage {
            calls: 1,
            input_tokens: INPUT,
            output_tokens,
            cost_micros: INPUT + output_tokens,
            ..Usage::default()
        };
        attempt.usage += used;
        let outcome = if fails { Outcome::Invalid } else { Outcome::Succeeded };
        let ended = What::CallEnded { task, attempt: number, usage: Some(used), outcome };
        self.processes[process].inbox.push(ended);
        if fails {
            return self.end_badly(process, task, Failure::new(Class::Transient, "simulated"));
        }
        self.soon(10, Happening::Wakes(process));
        self.soon(2000, Happening::GoesOn(process, task, number));
    }

    /// An attempt ends badly, with its open call.
    fn fail(&mut self, process: usize, task: TaskIx, failure: Failure) {
        let attempt = &self.processes[process].attempts[&task];
        let (number, call) = (attempt.number, attempt.call);
        if let Some(call) = call {
            self.in_flight.remove(&call);
        }
        let ended = What::CallEnded { task, attempt: number, usage: None, outcome: Outcome::Unknown };
        self.processes[process].inbox.push(ended);
        self.end_badly(process, task, failure);
    }

    fn end_badly(&mut self, process: usize, task: TaskIx, failure: Failure) {
        let usage = self.processes[process].attempts[&task].usage;
        self.end(process, task, AttemptEnd::Failed { failure, usage, partial: None });
    }

    fn end(&mut self, process: usize, task: TaskIx, end: AttemptEnd) {
        let attempt = self.processes[process].attempts.remove(&task).expect("it runs");
        self.processes[process].inbox.push(What::Ended { task, attempt: attempt.number, end });
        self.soon(10, Happening::Wakes(process));
    }

    fn abort(&mut self, process: usize, task: TaskIx) {
        if self.processes[process].attempts.contains_key(&task) {
            self.fail(process, task, Failure::new(Class::Cancelled, "it was told to stop"));
        }
    }
}

fn plan(random: &mut Random) -> Arc<Plan> {
    let items = (0..1 + random.below(5)).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let retry = "retry: {max_attempts: 4, delay_seconds: 0.01}";
    let text = format!(
        "
workflow: {{name: w, runtime: {{provider: openai, default_model: {MODEL}}}}}
for_each:
  - {{name: each, type: for_each, items: [{items}], as: it, max_concurrent: {}, failure_mode: continue_on_error, agent: {{name: one, prompt: 'it {{{{ it }}}}', {retry}}}}}
parallel: [{{name: both, agents: [a, b], failure_mode: continue_on_error}}]
agents:
  - {{name: a, prompt: a, {retry}}}
  - {{name: b, prompt: b, {retry}}}
  - {{name: last, prompt: last, needs: [{{step: each, requires: any}}, {{step: both, requires: any}}], {retry}}}
",
        1 + random.below(4)
    );
    plan_of(&text, &[])
}

fn limits(random: &mut Random) -> Limits {
    let stated = |limit| Stated { limit, origin: "test".into() };
    let service = ServiceLimit {
        provider: "openai".into(),
        concurrency: Some(stated(1 + random.below(4))),
        ..ServiceLimit::default()
    };
    let tokens = random.percent(50).then(|| 60 + random.below(1500));
    Limits {
        machine: Some(stated(1 + random.below(6))),
        services: vec![service],
        run: tokens.map(|tokens| Budget { tokens: Some(tokens), ..Budget::default() }),
        seed: random.number(),
        ..Limits::default()
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Plans are compiled once: schedules are what there are many of.
fn plans() -> Vec<Arc<Plan>> {
    (0..12).map(|seed| plan(&mut Random::new(seed))).collect()
}

fn schedule(seed: u64, plans: &[Arc<Plan>], tally: &mut Tally) {
    let mut random = Random::new(seed);
    let limits = limits(&mut random);
    let limit = limits.services[0].concurrency.as_ref().map_or(0, |stated| stated.limit) as usize;
    let weather = Weather { away: random.below(4), silent: random.below(6), fails: random.below(15) };
    let mut processes = Vec::new();
    for _ in 0..2 {
        let plan = &plans[random.below(plans.len() as u64) as usize];
        processes.push(Process::new(plan, 1 + random.below(5) as u32, &limits, seed));
    }
    let mut machine = Machine {
        now: START,
        order: 0,
        agenda: BTreeMap::new(),
        processes,
        table: Table::default(),
        in_flight: BTreeSet::new(),
        limit,
        unheard: BTreeSet::new(),
        random,
        weather,
        tally,
    };
    machine.run();
    machine.tally.schedules += 1;
    for process in &machine.processes {
        judge(process, &limits);
    }
    assert!(machine.in_flight.is_empty(), "no call is under way");
    assert_eq!(machine.table.held(), [""; 0], "what was held has gone back");
}

fn judge(process: &Process, limits: &Limits) {
    assert!(process.is_over(), "the run has an end; {} attempts run", process.attempts.len());
    let ended = |event: &Event| match event {
        Event::AttemptFinished { task, attempt, .. } => Some((task.clone(), *attempt)),
        _ => None,
    };
    let recorded: Vec<(TaskId, u32)> =
        process.events.iter().filter_map(|stamped| ended(&stamped.event)).collect();
    let tasks: HashSet<_> = recorded.iter().map(|(task, _)| task).collect();
    assert_eq!(tasks.len(), recorded.len(), "nothing is done twice");
    for finished in &process.finished {
        assert!(recorded.contains(finished), "{finished:?} was done and is not recorded");
    }
    if let Some(tokens) = limits.run.as_ref().and_then(|budget| budget.tokens) {
        assert!(process.spent <= tokens, "{} tokens of {tokens} are spent", process.spent);
        let spending = Spending::of(&process.events);
        let recorded: u64 =
            spending.all().map(|spent| spent.usage.input_tokens + spent.usage.output_tokens).sum();
        assert!(recorded >= process.spent, "{recorded} of {} tokens are on record", process.spent);
    }
}

#[test]
fn promises_hold_whatever_two_processes_do() {
    let (count, from) = (number("CONVOKE_SCHEDULES", 400), number("CONVOKE_SCHEDULES_FROM", 0));
    let plans = plans();
    let mut tally = Tally::default();
    for seed in from..from + count {
        let held =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| schedule(seed, &plans, &mut tally)));
        assert!(
            held.is_ok(),
            "schedule {seed}: CONVOKE_SCHEDULES=1 CONVOKE_SCHEDULES_FROM={seed} repeats it"
        );
    }
    eprintln!(
        "{} schedules from {from} on: {} calls, {} at once at most, {} leases lost, {} grants lapsed, {} silent, {} calls refused",
        tally.schedules, tally.calls, tally.most, tally.lost, tally.lapsed, tally.silent, tally.refused
    );
    let met = [tally.lost, tally.silent, tally.refused, tally.lapsed];
    assert!(count < 400 || met.iter().all(|times| *times > 0), "everything was met: {met:?}");
}
