//! Everything that can go wrong with a server, as failures that name it.

use convoke_model::{Class, Failure};
use std::fmt;
use std::time::Duration;

/// A server that cannot be used.
const UNAVAILABLE: &str = "server_unavailable";
/// A server that ended while it was needed.
const DIED: &str = "server_died";

/// A server as messages name it.
#[derive(Debug, Clone)]
pub struct Who {
    name: String,
    /// Its command or address.
    what: String,
}

impl Who {
    /// A server with a name and a command or an address.
    pub fn new(name: &str, what: impl Into<String>) -> Who {
        Who { name: name.to_owned(), what: what.into() }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server `{}` ({})", self.name, self.what)
    }
}

/// A variable that a setting refers to is not set.
pub fn unset(who: &Who, setting: &str, variable: &str) -> Failure {
    let message =
        format!("{who} cannot start: variable `{variable}`, which `{setting}` refers to, is not set");
    Failure::new(Class::Permission, message)
        .reason("no_credentials")
        .hint(format!("set `{variable}` in the environment"))
}

/// Scripts whose arguments or results could not be checked.
pub fn bad_schema(server: &str, why: &str) -> Failure {
    Failure::new(Class::Fatal, format!("scripts of server `{server}` cannot be used: {why}"))
        .reason("bad_schema")
        .hint("correct the schema of the script")
}

/// A command that cannot be started, or ends before it has said anything.
pub fn unavailable(who: &Who, cause: &str) -> Failure {
    Failure::new(Class::Fatal, format!("{who} cannot start: {cause}"))
        .reason(UNAVAILABLE)
        .hint("check that the command is installed and speaks MCP on its standard streams")
}

/// A server that breaks the rules of the protocol.
pub fn unusable(who: &Who, cause: &str) -> Failure {
    Failure::new(Class::Fatal, format!("{who} cannot be used: {cause}"))
        .reason(UNAVAILABLE)
        .hint("the server is at fault; use another version of it, or leave it out")
}

/// A service that does not answer, or not as an MCP server does.
pub fn unreachable(who: &Who, cause: &str, class: Class) -> Failure {
    Failure::new(class, format!("{who} cannot be used: {cause}"))
        .reason(UNAVAILABLE)
        .hint("check the address, the network and that it speaks MCP over streamable HTTP")
}

/// A service that wants other credentials.
pub fn unauthorized(who: &Who, cause: &str) -> Failure {
    Failure::new(Class::Permission, format!("{who} does not let us in: {cause}"))
        .reason("no_credentials")
        .hint("check the `headers` of the server and the variables that they refer to")
}

/// How long a start may take is over.
pub fn slow_start(who: &Who, limit: Duration, words: &str) -> Failure {
    let message = format!("{who} cannot start: it was not ready within {}{words}", seconds(limit));
    Failure::new(Class::Fatal, message)
        .reason(UNAVAILABLE)
        .hint("a server with a longer `timeout` has that for its start too; one that downloads itself should be installed before")
}

/// It ended while a call was under way; the effect of the call is unknown.
pub fn died(who: &Who, tool: &str, cause: &str) -> Failure {
    let message = format!("{who} went away while `{tool}` was under way: {cause}");
    Failure::new(Class::Transient, message).reason(DIED)
}

/// It ended while it was asked for its tools.
pub fn died_listing(who: &Who, cause: &str) -> Failure {
    Failure::new(Class::Transient, format!("{who} went away while it listed its tools: {cause}")).reason(DIED)
}

/// How long a call may take is over.
pub fn slow_call(who: &Who, tool: &str, limit: Duration) -> Failure {
    let message = format!("{who}: `{tool}` gave no result within {}", seconds(limit));
    Failure::new(Class::Timeout, message)
        .reason("tool_timeout")
        .hint("`timeout` of the server, in milliseconds, allows more")
}

/// The caller has stopped waiting for the call.
pub fn cancelled(server: &str, tool: &str) -> Failure {
    Failure::new(Class::Cancelled, format!("server `{server}`: `{tool}` was cancelled"))
}

/// The run has ended its servers.
pub fn over(server: &str) -> Failure {
    Failure::new(Class::Cancelled, format!("server `{server}` is not started any more: the run is ending"))
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}
