//! What a schedule is about, from its number: runs, limits, and how unkind the world is.

use super::sabotage::Sabotage;
use crate::{Random, plan_of};
use convoke_engine::{Breaker, Limits, ServiceLimit, Stated};
use convoke_model::{Budget, Timestamp, WhenSpent};
use convoke_plan::Plan;
use std::sync::Arc;
use std::time::Duration;

/// The one model.
pub(super) const MODEL: &str = "gpt-5";

/// What every call sends, and the most that comes back, in tokens.
pub(super) const INPUT: u64 = 10;
pub(super) const OUTPUT: u64 = 20;
pub(super) const WORST: u64 = INPUT + OUTPUT;

/// What a token costs, in millionths of a dollar: no multiple of the unit that processes share money in.
pub(super) const PRICE: u64 = 70;

/// Midnight after the first day of a schedule.
const MIDNIGHT: u64 = 20_000 * 86_400_000_000;

/// How unkind the world is, each in percent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Weather {
    /// A commit takes longer than leases last.
    pub slow: u64,
    /// The performer of a call falls silent.
    pub silent: u64,
    /// A call fails.
    pub fails: u64,
    /// The service refuses a call for no reason.
    pub refuses: u64,
    /// A process is killed, and so is the next one of its run.
    pub killed: u64,
    /// A process is stopped for a while.
    pub stopped: u64,
    /// A process is told to let go.
    pub interrupted: u64,
}

/// What the service was promised.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Promised {
    pub at_once: Option<u64>,
    pub requests: Option<u64>,
    pub tokens: Option<u64>,
    pub run_tokens: Option<u64>,
    pub run_micros: Option<u64>,
    pub day_tokens: Option<u64>,
    pub day_micros: Option<u64>,
}

/// One schedule.
#[derive(Debug)]
pub struct Scenario {
    pub(super) start: Timestamp,
    /// Each run with the attempts that it has at once.
    pub(super) runs: Vec<(Arc<Plan>, u32)>,
    pub(super) limits: Limits,
    pub(super) weather: Weather,
    /// So many calls at once are good for the service; no process is told.
    pub(super) good_for: Option<u64>,
    pub(super) sabotage: Option<Sabotage>,
    pub(super) random: Random,
}

impl Scenario {
    /// The schedule of a number, with some of these plans.
    pub fn of(seed: u64, plans: &[Arc<Plan>]) -> Scenario {
        let mut random = Random::new(seed);
        let limits = limits(&mut random);
        let runs = 2 + random.below(5) / 4;
        let runs = (0..runs).map(|_| {
            let plan = &plans[random.below(plans.len() as u64) as usize];
            (plan.clone(), 1 + random.below(5) as u32)
        });
        let runs = runs.collect();
        let weather = weather(&mut random);
        let good_for = random.percent(30).then(|| 1 + random.below(4));
        let start = Timestamp(MIDNIGHT - 1_000_000 * (20 + random.below(300)));
        Scenario { start, runs, limits, weather, good_for, sabotage: None, random }
    }

    /// The same, with a part that does not do what it should.
    pub fn sabotaged(self, by: Sabotage) -> Scenario {
        Scenario { sabotage: Some(by), ..self }
    }

    pub(super) fn promised(&self) -> Promised {
        let service = &self.limits.services[0];
        let limit = |stated: &Option<Stated>| stated.as_ref().map(|stated| stated.limit);
        let (run, day) = (self.limits.run.clone().unwrap_or_default(), self.limits.day.clone());
        let day = day.unwrap_or_default();
        Promised {
            at_once: limit(&service.concurrency),
            requests: limit(&service.requests_per_minute),
            tokens: limit(&service.tokens_per_minute),
            run_tokens: run.tokens,
            run_micros: run.micros,
            day_tokens: day.tokens,
            day_micros: day.micros,
        }
    }
}

/// Plans are compiled once: schedules are what there are many of.
pub fn plans() -> Vec<Arc<Plan>> {
    (0..12).map(|seed| plan(&mut Random::new(seed))).collect()
}

fn plan(random: &mut Random) -> Arc<Plan> {
    let items = (0..1 + random.below(5)).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let retry = "retry: {max_attempts: 4, delay_seconds: 0.01}";
    let gpu = if random.percent(30) { ", resources: {gpu: 1}" } else { "" };
    let text = format!(
        "
workflow: {{name: w, runtime: {{provider: openai, default_model: {MODEL}}}}}
for_each:
  - {{name: each, type: for_each, items: [{items}], as: it, max_concurrent: {}, failure_mode: continue_on_error, agent: {{name: one, prompt: 'it {{{{ it }}}}', {retry}}}}}
parallel: [{{name: both, agents: [a, b], failure_mode: continue_on_error}}]
agents:
  - {{name: a, prompt: a, {retry}{gpu}}}
  - {{name: b, prompt: b, {retry}}}
  - {{name: last, prompt: last, needs: [{{step: each, requires: any}}, {{step: both, requires: any}}], {retry}}}
",
        1 + random.below(4)
    );
    plan_of(&text, &[])
}

fn stated(limit: u64) -> Stated {
    Stated { limit, origin: "test".into() }
}

fn limits(random: &mut Random) -> Limits {
    let mut some =
        |percent: u64, least: u64, more: u64| random.percent(percent).then(|| least + random.below(more));
    let service = ServiceLimit {
        provider: "openai".into(),
        model: None,
        concurrency: some(60, 1, 4).map(stated),
        requests_per_minute: some(25, 4, 30).map(stated),
        tokens_per_minute: some(25, WORST, 600).map(stated),
    };
    let mut budget = |percent: u64, least: u64, when_spent: WhenSpent| Budget {
        tokens: some(percent, least, 1500),
        micros: some(percent, least * PRICE, 1500 * PRICE),
        when_spent,
        ..Budget::default()
    };
    let run = budget(25, 2 * WORST, WhenSpent::Stop);
    // What waits for midnight has to come to an end in few days.
    let days = [budget(20, 2 * WORST, WhenSpent::Stop), budget(20, 20 * WORST, WhenSpent::Queue)];
    let [stop, queue] = days;
    let day = if random.percent(50) { stop } else { queue };
    let is_some = |budget: &Budget| budget.tokens.is_some() || budget.micros.is_some();
    Limits {
        machine: Some(stated(1 + random.below(6))),
        orchestrations: random.percent(30).then(|| stated(1 + random.below(2))),
        services: vec![service],
        resources: vec![("gpu".into(), stated(1 + random.below(2)))],
        run: Some(run).filter(is_some),
        day: Some(day).filter(is_some),
        breaker: random.percent(15).then(Breaker::default),
        max_wait: random.percent(10).then(|| Duration::from_secs(1 + random.below(60))),
        seed: random.number(),
        ..Limits::default()
    }
}

fn weather(random: &mut Random) -> Weather {
    let mut most = |percent: u64| random.below(percent + 1);
    Weather {
        slow: most(2),
        silent: most(5),
        fails: most(12),
        refuses: most(6),
        killed: most(60),
        stopped: most(60),
        interrupted: most(25),
    }
}
