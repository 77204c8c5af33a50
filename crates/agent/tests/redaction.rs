//! A whole attempt with a secret in its prompt, in what the model says, and in what a tool gives: the model receives the secret
//! only if the agent's contract lists it, and the attempt's link never does, in no encoding that the scrubber knows.

use convoke_agent::redaction::{RedactedLink, RedactedProviders, Scrubber, Secret, encodings_of};
use convoke_agent::{
    Admission, Admitted, Asker, Attempts, CallDemand, CallPermit, Commands, Finish, NoPrograms, NoReply,
    Provider, Providers, Reply, Report, Request, ScriptResult, Sink, Tool, ToolCall, ToolResult, ToolSpec,
    Toolbox, TurnLog, TurnRecord, Unlimited,
};
use convoke_model::{
    AgentCall, AgentSettings, Assignment, AttemptEnd, Class, Digest, Failure, JsonText, ProviderSettings,
    Retry, ScriptCall, Server, Servers, TaskId, Transport, Usage, Work,
};
use futures::future::BoxFuture;
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The variable that holds the secret.
const VARIABLE: &str = "SHOP_TOKEN";

/// How the model ends the attempt.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Answers,
    Fails,
}

#[derive(Debug, Clone)]
struct Case {
    secret: String,
    /// What the prompt, the model and the tool say: the secret in one of its encodings, between other words.
    leak: String,
    /// The tool's result is so long that it is kept beside the conversation, and read back.
    large: bool,
    ending: Ending,
    listed: bool,
}

/// A model that repeats the secret: in its first turn as an argument of a tool, then as its answer or as a failure.
struct Parrot {
    case: Case,
    received: Mutex<String>,
}

impl Provider for Parrot {
    fn name(&self) -> &str {
        "parrot"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        let texts: Vec<&str> = request.messages.iter().map(|message| message.text.as_str()).collect();
        let calls: Vec<_> = request.messages.iter().flat_map(|message| &message.tool_calls).collect();
        let received = format!("{}\n{calls:?}\n{:?}\n", texts.join("\n"), request.tools);
        self.received.lock().unwrap().push_str(&received);
        let leak = &self.case.leak;
        // As services send it: a few characters at a time.
        let characters: Vec<char> = leak.chars().collect();
        for piece in characters.chunks(3) {
            sink.report(Report::Progress { text: piece.iter().collect() });
        }
        sink.report(Report::Noted { code: "seen", message: leak.clone() });
        let mut reply = Reply::said(leak.clone(), Finish::Stop, Usage::default(), "m");
        let result = match (request.call, self.case.ending) {
            (1, _) => {
                reply.tool_calls.push(ToolCall::new("1", "s__echo", &json!({"text": leak}).to_string()));
                Ok(reply)
            }
            (2, _) if self.case.large => {
                let part = json!({"name": "r1", "from": 0, "length": 400});
                reply.tool_calls.push(ToolCall::new("2", "read_result", &part.to_string()));
                Ok(reply)
            }
            (_, Ending::Answers) => Ok(reply),
            (_, Ending::Fails) => {
                Err(Failure::new(Class::Permission, format!("refused: {leak}")).hint(leak).into())
            }
        };
        Box::pin(std::future::ready(result))
    }
}

struct Only(Arc<Parrot>);

impl Providers for Only {
    fn get(&self, _settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        Ok(self.0.clone())
    }
}

/// A tool that gives the secret back.
struct Echo(Case);

impl Toolbox for Echo {
    fn list<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        let spec = ToolSpec {
            name: "s__echo".into(),
            description: format!("Echoes, as in {}", self.0.leak),
            input_schema: json!({"type": "object", "description": self.0.leak}),
        };
        let tool = Tool {
            server: "s".into(),
            name: "echo".into(),
            spec,
            output_schema: None,
            repeatable: true,
            read_only: true,
            destructive: false,
        };
        Box::pin(std::future::ready(Ok(vec![tool])))
    }

    fn call<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
        _tool: &'a Tool,
        _arguments: &'a JsonText,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        let padding = if self.0.large { "~".repeat(300_000) } else { String::new() };
        let text = format!("{}\n{padding}", self.0.leak);
        Box::pin(std::future::ready(Ok(ToolResult { text, ..ToolResult::default() })))
    }
}

struct NoCommands;

impl Commands for NoCommands {
    fn run<'a>(
        &'a self,
        _call: &'a ScriptCall,
        _cancel: CancellationToken,
        _sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<ScriptResult, Failure>> {
        Box::pin(std::future::ready(Err(Failure::new(Class::Fatal, "there are no commands"))))
    }
}

/// The engine's end of the link: everything that it is told, as text.
#[derive(Default)]
struct Told {
    texts: Mutex<String>,
    kept: Mutex<HashMap<Digest, JsonText>>,
    /// Values that were asked for and are not there.
    missed: Mutex<u32>,
}

impl Told {
    fn hear(&self, text: &str) {
        self.texts.lock().unwrap().push_str(text);
        self.texts.lock().unwrap().push('\n');
    }
}

impl Admission for Told {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        Unlimited.admit(call)
    }

    fn settle(&self, _permit: CallPermit, _usage: &Usage, _failure: Option<&Failure>) {}
}

impl Sink for Told {
    fn report(&self, report: Report) {
        match report {
            // Pieces of one text.
            Report::Progress { text } => self.texts.lock().unwrap().push_str(&text),
            Report::Noted { message: text, .. } => self.hear(&text),
            other => self.hear(&format!("{other:?}")),
        }
    }
}

impl TurnLog for Told {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        self.hear(record.piece.as_str());
        for value in record.kept {
            self.hear(value.as_str());
            self.kept.lock().unwrap().insert(Digest::of(value.as_str().as_bytes()), value);
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn settle_tools(&self, allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        self.hear(&allowed.join(" "));
        Box::pin(std::future::ready(Ok(())))
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        let found = self.kept.lock().unwrap().get(&digest).cloned();
        *self.missed.lock().unwrap() += u32::from(found.is_none());
        Box::pin(std::future::ready(found))
    }
}

fn assignment(case: &Case) -> Assignment {
    let transport = Transport::Http { url: "http://localhost".into(), headers: vec![] };
    let server = Server { transport, timeout: None, tools: None };
    let settings = AgentSettings {
        provider: ProviderSettings::default(),
        schema: None,
        raw: false,
        temperature: None,
        max_tokens: None,
        request_timeout: Duration::from_secs(600),
        phase_timeouts: Default::default(),
        session_timeout: None,
        parse_recovery: 1,
        validator: None,
        tools: None,
        secrets: if case.listed { vec![VARIABLE.to_owned()] } else { Vec::new() },
        show_tools: false,
        approvals: Default::default(),
        servers: Arc::new([("s".to_owned(), server)].into()),
        capabilities: Default::default(),
        success_criteria: None,
        repair_model: None,
        fallback: None,
        pricing: Arc::default(),
    };
    let call = AgentCall {
        settings: Arc::new(settings),
        model: "m".into(),
        system: Some(case.leak.clone()),
        prompt: case.leak.clone(),
        reasoning_effort: None,
        working_dir: None,
        kept: Vec::new(),
    };
    Assignment {
        trace: None,
        task: TaskId("a".into()),
        key: "k".into(),
        attempt: 1,
        step: "a".into(),
        work: Work::Agent(Box::new(call)),
        seed: 7,
        continues: vec![],
        past: vec![],
        answer: None,
        retry: Retry::agent_default(),
        failures: 0,
        cut_off: 0,
        known_results: Vec::new(),
        remembered: Vec::new(),
        guidance: Vec::new(),
        workspace: None,
        proof: None,
        contract: None,
    }
}

/// Performs the attempt as the engine does: redacted providers, a redacted link, a redacted end.
async fn attempt(case: &Case) -> (String, Arc<Told>) {
    let parrot = Arc::new(Parrot { case: case.clone(), received: Mutex::default() });
    let secrets = vec![Secret { variable: Some(VARIABLE.to_owned()), value: case.secret.clone() }];
    let providers = RedactedProviders::over(Arc::new(Only(parrot.clone())), secrets);
    let attempts =
        Attempts::new(providers, Arc::new(NoCommands), Arc::new(Echo(case.clone())), Arc::new(NoPrograms));
    let told = Arc::<Told>::default();
    let link = RedactedLink::over(told.clone(), Arc::new(Scrubber::new([case.secret.clone()])));
    let end = attempts.attempt(assignment(case), &*link, CancellationToken::new()).await;
    match link.end(end) {
        AttemptEnd::Finished { output, .. } => told.hear(output.as_str()),
        AttemptEnd::Failed { failure, partial, .. } => {
            let hint = failure.hint.unwrap_or_default();
            told.hear(&failure.message);
            told.hear(&hint);
            told.hear(partial.as_ref().map_or("", JsonText::as_str));
        }
        other => panic!("{other:?}"),
    }
    let received = parrot.received.lock().unwrap().clone();
    (received, told)
}

fn found<'a>(case: &Case, text: &'a str) -> Option<&'a str> {
    let at = encodings_of(&case.secret).into_iter().find_map(|form| Some((text.find(&form)?, form.len())));
    at.map(|(at, length)| &text[at..at + length])
}

fn cases() -> impl Strategy<Value = Case> {
    let words = "[ a-z.,:\n\"]{0,12}";
    let secret = "[A-Za-z0-9/+=_\"\\\\ é-]{8,40}";
    let ending = prop_oneof![Just(Ending::Answers), Just(Ending::Fails)];
    (secret, words, words, any::<prop::sample::Index>(), proptest::bool::weighted(0.2), ending, any::<bool>())
        .prop_map(|(secret, before, after, form, large, ending, listed)| {
            let forms = encodings_of(&secret);
            let leak = format!("{before} {} {after}", form.get(&forms));
            Case { secret, leak, large, ending, listed }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_reaches_a_model_that_may_not_see_it_and_none_reaches_the_link(case in cases()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let (received, told) = runtime.unwrap().block_on(attempt(&case));
        if case.listed {
            prop_assert!(found(&case, &received).is_some(), "a listed secret was redacted: {received}");
        } else {
            prop_assert_eq!(found(&case, &received), None, "the model received {}", received);
        }
        let texts = told.texts.lock().unwrap();
        prop_assert_eq!(found(&case, &texts), None, "the link was told {}", texts);
        prop_assert_eq!(*told.missed.lock().unwrap(), 0, "a kept value is found under its new digest");
        prop_assert_eq!(told.kept.lock().unwrap().is_empty(), !case.large);
    }
}
