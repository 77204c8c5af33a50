//! Requests to models, redacted: a provider receives no secret that the agent's contract does not list (`secrets`).
//!
//! A script may print its environment, and a tool may repeat it; their outputs become prompts. [`RedactedProviders`] wraps every
//! provider, so each request passes it. Texts that reach a model on another way (files that a coding agent reads) are
//! redacted by the same scrubber: the request carries it as its mask. Replies are redacted by `link`.

use super::Scrubber;
use super::link::json;
use crate::{Mask, Message, NoReply, Provider, Providers, Reply, Request, Sink, ToolCall, ToolSpec};
use convoke_model::{Failure, ProviderSettings, TaskId};
use futures::future::BoxFuture;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// A known secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The variable that holds it, where one does.
    pub variable: Option<String>,
    /// The secret.
    pub value: String,
}

/// Its name alone.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("variable", &self.variable).finish_non_exhaustive()
    }
}

/// Providers whose requests are redacted.
pub struct RedactedProviders {
    inner: Arc<dyn Providers>,
    masks: Arc<Masks>,
}

impl RedactedProviders {
    /// Redacts requests to the providers of `inner`. Without secrets it answers with `inner` itself.
    pub fn over(inner: Arc<dyn Providers>, secrets: Vec<Secret>) -> Arc<dyn Providers> {
        match secrets.is_empty() {
            true => inner,
            false => Arc::new(RedactedProviders {
                inner,
                masks: Arc::new(Masks { secrets, made: Mutex::default() }),
            }),
        }
    }
}

impl Providers for RedactedProviders {
    fn get(&self, settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::new(RedactedProvider { inner: self.inner.get(settings)?, masks: self.masks.clone() }))
    }
}

/// One scrubber for each list of secrets that an agent may see.
struct Masks {
    secrets: Vec<Secret>,
    made: Mutex<HashMap<Vec<String>, Arc<Scrubber>>>,
}

impl Masks {
    fn for_agent(&self, may_see: &[String]) -> Arc<Scrubber> {
        let mut made = self.made.lock().expect("a panic poisoned this lock");
        if let Some(scrubber) = made.get(may_see) {
            return scrubber.clone();
        }
        let is_listed =
            |secret: &&Secret| secret.variable.as_ref().is_some_and(|name| may_see.contains(name));
        // The same value may have two names; an agent that may see one of them sees it.
        let shown: HashSet<&str> =
            self.secrets.iter().filter(is_listed).map(|secret| secret.value.as_str()).collect();
        let hidden =
            self.secrets.iter().map(|secret| &secret.value).filter(|value| !shown.contains(value.as_str()));
        let scrubber = Arc::new(Scrubber::new(hidden.cloned()));
        made.insert(may_see.to_vec(), scrubber.clone());
        scrubber
    }
}

/// The mask that a request carries for texts that are not in it yet.
struct RequestMask(Arc<Scrubber>);

impl std::fmt::Debug for RequestMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RequestMask") // the scrubber knows the secrets
    }
}

impl Mask for RequestMask {
    fn masked(&self, text: &str) -> Option<String> {
        self.0.without_known(text)
    }

    fn stands_in(&self, text: &str) -> bool {
        Scrubber::stands_in(text)
    }
}

struct RedactedProvider {
    inner: Arc<dyn Provider>,
    masks: Arc<Masks>,
}

/// The parts of a request that hold a secret, without it.
#[derive(Default)]
struct Clean {
    messages: Option<Vec<Message>>,
    tools: Option<Vec<ToolSpec>>,
}

impl Clean {
    fn of(scrubber: &Scrubber, request: &Request<'_>) -> Clean {
        Clean {
            messages: changed(request.messages, |message| masked_message(scrubber, message)),
            tools: changed(request.tools, |tool| masked_tool(scrubber, tool)),
        }
    }

    fn request<'a>(&'a self, request: &Request<'a>, scrubber: &Arc<Scrubber>) -> Request<'a> {
        Request {
            mask: Some(Arc::new(RequestMask(scrubber.clone()))),
            messages: self.messages.as_deref().unwrap_or(request.messages),
            tools: self.tools.as_deref().unwrap_or(request.tools),
            ..request.clone()
        }
    }
}

/// The list with its changed elements; `None` if none changes.
fn changed<T: Clone>(all: &[T], change: impl Fn(&T) -> Option<T>) -> Option<Vec<T>> {
    let changes: Vec<Option<T>> = all.iter().map(change).collect();
    let any = changes.iter().any(Option::is_some);
    any.then(|| changes.into_iter().zip(all).map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect())
}

/// Thoughts go back to the service word for word, signed: they were made of masked texts.
fn masked_message(scrubber: &Scrubber, message: &Message) -> Option<Message> {
    let text = scrubber.without_known(&message.text);
    let calls = changed(&message.tool_calls, |call| {
        let arguments = json(scrubber, call.arguments.clone());
        (arguments != call.arguments).then(|| ToolCall { arguments, ..call.clone() })
    });
    (text.is_some() || calls.is_some()).then(|| Message {
        text: text.unwrap_or_else(|| message.text.clone()),
        tool_calls: calls.unwrap_or_else(|| message.tool_calls.clone()),
        ..message.clone()
    })
}

fn masked_tool(scrubber: &Scrubber, tool: &ToolSpec) -> Option<ToolSpec> {
    let description = scrubber.without_known(&tool.description);
    let mut input_schema = tool.input_schema.clone();
    let found = scrubber.scrub_known(&mut input_schema);
    (description.is_some() || found).then(|| ToolSpec {
        description: description.unwrap_or_else(|| tool.description.clone()),
        input_schema,
        name: tool.name.clone(),
    })
}

impl Provider for RedactedProvider {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        let scrubber = self.masks.for_agent(request.secrets);
        let clean = Clean::of(&scrubber, request);
        Box::pin(async move { self.inner.complete(&clean.request(request, &scrubber), sink).await })
    }

    fn stand_in(&self, request: &Request<'_>) -> Option<String> {
        let scrubber = self.masks.for_agent(request.secrets);
        let clean = Clean::of(&scrubber, request);
        self.inner.stand_in(&clean.request(request, &scrubber))
    }

    fn may_call(&self, step: &str, task: &TaskId) -> Option<Vec<String>> {
        self.inner.may_call(step, task)
    }

    fn has_native_schema(&self, model: &str) -> bool {
        self.inner.has_native_schema(model)
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        self.inner.models()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use serde_json::json;

    fn secret(variable: Option<&str>, value: &str) -> Secret {
        Secret { variable: variable.map(str::to_owned), value: value.to_owned() }
    }

    #[test]
    fn results_calls_and_tools_are_masked() {
        let scrubber = Scrubber::new(["canary-4242".to_owned()]);
        let call = ToolCall::new("1", "t", r#"{"key": "canary-4242"}"#);
        let said = Message { tool_calls: vec![call.clone()], ..Message::new(Role::Assistant, "I call") };
        let result = Message::tool_result(&call, "it is canary-4242", false);
        let clean = masked_message(&scrubber, &said).unwrap();
        assert_eq!(clean.tool_calls[0].arguments.value(), json!({"key": "[secret]"}));
        assert_eq!(masked_message(&scrubber, &result).unwrap().text, "it is [secret]");
        assert_eq!(masked_message(&scrubber, &Message::new(Role::User, "plain")), None);
        let tool = ToolSpec { name: "t".into(), description: "canary-4242".into(), input_schema: json!({}) };
        assert_eq!(masked_tool(&scrubber, &tool).unwrap().description, "[secret]");
    }

    #[test]
    fn an_agent_sees_what_its_contract_lists_under_any_name() {
        let secrets = vec![
            secret(Some("SHOP_TOKEN"), "shop-canary-1"),
            secret(Some("ALIAS_TOKEN"), "shop-canary-1"),
            secret(None, "other-canary-2"),
        ];
        let masks = Masks { secrets, made: Mutex::default() };
        let text = "shop-canary-1 other-canary-2";
        let seen = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(|name| (*name).to_owned()).collect();
            masks.for_agent(&list).without_known(text).unwrap()
        };
        assert_eq!(seen(&[]), "[secret] [secret]");
        assert_eq!(seen(&["SHOP_TOKEN"]), "shop-canary-1 [secret]");
    }
}
