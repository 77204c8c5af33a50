//! Which of the stated limits of a service hold.

use crate::capacity::limits::{ServiceLimit, Stated};

/// One entry for each service: where two names of it have a limit each, the smaller one holds.
pub(super) fn merged(limits: &[ServiceLimit]) -> Vec<ServiceLimit> {
    let mut all: Vec<ServiceLimit> = Vec::new();
    for limit in limits {
        let same =
            |known: &&mut ServiceLimit| (&known.provider, &known.model) == (&limit.provider, &limit.model);
        match all.iter_mut().find(same) {
            None => all.push(limit.clone()),
            Some(known) => {
                smaller(&mut known.concurrency, &limit.concurrency);
                smaller(&mut known.requests_per_minute, &limit.requests_per_minute);
                smaller(&mut known.tokens_per_minute, &limit.tokens_per_minute);
            }
        }
    }
    all
}

fn smaller(known: &mut Option<Stated>, other: &Option<Stated>) {
    if let Some(other) = other
        && known.as_ref().is_none_or(|known| other.limit < known.limit)
    {
        *known = Some(other.clone());
    }
}
