//! Which model of a chain is asked: the first, until it cannot answer, then the next.
//!
//! A limit, a lack of capacity, a timeout and a refusal are the model's own, and the next one is asked at once. A fault
//! that may pass is first left to further attempts; only the last of them turns to the next model. What was chosen
//! holds for the rest of the attempt.

use crate::{Finish, Reply, Report};
use convoke_model::{AgentCall, Class, Contract, Failure};

/// The models of one attempt.
pub(crate) struct Models<'a> {
    step: &'a str,
    first: &'a str,
    others: &'a [String],
    /// How many of the others have been turned to.
    turned: usize,
    is_last_attempt: bool,
}

impl<'a> Models<'a> {
    /// The chain of a call, in this attempt of the step: the contract's, where there is one.
    pub fn new(
        call: &'a AgentCall,
        contract: Option<&'a Contract>,
        step: &'a str,
        attempt: u32,
    ) -> Models<'a> {
        let fallback = call.settings.fallback.as_ref();
        let stated = fallback.map_or(&[][..], |fallback| &fallback.models);
        Models {
            step,
            first: &call.model,
            others: contract.map_or(stated, |contract| &contract.other_models),
            turned: 0,
            is_last_attempt: fallback.is_some_and(|fallback| attempt >= fallback.attempts),
        }
    }

    /// The model to ask where the conversation names this one. A grader of its own has no chain.
    pub fn instead_of<'b>(&self, named: &'b str) -> &'b str
    where
        'a: 'b,
    {
        match self.turned {
            turned if turned > 0 && named == self.first => &self.others[turned - 1],
            _ => named,
        }
    }

    /// Turns to the next model, if this outcome is worth it and there is one; says so for the journal.
    pub fn turn(&mut self, named: &str, outcome: &Result<Reply, Failure>) -> Option<Report> {
        let why = self.reason(outcome).filter(|_| named == self.first)?;
        let next = self.others.get(self.turned)?;
        let from = if self.turned == 0 { self.first } else { &self.others[self.turned - 1] };
        let message = format!("step `{}`: model `{from}` gave no answer ({why}); asking `{next}`", self.step);
        self.turned += 1;
        Some(Report::Noted { code: "model_fallback", message })
    }

    fn reason(&self, outcome: &Result<Reply, Failure>) -> Option<String> {
        match outcome {
            Ok(reply) if reply.finish == Finish::Refusal => Some(Class::Refused.to_string()),
            Ok(_) => None,
            Err(failure) => {
                let passing = failure.class == Class::Transient && self.is_last_attempt;
                let own = matches!(
                    failure.class,
                    Class::RateLimit | Class::Capacity | Class::Timeout | Class::Refused
                );
                // The model is not there, or not for us; another one may be.
                let elsewhere = matches!(failure.reason.as_deref(), Some("not_found" | "insufficient_quota"));
                (own || passing || elsewhere).then(|| format!("{}: {}", failure.class, failure.message))
            }
        }
    }
}
