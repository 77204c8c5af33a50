//! `convoke serve`: the runs of every process in a browser, and over HTTP.

mod token;

use crate::args::{ServeArgs, ServeCommand};
use crate::config::Serving;
use crate::console::Console;
use crate::driving::Signals;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::following;
use crate::serving::{CommandHost, numbers, open};
use crate::stored;
use convoke_journal::StateDir;
use convoke_server::{Role, ServeError, Server, Settings, Tls, Tokens};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Serves until a signal comes, or does something about tokens.
pub fn run(console: &Console, args: &ServeArgs) -> Result<Exit, CommandFailure> {
    if let Some(ServeCommand::Token(command)) = &args.command {
        return token::run(console, command);
    }
    let state = stored::for_writing(console)?;
    let settings = settings(console, &state, args)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandFailure::new(Exit::Failed, format!("cannot start: {error}")))?;
    let named = !args.folders.is_empty() || Serving::of(&console.config.entries).is_own;
    runtime.block_on(serve(console, state, settings, args.open, named))
}

async fn serve(
    console: &Console,
    state: StateDir,
    settings: Settings,
    opens: bool,
    named: bool,
) -> Result<Exit, CommandFailure> {
    let mut signals =
        Signals::listen().map_err(|error| CommandFailure::new(Exit::Failed, error.to_string()))?;
    let (tokens, secret) = Tokens::of(&state).with_own("link", Role::Approve).map_err(token::failure)?;
    let (name, scheme, is_proxied) =
        (settings.names.first().cloned(), scheme(&settings), settings.behind_proxy);
    let folders = settings.folders.clone();
    let host = Arc::new(CommandHost { console: console.clone(), state: state.clone(), folders, named });
    let server = Server::bind(settings, tokens, host).await.map_err(failure)?;
    let place = place(name.as_deref(), server.address(), is_proxied);
    let link = format!("{scheme}://{place}/#token={secret}");
    console.say(&format!("runs of {} are shown at", state.path().display()));
    console.data(&link)?;
    console.say("anyone with the link can start runs and answer for you; Ctrl-C ends the server and no run");
    let opened = if opens { open(&state, &link)? } else { None };
    if opens && opened.is_none() {
        console.warn("nothing opens links here; open the link yourself");
    }
    let followings = following::spawn(console, &state);
    tokio::select! {
        () = server.serve() => {}
        _ = signals.next() => {}
    }
    drop(opened);
    followings.stop(following::AT_THE_END);
    Ok(Exit::Success)
}

/// Where browsers find it: by its name, at the port that it listens on, unless a proxy has one of its own.
fn place(name: Option<&str>, address: SocketAddr, is_proxied: bool) -> String {
    match name {
        Some(name) if is_proxied || has_port(name) => name.to_owned(),
        Some(name) => format!("{name}:{}", address.port()),
        // No place is called so; this machine's own name is known everywhere on it.
        None if address.ip().is_unspecified() => format!("localhost:{}", address.port()),
        None => address.to_string(),
    }
}

/// A colon inside of brackets is one of an address.
fn has_port(name: &str) -> bool {
    name.rsplit(']').next().is_some_and(|end| end.contains(':'))
}

fn scheme(settings: &Settings) -> &'static str {
    if settings.tls.is_some() || settings.behind_proxy { "https" } else { "http" }
}

fn settings(console: &Console, state: &StateDir, args: &ServeArgs) -> Result<Settings, CommandFailure> {
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(Tls { certificates: read(certificate)?, key: read(key)? }),
        _ => None,
    };
    let configured = Serving::of(&console.config.entries);
    let given = [args.folders.clone(), configured.folders, vec![PathBuf::from(".")]];
    let folders = given.into_iter().find(|folders| !folders.is_empty()).unwrap_or_default();
    let names = if args.names.is_empty() { configured.names } else { args.names.clone() };
    let folders = folders.iter().map(|folder| {
        folder.canonicalize().map_err(|error| {
            let words = format!("the folder `{}` cannot be used: {error}", folder.display());
            CommandFailure::new(Exit::Usage, words)
        })
    });
    Ok(Settings {
        address: address(args.addr, configured.addr.as_deref())?,
        state: state.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        folders: folders.collect::<Result<_, _>>()?,
        names,
        behind_proxy: args.behind_proxy,
        tls,
        metrics: Some(numbers(console, state)),
    })
}

fn address(given: Option<SocketAddr>, configured: Option<&str>) -> Result<SocketAddr, CommandFailure> {
    match (given, configured) {
        (Some(given), _) => Ok(given),
        (None, Some(text)) => text.parse().map_err(|_| {
            CommandFailure::new(Exit::Usage, format!("`serve.addr` is no address: `{text}`"))
                .hint("write HOST:PORT, such as 127.0.0.1:4600")
        }),
        (None, None) => Ok(USUAL),
    }
}

/// Where it listens unless an option or the configuration says otherwise.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4600);

fn read(path: &Path) -> Result<Vec<u8>, CommandFailure> {
    std::fs::read(path).map_err(|error| {
        CommandFailure::new(Exit::Usage, format!("`{}` cannot be read: {error}", path.display()))
    })
}

fn failure(error: ServeError) -> CommandFailure {
    let mut failure = CommandFailure::new(Exit::Refused, error.to_string());
    match &error {
        ServeError::Listen { source, address } => {
            failure.exit = Exit::Failed;
            failure.causes = vec![source.to_string()];
            let taken = source.kind() == std::io::ErrorKind::AddrInUse;
            let other = format!("another port: convoke serve --addr {}:0 takes any that is free", address.ip());
            if taken { failure.hint(other) } else { failure }
        }
        ServeError::Exposed { .. } => {
            failure.hint("give a certificate (--tls-cert, --tls-key), or say that a proxy speaks TLS: --behind-proxy --name HOST")
        }
        ServeError::Nameless => {
            failure.exit = Exit::Usage;
            failure.hint("--name HOST")
        }
        ServeError::Certificate(_) => failure.hint("both files must be PEM"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_place_is_one_where_the_server_answers() {
        let address = "192.0.2.2:4600".parse().unwrap();
        assert_eq!(place(None, address, false), "192.0.2.2:4600");
        assert_eq!(place(Some("box.example"), address, false), "box.example:4600");
        assert_eq!(place(Some("box.example:8443"), address, false), "box.example:8443");
        assert_eq!(place(Some("[fd00::2]"), address, false), "[fd00::2]:4600");
        assert_eq!(place(Some("box.example"), address, true), "box.example", "the proxy's port is not ours");
        assert_eq!(place(None, "0.0.0.0:4600".parse().unwrap(), false), "localhost:4600");
    }
}
