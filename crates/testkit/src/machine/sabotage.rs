//! Faults in what is simulated around the engine's decisions, each of which breaks a promise: a promise that nothing can break
//! is worth nothing.

/// One part that does not do what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// The table grants more than there is.
    GrantsTooMuch,
    /// The table forgets at once what was used of rates and budgets.
    ForgetsUse,
    /// A resumed process does not know what its run has spent.
    ForgetsSpending,
    /// An attempt sends its call whatever became of its lease.
    IgnoresFence,
    /// A lease does not go back when a process lost it.
    KeepsLost,
    /// A lease goes back twice.
    ReturnsTwice,
    /// What was committed last is gone when a process is killed.
    LosesCommit,
    /// A process is not told that a service is paused.
    HidesPause,
    /// A process is not told of leases that the table has freed while it was stopped.
    HidesLoss,
    /// A process does not hear that a lease was granted.
    DropsGrant,
}

impl Sabotage {
    /// All of them, each with words of the promises that it breaks.
    pub const ALL: [(Sabotage, &'static [&'static str]); 10] = [
        (Sabotage::GrantsTooMuch, &["calls at once"]),
        (Sabotage::ForgetsUse, &["within a minute", "in a day"]),
        (Sabotage::ForgetsSpending, &["a run spends", "are on record"]),
        (Sabotage::IgnoresFence, &["which ran out"]),
        (Sabotage::KeepsLost, &["keeps"]),
        (Sabotage::ReturnsTwice, &["a second time"]),
        (Sabotage::LosesCommit, &["begins again", "a second time"]),
        (Sabotage::HidesPause, &["is to be left alone"]),
        (Sabotage::HidesLoss, &["its run has no place"]),
        (Sabotage::DropsGrant, &["the schedule does not end", "has no end", "waits for", "keeps"]),
    ];
}
