//! What happens to answers that cannot be used: repaired for nothing, sent back with the exact violation, given to a
//! model that puts them into shape, and only then given up, with all of them kept.
//!
//! A refusal and a spent token budget are never argued with: asking again would cost the same and end the same.

use super::{Conversation, Premise, Stage, declared};
use crate::{Finish, Message, Misfit, Reason, Reply, Role, judge, placeholder, wording};
use convoke_model::{Class, Failure, JsonText, Placeholders};

impl Conversation {
    /// The model gave its answer.
    pub(super) fn answered(&mut self, premise: &Premise<'_>, reply: Reply) -> Stage {
        match judge::judge(&reply, declared(premise.call)) {
            Ok(output) => self.usable(premise, reply, output),
            Err(misfit) => self.misfitted(premise, reply, misfit),
        }
    }

    pub(super) fn refused(&mut self, step: &str, reply: Reply) -> Stage {
        let said = if reply.text.trim().is_empty() { "" } else { ": " };
        let message = format!("step `{step}`: the model declined to answer{said}{}", reply.text.trim());
        self.rejected.push(reply.text);
        Stage::failed(Failure::new(Class::Refused, message).reason("refused"))
    }

    /// The model that puts answers into shape has spoken.
    pub(super) fn repaired(
        &mut self,
        premise: &Premise<'_>,
        misfit: &Misfit,
        reply: Result<Reply, Failure>,
    ) -> Stage {
        match reply {
            // It may be there in another attempt, which goes on here.
            Err(failure) if failure.keeps_conversation() => Stage::failed(failure),
            Err(failure) => {
                let message = format!("step `{}`: no repair: {}", premise.step, failure.message);
                self.note("repair_failed", message);
                Stage::failed(self.gave_up(premise.step, misfit))
            }
            Ok(reply) => match judge::judge(&reply, declared(premise.call)) {
                // What another model thought means nothing to the step's own, should it see the answer again.
                Ok(output) => self.usable(premise, Reply { thoughts: None, ..reply }, output),
                Err(misfit) => {
                    self.rejected.push(reply.text);
                    Stage::failed(self.gave_up(premise.step, &misfit))
                }
            },
        }
    }

    /// An answer that fits. One that says nothing is told of, and sent back once where the author wants that.
    fn usable(&mut self, premise: &Premise<'_>, reply: Reply, output: JsonText) -> Stage {
        self.state.was_cut = false;
        let Some(why) = filler(premise, &output) else { return self.prove(premise, &reply, output) };
        let again = premise.call.settings.capabilities.placeholders == Placeholders::Retry;
        if again && !self.state.was_filler && premise.call.settings.parse_recovery > 0 {
            self.state.was_filler = true;
            return self.send_back(reply, wording::fill_in(&why));
        }
        let message = format!("step `{}`: the answer looks like a placeholder: {why}", premise.step);
        self.note("placeholder_answer", message);
        self.prove(premise, &reply, output)
    }

    /// The calls were cut off at the token limit: what is left of the last one may read like another call.
    pub(super) fn wants_too_much(&mut self, premise: &Premise<'_>, reply: Reply) -> Stage {
        let message = "the tool calls were cut off at the token limit; make fewer or shorter ones".to_owned();
        self.misfitted(premise, reply, Misfit { reason: Reason::Truncated, message })
    }

    fn misfitted(&mut self, premise: &Premise<'_>, reply: Reply, misfit: Misfit) -> Stage {
        let misfit = self.seen_twice(misfit, reply.finish);
        if misfit.reason != Reason::Budget && self.state.recoveries > 0 {
            self.state.recoveries -= 1;
            self.state.last_chance = self.state.recoveries == 0 && declared(premise.call).is_some();
            return self.send_back(reply, wording::ask_again(&misfit, declared(premise.call)));
        }
        self.rejected.push(reply.text);
        if can_be_repaired(premise, &misfit) {
            return Stage::Repairing(misfit);
        }
        Stage::failed(self.gave_up(premise.step, &misfit))
    }

    /// An answer that is cut off at the token limit, and asked for more briefly cut off again, does not fit into it.
    fn seen_twice(&mut self, mut misfit: Misfit, finish: Finish) -> Misfit {
        let is_cut = misfit.reason == Reason::Truncated && finish == Finish::Length;
        if is_cut && self.state.was_cut {
            misfit.reason = Reason::Budget;
        }
        self.state.was_cut = is_cut;
        misfit
    }

    fn send_back(&mut self, reply: Reply, why: String) -> Stage {
        self.transcript.push(Message { tool_calls: Vec::new(), ..Message::of_reply(&reply) });
        self.rejected.push(reply.text);
        self.transcript.push(Message::new(Role::User, why));
        Stage::ASKING
    }

    fn gave_up(&self, step: &str, misfit: &Misfit) -> Failure {
        let tries = match self.rejected.len() {
            1 => String::new(),
            many => format!(" (asked {many} times)"),
        };
        let message = format!("step `{step}`: the answer does not fit{tries}: {}", misfit.message);
        let failure = Failure::new(Class::InvalidOutput, message).reason(misfit.reason.word());
        match misfit.reason {
            Reason::Budget | Reason::Truncated => {
                failure.hint("raise `max_tokens`, or ask for a shorter answer")
            }
            _ => failure,
        }
    }
}

/// What another model could put right: something was said, to its end.
fn can_be_repaired(premise: &Premise<'_>, misfit: &Misfit) -> bool {
    let shapeless = matches!(misfit.reason, Reason::Malformed | Reason::SchemaInvalid | Reason::WrongType);
    shapeless && declared(premise.call).is_some() && premise.call.settings.repair_model.is_some()
}

/// Why an answer that fits says nothing, if that is so.
fn filler(premise: &Premise<'_>, output: &JsonText) -> Option<String> {
    let schema = declared(premise.call)?;
    // Its answers are made up on purpose, from nothing but the names of fields.
    let settings = &premise.call.settings;
    if settings.provider.name == "scripted" || settings.capabilities.placeholders == Placeholders::Ignore {
        return None;
    }
    let author = [premise.call.prompt.as_str(), premise.call.system.as_deref().unwrap_or_default()];
    placeholder::find(schema, output.value().as_object()?, &author)
}
