//! Words of people to an agent on its way.

use super::tools::{gave, offer, wants};
use super::*;

fn texts(conversation: &Conversation) -> Vec<String> {
    conversation.transcript.messages().iter().map(|message| message.text.clone()).collect()
}

fn output(conversation: &Conversation, call: &AgentCall) -> Value {
    match ended(conversation, call) {
        Ending::Output(output) => output.value(),
        Ending::Failed(failure) => panic!("it failed: {failure:?}"),
    }
}

fn words(said: &[&str]) -> Vec<String> {
    said.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn words_before_the_first_turn_stand_behind_the_prompt_and_only_once() {
    let call = call(None, None, 1);
    let mut conversation = Conversation::new(&about(&call));
    for _ in 0..3 {
        conversation.listen(&about(&call), &words(&["be brief"]));
    }
    let all = texts(&conversation);
    assert_eq!(all.len(), 2, "no message of its own: {all:?}");
    assert!(all[1].starts_with("How many?\n\n--- Guidance from a person"), "{}", all[1]);
    assert_eq!(all[1].matches("be brief").count(), 1);
    assert!(all[1].contains("does not replace it"), "the task stays: {}", all[1]);
    conversation.listen(&about(&call), &words(&["be brief", "in French"]));
    let prompt = texts(&conversation).remove(1);
    assert_eq!((prompt.matches("be brief").count(), prompt.matches("in French").count()), (1, 1));
    assert_eq!(conversation.guidance_heard(), 2);
}

#[test]
fn among_tools_words_stand_behind_the_last_result() {
    let (call, offer) = (call(None, None, 1), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None };
    let mut conversation = Conversation::new(&premise);
    conversation.feed(&premise, wants(&[("s__look", json!({}))]));
    // Results are missing: nothing is said into the middle of a turn.
    conversation.listen(&premise, &words(&["look up"]));
    assert_eq!(conversation.guidance_heard(), 0);
    conversation.feed_results(&premise, vec![gave("the ground")]);
    conversation.listen(&premise, &words(&["look up"]));
    let last = texts(&conversation).pop().unwrap();
    assert!(last.starts_with("the ground") && last.contains("look up"), "{last}");
    assert_eq!(conversation.transcript.messages().last().unwrap().role, Role::Tool);
}

#[test]
fn an_answer_given_before_is_asked_for_once_more_and_counts_if_nothing_better_comes() {
    let call = call(number(), None, 0);
    let mut conversation = Conversation::new(&about(&call));
    feed(&mut conversation, &call, said("{\"n\": 1}"));
    conversation.listen(&about(&call), &words(&["count again"]));
    let question = asked(&conversation, &call);
    let last = &question.messages[question.messages.len() - 1];
    assert!(
        last.role == Role::User && last.text.contains("count again") && last.text.contains("same form"),
        "{}",
        last.text
    );
    let mut better = conversation.clone();
    feed(&mut better, &call, said("{\"n\": 2}"));
    assert_eq!(output(&better, &call), json!({"n": 2}));
    let mut worse = conversation.clone();
    worse.feed(&about(&call), said("no number"));
    assert_eq!(output(&worse, &call), json!({"n": 1}), "paid work is not lost");
    let mut gone = conversation;
    gone.feed(&about(&call), Err(Failure::new(Class::Refused, "no")));
    assert_eq!(output(&gone, &call), json!({"n": 1}));
}

#[test]
fn a_conversation_that_goes_on_elsewhere_has_heard_what_it_had_heard() {
    let (call, offer) = (call(None, None, 1), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None };
    let mut live = Conversation::new(&premise);
    live.listen(&premise, &words(&["first"]));
    live.feed(&premise, wants(&[("s__look", json!({}))]));
    let pieces = vec![live.take_delta(&premise).piece];
    let mut again = Conversation::resume(&premise, &[], &pieces).unwrap();
    again.feed_results(&premise, vec![gave("x")]);
    again.listen(&premise, &words(&["first", "second"]));
    let all = texts(&again).concat();
    assert_eq!((all.matches("first").count(), all.matches("second").count()), (1, 1), "{all}");
    // One that begins anew hears everything.
    let mut anew = Conversation::resume(&premise, &pieces, &[]).unwrap();
    anew.listen(&premise, &words(&["first", "second"]));
    let all = texts(&anew).concat();
    assert_eq!((all.matches("first").count(), all.matches("second").count()), (1, 1), "{all}");
}

#[test]
fn a_reviewed_answer_that_begins_again_still_has_what_was_said() {
    let call = call(number(), grader(2), 1);
    let mut conversation = Conversation::new(&about(&call));
    conversation.listen(&about(&call), &words(&["mind the gap"]));
    conversation.feed(&about(&call), said("{\"n\": 1}"));
    conversation.feed(&about(&call), said("{\"passed\": false, \"issues\": [\"odd\"]}"));
    let question = asked(&conversation, &call);
    let all: String = question.messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(all.matches("mind the gap").count(), 1, "{all}");
}
