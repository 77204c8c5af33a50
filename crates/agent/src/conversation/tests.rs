use super::*;
use crate::{Purpose, Role, ToolResult};
use convoke_model::{
    AgentSettings, Ask, Class, Compaction, ProviderSettings, StuckAction, StuckLoop, SuccessCriteria, Usage,
    Validator,
};
use serde_json::Value;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

mod guidance;
mod resuming;
mod tools;

static NO_TOOLS: LazyLock<Offer> = LazyLock::new(Offer::default);

fn about(call: &AgentCall) -> Premise<'_> {
    Premise { call, step: "a", offer: &NO_TOOLS, contract: None, proof: None }
}

fn with(mut call: AgentCall, change: impl FnOnce(&mut AgentSettings)) -> AgentCall {
    change(Arc::make_mut(&mut call.settings));
    call
}

fn call(schema: Option<Value>, validator: Option<Validator>, parse_recovery: u32) -> AgentCall {
    let settings = AgentSettings {
        provider: ProviderSettings::default(),
        schema: schema.map(|schema| serde_json::from_value(schema).unwrap()),
        raw: false,
        temperature: None,
        max_tokens: None,
        request_timeout: Duration::from_secs(600),
        phase_timeouts: Default::default(),
        session_timeout: None,
        parse_recovery,
        validator,
        tools: None,
        secrets: Vec::new(),
        show_tools: false,
        approvals: Default::default(),
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
        kept: Vec::new(),
    }
}

#[test]
fn each_agent_is_told_its_own_shape_however_many_there_were() {
    // The same fields in two orders are two shapes.
    let shapes = [
        json!({"a": {"type": "number"}, "b": {"type": "string"}}),
        json!({"b": {"type": "string"}, "a": {"type": "number"}}),
    ];
    let calls: Vec<_> = (0..20).map(|n| call(Some(shapes[n % 2].clone()), None, 1)).collect();
    for _ in 0..2 {
        for call in &calls {
            let opening = &opening(call, "go")[0].text;
            let shape = call.settings.schema.as_ref().unwrap().json_schema().to_string();
            assert!(opening.ends_with(&shape), "{opening}");
        }
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
    match conversation.next(&about(call)) {
        Next::Ask(question) => question,
        other => panic!("no question: {other:?}"),
    }
}

fn ended(conversation: &Conversation, call: &AgentCall) -> Ending {
    match conversation.next(&about(call)) {
        Next::Done(ending) => ending.clone(),
        other => panic!("goes on: {other:?}"),
    }
}

fn failed(conversation: &Conversation, call: &AgentCall) -> Failure {
    match ended(conversation, call) {
        Ending::Failed(failure) => failure,
        Ending::Output(output) => panic!("no failure: {output:?}"),
    }
}

/// Feeds a reply and gives the word of the note that follows, if one does.
fn feed(
    conversation: &mut Conversation,
    call: &AgentCall,
    reply: Result<Reply, Failure>,
) -> Option<&'static str> {
    conversation.feed(&about(call), reply);
    let notes = conversation.take_notes();
    assert!(notes.len() <= 1, "{notes:?}");
    notes.first().map(|note| note.code)
}

fn output(text: &str) -> Ending {
    Ending::Output(JsonText::parse(text.into()).unwrap())
}

#[test]
fn the_prompt_is_sent_as_it_is() {
    let call = call(number(), None, 0);
    let conversation = Conversation::new(&about(&call));
    let question = asked(&conversation, &call);
    assert_eq!(question.messages[1], Message::new(Role::User, "How many?"));
    assert!(question.messages[0].text.starts_with("Be brief.\n\n"));
    assert_eq!((question.model, question.purpose, question.call), ("m", Purpose::Answer, 1));
}

#[test]
fn an_answer_that_fits_ends_it() {
    let call = call(number(), None, 5);
    let mut conversation = Conversation::new(&about(&call));
    assert_eq!(feed(&mut conversation, &call, said("{\"n\": 3}")), None);
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}

#[test]
fn a_misfit_is_sent_back_with_the_exact_violation() {
    let call = call(number(), None, 1);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("{\"n\": \"three\"}"));
    let question = asked(&conversation, &call);
    assert_eq!(question.messages.len(), 4);
    assert_eq!(question.messages[1].text, "How many?");
    assert_eq!(question.messages[2], Message::new(Role::Assistant, "{\"n\": \"three\"}"));
    assert!(question.messages[3].text.contains("field `n`: expected number, got string \"three\""));
    feed(&mut conversation, &call, said("{\"n\": 3}"));
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}

#[test]
fn it_gives_up_with_the_last_reason_and_all_answers() {
    let call = call(number(), None, 1);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("about three"));
    feed(&mut conversation, &call, said("[3]"));
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
    let mut conversation = Conversation::new(&about(&call));
    let reply = Reply { finish: Finish::Refusal, ..said("I cannot help").unwrap() };
    feed(&mut conversation, &call, Ok(reply));
    let Ending::Failed(failure) = ended(&conversation, &call) else { panic!("no failure") };
    assert_eq!(failure.class, Class::Refused);
    assert_eq!(failure.message, "step `a`: the model declined to answer: I cannot help");
}

#[test]
fn a_passing_grade_keeps_the_answer() {
    let call = call(number(), grader(1), 0);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("{\"n\": 3}"));
    let question = asked(&conversation, &call);
    assert_eq!((question.model, question.purpose, question.call), ("judge", Purpose::Grade, 2));
    assert!(question.messages[0].text.contains("must rhyme"));
    assert!(question.messages[1].text.contains("How many?"));
    assert_eq!(feed(&mut conversation, &call, said("{\"passed\": true, \"issues\": []}")), None);
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}

#[test]
fn a_rejected_answer_is_asked_for_once_more_and_not_graded_again() {
    let call = call(number(), grader(1), 0);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("{\"n\": 3}"));
    let note = feed(&mut conversation, &call, said("{\"passed\": false, \"issues\": [\"dull\"]}")).unwrap();
    assert_eq!(note, "validation_failed");
    let question = asked(&conversation, &call);
    assert_eq!(question.messages.len(), 2);
    assert!(question.messages[1].text.starts_with("How many?\n"));
    assert!(question.messages[1].text.contains("- dull\n"));
    feed(&mut conversation, &call, said("{\"n\": 4}"));
    assert_eq!(ended(&conversation, &call), output("{\"n\": 4}"));
}

#[test]
fn without_retries_a_rejected_answer_is_kept_and_noted() {
    let call = call(number(), grader(0), 0);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("{\"n\": 3}"));
    let note = feed(&mut conversation, &call, said("{\"passed\": false}")).unwrap();
    assert_eq!(note, "validation_failed");
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}

#[test]
fn a_grader_that_fails_lets_the_answer_pass() {
    let call = call(number(), grader(1), 0);
    for broken in [Err(Failure::new(Class::Fatal, "400")), said("looks fine to me")] {
        let mut conversation = Conversation::new(&about(&call));
        feed(&mut conversation, &call, said("{\"n\": 3}"));
        assert_eq!(feed(&mut conversation, &call, broken).unwrap(), "validator_failed");
        assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
    }
}

#[test]
fn it_goes_on_from_its_stored_state() {
    let call = call(number(), grader(1), 2);
    let mut conversation = Conversation::new(&about(&call));
    let mut pieces = Vec::new();
    for text in ["prose", "{\"n\": 1}", "{\"passed\": false, \"issues\": [\"x\"]}", "{\"n\": 2}"] {
        conversation = Conversation::resume(&about(&call), &[], &pieces).unwrap();
        feed(&mut conversation, &call, said(text));
        pieces.push(conversation.take_delta(&about(&call)).piece);
    }
    assert_eq!(ended(&conversation, &call), output("{\"n\": 2}"));
}

#[test]
fn a_second_cut_ends_it_and_so_does_a_spent_budget() {
    let cut = |text: &str| Ok(Reply { finish: Finish::Length, ..said(text).unwrap() });
    let call = call(number(), None, 5);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, cut("{\"n\": [1, "));
    feed(&mut conversation, &call, cut("{\"n\": [2, "));
    let failure = failed(&conversation, &call);
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::InvalidOutput, Some("budget")));
    assert_eq!(conversation.rejected().len(), 2);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, cut(""));
    assert_eq!(failed(&conversation, &call).reason.as_deref(), Some("budget"));
}

fn repairing(parse_recovery: u32) -> AgentCall {
    with(call(number(), None, parse_recovery), |settings| settings.repair_model = Some("fixer".into()))
}

#[test]
fn what_cannot_be_used_goes_to_the_repair_model_once() {
    let call = repairing(1);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("about three"));
    feed(&mut conversation, &call, said("it is three"));
    let question = asked(&conversation, &call);
    assert_eq!((question.model, question.purpose, question.call), ("fixer", Purpose::Repair, 3));
    assert!(question.messages[0].text.contains("\"number\""));
    assert!(
        question.messages[1].text.contains("no JSON was found")
            && question.messages[1].text.contains("it is three")
    );
    let mut other = conversation.clone();
    feed(&mut conversation, &call, said("{\"n\": 3}"));
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
    feed(&mut other, &call, said("[3]"));
    assert_eq!(failed(&other, &call).reason.as_deref(), Some("wrong_type"));
    assert_eq!(other.rejected(), ["about three", "it is three", "[3]"]);
}

#[test]
fn a_repair_model_that_fails_gives_way_to_the_first_violation() {
    let call = repairing(0);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("about three"));
    let mut other = conversation.clone();
    assert_eq!(feed(&mut conversation, &call, Err(Failure::new(Class::Fatal, "404"))), Some("repair_failed"));
    assert_eq!(failed(&conversation, &call).reason.as_deref(), Some("malformed"));
    feed(&mut other, &call, Err(Failure::new(Class::RateLimit, "429")));
    assert_eq!(failed(&other, &call).class, Class::RateLimit);
}

#[test]
fn what_was_cut_off_is_not_repaired() {
    let call = repairing(0);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, Ok(Reply { finish: Finish::Length, ..said("{\"n\": ").unwrap() }));
    assert_eq!(failed(&conversation, &call).reason.as_deref(), Some("truncated"));
}

fn title() -> Option<Value> {
    Some(json!({"title": {"type": "string"}}))
}

#[test]
fn a_placeholder_is_told_of_and_counts() {
    let call = call(title(), None, 1);
    let mut conversation = Conversation::new(&about(&call));
    assert_eq!(feed(&mut conversation, &call, said("{\"title\": \"string\"}")), Some("placeholder_answer"));
    assert_eq!(ended(&conversation, &call), output("{\"title\": \"string\"}"));
}

#[test]
fn a_repaired_answer_may_be_a_placeholder_too() {
    let titled = call(Some(json!({"title": {"type": "string"}})), None, 0);
    let repairing = with(titled, |settings| settings.repair_model = Some("fixer".into()));
    let mut conversation = Conversation::new(&about(&repairing));
    feed(&mut conversation, &repairing, said("prose"));
    assert_eq!(asked(&conversation, &repairing).purpose, Purpose::Repair);
    let filler = said("{\"title\": \"string\"}");
    assert_eq!(feed(&mut conversation, &repairing, filler), Some("placeholder_answer"));
    assert_eq!(ended(&conversation, &repairing), output("{\"title\": \"string\"}"));
}

#[test]
fn a_repaired_placeholder_goes_back_to_the_agent_where_the_author_wants_that() {
    let titled = call(Some(json!({"title": {"type": "string"}})), None, 1);
    let repairing = with(titled, |settings| {
        settings.repair_model = Some("fixer".into());
        settings.capabilities.placeholders = convoke_model::Placeholders::Retry;
    });
    let mut conversation = Conversation::new(&about(&repairing));
    for text in ["prose", "more prose", "{\"title\": \"string\"}"] {
        feed(&mut conversation, &repairing, said(text));
    }
    let question = asked(&conversation, &repairing);
    assert_eq!((question.model, question.purpose), ("m", Purpose::Answer));
    assert!(question.messages.last().unwrap().text.contains("field `title` is \"string\", which is filler"));
    feed(&mut conversation, &repairing, said("{\"title\": \"Tea\"}"));
    assert_eq!(ended(&conversation, &repairing), output("{\"title\": \"Tea\"}"));
}

#[test]
fn a_placeholder_is_sent_back_once_where_the_author_wants_that() {
    let again = |settings: &mut AgentSettings| {
        settings.capabilities.placeholders = convoke_model::Placeholders::Retry;
    };
    let call = with(call(title(), None, 1), again);
    let mut conversation = Conversation::new(&about(&call));
    assert_eq!(feed(&mut conversation, &call, said("{\"title\": \"string\"}")), None);
    let question = asked(&conversation, &call);
    assert!(question.messages[3].text.contains("field `title` is \"string\", which is filler"));
    let mut other = conversation.clone();
    assert_eq!(feed(&mut conversation, &call, said("{\"title\": \"...\"}")), Some("placeholder_answer"));
    assert_eq!(ended(&conversation, &call), output("{\"title\": \"...\"}"));
    assert_eq!(feed(&mut other, &call, said("{\"title\": \"Dune\"}")), None);
    assert_eq!(ended(&other, &call), output("{\"title\": \"Dune\"}"));
}

#[test]
fn made_up_answers_are_not_looked_at_so_closely() {
    let call = with(call(title(), None, 1), |settings| settings.provider.name = "scripted".into());
    let mut conversation = Conversation::new(&about(&call));
    assert_eq!(feed(&mut conversation, &call, said("{\"title\": \"title\"}")), None);
    assert_eq!(ended(&conversation, &call), output("{\"title\": \"title\"}"));
}

fn criteria(max_retries: u32) -> AgentCall {
    let required =
        SuccessCriteria { criteria: "must be odd".into(), model: Some("judge".into()), max_retries };
    with(call(number(), None, 0), |settings| settings.success_criteria = Some(required))
}

#[test]
fn an_answer_that_meets_the_criteria_counts() {
    let call = criteria(1);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("{\"n\": 2}"));
    let question = asked(&conversation, &call);
    assert_eq!((question.model, question.purpose), ("judge", Purpose::Verify));
    assert!(question.messages[0].text.contains("must be odd"));
    let note = feed(&mut conversation, &call, said("{\"passed\": false, \"issues\": [\"even\"]}"));
    assert_eq!(note, Some("criteria_unmet"));
    assert!(asked(&conversation, &call).messages[1].text.contains("- even\n"));
    feed(&mut conversation, &call, said("{\"n\": 3}"));
    assert_eq!(asked(&conversation, &call).purpose, Purpose::Verify);
    feed(&mut conversation, &call, said("{\"passed\": true}"));
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}

#[test]
fn criteria_fail_closed() {
    let call = criteria(0);
    let ends = |reply| {
        let mut conversation = Conversation::new(&about(&call));
        feed(&mut conversation, &call, said("{\"n\": 2}"));
        feed(&mut conversation, &call, reply);
        let failure = failed(&conversation, &call);
        (failure.class, failure.reason)
    };
    let rejected = said("{\"passed\": false, \"issues\": [\"even\"]}");
    assert_eq!(ends(rejected), (Class::InvalidOutput, Some("criteria_unmet".into())));
    assert_eq!(ends(said("looks fine")), (Class::InvalidOutput, Some("no_verdict".into())));
    assert_eq!(ends(Err(Failure::new(Class::Capacity, "529"))), (Class::Capacity, None));
}

#[test]
fn an_answer_is_graded_first_and_then_verified() {
    let call = with(criteria(0), |settings| settings.validator = grader(0));
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("{\"n\": 3}"));
    assert_eq!(asked(&conversation, &call).purpose, Purpose::Grade);
    assert_eq!(feed(&mut conversation, &call, said("hm")), Some("validator_failed"));
    assert_eq!(asked(&conversation, &call).purpose, Purpose::Verify);
    feed(&mut conversation, &call, said("{\"passed\": true}"));
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}

#[test]
fn where_no_better_answer_comes_the_rejected_one_counts() {
    let call = call(number(), grader(1), 0);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("{\"n\": 3}"));
    feed(&mut conversation, &call, said("{\"passed\": false, \"issues\": [\"dull\"]}"));
    assert_eq!(feed(&mut conversation, &call, said("prose")), Some("validation_failed"));
    assert_eq!(ended(&conversation, &call), output("{\"n\": 3}"));
}
