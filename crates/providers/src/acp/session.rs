//! The way to an agent's first turn: a greeting, a key where it wants one, and a session.

use super::Begin;
use super::choices;
use super::connection::Files;
use super::trouble::{Trouble, within};
use crate::phases::Phase;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AuthMethod, AuthenticateRequest, ClientCapabilities, FileSystemCapabilities, Implementation,
    InitializeRequest, InitializeResponse, LoadSessionRequest, NewSessionRequest, SessionConfigOption,
    SessionId,
};
use agent_client_protocol::{Agent, Error, ErrorCode, UntypedMessage};
use convoke_agent::{Request, Sink};
use convoke_model::Program;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

type To = ConnectionTo<Agent>;

/// A session that is ready for a prompt.
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Whether the agent knows it from before.
    pub is_loaded: bool,
}

/// What an agent says of itself.
pub struct Greeting {
    can_load: bool,
    /// How one can log in.
    pub ways_in: Vec<AuthMethod>,
    /// The way in that needs nothing but what the program was given.
    key: Option<String>,
}

/// Greets the agent and hears what it can do.
pub async fn greet(
    to: &To,
    files: &Files,
    program: &Program,
    connect: Duration,
) -> Result<Greeting, Trouble> {
    let files = FileSystemCapabilities::new().read_text_file(files.readable).write_text_file(files.writable);
    let hello = InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(ClientCapabilities::new().fs(files).terminal(false))
        .client_info(Implementation::new("convoke", env!("CARGO_PKG_VERSION")));
    // Taken as it is, because ways in that ask for variables are not yet in the protocol.
    let hello = UntypedMessage::new("initialize", hello)?;
    let told = within(Phase::Connect, connect, to.send_request(hello).block_task()).await?;
    let key = way_by_variables(&told, program);
    let able: InitializeResponse = serde_json::from_value(told).map_err(Error::into_internal_error)?;
    Ok(Greeting { can_load: able.agent_capabilities.load_session, ways_in: able.auth_methods, key })
}

/// The first way in for which all variables were given.
fn way_by_variables(told: &Value, program: &Program) -> Option<String> {
    let is_given = |variable: &Value| {
        let name = variable.get("name").and_then(Value::as_str);
        name.is_some_and(|name| program.env.iter().any(|(given, _)| given == name))
    };
    let ways = told.get("authMethods")?.as_array()?;
    let way = ways.iter().find(|way| {
        let variables = way.get("vars").and_then(Value::as_array);
        way.get("type").and_then(Value::as_str) == Some("env_var")
            && variables.is_some_and(|variables| !variables.is_empty() && variables.iter().all(is_given))
    });
    Some(way?.get("id")?.as_str()?.to_owned())
}

/// Opens the session, with the key that the agent was given if it wants one.
pub async fn open(
    to: To,
    greeting: &Greeting,
    folder: PathBuf,
    begin: &Begin,
    request: &Request<'_>,
    sink: &dyn Sink,
) -> Result<Session, Trouble> {
    let opening = let_in(&to, greeting, || enter(&to, greeting, &folder, begin, request, sink));
    within(Phase::FirstToken, request.timeouts.first_token, opening).await
}

/// What the agent lets one choose in a new session.
pub async fn offered(
    to: To,
    greeting: &Greeting,
    folder: PathBuf,
    limit: Duration,
) -> Result<Vec<SessionConfigOption>, Trouble> {
    let open = || to.send_request(NewSessionRequest::new(&folder)).block_task();
    let opened = within(Phase::FirstToken, limit, let_in(&to, greeting, open)).await?;
    Ok(opened.config_options.unwrap_or_default())
}

/// Does what the agent may refuse to a client that is not logged in. Where it does and there is a key, logs in and repeats
/// the request.
async fn let_in<T, F: Future<Output = Result<T, Error>>>(
    to: &To,
    greeting: &Greeting,
    work: impl Fn() -> F,
) -> Result<T, Error> {
    match (work().await, &greeting.key) {
        (Err(error), Some(key)) if error.code == ErrorCode::AUTH_REQUIRED => {
            to.send_request(AuthenticateRequest::new(key.clone())).block_task().await?;
            work().await
        }
        (done, _) => done,
    }
}

/// The session from before, where the agent can, or else a new one.
async fn enter(
    to: &To,
    greeting: &Greeting,
    folder: &PathBuf,
    begin: &Begin,
    request: &Request<'_>,
    sink: &dyn Sink,
) -> Result<Session, Error> {
    if let Some(id) = begin.session().filter(|_| greeting.can_load) {
        match to.send_request(LoadSessionRequest::new(id.to_owned(), folder)).block_task().await {
            Ok(_) => return Ok(Session { id: id.to_owned().into(), is_loaded: true }),
            Err(error) if error.code == ErrorCode::AUTH_REQUIRED => return Err(error),
            // An agent that has forgotten the session can still begin anew.
            Err(_) => {}
        }
    }
    let opened = to.send_request(NewSessionRequest::new(folder)).block_task().await?;
    let id = opened.session_id;
    choices::make(to, &id, &opened.config_options.unwrap_or_default(), request, sink).await?;
    Ok(Session { id, is_loaded: false })
}
