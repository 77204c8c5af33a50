//! What goes wrong with an agent, as failures.

use crate::fault::Fault;
use crate::phases::{Phase, timed_out};
use crate::program::Running;
use agent_client_protocol::v1::schema::AuthMethod;
use agent_client_protocol::{Error, ErrorCode, is_connection_terminated, is_incoming_transport_closed};
use convoke_model::excerpt::clipped;
use convoke_model::{Class, Failure};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

/// How long an agent that has hung up is given to end.
const ENDING: Duration = Duration::from_millis(500);

/// Words of an agent are cut here.
const MOST_WORDS: usize = 600;

/// Why an agent's work stops.
#[derive(Debug)]
pub enum Trouble {
    /// It said no.
    Answered(Error),
    /// A phase took too long.
    TimedOut(Phase, Duration),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Answered(error)
    }
}

impl Trouble {
    /// The failure, of the agent that this program is.
    pub async fn failure(self, agent: &str, running: &mut Running, ways_in: &[AuthMethod]) -> Failure {
        let failure = match self {
            Trouble::TimedOut(phase, limit) => timed_out(agent, phase, limit),
            Trouble::Answered(error) if hung_up(&error) => died(agent, running).await,
            Trouble::Answered(error) if error.code == ErrorCode::AUTH_REQUIRED => locked_out(agent, ways_in),
            Trouble::Answered(error) => told(agent, &error),
        };
        running.without_secrets(failure)
    }
}

/// Does some work within the limit of a phase.
pub async fn within<T>(
    phase: Phase,
    limit: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Trouble> {
    match timeout(limit, work).await {
        Ok(done) => done.map_err(Trouble::Answered),
        Err(_) => Err(Trouble::TimedOut(phase, limit)),
    }
}

fn hung_up(error: &Error) -> bool {
    is_incoming_transport_closed(error) || is_connection_terminated(error)
}

async fn died(agent: &str, running: &mut Running) -> Failure {
    let end = timeout(ENDING, running.end()).await;
    let how = end.map_or_else(|_| "it closed its output".to_owned(), |end| end.told());
    Failure::new(Class::Transient, format!("{agent} ended before it had answered: {how}"))
        .reason("agent_died")
}

fn locked_out(agent: &str, ways_in: &[AuthMethod]) -> Failure {
    let ways: Vec<_> = ways_in.iter().map(|way| format!("{} (`{}`)", way.name(), way.id())).collect();
    let hint = match ways.is_empty() {
        true => "log in with the agent's own command first".to_owned(),
        false => format!(
            "log in with the agent's own command first, or give it a key with `env`; it knows: {}",
            ways.join(", ")
        ),
    };
    Failure::new(Class::Permission, format!("{agent} must be logged in")).reason("auth_required").hint(hint)
}

fn told(agent: &str, error: &Error) -> Failure {
    let data = error.data.as_ref().map(|data| data.as_str().map_or_else(|| data.to_string(), str::to_owned));
    let words = data.map_or_else(|| error.message.clone(), |data| format!("{}: {data}", error.message));
    let words = clipped(&words, MOST_WORDS);
    if let Some(fault) = stated(error) {
        return Failure { message: format!("{agent}: {words}"), ..fault.failure(agent) };
    }
    let (class, reason) = match error.code {
        ErrorCode::REQUEST_CANCELLED => (Class::Cancelled, "cancelled"),
        ErrorCode::METHOD_NOT_FOUND | ErrorCode::INVALID_PARAMS | ErrorCode::INVALID_REQUEST => {
            (Class::Fatal, "protocol")
        }
        _ => (Class::Transient, "agent_error"),
    };
    Failure::new(class, format!("{agent}: {words}")).reason(reason)
}

/// The status of the agent's own model service, where the agent passes it on: as the code, or in the data.
fn stated(error: &Error) -> Option<Fault> {
    let code = json!({"code": i32::from(error.code)});
    Fault::stated(&code).or_else(|| Fault::stated(error.data.as_ref()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_says_has_its_class() {
        let class = |error: Error| told("a", &error).class;
        assert_eq!(class(Error::new(429, "slow down")), Class::RateLimit);
        assert_eq!(class(Error::internal_error().data(json!({"status": 401}))), Class::Permission);
        assert_eq!(class(Error::internal_error().data("rate limit 429")), Class::Transient);
        assert_eq!(class(Error::method_not_found()), Class::Fatal);
        assert_eq!(class(Error::request_cancelled()), Class::Cancelled);
        assert_eq!(told("agent `a`", &Error::new(429, "slow down")).message, "agent `a`: slow down");
    }
}
