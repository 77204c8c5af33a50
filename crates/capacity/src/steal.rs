//! Work on offer: whole ready tasks that another process of the machine may take.
//!
//! Each offer is one word, changed by compare-and-swap alone: `Free → Writing → Offered → Claimed → Finished → Free`. The word
//! holds the phase, the process it concerns and a version that rises with every change, so exactly one claimant wins, and a
//! claimant that was given up on can no longer finish. No lock: an idle process never waits for a busy one.
//!
//! What the payload is, how it is fetched by its digest and where a result goes is the engine's business. So is asking
//! [`holds`](Capacity::holds) before each effect: a claim of a dead claimant goes back on offer, and its owner may take back that
//! of a claimant that has been silent for too long.

use crate::capacity::Capacity;
use crate::clock::nanoseconds;
use crate::error::Error;
use crate::extents::Table;
use crate::failpoint::step;
use crate::futex::{ALL, Word as _};
use crate::layout::{OFFERS, OfferSlot, ProcessKey, Standing};
use crate::liveness::Liveness;
use crate::mapping::Mapping;
use crate::offer::{Claim, Claimed, Offer, OfferId, OpenOffer, Phase, Progress, Word, check_offer};
use crate::table::{Relaxed, ring};
use std::collections::HashSet;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

impl Capacity {
    /// Offers a task to the other processes.
    pub fn offer(&self, offer: &Offer) -> Result<OfferId, Error> {
        check_offer(offer)?;
        let (index, slot, writing) = self.take_offer_slot()?;
        // A reader of the old offer must see, while this one is written, that its word has changed.
        fence(Ordering::Release);
        let number = self.mapping.header.last_offer.fetch_add(1, Relaxed) + 1;
        slot.number.store(number, Relaxed);
        slot.owner.store(self.own.pack(), Relaxed);
        slot.offered_at.store(self.clock.now(), Relaxed);
        slot.write(offer);
        step();
        slot.advance(writing, Phase::Offered, self.own)
            .expect("only its writer changes a slot that is written");
        self.stir();
        Ok(OfferId { number, index })
    }

    fn take_offer_slot(&self) -> Result<(u32, &OfferSlot, Word), Error> {
        for index in 0..OFFERS as u32 {
            self.mapping.make_room(Table::Offers, index)?;
            let slot = self.mapping.offer(index);
            let word = slot.read();
            if word.phase == Phase::Free
                && let Some(writing) = slot.advance(word, Phase::Writing, self.own)
            {
                self.mapping.header.offers_top.fetch_max(index + 1, Ordering::SeqCst);
                step();
                return Ok((index, slot, writing));
            }
        }
        Err(Error::Full { table: "offers", size: OFFERS })
    }

    /// Every offer that can be claimed, of other processes, oldest first.
    pub fn offers(&self) -> Vec<OpenOffer> {
        let mut open: Vec<OpenOffer> = (0..self.mapping.header.offers_top.load(Ordering::SeqCst))
            .filter_map(|index| self.read_offer(index))
            .collect();
        open.sort_by_key(|offer| offer.id.number);
        open
    }

    fn read_offer(&self, index: u32) -> Option<OpenOffer> {
        let slot = self.mapping.offer(index);
        let word = slot.read();
        let owner = slot.owner();
        if word.phase != Phase::Offered || owner == self.own {
            return None;
        }
        let open = OpenOffer {
            id: OfferId { number: slot.number.load(Relaxed), index },
            offer: slot.description(),
            owner: self.mapping.processes[owner.index as usize].pid.load(Relaxed),
            offered_at: slot.offered_at.load(Relaxed),
        };
        fence(Ordering::Acquire);
        (slot.read() == word).then_some(open)
    }

    /// Takes an offered task. Exactly one process wins.
    pub fn claim(&self, id: OfferId) -> Claimed {
        let slot = self.offer_slot(id);
        let word = slot.read();
        if word.phase != Phase::Offered || slot.number.load(Relaxed) != id.number {
            return Claimed::Lost;
        }
        match slot.advance(word, Phase::Claimed, self.own) {
            Some(won) => Claimed::Won(Claim { id, fence: won.version, word: won.pack() }),
            None => Claimed::Lost,
        }
    }

    /// Whether a claim still stands: asked before each effect, as `check` is for leases.
    pub fn holds(&self, claim: &Claim) -> bool {
        self.offer_slot(claim.id).word.load(Ordering::Acquire) == claim.word
    }

    /// Says that a claimed task is done. False if the claim was given up on; then nothing of it may be used.
    pub fn finish(&self, claim: &Claim) -> bool {
        let slot = self.offer_slot(claim.id);
        let owner = slot.owner();
        let finished = slot.advance(Word::unpack(claim.word), Phase::Finished, self.own).is_some();
        if finished && is_current(&self.mapping, owner) {
            ring(&self.mapping.processes[owner.index as usize]);
        }
        finished
    }

    /// Puts a claimed task back on offer, undone. False if the claim was given up on already.
    pub fn give_back(&self, claim: &Claim) -> bool {
        let back =
            self.offer_slot(claim.id).advance(Word::unpack(claim.word), Phase::Offered, self.own).is_some();
        if back {
            self.stir();
        }
        back
    }

    /// How an offer of this process stands.
    pub fn progress(&self, id: OfferId) -> Progress {
        self.own_offer(id).map_or(Progress::Gone, |(_, word)| self.progress_of(word))
    }

    fn progress_of(&self, word: Word) -> Progress {
        let pid = self.mapping.processes[word.who.index as usize].pid.load(Relaxed);
        match word.phase {
            Phase::Free | Phase::Writing => Progress::Gone,
            Phase::Offered => Progress::Open,
            Phase::Claimed => Progress::Claimed { pid, fence: word.version },
            Phase::Finished => Progress::Finished { fence: word.version_before() },
        }
    }

    /// Takes an offer of this process off the table: one that is not claimed, that was done, or whose claimant has ended. Answers
    /// with how it stood: if a claimant performs it right now, it stays.
    pub fn take_back(&self, id: OfferId) -> Progress {
        self.remove(id, |claimant| self.judge().judge(claimant) == Liveness::Dead)
    }

    /// As [`take_back`](Self::take_back), also from a claimant that has sent no heartbeat for so long. From then on its claim
    /// does not hold: should it continue, it can neither finish nor go on.
    pub fn revoke(&self, id: OfferId, silent_for: Duration) -> Progress {
        self.remove(id, |claimant| {
            let beat = self.mapping.processes[claimant.index as usize].heartbeat.load(Relaxed);
            let silent = self.clock.now().saturating_sub(beat) >= nanoseconds(silent_for);
            silent || self.judge().judge(claimant) == Liveness::Dead
        })
    }

    /// Whether the claimant that has claimed an offer has sent no heartbeat for so long. Its claim still holds: what it does
    /// may go on.
    pub fn is_silent(&self, id: OfferId, silent_for: Duration) -> bool {
        self.own_offer(id).is_some_and(|(_, word)| {
            let beat = self.mapping.processes[word.who.index as usize].heartbeat.load(Relaxed);
            word.phase == Phase::Claimed && self.clock.now().saturating_sub(beat) >= nanoseconds(silent_for)
        })
    }

    fn remove(&self, id: OfferId, may_take_from: impl Fn(ProcessKey) -> bool) -> Progress {
        loop {
            let Some((slot, word)) = self.own_offer(id) else { return Progress::Gone };
            if word.phase == Phase::Claimed && !may_take_from(word.who) {
                return self.progress_of(word);
            }
            if slot.advance(word, Phase::Free, self.own).is_some() {
                // A claim that was taken back is as open as one that was never claimed.
                return if word.phase == Phase::Finished { self.progress_of(word) } else { Progress::Open };
            }
        }
    }

    fn own_offer(&self, id: OfferId) -> Option<(&OfferSlot, Word)> {
        let slot = self.offer_slot(id);
        let word = slot.read();
        let ours = slot.number.load(Relaxed) == id.number && slot.owner() == self.own;
        (ours && !matches!(word.phase, Phase::Free | Phase::Writing)).then_some((slot, word))
    }

    /// Every slot that an offer was ever in.
    fn used_offers(&self) -> impl Iterator<Item = &OfferSlot> {
        let top = self.mapping.header.offers_top.load(Ordering::SeqCst);
        (0..top).map(|index| self.mapping.offer(index))
    }

    fn offer_slot(&self, id: OfferId) -> &OfferSlot {
        self.mapping.offer(id.index)
    }

    /// Says how many tasks of others this process would take now. No process is woken by it: a process with a task to offer
    /// looks by itself.
    pub fn set_spare(&self, tasks: u32) {
        self.slot().spare.store(tasks, Relaxed);
    }

    /// How many tasks the other living processes in this working directory would take now.
    pub fn spare_elsewhere(&self) -> u32 {
        let here = self.slot().working_dir.load(Relaxed);
        let judge = self.judge();
        let spare = judge.taken().filter(|key| *key != self.own).filter_map(|key| {
            let slot = &self.mapping.processes[key.index as usize];
            let spare = slot.spare.load(Relaxed);
            let takes = spare > 0 && slot.working_dir.load(Relaxed) == here;
            (takes && judge.judge(key) == Liveness::Alive).then_some(spare)
        });
        spare.fold(0, u32::saturating_add)
    }

    /// Says that this process is alive, without renewing anything: for one that holds claims and no leases. Needs no lock.
    pub fn beat(&self) {
        self.slot().heartbeat.fetch_max(self.clock.now(), Relaxed);
    }

    /// Waits until more was offered than `seen`, so long at most. Answers with how often something was.
    pub fn wait_for_offers(&self, seen: u32, longest: Duration) -> u32 {
        let word = &self.mapping.header.offered;
        if word.load(Ordering::SeqCst) == seen {
            word.sleep(seen, longest);
        }
        word.load(Ordering::SeqCst)
    }

    /// Wakes all processes that wait for offers, to look again.
    pub fn stir(&self) {
        let word = &self.mapping.header.offered;
        word.fetch_add(1, Ordering::SeqCst);
        word.rouse(ALL);
    }

    /// Puts claims of dead claimants back on offer, and removes offers of dead owners. Answers how many went back.
    pub(crate) fn revert_claims(&self, dead: &[ProcessKey]) -> u32 {
        let gone = |key: ProcessKey| dead.contains(&key) || !is_current(&self.mapping, key);
        let reverted = self.used_offers().filter(|slot| self.revert(slot, gone)).count() as u32;
        if reverted > 0 {
            self.stir();
        }
        reverted
    }

    fn revert(&self, slot: &OfferSlot, gone: impl Fn(ProcessKey) -> bool) -> bool {
        let word = slot.read();
        match word.phase {
            Phase::Writing if gone(word.who) => {
                slot.advance(word, Phase::Free, self.own);
                false
            }
            Phase::Offered | Phase::Finished if gone(slot.owner()) => {
                slot.advance(word, Phase::Free, self.own);
                false
            }
            Phase::Claimed if gone(word.who) && gone(slot.owner()) => {
                slot.advance(word, Phase::Free, self.own);
                false
            }
            Phase::Claimed if gone(word.who) => slot.advance(word, Phase::Offered, self.own).is_some(),
            _ => false,
        }
    }

    /// Parts the dead into those whose tasks living processes do at this moment, and all others. Calls are made on the leases
    /// of the former until their claimants have let go, so they are not free before.
    pub(crate) fn part_by_claimants(&self, dead: Vec<ProcessKey>) -> (Vec<ProcessKey>, Vec<ProcessKey>) {
        if dead.is_empty() {
            return (Vec::new(), dead);
        }
        let lives = |claimant: ProcessKey| !dead.contains(&claimant) && is_current(&self.mapping, claimant);
        let claimed = self.used_offers().map(|slot| (slot.read(), slot.owner()));
        let claimed = claimed.filter(|(word, _)| word.phase == Phase::Claimed && lives(word.who));
        let survived: HashSet<ProcessKey> = claimed.map(|(_, owner)| owner).collect();
        dead.into_iter().partition(|key| survived.contains(key))
    }

    /// Takes back the offers of this process that are not claimed, and puts back what it claimed.
    pub(crate) fn leave_offers(&self) {
        for slot in self.used_offers() {
            let word = slot.read();
            match word.phase {
                Phase::Offered | Phase::Finished if slot.owner() == self.own => {
                    slot.advance(word, Phase::Free, self.own);
                }
                Phase::Claimed if word.who == self.own => {
                    slot.advance(word, Phase::Offered, self.own);
                }
                _ => {}
            }
        }
    }
}

fn is_current(mapping: &Mapping, key: ProcessKey) -> bool {
    let (generation, standing) = mapping.processes[key.index as usize].standing();
    generation == key.generation && standing != Standing::Free
}
