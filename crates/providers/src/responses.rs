//! OpenAI's responses.
//!
//! Nothing is stored at the service: the whole conversation goes out each time, and what a model thought goes back with
//! it in the sealed form that the service gave.

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

/// A service that speaks OpenAI's responses.
pub struct Responses {
    wire: Wire,
}

impl Responses {
    /// The service that the settings name.
    pub fn new(
        clients: Clients,
        settings: &ProviderSettings,
        preset: &Preset,
        lookup: &Lookup,
    ) -> Result<Responses, Failure> {
        Ok(Responses { wire: Wire::new(clients, settings, preset, lookup)? })
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
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        Box::pin(async move {
            let (url, body) = (self.wire.url("responses"), body::of(request));
            self.wire.complete::<Gathering>((url, &body), request, body::OPTIONAL, sink).await
        })
    }

    fn has_native_schema(&self, _model: &str) -> bool {
        true
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        Box::pin(async { Ok(names_in(&self.wire.get(self.wire.url("models")).await?, "data", "id")) })
    }
}
