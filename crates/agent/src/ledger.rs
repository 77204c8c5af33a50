//! What an attempt has used so far, in tokens and money.
//!
//! Where a service says nothing, tokens are estimated from the text (`excerpt`) and marked as an estimate.

use crate::{Message, Reply};
use convoke_model::excerpt::tokens;
use convoke_model::{Class, Failure, Prices, Usage};

/// Adds up the calls of one attempt.
pub struct Ledger<'a> {
    prices: &'a Prices,
    total: Usage,
    /// The call that is under way.
    open: Option<OpenCall>,
}

struct OpenCall {
    model: String,
    input_tokens: u64,
}

impl<'a> Ledger<'a> {
    /// An empty ledger with these prices.
    pub fn new(prices: &'a Prices) -> Ledger<'a> {
        Ledger { prices, total: Usage::default(), open: None }
    }

    /// Notes that a call begins.
    pub fn begin(&mut self, model: &str, input_tokens: u64) {
        self.open = Some(OpenCall { model: model.to_owned(), input_tokens });
    }

    /// Notes how the call ended; `heard` is what was received of its answer. Gives what it used.
    pub fn end(&mut self, result: &Result<Reply, Failure>, heard: &str) -> Usage {
        let Some(open) = self.open.take() else { return Usage::default() };
        let used = match result {
            Ok(reply) => self.priced(Usage { calls: 1, ..reply.usage }, &[&open.model, &reply.model]),
            Err(failure) if was_worked_on(failure, heard) => self.estimated(&open, heard),
            Err(_) => Usage { calls: 1, ..Usage::default() },
        };
        self.total += used;
        used
    }

    /// What was used since this was last asked, for the record that is written now.
    pub fn take(&mut self) -> Usage {
        std::mem::take(&mut self.total)
    }

    /// What was used since it was last taken.
    pub fn so_far(&self) -> Usage {
        self.total
    }

    /// Puts back what was taken for a record that could not be written.
    pub fn put_back(&mut self, used: Usage) {
        self.total += used;
    }

    /// Closes the ledger, also on a call that was cut off in the middle.
    pub fn close(mut self, heard: &str) -> Usage {
        if let Some(open) = self.open.take() {
            let used = self.estimated(&open, heard);
            self.total += used;
        }
        self.total
    }

    fn estimated(&self, open: &OpenCall, heard: &str) -> Usage {
        let used = Usage {
            calls: 1,
            input_tokens: open.input_tokens,
            output_tokens: tokens(heard),
            estimated: true,
            ..Usage::default()
        };
        self.priced(used, &[&open.model])
    }

    fn priced(&self, mut used: Usage, models: &[&str]) -> Usage {
        let said = used.cost_micros;
        match models.iter().find_map(|model| self.prices.get(model)) {
            // A list tells what a call should cost, and the service what it did.
            Some(price) if price.listed => used.cost_micros = price.cost_micros(&used).max(said),
            Some(price) => used.cost_micros = price.cost_micros(&used),
            // Where no price is set, the cost that the service itself reports is the best there is.
            None if said == 0 && used.tokens() > 0 => used.unpriced_calls = used.calls.max(1),
            None => {}
        }
        used
    }
}

/// A service that had begun to work when the call broke off will ask for its money.
fn was_worked_on(failure: &Failure, heard: &str) -> bool {
    !heard.is_empty() || matches!(failure.class, Class::Timeout | Class::Cancelled)
}

/// Our estimate of the tokens in a request.
pub fn tokens_in(messages: &[Message]) -> u64 {
    let of_calls = |message: &Message| -> u64 {
        message.tool_calls.iter().map(|call| tokens(&call.name) + tokens(call.arguments.as_str())).sum()
    };
    let of_thoughts = |message: &Message| message.thoughts.as_ref().map_or(0, |text| tokens(text.as_str()));
    messages.iter().map(|message| tokens(&message.text) + of_calls(message) + of_thoughts(message)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Finish;
    use convoke_model::Price;
    use indexmap::IndexMap;

    fn prices() -> Prices {
        let price = Price { input_per_mtok: 2.0, output_per_mtok: 8.0, ..Price::default() };
        IndexMap::from([("m".to_owned(), price)]).into()
    }

    fn reply(usage: Usage) -> Result<Reply, Failure> {
        Ok(Reply::said("x", Finish::Stop, usage, "m-2026"))
    }

    #[test]
    fn calls_add_up_and_cost_what_they_cost() {
        let prices = prices();
        let mut ledger = Ledger::new(&prices);
        for _ in 0..2 {
            ledger.begin("m", 99);
            let usage =
                Usage { input_tokens: 10, output_tokens: 5, cache_read_tokens: 4, ..Usage::default() };
            assert_eq!(ledger.end(&reply(usage), "").cost_micros, 60);
        }
        let total = ledger.close("");
        assert_eq!((total.calls, total.input_tokens, total.cost_micros), (2, 20, 120));
        assert!(!total.estimated);
    }

    #[test]
    fn what_broke_off_is_estimated() {
        let prices = prices();
        let mut ledger = Ledger::new(&prices);
        ledger.begin("m", 100);
        let lost = Err(Failure::new(Class::Transient, "cut"));
        let used = ledger.end(&lost, "12345678");
        assert_eq!((used.input_tokens, used.output_tokens, used.estimated), (100, 2, true));
        ledger.begin("m", 100);
        assert_eq!(ledger.end(&lost, ""), Usage { calls: 1, ..Usage::default() });
        ledger.begin("m", 7);
        let total = ledger.close("1234");
        assert_eq!((total.calls, total.input_tokens, total.output_tokens), (3, 107, 3));
    }

    #[test]
    fn what_is_on_a_page_is_not_counted_again() {
        let prices = prices();
        let mut ledger = Ledger::new(&prices);
        ledger.begin("m", 1);
        ledger.end(&reply(Usage { input_tokens: 9, ..Usage::default() }), "");
        assert_eq!(ledger.take().input_tokens, 9);
        ledger.begin("m", 1);
        ledger.end(&reply(Usage { input_tokens: 4, ..Usage::default() }), "");
        let total = ledger.close("");
        assert_eq!((total.calls, total.input_tokens), (1, 4));
    }

    #[test]
    fn a_model_without_a_price_costs_what_its_service_says_and_else_nobody_knows() {
        let prices = Prices::default();
        let mut ledger = Ledger::new(&prices);
        ledger.begin("m", 1);
        let used = ledger.end(&reply(Usage { input_tokens: 9, ..Usage::default() }), "");
        assert_eq!((used.cost_micros, used.unpriced_calls, used.cost_usd()), (0, 1, None));
        ledger.begin("m", 1);
        let used = ledger.end(&reply(Usage { cost_micros: 70, ..Usage::default() }), "");
        assert_eq!((used.cost_micros, used.unpriced_calls), (70, 0));
        ledger.begin("m", 3);
        assert_eq!(ledger.close("1234").cost_usd(), None, "nor of what was cut off");
    }

    #[test]
    fn a_service_that_charges_more_than_its_list_is_believed() {
        let listed = Price { input_per_mtok: 1.0, listed: true, ..Price::default() };
        let prices = Prices::from(IndexMap::from([("m".to_owned(), listed)]));
        let mut ledger = Ledger::new(&prices);
        ledger.begin("m", 1);
        let used = Usage { input_tokens: 9, cost_micros: 70, ..Usage::default() };
        assert_eq!(ledger.end(&reply(used), "").cost_micros, 70);
    }
}
