use super::*;
use crate::Scripted;
use convoke_agent::redaction::{Scrubber, encodings_of};
use convoke_agent::{Message, NoReply, Provider, Providers, Purpose, Reply, Request, Role, Silent, Timeouts};
use convoke_model::{
    Class, Event, Failure, JsonText, Payload, ProviderSettings, Stamped, TaskId, Timestamp, Usage,
};
use futures::FutureExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const CANARY: &str = "canary/1234567890+abcdef";

/// What a request is made of.
struct Asked {
    task: TaskId,
    attempt: u32,
    messages: Vec<Message>,
}

fn asked(task: &str, prompt: &str) -> Asked {
    Asked { task: TaskId(task.into()), attempt: 1, messages: vec![Message::new(Role::User, prompt)] }
}

impl Asked {
    fn request(&self) -> Request<'_> {
        Request {
            model: "m",
            meant: "m",
            messages: &self.messages,
            schema: None,
            native_schema: false,
            tools: &[],
            temperature: Some(0.5),
            max_tokens: None,
            reasoning_effort: None,
            left_out: &[],
            timeouts: Timeouts::within(Duration::from_secs(600)),
            answered: None,
            working_dir: None,
            contract: None,
            secrets: &[],
            mask: None,
            trace: None,
            step: &self.task.0,
            purpose: Purpose::Answer,
            task: &self.task,
            attempt: self.attempt,
            cut_off: 0,
            call: 1,
            seed: 7,
        }
    }
}

/// Scripted providers with these replies.
struct Script(&'static str);

impl Providers for Script {
    fn get(&self, _settings: &ProviderSettings) -> Result<Arc<dyn Provider>, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("replies.yaml");
        std::fs::write(&path, self.0).unwrap();
        let file = Some(path.display().to_string());
        Ok(Arc::new(Scripted::new(&ProviderSettings { file, ..ProviderSettings::default() })?))
    }
}

fn scrubber() -> Scrubber {
    Scrubber::new([CANARY.to_owned()])
}

fn recorder(folder: &Path, replies: &'static str) -> Arc<dyn Provider> {
    let tape = Tape::resume(folder).unwrap();
    Recording::new(Arc::new(Script(replies)), tape, scrubber()).get(&ProviderSettings::default()).unwrap()
}

async fn tell(provider: &dyn Provider, asked: &Asked) -> Result<Reply, Failure> {
    provider.complete(&asked.request(), &Silent).await.map_err(NoReply::into_failure)
}

fn text(folder: &Path) -> String {
    std::fs::read_to_string(folder.join(CASSETTE_FILE)).unwrap()
}

fn replay(folder: &Path) -> (Replay, Arc<dyn Provider>) {
    let replay = Replay::load(folder, scrubber()).unwrap();
    let settings = ProviderSettings { name: "openai".into(), ..ProviderSettings::default() };
    let provider = replay.get(&settings).unwrap();
    (replay, provider)
}

fn stamped(event: Event) -> Stamped {
    Stamped { seq: 1, at: Timestamp(0), event }
}

fn started(task: &str) -> Stamped {
    stamped(Event::AttemptStarted { task: TaskId(task.into()), attempt: 1, lease: None })
}

fn finished(task: &str) -> Stamped {
    let output = Payload::Inline(JsonText::of(&1));
    let usage = Usage::default();
    stamped(Event::AttemptFinished { task: TaskId(task.into()), attempt: 1, output, usage })
}

#[tokio::test]
async fn what_was_recorded_is_played_back() {
    let dir = tempfile::tempdir().unwrap();
    let provider = recorder(dir.path(), "{a: [one, {status: 429, retry_after: 2}], b: [{n: 2}]}");
    let mut said = Vec::new();
    for who in ["a", "b", "a"] {
        said.push(tell(&*provider, &asked(who, "Say it")).await);
    }
    let (replay, provider) = replay(dir.path());
    replay.observe(&[started("a"), started("b")]);
    for (who, expected) in ["a", "b", "a"].into_iter().zip(&said) {
        assert_eq!(&tell(&*provider, &asked(who, "Say it")).await, expected);
        replay.observe(&[finished(who), started(who)]);
    }
    assert_eq!(said[2].as_ref().unwrap_err().class, Class::RateLimit);
}

#[tokio::test]
async fn a_line_is_there_as_soon_as_its_call_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let provider = recorder(dir.path(), "{a: one}");
    assert_eq!(text(dir.path()), "{\"cassette\":1}\n");
    tell(&*provider, &asked("a", "Say it")).await.unwrap();
    let expected = concat!(
        "{\"cassette\":1}\n",
        "{\"step\":\"a\",\"task\":\"a\",\"provider\":\"scripted\",",
        "\"request\":{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"text\":\"Say it\"}],\"temperature\":0.5},",
        "\"outcome\":{\"reply\":{\"text\":\"one\",\"finish\":\"stop\",\"model\":\"m\",",
        "\"usage\":{\"calls\":1,\"input_tokens\":2,\"output_tokens\":1,\"estimated\":true}}}}\n"
    );
    assert_eq!(text(dir.path()), expected);
}

#[tokio::test]
async fn no_form_of_a_secret_reaches_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let forms = encodings_of(CANARY);
    let prompt = forms.join(" and ");
    let provider =
        recorder(dir.path(), "{a: [{fail: permission, message: the key canary/1234567890+abcdef is wrong}]}");
    tell(&*provider, &asked("a", &prompt)).await.unwrap_err();
    let (written, key) = (text(dir.path()), &CANARY[..12]);
    assert!(forms.iter().all(|form| !written.contains(form)) && !written.contains(key), "{written}");
    // A run whose secret is another one asks the same.
    let other = Scrubber::new(["another/0987654321+fedcba".to_owned()]);
    let replay = Replay::load(dir.path(), other).unwrap();
    replay.observe(&[started("a")]);
    let provider = replay.get(&ProviderSettings::default()).unwrap();
    let other_prompt = encodings_of("another/0987654321+fedcba").join(" and ");
    let failure = tell(&*provider, &asked("a", &other_prompt)).await.unwrap_err();
    assert_eq!(failure.message, "the key [secret] is wrong");
}

#[tokio::test]
async fn answers_wait_for_those_recorded_before_them() {
    let dir = tempfile::tempdir().unwrap();
    let provider = recorder(dir.path(), "{a: one, b: two}");
    tell(&*provider, &asked("b", "B?")).await.unwrap();
    tell(&*provider, &asked("a", "A?")).await.unwrap();
    let (replay, provider) = replay(dir.path());
    replay.observe(&[started("a"), started("b")]);
    let (a, b) = (asked("a", "A?"), asked("b", "B?"));
    let mut first = std::pin::pin!(tell(&*provider, &a));
    assert!(first.as_mut().now_or_never().is_none());
    assert_eq!(tell(&*provider, &b).await.unwrap().text, "two");
    assert!(first.as_mut().now_or_never().is_none(), "nobody has written `b` down yet");
    replay.observe(&[finished("b")]);
    assert_eq!(first.await.unwrap().text, "one");
}

#[tokio::test]
async fn a_request_that_was_not_recorded_names_the_nearest() {
    let dir = tempfile::tempdir().unwrap();
    let provider = recorder(dir.path(), "{a: one, b: two}");
    tell(&*provider, &asked("b", "Write about cats")).await.unwrap();
    tell(&*provider, &asked("a", "Write about dogs")).await.unwrap();
    let (_, provider) = replay(dir.path());
    let failure = tell(&*provider, &asked("a", "Write about cows")).await.unwrap_err();
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("not_on_cassette")));
    let expected = "the nearest is call 2 of step `a`, which differs at messages[0].text: \
                    recorded \"Write about dogs\", asked \"Write about cows\"";
    assert!(failure.message.ends_with(expected), "{}", failure.message);
}

#[tokio::test]
async fn a_request_that_is_asked_too_often_says_so() {
    let dir = tempfile::tempdir().unwrap();
    tell(&*recorder(dir.path(), "{a: one}"), &asked("a", "A?")).await.unwrap();
    let (replay, provider) = replay(dir.path());
    replay.observe(&[started("a")]);
    tell(&*provider, &asked("a", "A?")).await.unwrap();
    let failure = tell(&*provider, &asked("a", "A?")).await.unwrap_err();
    assert!(failure.message.contains("it was recorded once and is asked for again"), "{}", failure.message);
}

#[tokio::test]
async fn a_dropped_call_is_recorded_and_is_dropped_again() {
    let dir = tempfile::tempdir().unwrap();
    let provider = recorder(dir.path(), "{slow: {say: late, delay_ms: 60000}, a: one}");
    let slow = asked("slow", "S?");
    assert!(tell(&*provider, &slow).now_or_never().is_none());
    tell(&*provider, &asked("a", "A?")).await.unwrap();
    assert!(text(dir.path()).contains("\"outcome\":\"cut_off\""));
    let (replay, provider) = replay(dir.path());
    replay.observe(&[started("slow"), started("a")]);
    let mut waiting = std::pin::pin!(tell(&*provider, &slow));
    assert!(waiting.as_mut().now_or_never().is_none());
    assert_eq!(tell(&*provider, &asked("a", "A?")).await.unwrap().text, "one");
    assert!(waiting.as_mut().now_or_never().is_none());
    replay.observe(&[finished("a")]);
    assert_eq!(waiting.await.unwrap_err().reason.as_deref(), Some("cut_off"));
}

#[tokio::test]
async fn a_torn_line_is_ignored_and_written_over() {
    let dir = tempfile::tempdir().unwrap();
    tell(&*recorder(dir.path(), "{a: one}"), &asked("a", "A?")).await.unwrap();
    let whole = text(dir.path());
    std::fs::write(dir.path().join(CASSETTE_FILE), format!("{whole}{{\"step\":\"b\",\"ta")).unwrap();
    assert_eq!(file::load(dir.path()).unwrap().calls.len(), 1);
    tell(&*recorder(dir.path(), "{a: one}"), &asked("a", "A?")).await.unwrap();
    assert_eq!(file::load(dir.path()).unwrap().calls.len(), 2);
}

#[test]
fn what_cannot_be_played_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let why = |folder: &Path| Replay::load(folder, Scrubber::default()).err().unwrap();
    assert_eq!(why(dir.path()).reason.as_deref(), Some("no_cassette"));
    for (content, expected) in [
        ("{\"cassette\":2}\n", "it has version 2, and this program reads version 1"),
        ("hello\n", "its first line does not say"),
        ("{\"cassette\":1}\n\n{\"step\": 1}\n", "line 3: "),
    ] {
        std::fs::write(dir.path().join(CASSETTE_FILE), content).unwrap();
        assert!(why(dir.path()).message.contains(expected), "{}", why(dir.path()).message);
    }
    assert_eq!(Tape::create(dir.path()).unwrap_err().reason.as_deref(), Some("cassette_exists"));
}
