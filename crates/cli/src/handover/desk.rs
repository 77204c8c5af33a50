//! Who may begin an offered attempt. Pure.
//!
//! Thieves come and go: one may claim, die and leave its claim to the next, one may come after it was given up on. What is
//! kept true: `Go` is said to one claim at most, and never once the attempt is performed here.

/// How the hand-over of one offer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Desk {
    /// Nobody has begun it.
    #[default]
    Open,
    /// The claim with this fence was told to begin, elsewhere.
    Given(u64),
    /// It is performed here, or has ended.
    Shut,
}

impl Desk {
    /// Whether the claim with this fence may begin now. `held` is the fence of the claim that the table shows.
    pub fn give(&mut self, fence: u64, held: Option<u64>) -> bool {
        let may = *self == Desk::Open && held == Some(fence);
        if may {
            *self = Desk::Given(fence);
        }
        may
    }

    /// Whether the attempt may be performed here: nobody has begun it, and from now on nobody will.
    pub fn keep(&mut self) -> bool {
        let may = *self == Desk::Open;
        if may {
            *self = Desk::Shut;
        }
        may
    }
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
