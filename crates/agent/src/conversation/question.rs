//! What is asked: of the step's own model, and of those that look at its answers.

use super::retold::without_tools;
use super::{Conversation, Premise, declared, review};
use crate::capability::limits;
use crate::window::bytes_beside;
use crate::{Answered, Message, Misfit, Purpose, Role, ToolSpec, grade, wording};
use convoke_model::{AgentCall, JsonText, OutputSchema};
use std::borrow::Cow;

/// One request, without what only the driver knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Question<'a> {
    /// The model to ask.
    pub model: &'a str,
    /// The messages, oldest first.
    pub messages: Cow<'a, [Message]>,
    /// The shape of the answer.
    pub schema: Option<&'a OutputSchema>,
    /// The tools that the model may ask for.
    pub tools: &'a [ToolSpec],
    /// Our estimate of the tokens that they take.
    pub tool_tokens: u64,
    /// A person's answer to what the last reply asked for.
    pub answered: Option<&'a Answered>,
    /// What the answer is for.
    pub purpose: Purpose,
    /// Which request of the conversation this is, from 1.
    pub call: u32,
}

impl<'a> Question<'a> {
    /// Whether the service's own means may be used for the shape. Beside tools they differ too much between services:
    /// some refuse both at once, some then never call a tool. The prompt says the shape in any case.
    pub fn native_schema(&self) -> bool {
        self.tools.is_empty()
    }
}

/// An answer of an agent that is to be judged, by the agent's own model unless another one is named.
pub(crate) struct Grading<'a, 's> {
    pub agent: &'a AgentCall,
    pub step: &'s str,
    pub criteria: &'s str,
    pub model: Option<&'a str>,
    pub purpose: Purpose,
}

impl<'a> Grading<'a, '_> {
    /// What the grader is asked about these words, as this request of the conversation.
    pub fn question(self, answer: &str, call: u32) -> Question<'a> {
        let system = wording::grader_system(self.criteria);
        let model = self.model.unwrap_or(&self.agent.model);
        let most = bytes_beside(self.agent, model, &[&system]);
        let prompt = wording::grader_prompt(self.step, &self.agent.prompt, answer, most);
        Question {
            model,
            messages: Cow::Owned(vec![Message::new(Role::System, system), Message::new(Role::User, prompt)]),
            schema: Some(&*grade::SCHEMA),
            tools: &[],
            tool_tokens: 0,
            answered: None,
            purpose: self.purpose,
            call,
        }
    }
}

impl Conversation {
    pub(super) fn own_question<'a>(
        &'a self,
        premise: &Premise<'a>,
        answered: Option<&'a Answered>,
    ) -> Question<'a> {
        let (messages, tools) = (self.transcript.messages(), self.tools(premise));
        Question {
            model: &premise.call.model,
            messages: if tools.is_empty() { without_tools(messages) } else { Cow::Borrowed(messages) },
            schema: declared(premise.call),
            tools,
            tool_tokens: self.tool_tokens(premise),
            answered,
            purpose: Purpose::Answer,
            call: self.state.calls + 1,
        }
    }

    pub(super) fn grader_question<'a>(&self, premise: &Premise<'a>, output: &JsonText) -> Question<'a> {
        let validator = premise.call.settings.validator.as_ref();
        let (criteria, model) =
            validator.map_or(("", None), |validator| (&*validator.criteria, validator.model.as_deref()));
        self.reviewer_question(premise, output, criteria, model, Purpose::Grade)
    }

    pub(super) fn verifier_question<'a>(&self, premise: &Premise<'a>, output: &JsonText) -> Question<'a> {
        let required = premise.call.settings.success_criteria.as_ref();
        let (criteria, model) =
            required.map_or(("", None), |required| (&*required.criteria, required.model.as_deref()));
        self.reviewer_question(premise, output, criteria, model, Purpose::Verify)
    }

    fn reviewer_question<'a>(
        &self,
        premise: &Premise<'a>,
        output: &JsonText,
        criteria: &str,
        model: Option<&'a str>,
        purpose: Purpose,
    ) -> Question<'a> {
        let grading = Grading { agent: premise.call, step: premise.step, criteria, model, purpose };
        grading.question(&review::in_words(output), self.state.calls + 1)
    }

    pub(super) fn repair_question<'a>(&self, premise: &Premise<'a>, misfit: &Misfit) -> Question<'a> {
        let schema = declared(premise.call);
        let raw = self.rejected.last().map_or("", String::as_str);
        let (system, prompt) = (wording::repair_system(schema), wording::repair_prompt(&misfit.message, raw));
        // A repair of half an answer would lose the other half: the step's own model, which gave it, has room for it.
        let fits = |model: &&str| prompt.len() <= bytes_beside(premise.call, model, &[&system]);
        let repairer = premise.call.settings.repair_model.as_deref().filter(fits);
        Question {
            model: repairer.unwrap_or(&premise.call.model),
            messages: Cow::Owned(vec![Message::new(Role::System, system), Message::new(Role::User, prompt)]),
            schema,
            tools: &[],
            tool_tokens: 0,
            answered: None,
            purpose: Purpose::Repair,
            call: self.state.calls + 1,
        }
    }

    /// The tools that the model sees now.
    pub(super) fn tools<'a>(&self, premise: &Premise<'a>) -> &'a [ToolSpec] {
        let most = premise.max_iterations();
        match limits::may_call(self.state.memory.rounds, most) && !self.state.last_chance {
            true => premise.offer.specs(!self.shelf.is_empty()),
            false => &[],
        }
    }
}
