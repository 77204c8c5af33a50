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
use crate::wire::{Wire, names_in};
use convoke_agent::{NoReply, Provider, Reply, Request, Sink};
use convoke_model::{Failure, ProviderSettings};
use futures::future::BoxFuture;
use gather::Gathering;
use reqwest::Url;

/// A service that speaks Google's generateContent.
pub struct Gemini {
    wire: Wire,
}

impl Gemini {
    /// The service that the settings name.
    pub fn new(
        clients: Clients,
        settings: &ProviderSettings,
        preset: &Preset,
        lookup: &Lookup,
    ) -> Result<Gemini, Failure> {
        Ok(Gemini { wire: Wire::new(clients, settings, preset, lookup)? })
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
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        Box::pin(async move {
            let (url, body) = (self.url(request.model), body::of(request));
            self.wire.complete::<Gathering>((url, &body), request, body::OPTIONAL, sink).await
        })
    }

    fn has_native_schema(&self, _model: &str) -> bool {
        true
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        Box::pin(async {
            let names = names_in(&self.wire.get(self.wire.url("models")).await?, "models", "name");
            Ok(names.into_iter().map(|name| name.trim_start_matches("models/").to_owned()).collect())
        })
    }
}
