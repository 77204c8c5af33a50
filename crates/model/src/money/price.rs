//! What models cost.
//!
//! A model without a price has an unknown cost, which is not a cost of nothing: nothing here makes up a number.

use crate::Usage;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// What a model costs, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Price {
    /// Tokens sent.
    pub input_per_mtok: f64,
    /// Tokens received.
    pub output_per_mtok: f64,
    /// Tokens read from the cache.
    #[serde(default)]
    pub cache_read_per_mtok: f64,
    /// Tokens written to the cache.
    #[serde(default)]
    pub cache_write_per_mtok: f64,
    /// What holds for all tokens of a request that sends more than so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_prompt: Option<LongPrompt>,
    /// It is from a public price list; no person stated it for this machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
}

/// The price of requests that send many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LongPrompt {
    /// It holds when more tokens than this are sent.
    pub above: u64,
    /// Tokens sent.
    pub input_per_mtok: f64,
    /// Tokens received.
    pub output_per_mtok: f64,
    /// Tokens read from the cache.
    pub cache_read_per_mtok: f64,
    /// Tokens written to the cache.
    pub cache_write_per_mtok: f64,
}

impl Price {
    /// What a request cost, in millionths of a US dollar.
    ///
    /// A dollar per million tokens is a millionth of a dollar per token. A price of the cache that is not given is that of the
    /// other tokens sent, so that a budget is rather reached too early than too late.
    pub fn cost_micros(&self, used: &Usage) -> u64 {
        let price = self.when_sending(used.input_tokens);
        let or_input = |given: f64| if given > 0.0 { given } else { price.input_per_mtok };
        let fresh = used.input_tokens.saturating_sub(used.cache_read_tokens + used.cache_write_tokens);
        let cost = fresh as f64 * price.input_per_mtok
            + used.cache_read_tokens as f64 * or_input(price.cache_read_per_mtok)
            + used.cache_write_tokens as f64 * or_input(price.cache_write_per_mtok)
            + used.output_tokens as f64 * price.output_per_mtok;
        cost.round() as u64
    }

    /// What a request costs at most, in millionths of a US dollar: all that is sent at the highest price, and all that may come
    /// back.
    pub fn worst_case(&self, input: u64, output: u64) -> u64 {
        let price = self.when_sending(input);
        let sent = price.input_per_mtok.max(price.cache_write_per_mtok).max(price.cache_read_per_mtok);
        (input as f64 * sent + output as f64 * price.output_per_mtok).ceil() as u64
    }

    /// The price of a request that sends so many tokens.
    fn when_sending(&self, tokens: u64) -> Price {
        match self.long_prompt {
            Some(long) if tokens > long.above => Price {
                input_per_mtok: long.input_per_mtok,
                output_per_mtok: long.output_per_mtok,
                cache_read_per_mtok: long.cache_read_per_mtok,
                cache_write_per_mtok: long.cache_write_per_mtok,
                long_prompt: None,
                listed: self.listed,
            },
            _ => *self,
        }
    }
}

/// How calls to a provider are paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// By the service's public price list: it is asked at its own address.
    Listed,
    /// Not at all: a model of this machine, or a stand-in for one.
    Free,
    /// Unknown: an address of one's own, a program with a contract of its own.
    Unknown,
}

/// What is known of a provider before it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    /// How it is paid.
    pub billing: Billing,
    /// Whether it answers only requests that name a model.
    pub needs_model: bool,
}

impl Service {
    /// One that costs nothing and has one way to answer.
    pub const STAND_IN: Service = Service { billing: Billing::Free, needs_model: false };
}

/// What the models that an agent may ask cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prices {
    /// By their names.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub models: IndexMap<String, Price>,
    /// Of every other model of the agent's provider: a local one costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Price>,
}

impl Prices {
    /// What a model costs; `None` where no price is known.
    pub fn get(&self, model: &str) -> Option<&Price> {
        self.models.get(model).or(self.others.as_ref())
    }
}

impl From<IndexMap<String, Price>> for Prices {
    fn from(models: IndexMap<String, Price>) -> Prices {
        Prices { models, others: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_prompt_has_its_own_price() {
        let long =
            LongPrompt { above: 100, input_per_mtok: 10.0, output_per_mtok: 20.0, ..LongPrompt::default() };
        let price =
            Price { input_per_mtok: 1.0, output_per_mtok: 2.0, long_prompt: Some(long), ..Price::default() };
        let used = |input_tokens| Usage { input_tokens, output_tokens: 10, ..Usage::default() };
        assert_eq!((price.cost_micros(&used(100)), price.cost_micros(&used(101))), (120, 1210));
        assert_eq!((price.worst_case(100, 10), price.worst_case(101, 10)), (120, 1210));
    }

    #[test]
    fn an_unnamed_model_has_the_price_of_the_others_or_none() {
        let free = Prices { others: Some(Price::default()), ..Prices::default() };
        assert!(free.get("anything").is_some() && Prices::default().get("anything").is_none());
    }
}
