//! What a provider's name stands for: the protocol it speaks, where it is, how a key is sent.
//!
//! A table and nothing else. Settings of a file or a configuration go over what stands here.

use convoke_model::{Billing, ProviderSettings, Service};

/// How a service is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Google's generateContent.
    Gemini,
}

/// The header that carries a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer …`
    Bearer,
    /// One of this name.
    Named(&'static str),
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name in files and for `-p`.
    pub name: &'static str,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Where it is, unless the settings say otherwise; may hold references.
    pub base: &'static str,
    /// The key as a reference, unless the settings say otherwise.
    pub key: &'static str,
    /// How the key is sent.
    pub key_header: KeyHeader,
    /// Further headers.
    pub headers: &'static [(&'static str, &'static str)],
    /// Whether nothing is answered without a key.
    pub needs_key: bool,
    /// Whether it is known to take the shape of an answer as a parameter.
    pub native_schema: bool,
    /// Whether it keeps connections, as it says.
    pub keeps_connections: bool,
    /// Whether it runs on a machine of the person's own, and costs nothing there.
    pub is_local: bool,
    /// Whether it answers only requests that name a model.
    pub needs_model: bool,
    /// What to do to have it answer.
    pub advice: &'static str,
}

const fn hosted(
    name: &'static str,
    protocol: Protocol,
    base: &'static str,
    key: &'static str,
    key_header: KeyHeader,
    advice: &'static str,
) -> Preset {
    Preset {
        name,
        protocol,
        base,
        key,
        key_header,
        headers: &[],
        needs_key: true,
        native_schema: true,
        keeps_connections: true,
        is_local: false,
        needs_model: true,
        advice,
    }
}

const fn local(name: &'static str, base: &'static str, key: &'static str, advice: &'static str) -> Preset {
    let key_header = KeyHeader::Bearer;
    let hosted = hosted(name, Protocol::Chat, base, key, key_header, advice);
    Preset { needs_key: false, is_local: true, ..hosted }
}

const OPENAI: &str = "https://api.openai.com/v1";
const OPENAI_KEY: &str = "${OPENAI_API_KEY}";
const ANTHROPIC: &str = "https://api.anthropic.com";
const ANTHROPIC_KEY: &str = "${ANTHROPIC_API_KEY}";
const ANTHROPIC_ADVICE: &str = "set ANTHROPIC_API_KEY";

/// The names, in the order in which they are listed.
pub const ALL: &[Preset] = &[
    hosted("openai", Protocol::Chat, OPENAI, OPENAI_KEY, KeyHeader::Bearer, "set OPENAI_API_KEY"),
    hosted(
        "openai-responses",
        Protocol::Responses,
        OPENAI,
        OPENAI_KEY,
        KeyHeader::Bearer,
        "set OPENAI_API_KEY",
    ),
    hosted(
        "anthropic",
        Protocol::Messages,
        ANTHROPIC,
        ANTHROPIC_KEY,
        KeyHeader::Named("x-api-key"),
        ANTHROPIC_ADVICE,
    ),
    hosted(
        "claude",
        Protocol::Messages,
        ANTHROPIC,
        ANTHROPIC_KEY,
        KeyHeader::Named("x-api-key"),
        ANTHROPIC_ADVICE,
    ),
    hosted(
        "gemini",
        Protocol::Gemini,
        "https://generativelanguage.googleapis.com/v1beta",
        "${GEMINI_API_KEY}",
        KeyHeader::Named("x-goog-api-key"),
        "set GEMINI_API_KEY",
    ),
    Preset {
        headers: &[("X-Title", "Convoke")],
        // The service passes the parameter on, and many models behind it refuse it.
        native_schema: false,
        ..hosted(
            "openrouter",
            Protocol::Chat,
            "https://openrouter.ai/api/v1",
            "${OPENROUTER_API_KEY}",
            KeyHeader::Bearer,
            "set OPENROUTER_API_KEY",
        )
    },
    hosted(
        "azure",
        Protocol::Chat,
        "${AZURE_OPENAI_ENDPOINT}/openai/v1",
        "${AZURE_OPENAI_API_KEY}",
        KeyHeader::Named("api-key"),
        "set AZURE_OPENAI_ENDPOINT (https://NAME.openai.azure.com) and AZURE_OPENAI_API_KEY; the model is the deployment's name",
    ),
    local(
        "ollama",
        "http://localhost:11434/v1",
        "",
        "start `ollama serve` and pull a model, or set base_url",
    ),
    Preset {
        // It closes a connection that it said it would keep, when the next request comes on it.
        keeps_connections: false,
        // It serves the one that it was started with.
        needs_model: false,
        ..local(
            "llamacpp",
            "http://localhost:8080/v1",
            "${LLAMA_API_KEY:-}",
            "start `llama-server -m MODEL.gguf --jinja`, or set base_url",
        )
    },
    local(
        "vllm",
        "http://localhost:8000/v1",
        "${VLLM_API_KEY:-}",
        "start `vllm serve MODEL`, or set base_url",
    ),
];

/// The names that stand for no service: agents that are programs of this machine, and the stand-in for a model.
const WITHOUT_A_SERVICE: [&str; 3] = ["acp", "cli", "scripted"];

/// What a name stands for, if it is one of ours.
pub fn find(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name)
}

/// Whether a provider of this name can be made.
pub fn is_known(name: &str) -> bool {
    WITHOUT_A_SERVICE.contains(&name) || find(name).is_some()
}

/// What is known of a provider before it is asked; `None` where no such provider can be made.
pub fn service(settings: &ProviderSettings) -> Option<Service> {
    if settings.name == "scripted" {
        return Some(Service::STAND_IN);
    }
    let Some(preset) = find(&settings.name) else {
        let is_program = WITHOUT_A_SERVICE.contains(&settings.name.as_str());
        return is_program.then_some(Service { billing: Billing::Unknown, needs_model: false });
    };
    let billing = match is_at_home(settings, preset) {
        true if preset.is_local => Billing::Free,
        true => Billing::Listed,
        false if preset.is_local && settings.base_url.as_deref().is_some_and(is_loopback) => Billing::Free,
        false => Billing::Unknown,
    };
    Some(Service { billing, needs_model: preset.needs_model })
}

/// Whether a provider is asked at the address that its name stands for. Prices of its list hold nowhere else.
fn is_at_home(settings: &ProviderSettings, preset: &Preset) -> bool {
    let given = settings.base_url.as_deref().filter(|base| !base.is_empty());
    given.is_none_or(|base| base.trim_end_matches('/') == preset.base.trim_end_matches('/'))
}

/// Whether an address is one of this machine. A reference is not looked up, so it is not.
fn is_loopback(address: &str) -> bool {
    let url = reqwest::Url::parse(address).ok();
    let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or_default();
    let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

/// Every name, for people.
pub fn names_in_words() -> String {
    names().collect::<Vec<_>>().join(", ")
}

/// Every name.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|preset| preset.name).chain(WITHOUT_A_SERVICE)
}

/// The variables that hold a service's secrets, so that they can be kept from child processes. Which of those that a
/// program is started with are secrets is for its caller to judge: some are folders.
pub fn secret_names(settings: &ProviderSettings) -> Vec<String> {
    let given = settings.api_key.as_deref().filter(|key| !key.is_empty());
    let preset = find(&settings.name).map(|preset| preset.key);
    let key = given.or(preset.filter(|_| settings.api_key_file.is_none()));
    let headers = settings.headers.iter().map(|(_, value)| value.as_str());
    key.into_iter().chain(headers).flat_map(crate::reference::names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_one_thing() {
        let mut names: Vec<_> = ALL.iter().map(|preset| preset.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        assert!(is_known("claude") && is_known("scripted") && !is_known("copilot"));
    }

    #[test]
    fn a_list_holds_at_home_and_a_local_model_is_free_on_this_machine() {
        let billing = |name: &str, base: Option<&str>| {
            let base_url = base.map(str::to_owned);
            let settings = ProviderSettings { name: name.into(), base_url, ..ProviderSettings::default() };
            service(&settings).map(|service| service.billing)
        };
        assert_eq!(billing("openai", None), Some(Billing::Listed));
        assert_eq!(billing("openai", Some("https://api.openai.com/v1/")), Some(Billing::Listed));
        assert_eq!(billing("openai", Some("http://localhost:4000/v1")), Some(Billing::Unknown));
        assert_eq!(billing("ollama", None), Some(Billing::Free));
        assert_eq!(billing("vllm", Some("http://127.0.0.1:9000/v1")), Some(Billing::Free));
        assert_eq!(billing("vllm", Some("http://[::1]:9000/v1")), Some(Billing::Free));
        assert_eq!(billing("vllm", Some("https://gpu.example/v1")), Some(Billing::Unknown));
        assert_eq!(billing("vllm", Some("${WHERE}")), Some(Billing::Unknown));
        assert_eq!(
            (billing("acp", None), billing("scripted", None)),
            (Some(Billing::Unknown), Some(Billing::Free))
        );
        assert_eq!(billing("copilot", None), None);
    }

    #[test]
    fn the_variables_of_secrets_are_known_before_they_are_read() {
        let mut settings = ProviderSettings { name: "anthropic".into(), ..ProviderSettings::default() };
        settings.headers.push(("X-Team".into(), "${TEAM_TOKEN}".into()));
        assert_eq!(secret_names(&settings), ["ANTHROPIC_API_KEY", "TEAM_TOKEN"]);
        settings.api_key = Some("${MINE}".into());
        assert_eq!(secret_names(&settings), ["MINE", "TEAM_TOKEN"]);
    }
}
