//! Chooses the next demand.
//!
//! Lanes are looked at once each: does one more of this shape fit? Among those that fit, first the lane that was passed
//! too often; otherwise the best by rank: class, then the tenant whose turn it is, then priority, path, order, age. If a
//! resource that the chosen one needs is due to go to the longest waiting, that one goes instead. Costs the number of
//! lanes with waiting demands, and a logarithm of how many wait.

use crate::answer::Admission;
use crate::governor::Governor;
use crate::queue::lane::{Head, Lane};
use crate::resource::Fit;
use crate::spec::{Kind, ResourceId};
use convoke_model::Timestamp;
use convoke_model::WhenSpent;

/// What a look at all lanes has shown.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub fitting: Vec<u32>,
    /// A lane, and the first thing that it is short of.
    pub blocked: Vec<(u32, ResourceId)>,
    /// The first moment at which something may fit though nothing comes back.
    wake: Option<u64>,
    /// A lane that a budget cannot pay.
    pub spent: Option<(u32, ResourceId)>,
}

/// A demand that may start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen {
    pub key: u64,
    pub lane: u32,
    age: u64,
    /// Others made way for it.
    pub made_way: bool,
}

/// What a lane is short of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shortage {
    pub on: ResourceId,
    pub until: Option<u64>,
    pub spent: bool,
}

impl Survey {
    fn clear(&mut self) {
        self.fitting.clear();
        self.blocked.clear();
        self.wake = None;
        self.spent = None;
    }

    fn note(&mut self, lane: u32, shortage: Option<Shortage>) {
        let Some(shortage) = shortage else { return self.fitting.push(lane) };
        self.blocked.push((lane, shortage.on));
        if shortage.spent {
            self.spent = Some((lane, shortage.on));
        }
        self.wake = match (self.wake, shortage.until) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

impl Governor {
    /// Asks every lane whether one more would fit.
    pub(crate) fn look_around(&mut self, now: u64) {
        self.review_holds(now);
        let mut survey = std::mem::take(&mut self.survey);
        survey.clear();
        for at in 0..self.lanes.busy().len() {
            let lane = self.lanes.busy()[at];
            let shortage = self.shortage(lane, now);
            self.lanes[lane].fits = shortage.is_none();
            survey.note(lane, shortage);
        }
        self.survey = survey;
    }

    /// The first thing that a lane is short of.
    pub(crate) fn shortage(&mut self, lane: u32, now: u64) -> Option<Shortage> {
        for at in 0..self.lanes[lane].needs.len() {
            let need = self.lanes[lane].needs[at];
            let kept = self.kept_from(lane, at);
            let on = need.resource;
            match self.resources[on.index()].fit(need.count, kept, now) {
                Fit::Fits => {}
                Fit::Short(until) => return Some(Shortage { on, until, spent: false }),
                Fit::Spent => return Some(Shortage { on, until: None, spent: true }),
            }
        }
        None
    }

    /// The demand that may start, after [`Governor::look_around`].
    pub(crate) fn choose(&mut self) -> Option<Chosen> {
        let chosen = self.who_was_passed().or_else(|| self.best_by_rank())?;
        Some(self.give_age_its_turn(chosen))
    }

    /// A lane that others made way for and that fits now. Its ranks count, and its ages every so many times.
    fn who_was_passed(&mut self) -> Option<Chosen> {
        let at = *self.holds.iter().find(|lane| self.lanes[**lane].fits)?;
        let lane = &self.lanes[at];
        let by_age = u64::from(lane.made_way + 1).is_multiple_of(u64::from(self.rules.age_turn));
        let chosen = if by_age { oldest(at, lane) } else { self.best_of(at) };
        chosen.map(|chosen| Chosen { made_way: true, ..chosen })
    }

    fn best_by_rank(&mut self) -> Option<Chosen> {
        let fitting = self.survey.fitting.iter();
        let head = fitting.filter_map(|lane| self.lanes[*lane].head(*lane, &self.tenants)).min()?;
        Some(Chosen::from(head))
    }

    fn best_of(&mut self, lane: u32) -> Option<Chosen> {
        self.lanes[lane].head(lane, &self.tenants).map(Chosen::from)
    }

    /// Goes to the longest waiting for as long as a resource is due to. Each step goes to an older one, so it ends.
    fn give_age_its_turn(&self, mut chosen: Chosen) -> Chosen {
        while let Some(older) = self.older(&chosen) {
            chosen = older;
        }
        chosen
    }

    fn older(&self, chosen: &Chosen) -> Option<Chosen> {
        self.due(chosen.lane).find_map(|resource| {
            let older = self.longest_waiting(resource).filter(|older| older.age < chosen.age)?;
            (!self.is_put_off(&older, resource)).then_some(older)
        })
    }

    /// What a lane needs of resources that are due to go to the longest waiting.
    fn due(&self, lane: u32) -> impl Iterator<Item = ResourceId> {
        let every = u64::from(self.rules.age_turn);
        let needs = self.lanes[lane].needs.iter().map(|need| need.resource);
        needs.filter(move |resource| self.resources[resource.index()].is_age_turn(every))
    }

    /// Turns of several resources may come one after the other. One that would give a tenant a third grant in a row
    /// while another one fits comes later; but not later than as many grants again as there are between turns.
    fn is_put_off(&self, older: &Chosen, resource: ResourceId) -> bool {
        let rank = self.places[&older.key].rank;
        let latest = 2 * u64::from(self.rules.age_turn);
        self.row.of(rank.class, rank.tenant) >= self.tenants.row(rank.tenant)
            && self.resources[resource.index()].since_turn + 1 < latest
            && self.survey.fitting.iter().any(|lane| self.lanes[*lane].has_other(rank.class, rank.tenant))
    }

    /// The resources whose turn it is if this one is granted: it has waited longest for them.
    pub(crate) fn turns_taken(&self, chosen: &Chosen) -> Vec<ResourceId> {
        let is_oldest = |resource: &ResourceId| {
            self.longest_waiting(*resource).is_some_and(|oldest| oldest.age == chosen.age)
        };
        self.due(chosen.lane).filter(is_oldest).collect()
    }

    fn longest_waiting(&self, resource: ResourceId) -> Option<Chosen> {
        let lanes = self.survey.fitting.iter().filter(|lane| self.lanes[**lane].needs(resource));
        lanes.filter_map(|lane| oldest(*lane, &self.lanes[*lane])).min_by_key(|chosen| chosen.age)
    }

    /// No demand fits: the one that has waited longest, and what it waits for.
    pub(crate) fn blocked(&self) -> Admission {
        let blocked = self.survey.blocked.iter();
        let longest = blocked.filter_map(|(lane, on)| Some((self.lanes[*lane].oldest()?, *on))).min();
        let ((_, key), on) = longest.expect("somebody waits, and nobody fits");
        Admission::Blocked { key, on, until: self.survey.wake.map(Timestamp) }
    }

    /// A budget cannot pay the next one of a lane.
    pub(crate) fn turn_away(&mut self, lane: u32, on: ResourceId) -> Admission {
        let key = self.best_of(lane).expect("somebody waits in the lane").key;
        self.dequeue(key);
        self.tally.spent += 1;
        let then = match &self.resources[on.index()].kind {
            Kind::Budget(rules) => rules.when_spent.clone(),
            _ => WhenSpent::Queue,
        };
        Admission::Spent { key, on, then }
    }
}

impl From<Head> for Chosen {
    fn from(head: Head) -> Chosen {
        Chosen { key: head.front.key, lane: head.lane, age: head.front.age, made_way: false }
    }
}

fn oldest(at: u32, lane: &Lane) -> Option<Chosen> {
    let (age, key) = lane.oldest()?;
    Some(Chosen { key, lane: at, age, made_way: false })
}
