//! What a governor answers, and what it is told when a permit comes back.

use crate::spec::{Amount, ResourceId};
use convoke_model::{Timestamp, WhenSpent};

/// The answer to [`Governor::admit`](crate::Governor::admit).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// This one may start now.
    Granted(u64),
    /// A budget cannot pay this one any more; it waits no longer.
    Spent {
        /// The demand.
        key: u64,
        /// The budget.
        on: ResourceId,
        /// What was said to happen then.
        then: WhenSpent,
    },
    /// No demand may start.
    Blocked {
        /// The demand that has waited longest.
        key: u64,
        /// What it waits for.
        on: ResourceId,
        /// The first moment at which it is worth asking again though nothing comes back, if there is one.
        until: Option<Timestamp>,
    },
    /// No demand waits.
    Idle,
}

/// Why a demand is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It waits or holds a permit already.
    #[error("demand {0} waits or runs already")]
    Known(u64),
    /// It could never be granted.
    #[error("`{resource}`: {count} are needed and the limit is {limit}")]
    NeverFits {
        /// Of what.
        resource: String,
        /// How much it needs.
        count: u64,
        /// How much there is.
        limit: u64,
    },
    /// A budget cannot pay it.
    #[error("budget `{resource}` is spent")]
    Spent {
        /// The budget.
        resource: String,
        /// What was said to happen then.
        then: WhenSpent,
    },
    /// Too many wait.
    #[error("the queue is full: {limit} demands wait already")]
    Full {
        /// How many may wait.
        limit: usize,
    },
}

/// A permit was given back that no demand holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("demand {0} holds no permit")]
pub struct NotHeld(pub u64);

/// What a permit was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used<'a> {
    /// For nothing: what it was for never began.
    Nothing,
    /// For all that was reserved, as far as is known.
    AsReserved,
    /// For this; of what is not named, all that was reserved.
    Amounts(&'a [Amount]),
}
