//! The whole loop, with a model that says what it is told and programs of a language of four words.

use super::*;
use crate::{
    Admission, Admitted, Attempts, CallDemand, CallPermit, Commands, Diary, Finish, Message, NoTools, Page,
    Provider, Providers, Purpose, Reply, Report, Request, Role, ScriptResult, Sink, Unlimited,
};
use convoke_model::{
    AgentCall, AgentSettings, Assignment, AttemptEnd, Class, Digest, Failure, JsonText, Payload,
    ProgramAnswer, ProgramCall, ProgramSource, ProviderSettings, Retry, ScriptCall, SuccessCriteria, TaskId,
    Usage, Validator, WaitsFor, Wish, Work,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A call over these outputs, with usual bounds.
pub(super) fn call_over(outputs: &[Value]) -> ProgramCall {
    let settings = AgentSettings {
        provider: ProviderSettings::default(),
        schema: None,
        raw: true,
        temperature: None,
        max_tokens: None,
        request_timeout: Duration::from_secs(600),
        phase_timeouts: Default::default(),
        session_timeout: None,
        parse_recovery: 1,
        validator: None,
        tools: None,
        servers: Default::default(),
        capabilities: Default::default(),
        success_criteria: None,
        repair_model: None,
        fallback: None,
        pricing: Default::default(),
    };
    let agent = AgentCall {
        settings: Arc::new(settings),
        model: "m".into(),
        system: Some("You are thorough.".into()),
        prompt: "Which is it?".into(),
        reasoning_effort: None,
        working_dir: None,
        kept: Vec::new(),
    };
    let source = |(at, output): (usize, &Value)| ProgramSource {
        mark: format!("S{}", at + 1),
        task: TaskId(format!("items[{at}]").into()),
        title: format!("item {at}"),
        output: JsonText::of(output),
    };
    ProgramCall {
        agent,
        sources: outputs.iter().enumerate().map(source).collect(),
        missing: Vec::new(),
        depth: 0,
        max_turns: 3,
        max_depth: 2,
        max_calls: 4,
        time_ms: 20_000,
        memory: 1 << 20,
        metadata_chars: 1_000,
        answers: Vec::new(),
    }
}

/// Programs of lines: `print WORDS`, `FUNCTION ["arguments"]`, `show` (prints what the last call gave), `again` (calls
/// `final` with it), `take MS`, `end KIND`.
#[derive(Default)]
struct Toy {
    started: AtomicU32,
    /// States cannot be read here.
    forgets: bool,
}

struct ToyWorker {
    forgets: bool,
    program: Vec<String>,
    line: usize,
    calls: u64,
    last: Given,
    printed: String,
}

impl Programs for Toy {
    fn guide(&self) -> &str {
        "(the guide)"
    }

    fn start(&self, bounds: ProgramBounds) -> BoxFuture<'_, Result<Box<dyn ProgramWorker>, Failure>> {
        assert_eq!(bounds.time, bounds.total / 4);
        self.started.fetch_add(1, Ordering::SeqCst);
        let (last, printed) = (Given::Value(Value::Null), String::new());
        let worker =
            ToyWorker { forgets: self.forgets, program: Vec::new(), line: 0, calls: 0, last, printed };
        Box::pin(std::future::ready(Ok(Box::new(worker) as Box<dyn ProgramWorker>)))
    }
}

impl ToyWorker {
    fn stopped(&mut self, stop: Stop) -> Step {
        Step { stop, printed: std::mem::take(&mut self.printed), cut: 0 }
    }

    fn called(&mut self, function: &str, args: Vec<Value>) -> Step {
        self.calls += 1;
        let call =
            HostCall { number: self.calls, function: function.to_owned(), args, kwargs: Default::default() };
        self.stopped(Stop::Call(call))
    }

    async fn go(&mut self) -> Step {
        while let Some(line) = self.program.get(self.line).cloned() {
            self.line += 1;
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match word {
                "print" => self.printed.push_str(rest),
                "show" => self.printed.push_str(&format!("{:?}", self.last)),
                "take" => tokio::time::sleep(Duration::from_millis(rest.parse().unwrap())).await,
                "again" => {
                    let Given::Value(value) = self.last.clone() else { panic!("an exception") };
                    return self.called("final", vec![value]);
                }
                "end" => {
                    let kind = match rest {
                        "memory" => TroubleKind::Memory,
                        "died" => TroubleKind::Died,
                        _ => TroubleKind::Program,
                    };
                    let trouble =
                        Trouble { kind, message: format!("NameError: {rest}"), hint: Some("ask".into()) };
                    return self.stopped(Stop::Failed(trouble));
                }
                function => return self.called(function, serde_json::from_str(rest).unwrap()),
            }
        }
        self.stopped(Stop::Ended(Value::Null))
    }
}

impl ProgramWorker for ToyWorker {
    fn run<'a>(&'a mut self, program: &'a str) -> BoxFuture<'a, Result<Step, Failure>> {
        self.program = program.lines().map(str::to_owned).collect();
        (self.line, self.calls) = (0, 0);
        Box::pin(async move { Ok(self.go().await) })
    }

    fn answer(&mut self, call: u64, answer: Given) -> BoxFuture<'_, Result<Step, Failure>> {
        assert_eq!(call, self.calls);
        self.last = answer;
        Box::pin(async move { Ok(self.go().await) })
    }

    fn save(&mut self) -> BoxFuture<'_, Option<Vec<u8>>> {
        let state = serde_json::to_vec(&json!([self.program, self.line])).unwrap();
        Box::pin(std::future::ready(Some(state)))
    }

    fn resume<'a>(
        &'a mut self,
        saved: &'a [u8],
        call: u64,
        answer: Given,
    ) -> BoxFuture<'a, Result<Option<Step>, Failure>> {
        Box::pin(async move {
            if self.forgets {
                return Ok(None);
            }
            (self.program, self.line) = serde_json::from_slice(saved).unwrap();
            (self.calls, self.last) = (call, answer);
            Ok(Some(self.go().await))
        })
    }
}

/// A model that says what it is told to, and keeps what it was asked.
#[derive(Clone, Default)]
struct Told {
    replies: Arc<Mutex<VecDeque<Result<Reply, Failure>>>>,
    asked: Arc<Mutex<Vec<Vec<Message>>>>,
}

impl Provider for Told {
    fn name(&self) -> &str {
        "told"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
        _sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        assert!(matches!(request.purpose, Purpose::Program | Purpose::Grade | Purpose::Verify));
        self.asked.lock().unwrap().push(request.messages.to_vec());
        let reply = self.replies.lock().unwrap().pop_front().expect("a reply is left");
        Box::pin(std::future::ready(reply))
    }
}

impl Providers for Told {
    fn get(&self, _settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::new(self.clone()))
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
        unreachable!("nobody runs commands")
    }
}

/// What an attempt writes down.
#[derive(Default)]
struct Book {
    pages: Mutex<Vec<JsonText>>,
    kept: Mutex<HashMap<Digest, JsonText>>,
    usage: Mutex<Usage>,
}

impl Diary for Book {
    fn record(&self, page: Page) -> BoxFuture<'_, Result<(), Failure>> {
        let kept = page.kept.into_iter().map(|text| (Digest::of(text.as_str().as_bytes()), text));
        self.kept.lock().unwrap().extend(kept);
        *self.usage.lock().unwrap() += page.usage;
        self.pages.lock().unwrap().push(page.piece);
        Box::pin(std::future::ready(Ok(())))
    }

    fn recall(&self, digest: Digest) -> BoxFuture<'_, Option<JsonText>> {
        let kept = self.kept.lock().unwrap().get(&digest).cloned();
        Box::pin(std::future::ready(kept))
    }
}

impl Sink for Book {
    fn report(&self, _report: Report) {}
}

impl Admission for Book {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        Unlimited.admit(call)
    }

    fn settle(&self, _permit: CallPermit, _usage: &Usage, _failure: Option<&Failure>) {}
}

/// One task with its model, its programs and its book.
struct World {
    call: ProgramCall,
    model: Told,
    programs: Arc<Toy>,
    book: Book,
}

impl World {
    fn new(replies: &[&str]) -> World {
        let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
        let said = |text: &&str| Ok(Reply::said(*text, Finish::Stop, usage, "m"));
        let model = Told::default();
        model.replies.lock().unwrap().extend(replies.iter().map(said));
        let call = call_over(&[json!({"result": "the first one"}), json!({"result": "the second one"})]);
        World { call, model, programs: Arc::default(), book: Book::default() }
    }

    async fn attempt(&self, answers: Vec<ProgramAnswer>) -> AttemptEnd {
        let attempts = Attempts::new(
            Arc::new(self.model.clone()),
            Arc::new(NoCommands),
            Arc::new(NoTools),
            self.programs.clone(),
        );
        let call = ProgramCall { answers, ..self.call.clone() };
        let assignment = Assignment {
            task: TaskId("synthesis".into()),
            attempt: 1,
            step: "synthesis".into(),
            work: Work::Program(Box::new(call)),
            seed: 1,
            continues: self.book.pages.lock().unwrap().clone(),
            answer: None,
            retry: Retry::once(),
            failures: 0,
        };
        let end = attempts.attempt(assignment, &self.book, CancellationToken::new()).await;
        if let AttemptEnd::Suspended { state, .. } = &end {
            self.book.pages.lock().unwrap().push(state.clone());
        }
        end
    }

    /// Attempts until it ends, with this answer to every question.
    async fn finish(&self, answer: &str) -> Result<Value, Failure> {
        let mut answers = Vec::new();
        loop {
            match self.attempt(std::mem::take(&mut answers)).await {
                AttemptEnd::Finished { output, .. } => return Ok(output.value()),
                AttemptEnd::Failed { failure, .. } => return Err(failure),
                AttemptEnd::Suspended { waits_for, .. } => {
                    answers = wishes(&waits_for).iter().map(|_| answered(Ok(answer))).collect();
                }
                AttemptEnd::Lost => unreachable!("nothing is lost"),
            }
        }
    }

    fn asked(&self) -> Vec<Vec<Message>> {
        self.model.asked.lock().unwrap().clone()
    }
}

fn program(lines: &str) -> String {
    format!("So:\n```python\n{lines}\n```\n")
}

fn answered(answer: Result<&str, &str>) -> ProgramAnswer {
    let usage = Usage { calls: 1, input_tokens: 100, ..Usage::default() };
    ProgramAnswer { answer: answer.map(JsonText::of).map_err(str::to_owned), usage }
}

fn wishes(waits: &WaitsFor) -> Vec<Wish> {
    let WaitsFor::Children(Payload::Inline(wishes)) = waits else { panic!("{waits:?}") };
    serde_json::from_str(wishes.as_str()).unwrap()
}

fn suspended(end: AttemptEnd) -> Vec<Wish> {
    match end {
        AttemptEnd::Suspended { waits_for, .. } => wishes(&waits_for),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_program_that_asks_goes_on_with_the_answer_and_ends() {
    let world = World::new(&[&program("llm [\"look at [S2]\"]\nagain")]);
    assert_eq!(suspended(world.attempt(vec![]).await), [Wish::Prompt("look at [S2]".into())]);
    let end = world.attempt(vec![answered(Ok("it is blue [S2]"))]).await;
    let AttemptEnd::Finished { output, usage } = end else { panic!("{end:?}") };
    let digest = |index: usize| Digest::of(world.call.sources[index].output.as_str().as_bytes());
    let source = |index: usize, cited: bool| {
        json!({
            "mark": format!("S{}", index + 1), "task": format!("items[{index}]"), "title": format!("item {index}"),
            "digest": digest(index), "cited": cited,
        })
    };
    let expected = json!({
        "result": "it is blue [S2]", "strategy": "rlm", "sources": [source(0, false), source(1, true)],
        "missing": [], "rounds": 1, "calls": 2,
        "usage": {"calls": 2, "input_tokens": 110, "output_tokens": 5, "cost_usd": 0.0}, "notes": [],
    });
    assert_eq!(output.value(), expected);
    // What the first attempt used was on its page, and the second one asked nobody.
    assert_eq!((usage.calls, world.book.usage.lock().unwrap().calls), (0, 1));
    assert_eq!(world.asked().len(), 1);
}

#[tokio::test]
async fn the_model_sees_the_question_the_guide_and_a_description() {
    let world = World::new(&["Hm.", &program("print one\nget [\"S1\"]\nshow"), &program("final [\"x\"]")]);
    assert_eq!(world.finish("").await.unwrap()["result"], json!("x"));
    let asked = world.asked();
    let roles: Vec<Role> = asked[2].iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::User, Role::Assistant, Role::User]);
    let system = &asked[0][0].text;
    assert!(system.starts_with("You are thorough.") && system.ends_with("(the guide)"), "{system}");
    assert!(asked[0][1].text.starts_with("Which is it?\n\n## OUTPUTS\n\n2 outputs, 27 characters"));
    assert!(asked[1][3].text.contains("no program") && asked[1][3].text.contains("Programs left: 2."));
    assert!(asked[2][5].text.contains("oneValue(String(\"the first one\"))"), "{}", asked[2][5].text);
    assert!(asked[2][5].text.contains("The next program must call final()."));
}

#[tokio::test]
async fn running_out_of_turns_is_a_failure() {
    let world = World::new(&["Nothing.", &program("print no"), &program("print no")]);
    let failure = world.finish("").await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("rlm_turns")));
    assert_eq!(world.asked().len(), 3);
}

#[tokio::test]
async fn many_questions_are_asked_at_once_and_what_fails_is_a_value() {
    let world = World::new(&[&program("llm_map [[\"a\", \"b\"]]\nagain")]);
    let asked = suspended(world.attempt(vec![]).await);
    assert_eq!(asked, [Wish::Prompt("a".into()), Wish::Prompt("b".into())]);
    let end = world.attempt(vec![answered(Ok("A")), answered(Err("too busy"))]).await;
    let AttemptEnd::Finished { output, .. } = end else { panic!("{end:?}") };
    assert_eq!(output.value()["result"], json!(["A", {"error": "too busy"}]));
    assert_eq!(output.value()["notes"], json!(["1 of 2 questions of its programs were not answered"]));
}

#[tokio::test]
async fn an_answer_that_did_not_come_is_an_exception() {
    let world = World::new(&[&program("llm [\"a\"]\nshow"), &program("final [1]")]);
    suspended(world.attempt(vec![]).await);
    let end = world.attempt(vec![answered(Err("too busy"))]).await;
    assert!(matches!(end, AttemptEnd::Finished { .. }), "{end:?}");
    let told = &world.asked()[1][3].text;
    assert!(told.contains("Error { kind: Runtime, message: \"no answer came: too busy\" }"), "{told}");
}

#[tokio::test]
async fn more_questions_than_are_left_are_an_exception_and_none_left_a_failure() {
    let many = program(
        "llm_map [[\"1\", \"2\", \"3\", \"4\", \"5\"]]\nshow\nllm_map [[\"1\", \"2\", \"3\", \"4\"]]",
    );
    let world = World::new(&[&many, &program("llm [\"5\"]")]);
    let failure = world.finish("yes").await.unwrap_err();
    assert_eq!(failure.reason.as_deref(), Some("rlm_calls"));
    assert!(world.asked()[1][3].text.contains("llm_map(): 5 model calls, and 4 are left"));
}

#[tokio::test]
async fn states_that_cannot_be_read_are_replaced_by_running_again() {
    for forgets in [false, true] {
        let replies = [program("llm [\"a\"]\nprint first"), program("show\nllm [\"b\"]\nllm [\"c\"]\nagain")];
        let mut world = World::new(&[&replies[0], &replies[1]]);
        world.programs = Arc::new(Toy { forgets, ..Toy::default() });
        assert_eq!(world.finish("yes").await.unwrap()["result"], json!("yes"), "forgets: {forgets}");
        assert_eq!(world.asked().len(), 2);
    }
}

#[tokio::test]
async fn what_was_printed_before_and_after_an_answer_is_told_together() {
    for forgets in [false, true] {
        let mut world =
            World::new(&[&program("print before \nllm [\"a\"]\nprint after"), &program("final [1]")]);
        world.programs = Arc::new(Toy { forgets, ..Toy::default() });
        world.finish("yes").await.unwrap();
        let told = world.asked()[1][3].text.clone();
        assert!(told.contains("It printed 12 characters:\nbefore after\n"), "{told}");
    }
}

#[tokio::test]
async fn a_crash_before_the_suspension_is_on_disk_asks_the_same_again() {
    let world = World::new(&[&program("llm [\"a\"]\nagain")]);
    let first = suspended(world.attempt(vec![]).await);
    // The page with the saved program was written, the end of the attempt was not.
    world.book.pages.lock().unwrap().pop();
    assert_eq!(suspended(world.attempt(vec![]).await), first);
    assert_eq!(world.asked().len(), 1);
    let end = world.attempt(vec![answered(Ok("yes"))]).await;
    let AttemptEnd::Finished { output, .. } = end else { panic!("{end:?}") };
    assert_eq!(output.value()["usage"]["calls"], json!(2));
}

#[tokio::test]
async fn an_attempt_after_a_failure_goes_on_behind_the_last_turn_with_its_variables() {
    let world = World::new(&[&program("get [\"S2\"]")]);
    world.model.replies.lock().unwrap().push_back(Err(Failure::new(Class::Transient, "lost")));
    let end = world.attempt(vec![]).await;
    assert!(
        matches!(&end, AttemptEnd::Failed { failure, .. } if failure.class == Class::Transient),
        "{end:?}"
    );
    let more = Reply::said(program("again"), Finish::Stop, Usage::default(), "m");
    world.model.replies.lock().unwrap().push_back(Ok(more));
    assert_eq!(world.finish("").await.unwrap()["result"], json!("the second one"));
    assert_eq!(world.asked().len(), 3);
}

#[tokio::test]
async fn a_wrong_program_is_told_and_its_variables_stay() {
    let world = World::new(&[&program("get [\"S1\"]\nend badly"), &program("again")]);
    assert_eq!(world.finish("").await.unwrap()["result"], json!("the first one"));
    let told = world.asked()[1][3].text.clone();
    assert!(told.contains("NameError: badly\nhint: ask") && told.contains("still there"), "{told}");
    assert_eq!(world.programs.started.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_program_that_is_ended_loses_its_variables_and_two_in_a_row_are_a_failure() {
    let world = World::new(&[&program("end memory"), &program("print fine"), &program("final [1]")]);
    let report = world.finish("").await.unwrap();
    assert_eq!(report["notes"], json!(["1 of its programs were ended for what they used"]));
    assert_eq!(world.programs.started.load(Ordering::SeqCst), 2);
    let world = World::new(&[&program("end memory"), &program("end memory")]);
    assert_eq!(world.finish("").await.unwrap_err().reason.as_deref(), Some("rlm_memory"));
    let world = World::new(&[&program("end died"), &program("end died")]);
    assert_eq!(world.finish("").await.unwrap_err().reason.as_deref(), Some("rlm_died"));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_all_programs_is_bounded_without_what_they_wait_for() {
    let world = World::new(&[&program("take 12000\nllm [\"a\"]\ntake 9000\nprint x"), &program("final [1]")]);
    suspended(world.attempt(vec![]).await);
    tokio::time::advance(Duration::from_secs(600)).await;
    let end = world.attempt(vec![answered(Ok("yes"))]).await;
    let AttemptEnd::Failed { failure, .. } = end else { panic!("{end:?}") };
    assert_eq!(failure.reason.as_deref(), Some("rlm_time"));
    let world = World::new(&[&program("take 12000\nllm [\"a\"]\ntake 7000\nprint x"), &program("final [1]")]);
    assert_eq!(world.finish("yes").await.unwrap()["result"], json!(1));
}

#[tokio::test]
async fn a_result_must_fit_the_declared_shape_and_be_something() {
    let replies =
        [program("final [\"\"]"), program("final [{\"n\": \"one\"}]"), program("final [{\"n\": 1}]")];
    let mut world = World::new(&[&replies[0], &replies[1], &replies[2]]);
    let settings = Arc::make_mut(&mut world.call.agent.settings);
    settings.schema = Some(serde_json::from_value(json!({"n": {"type": "number"}})).unwrap());
    settings.raw = false;
    assert_eq!(world.finish("").await.unwrap()["result"], json!({"n": 1}));
    let asked = world.asked();
    assert!(asked[0][0].text.contains("must fit this JSON Schema"));
    assert!(asked[1][3].text.contains("it is empty"), "{}", asked[1][3].text);
    assert!(asked[2][5].text.contains("`n`: expected number"), "{}", asked[2][5].text);
}

#[tokio::test]
async fn a_program_below_another_gives_its_value_alone() {
    let mut world = World::new(&[&program("final [{\"a\": 1}]")]);
    world.call.depth = 1;
    assert_eq!(world.finish("").await.unwrap(), json!({"result": {"a": 1}}));
}

#[tokio::test]
async fn another_question_is_worked_on_anew() {
    let mut world = World::new(&[&program("llm [\"a\"]\nagain"), &program("final [\"new\"]")]);
    suspended(world.attempt(vec![]).await);
    world.call.agent.prompt = "And now?".into();
    assert_eq!(world.finish("").await.unwrap()["result"], json!("new"));
}

#[tokio::test]
async fn pages_can_be_read_as_those_of_a_conversation() {
    let world = World::new(&[&program("llm [\"a\"]\nprint x"), &program("final [1]")]);
    world.finish("yes").await.unwrap();
    let accounts = crate::Account::read(&world.book.pages.lock().unwrap()).unwrap();
    let roles: Vec<Role> = accounts[0].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
}

fn judged(replies: &[&str], validator: Option<u32>, criteria: Option<u32>) -> World {
    let mut world = World::new(replies);
    let settings = Arc::make_mut(&mut world.call.agent.settings);
    let words = || "it names a number".to_owned();
    settings.validator =
        validator.map(|max_retries| Validator { criteria: words(), model: None, max_retries });
    settings.success_criteria =
        criteria.map(|max_retries| SuccessCriteria { criteria: words(), model: None, max_retries });
    world
}

const NO: &str = "{\"passed\": false, \"issues\": [\"no number\"]}";
const YES: &str = "{\"passed\": true, \"issues\": []}";

#[tokio::test]
async fn a_result_that_misses_the_criteria_is_sent_back_to_whoever_writes_programs() {
    let (first, second) = (program("final [\"some\"]"), program("final [\"seven\"]"));
    let world = judged(&[&first, NO, &second, YES], None, Some(1));
    assert_eq!(world.finish("").await.unwrap()["result"], "seven");
    let asked = world.asked();
    assert!(asked[1][1].text.contains("some"), "the result is judged: {:?}", asked[1]);
    assert!(asked[2].last().unwrap().text.contains("no number"), "the issues are told: {:?}", asked[2]);
}

#[tokio::test]
async fn a_result_that_never_meets_the_criteria_is_a_failure() {
    let only = program("final [\"some\"]");
    let failure = judged(&[&only, NO], None, Some(0)).finish("").await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::InvalidOutput, Some("criteria_unmet")));
    let failure = judged(&[&only, "who knows"], None, Some(3)).finish("").await.unwrap_err();
    assert_eq!(failure.reason.as_deref(), Some("no_verdict"));
}

#[tokio::test]
async fn a_validator_is_advice_on_results_of_programs_too() {
    let (first, second) = (program("final [\"some\"]"), program("final [\"several\"]"));
    // The second one counts ungraded: nothing would follow from a verdict.
    let world = judged(&[&first, NO, &second], Some(1), None);
    assert_eq!(world.finish("").await.unwrap()["result"], "several");
    let world = judged(&[&first, "who knows"], Some(1), None);
    assert_eq!(world.finish("").await.unwrap()["result"], "some");
}

#[tokio::test]
async fn a_result_below_another_is_not_judged() {
    let mut world = judged(&[&program("final [\"some\"]")], Some(1), Some(1));
    world.call.depth = 1;
    assert_eq!(world.finish("").await.unwrap()["result"], "some");
}
