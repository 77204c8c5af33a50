use super::*;
use convoke_agent::{Message, Purpose, Silent, Timeouts, ToolSpec, violations};
use convoke_model::{OutputSchema, TaskId};
use serde_json::{Value, json};

fn scripted(file: Option<&str>) -> Scripted {
    Scripted {
        script: file.map(|text| Script::parse(text).unwrap()),
        latency: Duration::ZERO,
        told: AtomicBool::new(false),
    }
}

/// What a request is made of.
struct Asked {
    step: &'static str,
    task: TaskId,
    attempt: u32,
    cut_off: u32,
    purpose: Purpose,
    messages: Vec<Message>,
    schema: Option<OutputSchema>,
    tools: Vec<ToolSpec>,
}

impl Asked {
    fn by(step: &'static str) -> Asked {
        Asked {
            step,
            task: TaskId(step.into()),
            attempt: 1,
            cut_off: 0,
            purpose: Purpose::Answer,
            messages: vec![Message::new(Role::User, "Translate this.\nPlease.")],
            schema: None,
            tools: Vec::new(),
        }
    }

    fn request(&self) -> Request<'_> {
        Request {
            answered: None,
            working_dir: None,
            contract: None,
            secrets: &[],
            mask: None,
            trace: None,
            model: "m",
            meant: "m",
            messages: &self.messages,
            schema: self.schema.as_ref(),
            native_schema: true,
            tools: &self.tools,
            temperature: None,
            max_tokens: None,
            reasoning_effort: None,
            left_out: &[],
            timeouts: Timeouts::within(Duration::from_secs(600)),
            step: self.step,
            purpose: self.purpose,
            task: &self.task,
            attempt: self.attempt,
            cut_off: self.cut_off,
            call: 1,
            seed: 7,
        }
    }
}

async fn text(provider: &Scripted, asked: &Asked) -> Result<String, Failure> {
    let answered = provider.complete(&asked.request(), &Silent).await;
    answered.map(|reply| reply.text).map_err(NoReply::into_failure)
}

#[tokio::test]
async fn words_that_once_were_booleans_are_words() {
    let provider = scripted(Some("replies: {a: [no, {vote: y}, on, true]}"));
    let mut said = Vec::new();
    for _ in 0..4 {
        said.push(text(&provider, &Asked::by("a")).await.unwrap());
    }
    assert_eq!(said, ["no", r#"{"vote":"y"}"#, "on", "true"]);
}

#[tokio::test]
async fn replies_come_in_order_and_the_last_repeats() {
    let provider = scripted(Some("replies: {a: [one, {n: 2}, {say: three, repeat: 2}, last]}"));
    let mut said = Vec::new();
    for _ in 0..6 {
        said.push(text(&provider, &Asked::by("a")).await.unwrap());
    }
    assert_eq!(said, ["one", "{\"n\":2}", "three", "three", "last", "last"]);
}

#[tokio::test]
async fn a_new_process_goes_on_with_later_attempts_and_visits() {
    let file = Some("{a: [one, two, three]}");
    let second = Asked { attempt: 2, ..Asked::by("a") };
    assert_eq!(text(&scripted(file), &second).await.unwrap(), "two");
    let cut_off = Asked { attempt: 3, cut_off: 1, ..Asked::by("a") };
    assert_eq!(
        text(&scripted(file), &cut_off).await.unwrap(),
        "two",
        "an answer that nobody heard was not used"
    );
    let third = Asked { task: TaskId("g/a#3".into()), ..Asked::by("a") };
    let provider = scripted(file);
    assert_eq!(text(&provider, &third).await.unwrap(), "three");
    assert_eq!(text(&provider, &Asked::by("a")).await.unwrap(), "three");
}

#[tokio::test]
async fn a_task_has_its_own_replies_whatever_was_asked_before_it() {
    let file = Some("{code/try: [first, second], 'code/try[2]': of the second try}");
    let second = Asked { task: TaskId("code/try[2]".into()), ..Asked::by("code/try") };
    assert_eq!(text(&scripted(file), &second).await.unwrap(), "of the second try");
    let first = Asked { task: TaskId("code/try[1]".into()), ..Asked::by("code/try") };
    assert_eq!(text(&scripted(file), &first).await.unwrap(), "first");
}

#[tokio::test]
async fn steps_come_before_patterns_and_patterns_before_the_default() {
    let file = "replies: {a: own, a/validator: {passed: true}}\nmatch: [{pattern: '(?i)^translate', replies: Bonjour}]\ndefault: [else]";
    let provider = scripted(Some(file));
    assert_eq!(text(&provider, &Asked::by("a")).await.unwrap(), "own");
    assert_eq!(text(&provider, &Asked::by("b")).await.unwrap(), "Bonjour");
    let other = Asked { messages: vec![Message::new(Role::User, "Sum up.")], ..Asked::by("b") };
    assert_eq!(text(&provider, &other).await.unwrap(), "else");
    let grade = Asked { purpose: Purpose::Grade, ..Asked::by("a") };
    assert_eq!(text(&provider, &grade).await.unwrap(), "{\"passed\":true}");
    let lost = Asked { purpose: Purpose::Grade, ..Asked::by("b") };
    let failure = text(&provider, &lost).await.unwrap_err();
    assert_eq!(failure.message, "the scripted replies have none for `b/validator`");
}

#[tokio::test]
async fn helpers_have_lists_of_their_own() {
    let provider = scripted(Some("replies: {a: own, a/verifier: {passed: true}, a/repair: mended}"));
    let by = |purpose| Asked { purpose, ..Asked::by("a") };
    assert_eq!(text(&provider, &by(Purpose::Verify)).await.unwrap(), "{\"passed\":true}");
    assert_eq!(text(&provider, &by(Purpose::Repair)).await.unwrap(), "mended");
    let failure = text(&provider, &Asked { purpose: Purpose::Verify, ..Asked::by("b") }).await.unwrap_err();
    assert_eq!(failure.message, "the scripted replies have none for `b/verifier`");
}

#[tokio::test]
async fn tools_are_asked_for_and_a_conversation_goes_on_where_it_was() {
    let file = "a: [{tool_calls: [{name: count, arguments: {of: x}}, {name: list}], say: wait}, {tool_calls: [{name: list}]}, done]";
    let tool = ToolSpec { name: "count".into(), description: String::new(), input_schema: json!({}) };
    let mut asked = Asked { tools: vec![tool], ..Asked::by("a") };
    for turn in 0..3 {
        // Another process answers each turn: how far the conversation has come says which reply is next.
        let reply = scripted(Some(file)).complete(&asked.request(), &Silent).await.unwrap();
        let calls: Vec<_> =
            reply.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.value())).collect();
        match turn {
            0 => assert_eq!(calls, [("count", json!({"of": "x"})), ("list", json!({}))]),
            1 => assert_eq!(calls, [("list", json!({}))]),
            _ => assert_eq!((calls.len(), reply.text.as_str()), (0, "done")),
        }
        asked.messages.push(Message::of_reply(&reply));
        asked.messages.extend(reply.tool_calls.iter().map(|call| Message::tool_result(call, "3", false)));
    }
    let failure = text(&scripted(Some(file)), &Asked::by("a")).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("no_tools")));
}

#[tokio::test]
async fn faults_are_failures_of_their_class() {
    let file = "a: [{status: 429, retry_after: 1.5, message: slow}, {drop: true}, {fail: budget, message: broke}, {status: 200, say: ok}]";
    let provider = scripted(Some(file));
    let failure = text(&provider, &Asked::by("a")).await.unwrap_err();
    assert_eq!((failure.class, failure.retry_after_ms), (Class::RateLimit, Some(1500)));
    assert_eq!(failure.message, "scripted answered 429: slow");
    assert_eq!(text(&provider, &Asked::by("a")).await.unwrap_err().class, Class::Transient);
    assert_eq!(text(&provider, &Asked::by("a")).await.unwrap_err().message, "broke");
    assert_eq!(text(&provider, &Asked::by("a")).await.unwrap(), "ok");
}

#[tokio::test(start_paused = true)]
async fn delays_take_their_time() {
    let provider = scripted(Some("a: [{say: late, delay_ms: 300}, {say: never, delay_ms: 900000}]"));
    let before = tokio::time::Instant::now();
    assert_eq!(text(&provider, &Asked::by("a")).await.unwrap(), "late");
    assert_eq!(before.elapsed(), Duration::from_millis(300));
    assert_eq!(text(&provider, &Asked::by("a")).await.unwrap_err().class, Class::Timeout);
}

#[test]
fn broken_files_say_what_is_wrong() {
    for (file, wanted) in [
        ("[1]", "it is no map"),
        ("a: []", "replies of `a`: there are none"),
        ("a: [{fail: sometimes}]", "`sometimes` is no class of failure"),
        ("a: [{delay_ms: 3}]", "needs `say`, `json` or `tool_calls`"),
        ("a: [{tool_calls: []}]", "is no list of calls"),
        ("a: [{tool_calls: [{arguments: {}}]}]", "has no `name`"),
        ("match: [{replies: x}]", "has no `pattern`"),
        ("replies: {a: x}\nanswers: 1", "beside `replies`"),
    ] {
        let why = Script::parse(file).err().unwrap_or_default();
        assert!(why.contains(wanted), "{file}: {why}");
    }
    let missing = ProviderSettings { file: Some("/nowhere/replies.yaml".into()), ..Default::default() };
    let failure = Scripted::new(&missing).err().unwrap();
    assert!(failure.message.starts_with("the scripted replies in `/nowhere/replies.yaml` cannot be used: "));
}

#[tokio::test]
async fn made_up_answers_fit_their_schema() {
    let fields = json!({
        "title": {"type": "string", "minLength": 30, "maxLength": 40},
        "id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
        "verdict": {"type": "string", "enum": ["approve", "reject"]},
        "score": {"type": "number", "minimum": 2.5, "maximum": 10},
        "done": {"type": "boolean"},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "tags": {"type": "array"},
        "free": {"type": "object"},
        "inputs": {"type": "array", "items": {"type": "string", "refers": true}},
        "tool": {"type": "string", "nullable": true, "refers": true}
    });
    let schema: OutputSchema = serde_json::from_value(fields).unwrap();
    let asked = Asked { schema: Some(schema.clone()), ..Asked::by("a") };
    let answer: Value = serde_json::from_str(&text(&scripted(None), &asked).await.unwrap()).unwrap();
    assert_eq!(violations(&schema, answer.as_object().unwrap()), Vec::<String>::new());
    assert_eq!(answer["verdict"], "approve");
    assert_eq!(answer["rows"][2], json!({"name": "name 3"}));
    assert_eq!((&answer["inputs"], &answer["tool"]), (&json!([]), &Value::Null), "a name would name nothing");
}

#[derive(Default)]
struct Notes(std::sync::Mutex<Vec<Report>>);

impl Sink for Notes {
    fn report(&self, report: Report) {
        self.0.lock().unwrap().push(report);
    }
}

#[tokio::test]
async fn made_up_text_quotes_the_prompt_and_says_once_what_it_is() {
    let provider = scripted(None);
    let notes = Notes::default();
    let asked = Asked::by("a");
    for _ in 0..2 {
        let reply = provider.complete(&asked.request(), &notes).await.unwrap();
        assert_eq!(reply.text, "Scripted answer to: Translate this.");
        assert!(reply.usage.estimated && reply.usage.calls == 1);
    }
    let notes = notes.0.into_inner().unwrap();
    assert!(matches!(&notes[..], [Report::Noted { code: "scripted_answers", .. }]));
}

#[tokio::test]
async fn what_is_estimated_counts_the_tools_that_were_offered() {
    let provider = scripted(None);
    let (asked, silent) = (Asked::by("a"), convoke_agent::Silent);
    let tools = [convoke_agent::ToolSpec {
        name: "s__read".into(),
        description: "Reads a file.".into(),
        input_schema: serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }];
    let without = provider.complete(&asked.request(), &silent).await.unwrap().usage;
    let with = provider.complete(&Request { tools: &tools, ..asked.request() }, &silent).await.unwrap().usage;
    assert!(with.estimated && with.input_tokens == without.input_tokens + tools[0].tokens());
}
