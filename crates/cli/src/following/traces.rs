//! Traces: the receiver that the configuration names, and the executor that gives attempts their place in a trace.

use super::prompts::StoredPrompts;
use super::{client, headers, looked_up, wanted};
use crate::config::{Preset, Telemetry};
use crate::driving::texts;
use crate::env;
use convoke_agent::redaction::Scrubber;
use convoke_agent::{EngineLink, Executor};
use convoke_journal::{Reader, StateDir};
use convoke_model::{Assignment, AttemptEnd, RunId};
use convoke_telemetry::Address;
use convoke_telemetry::otlp::{ContentsOf, Traces};
use convoke_telemetry::spans::{Contents, traceparent};
use futures::future::BoxFuture;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The path of traces below the address of a receiver.
const PATH: &str = "/v1/traces";

/// The receiver of `[telemetry]`; or why there is none.
pub fn receiver(telemetry: &Telemetry, state: &StateDir) -> Result<Traces, String> {
    let (endpoint, mut given) = match telemetry.preset {
        Some(preset) => preset_of(preset)?,
        None => (String::new(), Vec::new()),
    };
    let endpoint = telemetry.endpoint.as_deref().map(looked_up).transpose()?.unwrap_or(endpoint);
    given.extend(headers(&telemetry.headers)?);
    let address = address(&endpoint, &given).map_err(|error| format!("`endpoint`: {error}"))?;
    Ok(Traces {
        name: format!("traces-{}{}", address.fingerprint(), scope(telemetry.below.as_ref())),
        client: client()?,
        resource: resource(&telemetry.service_name, &telemetry.attributes),
        contents: contents(telemetry.contents, state),
        wanted: wanted(telemetry.below.clone()),
        address,
    })
}

/// A receiver at an address that was typed, for one run.
pub fn traces_to(
    url: &str,
    given: &[(String, String)],
    told: bool,
    state: &StateDir,
) -> Result<Traces, String> {
    let address = address(url, given).map_err(|error| error.to_string())?;
    Ok(Traces {
        name: "export".to_owned(),
        client: client()?,
        resource: resource("convoke", &[]),
        contents: contents(told, state),
        wanted: wanted(None),
        address,
    })
}

fn address(url: &str, given: &[(String, String)]) -> Result<Address, convoke_telemetry::AddressError> {
    Address::new(url, given).map(|address| address.below(PATH))
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
}
