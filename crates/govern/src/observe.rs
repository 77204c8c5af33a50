//! What is learned from calls and answers, and what is kept of it across runs.

use crate::adapt::{Adapted, Outcome};
use crate::breaker::Pass;
use crate::governor::{Governor, Note, Permit};
use crate::learning::knowledge::{Call, Change, Knowledge, Push, Sample};
use crate::meter::Meter;
use crate::spec::ResourceId;
use convoke_model::{LimitReason, LimitSetting, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What was learned of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedLimit {
    /// How many at once.
    pub limit: u64,
    /// The highest number that is believed to be good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<u64>,
    /// When.
    pub at: Timestamp,
}

/// What was learned, by the names of resources; to be kept across runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Learned(pub BTreeMap<String, LearnedLimit>);

/// What was learned longer ago than this says nothing any more.
const STALE: Duration = Duration::from_secs(7 * 86_400);

/// A service that asks for a longer pause than a day is asked again after a day.
const LONGEST_PAUSE: Duration = Duration::from_secs(86_400);

impl Learned {
    /// What was learned of a resource, if that is not too long ago.
    pub fn fresh(&self, name: &str, now: Timestamp) -> Option<LearnedLimit> {
        self.0.get(name).filter(|limit| now.since(limit.at) <= STALE).copied()
    }
}

impl Governor {
    /// Learns from a call that came back, about everything that it used.
    pub(crate) fn learn(&mut self, permit: &Permit, outcome: Outcome, now: u64) -> Vec<Adapted> {
        let mut adapted = Vec::new();
        for note in &permit.notes {
            adapted.extend(self.mind_breaker(note, permit.began, outcome, now));
            self.mind_limit(note, permit.began, outcome, now, &mut adapted);
        }
        adapted
    }

    fn mind_breaker(&mut self, note: &Note, began: u64, outcome: Outcome, now: u64) -> Option<Adapted> {
        let breaker = self.resources[note.resource.index()].breaker.as_mut()?;
        let (reason, to) = breaker.observe(outcome, note.probe, began, now)?;
        let (setting, at) = (LimitSetting::PausedUntil, Timestamp(now));
        Some(Adapted { resource: note.resource, setting, from: 0, to, reason, at })
    }

    fn mind_limit(
        &mut self,
        note: &Note,
        began: u64,
        outcome: Outcome,
        now: u64,
        adapted: &mut Vec<Adapted>,
    ) {
        let resource = &mut self.resources[note.resource.index()];
        let level_after = resource.meter.used(now) + 1;
        let Some(learner) = &mut resource.learner else { return };
        let call = Call { level: note.level, level_after, began, ended: now };
        match outcome {
            Outcome::Succeeded | Outcome::Invalid => self.answered(note.resource, call, adapted),
            Outcome::TimedOut => {
                let push = learner.push(0);
                self.learn_limit(note.resource, call, push, outcome, adapted);
            }
            Outcome::RateLimited { retry_after } | Outcome::Overloaded { retry_after } => {
                self.push_back(note.resource, call, outcome, retry_after, adapted);
            }
            Outcome::Failed | Outcome::Unknown => {}
        }
    }

    /// An answer. Where all processes learn together it counts here at once, as a refusal does; the others are told of it as soon
    /// as the service has refused something.
    fn answered(&mut self, id: ResourceId, call: Call, adapted: &mut Vec<Adapted>) {
        let resource = &mut self.resources[id.index()];
        let Some(learner) = &mut resource.learner else { return };
        let matters = learner.knowledge.was_refused();
        let change = learner.succeed(call);
        resource.refresh();
        if !resource.learns_together {
            adapted.extend(change.map(|change| limit(id, change, Outcome::Succeeded, call.ended)));
        } else if matters {
            self.samples.push((id, sample(call, None, LimitReason::Recovered)));
        }
    }

    /// Too many at once: the limit falls, here at once, and for all processes that learn together by a sample.
    fn learn_limit(
        &mut self,
        id: ResourceId,
        call: Call,
        push: Push,
        outcome: Outcome,
        adapted: &mut Vec<Adapted>,
    ) {
        let resource = &mut self.resources[id.index()];
        let Some(learner) = &mut resource.learner else { return };
        let change = learner.push_back(call, push);
        if resource.learns_together {
            self.samples.push((id, sample(call, Some(push), outcome.reason())));
        } else {
            adapted.extend(change.map(|change| limit(id, change, outcome, call.ended)));
        }
        resource.refresh();
    }

    /// The provider asks for less: the limit falls; and if that is about more than a stray call, the resource pauses for
    /// everybody.
    fn push_back(
        &mut self,
        id: ResourceId,
        call: Call,
        outcome: Outcome,
        retry_after: Option<Duration>,
        adapted: &mut Vec<Adapted>,
    ) {
        let resource = &mut self.resources[id.index()];
        let Some(learner) = &mut resource.learner else { return };
        let now = call.ended;
        let said = retry_after.map(|wait| wait.min(LONGEST_PAUSE).as_micros() as u64);
        let pause = said.unwrap_or_else(|| learner.wait());
        let push = learner.push(pause);
        // A refusal of an earlier round that names no moment asks for nothing that is not done already.
        let new = said.is_some() || !learner.knowledge.is_of_round(call) || !learner.is_crowded();
        let mut limits = Vec::new();
        self.learn_limit(id, call, push, outcome, &mut limits);
        let knows = |fact: fn(&Knowledge) -> bool| {
            self.resources[id.index()].learner.as_ref().is_some_and(|learner| fact(&learner.knowledge))
        };
        // A moment that the service names holds for everybody, unless other calls under way show that it is about one.
        let asked_for = said.is_some() && knows(Knowledge::is_refused_whole);
        if (knows(Knowledge::is_crowded) || asked_for) && new {
            // People are told that it pauses, and not of each call that says so again.
            let paused = self.pause_resource(id, now, pause).filter(|(from, _)| *from == 0);
            let (setting, reason, at) = (LimitSetting::PausedUntil, outcome.reason(), Timestamp(now));
            adapted.extend(paused.map(|(from, to)| Adapted { resource: id, setting, from, to, reason, at }));
        }
        adapted.append(&mut limits);
    }

    /// Pauses a resource for a while, and resumes a little at a time. Until when it paused and pauses now, if that is later.
    fn pause_resource(&mut self, id: ResourceId, now: u64, pause: u64) -> Option<(u64, u64)> {
        let resource = &mut self.resources[id.index()];
        let crowd = resource.learner.as_ref().map_or(resource.effective(), |learner| learner.limit());
        let (from, until) =
            (resource.back_pressure.paused_until(now).unwrap_or(0), now.saturating_add(pause));
        resource.back_pressure.pause(until, pause / 8, crowd, &mut self.chance);
        (until > from).then_some((from, until))
    }

    /// Whether a resource's limit is learned from how calls fare.
    pub fn learns(&self, resource: ResourceId) -> bool {
        self.resources[resource.index()].learner.is_some()
    }

    /// From now on what is learned of a resource is learned by all processes together: calls are [samples](Self::samples),
    /// and what follows from them is [told](Self::know).
    pub fn learn_together(&mut self, resource: ResourceId) {
        self.resources[resource.index()].learns_together = true;
    }

    /// The samples since this was last asked.
    pub fn samples(&mut self) -> Vec<(ResourceId, Sample)> {
        std::mem::take(&mut self.samples)
    }

    /// What all processes together know of a resource by now. `ahead`: the table that all processes share
    /// keeps the limit, and so many more demands may be let in to wait there.
    pub fn know(&mut self, resource: ResourceId, knowledge: Knowledge, ahead: u64) {
        let known = &mut self.resources[resource.index()];
        known.ahead = ahead;
        if let Some(learner) = &mut known.learner {
            learner.knowledge = knowledge;
        }
        known.refresh();
    }

    /// Another process was told by the provider to come back later: so are we. Later only, never earlier.
    pub fn pause(&mut self, resource: ResourceId, until: Timestamp, now: Timestamp) -> Option<Adapted> {
        let now = self.tick(now);
        let pause = until.0.saturating_sub(now).min(LONGEST_PAUSE.as_micros() as u64);
        let (from, to) = self.pause_resource(resource, now, pause)?;
        let (setting, reason) = (LimitSetting::PausedUntil, LimitReason::Shared);
        Some(Adapted { resource, setting, from, to, reason, at: Timestamp(now) })
    }

    /// Until when a resource is left alone because of failures, if it is. While a probe is out that is unknown: then it is now.
    pub fn broken_until(&mut self, resource: ResourceId, now: Timestamp) -> Option<Timestamp> {
        let now = self.tick(now);
        match self.resources[resource.index()].breaker.as_ref()?.pass(now) {
            Pass::Free => None,
            Pass::Wait(until) => Some(Timestamp(until.unwrap_or(now))),
        }
    }

    /// Whether a resource has failed too often in a row and no probe has gone well since.
    pub fn is_broken(&self, resource: ResourceId) -> bool {
        self.resources[resource.index()].breaker.as_ref().is_some_and(|breaker| !breaker.is_closed())
    }

    /// Whether a permit that is held is the probe of a resource.
    pub fn is_probe(&self, key: u64, resource: ResourceId) -> bool {
        let notes = self.permits.get(&key).into_iter().flat_map(|permit| &permit.notes);
        notes.into_iter().any(|note| note.resource == resource && note.probe)
    }

    /// Until when the provider said not to come back, if that lies ahead.
    pub fn paused_until(&mut self, resource: ResourceId, now: Timestamp) -> Option<Timestamp> {
        let now = self.tick(now);
        self.resources[resource.index()].back_pressure.paused_until(now).map(Timestamp)
    }

    /// What an answer says about the provider's limits: never more than it says, and room for other users of the same
    /// key.
    pub fn limits_seen(
        &mut self,
        resource: ResourceId,
        limit: Option<u64>,
        remaining: Option<u64>,
        now: Timestamp,
    ) -> Option<Adapted> {
        let now = self.tick(now);
        let known = &mut self.resources[resource.index()];
        let before = known.effective();
        known.seen = limit.filter(|limit| *limit > 0).or(known.seen);
        known.refresh();
        if let (Meter::Rate(rate), Some(left)) = (&mut known.meter, remaining) {
            let counted = known.seen.unwrap_or(known.limit).saturating_sub(left);
            let ours = rate.used(now);
            rate.count(counted.saturating_sub(ours), now);
        }
        let (from, to) = (before, known.effective());
        let (setting, reason, at) = (LimitSetting::Limit, LimitReason::HeadersSeen, Timestamp(now));
        (from != to).then_some(Adapted { resource, setting, from, to, reason, at })
    }

    /// What was learned so far, of resources whose provider has ever asked for less. That one at a time is too many says
    /// nothing about how many at once are good, and is not kept.
    pub fn learned(&self, now: Timestamp) -> Learned {
        let known = self.resources.iter().filter(|resource| !resource.retired);
        let learned = known.filter_map(|resource| {
            let learner = resource.learner.as_ref()?;
            let lasting = learner.lasting().filter(|known| *known > 1)?;
            let limit = LearnedLimit { limit: lasting, known: Some(lasting), at: now };
            Some((resource.name.to_string(), limit))
        });
        Learned(learned.collect())
    }

    /// Goes on from what an earlier run has learned. Unknown names and what is too old are left aside.
    pub fn remember(&mut self, learned: &Learned, now: Timestamp) -> Vec<Adapted> {
        let fresh = learned.0.iter().filter(|(_, limit)| now.since(limit.at) <= STALE);
        fresh.filter_map(|(name, limit)| self.remember_one(name, limit, now)).collect()
    }

    fn remember_one(&mut self, name: &str, learned: &LearnedLimit, now: Timestamp) -> Option<Adapted> {
        let resource = *self.names.get(name)?;
        let known = &mut self.resources[resource.index()];
        let from = known.effective();
        known.learner.as_mut()?.remember(learned.limit, learned.known, now.0);
        known.refresh();
        let to = known.effective();
        let (setting, reason) = (LimitSetting::Limit, LimitReason::Remembered);
        (from != to).then_some(Adapted { resource, setting, from, to, reason, at: now })
    }
}

fn limit(resource: ResourceId, change: Change, outcome: Outcome, now: u64) -> Adapted {
    // The last of a fall is told with the next answers.
    let falls = change.to < change.from && outcome == Outcome::Succeeded;
    let reason = if falls { LimitReason::RateLimited } else { outcome.reason() };
    Adapted {
        resource,
        setting: LimitSetting::Limit,
        from: change.from,
        to: change.to,
        reason,
        at: Timestamp(now),
    }
}

fn sample(call: Call, push: Option<Push>, reason: LimitReason) -> Sample {
    Sample { began: call.began, ended: call.ended, level: call.level, push, reason }
}
