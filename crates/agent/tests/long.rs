//! A conversation of two hundred turns whose tools give two megabytes each: it stays within the model's context, no call
//! is parted from its result, it goes on from any record with the same request, and the large values are not held.

use convoke_agent::{
    Admission, Admitted, Asker, Attempts, CallDemand, CallPermit, Commands, Finish, Message, NoPrograms,
    NoReply, Provider, Providers, Reply, Report, Request, Role, ScriptResult, Sink, Tool, ToolCall,
    ToolResult, ToolSpec, Toolbox, TurnLog, TurnRecord, Unlimited, tokens_in,
};
use convoke_model::{
    AgentCall, AgentSettings, Assignment, AttemptEnd, Class, Digest, Failure, JsonText, ProviderSettings,
    Retry, ScriptCall, Server, Servers, TaskId, Transport, Usage, Work,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// `CONVOKE_TURNS` says how many (80 unless told; 200 for the long version).
fn turns() -> usize {
    std::env::var("CONVOKE_TURNS").map_or(80, |text| text.parse().expect("a number"))
}
const RESULT_BYTES: usize = 2_000_000;
const WINDOW: u64 = 128_000;

/// Each turn has a tool result of 2 MB; a conversation that keeps all of them in memory allocates far more than this.
const MOST_MEMORY: usize = 80_000_000;

/// Counts what is allocated, and how much it was at most.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// Safety: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A model that fetches page after page, sometimes two at once, and sometimes reads back what was left out.
#[derive(Default)]
struct Reader {
    /// A digest of each request.
    requests: Mutex<Vec<Digest>>,
    /// Requests after which it fails, to see only what is asked first.
    gives_up_after: Option<usize>,
}

impl Provider for Reader {
    fn name(&self) -> &str {
        "reader"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        _sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, NoReply>> {
        fits_the_window(request);
        never_parted(request.messages);
        let mut requests = self.requests.lock().unwrap();
        requests.push(digest_of(request));
        let reply = match self.gives_up_after.is_some_and(|most| requests.len() > most) {
            true => Err(Failure::new(Class::Transient, "that is enough")),
            false => Ok(says(request.call as usize, request.tools.len() > 1)),
        };
        Box::pin(std::future::ready(reply.map_err(NoReply::Failed)))
    }
}

/// Everything that decides the answer, without the time that writing it as JSON takes.
fn digest_of(request: &Request<'_>) -> Digest {
    let mut all = format!("{} {} {:?}", request.model, request.call, request.tools);
    for message in request.messages {
        all.push_str(message.role.word());
        all.push_str(&message.text);
        all.push_str(&format!("{:?} {:?}", message.tool_calls, message.result_of));
    }
    Digest::of(all.as_bytes())
}

fn says(call: usize, can_read: bool) -> Reply {
    let mut reply = Reply::said(format!("Turn {call}."), Finish::Stop, Usage::default(), "m");
    if call > turns() {
        return reply;
    }
    let fetch =
        |page: usize| ToolCall::new(format!("f{page}"), "s__fetch", &json!({"page": page}).to_string());
    reply.tool_calls.push(fetch(call));
    if call.is_multiple_of(10) {
        reply.tool_calls.push(fetch(1000 + call));
    }
    if can_read && call.is_multiple_of(7) {
        let part = json!({"name": format!("r{}", call / 2), "from": 1_000, "length": 500});
        reply.tool_calls.push(ToolCall::new(format!("r{call}"), "read_result", &part.to_string()));
    }
    reply
}

fn fits_the_window(request: &Request<'_>) {
    let of_tools: usize = request.tools.iter().map(|tool| json!(tool).to_string().len()).sum();
    let used = tokens_in(request.messages) + of_tools as u64 / 4;
    assert!(used < WINDOW * 8 / 10, "{used} tokens in call {}", request.call);
}

/// Every result directly follows the message that called for it, in the order of the calls, and none is missing.
fn never_parted(messages: &[Message]) {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match &message.result_of {
            Some(result_of) => assert_eq!(open.remove(0), result_of.id),
            None => assert!(open.is_empty(), "{open:?} have no results"),
        }
        open.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
    }
    assert!(open.is_empty(), "{open:?} have no results");
    assert_eq!(messages[0].role, Role::User);
    assert!(messages[1..].first().is_none_or(|message| message.role == Role::Assistant));
}

/// A server of large pages.
struct Library;

fn page(number: usize) -> String {
    let mut text = format!("page {number}\n");
    let line = format!("{number}: the quick brown fox jumps over the lazy dog, \"twice\"\n");
    text.extend(std::iter::repeat_n(line.as_str(), RESULT_BYTES / line.len() + 1));
    text
}

impl Toolbox for Library {
    fn list<'a>(
        &'a self,
        _asker: Asker<'a>,
        _servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        let spec = ToolSpec {
            name: "s__fetch".into(),
            description: "Fetches a page.".into(),
            input_schema: json!({"type": "object", "properties": {"page": {"type": "integer"}}}),
        };
        let tool = Tool {
            server: "s".into(),
            name: "fetch".into(),
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
        arguments: &'a JsonText,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        let number = arguments.value()["page"].as_u64().expect("the model names a page") as usize;
        Box::pin(std::future::ready(Ok(ToolResult { text: page(number), ..ToolResult::default() })))
    }
}

/// A turn log that keeps pieces, but of the pages of the library only their numbers.
#[derive(Default)]
struct MemoryLog {
    pieces: Mutex<Vec<JsonText>>,
    kept: Mutex<HashMap<Digest, Recalled>>,
    recalled: AtomicUsize,
}

enum Recalled {
    Page(usize),
    Turns(JsonText),
}

impl TurnLog for MemoryLog {
    fn record(&self, record: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        self.pieces.lock().unwrap().push(record.piece);
        for value in record.kept {
            let digest = Digest::of(value.as_str().as_bytes());
            let number = value.as_str().strip_prefix("\"page ").and_then(|rest| rest.split_once('\\'));
            let kept = match number {
                Some((number, _)) => Recalled::Page(number.parse().expect("a number")),
                None => Recalled::Turns(value),
            };
            self.kept.lock().unwrap().insert(digest, kept);
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn settle_tools(&self, _allowed: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        self.recalled.fetch_add(1, Ordering::Relaxed);
        let found = self.kept.lock().unwrap().get(&digest).map(|kept| match kept {
            Recalled::Page(number) => {
                JsonText::parse(Value::String(page(*number)).to_string()).expect("JSON")
            }
            Recalled::Turns(value) => value.clone(),
        });
        Box::pin(std::future::ready(found))
    }
}

impl Admission for MemoryLog {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        Unlimited.admit(call)
    }

    fn settle(&self, _permit: CallPermit, _usage: &Usage, _failure: Option<&Failure>) {}
}

impl Sink for MemoryLog {
    fn report(&self, _report: Report) {}
}

struct Only(Arc<Reader>);

impl Providers for Only {
    fn get(&self, _settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        Ok(self.0.clone())
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

fn assignment(continues: Vec<JsonText>) -> Assignment {
    let transport = Transport::Http { url: "http://localhost".into(), headers: vec![] };
    let server = Server { transport, timeout: None, tools: None };
    let mut settings = AgentSettings {
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
        secrets: Vec::new(),
        show_tools: false,
        approvals: Default::default(),
        servers: Arc::new([("s".to_owned(), server)].into()),
        capabilities: Default::default(),
        success_criteria: None,
        repair_model: None,
        fallback: None,
        pricing: Arc::default(),
    };
    settings.capabilities.context_window = WINDOW;
    settings.capabilities.max_iterations = 500;
    let call = AgentCall {
        settings: Arc::new(settings),
        model: "m".into(),
        system: None,
        prompt: "Read everything.".into(),
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
        continues,
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

async fn attempt(reader: Arc<Reader>, log: &MemoryLog, continues: Vec<JsonText>) -> AttemptEnd {
    let attempts =
        Attempts::new(Arc::new(Only(reader)), Arc::new(NoCommands), Arc::new(Library), Arc::new(NoPrograms));
    attempts.attempt(assignment(continues), log, CancellationToken::new()).await
}

#[tokio::test]
async fn many_turns_with_large_results() {
    let turns = turns();
    let (reader, log) = (Arc::<Reader>::default(), MemoryLog::default());
    let end = attempt(reader.clone(), &log, vec![]).await;
    assert!(matches!(end, AttemptEnd::Finished { .. }), "{end:?}");
    let requests = reader.requests.lock().unwrap().clone();
    let pieces = log.pieces.lock().unwrap().clone();
    assert_eq!((requests.len(), pieces.len()), (turns + 1, turns));
    assert!(log.recalled.load(Ordering::Relaxed) > turns / 10, "something was read back");
    let longest = pieces.iter().map(|piece| piece.as_str().len()).max().unwrap();
    assert!(longest < 3 * 60_000, "a record has {longest} bytes");
    let peak = PEAK.load(Ordering::Relaxed);
    assert!(peak < MOST_MEMORY, "{peak} bytes were allocated at once");

    for written in (1..=turns).step_by(turns / 20).chain([2, 10, 70, turns]) {
        let again = Arc::new(Reader { gives_up_after: Some(0), ..Reader::default() });
        attempt(again.clone(), &log, pieces[..written].to_vec()).await;
        assert_eq!(
            again.requests.lock().unwrap()[..],
            requests[written..=written],
            "after written {written}"
        );
    }
}
