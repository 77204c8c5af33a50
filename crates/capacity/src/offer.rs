//! What an offer is: its description, its word, and how both stand in a slot.
//!
//! The word is the truth about an offer, and changes by compare-and-swap alone. Every change raises its version, so no process
//! can mistake a later state for the one it has seen.

use crate::cells::Text;
use crate::error::Error;
use crate::layout::{NEEDS, OfferSlot, ProcessKey};
use crate::table::Relaxed;
use std::sync::atomic::Ordering;

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
    /// What a claimant must have, such as a folder or a secret, as keys that its offerer makes; up to 8. They are for sorting
    /// out: what counts are the texts in the payload, which a claimant compares before it starts.
    pub needs: Vec<u64>,
}

/// Names an offer for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OfferId {
    /// No other offer of this boot has it.
    pub number: u64,
    pub(crate) index: u32,
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
    /// When it was offered, on the monotonic clock.
    pub offered_at: u64,
}

/// The right to do an offered task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The offer.
    pub id: OfferId,
    /// Larger than that of every earlier claim of this offer.
    pub fence: u64,
    pub(crate) word: u64,
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
    /// No process has taken it.
    Open,
    /// A process performs it.
    Claimed {
        /// Process id of the claimant.
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

/// Where an offer is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Free,
    Writing,
    Offered,
    Claimed,
    Finished,
}

/// An offer's word, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    pub phase: Phase,
    /// The process that writes, claimed or finished it.
    pub who: ProcessKey,
    pub version: u64,
}

impl Word {
    pub fn unpack(word: u64) -> Self {
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

    pub fn pack(self) -> u64 {
        self.phase as u64
            | u64::from(self.who.index) << PHASE_BITS
            | u64::from(self.who.generation) << (PHASE_BITS + INDEX_BITS)
            | self.version << VERSION_SHIFT
    }

    /// The version that this one followed: of a finished offer, that of the claim.
    pub fn version_before(self) -> u64 {
        (self.version + VERSIONS - 1) % VERSIONS
    }

    fn next(self, phase: Phase, who: ProcessKey) -> Self {
        Self { phase, who, version: (self.version + 1) % VERSIONS }
    }
}

impl OfferSlot {
    pub fn read(&self) -> Word {
        Word::unpack(self.word.load(Ordering::Acquire))
    }

    /// The one way an offer changes. Answers with the new word if no other process was faster.
    pub fn advance(&self, from: Word, phase: Phase, who: ProcessKey) -> Option<Word> {
        let to = from.next(phase, who);
        let swapped = self.word.compare_exchange(from.pack(), to.pack(), Ordering::AcqRel, Ordering::Relaxed);
        swapped.is_ok().then_some(to)
    }

    pub fn owner(&self) -> ProcessKey {
        ProcessKey::unpack(self.owner.load(Relaxed))
    }

    /// Writes the description. The slot is the writer's, by its word.
    pub fn write(&self, offer: &Offer) {
        self.run.write(&offer.run);
        self.task.write(&offer.task);
        for (word, chunk) in self.payload.iter().zip(offer.payload.chunks_exact(8)) {
            word.store(u64::from_le_bytes(chunk.try_into().expect("a chunk has eight bytes")), Relaxed);
        }
        for (word, need) in self.needs.iter().zip(&offer.needs) {
            word.store(*need, Relaxed);
        }
        self.need_count.store(offer.needs.len() as u32, Relaxed);
    }

    /// The description, which is whole if the word is the same before and after.
    pub fn description(&self) -> Offer {
        let mut payload = [0; 32];
        for (chunk, word) in payload.chunks_exact_mut(8).zip(&self.payload) {
            chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        let count = (self.need_count.load(Relaxed) as usize).min(NEEDS);
        let needs = self.needs[..count].iter().map(|word| word.load(Relaxed)).collect();
        Offer { run: self.run.read(), task: self.task.read(), payload, needs }
    }
}

pub fn check_offer(offer: &Offer) -> Result<(), Error> {
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
            prop_assert_eq!(word.next(phase, word.who).version_before(), version);
        }
    }
}
