//! The way to an agent's first turn: who we are, which session, which model.

use super::Begin;
use super::trouble::{Trouble, within};
use crate::phases::Phase;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse,
    LoadSessionRequest, NewSessionRequest, SessionConfigKind, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelectOptions, SessionId,
    SetSessionConfigOptionRequest,
};
use agent_client_protocol::{Agent, Error};
use convoke_agent::{Report, Request, Sink};
use std::path::PathBuf;

type To = ConnectionTo<Agent>;

/// A session that is ready for a prompt.
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Whether the agent knows it from before.
    pub is_loaded: bool,
}

/// Says who we are and hears what the agent can do.
pub async fn greet(to: &To, writable: bool, request: &Request<'_>) -> Result<InitializeResponse, Trouble> {
    let files = FileSystemCapabilities::new().read_text_file(true).write_text_file(writable);
    let greeting = InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(ClientCapabilities::new().fs(files).terminal(false))
        .client_info(Implementation::new("convoke", env!("CARGO_PKG_VERSION")));
    within(Phase::Connect, request.timeouts.connect, to.send_request(greeting).block_task()).await
}

/// Opens the session: the one from before, where the agent can, or else a new one.
pub async fn open(
    to: To,
    able: InitializeResponse,
    folder: PathBuf,
    begin: &Begin,
    request: &Request<'_>,
    sink: &dyn Sink,
) -> Result<Session, Trouble> {
    let limit = request.timeouts.first_token;
    if let Begin::Again(id, _) = begin
        && able.agent_capabilities.load_session
    {
        let load = LoadSessionRequest::new(id.clone(), &folder);
        // An agent that has forgotten the session can still begin anew.
        if within(Phase::FirstToken, limit, to.send_request(load).block_task()).await.is_ok() {
            return Ok(Session { id: id.clone().into(), is_loaded: true });
        }
    }
    let opened =
        within(Phase::FirstToken, limit, to.send_request(NewSessionRequest::new(folder)).block_task())
            .await?;
    choose_model(&to, &opened.session_id, opened.config_options.unwrap_or_default(), request.model, sink)
        .await?;
    Ok(Session { id: opened.session_id, is_loaded: false })
}

/// Asks for a model, where the agent lets one choose and has it.
async fn choose_model(
    to: &To,
    session: &SessionId,
    options: Vec<SessionConfigOption>,
    model: &str,
    sink: &dyn Sink,
) -> Result<(), Error> {
    if model.is_empty() {
        return Ok(());
    }
    let is_model =
        |option: &&SessionConfigOption| option.category == Some(SessionConfigOptionCategory::Model);
    let Some(option) = options.iter().find(is_model).filter(|option| offers(option, model)) else {
        let message = format!("the agent offers no model `{model}`; it uses its own");
        sink.report(Report::Noted { code: "model_not_offered", message });
        return Ok(());
    };
    let value = SessionConfigOptionValue::value_id(model.to_owned());
    let set = SetSessionConfigOptionRequest::new(session.clone(), option.id.clone(), value);
    to.send_request(set).block_task().await.map(|_| ())
}

fn offers(option: &SessionConfigOption, model: &str) -> bool {
    let SessionConfigKind::Select(select) = &option.kind else { return false };
    match &select.options {
        SessionConfigSelectOptions::Ungrouped(values) => values.iter().any(|value| &*value.value.0 == model),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).any(|value| &*value.value.0 == model)
        }
        _ => false,
    }
}
