//! On what terms attempts run and calls are made: the small values that pass between deciding and doing.

use std::sync::Arc;
use std::time::Duration;

/// Names a call of an attempt, within one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallNo(pub u64);

/// Names a lease request, within one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestNo(pub u64);

/// Names a kind of attempts: those that need the same of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KindNo(pub usize);

/// The fencing token of a lease: larger than that of every lease before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

/// A resource that all processes of a machine share.
#[derive(Debug, PartialEq, Eq)]
pub struct Shared {
    /// Its name, the same in all processes.
    pub name: String,
    /// How much there is, as far as this process was told.
    pub limit: u64,
    /// Where that limit comes from.
    pub origin: String,
    /// What is counted.
    pub counts: Counts,
    /// Rates and budgets of a day: for how long what was used counts, at most.
    pub window: Option<Duration>,
    /// A request that cannot have it because it is spent is told so, instead of waiting until it is full again.
    pub says_spent: bool,
}

/// What a shared resource counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Attempts or calls, for as long as they last.
    Slots,
    /// Calls.
    Requests,
    /// Tokens, sent and received.
    Tokens,
    /// Money, in [units](MONEY_UNIT).
    Money,
}

/// What money is shared in, in millionths of a dollar: so a day's budget can be as large as hundreds of thousands of dollars.
pub const MONEY_UNIT: u64 = 100;

/// So much of a shared resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Of what.
    pub of: Arc<Shared>,
    /// How much.
    pub count: u64,
}

/// What is wanted together.
pub(crate) type Wants = Arc<[Want]>;

/// What a lease comes back with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Return {
    /// The lease.
    pub fence: Fence,
    /// Of rates and budgets: what was used, and for how long that counts. The rest is given back at once.
    pub used: Vec<(Want, Duration)>,
}

/// On what terms an attempt runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// The lease that covers it, where capacity is shared.
    pub fence: Option<Fence>,
    /// How its calls are admitted.
    pub calls: Calls,
}

/// How the calls of an attempt are admitted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Calls {
    /// Nothing counts them.
    #[default]
    Free,
    /// Each is asked for, but for the first, if it goes to this model: its permit came with the attempt's.
    Asked(Option<Box<str>>),
}
