//! Google's Gemini.
//!
//! The shape of an answer goes out in the dialect of JSON Schema that the service knows. With tools on offer it stays
//! in the prompt, because most models refuse both at once.

mod body;
mod gather;
mod schema;

use crate::connection::Clients;
use crate::preset::Preset;
use crate::reference::Lookup;
use crate::spare::Spared;
use crate::trouble::Trouble;
use crate::wire::{Wire, names_in, require_model};
use convoke_agent::{Provider, Reply, Request, Sink};
use convoke_model::{Failure, ProviderSettings};
use futures::future::BoxFuture;
use gather::Gathering;
use reqwest::Url;

/// A service that speaks Google's generateContent.
pub struct Gemini {
    wire: Wire,
    spared: Spared,
}

impl Gemini {
    /// The service that the settings name.
    pub fn new(
        clients: Clients,
        settings: &ProviderSettings,
        preset: &Preset,
        lookup: &Lookup,
    ) -> Result<Gemini, Failure> {
        Ok(Gemini { wire: Wire::new(clients, settings, preset, lookup)?, spared: Spared::default() })
    }

    async fn ask(&self, request: &Request<'_>, sink: &dyn Sink) -> Result<Reply, Trouble> {
        let (name, model) = (&self.wire.name, request.model);
        require_model(name, model)?;
        loop {
            let body = body::of(request, &self.spared.of(model));
            let outcome = self.wire.exchange::<Gathering>(self.url(model), &body, request, sink).await;
            match &outcome {
                Err(Trouble::Fault(fault)) if self.spared.learn(name, model, fault, body::OPTIONAL, sink) => {
                }
                _ => return outcome,
            }
        }
    }

    fn url(&self, model: &str) -> Url {
        let model = model.strip_prefix("models/").unwrap_or(model);
        let mut url = self.wire.url(&format!("models/{model}:streamGenerateContent"));
        url.query_pairs_mut().append_pair("alt", "sse");
        url
    }
}

impl Provider for Gemini {
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
        !self.spared.of(model).contains(&body::SCHEMA)
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        Box::pin(async {
            let names = names_in(&self.wire.get(self.wire.url("models")).await?, "models", "name");
            Ok(names.into_iter().map(|name| name.trim_start_matches("models/").to_owned()).collect())
        })
    }
}
