//! `convoke serve`: the runs of every process in a browser, and over HTTP.

mod token;

use crate::args::{ServeArgs, ServeCommand};
use crate::console::Console;
use crate::driving::Signals;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::serving::{CommandHost, open};
use crate::stored;
use convoke_journal::StateDir;
use convoke_server::{Role, ServeError, Server, Settings, Tls, Tokens};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Serves until a signal comes, or does something about tokens.
pub fn run(console: &Console, args: &ServeArgs) -> Result<Exit, CommandFailure> {
    if let Some(ServeCommand::Token(command)) = &args.command {
        return token::run(console, command);
    }
    let state = stored::for_writing(console)?;
    let settings = settings(&state, args)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandFailure::new(Exit::Failed, format!("cannot start: {error}")))?;
    runtime.block_on(serve(console, state, settings, args.open))
}

async fn serve(
    console: &Console,
    state: StateDir,
    settings: Settings,
    opens: bool,
) -> Result<Exit, CommandFailure> {
    let mut signals =
        Signals::listen().map_err(|error| CommandFailure::new(Exit::Failed, error.to_string()))?;
    let (tokens, secret) = Tokens::of(&state).with_own("link", Role::Approve).map_err(token::failure)?;
    let (name, scheme) = (settings.names.first().cloned(), scheme(&settings));
    let folders = settings.folders.clone();
    let host = Arc::new(CommandHost { console: console.clone(), state: state.clone(), folders });
    let server = Server::bind(settings, tokens, host).await.map_err(failure)?;
    let place = name.unwrap_or_else(|| server.address().to_string());
    let link = format!("{scheme}://{place}/#token={secret}");
    console.say(&format!("runs of {} are shown at", state.path().display()));
    console.data(&link)?;
    console.say("anyone with the link can start runs and answer for you; Ctrl-C ends the server and no run");
    let opened = if opens { open(&state, &link)? } else { None };
    if opens && opened.is_none() {
        console.warn("nothing opens links here; open the link yourself");
    }
    tokio::select! {
        () = server.serve() => {}
        _ = signals.next() => {}
    }
    drop(opened);
    Ok(Exit::Success)
}

fn scheme(settings: &Settings) -> &'static str {
    if settings.tls.is_some() || settings.behind_proxy { "https" } else { "http" }
}

fn settings(state: &StateDir, args: &ServeArgs) -> Result<Settings, CommandFailure> {
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(Tls { certificates: read(certificate)?, key: read(key)? }),
        _ => None,
    };
    let here = [PathBuf::from(".")];
    let folders = if args.folders.is_empty() { &here[..] } else { &args.folders[..] };
    let folders = folders.iter().map(|folder| {
        folder.canonicalize().map_err(|error| {
            let words = format!("the folder `{}` cannot be used: {error}", folder.display());
            CommandFailure::new(Exit::Usage, words)
        })
    });
    Ok(Settings {
        address: args.addr,
        state: state.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        folders: folders.collect::<Result<_, _>>()?,
        names: args.names.clone(),
        behind_proxy: args.behind_proxy,
        tls,
        metrics: None,
    })
}

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
        ServeError::Nameless => failure.hint("--name HOST"),
        ServeError::Certificate(_) => failure.hint("both files must be PEM"),
    }
}
