//! Chat completions: OpenAI's interface and everything that imitates it.
//!
//! A service that does not know one of the optional parameters is asked again without it, and that is remembered.

mod body;
mod gather;

pub(crate) use body::schema_name;

use crate::connection::Clients;
use crate::preset::Preset;
use crate::reference::Lookup;
use crate::trouble::Trouble;
use crate::wire::{Wire, names_in};
use body::Dialect;
use convoke_agent::{Provider, Reply, Report, Request, Sink};
use convoke_model::{Failure, ProviderSettings};
use futures::future::BoxFuture;
use gather::Gathering;
use std::collections::HashMap;
use std::sync::RwLock;

/// How many parameters may be left out of one request: a service that refuses what it asked for would never be done.
const MOST_LESSONS: usize = 4;

/// A service that speaks chat completions.
pub struct OpenAi {
    wire: Wire,
    usual: Dialect,
    /// What was learned about models that do not take all parameters.
    dialects: RwLock<HashMap<String, Dialect>>,
}

impl OpenAi {
    /// The service that the settings name.
    pub fn new(
        clients: Clients,
        settings: &ProviderSettings,
        preset: &Preset,
        lookup: &Lookup,
    ) -> Result<OpenAi, Failure> {
        let wire = Wire::new(clients, settings, preset, lookup)?;
        let is_original = wire.host() == "api.openai.com";
        // Imitations mostly take the shape too (llama.cpp, vLLM, Ollama do); one that refuses it is not asked again.
        let usual = Dialect::new(preset.native_schema, is_original);
        Ok(OpenAi { wire, usual, dialects: RwLock::default() })
    }

    async fn ask(&self, request: &Request<'_>, sink: &dyn Sink) -> Result<Reply, Trouble> {
        let mut dialect = self.dialect(request.model);
        for _ in 0..MOST_LESSONS {
            let outcome = self.exchange(request, dialect, sink).await;
            let simpler = match &outcome {
                Err(Trouble::Fault(fault)) => dialect.without(fault),
                _ => None,
            };
            let Some((simpler, parameter)) = simpler else { return outcome };
            self.learn(request.model, simpler, parameter, sink);
            dialect = simpler;
        }
        self.exchange(request, dialect, sink).await
    }

    async fn exchange(
        &self,
        request: &Request<'_>,
        dialect: Dialect,
        sink: &dyn Sink,
    ) -> Result<Reply, Trouble> {
        let url = self.wire.url("chat/completions");
        self.wire.exchange::<Gathering>(url, &body::of(request, dialect), request, sink).await
    }

    fn dialect(&self, model: &str) -> Dialect {
        let learned = self.dialects.read().expect("nobody panics while holding it").get(model).copied();
        learned.unwrap_or(self.usual)
    }

    fn learn(&self, model: &str, dialect: Dialect, parameter: &str, sink: &dyn Sink) {
        self.dialects.write().expect("nobody panics while holding it").insert(model.to_owned(), dialect);
        let name = &self.wire.name;
        let message = format!("{name}: model `{model}` does not take `{parameter}`; it is sent without");
        sink.report(Report::Noted { code: "parameter_left_out", message });
    }
}

impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.wire.name
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(self.wire.in_time(request.timeouts.total, self.ask(request, sink)))
    }

    fn has_native_schema(&self, model: &str) -> bool {
        self.dialect(model).json_schema
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        Box::pin(async { Ok(names_in(&self.wire.get(self.wire.url("models")).await?, "data", "id")) })
    }
}
