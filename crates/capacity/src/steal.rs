//! Work on offer: whole ready tasks that another process of the machine may take.
//!
//! Each offer is one word, changed by compare-and-swap alone: `Free → Writing → Offered → Claimed → Finished → Free`. The word holds
//! the phase, the process it concerns and a version that rises with every change, so exactly one thief wins, and a thief that
//! was given up on can no longer finish. No lock: an idle process never waits for a busy one.
//!
//! What the payload is, how it is fetched by its digest and where a result goes is the engine's business. So is asking
//! [`holds`](Capacity::holds) before each effect: a claim of a dead thief goes back on offer, and its owner may take back that
//! of a thief that has been silent for too long.

use crate::capacity::Capacity;
use crate::clock::nanoseconds;
use crate::error::Error;
use crate::failpoint::step;
use crate::futex;
use crate::layout::{NEEDS, OFFERS, OfferSlot, ProcessKey, Standing, Text};
use crate::liveness::Liveness;
use crate::mapping::Mapping;
use crate::table::{Relaxed, ring};
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

const PHASE_BITS: u32 = 3;
const INDEX_BITS: u32 = 8;
const GENERATION_BITS: u32 = 32;
const VERSION_SHIFT: u32 = PHASE_BITS + INDEX_BITS + GENERATION_BITS;
const VERSIONS: u64 = 1 << (64 - VERSION_SHIFT);

/// A task for others, as its owner describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offer {
    /// Its run, up to 48 bytes.
    pub run: String,
    /// Its task, up to 256 bytes.
    pub task: String,
    /// Digest of its payload.
    pub payload: [u8; 32],
    /// What a thief must have, as [`need`] keys; up to 8.
    pub needs: Vec<u64>,
}

/// Names an offer for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OfferId {
    /// No other offer of this boot has it.
    pub number: u64,
    index: u32,
}

/// An offer that can be claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOffer {
    /// Its name.
    pub id: OfferId,
    /// The task.
    pub offer: Offer,
    /// Process id of its owner.
    pub owner: u32,
    /// When it was offered, on the boot clock.
    pub offered_at: u64,
}

/// The right to do an offered task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The offer.
    pub id: OfferId,
    /// Larger than that of every earlier claim of this offer.
    pub fence: u64,
    word: u64,
}

/// What came of an attempt to claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// It is this process's to do.
    Won(Claim),
    /// Another was faster, or its owner took it back.
    Lost,
}

/// How an offer stands, for its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nobody has taken it.
    Open,
    /// Somebody does it.
    Claimed {
        /// Process id of the thief.
        pid: u32,
        /// Its claim's fence.
        fence: u64,
    },
    /// It was done.
    Finished {
        /// The fence of the claim under which it was.
        fence: u64,
    },
    /// It is no longer in the table.
    Gone,
}

/// A key for something a task needs, such as `secret:NAME` or `dir:/path`. A hash for sorting out: what counts are the texts in the
/// payload, which a thief compares before it starts.
pub fn need(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Free,
    Writing,
    Offered,
    Claimed,
    Finished,
}

/// An offer's word, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word {
    phase: Phase,
    /// Who writes, claimed or finished it.
    who: ProcessKey,
    version: u64,
}

impl Word {
    fn unpack(word: u64) -> Self {
        let phase = match word & ((1 << PHASE_BITS) - 1) {
            0 => Phase::Free,
            1 => Phase::Writing,
            2 => Phase::Offered,
            3 => Phase::Claimed,
            _ => Phase::Finished,
        };
        let index = (word >> PHASE_BITS) as u32 & ((1 << INDEX_BITS) - 1);
        let generation = (word >> (PHASE_BITS + INDEX_BITS)) as u32;
        Self { phase, who: ProcessKey { index, generation }, version: word >> VERSION_SHIFT }
    }

    fn pack(self) -> u64 {
        self.phase as u64
            | u64::from(self.who.index) << PHASE_BITS
            | u64::from(self.who.generation) << (PHASE_BITS + INDEX_BITS)
            | self.version << VERSION_SHIFT
    }

    fn next(self, phase: Phase, who: ProcessKey) -> Self {
        Self { phase, who, version: (self.version + 1) % VERSIONS }
    }
}

impl OfferSlot {
    fn read(&self) -> Word {
        Word::unpack(self.word.load(Ordering::Acquire))
    }

    /// The one way an offer changes. Answers with the new word if nobody was faster.
    fn advance(&self, from: Word, phase: Phase, who: ProcessKey) -> Option<Word> {
        let to = from.next(phase, who);
        let swapped = self.word.compare_exchange(from.pack(), to.pack(), Ordering::AcqRel, Ordering::Relaxed);
        swapped.is_ok().then_some(to)
    }

    fn owner(&self) -> ProcessKey {
        ProcessKey::unpack(self.owner.load(Relaxed))
    }
}

impl Capacity {
    /// Offers a task to the other processes.
    pub fn offer(&self, offer: &Offer) -> Result<OfferId, Error> {
        check_offer(offer)?;
        let (index, slot, writing) = self.take_offer_slot()?;
        // Who reads the old offer while this one is written must see that its word has changed.
        fence(Ordering::Release);
        let number = self.mapping.header.last_offer.fetch_add(1, Relaxed) + 1;
        slot.number.store(number, Relaxed);
        slot.owner.store(self.own.pack(), Relaxed);
        slot.offered_at.store(self.clock.now(), Relaxed);
        slot.run.write(&offer.run);
        slot.task.write(&offer.task);
        write_words(&slot.payload, &offer.payload);
        write_needs(slot, &offer.needs);
        step();
        slot.advance(writing, Phase::Offered, self.own)
            .expect("only its writer changes a slot that is written");
        self.tell_idle_processes();
        Ok(OfferId { number, index })
    }

    fn take_offer_slot(&self) -> Result<(u32, &OfferSlot, Word), Error> {
        for (index, slot) in self.mapping.offers.iter().enumerate() {
            let word = slot.read();
            if word.phase == Phase::Free
                && let Some(writing) = slot.advance(word, Phase::Writing, self.own)
            {
                self.mapping.header.offers_top.fetch_max(index as u32 + 1, Ordering::SeqCst);
                step();
                return Ok((index as u32, slot, writing));
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
        let slot = &self.mapping.offers[index as usize];
        let word = slot.read();
        let owner = slot.owner();
        if word.phase != Phase::Offered || owner == self.own {
            return None;
        }
        let open = OpenOffer {
            id: OfferId { number: slot.number.load(Relaxed), index },
            offer: read_fields(slot),
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
            self.tell_idle_processes();
        }
        back
    }

    /// How an offer of this process stands.
    pub fn progress(&self, id: OfferId) -> Progress {
        let (slot, word) = match self.own_offer(id) {
            Some(found) => found,
            None => return Progress::Gone,
        };
        let pid = self.mapping.processes[word.who.index as usize].pid.load(Relaxed);
        match word.phase {
            _ if slot.number.load(Relaxed) != id.number => Progress::Gone,
            Phase::Free | Phase::Writing => Progress::Gone,
            Phase::Offered => Progress::Open,
            Phase::Claimed => Progress::Claimed { pid, fence: word.version },
            Phase::Finished => Progress::Finished { fence: word.version - 1 },
        }
    }

    /// Takes an offer of this process off the table: one that nobody has taken, that was done, or whose thief has ended. Answers
    /// with how it stood: if somebody does it right now, it stays.
    pub fn take_back(&self, id: OfferId) -> Progress {
        self.remove(id, |thief| self.judge().judge(thief) == Liveness::Dead)
    }

    /// As [`take_back`](Self::take_back), also from a thief that has sent no heartbeat for so long. From then on its claim does
    /// not hold: should it continue, it can neither finish nor go on.
    pub fn revoke(&self, id: OfferId, silent_for: Duration) -> Progress {
        self.remove(id, |thief| {
            let beat = self.mapping.processes[thief.index as usize].heartbeat.load(Relaxed);
            let silent = self.clock.now().saturating_sub(beat) >= nanoseconds(silent_for);
            silent || self.judge().judge(thief) == Liveness::Dead
        })
    }

    fn remove(&self, id: OfferId, may_take_from: impl Fn(ProcessKey) -> bool) -> Progress {
        loop {
            let Some((slot, word)) = self.own_offer(id) else { return Progress::Gone };
            let stood = self.progress(id);
            if word.phase == Phase::Claimed && !may_take_from(word.who) {
                return stood;
            }
            if slot.advance(word, Phase::Free, self.own).is_some() {
                // A claim that was taken back is as open as one that nobody took.
                return if word.phase == Phase::Finished { stood } else { Progress::Open };
            }
        }
    }

    fn own_offer(&self, id: OfferId) -> Option<(&OfferSlot, Word)> {
        let slot = self.offer_slot(id);
        let word = slot.read();
        let ours = slot.number.load(Relaxed) == id.number && slot.owner() == self.own;
        (ours && !matches!(word.phase, Phase::Free | Phase::Writing)).then_some((slot, word))
    }

    fn offer_slot(&self, id: OfferId) -> &OfferSlot {
        &self.mapping.offers[id.index as usize % OFFERS]
    }

    /// Waits until more was offered than `seen`, so long at most. Answers with how often something was.
    pub fn wait_for_offers(&self, seen: u32, longest: Duration) -> u32 {
        let word = &self.mapping.header.offered;
        if word.load(Ordering::SeqCst) == seen {
            futex::sleep(word, seen, longest);
        }
        word.load(Ordering::SeqCst)
    }

    fn tell_idle_processes(&self) {
        let word = &self.mapping.header.offered;
        word.fetch_add(1, Ordering::SeqCst);
        futex::rouse(word, u32::MAX >> 1);
    }

    /// Puts claims of dead thieves back on offer, and removes offers of dead owners. Answers how many went back.
    pub(crate) fn revert_claims(&self, dead: &[ProcessKey]) -> u32 {
        let gone = |key: ProcessKey| dead.contains(&key) || !is_current(&self.mapping, key);
        let top = self.mapping.header.offers_top.load(Ordering::SeqCst) as usize;
        let reverted =
            self.mapping.offers[..top].iter().filter(|slot| self.revert(slot, gone)).count() as u32;
        if reverted > 0 {
            self.tell_idle_processes();
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

    /// Takes back what this process offers and nobody does, and puts back what it claimed.
    pub(crate) fn leave_offers(&self) {
        for slot in &self.mapping.offers[..self.mapping.header.offers_top.load(Ordering::SeqCst) as usize] {
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

fn check_offer(offer: &Offer) -> Result<(), Error> {
    let lengths = [
        ("run id", offer.run.len(), Text::<6>::CAPACITY),
        ("task id", offer.task.len(), Text::<32>::CAPACITY),
        ("list of needs", offer.needs.len(), NEEDS),
    ];
    match lengths.iter().find(|(_, length, most)| length > most) {
        Some((what, length, most)) => {
            Err(Error::invalid(format!("an offer's {what} is {length} long, {most} fit")))
        }
        None => Ok(()),
    }
}

fn write_words(words: &[std::sync::atomic::AtomicU64; 4], bytes: &[u8; 32]) {
    for (word, chunk) in words.iter().zip(bytes.chunks_exact(8)) {
        word.store(u64::from_le_bytes(chunk.try_into().expect("a chunk has eight bytes")), Relaxed);
    }
}

fn write_needs(slot: &OfferSlot, needs: &[u64]) {
    for (word, need) in slot.needs.iter().zip(needs) {
        word.store(*need, Relaxed);
    }
    slot.need_count.store(needs.len() as u32, Relaxed);
}

fn read_fields(slot: &OfferSlot) -> Offer {
    let mut payload = [0; 32];
    for (chunk, word) in payload.chunks_exact_mut(8).zip(&slot.payload) {
        chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes());
    }
    let count = (slot.need_count.load(Relaxed) as usize).min(NEEDS);
    let needs = slot.needs[..count].iter().map(|word| word.load(Relaxed)).collect();
    Offer { run: slot.run.read(), task: slot.task.read(), payload, needs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_word_survives_packing(phase in 0usize..5, index in 0u32..256, generation: u32, version in 0..VERSIONS) {
            let phase = [Phase::Free, Phase::Writing, Phase::Offered, Phase::Claimed, Phase::Finished][phase];
            let word = Word { phase, who: ProcessKey { index, generation }, version };
            prop_assert_eq!(Word::unpack(word.pack()), word);
            prop_assert_ne!(word.next(phase, word.who).pack(), word.pack());
        }
    }
}
