//! A small agent that does what its prompt says. It runs in a process of its own: the test program, started again.
//!
//! Each line of a prompt is an order, carried out in turn:
//! `say TEXT`, `think TEXT`, `permission TITLE`, `read PATH`, `write PATH`, `variable NAME`, `model`, `odd`, `pid`, `child`, `die`, `hang`,
//! `ignore`, `stop REASON`.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::zombie_processes)]

use agent_client_protocol::v1::schema::*;
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, Error, Lines, UntypedMessage, on_receive_notification, on_receive_request,
};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, mpsc};

type To = ConnectionTo<Client>;

/// How one is let in with a key.
const BY_KEY: &str = r#""id":"by-key","type":"env_var","vars":[{"name":"FAKE_KEY"}]"#;

/// What the agent knows.
#[derive(Clone, Default)]
struct Fake {
    cancelled: Arc<Notify>,
    folder: Arc<Mutex<PathBuf>>,
    loaded: Arc<Mutex<bool>>,
    unlocked: Arc<Mutex<bool>>,
    model: Arc<Mutex<String>>,
}

/// Serves until standard input ends.
pub async fn serve() {
    // What the test harness has printed ends here.
    println!();
    let (lines, incoming) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let _ = lines.send(line);
        }
    });
    let incoming = futures::stream::unfold(incoming, async |mut lines| Some((lines.recv().await?, lines)));
    let outgoing = futures::sink::unfold((), async |(), line: String| {
        let mut stdout = std::io::stdout();
        // The library knows no way in by variables yet, and agents have it.
        let line = line.replace("\"id\":\"by-key\"", BY_KEY);
        writeln!(stdout, "{}", line.trim_end())?;
        stdout.flush()
    });
    let fake = Fake::default();
    let (made, loaded, prompted, told) = (fake.clone(), fake.clone(), fake.clone(), fake.clone());
    let (unlocked, chosen) = (fake.clone(), fake.clone());
    let served = Agent
        .v1()
        .on_receive_request(
            async move |hello: InitializeRequest, responder: Responder<InitializeResponse>, _to| {
                assert!(!hello.client_capabilities.terminal);
                let able = AgentCapabilities::new().load_session(std::env::var("FAKE_LOADS").is_ok());
                let way = |id: &'static str, name| AuthMethod::Agent(AuthMethodAgent::new(id, name));
                let ways = vec![way("fake-key", "a fake key"), way("by-key", "a given key")];
                let answer = InitializeResponse::new(hello.protocol_version);
                responder.respond(answer.agent_capabilities(able).auth_methods(ways))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |new: NewSessionRequest, responder: Responder<NewSessionResponse>, _to| {
                *made.folder.lock().unwrap() = new.cwd;
                if std::env::var("FAKE_LOCKED").is_ok() && !*made.unlocked.lock().unwrap() {
                    return responder.respond_with_error(Error::auth_required());
                }
                let model = |id: &'static str| SessionConfigSelectOption::new(id, id);
                let option =
                    SessionConfigOption::select("model", "Model", "m-0", vec![model("m-0"), model("m-1")]);
                let option = option.category(SessionConfigOptionCategory::Model);
                responder.respond(NewSessionResponse::new("session-1").config_options(vec![option]))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |way: AuthenticateRequest, responder: Responder<AuthenticateResponse>, _to| {
                *unlocked.unlocked.lock().unwrap() = &*way.method_id.0 == "by-key";
                responder.respond(AuthenticateResponse::new())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |set: SetSessionConfigOptionRequest,
                        responder: Responder<SetSessionConfigOptionResponse>,
                        _to| {
                *chosen.model.lock().unwrap() = set.value.as_value_id().unwrap().to_string();
                responder.respond(SetSessionConfigOptionResponse::new(vec![]))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |load: LoadSessionRequest, responder: Responder<LoadSessionResponse>, to: To| {
                *loaded.loaded.lock().unwrap() = true;
                *loaded.folder.lock().unwrap() = load.cwd;
                // More than fits into any queue: what was said before is told again.
                for _ in 0..3000 {
                    say(&to, &load.session_id, "old ")?;
                }
                responder.respond(LoadSessionResponse::new())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |prompt: PromptRequest, responder: Responder<PromptResponse>, to: To| {
                let fake = prompted.clone();
                let at_work = to.clone();
                to.spawn(async move {
                    let answer = fake.work(&at_work, prompt).await?;
                    responder.respond(answer)
                })
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |_: CancelNotification, _to| {
                let folder = told.folder.lock().unwrap().clone();
                // Tests that gave it no folder run it in the package's own.
                if !folder.join("Cargo.toml").exists() {
                    std::fs::write(folder.join("cancelled"), "yes").unwrap();
                }
                told.cancelled.notify_one();
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(Lines::new(outgoing, incoming))
        .await;
    served.unwrap();
}

fn update(to: &To, session: &SessionId, update: SessionUpdate) -> Result<(), Error> {
    to.send_notification(SessionNotification::new(session.clone(), update))
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}

fn say(to: &To, session: &SessionId, text: &str) -> Result<(), Error> {
    update(to, session, SessionUpdate::AgentMessageChunk(chunk(text)))
}

fn status(id: &str, status: ToolCallStatus) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(
        id.to_owned(),
        ToolCallUpdateFields::new().status(status),
    ))
}

impl Fake {
    async fn work(&self, to: &To, prompt: PromptRequest) -> Result<PromptResponse, Error> {
        let ContentBlock::Text(text) = &prompt.prompt[0] else { panic!("no text") };
        if *self.loaded.lock().unwrap() {
            say(to, &prompt.session_id, "loaded,")?;
        }
        for line in text.text.lines() {
            let (order, about) = line.split_once(' ').unwrap_or((line, ""));
            if let Some(answer) = self.obey(to, &prompt.session_id, order, about).await? {
                return Ok(answer);
            }
        }
        Ok(PromptResponse::new(StopReason::EndTurn))
    }

    async fn obey(
        &self,
        to: &To,
        session: &SessionId,
        order: &str,
        about: &str,
    ) -> Result<Option<PromptResponse>, Error> {
        match order {
            "say" => say(to, session, about)?,
            "think" => update(to, session, SessionUpdate::AgentThoughtChunk(chunk(about)))?,
            // Of its supervisor: that is the process that the engine started and knows.
            "pid" => say(to, session, &format!("{},", std::os::unix::process::parent_id()))?,
            "variable" => say(to, session, &format!("{:?}", std::env::var(about).ok()))?,
            "model" => say(to, session, &self.model.lock().unwrap().clone())?,
            "permission" => return self.permission(to, session, about).await,
            "read" => {
                let read = ReadTextFileRequest::new(session.clone(), about);
                let text = to.send_request(read).block_task().await;
                say(to, session, &text.map_or_else(|_| "refused,".into(), |text| text.content))?;
            }
            "write" => {
                let write = WriteTextFileRequest::new(session.clone(), about, "written");
                let done = to.send_request(write).block_task().await;
                say(to, session, if done.is_ok() { "written," } else { "refused," })?;
            }
            "odd" => {
                let odd =
                    serde_json::json!({"sessionId": session, "update": {"sessionUpdate": "from_the_future"}});
                to.send_notification(UntypedMessage::new("session/update", odd)?)?;
            }
            "child" => {
                let child = std::process::Command::new("setsid").args(["sleep", "1000"]).spawn().unwrap();
                say(to, session, &child.id().to_string())?;
            }
            "die" => {
                eprintln!("first\nlast words {}", std::env::var("GIVEN_KEY").unwrap_or_default());
                std::process::exit(3);
            }
            "hang" => {
                self.cancelled.notified().await;
                return Ok(Some(PromptResponse::new(StopReason::Cancelled)));
            }
            "ignore" => futures::future::pending().await,
            "stop" => {
                let reason = serde_json::from_value(about.into()).unwrap();
                return Ok(Some(PromptResponse::new(reason)));
            }
            _ => {}
        }
        Ok(None)
    }

    async fn permission(
        &self,
        to: &To,
        session: &SessionId,
        title: &str,
    ) -> Result<Option<PromptResponse>, Error> {
        let call = ToolCall::new("call-1", title).kind(ToolKind::Execute);
        let call = call.raw_input(
            serde_json::json!({"command": ["make", title], "in": std::env::var("FAKE_PLACE").ok()}),
        );
        update(to, session, SessionUpdate::ToolCall(call))?;
        let options = vec![
            PermissionOption::new("yes", "Allow", PermissionOptionKind::AllowOnce),
            PermissionOption::new("no", "Reject", PermissionOptionKind::RejectOnce),
        ];
        let about = ToolCallUpdate::new("call-1", ToolCallUpdateFields::new());
        let request = RequestPermissionRequest::new(session.clone(), about, options);
        let answer = to.send_request(request).block_task().await?;
        match answer.outcome {
            RequestPermissionOutcome::Selected(chosen) if &*chosen.option_id.0 == "yes" => {
                update(to, session, status("call-1", ToolCallStatus::Completed))?;
                say(to, session, &format!("did {title},"))?;
                Ok(None)
            }
            _ => {
                update(to, session, status("call-1", ToolCallStatus::Failed))?;
                Ok(Some(PromptResponse::new(StopReason::Cancelled)))
            }
        }
    }
}
