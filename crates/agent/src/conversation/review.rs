//! Answers that others look at before they count.
//!
//! A validator is advice: one that fails, or still rejects after its rounds, lets the answer pass with a note. Success
//! criteria are a condition: without a clear yes there is no output.

use super::{Conversation, Ending, Premise, Stage, opening};
use crate::grade::{self, Verdict};
use crate::window::bytes_beside;
use crate::{Reply, wording};
use convoke_model::{Class, Failure, JsonText, reason};

impl Conversation {
    /// Hands an answer that fits to its first reviewer: the grader, or else the verifier.
    pub(super) fn review(&mut self, premise: &Premise<'_>, output: JsonText) -> Stage {
        match self.state.graded && premise.call.settings.validator.is_some() {
            true => Stage::Grading { output },
            false => verify(premise, output),
        }
    }

    /// An answer that needs no grader.
    pub(super) fn pass(&mut self, premise: &Premise<'_>, output: JsonText) -> Stage {
        verify(premise, output)
    }

    /// The grader has spoken.
    pub(super) fn graded(
        &mut self,
        premise: &Premise<'_>,
        output: JsonText,
        reply: Result<Reply, Failure>,
    ) -> Stage {
        let step = premise.step;
        let verdict = match reply {
            Ok(reply) => grade::read(&reply.text),
            Err(failure) if failure.class == Class::Cancelled => return Stage::failed(failure),
            Err(failure) => Verdict::Unclear(failure.message),
        };
        match verdict {
            Verdict::Passed => verify(premise, output),
            Verdict::Rejected(issues) => self.rejected_by_grader(premise, output, &issues),
            Verdict::Unclear(why) => {
                let message =
                    format!("step `{step}`: the validator gave no verdict, so the answer passes: {why}");
                self.note("validator_failed", message);
                verify(premise, output)
            }
        }
    }

    fn rejected_by_grader(&mut self, premise: &Premise<'_>, output: JsonText, issues: &[String]) -> Stage {
        let (step, words) = (premise.step, issues.join("; "));
        if self.state.regrades == 0 {
            let message = format!("step `{step}`: the validator rejects the answer, which is kept: {words}");
            self.note("validation_failed", message);
            return verify(premise, output);
        }
        self.state.regrades -= 1;
        // The last answer counts ungraded: a verdict that nothing follows from would only cost money.
        self.state.graded = self.state.regrades > 0;
        let message = format!("step `{step}`: the validator rejects the answer, asking again: {words}");
        self.note("validation_failed", message);
        self.state.before = Some(output.clone());
        self.begin_again(premise, &output, issues)
    }

    /// A validator is advice: where what it asked for is no good at all, the answer before it counts. What may pass is
    /// left to another attempt.
    pub(super) fn or_the_one_before(&mut self, premise: &Premise<'_>, stage: Stage) -> Stage {
        let Stage::Over(Ending::Failed(failure)) = &stage else { return stage };
        let is_replaceable =
            !failure.keeps_conversation() && failure.reason.as_deref() != Some(reason::UNPROVEN);
        match self.state.before.take_if(|_| is_replaceable) {
            None => stage,
            Some(output) => {
                let step = premise.step;
                let message = format!(
                    "step `{step}`: no better answer came, so the first one counts: {}",
                    failure.message
                );
                self.note("validation_failed", message);
                self.prove_once(premise, output)
            }
        }
    }

    /// The verifier has spoken. Whatever is no clear yes is no success.
    pub(super) fn verified(
        &mut self,
        premise: &Premise<'_>,
        output: JsonText,
        reply: Result<Reply, Failure>,
    ) -> Stage {
        let verdict = match reply {
            Ok(reply) => grade::read(&reply.text),
            Err(failure) => return Stage::failed(failure),
        };
        match verdict {
            Verdict::Passed => Stage::Over(Ending::Output(output)),
            Verdict::Rejected(issues) => self.unmet(premise, output, &issues),
            Verdict::Unclear(why) => {
                self.rejected.push(in_words(&output));
                let message =
                    format!("step `{}`: the success criteria cannot be judged: {why}", premise.step);
                Stage::failed(Failure::new(Class::InvalidOutput, message).reason(reason::NO_VERDICT))
            }
        }
    }

    fn unmet(&mut self, premise: &Premise<'_>, output: JsonText, issues: &[String]) -> Stage {
        let (step, words) = (premise.step, issues.join("; "));
        if self.state.retrials == 0 {
            self.rejected.push(in_words(&output));
            let message = format!("step `{step}`: the answer does not meet the success criteria: {words}");
            return Stage::failed(Failure::new(Class::InvalidOutput, message).reason(reason::CRITERIA_UNMET));
        }
        self.state.retrials -= 1;
        let message = format!("step `{step}`: the success criteria are not met, asking again: {words}");
        self.note(reason::CRITERIA_UNMET, message);
        self.begin_again(premise, &output, issues)
    }

    /// Asks the prompt once more, with what was found.
    fn begin_again(&mut self, premise: &Premise<'_>, output: &JsonText, issues: &[String]) -> Stage {
        let call = premise.call;
        let beside: Vec<&str> = [call.system.as_deref().unwrap_or_default(), &call.prompt]
            .into_iter()
            .chain(issues.iter().map(String::as_str))
            .collect();
        let most = bytes_beside(call, &call.model, &beside);
        let prompt = wording::answer_again(&call.prompt, &in_words(output), most, issues);
        let prompt = prompt + &self.heard_before();
        let all = self.transcript.messages().len();
        self.transcript.splice(0, all, opening(premise.call, &prompt));
        self.state.memory.begin_again();
        self.state.last_chance = false;
        self.state.was_cut = false;
        // A question of its own, with as many tries as the first.
        self.state.recoveries = premise.call.settings.parse_recovery;
        self.state.was_filler = false;
        Stage::ASKING
    }
}

fn verify(premise: &Premise<'_>, output: JsonText) -> Stage {
    match premise.call.settings.success_criteria.is_some() {
        true => Stage::Verifying { output },
        false => Stage::Over(Ending::Output(output)),
    }
}

/// An output as a person would show it: plain text without its wrapper, anything else as JSON.
pub(super) fn in_words(output: &JsonText) -> String {
    match output.value() {
        serde_json::Value::Object(object) if object.len() == 1 && object.contains_key("result") => {
            object["result"].as_str().map_or_else(|| object["result"].to_string(), str::to_owned)
        }
        other => format!("{other:#}"),
    }
}
