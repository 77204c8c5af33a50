//! How the receivers of traces and notices are doing, as they were found by the process that delivers to them.

use crate::console::Console;
use crate::following::{self, Receiver as Named};
use crate::stored;
use crate::view::format::plural;
use convoke_follow::{Account, Consumer};
use serde_json::{Value, json};

/// A receiver that the configuration names.
pub struct Receiver {
    label: String,
    /// What was delivered so far; or why nothing can be.
    found: Result<Option<Account>, String>,
}

/// Every receiver. Nothing is sent.
pub fn look(console: &Console) -> Vec<Receiver> {
    let state = stored::for_reading(console);
    let all = following::receivers(&console.config, &state).into_iter();
    let found = all.map(|(label, receiver)| {
        let found = receiver.map(|receiver| match receiver {
            Named::Signal(_, to) => convoke_follow::account(&state, &to.name),
            Named::Webhook(hook) => convoke_follow::account(&state, hook.name()),
        });
        Receiver { label, found }
    });
    found.collect()
}

/// For people.
pub fn line(receiver: &Receiver) -> String {
    let (state, more) = match &receiver.found {
        Err(why) => ("is not set up", why.clone()),
        Ok(None) => ("is new", "nothing was delivered yet".to_owned()),
        Ok(Some(account)) => match &account.problem {
            Some((why, at)) => ("does not take it", format!("{why} ({at}); it is delivered once it can be")),
            None => ("takes it", told(account)),
        },
    };
    format!("{:<18} {state:<17} {more}", receiver.label)
}

fn told(account: &Account) -> String {
    let mut words = format!("{} delivered", plural(account.delivered, "item"));
    if account.refused > 0 {
        words.push_str(&format!(", {} refused", account.refused));
    }
    if account.dropped > 0 {
        words.push_str(&format!(", {} removed before they were delivered", plural(account.dropped, "run")));
    }
    for (run, why) in &account.unreadable {
        words.push_str(&format!("; {run} is left out: {why}"));
    }
    words
}

/// For programs.
pub fn record(receiver: &Receiver) -> Value {
    let account = receiver.found.as_ref().ok().and_then(Option::as_ref);
    let problem = match &receiver.found {
        Err(why) => Some(why.clone()),
        Ok(account) => account.as_ref().and_then(|account| Some(account.problem.as_ref()?.0.clone())),
    };
    json!({
        "name": receiver.label,
        "delivered": account.map_or(0, |account| account.delivered),
        "refused": account.map_or(0, |account| account.refused),
        "dropped_runs": account.map_or(0, |account| account.dropped),
        "last_success": account.and_then(|account| account.last_success).map(|at| at.rfc3339()),
        "active": account.is_some_and(|account| account.active),
        "problem": problem,
        "unreadable": account.map(|account| &account.unreadable),
    })
}
