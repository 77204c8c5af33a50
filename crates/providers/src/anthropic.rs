//! Anthropic's messages.
//!
//! A structured answer is asked for by a tool that must be called, because that works with every model. Thinking is
//! asked for with a budget, or adaptively by models that refuse budgets; while it is on, no call can be forced.

mod body;
mod gather;

use crate::connection::Clients;
use crate::preset::Preset;
use crate::reference::Lookup;
use crate::wire::{Wire, names_in};
use convoke_agent::{NoReply, Provider, Reply, Request, Sink};
use convoke_model::{Failure, ProviderSettings};
use futures::future::BoxFuture;
use gather::Gathering;
use reqwest::Url;

/// The version of the interface that is spoken here.
const VERSION: &str = "2023-06-01";

/// A service that speaks Anthropic's messages.
pub struct Anthropic {
    wire: Wire,
}

impl Anthropic {
    /// The service that the settings name.
    pub fn new(
        clients: Clients,
        settings: &ProviderSettings,
        preset: &Preset,
        lookup: &Lookup,
    ) -> Result<Anthropic, Failure> {
        let wire = Wire::new(clients, settings, preset, lookup)?.with_header("anthropic-version", VERSION);
        Ok(Anthropic { wire })
    }

    /// Addresses are written with and without the version.
    fn url(&self, below: &str) -> Url {
        if self.wire.is_below("/v1") { self.wire.url(below) } else { self.wire.url(&format!("v1/{below}")) }
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.wire.name
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        Box::pin(async move {
            let (url, body) = (self.url("messages"), body::of(request));
            self.wire.complete::<Gathering>((url, &body), request, body::OPTIONAL, sink).await
        })
    }

    fn has_native_schema(&self, _model: &str) -> bool {
        true
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        Box::pin(async { Ok(names_in(&self.wire.get(self.url("models")).await?, "data", "id")) })
    }
}
