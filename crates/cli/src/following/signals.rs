//! Traces, metrics and logs: the receivers that the configuration names, and the executor that gives attempts their place in a trace.

use super::prompts::StoredPrompts;
use super::{Receiver, client, headers, looked_up, wanted};
use crate::config::{Apart, Preset, Telemetry};
use crate::driving::texts;
use crate::env;
use convoke_agent::redaction::Scrubber;
use convoke_agent::{EngineLink, Executor, Looked};
use convoke_journal::{Reader, StateDir};
use convoke_model::{Assignment, AttemptEnd, ProofLook, RunId};
use convoke_telemetry::Address;
use convoke_telemetry::otlp::{ContentsOf, Receiver as OfSignal, Signal};
use convoke_telemetry::spans::{Contents, traceparent};
use futures::future::BoxFuture;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A receiver with its label, or why it cannot be one.
type Labelled = (String, Result<Receiver, String>);

/// The receivers of `[telemetry]`.
pub fn receivers(telemetry: &Telemetry, state: &StateDir) -> Vec<Labelled> {
    let here = telemetry.signals.iter().map(|signal| (*signal, shared(telemetry, *signal, state)));
    let apart = telemetry.apart.iter().map(|apart| (apart.signal, own(telemetry, apart, state)));
    let all = here.chain(apart);
    all.map(|(signal, found)| (label(signal), found.map(|to| Receiver::Signal(signal, to)))).collect()
}

/// Traces were there first.
fn label(signal: Signal) -> String {
    match signal {
        Signal::Traces => "telemetry".to_owned(),
        Signal::Metrics | Signal::Logs => format!("telemetry.{}", signal.word()),
    }
}

/// The receiver of a signal at the endpoint of all.
fn shared(telemetry: &Telemetry, signal: Signal, state: &StateDir) -> Result<OfSignal, String> {
    let (endpoint, mut given) = match telemetry.preset {
        Some(preset) if signal != Signal::Traces => return Err(takes_traces_alone(preset, signal)),
        Some(preset) => preset_of(preset)?,
        None => (String::new(), Vec::new()),
    };
    let endpoint = telemetry.endpoint.as_deref().map(looked_up).transpose()?.unwrap_or(endpoint);
    given.extend(headers(&telemetry.headers)?);
    let address = Address::new(&endpoint, &given).map_err(|error| format!("`endpoint`: {error}"))?;
    receiver(telemetry, signal, address, state)
}

fn takes_traces_alone(preset: Preset, signal: Signal) -> String {
    let (preset, signal) = (preset.word(), signal.word());
    format!("`{preset}` takes traces and no {signal}: name their receiver in `telemetry.{signal}.endpoint`")
}

/// The receiver that one signal has of its own.
fn own(telemetry: &Telemetry, apart: &Apart, state: &StateDir) -> Result<OfSignal, String> {
    let address = Address::new(&looked_up(&apart.endpoint)?, &headers(&apart.headers)?);
    let address = address.map_err(|error| format!("`{}.endpoint`: {error}", apart.signal.word()))?;
    receiver(telemetry, apart.signal, address, state)
}

fn receiver(
    telemetry: &Telemetry,
    signal: Signal,
    address: Address,
    state: &StateDir,
) -> Result<OfSignal, String> {
    let address = address.of_signal(signal);
    let (word, scope) = (signal.word(), scope(telemetry.below.as_ref()));
    Ok(OfSignal {
        name: format!("{word}-{}{scope}", address.fingerprint()),
        client: client()?,
        resource: resource(&telemetry.service_name, &telemetry.attributes),
        contents: contents(telemetry.contents, state),
        wanted: wanted(telemetry.below.clone()),
        address,
    })
}

/// The receiver of a signal at an address that was typed, for one run.
pub fn receiver_at(
    url: &str,
    given: &[(String, String)],
    signal: Signal,
    told: bool,
    state: &StateDir,
) -> Result<OfSignal, String> {
    let address = Address::new(url, given).map_err(|error| error.to_string())?;
    Ok(OfSignal {
        name: "export".to_owned(),
        client: client()?,
        resource: resource("convoke", &[]),
        contents: contents(told, state),
        wanted: wanted(None),
        address: address.of_signal(signal),
    })
}

/// Another project is another receiver: it is told of other runs.
fn scope(below: Option<&PathBuf>) -> String {
    below.map(|folder| format!("-{}", super::file_name(&folder.display().to_string()))).unwrap_or_default()
}

/// What all spans say of this program.
fn resource(service: &str, attributes: &[(String, String)]) -> Vec<(String, String)> {
    let own = [("service.name", service), ("service.version", env!("CARGO_PKG_VERSION"))];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    own.into_iter().chain(attributes.iter().cloned()).collect()
}

/// Where a well-known receiver is, and the headers that it wants.
fn preset_of(preset: Preset) -> Result<(String, Vec<(String, String)>), String> {
    match preset {
        Preset::Phoenix => {
            let endpoint = env::get_filled("PHOENIX_COLLECTOR_ENDPOINT");
            let key = env::get_filled("PHOENIX_API_KEY")
                .map(|key| ("authorization".to_owned(), format!("Bearer {key}")));
            Ok((endpoint.unwrap_or_else(|| "http://localhost:6006".to_owned()), key.into_iter().collect()))
        }
        Preset::Langfuse => {
            let host =
                env::get_filled("LANGFUSE_HOST").unwrap_or_else(|| "https://cloud.langfuse.com".to_owned());
            let key = |name: &str| {
                env::get_filled(name).ok_or_else(|| format!("the preset needs {name}, which is not set"))
            };
            let (public, secret) = (key("LANGFUSE_PUBLIC_KEY")?, key("LANGFUSE_SECRET_KEY")?);
            let basic = convoke_telemetry::basic(&public, &secret);
            let endpoint = format!("{}/api/public/otel", host.trim_end_matches('/'));
            Ok((endpoint, vec![("authorization".to_owned(), basic)]))
        }
    }
}

/// What was said, where that is told: without the values of variables that are named like secrets, and what looks like a key.
fn contents(told: bool, state: &StateDir) -> ContentsOf {
    if !told {
        return Arc::new(|_, _| None);
    }
    let (state, scrubber) = (state.clone(), Arc::new(Scrubber::new(env::secrets())));
    Arc::new(move |run: &RunId, _: &Reader| {
        Some(Contents {
            texts: texts(&state, run),
            prompts: Box::new(StoredPrompts::new(&state, run)),
            scrubber: scrubber.clone(),
        })
    })
}

/// Gives every attempt its place in the trace of a run; see [`Assignment::trace`].
struct Traced {
    inner: Arc<dyn Executor>,
    run: RunId,
}

/// An executor whose attempts are traced.
pub fn traced(inner: Arc<dyn Executor>, run: &RunId) -> Arc<dyn Executor> {
    Arc::new(Traced { inner, run: run.clone() })
}

impl Executor for Traced {
    fn attempt(
        &self,
        mut assignment: Assignment,
        link: Arc<dyn EngineLink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        assignment.trace = Some(traceparent(&self.run, &assignment.task, assignment.attempt).into());
        self.inner.attempt(assignment, link, cancel)
    }

    fn look(&self, look: ProofLook, cancel: CancellationToken) -> BoxFuture<'static, Looked> {
        self.inner.look(look, cancel)
    }
}
