//! Which claim on an offered attempt may begin. Pure.
//!
//! A claimant may claim, die and leave the offer to the next claimant; another may connect after the owner has stopped waiting.
//! Kept true: `Go` is sent to one claim at most, and never once the attempt is performed by the owner process.

/// The state of the hand-over of one offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClaimState {
    /// The attempt has not begun.
    #[default]
    Open,
    /// The claim with this fence may begin, in another process.
    Granted(u64),
    /// The owner process performs the attempt, or it has ended.
    Closed,
}

impl ClaimState {
    /// Grants the attempt to the claim with this fence, if that is possible. `held` is the fence of the claim in the table.
    pub fn grant(&mut self, fence: u64, held: Option<u64>) -> bool {
        let may = *self == ClaimState::Open && held == Some(fence);
        if may {
            *self = ClaimState::Granted(fence);
        }
        may
    }

    /// Keeps the attempt for the owner process, if it has not begun elsewhere. From then on no claim is granted.
    pub fn keep(&mut self) -> bool {
        let may = *self == ClaimState::Open;
        if may {
            *self = ClaimState::Closed;
        }
        may
    }
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
