//! The most rounds of tool calls.
//!
//! The agent is told before its last round, and again when there is none left; then no tools are offered, and one that
//! still wants them has failed.

use convoke_model::{Class, Failure};

/// What the agent is told after so many rounds.
pub(crate) fn note(rounds: u32, most: u32) -> Option<String> {
    match most.saturating_sub(rounds) {
        0 => Some("No more tool calls are possible. Give your final answer now, with what you know.".into()),
        1 => Some(format!(
            "{rounds} of {most} rounds of tool calls are used. Only one is left: make your last calls, or give your final answer now."
        )),
        _ => None,
    }
}

/// Whether tools may still be called.
pub(crate) fn may_call(rounds: u32, most: u32) -> bool {
    rounds < most
}

/// The failure of an agent that does not stop.
pub(crate) fn exceeded(step: &str, most: u32) -> Failure {
    let message = format!("step `{step}`: the agent still wants tools after {most} rounds of tool calls");
    Failure::new(Class::Budget, message)
        .reason("max_agent_iterations")
        .hint("raise `max_agent_iterations`, or ask for less in one step")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_told_in_time() {
        let told: Vec<bool> = (1..=4).map(|rounds| note(rounds, 4).is_some()).collect();
        assert_eq!(told, [false, false, true, true]);
        assert!(note(1, 1).unwrap().starts_with("No more"));
        assert!(may_call(3, 4) && !may_call(4, 4));
    }
}
