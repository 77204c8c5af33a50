//! May this start now?
//!
//! Pure: demands come in, permits go out and come back, and no call waits here. Knows nothing of plans or tasks; a demand
//! is a key with a rank and a list of what it needs. Time is what callers say it is.
//!
//! # What it keeps true
//!
//! - **Never above a limit.** At no instant is more of a resource out than its limit says: slots, rates as a provider
//!   that counts sees them, budgets with what is reserved. What a demand needs is granted whole or not at all.
//! - **Work conserving.** After [`Governor::admit`] has said that no demand may start, every demand that waits is short of
//!   something, or of something that is kept free for one that was passed too often.
//! - **Bounded waiting.** Let a demand `d` need the resource `r`, let `a` demands that need `r` wait when it comes, and
//!   let `t` be [`Rules::age_turn`]. If `r` is all that is scarce, `d` gets one of the next `t * (a + 1)` grants of `r`,
//!   whatever its class and priority. If it needs several scarce resources, a turn of `r` may be put off by at most `t`
//!   grants of `r` (so that no tenant gets three in a row), and `d` may not fit when the turn comes. Then it is passed;
//!   after `p` = [`Rules::passes`] grants of what it is short of, that is kept free, and its shape is granted before
//!   anything new that needs the same, but for the `l` other shapes that were passed before it: when the time that a rate
//!   takes has passed and permits that are out have ended. Every `t`-th grant that a shape gets this way goes to the demand of
//!   that shape that has waited longest. So `d` starts in finite time if permits that are out end; and if it needs all of `r`,
//!   it gets one of the next `2 * t * (a + 1) * (p + l + 3)` grants of `r`.
//! - **Ranks mean what they say.** Outside the turns of the longest waiting: class, then tenants in turn (at most two in
//!   a row while another fits, or as weights say), then priority, path, order, age. No priority is ever changed by waiting.
//! - **Exact accounts.** What is taken is given back once; giving back what no demand holds is an error and changes nothing.
//! - **Accepted work is never thrown out.** The queue is bounded: what can never fit is refused at once; what comes when it
//!   is full takes the place of a demand of a lower class that has not begun ([`Governor::give_way`]), or is refused.
//!
//! A holder of a permit must not ask for more of the same resources before it gives the permit back; at a limit of one that
//! would wait for itself.

mod adapt;
mod answer;
mod back_pressure;
mod breaker;
mod chance;
mod explain;
mod governor;
mod hash;
mod histogram;
mod learning;
mod meter;
mod metrics;
mod observe;
mod queue;
mod resource;
mod retire;
mod settle;
mod share;
mod spec;
mod split;

pub use convoke_model::WhenSpent;

pub use adapt::{Adapted, Outcome};
pub use answer::{Admission, NotHeld, Refused, Used};
pub use explain::Standing;
pub use governor::{Governor, Rules};
pub use learning::knowledge::{Change, Knowledge, Push, Sample};
pub use metrics::Metrics;
pub use observe::{Learned, LearnedLimit};
pub use queue::rank::{Demand, Rank, Tenant};
pub use share::Lack;
pub use spec::{
    Amount, BreakerRules, BudgetRules, Counts, Kind, Misconfigured, Origin, Period, RateRules, ResourceId,
    Spec, Unit,
};
