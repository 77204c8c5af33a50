//! Chat completions: OpenAI's interface and everything that imitates it.
//!
//! Imitations do not take all of the original's optional parameters; those that one refuses are left out of its requests.

mod body;
mod gather;

pub(crate) use body::schema_name;

use crate::connection::Clients;
use crate::preset::Preset;
use crate::reference::Lookup;
use crate::wire::{Wire, names_in};
use body::Dialect;
use convoke_agent::{NoReply, Provider, Reply, Request, Sink};
use convoke_model::{Failure, ProviderSettings};
use futures::future::BoxFuture;
use gather::Gathering;

/// A service that speaks chat completions.
pub struct OpenAi {
    wire: Wire,
    dialect: Dialect,
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
        // Imitations mostly take the shape too: llama.cpp, vLLM, Ollama do.
        Ok(OpenAi { wire, dialect: Dialect { json_schema: preset.native_schema, is_original } })
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
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        Box::pin(async move {
            let (url, body) = (self.wire.url("chat/completions"), body::of(request, self.dialect));
            let optional = self.dialect.optional(request.left_out);
            self.wire.complete::<Gathering>((url, &body), request, &optional, sink).await
        })
    }

    fn has_native_schema(&self, _model: &str) -> bool {
        self.dialect.json_schema
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        Box::pin(async { Ok(names_in(&self.wire.get(self.wire.url("models")).await?, "data", "id")) })
    }
}
