//! Every series that is exposed: its name, its type, and what it says.

/// What a series is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How often something took how long.
    Histogram,
}

impl Type {
    /// The word of the format.
    pub fn word(self) -> &'static str {
        match self {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        }
    }
}

/// One series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Type,
    /// What it says.
    pub help: &'static str,
}

macro_rules! series {
    ($($id:ident = $kind:ident $name:literal $help:literal;)*) => {
        $(#[doc = $help] pub const $id: Series = Series { name: $name, kind: Type::$kind, help: $help };)*
        /// All of them, in the order in which they are printed.
        pub const ALL: &[Series] = &[$($id),*];
    };
}

series! {
    RUNS = Counter "convoke_runs_total" "Runs that have ended, by workflow and status.";
    RUN_SECONDS = Histogram "convoke_run_duration_seconds" "How long runs took from their start to their end, by workflow.";
    ATTEMPTS = Counter "convoke_attempts_total" "Attempts that have ended, by workflow and how.";
    ATTEMPT_SECONDS = Histogram "convoke_attempt_duration_seconds" "How long attempts took, by workflow.";
    FAILURES = Counter "convoke_attempt_failures_total" "Attempts that failed, by the class of failure.";
    TASKS = Counter "convoke_tasks_failed_total" "Tasks that failed for good, by workflow.";
    CALLS = Counter "convoke_model_calls_total" "Calls of models, by workflow.";
    TOKENS = Counter "convoke_tokens_total" "Tokens, by workflow and direction: input, output, cache_read, cache_write.";
    COST = Counter "convoke_cost_dollars_total" "US dollars spent as far as they are known, by workflow; nothing where no call had a price.";
    UNPRICED = Counter "convoke_unpriced_calls_total" "Calls of models whose cost is not known, by workflow.";
    MODEL_SECONDS = Histogram "convoke_model_call_duration_seconds" "How long calls of models took, by provider and model. Of runs that were traced.";
    MODEL_TOKENS = Counter "convoke_model_tokens_total" "Tokens by provider, model and direction. Of runs that were traced.";
    TOOL_CALLS = Counter "convoke_tool_calls_total" "Calls of tools, by tool and outcome.";
    GATE_SECONDS = Histogram "convoke_gate_wait_seconds" "How long questions waited for an answer.";
    BUDGETS = Counter "convoke_budgets_spent_total" "Budgets that could not pay a call, by workflow.";
    STATUS = Gauge "convoke_runs" "Runs that have not ended, by status.";
    OPEN_GATES = Gauge "convoke_gates_open" "Questions that wait for a person.";
    RUNNING = Gauge "convoke_attempts_running" "Attempts under way in runs that a process drives.";
    LIMIT = Gauge "convoke_capacity_limit" "What processes may use together of a resource.";
    IN_USE = Gauge "convoke_capacity_in_use" "How much of a resource is in use.";
    QUARANTINED = Gauge "convoke_capacity_quarantined" "How much of a resource has expired and is not known to be over.";
    WAITING = Gauge "convoke_capacity_waiting" "Demands that wait for a resource.";
    PAUSED = Gauge "convoke_capacity_paused_seconds" "For how long a resource is paused still.";
    INSTANCES = Gauge "convoke_processes" "Processes that share capacity.";
    GRANTS = Counter "convoke_capacity_grants_total" "Leases granted since the machine was started.";
    LOST = Counter "convoke_capacity_lost_leases_total" "Leases that ran out because a process was away, since the machine was started.";
    DELIVERED = Counter "convoke_receiver_delivered_total" "Items that a receiver of traces or notices has taken.";
    REFUSED = Counter "convoke_receiver_refused_total" "Items that a receiver did not want.";
    DROPPED = Counter "convoke_receiver_dropped_runs_total" "Runs that were removed before all of them was delivered.";
    FAILING = Gauge "convoke_receiver_failing" "1 while deliveries to a receiver come to nothing.";
}
