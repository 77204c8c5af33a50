//! Every environment variable that Convoke itself reads, in one list.
//!
//! Workflow files may name others (`${VAR}`), which reach them through `sources`. Nothing else in the program asks the
//! environment.

use convoke_model::secret::is_named_like_one;

/// One variable and what it is for.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does, for the manual.
    pub meaning: &'static str,
    /// The configuration key that it sets, if it sets one.
    pub key: Option<&'static str>,
}

const fn sets(name: &'static str, key: &'static str, meaning: &'static str) -> Variable {
    Variable { name, meaning, key: Some(key) }
}

const fn reads(name: &'static str, meaning: &'static str) -> Variable {
    Variable { name, meaning, key: None }
}

/// The user's configuration file, instead of the one in the configuration folder.
pub const CONFIG: &str = "CONVOKE_CONFIG";
/// Switches colours off when it is set to anything but nothing.
pub const NO_COLOR: &str = "NO_COLOR";
/// A terminal that cannot move its cursor says `dumb` here.
pub const TERM: &str = "TERM";
/// The width of the output where there is no terminal to ask.
pub const COLUMNS: &str = "COLUMNS";
/// The proxy for `https` addresses; the first that is set counts.
pub const HTTPS_PROXY: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// The proxy for `http` addresses. In capitals it could be set by a web request to a CGI program, so it is not read.
pub const HTTP_PROXY: [&str; 3] = ["http_proxy", "ALL_PROXY", "all_proxy"];
/// Hosts that are reached without a proxy.
pub const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Folders below which projects are trusted, besides `trust.folders`.
pub const TRUSTED_FOLDERS: &str = "CONVOKE_TRUSTED_FOLDERS";
/// Certificates to trust instead of the system's.
pub const CA_FILE: &str = "SSL_CERT_FILE";
/// The editor for a plan that a person changes; the first that is set counts.
pub const EDITOR: [&str; 2] = ["VISUAL", "EDITOR"];
/// The author of answers to gates, for the record.
pub const USER: &str = "USER";

/// Seconds by which tests move the date of a run's clock. Only a program with debug assertions reads it, so it is not listed.
pub const TEST_CLOCK_JUMP: &str = "CONVOKE_TEST_CLOCK_JUMP";
/// A file that says how many seconds the machine has slept; as above.
pub const TEST_CLOCK_SLEPT: &str = "CONVOKE_TEST_CLOCK_SLEPT";
/// Seconds that a command which prints a secret may take; as above.
pub const TEST_SECRET_BOUND: &str = "CONVOKE_TEST_SECRET_BOUND";
/// Leaves a stopped owner to itself where its run is taken over; as above.
pub const TEST_STOPPED_OWNER: &str = "CONVOKE_TEST_STOPPED_OWNER";
/// The failpoint at which the program dies, `NAME` or `NAME:N` for the N-th time; only in a build for tests, so it is not listed.
#[cfg(debug_assertions)]
pub const FAILPOINT: &str = "CONVOKE_FAILPOINT";
/// The file in which such a build counts how often each failpoint is reached.
#[cfg(debug_assertions)]
pub const FAILPOINT_COUNTS: &str = "CONVOKE_FAILPOINT_COUNTS";

/// The whole list.
pub const LIST: &[Variable] = &[
    sets("CONVOKE_STATE_DIR", "state_dir", "where runs are kept"),
    sets("CONVOKE_STATE", "state", "where runs are kept: a folder, or the address of a cluster"),
    sets("CONVOKE_MACHINE_CONCURRENCY", "machine_concurrency", "the most attempts at once on this machine"),
    sets("CONVOKE_ORCHESTRATIONS", "limits.orchestrations", "the most runs at once on this machine"),
    sets("CONVOKE_LEASE_SECONDS", "lease_seconds", "how long a stopped process keeps what processes share"),
    sets("CONVOKE_DISK_WAIT_SECONDS", "disk_wait_seconds", "how long a run waits for room on a full disk"),
    sets("CONVOKE_MAX_CONCURRENCY", "run.max_concurrency", "the most attempts at once in one run"),
    sets("CONVOKE_PROVIDER", "provider.name", "the provider of agents whose file names none"),
    sets(
        "CONVOKE_BASE_URL",
        "provider.base_url",
        "where that provider is asked; without CONVOKE_PROVIDER, where every service is asked that has no address of its own",
    ),
    sets("CONVOKE_MODEL", "provider.model", "the model of agents whose file names none"),
    sets("AGENT_PROJECT_CONTEXT_PATH", "project.context", "where the runs of a project keep what they share"),
    sets(
        "CONVOKE_SANDBOX_STATE",
        "sandbox.state",
        "whether what files start sees the state folder: hidden, visible",
    ),
    sets("CONVOKE_QUIET", "run.quiet", "say only warnings and how a run ended (true or false)"),
    sets("CONVOKE_STRICT", "run.strict", "treat warnings as errors (true or false)"),
    sets("CONVOKE_COLOR", "color", "when to use colours: auto, always, never"),
    sets(
        "AGENT_MAX_RECURSIVE_DEPTH",
        "pipelines.recursive_depth",
        "pipelines of personas: how deep work is handed down",
    ),
    sets("AGENT_TOPOLOGY_MAX_DEPTH", "pipelines.topology_depth", "the same, within the topology of a phase"),
    sets(
        "AGENT_TOPOLOGY_MAX_RETRIES",
        "pipelines.topology_retries",
        "pipelines of personas: further tries after a failed validation",
    ),
    sets(
        "AGENT_RELATIONSHIP_MAX_CHILDREN",
        "pipelines.relationship_children",
        "pipelines of personas: children of one persona at a time",
    ),
    sets("AGENT_MAX_CONCURRENT", "pipelines.max_concurrency", "the most attempts at once in one pipeline"),
    sets(
        "AGENT_SECURITY_VIOLATION_MODE",
        "pipelines.security_violation",
        "what a violation of a contract comes to: hard_abort or validation_fail",
    ),
    sets("MAX_PARALLEL_AGENTS", "manifests.max_concurrency", "execution manifests: agents at one time"),
    sets(
        "PARALLEL_BATCH_SIZE",
        "manifests.batch_size",
        "execution manifests: agents of one level at a time, where levels are held apart",
    ),
    sets("SYNTHESIS_STRATEGY", "manifests.synthesis.strategy", "execution manifests: how outputs are merged"),
    sets("SYNTHESIS_RATIO", "manifests.synthesis.ratio", "execution manifests: the most outputs in one call"),
    sets(
        "ENABLE_PROGRESSIVE_SYNTHESIS",
        "manifests.synthesis.progressive",
        "execution manifests: merge outputs as they arrive where they would be merged level by level",
    ),
    sets(
        "AGENT_EXECUTION_TIMEOUT",
        "manifests.timeout_seconds",
        "execution manifests: seconds for one attempt of an agent",
    ),
    sets(
        "CIRCUIT_BREAKER_THRESHOLD",
        "limits.breaker.failures",
        "failures in a row that open the circuit breaker",
    ),
    reads(
        CONFIG,
        "the user's configuration file, instead of convoke/config.toml in the configuration folder",
    ),
    reads(TRUSTED_FOLDERS, "folders below which projects are trusted, as in PATH; besides `trust.folders`"),
    reads(NO_COLOR, "no colours when it is set and not empty"),
    reads(TERM, "`dumb` switches the live view off"),
    reads(COLUMNS, "the width of messages where standard error is no terminal"),
    reads(
        "HTTPS_PROXY",
        "the proxy for https addresses of model services (also https_proxy, ALL_PROXY, all_proxy)",
    ),
    reads("http_proxy", "the proxy for http addresses of model services (also ALL_PROXY, all_proxy)"),
    reads("NO_PROXY", "hosts that are reached without a proxy (also no_proxy)"),
    reads(CA_FILE, "a file of certificates to trust instead of the system's"),
    reads("OPENAI_API_KEY", "the key of the `openai` provider where nothing else names one"),
    reads("ANTHROPIC_API_KEY", "the key of the `anthropic` provider where nothing else names one"),
    reads("GEMINI_API_KEY", "the key of the `gemini` provider where nothing else names one"),
    reads("OPENROUTER_API_KEY", "the key of the `openrouter` provider where nothing else names one"),
    reads("AZURE_OPENAI_API_KEY", "the key of the `azure` provider where nothing else names one"),
    reads("AZURE_OPENAI_ENDPOINT", "the address of the `azure` provider where nothing else names one"),
    reads("OPENAI_BASE_URL", "the address of the `openai` provider where no file gives one"),
    reads("ANTHROPIC_BASE_URL", "the address of the `anthropic` provider where no file gives one"),
    reads("LLAMA_API_KEY", "the key of the `llamacpp` provider, if it needs one"),
    reads("VLLM_API_KEY", "the key of the `vllm` provider, if it needs one"),
    reads("LANGFUSE_PUBLIC_KEY", "the public key that the `langfuse` preset of telemetry sends"),
    reads("LANGFUSE_SECRET_KEY", "the secret key that the `langfuse` preset of telemetry sends"),
    reads("LANGFUSE_HOST", "where the `langfuse` preset of telemetry sends to"),
    reads("PHOENIX_API_KEY", "the key that the `phoenix` preset of telemetry sends, if it needs one"),
    reads("PHOENIX_COLLECTOR_ENDPOINT", "where the `phoenix` preset of telemetry sends to"),
    reads("XDG_CONFIG_HOME", "the configuration folder, instead of ~/.config"),
    reads("XDG_STATE_HOME", "the state folder, instead of ~/.local/state"),
    reads("VISUAL", "the editor in which a goal's plan is changed (also EDITOR)"),
    reads(
        convoke_tools::MARK,
        "set for every command that a run starts; where it is set, `answer`, `stop`, `guide` and others are refused",
    ),
    reads(USER, "the name that is recorded for an answer to a gate or a stop"),
];

/// A variable's value, if it is set and is text.
pub fn get(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Every variable that is text.
pub fn all() -> impl Iterator<Item = (String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text)
}

/// The value of the first of some variables that is set to something.
pub fn first(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| get_filled(name))
}

/// The values of all variables whose names say that they hold a secret.
pub fn secrets() -> Vec<String> {
    secret_variables().into_iter().map(|(_, value)| value).collect()
}

/// The same, with their names.
pub fn secret_variables() -> Vec<(String, String)> {
    all().filter(|(name, value)| is_named_like_one(name) && !value.is_empty()).collect()
}

/// A variable's value, if it is set to something.
pub fn get_filled(name: &str) -> Option<String> {
    get(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_is_listed_once() {
        let mut names: Vec<_> = LIST.iter().map(|variable| variable.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
