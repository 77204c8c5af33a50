//! OpenAI's responses.
//!
//! Nothing is stored at the service: the whole conversation goes out each time, and what a model thought goes back with
//! it in the sealed form that the service gave.

mod body;
mod gather;

use crate::connection::Clients;
use crate::preset::Preset;
use crate::reference::Lookup;
use crate::spare::Spared;
use crate::trouble::Trouble;
use crate::wire::{Wire, names_in};
use convoke_agent::{Provider, Reply, Request, Sink};
use convoke_model::{Failure, ProviderSettings};
use futures::future::BoxFuture;
use gather::Gathering;

/// A service that speaks OpenAI's responses.
pub struct Responses {
    wire: Wire,
    spared: Spared,
}

impl Responses {
    /// The service that the settings name.
    pub fn new(
        clients: Clients,
        settings: &ProviderSettings,
        preset: &Preset,
        lookup: &Lookup,
    ) -> Result<Responses, Failure> {
        Ok(Responses { wire: Wire::new(clients, settings, preset, lookup)?, spared: Spared::default() })
    }

    async fn ask(&self, request: &Request<'_>, sink: &dyn Sink) -> Result<Reply, Trouble> {
        let (name, model) = (&self.wire.name, request.model);
        loop {
            let (url, body) = (self.wire.url("responses"), body::of(request, &self.spared.of(model)));
            let outcome = self.wire.exchange::<Gathering>(url, &body, request, sink).await;
            match &outcome {
                Err(Trouble::Fault(fault)) if self.spared.learn(name, model, fault, body::OPTIONAL, sink) => {
                }
                _ => return outcome,
            }
        }
    }
}

impl Provider for Responses {
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
        !self.spared.of(model).contains(&body::FORMAT)
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        Box::pin(async { Ok(names_in(&self.wire.get(self.wire.url("models")).await?, "data", "id")) })
    }
}
