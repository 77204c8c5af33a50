//! Tells the agent when its context is nearly full, each level once.

use super::gauge;
use convoke_model::Capabilities;

/// The level that is reached and was not spoken of yet.
pub(crate) fn due(capabilities: &Capabilities, used: u64, warned: u8) -> Option<u8> {
    let reached = |level: &&u8| **level > warned && used >= gauge::percent(capabilities, **level);
    capabilities.context_warnings.iter().filter(reached).max().copied()
}

/// What the agent is told.
pub(crate) fn note(level: u8) -> String {
    match level {
        90.. => format!("Your context is more than {level} % full. Finish now: give your final answer."),
        _ => format!(
            "Your context is more than {level} % full. Read only what you still need, and come to an answer."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_is_told_once() {
        let capabilities = Capabilities { context_window: 1000, ..Capabilities::default() };
        assert_eq!(due(&capabilities, 699, 0), None);
        assert_eq!(due(&capabilities, 700, 0), Some(70));
        assert_eq!(due(&capabilities, 800, 70), None);
        assert_eq!(due(&capabilities, 950, 70), Some(90));
        assert_eq!(due(&capabilities, 950, 0), Some(90));
        assert_eq!(due(&capabilities, 950, 90), None);
        let off = Capabilities { context_warnings: vec![], ..capabilities };
        assert_eq!(due(&off, 1000, 0), None);
    }
}
