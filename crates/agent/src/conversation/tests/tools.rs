//! Turns with tools, and what keeps them within bounds.

use super::*;
use crate::{Tool, ToolSpec};

/// One tool that may be called twice, and one that may not.
pub(super) fn offer() -> Offer {
    let tool = |name: &str, repeatable| {
        let spec =
            ToolSpec { name: format!("s__{name}"), description: String::new(), input_schema: json!({}) };
        Tool {
            server: "s".into(),
            name: name.into(),
            spec,
            output_schema: None,
            repeatable,
            read_only: repeatable,
            destructive: false,
        }
    };
    Offer::new(vec![tool("look", true), tool("act", false)], None)
}

pub(super) fn wants(calls: &[(&str, Value)]) -> Result<Reply, Failure> {
    let calls = calls.iter().enumerate();
    let tool_calls =
        calls.map(|(at, (name, arguments))| ToolCall::new(format!("c{at}"), *name, &arguments.to_string()));
    let thoughts = Some(JsonText::of(&json!({"c0": "signed"})));
    Ok(Reply { tool_calls: tool_calls.collect(), thoughts, ..said("").unwrap() })
}

pub(super) fn gave(text: impl Into<String>) -> ToolResult {
    ToolResult { text: text.into(), ..ToolResult::default() }
}

fn agent(change: impl FnOnce(&mut convoke_model::Capabilities)) -> AgentCall {
    with(call(None, None, 0), |settings| change(&mut settings.capabilities))
}

/// A conversation that has come as far as its results are given here, one turn each.
fn after(premise: &Premise<'_>, results: impl IntoIterator<Item = String>) -> Conversation {
    let mut conversation = Conversation::new(premise);
    for (at, result) in results.into_iter().enumerate() {
        conversation.feed(premise, wants(&[("s__look", json!({"n": at}))]));
        conversation.feed_results(premise, vec![gave(result)]);
    }
    conversation
}

fn question<'a>(conversation: &'a Conversation, premise: &Premise<'a>) -> Question<'a> {
    match conversation.next(premise) {
        Next::Ask(question) => question,
        other => panic!("no question: {other:?}"),
    }
}

fn failure(conversation: &Conversation, premise: &Premise<'_>) -> Failure {
    match conversation.next(premise) {
        Next::Done(Ending::Failed(failure)) => failure.clone(),
        other => panic!("no failure: {other:?}"),
    }
}

#[test]
fn results_follow_the_calls_in_their_order() {
    let (call, offer) = (agent(|_| {}), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = Conversation::new(&premise);
    assert_eq!(question(&conversation, &premise).tools.len(), 2);
    conversation.feed(&premise, wants(&[("s__look", json!({})), ("s__act", json!({}))]));
    let Next::Call(calls) = conversation.next(&premise) else { panic!("no calls") };
    assert_eq!(calls.len(), 2);
    conversation.feed_results(&premise, vec![gave("one"), ToolResult { failed: true, ..gave("two") }]);
    let messages = question(&conversation, &premise).messages;
    let texts: Vec<&str> = messages[2..].iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["", "one", "two"]);
    assert!(messages[4].result_of.as_ref().unwrap().failed);
    conversation.feed(&premise, said("done"));
    assert_eq!(conversation.next(&premise), Next::Done(&output("{\"result\":\"done\"}")));
}

#[test]
fn a_shape_is_asked_for_in_words_while_tools_are_offered() {
    let (call, offer) = (with(call(number(), None, 1), |_| {}), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = Conversation::new(&premise);
    let first = question(&conversation, &premise);
    assert!(first.schema.is_some() && !first.native_schema());
    conversation.feed(&premise, said("three"));
    let last = question(&conversation, &premise);
    assert!(last.tools.is_empty() && last.native_schema());
}

#[test]
fn long_results_are_cut_and_can_be_read_back() {
    let (call, offer) = (agent(|capabilities| capabilities.tool_output = Some(1000)), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let long = "x".repeat(5000);
    let mut conversation = after(&premise, ["short".into(), long.clone()]);
    let asked = question(&conversation, &premise);
    assert_eq!(asked.tools.last().unwrap().name, "read_result");
    assert!(asked.messages[5].text.len() < 1200 && asked.messages[5].text.contains("`r1`"));
    let digest = conversation.kept("r1").unwrap();
    let written = conversation.take_delta(&premise);
    assert_eq!(written.kept, [JsonText::of(&long)]);
    assert_eq!(Digest::of(written.kept[0].as_str().as_bytes()), digest);
    assert!(written.piece.as_str().len() < 4000);
}

#[test]
fn an_agent_that_goes_round_in_circles_is_told_and_then_stopped() {
    let bounds = StuckLoop { repeats: 2, action: StuckAction::Warn };
    let (call, offer) = (agent(|capabilities| capabilities.stuck_loop = Some(bounds)), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = Conversation::new(&premise);
    for turn in 1..=4 {
        conversation.feed(&premise, wants(&[("s__look", json!({}))]));
        conversation.feed_results(&premise, vec![gave(format!("{turn}"))]);
        if turn == 2 {
            assert!(question(&conversation, &premise).messages.last().unwrap().text.contains("stuck"));
        }
    }
    let failure = failure(&conversation, &premise);
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("stuck_loop")));
}

#[test]
fn after_the_last_round_the_agent_must_answer() {
    let (call, offer) = (agent(|capabilities| capabilities.max_iterations = 2), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let conversation = after(&premise, ["one".into()]);
    assert!(question(&conversation, &premise).messages[3].text.contains("Only one is left"));
    let mut conversation = after(&premise, ["one".into(), "two".into()]);
    let asked = question(&conversation, &premise);
    assert!(asked.tools.is_empty() && asked.messages[5].text.contains("final answer now"));
    assert!(asked.messages.iter().all(|message| message.tool_calls.is_empty() && message.role != Role::Tool));
    let mut other = conversation.clone();
    conversation.feed(&premise, said("fine"));
    assert!(matches!(conversation.next(&premise), Next::Done(Ending::Output(_))));
    other.feed(&premise, wants(&[("s__look", json!({}))]));
    let failure = failure(&other, &premise);
    assert_eq!((failure.class, failure.reason.as_deref()), (Class::Budget, Some("max_agent_iterations")));
}

fn small_window() -> AgentCall {
    agent(|capabilities| {
        capabilities.context_window = 10_000;
        capabilities.compaction = Some(Compaction { at: 80, to: 50 });
        capabilities.context_warnings = vec![60];
    })
}

#[test]
fn the_agent_is_warned_once_before_its_context_is_full() {
    let (call, offer) = (small_window(), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let conversation = after(&premise, ["x".repeat(8000), "y".repeat(8000), "z".repeat(100)]);
    let messages = question(&conversation, &premise).messages;
    let warned: Vec<bool> = messages.iter().map(|message| message.text.contains("60 % full")).collect();
    assert_eq!(warned, [false, false, false, false, false, true, false, false]);
}

#[test]
fn the_oldest_turns_make_room_and_can_be_read_back() {
    let (call, offer) = (small_window(), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = after(&premise, (0..6).map(|at| format!("{at}").repeat(6000)));
    assert_eq!(conversation.take_notes()[0].code, "context_compacted");
    let asked = question(&conversation, &premise);
    assert!(asked.messages[1].text.starts_with("How many?\n\n[The first "), "{}", asked.messages[1].text);
    assert_eq!(asked.messages[2].role, Role::Assistant);
    assert!(asked.messages.last().unwrap().text.starts_with("555"));
    assert_eq!(asked.tools.last().unwrap().name, "read_result");
    assert!(conversation.take_delta(&premise).kept[0].as_str().contains("\"turns\":[1,"));
}

#[test]
fn a_turn_that_alone_is_too_long_is_cut_further() {
    let (call, offer) = (small_window(), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let conversation = after(&premise, ["x".repeat(49_000)]);
    let asked = question(&conversation, &premise);
    assert!(asked.messages[3].text.len() < 25_000 && asked.messages[3].text.contains("`r1`"));
}

#[test]
fn a_context_that_the_service_finds_too_long_is_shortened_once() {
    let (call, offer) = (agent(|_| {}), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = after(&premise, (0..6).map(|at| format!("{at}").repeat(6000)));
    let before = crate::tokens_in(&question(&conversation, &premise).messages);
    let too_long = || Err(Failure::new(Class::Fatal, "400").reason("context_overflow"));
    conversation.feed(&premise, too_long());
    assert!(crate::tokens_in(&question(&conversation, &premise).messages) < before / 2 + 100);
    conversation.feed(&premise, too_long());
    assert_eq!(failure(&conversation, &premise).reason.as_deref(), Some("context_overflow"));
}

#[test]
fn a_refusal_without_a_reason_may_mean_a_context_that_is_too_long() {
    let (call, offer) = (small_window(), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let refused = || Err(Failure::new(Class::Fatal, "400").reason("bad_request"));
    let mut long = after(&premise, (0..4).map(|at| format!("{at}").repeat(4000)));
    long.feed(&premise, refused());
    assert!(question(&long, &premise).messages[1].text.contains("left out"));
    let mut short = after(&premise, ["short".to_owned(), "too".to_owned()]);
    short.feed(&premise, refused());
    assert_eq!(failure(&short, &premise).reason.as_deref(), Some("bad_request"));
}

#[test]
fn calls_that_were_cut_off_are_not_made() {
    let call = with(call(None, None, 1), |_| {});
    let offer = offer();
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = Conversation::new(&premise);
    let cut = || Ok(Reply { finish: Finish::Length, ..wants(&[("s__act", json!({}))]).unwrap() });
    conversation.feed(&premise, cut());
    let asked = question(&conversation, &premise);
    assert!(asked.messages[3].text.contains("tool calls were cut off") && !asked.tools.is_empty());
    assert!(asked.messages.iter().all(|message| message.tool_calls.is_empty()));
    conversation.feed(&premise, cut());
    assert_eq!(failure(&conversation, &premise).reason.as_deref(), Some("budget"));
}

#[test]
fn texts_of_wide_characters_are_cut_as_far() {
    let (call, offer) = (small_window(), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let conversation = after(&premise, ["漢".repeat(20_000)]);
    assert!(crate::tokens_in(&question(&conversation, &premise).messages) < 8000);
}

#[test]
fn without_compaction_nothing_is_left_out() {
    let (call, offer) = (
        agent(|capabilities| {
            capabilities.context_window = 10_000;
            capabilities.compaction = None;
        }),
        offer(),
    );
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = after(&premise, (0..6).map(|at| format!("{at}").repeat(9000)));
    assert_eq!(question(&conversation, &premise).messages.len(), 14);
    conversation.feed(&premise, Err(Failure::new(Class::Fatal, "400").reason("context_overflow")));
    assert_eq!(failure(&conversation, &premise).reason.as_deref(), Some("context_overflow"));
}

#[test]
fn an_account_has_every_turn_also_those_that_were_left_out() {
    let (call, offer) = (small_window(), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = Conversation::new(&premise);
    let mut pieces = Vec::new();
    for at in 0..12 {
        conversation.feed(&premise, wants(&[("s__look", json!({"n": at}))]));
        conversation.feed_results(&premise, vec![gave(format!("{at} ").repeat(3000))]);
        pieces.push(conversation.take_delta(&premise).piece);
    }
    assert!(question(&conversation, &premise).messages[1].text.contains("left out"));
    let accounts = crate::Account::read(&pieces).unwrap();
    let [account] = &accounts[..] else { panic!("one conversation") };
    let arguments = account.messages.iter().flat_map(|message| &message.tool_calls);
    let asked: Vec<_> = arguments.map(|call| call.arguments.value()["n"].clone()).collect();
    assert_eq!(asked, (0..12).map(|at| json!(at)).collect::<Vec<_>>());
    assert_eq!(account.messages.len(), 24);
    let kept: Vec<_> = account.kept().map(|(name, _)| conversation.kept(&name)).collect();
    assert!(
        !kept.is_empty() && kept.iter().zip(account.kept()).all(|(known, (_, told))| *known == Some(told))
    );
}

#[test]
fn an_account_has_what_a_rejected_answer_was_told() {
    let (call, offer) = (call(number(), grader(1), 1), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = Conversation::new(&premise);
    let mut pieces = Vec::new();
    for text in ["prose", "{\"n\": 1}", "{\"passed\": false, \"issues\": [\"dull\"]}"] {
        conversation.feed(&premise, said(text));
        pieces.push(conversation.take_delta(&premise).piece);
    }
    let other = Premise { call: &with(call.clone(), |_| {}), ..premise };
    pieces.push(Conversation::new(&other).take_delta(&other).piece);
    let accounts = crate::Account::read(&pieces).unwrap();
    let roles: Vec<_> = accounts[0].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::Assistant, Role::User, Role::User], "the prompt is asked again with findings");
    assert!(accounts[0].messages[2].text.contains("dull"));
    assert_eq!((accounts.len(), accounts[1].messages.len()), (2, 0));
    assert_eq!(crate::Account::read(&[JsonText::of(&json!({}))]), None);
}
