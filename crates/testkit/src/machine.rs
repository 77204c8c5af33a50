//! Processes on one machine, simulated: each is the engine's own deciding half ([`convoke_engine::Core`]), and they share a
//! model of the capacity table and one model service. Whatever the order of things, promises hold (`promises`).
//!
//! What happens: calls with leases, rates per minute, budgets of runs and of days, run slots, learned limits and services that
//! refuse, pauses that one process hears of from another. What goes wrong (`scenario::Weather`): commits that take longer than
//! leases last, processes that are stopped, killed or told to let go at any moment and taken up by others from what was
//! committed, performers that fall silent, calls that fail or are refused.
//!
//! Promises, asserted at every step: never more calls at once than the limit; never more requests or tokens in a minute than
//! the rates; never more spent than the budgets of a run and of a day; a lease that was lost sends no call; no process calls a
//! service that it was told to leave alone; nothing begins without a run slot; each lease goes back once; no finished task is
//! done again; each task ends once. At the end: every run has an end; a process that is done holds and waits for nothing;
//! everything that was spent is on record.
//!
//! Not simulated: two owners of one journal (`journal` has tests of its own, and the engine asks its `Tenure` before each
//! call); a table that was made anew and is told what a day has spent (`engine::DayBudget`); limits that people change while
//! runs go on; answers, stops and guidance of people (see [`crate::World`]); the bytes of the table itself (`capacity` is
//! tested against a model of its own). Every schedule follows from its number.

mod agenda;
mod attempt;
mod effects;
mod journal;
mod lingering;
mod process;
mod promises;
mod sabotage;
mod samples;
mod scenario;
mod service;
mod table;
mod tally;

pub use sabotage::Sabotage;
pub use scenario::{Scenario, plans};
pub use tally::Tally;

use crate::Random;
use agenda::{Agenda, Happening, Life, Step};
use convoke_engine::{CapacityFact, Fact, Limits, What};
use convoke_model::{Event, Timestamp};
use process::{Commit, Process, Run};
use samples::Samples;
use scenario::Weather;
use service::Service;
use std::time::Duration;
use table::Table;

/// More steps than a schedule that ends takes.
const MOST_STEPS: u64 = 300_000;

struct Machine<'a> {
    now: Timestamp,
    agenda: Agenda,
    runs: Vec<Run>,
    table: Table,
    samples: Samples,
    service: Service,
    limits: Limits,
    good_for: Option<u64>,
    /// When the table is looked at because of the time.
    moment: Option<Timestamp>,
    random: Random,
    weather: Weather,
    sabotage: Option<Sabotage>,
    tally: &'a mut Tally,
}

impl Scenario {
    /// Runs the schedule to its end.
    ///
    /// # Panics
    ///
    /// If a promise is broken.
    pub fn run(self, tally: &mut Tally) {
        let service = Service::new(self.promised());
        let runs = self.runs.into_iter().enumerate();
        let runs = runs.map(|(number, (plan, most))| Run::new(plan, most, number as u64)).collect();
        let mut machine = Machine {
            now: self.start,
            agenda: Agenda::default(),
            runs,
            table: Table::new(self.sabotage),
            samples: Samples::default(),
            service,
            limits: self.limits,
            good_for: self.good_for,
            moment: None,
            random: self.random,
            weather: self.weather,
            sabotage: self.sabotage,
            tally,
        };
        machine.run();
        machine.judge_end();
        machine.tally.most = machine.tally.most.max(machine.service.most);
        machine.tally.schedules += 1;
    }
}

impl Machine<'_> {
    fn at(&mut self, at: Timestamp, what: Happening) {
        self.agenda.at(at, what);
    }

    fn soon(&mut self, most: u64, what: Happening) {
        let at = self.now + Duration::from_micros(1 + self.random.below(most));
        self.at(at, what);
    }

    fn is_sabotaged(&self, by: Sabotage) -> bool {
        self.sabotage == Some(by)
    }

    /// The process of a life, which lives.
    fn process(&mut self, life: Life) -> &mut Process {
        let process = self.runs[life.run].process.as_mut();
        process.filter(|process| process.life == life).expect("only what lives does anything")
    }

    /// A process hears something, in the order in which it was said.
    fn say(&mut self, life: Life, what: What) {
        self.process(life).inbox.push(what);
        self.soon(500, Happening::In(life, Step::Wakes));
    }

    /// Until nothing happens any more.
    fn run(&mut self) {
        for run in 0..self.runs.len() {
            self.soon(2_000_000, Happening::Resume(run));
        }
        let mut steps = 0;
        while let Some((at, what)) = self.agenda.next() {
            self.now = self.now.max(at);
            self.happen(what);
            self.serve();
            steps += 1;
            assert!(steps < MOST_STEPS, "the schedule does not end");
        }
        self.tally.steps += steps;
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::In(life, step) => self.step(life, step),
            Happening::Counts(call) => self.service.count(call, self.now),
            Happening::Answers(call) => self.answers(call),
            Happening::Kill(run) => self.kill(run),
            Happening::Stop(run, micros) => self.stop(run, micros),
            Happening::Interrupt(run) => self.interrupt(run),
            Happening::Resume(run) => self.resume(run),
            Happening::Reclaim(life) => self.reclaim(life),
            Happening::Moment => {}
        }
    }

    /// What happens in a process that is stopped happens when it goes on, in the same order.
    fn step(&mut self, life: Life, step: Step) {
        let Some(process) = self.runs[life.run].process.as_ref().filter(|process| process.life == life)
        else {
            return;
        };
        if process.away > self.now {
            let away = process.away;
            return self.at(away, Happening::In(life, step));
        }
        match step {
            Step::Hears(what) => {
                self.process(life).inbox.push(what);
                self.decide(life);
            }
            Step::Wakes => self.decide(life),
            Step::Committed => self.committed(life),
            Step::GoesOn(task, attempt) => self.goes_on(life, task, attempt),
            Step::Sends(task, attempt) => self.sends(life, task, attempt),
            Step::Gets(task, attempt, call, reply) => self.gets(life, task, attempt, call, reply),
            Step::Fetches(ask, fence) => self.fetches(life, ask, fence),
            Step::Beats => self.beats(life),
            Step::Looks => self.looks(life),
            Step::Grace => self.abort_all(life),
        }
    }

    /// Decides what follows from what was heard; the commit takes a while, sometimes longer than leases last.
    fn decide(&mut self, life: Life) {
        let at = self.now;
        let (crowded, hides) = (self.table.is_crowded(life), self.is_sabotaged(Sabotage::HidesPause));
        let process = self.process(life);
        if process.committing.is_some() {
            return;
        }
        let mut heard = std::mem::take(&mut process.inbox);
        if std::mem::replace(&mut process.crowded, crowded) != crowded {
            heard.insert(0, What::Capacity(CapacityFact::Crowded { waits: crowded }));
        }
        let before = process.paused.clone();
        process.note(&heard, at);
        let after = std::mem::replace(&mut process.paused, before);
        if hides {
            heard.retain(|what| !matches!(what, What::Capacity(CapacityFact::Paused { .. })));
        }
        let turn = process.core.decide(at, heard.into_iter().map(|what| Fact { at, what }).collect());
        assert!(!turn.cut_off, "no rendering is cancelled");
        self.judge_turn(life, &turn.effects);
        let process = self.process(life);
        process.paused = after;
        for effect in &turn.effects {
            if let convoke_engine::Effect::Pause { service, pause } = effect {
                process.pause(service, at + *pause);
            }
        }
        let (mut events, blobs) = (std::mem::take(&mut process.opening), process.core.store.take_pending());
        events.extend(turn.events);
        process.committing = Some(Commit { events, blobs, effects: turn.effects });
        let takes = match self.random.percent(self.weather.slow) {
            true => self.long(),
            false => 1 + self.random.below(3000),
        };
        // The disk is slow, or the whole process stands still.
        if takes > 3000 && self.random.percent(50) {
            self.process(life).away = at + Duration::from_micros(takes);
        }
        self.at(at + Duration::from_micros(takes), Happening::In(life, Step::Committed));
    }

    /// Longer than a lease lives; sometimes longer than what ran out is in quarantine.
    fn long(&mut self) -> u64 {
        8_000_000 + self.random.below(50_000_000)
    }

    fn committed(&mut self, life: Life) {
        let commit = self.process(life).committing.take().expect("a commit is under way");
        self.judge_commit(life, &commit.events);
        self.runs[life.run].journal.append(commit.events, commit.blobs);
        commit.effects.into_iter().for_each(|effect| self.perform(life, effect));
        self.hear_answers(life);
        let process = self.process(life);
        if process.core.scheduler.finished().is_some() {
            return self.leave(life);
        }
        let has_let_go = process.core.interrupt.is_some();
        if has_let_go && process.attempts.is_empty() && process.inbox.is_empty() {
            return self.let_go(life);
        }
        let (has_facts, wake) = (!process.inbox.is_empty(), process.core.next_wake());
        if has_let_go {
            // What a commit launched that was under way when the grace ended is stopped too.
            self.at(self.now + Duration::from_secs(5), Happening::In(life, Step::Grace));
        }
        if has_facts {
            self.soon(10, Happening::In(life, Step::Wakes));
        }
        if let Some(at) = wake.filter(|_| !has_let_go) {
            let next = at.max(self.now + Duration::from_micros(1));
            self.at(next, Happening::In(life, Step::Wakes));
        }
    }

    /// The process is done with its run, and ends.
    fn leave(&mut self, life: Life) {
        if let Some(back) = self.process(life).core.permits.leave() {
            self.table.give_back(life, &back, self.now);
        }
        self.judge_leaving(life);
        self.end_process(life);
    }

    /// The process was told to let go of its run, and nothing of it runs any more: another one goes on later.
    fn let_go(&mut self, life: Life) {
        let now = self.now;
        let process = self.process(life);
        let event = process.core.stamp(now, Event::RunInterrupted { by: "simulated".into() });
        self.runs[life.run].journal.append(vec![event], Vec::new());
        self.leave(life);
        self.tally.interrupted += 1;
        self.soon(20_000_000, Happening::Resume(life.run));
    }

    /// A process resumes a run that has not ended.
    fn resume(&mut self, run: usize) {
        if self.runs[run].process.is_some() || self.runs[run].is_over() {
            return;
        }
        let limits = self.limits.clone();
        let forgets = self.is_sabotaged(Sabotage::ForgetsSpending);
        self.runs[run].take_up(run, &limits, forgets, self.now);
        let life = self.runs[run].process.as_ref().expect("it was taken up").life;
        self.soon(1000, Happening::In(life, Step::Wakes));
        self.soon(2_500_000, Happening::In(life, Step::Beats));
        self.trouble(run);
    }

    /// What is in store for a process.
    fn trouble(&mut self, run: usize) {
        let Weather { killed, stopped, interrupted, .. } = self.weather;
        if self.random.percent(killed) {
            let within = if self.random.percent(50) { 500_000 } else { 60_000_000 };
            self.soon(within, Happening::Kill(run));
        }
        if self.random.percent(stopped) {
            let micros = self.long();
            self.soon(60_000_000, Happening::Stop(run, micros));
        }
        if self.random.percent(interrupted) {
            self.soon(60_000_000, Happening::Interrupt(run));
        }
    }

    fn stop(&mut self, run: usize, micros: u64) {
        let until = self.now + Duration::from_micros(micros);
        if let Some(process) = &mut self.runs[run].process {
            process.away = until.max(process.away);
            self.tally.stopped += 1;
        }
    }

    fn interrupt(&mut self, run: usize) {
        let Some(process) = &self.runs[run].process else { return };
        let (life, now) = (process.life, self.random.percent(30));
        self.say(life, What::Interrupt { now, by: "simulated".into() });
        self.at(self.now + Duration::from_secs(5), Happening::In(life, Step::Grace));
    }

    /// A process ends without a word. A commit that was under way is on disk as a whole, or not at all.
    fn kill(&mut self, run: usize) {
        let Some(process) = &mut self.runs[run].process else { return };
        let (life, commit) = (process.life, process.committing.take());
        self.forgive(commit.as_ref());
        if let Some(commit) = commit.filter(|_| self.random.percent(50)) {
            self.judge_commit(life, &commit.events);
            self.runs[run].journal.append(commit.events, commit.blobs);
        }
        if self.is_sabotaged(Sabotage::LosesCommit) {
            self.runs[run].journal.lose();
        }
        self.end_process(life);
        self.soon(20_000_000, Happening::Resume(run));
    }

    /// A process is gone: its connections are closed, but for those of other processes that perform attempts of it.
    fn end_process(&mut self, life: Life) {
        let process = self.runs[life.run].process.take().expect("it lives");
        for attempt in process.attempts.values() {
            if let Some(call) = attempt.call() {
                self.service.close(call, self.now);
            }
        }
        self.soon(3_000_000, Happening::Reclaim(life));
    }

    /// The table finds that a process is gone.
    fn reclaim(&mut self, life: Life) {
        let survived = !self.service.of(life).is_empty();
        self.table.reclaim(life, survived, self.now);
        self.samples.forget(life);
    }
}
