//! Budgets of a day, for a table that does not know what was spent today: one that was made anew because the machine was.
//!
//! The caller reads from the journals what was spent, and tells it here, once. Telling it again changes nothing: only what the
//! table lacks is added.

use crate::capacity::budget::accounts;
use crate::capacity::client::table_name;
use crate::capacity::limits::Limits;
use crate::capacity::terms::{Counts, MONEY_UNIT, Shared};
use convoke_capacity::{Capacity, Error, Reserved};
use convoke_model::{Timestamp, Usage};
use std::sync::Arc;
use std::time::Duration;

/// Long enough to say a number.
const A_MOMENT: Duration = Duration::from_secs(10);

/// A budget of a day that all processes count together.
#[derive(Debug, Clone)]
pub struct DayBudget {
    /// The tenant that it belongs to; `None`: all runs of the machine.
    pub tenant: Option<String>,
    shared: Arc<Shared>,
}

impl DayBudget {
    /// The budgets of a day among limits.
    pub fn all(limits: &Limits) -> Vec<DayBudget> {
        let budgets = accounts::of_days(limits).into_iter();
        budgets.map(|(tenant, shared)| DayBudget { tenant, shared }).collect()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// What one call, or the calls of one attempt, take of it, as the table counts.
    pub fn part(&self, usage: &Usage) -> u64 {
        match self.shared.counts {
            Counts::Money => usage.cost_micros.div_ceil(MONEY_UNIT),
            _ => usage.tokens(),
        }
    }

    /// Sees to it that the table counts at least this much as spent today. False if it could not be told just now.
    pub fn make_known(&self, table: &Capacity, spent: u64, now: Timestamp) -> Result<bool, Error> {
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let Shared { name, limit, origin, .. } = &*self.shared;
        if spent == 0 || *limit == 0 {
            return Ok(true);
        }
        let id = table.define_rate(&table_name(name), count(*limit), accounts::DAY, origin)?.id;
        let view = table.in_force(id)?;
        let counted = view.lingering + u64::from(view.in_use) + u64::from(view.quarantined);
        let lacking = spent.saturating_sub(counted);
        if lacking == 0 {
            return Ok(true);
        }
        // A settlement may go past the limit, a grant never does: so the smallest one is asked for.
        let Reserved::Granted(lease) = table.reserve(&[(id, 1)], A_MOMENT)? else { return Ok(false) };
        table.settle(&lease, &[(id, count(lacking), accounts::left_of_day(now))])?;
        Ok(true)
    }
}

/// When the day of a moment began (UTC).
pub fn midnight(now: Timestamp) -> Timestamp {
    Timestamp(now.0 - now.0 % accounts::DAY.as_micros() as u64)
}
