//! How this process reaches the network: proxies and certificates, as the environment has them.

use super::credentials::servers_of;
use super::equipment::providers;
use crate::env;
use convoke_model::Transport;
use convoke_plan::Plan;
use convoke_providers::{Options, preset};

/// What a file of certificates has in it for each of them.
const CERTIFICATE: &[u8] = b"-----BEGIN ";

/// Proxies and certificates.
pub fn network() -> Options {
    Options {
        https_proxy: env::first(&env::HTTPS_PROXY),
        http_proxy: env::first(&env::HTTP_PROXY),
        no_proxy: env::first(&env::NO_PROXY),
        extra_certificates: certificates().unwrap_or_default().into_iter().collect(),
    }
}

/// What is odd about it, in words. Certificates that cannot be used leave none, unless the environment names others.
pub fn network_remark() -> Option<String> {
    certificates().err()
}

/// The same, if the plan reaches the network at all.
pub fn network_remark_for(plan: &Plan) -> Option<String> {
    let mut services = providers(plan).into_iter().filter_map(|(_, provider)| preset::find(&provider.name));
    let mut servers = servers_of(plan).flat_map(|all| all.values());
    let is_used =
        services.next().is_some() || servers.any(|server| matches!(server.transport, Transport::Http { .. }));
    is_used.then(network_remark).flatten()
}

fn certificates() -> Result<Option<Vec<u8>>, String> {
    let Some(path) = env::get(env::CA_FILE) else { return Ok(None) };
    let unusable = |why: &str| format!("{}: `{path}` {why}", env::CA_FILE);
    match std::fs::read(&path) {
        _ if path.is_empty() => Err(format!("{} is set and names no file", env::CA_FILE)),
        Err(error) => Err(unusable(&format!("cannot be read: {error}"))),
        Ok(text) if !holds_any(&text) => Err(unusable("holds no certificate")),
        Ok(text) => Ok(Some(text)),
    }
}

fn holds_any(text: &[u8]) -> bool {
    text.windows(CERTIFICATE.len()).any(|window| window == CERTIFICATE)
}
