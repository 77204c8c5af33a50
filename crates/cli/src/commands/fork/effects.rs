//! Effects of the base that the fork would repeat: listed, and repeated only if a person says so.

use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate;
use crate::stdio;
use crate::stored::Stored;
use crate::view::format;
use convoke_engine::effects::{Effect, EffectState};
use convoke_model::{Event, Stamped};
use convoke_plan::Plan;
use convoke_schedule::{Scheduler, replayable};
use std::sync::Arc;

/// Lines of the list; the rest is counted.
const MOST: usize = 20;

/// Asks on a terminal; elsewhere refuses, unless repeating was allowed.
pub fn ask(
    base: &Stored,
    plan: &Arc<Plan>,
    history: &[Stamped],
    opening: &[Event],
    allowed: bool,
) -> Result<(), CommandFailure> {
    let done = convoke_engine::done(history, opening);
    let mut scheduler = Scheduler::new(plan.clone());
    for stamped in replayable(base.events.clone()) {
        // Behind a change of the plan tasks may not be known: what is known is listed.
        if scheduler.apply(&stamped).is_err() {
            break;
        }
    }
    let found = convoke_engine::repeated(&scheduler, &base.events, &done);
    let why = format!("run `{}` did this already, and it would be done again", base.run);
    permit(&found, &why, "--at a later point keeps what was done before it", allowed)
}

/// Goes on if there is nothing to repeat, or if repeating it is allowed.
pub fn permit(found: &[Effect], why: &str, otherwise: &str, allowed: bool) -> Result<(), CommandFailure> {
    if found.is_empty() || allowed {
        return Ok(());
    }
    let mut words = format!("{why}:");
    for Effect { task, what, state, .. } in found.iter().take(MOST) {
        let failed = if *state == EffectState::Failed {
            " (it failed, perhaps not before it did something)"
        } else {
            ""
        };
        words.push_str(&format!("\n  {task}: {}{failed}", format::first_line(what)));
    }
    if found.len() > MOST {
        words.push_str(&format!("\n  and {} more", found.len() - MOST));
    }
    if gate::is_attended() {
        stdio::prompt(&format!("{words}\ngo on and repeat them? [y/N] "));
        let mut answer = String::new();
        let heard = std::io::stdin().read_line(&mut answer).is_ok();
        if heard && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            return Ok(());
        }
        return Err(CommandFailure::new(Exit::Refused, "nothing was started"));
    }
    let hint = format!("--repeat-effects goes on and repeats them; {otherwise}");
    Err(CommandFailure::new(Exit::Refused, words).hint(hint))
}
