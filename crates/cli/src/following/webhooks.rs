//! Webhooks, as the configuration names them.

use super::{client, file_name, headers, looked_up, wanted};
use crate::config::WebhookSettings;
use convoke_telemetry::Address;
use convoke_telemetry::notices::{Topic, Webhook};
use std::time::Duration;

/// The receiver; or why there is none.
pub fn receiver(hook: &WebhookSettings, stall: Duration) -> Result<Webhook, String> {
    let address = Address::new(&looked_up(&hook.url)?, &headers(&hook.headers)?);
    let address = address.map_err(|error| format!("`url`: {error}"))?;
    Ok(Webhook {
        // Another address, or another project, is another receiver.
        name: format!("webhook-{}-{}", file_name(&hook.name), address.fingerprint()),
        client: client()?,
        secret: hook.secret.as_deref().map(looked_up).transpose()?,
        on: hook.topics.on.clone().unwrap_or_else(|| Topic::ALL.to_vec()),
        workflows: hook.topics.workflows.clone(),
        stall,
        wanted: wanted(hook.below.clone()),
        address,
    })
}
