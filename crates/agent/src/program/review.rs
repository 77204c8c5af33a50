//! A result that others look at before it counts, as they look at any agent's answer.
//!
//! A validator is advice: without a verdict, or without a round left, the result passes with a note. Success criteria
//! are a condition. A model that is told to do better writes another program, within the turns that it has. Results of
//! programs below another one are not looked at: they are parts of an answer.

use super::perform::{Going, Programmer};
use crate::grade::{self, Verdict};
use crate::{Grading, Purpose, Report};
use convoke_model::synthesis::readable;
use convoke_model::{Class, Failure, reason};
use serde_json::Value;

impl Programmer<'_> {
    /// What must change before a result counts; `None` if it does.
    pub(super) async fn reviewed(
        &self,
        going: &mut Going<'_, '_>,
        result: &Value,
    ) -> Result<Option<String>, Failure> {
        if self.call.depth > 0 {
            return Ok(None);
        }
        match self.graded(going, result).await? {
            Some(issues) => Ok(Some(issues)),
            None => self.verified(going, result).await,
        }
    }

    async fn graded(&self, going: &mut Going<'_, '_>, result: &Value) -> Result<Option<String>, Failure> {
        let Some(validator) = &self.call.agent.settings.validator else { return Ok(None) };
        let used = going.session.state.regraded;
        // The last answer counts ungraded: a verdict that nothing follows from would only cost money.
        if used > 0 && used >= validator.max_retries {
            return Ok(None);
        }
        let (criteria, model) = (&validator.criteria, validator.model.as_deref());
        let verdict = match self.verdict(going, result, criteria, model, Purpose::Grade).await {
            Ok(verdict) => verdict,
            Err(failure) if failure.class == Class::Cancelled => return Err(failure),
            Err(failure) => Verdict::Unclear(failure.message),
        };
        let words = match verdict {
            Verdict::Passed => return Ok(None),
            Verdict::Unclear(why) => {
                let words = format!("the validator gave no verdict, so the answer passes: {why}");
                self.note("validator_failed", &words);
                return Ok(None);
            }
            Verdict::Rejected(issues) => issues.join("; "),
        };
        if used >= validator.max_retries {
            self.note(
                "validation_failed",
                &format!("the validator rejects the answer, which is kept: {words}"),
            );
            return Ok(None);
        }
        going.session.state.regraded += 1;
        self.note("validation_failed", &format!("the validator rejects the answer, asking again: {words}"));
        Ok(Some(words))
    }

    async fn verified(&self, going: &mut Going<'_, '_>, result: &Value) -> Result<Option<String>, Failure> {
        let Some(required) = &self.call.agent.settings.success_criteria else { return Ok(None) };
        let (criteria, model) = (&required.criteria, required.model.as_deref());
        let refused = |words: String, why: &str| Failure::new(Class::InvalidOutput, words).reason(why);
        match self.verdict(going, result, criteria, model, Purpose::Verify).await? {
            Verdict::Passed => Ok(None),
            Verdict::Unclear(why) => {
                let words = format!("the success criteria cannot be judged: {why}");
                Err(refused(words, reason::NO_VERDICT))
            }
            Verdict::Rejected(issues) if going.session.state.retried >= required.max_retries => {
                let words = format!("the answer does not meet the success criteria: {}", issues.join("; "));
                Err(refused(words, reason::CRITERIA_UNMET))
            }
            Verdict::Rejected(issues) => {
                going.session.state.retried += 1;
                let words = issues.join("; ");
                let note = format!("the success criteria are not met, asking again: {words}");
                self.note(reason::CRITERIA_UNMET, &note);
                Ok(Some(words))
            }
        }
    }

    async fn verdict(
        &self,
        going: &mut Going<'_, '_>,
        result: &Value,
        criteria: &str,
        model: Option<&str>,
        purpose: Purpose,
    ) -> Result<Verdict, Failure> {
        let step = &self.talk.assignment.step;
        let grading = Grading { agent: &self.call.agent, step, criteria, model, purpose };
        let question = grading.question(&readable(result), going.session.state.turns + 1);
        let reply = self.talk.ask_one_of(&mut going.models, &question, going.ledger, going.heard).await?;
        Ok(grade::read(&reply.text))
    }

    fn note(&self, code: &'static str, words: &str) {
        let message = format!("step `{}`: {words}", self.talk.assignment.step);
        self.talk.link.report(Report::Noted { code, message });
    }
}
