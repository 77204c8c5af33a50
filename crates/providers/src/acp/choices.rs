//! What a step says about its model, chosen among what the agent offers.

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelectOptions, SessionId, SetSessionConfigOptionRequest,
};
use agent_client_protocol::{Agent, Error};
use convoke_agent::{Report, Request, Sink};

/// Chooses the model and how hard it thinks, where the agent lets one choose.
pub async fn make(
    to: &ConnectionTo<Agent>,
    session: &SessionId,
    offered: &[SessionConfigOption],
    request: &Request<'_>,
    sink: &dyn Sink,
) -> Result<(), Error> {
    use SessionConfigOptionCategory::{Model, ThoughtLevel};
    let effort = request.reasoning_effort.unwrap_or_default();
    for (category, word, wanted) in
        [(Model, "model", request.model), (ThoughtLevel, "reasoning effort", effort)]
    {
        let of_category = |option: &&SessionConfigOption| option.category.as_ref() == Some(&category);
        let option = offered.iter().find(of_category).filter(|option| offers(option, wanted));
        match option {
            _ if wanted.is_empty() => {}
            Some(option) => {
                let value = SessionConfigOptionValue::value_id(wanted.to_owned());
                let choice = SetSessionConfigOptionRequest::new(session.clone(), option.id.clone(), value);
                to.send_request(choice).block_task().await?;
            }
            None => {
                let message = format!("the agent offers no {word} `{wanted}`; it uses its own");
                sink.report(Report::Noted { code: "not_offered", message });
            }
        }
    }
    Ok(())
}

/// The models among what an agent offers.
pub fn models(offered: &[SessionConfigOption]) -> Vec<String> {
    let models = offered.iter().filter(|option| option.category == Some(SessionConfigOptionCategory::Model));
    models.flat_map(values).map(str::to_owned).collect()
}

fn offers(option: &SessionConfigOption, wanted: &str) -> bool {
    values(option).contains(&wanted)
}

fn values(option: &SessionConfigOption) -> Vec<&str> {
    let SessionConfigKind::Select(select) = &option.kind else { return Vec::new() };
    match &select.options {
        SessionConfigSelectOptions::Ungrouped(values) => values.iter().map(|value| &*value.value.0).collect(),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).map(|value| &*value.value.0).collect()
        }
        _ => Vec::new(),
    }
}
