//! Where the prompts of a plan go: said in the first line of a run, compared when a run goes on.
//!
//! Addresses are shown without what may be a secret in them: user names, passwords and queries.

use super::equipment::providers;
use crate::config::{self, Config};
use crate::env;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::{ProviderSettings, reference};
use convoke_plan::Plan;
use convoke_providers::preset;

/// Each place that a plan's prompts go to, once, in the order of the steps; none for answers that are made up.
pub fn of(plan: &Plan) -> Vec<String> {
    let mut places = Vec::new();
    for place in providers(plan).into_iter().filter_map(|(_, settings)| place(settings)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// The line for people; none where nothing is sent anywhere.
pub fn line(plan: &Plan, config: &Config) -> Option<String> {
    let mut places = Vec::new();
    for (_, settings) in providers(plan) {
        let Some(place) = place(settings) else { continue };
        let address = config.addresses.get(&settings.name);
        let replaced = address.filter(|address| Some(&address.url) == settings.base_url.as_ref());
        let place = match replaced {
            Some(address) => format!("{place}, set by {}", address.origin),
            None => place,
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    (!places.is_empty()).then(|| format!("prompts go to {}", places.join("; ")))
}

fn place(settings: &ProviderSettings) -> Option<String> {
    let name = &settings.name;
    if let Some(program) = &settings.program {
        return Some(format!("the program `{}` ({name})", program.command));
    }
    let address = address(settings.base_url.as_deref(), name)?;
    Some(format!("{address} ({name})"))
}

/// The address of a service, as it may be shown.
pub fn address(given: Option<&str>, service: &str) -> Option<String> {
    let built_in = || {
        let base = preset::find(service)?.base;
        Some(reference::resolve(base, &env::get_filled).unwrap_or_else(|_| base.to_owned()))
    };
    let address = given.filter(|given| !given.is_empty()).map(str::to_owned).or_else(built_in)?;
    Some(shown(&address))
}

/// The address without user, password, query and fragment.
fn shown(address: &str) -> String {
    let plain = address.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let host = rest[..end].rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{}", &rest[end..])
        }
        None => plain.to_owned(),
    }
}

/// Refuses a plan that would send prompts to a service's built-in address while the environment replaces the address of
/// another provider: a person that sets `CONVOKE_BASE_URL` does not expect them there.
pub fn require(plan: &Plan, config: &Config) -> Result<(), CommandFailure> {
    let Some(replaced) = config::address_from_environment(config) else { return Ok(()) };
    for (step, settings) in providers(plan) {
        let Some(preset) = preset::find(&settings.name) else { continue };
        let elsewhere = settings.base_url.is_some() || preset.base.contains("${") || !preset.needs_key;
        if elsewhere {
            continue;
        }
        let service = &settings.name;
        let words = format!(
            "step `{step}` asks `{service}` at {}, and {} does not stand for it: that is the address of another provider",
            preset.base, replaced.origin
        );
        return Err(CommandFailure::new(Exit::Refused, words)
            .hint(format!("unset CONVOKE_PROVIDER, and CONVOKE_BASE_URL holds for `{service}` too"))
            .hint(format!("or say where it is: [providers.{service}] with base_url in convoke.toml")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_secrets() {
        assert_eq!(shown("https://me:pw@host.test:8443/v1?key=x#y"), "https://host.test:8443/v1");
        assert_eq!(shown("http://localhost:1"), "http://localhost:1");
        assert_eq!(address(None, "anthropic").as_deref(), Some("https://api.anthropic.com"));
        assert_eq!(address(None, "scripted"), None);
    }
}
