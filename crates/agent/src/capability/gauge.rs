//! How full the context is.
//!
//! Four bytes are taken for a token until a service says how many there really were: a text of digits or of Chinese has
//! more, and what was learned holds for the next request.

use crate::{Message, tokens_in};
use convoke_model::{Capabilities, Usage};
use serde::{Deserialize, Serialize};

/// Requests below this many tokens are mostly wrapping, and say nothing about the text.
const TELLING: u64 = 1000;

/// Never believe more than this, in percent: some services count what they did on their own too.
const DENSEST: u64 = 300;

/// Tokens as they were counted, in percent of our estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Gauge(u64);

impl Default for Gauge {
    fn default() -> Gauge {
        Gauge(100)
    }
}

impl Gauge {
    /// The tokens that a request with these messages takes, tools and room for the answer included.
    pub fn used(self, messages: &[Message], tools: u64, reserve: u64) -> u64 {
        self.weighed(tokens_in(messages) + tools) + reserve
    }

    /// An estimate, corrected by what was learned.
    pub fn weighed(self, tokens: u64) -> u64 {
        tokens * self.0 / 100
    }

    /// The reverse: how many estimated tokens these are.
    pub fn estimated(self, tokens: u64) -> u64 {
        tokens * 100 / self.0
    }

    /// Learns from what a service counted for a request that we took for this many tokens.
    pub fn learn(&mut self, estimate: u64, usage: &Usage) {
        if !usage.estimated && usage.input_tokens > 0 && estimate >= TELLING {
            self.0 = (usage.input_tokens * 100 / estimate).clamp(100, DENSEST);
        }
    }
}

/// So much percent of the window, in tokens.
pub(crate) fn percent(capabilities: &Capabilities, percent: u8) -> u64 {
    capabilities.context_window.saturating_mul(u64::from(percent)) / 100
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    #[test]
    fn what_a_service_counts_corrects_the_estimate() {
        let messages = [Message::new(Role::User, "x".repeat(8000))];
        let mut gauge = Gauge::default();
        assert_eq!(gauge.used(&messages, 100, 50), 2150);
        gauge.learn(2000, &Usage { input_tokens: 3000, ..Usage::default() });
        assert_eq!(gauge.used(&messages, 0, 0), 3000);
        assert_eq!(gauge.estimated(3000), 2000);
        gauge.learn(2000, &Usage { input_tokens: 900_000, ..Usage::default() });
        assert_eq!(gauge.used(&messages, 0, 0), 6000);
    }

    #[test]
    fn short_requests_and_estimates_teach_nothing() {
        let mut gauge = Gauge::default();
        gauge.learn(10, &Usage { input_tokens: 500, ..Usage::default() });
        gauge.learn(2000, &Usage { input_tokens: 9000, estimated: true, ..Usage::default() });
        gauge.learn(2000, &Usage { input_tokens: 100, ..Usage::default() });
        assert_eq!(gauge, Gauge::default());
    }
}
