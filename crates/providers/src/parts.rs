//! The parts of an answer, whatever protocol they came in, and the reply that they make.
//!
//! Arguments of a call are a structured answer where no tools were offered, and those of [`ANSWER_TOOL`] are one
//! always. Where a service says nothing of tokens, they are estimated.

use convoke_agent::{Finish, Reply, Request, ToolCall};
use convoke_model::excerpt::tokens;
use convoke_model::{JsonText, Usage};

/// The tool by which a service without a mode for structured answers is made to give one.
pub const ANSWER_TOOL: &str = "final_answer";

/// What came of an answer.
#[derive(Debug, Default)]
pub struct Parts {
    /// The text.
    pub text: String,
    /// What was said instead of an answer.
    pub refusal: String,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// What the service wants back with the next request.
    pub thoughts: Option<JsonText>,
    /// What the service says it used.
    pub usage: Option<Usage>,
    /// The model that answered.
    pub model: String,
}

/// A call as it comes in, piece by piece.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Call {
    /// Which of the calls this is, as the service counts.
    pub index: u64,
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments so far.
    pub arguments: String,
}

impl Parts {
    /// How much has come, in bytes.
    pub fn len(&self) -> usize {
        self.text.len() + self.calls.iter().map(|call| call.arguments.len()).sum::<usize>()
    }

    /// The call that pieces with this index and id belong to. An id that is new begins a call, whatever its index:
    /// some services number all of them 0.
    pub fn call(&mut self, index: u64, id: &str) -> &mut Call {
        let fits =
            |call: &Call| call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id);
        let at = self.calls.iter().rposition(fits).unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id.to_owned();
        }
        call
    }

    /// The reply, as an answer to a request.
    pub fn reply(mut self, request: &Request<'_>, finish: Finish) -> Reply {
        let finish = if self.refusal.is_empty() { finish } else { Finish::Refusal };
        let answer = self.take_answer(request);
        let said = [answer.unwrap_or_default(), self.text, self.refusal];
        let text = said.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        let calls = self.calls.into_iter().enumerate();
        let tool_calls: Vec<_> = calls.map(|(at, call)| call.finished(at, request)).collect();
        let usage = self.usage.unwrap_or_else(|| estimate(request, &text, &tool_calls));
        Reply { text, tool_calls, thoughts: self.thoughts, finish, usage, model: self.model, asks: None }
    }

    /// Takes the structured answer out of the calls. Beside other calls it came too early, and is dropped.
    fn take_answer(&mut self, request: &Request<'_>) -> Option<String> {
        if request.tools.is_empty() {
            return std::mem::take(&mut self.calls).into_iter().next().map(|call| call.arguments);
        }
        let at = self.calls.iter().position(|call| call.name == ANSWER_TOOL)?;
        let answer = self.calls.remove(at);
        self.calls.is_empty().then_some(answer.arguments)
    }
}

fn estimate(request: &Request<'_>, text: &str, calls: &[ToolCall]) -> Usage {
    let calls = calls.iter().map(|call| tokens(&call.name) + tokens(call.arguments.as_str()));
    Usage {
        calls: 1,
        input_tokens: request.tokens(),
        output_tokens: tokens(text) + calls.sum::<u64>(),
        estimated: true,
        ..Usage::default()
    }
}

impl Call {
    /// The finished call; where the service gives no id, one that is unique in the conversation.
    fn finished(self, at: usize, request: &Request<'_>) -> ToolCall {
        let id = if self.id.is_empty() { format!("call_{}_{at}", request.call) } else { self.id };
        ToolCall::new(id, self.name, &self.arguments)
    }
}
