//! Stands before real providers and writes down what is asked and answered.
//!
//! Changes nothing about a call. A call that is dropped is written down as such, because its replay must not fail. A request of
//! which the service refused an optional parameter is left out: the driver asks the same again without it, and a cassette knows
//! a request by what it asks, not by how much of it the service takes.

use super::call::Call;
use super::{RecordingProver, RecordingTools, Tape};
use convoke_agent::redaction::Scrubber;
use convoke_agent::{NoReply, Prover, Provider, Providers, Reply, Report, Request, Sink, Toolbox};
use convoke_model::{Failure, ProviderSettings, TaskId};
use futures::future::BoxFuture;
use std::io;
use std::sync::Arc;

/// Providers whose calls are written down.
pub struct Recording {
    providers: Arc<dyn Providers>,
    recorder: Arc<Recorder>,
}

/// Where calls are written down.
pub(super) struct Recorder {
    /// The file.
    pub tape: Tape,
    /// What keeps secrets out of it.
    pub scrubber: Scrubber,
}

impl Recording {
    /// Writes the calls of these providers to a tape.
    pub fn new(providers: Arc<dyn Providers>, tape: Tape, scrubber: Scrubber) -> Recording {
        Recording { providers, recorder: Arc::new(Recorder { tape, scrubber }) }
    }

    /// Writes what is found about work to the same tape.
    pub fn prover(&self, prover: Arc<dyn Prover>) -> RecordingProver {
        RecordingProver::new(prover, self.recorder.clone())
    }

    /// Writes what these tools are asked and give to the same tape.
    pub fn tools(&self, toolbox: Arc<dyn Toolbox>) -> RecordingTools {
        RecordingTools::new(toolbox, self.recorder.clone())
    }
}

impl Providers for Recording {
    fn get(&self, settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        let provider = self.providers.get(settings)?;
        Ok(Arc::new(Recorded { provider, recorder: self.recorder.clone() }))
    }
}

/// One provider whose calls are written down.
struct Recorded {
    provider: Arc<dyn Provider>,
    recorder: Arc<Recorder>,
}

impl Provider for Recorded {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        Box::pin(async move {
            let call = Call::of(request, &*self.provider, &self.recorder.scrubber);
            let mut entry = Entry { recorder: &self.recorder, call: Some(call) };
            let outcome = match self.provider.complete(request, sink).await {
                Ok(reply) => Ok(reply),
                Err(NoReply::Failed(failure)) => Err(failure),
                Err(refused @ NoReply::Refused { .. }) => {
                    entry.call = None;
                    return Err(refused);
                }
            };
            if let Err(error) = entry.close(&outcome) {
                // The answer is paid for: it is given all the same.
                let message = format!("this call is missing from the cassette: {error}");
                sink.report(Report::Noted { code: "recording_failed", message });
            }
            Ok(outcome?)
        })
    }

    /// Any tool: a replay is shown the tools of every server, so a cassette has them all, also those that are not called.
    fn may_call(&self, _step: &str, _task: &TaskId) -> Option<Vec<String>> {
        None
    }

    fn has_native_schema(&self, model: &str) -> bool {
        self.provider.has_native_schema(model)
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, Failure>> {
        self.provider.models()
    }
}

/// A call under way; dropped before its end, it is written down as cut off.
struct Entry<'a> {
    recorder: &'a Recorder,
    call: Option<Call>,
}

impl Entry<'_> {
    fn close(&mut self, outcome: &Result<Reply, Failure>) -> io::Result<()> {
        let Some(call) = self.call.take() else { return Ok(()) };
        self.recorder.tape.write(&call.with(outcome, &self.recorder.scrubber))
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            // The caller is gone, so an error cannot be reported.
            self.recorder.tape.write(&call).ok();
        }
    }
}
