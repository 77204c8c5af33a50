//! Carrying out what a turn decided, once it is on disk: attempts, and everything about the table that processes share.

use super::Machine;
use super::agenda::{Happening, Life, Step};
use super::sabotage::Sabotage;
use super::samples::{NO_LIMIT, learned_name};
use super::table::{Answer, BEAT};
use convoke_engine::{CapacityFact, Effect, Fence, Learned, RequestNo, Return, Want, What};
use convoke_govern::{Change, LearnedLimit, Sample};
use convoke_model::LimitReason;
use std::time::Duration;

impl Machine<'_> {
    pub(super) fn perform(&mut self, life: Life, effect: Effect) {
        match effect {
            Effect::Launch(task, assignment, terms) => self.launch(life, task, &assignment, terms),
            Effect::Abort(task) => self.abort(life, task),
            Effect::AbortAll => self.abort_all(life),
            Effect::Answer(reply, answer) => drop(reply.send(*answer)),
            Effect::Acknowledge(written) => drop(written.send(())),
            Effect::RequestLease { request, wants } => self.request(life, request, wants),
            Effect::WithdrawRequest(request) => self.table.withdraw(life, request),
            Effect::GiveBack(back) => self.give_back(life, &back),
            Effect::Subscribe { service, remembered } => self.subscribe(life, service, remembered),
            Effect::CallStarted(service) => self.samples.call_started(service, life),
            Effect::CallEnded(service) => self.samples.call_ended(service, life),
            Effect::ReportSample { service, sample } => self.report_sample(life, &service, &sample),
            Effect::Pause { service, pause } => self.pause(&service, pause),
            // No simulated run is stopped, asks for more money, looks for files, proves the work of parts, has workspaces or shares a project.
            Effect::StopCalls
            | Effect::Allow { .. }
            | Effect::Guide(..)
            | Effect::LookUpFiles(..)
            | Effect::LetGo { .. }
            | Effect::LookAtProof(..)
            | Effect::Patch { .. } => {
                unreachable!("nothing of these runs leads to it")
            }
        }
    }

    fn request(&mut self, life: Life, request: RequestNo, wants: Vec<Want>) {
        let fact = match self.table.request(life, request, wants, self.now) {
            None => return,
            Some(Answer::Queued { on }) => CapacityFact::Queued { request, on },
            Some(Answer::Unpaid { budget }) => {
                self.tally.unpaid += 1;
                CapacityFact::Unpaid { request, budget, used: 0 }
            }
            Some(Answer::Never { why }) => CapacityFact::Refused { request, why },
        };
        self.soon(500, Happening::In(life, Step::Hears(What::Capacity(fact))));
    }

    fn give_back(&mut self, life: Life, back: &Return) {
        if self.is_sabotaged(Sabotage::KeepsLost) && self.table.is_lost(back.fence.0) {
            return;
        }
        self.table.give_back(life, back, self.now);
        if self.is_sabotaged(Sabotage::ReturnsTwice) {
            self.table.give_back(life, back, self.now);
        }
    }

    /// The table grants what it can.
    pub(super) fn serve(&mut self) {
        for (life, request, fence) in self.table.serve(self.now) {
            self.soon(50_000, Happening::In(life, Step::Fetches(request, fence)));
        }
        if let Some(next) = self.table.next_moment(self.now)
            && self.moment.is_none_or(|known| next < known || known <= self.now)
        {
            let next = next.max(self.now + Duration::from_micros(1));
            self.moment = Some(next);
            self.at(next, Happening::Moment);
        }
    }

    pub(super) fn fetches(&mut self, life: Life, request: RequestNo, fence: u64) {
        let fact = match self.table.fetch(fence, self.now) {
            // The request was taken back meanwhile, and its lease with it.
            None => return,
            Some(false) => {
                self.tally.lapsed += 1;
                CapacityFact::Lapsed { request }
            }
            Some(true) if self.is_sabotaged(Sabotage::DropsGrant) && fence.is_multiple_of(16) => return,
            Some(true) => {
                self.process(life).coming.insert(fence);
                CapacityFact::Granted { request, fence: Fence(fence) }
            }
        };
        self.say(life, What::Capacity(fact));
    }

    /// Renews leases, and looks at what waits for money.
    pub(super) fn beats(&mut self, life: Life) {
        // Where nothing happens for long, nothing is renewed in between.
        let quiet = self.agenda.next_besides_beats().unwrap_or(self.now);
        let next = quiet.max(self.now + BEAT);
        self.process(life).beat = self.now;
        let fences = self.table.beat(life, self.now, next);
        if !fences.is_empty() {
            self.tally.lost += fences.len() as u64;
            self.say(life, What::Capacity(CapacityFact::Lost { fences }));
        }
        for (request, budget) in self.table.unpaid(life, self.now) {
            self.tally.unpaid += 1;
            self.say(life, What::Capacity(CapacityFact::Unpaid { request, budget, used: 0 }));
        }
        self.at(next, Happening::In(life, Step::Beats));
    }

    fn subscribe(&mut self, life: Life, service: String, remembered: Option<LearnedLimit>) {
        let changed = self.samples.recall(&service, remembered, &mut self.table, self.now);
        self.process(life).services.entry(service.clone()).or_default();
        self.tell_learned(life, &service, None, LimitReason::Shared);
        self.looks(life);
        self.tell_all(changed);
    }

    fn report_sample(&mut self, life: Life, service: &str, sample: &Sample) {
        self.tally.samples += 1;
        let (change, changed) = self.samples.report(service, sample, &mut self.table);
        self.tell_learned(life, service, change, sample.reason);
        self.tell_all(changed);
    }

    fn pause(&mut self, service: &str, pause: Duration) {
        self.tally.paused += 1;
        self.table.pause(&learned_name(service), self.now + pause);
        self.tell_all(true);
    }

    /// All processes look at what there is to know, the one that has changed it too.
    fn tell_all(&mut self, changed: bool) {
        let lives: Vec<_> = self.runs.iter().filter_map(|run| Some(run.process.as_ref()?.life)).collect();
        for life in lives.into_iter().filter(|_| changed) {
            self.soon(100_000, Happening::In(life, Step::Looks));
        }
    }

    /// Tells a process what others have learned, and which services are to be left alone.
    pub(super) fn looks(&mut self, life: Life) {
        let services: Vec<String> = self.process(life).services.keys().cloned().collect();
        for service in services {
            let until = self.table.paused_until(&learned_name(&service), self.now);
            let now = self.now;
            let subscribed = self.process(life).services.get_mut(&service).expect("listed just now");
            if let Some(until) = until.filter(|until| *until > subscribed.paused_until) {
                subscribed.paused_until = until;
                let (service, pause) = (service.clone(), until.since(now));
                self.say(life, What::Capacity(CapacityFact::Paused { service, pause }));
            }
            let told = self.process(life).services[&service].told;
            let change = Change { from: told, to: self.samples.known(&service).told() };
            let change = Some(change).filter(|change| change.from != change.to);
            self.tell_learned(life, &service, change, LimitReason::Shared);
        }
    }

    /// Tells a process of another limit than it knows of.
    fn tell_learned(&mut self, life: Life, service: &str, change: Option<Change>, reason: LimitReason) {
        let knowledge = self.samples.known(service);
        let limit = knowledge.known().map_or(NO_LIMIT, |_| knowledge.limit());
        let Some(subscribed) = self.process(life).services.get_mut(service) else { return };
        subscribed.told = knowledge.told();
        let before = std::mem::replace(&mut subscribed.limit, limit);
        if before == limit && change.is_none() {
            return;
        }
        let learned = Learned {
            service: service.to_owned(),
            knowledge,
            limited: limit != NO_LIMIT,
            change: change.map(|change| (change.from, change.to)),
            reason,
        };
        self.say(life, What::Capacity(CapacityFact::Learned(Box::new(learned))));
    }
}
