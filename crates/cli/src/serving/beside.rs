//! `--web`: a server beside a run that this process drives, on a thread of its own.
//!
//! It reads the journal as any other server does, so the run waits for nothing of it. It ends with the run, unless a page is open: then with
//! the last page, or with Ctrl-C.

use super::{CommandHost, Opened, numbers, open};
use crate::console::Console;
use crate::driving::Signals;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::json_log;
use convoke_journal::StateDir;
use convoke_model::RunId;
use convoke_server::{Role, Server, Settings, Tokens};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Notify;

/// How often it is asked whether a page is still open.
const PERIOD: Duration = Duration::from_millis(300);

/// The server of one run.
pub struct Beside {
    thread: JoinHandle<()>,
    end: Arc<Notify>,
    watchers: Box<dyn Fn() -> usize + Send + Sync>,
    _opened: Option<Opened>,
}

/// A server that listens: where, and how to count those that watch.
type Listening = (SocketAddr, Box<dyn Fn() -> usize + Send + Sync>);

impl Beside {
    /// Serves on a port that is free, says where, and opens the run's page where that is possible.
    pub fn start(console: &Console, state: &StateDir, run: &RunId) -> Result<Beside, CommandFailure> {
        let failed = |words: String| CommandFailure::new(Exit::Failed, words);
        let (tokens, secret) =
            Tokens::of(state).with_own("link", Role::Approve).map_err(|error| failed(error.to_string()))?;
        let here = std::env::current_dir().and_then(|folder| folder.canonicalize());
        let folders = here.map(|folder| vec![folder]).unwrap_or_default();
        let host = CommandHost {
            console: console.clone(),
            state: state.clone(),
            folders: folders.clone(),
            named: false,
        };
        let settings = Settings {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            state: state.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            folders,
            names: Vec::new(),
            behind_proxy: false,
            tls: None,
            metrics: Some(numbers(console, state)),
        };
        let (end, (told, heard)) = (Arc::new(Notify::new()), channel());
        let until = end.clone();
        let thread = std::thread::Builder::new().name("web".to_owned());
        let thread = thread
            .spawn(move || serve(settings, tokens, host, &told, &until))
            .map_err(|error| failed(format!("no page: {error}")))?;
        let (address, watchers) = heard
            .recv()
            .unwrap_or_else(|_| Err("its thread ended".to_owned()))
            .map_err(|why| failed(format!("no page: {why}")))?;
        let link = format!("http://{address}/runs/{run}#token={secret}");
        match json_log::is_on() {
            // What is logged is kept and passed on, and whoever has the link may answer.
            true => {
                console.conclude(&format!("the run is shown at http://{address}/runs/{run}"));
                console.hint("the link with its token is not logged; a token: convoke serve token add NAME");
            }
            false => console.conclude(&format!("the run is shown at {link}")),
        }
        let opened = if console.is_attended() { open(state, &link)? } else { None };
        Ok(Beside { thread, end, watchers, _opened: opened })
    }

    /// The run has ended: ends the server, once no page is open.
    pub fn finish(self, console: &Console) {
        if (self.watchers)() > 0 {
            console.say("a page is open: the server stays until it is closed, or until Ctrl-C");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(self.last_page())).ok();
        }
        self.end.notify_one();
        self.thread.join().ok();
    }

    async fn last_page(&self) {
        let Ok(mut signals) = Signals::listen() else { return };
        while (self.watchers)() > 0 {
            tokio::select! {
                () = tokio::time::sleep(PERIOD) => {}
                _ = signals.next() => return,
            }
        }
    }
}

fn serve(
    settings: Settings,
    tokens: Tokens,
    host: CommandHost,
    told: &Sender<Result<Listening, String>>,
    end: &Notify,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return drop(told.send(Err(error.to_string()))),
    };
    runtime.block_on(async {
        match Server::bind(settings, tokens, Arc::new(host)).await {
            Err(error) => drop(told.send(Err(error.to_string()))),
            Ok(server) => {
                told.send(Ok((server.address(), Box::new(server.watchers())))).ok();
                tokio::select! {
                    () = server.serve() => {}
                    () = end.notified() => {}
                }
            }
        }
    });
    // A client that is being answered must not hold the end up.
    runtime.shutdown_background();
}
