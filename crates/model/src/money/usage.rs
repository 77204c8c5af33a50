//! What an attempt has used.

use serde::{Deserialize, Serialize};

/// Tokens and money. Money is in millionths of a US dollar, so that sums are exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Requests sent to a model.
    #[serde(skip_serializing_if = "is_zero")]
    pub calls: u64,
    /// Tokens sent.
    #[serde(skip_serializing_if = "is_zero")]
    pub input_tokens: u64,
    /// Tokens received.
    #[serde(skip_serializing_if = "is_zero")]
    pub output_tokens: u64,
    /// Tokens read from the provider's cache (part of the tokens sent).
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    /// Tokens written to the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Millionths of a US dollar, of the calls whose cost is known.
    #[serde(skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
    /// Calls whose cost is not known: no price is, and the provider did not say.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
    /// Some of the numbers are our estimate, because the provider said nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Whether nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Usage::default()
    }

    /// Tokens, sent and received.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// What is left of this without that, nothing where that is more.
    pub fn less(&self, other: &Usage) -> Usage {
        let left = Usage {
            calls: self.calls.saturating_sub(other.calls),
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_sub(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_sub(other.cache_write_tokens),
            cost_micros: self.cost_micros.saturating_sub(other.cost_micros),
            unpriced_calls: self.unpriced_calls.saturating_sub(other.unpriced_calls),
            estimated: false,
        };
        Usage { estimated: self.estimated && !left.is_zero(), ..left }
    }

    /// The cost in US dollars; `None` where the cost of a call is not known.
    pub fn cost_usd(&self) -> Option<f64> {
        (self.unpriced_calls == 0).then(|| self.known_cost_usd())
    }

    /// Whether a part of the cost at least is known: some call had a price, or there was none to pay.
    pub fn is_cost_known_in_part(&self) -> bool {
        self.cost_micros > 0 || self.unpriced_calls == 0 || self.unpriced_calls < self.calls
    }

    /// What is known of the cost, in US dollars: the least that was spent.
    pub fn known_cost_usd(&self) -> f64 {
        self.cost_micros as f64 / 1e6
    }
}

/// A sum stays at the most that can be counted: a budget is not made whole by a number that begins anew.
impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
        self.unpriced_calls = self.unpriced_calls.saturating_add(other.unpriced_calls);
        self.estimated = self.estimated || other.estimated;
    }
}
