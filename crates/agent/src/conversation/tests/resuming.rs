//! Conversations that are written down and go on from there.

use super::tools::{gave, offer, wants};
use super::*;
use proptest::prelude::*;

/// Everything that decides how a conversation goes on.
fn whole(conversation: &Conversation) -> (Vec<Message>, Vec<Digest>, Vec<String>, State) {
    let messages = conversation.transcript.messages().to_vec();
    (
        messages,
        conversation.shelf.digests().to_vec(),
        conversation.rejected.clone(),
        conversation.state.clone(),
    )
}

fn agent() -> AgentCall {
    let required = SuccessCriteria { criteria: "odd".into(), model: None, max_retries: 2 };
    with(call(number(), grader(1), 3), |settings| {
        settings.success_criteria = Some(required);
        settings.repair_model = Some("fixer".into());
        settings.capabilities.context_window = 4000;
        settings.capabilities.tool_output = Some(2000);
        settings.capabilities.max_iterations = 30;
    })
}

/// What happens next, whatever the conversation waits for.
#[derive(Debug, Clone)]
enum Happening {
    Says(&'static str),
    Wants(usize, u8),
    Gets(usize),
    Fails(&'static str),
    Asks,
    Writes,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        1 => prop::sample::select(vec!["prose", "[1]", "{\"n\": 1}", "{\"passed\": false}", "{\"passed\": true}"]).prop_map(Happening::Says),
        9 => (1usize..4, 0u8..3).prop_map(|(count, which)| Happening::Wants(count, which)),
        9 => (0usize..6000).prop_map(Happening::Gets),
        1 => Just(Happening::Fails("context_overflow")),
        1 => Just(Happening::Asks),
        4 => Just(Happening::Writes),
    ];
    prop::collection::vec(one, 0..80)
}

fn happen(conversation: &mut Conversation, premise: &Premise<'_>, happening: &Happening) {
    let calls = match conversation.next(premise) {
        Next::Call(calls) => calls.len(),
        Next::Ask(_) => 0,
        Next::Suspend(_) => {
            return conversation.answer(Answer::Retry);
        }
        Next::Approve(_) | Next::Prove | Next::Done(_) => return,
    };
    match happening {
        Happening::Gets(length) if calls > 0 => {
            let results = (0..calls).map(|at| gave(format!("{at}é\n").repeat(length / 4)));
            conversation.feed_results(premise, results.collect());
        }
        Happening::Says(text) if calls == 0 => conversation.feed(premise, said(text)),
        Happening::Wants(count, which) if calls == 0 => {
            let name = ["s__look", "s__act", "nope"][usize::from(*which)];
            let number = if name == "nope" { 0 } else { conversation.state.calls };
            let calls: Vec<_> = (0..*count).map(|at| (name, json!({"at": at, "number": number}))).collect();
            conversation.feed(premise, wants(&calls));
        }
        Happening::Fails(reason) if calls == 0 => {
            conversation.feed(premise, Err(Failure::new(Class::Fatal, "no").reason(*reason)));
        }
        Happening::Asks if calls == 0 => {
            let ask = Ask::Unknown { prompt: "may I?".into() };
            let asks = Some(Box::new(Asks { ask, state: JsonText::of("s") }));
            conversation.feed(premise, Ok(Reply { asks, ..said("").unwrap() }));
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn a_conversation_resumed_from_its_pages_is_the_same(happenings in happenings()) {
        let (call, offer) = (agent(), offer());
        let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
        let mut live = Conversation::new(&premise);
        let mut pieces = Vec::new();
        for happening in &happenings {
            match happening {
                Happening::Writes => {
                    pieces.push(live.take_delta(&premise).piece);
                    let resumed = Conversation::resume(&premise, &[], &pieces).unwrap();
                    prop_assert_eq!(whole(&resumed), whole(&live));
                    prop_assert_eq!(resumed.next(&premise), live.next(&premise));
                }
                other => happen(&mut live, &premise, other),
            }
        }
    }
}

#[test]
fn records_are_as_long_as_what_is_new() {
    let call = with(call(None, None, 0), |settings| settings.capabilities.max_iterations = 500);
    let offer = offer();
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = Conversation::new(&premise);
    let mut longest = 0;
    for turn in 0..100 {
        conversation.feed(&premise, wants(&[("s__look", json!({"n": turn}))]));
        conversation.feed_results(&premise, vec![gave("x".repeat(1000))]);
        longest = conversation.take_delta(&premise).piece.as_str().len().max(longest);
    }
    assert!(longest < 3000, "{longest}");
}

#[test]
fn only_what_cannot_be_taken_back_is_written_down_first() {
    let (call, offer) = (agent(), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = Conversation::new(&premise);
    assert!(!conversation.is_due(&offer));
    conversation.feed(&premise, wants(&[("s__look", json!({})), ("nope", json!({}))]));
    assert!(!conversation.is_due(&offer));
    conversation.feed_results(&premise, vec![gave("x"), gave("y")]);
    assert!(conversation.is_due(&offer));
    conversation.take_delta(&premise);
    assert!(!conversation.is_due(&offer));
    conversation.feed(&premise, wants(&[("s__look", json!({})), ("s__act", json!({}))]));
    assert!(conversation.is_due(&offer));
    let mut at_once = Conversation::new(&premise);
    at_once.feed(&premise, Err(Failure::new(Class::Fatal, "no")));
    assert!(!at_once.is_due(&offer));
}

#[test]
fn another_prompt_is_another_conversation() {
    let (call, offer) = (agent(), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = Conversation::new(&premise);
    conversation.feed(&premise, said("prose"));
    let mut pieces = vec![conversation.take_delta(&premise).piece];
    let other = AgentCall { prompt: "How few?".into(), system: None, ..call.clone() };
    let changed = Premise { call: &other, ..premise };
    let mut anew = Conversation::resume(&changed, &[], &pieces).unwrap();
    assert_eq!(anew.take_notes()[0].code, "conversation_dropped");
    assert_eq!(whole(&anew), whole(&Conversation::new(&changed)));
    anew.feed(&changed, said("more prose"));
    pieces.push(anew.take_delta(&changed).piece);
    assert_eq!(whole(&Conversation::resume(&changed, &[], &pieces).unwrap()), whole(&anew));
}

#[test]
fn damaged_pages_are_a_failure() {
    let (call, offer) = (agent(), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    for piece in [json!({}), json!([]), json!({"state": 1})] {
        let failure = Conversation::resume(&premise, &[], &[JsonText::of(&piece)]).unwrap_err();
        assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("damaged_conversation")));
    }
}

#[test]
fn a_persons_answer_goes_with_the_next_question() {
    let (call, offer) = (agent(), offer());
    let premise = Premise { call: &call, step: "a", offer: &offer, contract: None, proof: None };
    let mut conversation = Conversation::new(&premise);
    happen(&mut conversation, &premise, &Happening::Asks);
    assert!(matches!(conversation.next(&premise), Next::Suspend(asks) if asks.state == JsonText::of("s")));
    let piece = conversation.take_delta(&premise).piece;
    let mut resumed = Conversation::resume(&premise, &[], &[piece]).unwrap();
    resumed.answer(Answer::Retry);
    let Next::Ask(question) = resumed.next(&premise) else { panic!("no question") };
    assert_eq!(question.answered.unwrap().answer, Answer::Retry);
    resumed.feed(&premise, said("prose"));
    let Next::Ask(question) = resumed.next(&premise) else { panic!("no question") };
    assert_eq!(question.answered, None);
}
