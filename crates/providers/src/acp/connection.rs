//! The connection to an agent: its messages come in as happenings, and files are served on the way, masked as prompts are. We offer
//! no terminals, so files are all that an agent has from us besides its prompt.
//!
//! A task of its own drives the connection for as long as the agent lives, also while no turn is under way.

use super::files::Folder;
use crate::program::Lines as InputLines;
use agent_client_protocol::v1::schema::{
    ReadTextFileRequest, ReadTextFileResponse, RequestPermissionRequest, RequestPermissionResponse,
    SessionNotification, SessionUpdate, WriteTextFileRequest, WriteTextFileResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Client, Error, Lines, on_receive_notification, on_receive_request};
use convoke_agent::Mask;
use std::io;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Enough for an agent that streams; one that is ahead of us by more waits.
const MOST_HAPPENINGS: usize = 1024;

/// What an agent does on its own.
pub enum Happening {
    /// It tells something.
    Update(Box<SessionUpdate>),
    /// It wants to do something, and waits for the answer.
    Permission(Box<(RequestPermissionRequest, Responder<RequestPermissionResponse>)>),
}

/// A connection to an agent.
pub struct Connection {
    /// Where requests go out.
    pub to: ConnectionTo<Agent>,
    /// What comes in.
    pub happenings: mpsc::Receiver<Happening>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Opens a connection over a program's streams.
pub async fn open(streams: (pipe::Sender, pipe::Receiver), files: Files) -> Result<Connection, Error> {
    let (happened, happenings) = mpsc::channel(MOST_HAPPENINGS);
    let (opened, opening) = oneshot::channel();
    let driver = tokio::spawn(async move {
        // How a connection ends is seen by the requests that it leaves open.
        let _ = serve(streams, files, happened, opened).await;
    });
    let to = opening.await.map_err(|_| Error::internal_error().data("the connection could not be opened"))?;
    Ok(Connection { to, happenings, driver })
}

/// What an agent may have us do to files.
#[derive(Clone)]
pub struct Files {
    /// Where.
    pub folder: Folder,
    /// Whether it may read.
    pub readable: bool,
    /// Whether it may write.
    pub writable: bool,
    /// Takes out of what it reads what it may not see.
    pub mask: Option<Arc<dyn Mask>>,
}

async fn serve(
    (stdin, stdout): (pipe::Sender, pipe::Receiver),
    files: Files,
    happened: mpsc::Sender<Happening>,
    opened: oneshot::Sender<ConnectionTo<Agent>>,
) -> Result<(), Error> {
    let outgoing = futures::sink::unfold(stdin, write);
    let incoming = futures::stream::unfold(InputLines::new(stdout), read);
    let (reading, writing, permissions) = (files.clone(), files, happened.clone());
    Client
        .v1()
        .name("convoke")
        .on_receive_notification(
            async move |told: SessionNotification, _line| {
                // It fails where the receiver is gone: the agent is about to end.
                let _ = happened.send(Happening::Update(Box::new(told.update))).await;
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _line| {
                let _ = permissions.send(Happening::Permission(Box::new((request, responder)))).await;
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ReadTextFileRequest, responder, _line| {
                responder.respond_with_result(reading.clone().read(request).await)
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: WriteTextFileRequest, responder, _line| {
                responder.respond_with_result(writing.clone().write(request).await)
            },
            on_receive_request!(),
        )
        .connect_with(Lines::new(outgoing, incoming), async |connection: ConnectionTo<Agent>| {
            let _ = opened.send(connection.clone());
            connection.incoming_closed().await;
            Ok(())
        })
        .await
}

impl Files {
    async fn read(self, request: ReadTextFileRequest) -> Result<ReadTextFileResponse, Error> {
        if !self.readable {
            return Err(Error::invalid_request().data("this agent may read nothing"));
        }
        let text = off_the_runtime(move || {
            let text = self.folder.read(&request)?;
            Ok(self.mask.and_then(|mask| mask.masked(&text)).unwrap_or(text))
        });
        Ok(ReadTextFileResponse::new(text.await?))
    }

    async fn write(self, request: WriteTextFileRequest) -> Result<WriteTextFileResponse, Error> {
        if !self.writable {
            return Err(Error::invalid_request().data("this agent may write nothing"));
        }
        off_the_runtime(move || {
            self.keeps_secrets(&request)?;
            self.folder.write(&request)
        })
        .await?;
        Ok(WriteTextFileResponse::new())
    }
}

impl Files {
    /// Refuses to write what stands for a secret over the secret itself: the agent has read the one and cannot know the other.
    fn keeps_secrets(&self, request: &WriteTextFileRequest) -> Result<(), Error> {
        let Some(mask) = self.mask.as_ref().filter(|mask| mask.stands_in(&request.content)) else {
            return Ok(());
        };
        let before = self.folder.read(&ReadTextFileRequest::new("", &request.path)).unwrap_or_default();
        match mask.masked(&before) {
            None => Ok(()),
            Some(_) => Err(Error::invalid_params().data(format!(
                "`{}` holds a secret that was masked when you read it, and writing this would lose it; change the file \
                 without touching that part, or leave it to a person",
                request.path.display()
            ))),
        }
    }
}

async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(Error::into_internal_error)?
}

async fn write(mut stdin: pipe::Sender, line: String) -> io::Result<pipe::Sender> {
    stdin.write_all(line.as_bytes()).await?;
    if !line.ends_with('\n') {
        stdin.write_all(b"\n").await?;
    }
    Ok(stdin)
}

type Input = InputLines<pipe::Receiver>;

/// The next line that could be a message: agents print other things too.
async fn read(mut lines: Input) -> Option<(io::Result<String>, Input)> {
    loop {
        match lines.next().await.transpose()? {
            Ok(line) if !line.trim_start().starts_with(['{', '[']) => {}
            line => return Some((line, lines)),
        }
    }
}
