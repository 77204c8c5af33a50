use super::*;
use convoke_model::{AgentSettings, ProviderSettings, Usage};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

fn call(schema: Option<Value>, validator: Option<Validator>, parse_recovery: u32) -> AgentCall {
    let settings = AgentSettings {
        provider: ProviderSettings::default(),
        schema: schema.map(|schema| serde_json::from_value(schema).unwrap()),
        raw: false,
        temperature: None,
        max_tokens: None,
        request_timeout: Duration::from_secs(600),
        session_timeout: None,
        parse_recovery,
        validator,
        tools: None,
        servers: Arc::default(),
        capabilities: Default::default(),
        success_criteria: None,
        repair_model: None,
        fallback: None,
        pricing: Arc::default(),
    };
    AgentCall {
        settings: Arc::new(settings),
        model: "m".into(),
        system: Some("Be brief.".into()),
        prompt: "How many?".into(),
        reasoning_effort: None,
        working_dir: None,
    }
}

fn number() -> Option<Value> {
    Some(json!({"n": {"type": "number"}}))
}

fn grader(max_retries: u32) -> Option<Validator> {
    Some(Validator { criteria: "must rhyme".into(), model: Some("judge".into()), max_retries })
}

fn said(text: &str) -> Result<Reply, Failure> {
    Ok(Reply::said(text, Finish::Stop, Usage::default(), "m"))
}

fn asked<'a>(conversation: &'a Conversation, call: &'a AgentCall) -> Question<'a> {
    match conversation.next(call) {
        Next::Ask(question) => question,
        Next::Done(ending) => panic!("ended: {ending:?}"),
    }
}

fn ended(conversation: &Conversation, call: &AgentCall) -> Ending {
    match conversation.next(call) {
        Next::Done(ending) => ending.clone(),
        Next::Ask(question) => panic!("asks: {question:?}"),
    }
}

fn output(text: &str) -> Ending {
    Ending::Output(JsonText::parse(text.into()).unwrap())
}

#[test]
fn the_prompt_is_sent_as_it_is() {
    let call = call(number(), None, 0);
    let conversation = Conversation::new(&call);
    let question = asked(&conversation, &call);
    assert_eq!(question.messages[1], Message::new(Role::User, "How many?"));
    assert!(question.messages[0].text.starts_with("Be brief.\n\n"));
    assert_eq!((question.model, question.purpose, question.call), ("m", Purpose::Answer, 1));
}

#[test]
fn an_answer_that_fits_ends_it() {
    let call = call(number(), None, 5);
    let mut conversation = Conversation::new(&call);
    assert_eq!(conversation.feed(&call, "a", said("{\"n\": 3}")), None);
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}

#[test]
fn a_misfit_is_sent_back_with_the_exact_violation() {
    let call = call(number(), None, 1);
    let mut conversation = Conversation::new(&call);
    conversation.feed(&call, "a", said("{\"n\": \"three\"}"));
    let question = asked(&conversation, &call);
    assert_eq!(question.messages.len(), 4);
    assert_eq!(question.messages[1].text, "How many?");
    assert_eq!(question.messages[2], Message::new(Role::Assistant, "{\"n\": \"three\"}"));
    assert!(question.messages[3].text.contains("field `n`: expected number, got string \"three\""));
    conversation.feed(&call, "a", said("{\"n\": 3}"));
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}

#[test]
fn it_gives_up_with_the_last_reason_and_all_answers() {
    let call = call(number(), None, 1);
    let mut conversation = Conversation::new(&call);
    conversation.feed(&call, "a", said("about three"));
    conversation.feed(&call, "a", said("[3]"));
    let Ending::Failed(failure) = ended(&conversation, &call) else { panic!("no failure") };
    assert_eq!(failure.class, Class::InvalidOutput);
    assert_eq!(failure.reason.as_deref(), Some("wrong_type"));
    assert_eq!(
        failure.message,
        "step `a`: the answer does not fit (asked 2 times): expected a JSON object, got array of 1"
    );
    assert_eq!(conversation.rejected(), ["about three", "[3]"]);
}

#[test]
fn a_refusal_is_not_argued_with() {
    let call = call(None, None, 5);
    let mut conversation = Conversation::new(&call);
    let reply = Reply { finish: Finish::Refusal, ..said("I cannot help").unwrap() };
    conversation.feed(&call, "a", Ok(reply));
    let Ending::Failed(failure) = ended(&conversation, &call) else { panic!("no failure") };
    assert_eq!(failure.class, Class::Refused);
    assert_eq!(failure.message, "step `a`: the model declined to answer: I cannot help");
}

#[test]
fn a_passing_grade_keeps_the_answer() {
    let call = call(number(), grader(1), 0);
    let mut conversation = Conversation::new(&call);
    conversation.feed(&call, "a", said("{\"n\": 3}"));
    let question = asked(&conversation, &call);
    assert_eq!((question.model, question.purpose, question.call), ("judge", Purpose::Grade, 2));
    assert!(question.messages[0].text.contains("must rhyme"));
    assert!(question.messages[1].text.contains("How many?"));
    assert_eq!(conversation.feed(&call, "a", said("{\"passed\": true, \"issues\": []}")), None);
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}

#[test]
fn a_rejected_answer_is_asked_for_once_more_and_not_graded_again() {
    let call = call(number(), grader(1), 0);
    let mut conversation = Conversation::new(&call);
    conversation.feed(&call, "a", said("{\"n\": 3}"));
    let note = conversation.feed(&call, "a", said("{\"passed\": false, \"issues\": [\"dull\"]}")).unwrap();
    assert_eq!(note.code, "validation_failed");
    let question = asked(&conversation, &call);
    assert_eq!(question.messages.len(), 2);
    assert!(question.messages[1].text.starts_with("How many?\n"));
    assert!(question.messages[1].text.contains("- dull\n"));
    conversation.feed(&call, "a", said("{\"n\": 4}"));
    assert_eq!(ended(&conversation, &call), output("{\"n\": 4}"));
}

#[test]
fn without_retries_a_rejected_answer_is_kept_and_noted() {
    let call = call(number(), grader(0), 0);
    let mut conversation = Conversation::new(&call);
    conversation.feed(&call, "a", said("{\"n\": 3}"));
    let note = conversation.feed(&call, "a", said("{\"passed\": false}")).unwrap();
    assert_eq!(note.code, "validation_failed");
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}

#[test]
fn a_grader_that_fails_lets_the_answer_pass() {
    let call = call(number(), grader(1), 0);
    for broken in [Err(Failure::new(Class::Fatal, "400")), said("looks fine to me")] {
        let mut conversation = Conversation::new(&call);
        conversation.feed(&call, "a", said("{\"n\": 3}"));
        assert_eq!(conversation.feed(&call, "a", broken).unwrap().code, "validator_failed");
        assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
    }
}

#[test]
fn it_goes_on_from_its_stored_state() {
    let call = call(number(), grader(1), 2);
    let mut conversation = Conversation::new(&call);
    for text in ["prose", "{\"n\": 1}", "{\"passed\": false, \"issues\": [\"x\"]}", "{\"n\": 2}"] {
        let stored = serde_json::to_string(&conversation).unwrap();
        conversation = serde_json::from_str(&stored).unwrap();
        conversation.feed(&call, "a", said(text));
    }
    assert_eq!(ended(&conversation, &call), output("{\"n\": 2}"));
}
