//! A program that waits can be gone on with after its worker is gone: from its saved state, or by replay.

use crate::support;

use convoke_interpreter::{
    Answer, Error, Exception, Interpreter, Limits, Next, Origin, Paused, Program, Recorded, Turn,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use support::*;

const TWO_CALLS: &str = "\
total = 0
for word in ['a', 'b']:
    print('ask', word)
    total += llm(word, limit=3)['n']
total";

fn kill(worker: &Interpreter) {
    let pid = Pid::from_raw(worker.pid().unwrap() as i32).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// Runs up to the second call and kills the worker there: the second call, and what was recorded of the first.
async fn killed_between_two_calls() -> (Paused, Vec<Recorded>) {
    let mut worker = worker().await;
    let first = called(worker.run(program(TWO_CALLS, &["llm"])).await.unwrap());
    let answer = Answer::Value(json!({"n": 40}));
    let recorded = vec![Recorded::new(&first, answer.clone())];
    let second = called(worker.answer(1, answer).await.unwrap());
    assert_eq!((second.number, second.args.as_slice()), (2, [json!("b")].as_slice()));
    kill(&worker);
    (second.paused.unwrap(), recorded)
}

#[tokio::test]
async fn a_saved_program_goes_on_in_another_worker() {
    let (paused, _) = killed_between_two_calls().await;
    let mut worker = worker().await;
    let functions = vec!["llm".to_string()];
    let next = worker.resume(&paused, 2, Answer::Value(json!({"n": 2})), functions).await.unwrap();
    let end = ended(next);
    assert_eq!((end.value, end.printed.text.as_str()), (json!(42), ""));
    // And so do programs after it.
    assert_eq!(ended(worker.run(next_program("total", &[])).await.unwrap()).value, json!(42));
}

#[tokio::test]
async fn a_program_that_went_on_elsewhere_fails_at_the_lines_that_were_written() {
    let text = "def g():\n  yield 1\nllm('x')\nx = '%d' % 3\ny = [1, '%s' % 2][5]";
    let call = called(worker().await.run(program(text, &["llm"])).await.unwrap());
    let mut second = worker().await;
    let paused = call.paused.unwrap();
    let next = second.resume(&paused, 1, Answer::Value(json!(0)), vec!["llm".into()]).await.unwrap();
    let failure = failed(next);
    assert_eq!(failure.line, Some(5), "{}", failure.traceback);
    assert!(
        failure.traceback.contains("'%s' % 2") && !failure.traceback.contains("__"),
        "{}",
        failure.traceback
    );
}

#[tokio::test]
async fn a_program_is_saved_only_when_somebody_says_so() {
    let mut first = worker().await;
    first.set_saving(false);
    assert!(matches!(first.save().await, Err(Error::Unusable(_))));
    let call = called(first.run(program(TWO_CALLS, &["llm"])).await.unwrap());
    assert_eq!(call.paused, None);
    let call = called(first.answer(1, Answer::Value(json!({"n": 40}))).await.unwrap());
    assert_eq!(call.paused, None);
    let paused = first.save().await.unwrap().unwrap();
    let mut second = worker().await;
    let next = second.resume(&paused, 2, Answer::Value(json!({"n": 2})), vec!["llm".into()]).await.unwrap();
    assert_eq!(ended(next).value, json!(42));
    // It still waits where it was saved.
    assert_eq!(ended(first.answer(2, Answer::Value(json!({"n": 3}))).await.unwrap()).value, json!(43));
}

#[tokio::test]
async fn calls_are_counted_on_and_named_functions_are_found_after_a_resume() {
    let mut first = worker().await;
    let call = called(first.run(program("f(1)\ng(2)\nh = g\nh(3)", &["f", "g"])).await.unwrap());
    let mut second = worker().await;
    let functions = vec!["f".to_string(), "g".to_string()];
    let paused = call.paused.unwrap();
    let call = called(second.resume(&paused, 1, Answer::Value(json!(0)), functions).await.unwrap());
    assert_eq!((call.number, call.function.as_str()), (2, "g"));
    let call = called(second.answer(2, Answer::Value(json!(0))).await.unwrap());
    assert_eq!((call.number, call.function.as_str(), call.args.as_slice()), (3, "g", [json!(3)].as_slice()));
}

#[tokio::test]
async fn a_replayed_program_goes_on_where_the_records_end() {
    let (_, answers) = killed_between_two_calls().await;
    let mut worker = worker().await;
    let turn = Turn { program: program(TWO_CALLS, &["llm"]), answers };
    let call = called(worker.replay(&[turn]).await.unwrap().unwrap());
    assert_eq!((call.number, call.args.as_slice()), (2, [json!("b")].as_slice()));
    assert!(call.paused.is_some());
    let end = ended(worker.answer(2, Answer::Value(json!({"n": 2}))).await.unwrap());
    assert_eq!(end.value, json!(42));
}

#[tokio::test]
async fn turns_are_replayed_with_their_variables() {
    let mut turns = Vec::new();
    let mut live = worker().await;
    let programs = [
        "x = get(3)",
        "y = {n: get(n) for n in ['b', 'a', x]}\n1 / 0",
        "final(y)\nz = 1",
        "final(sorted(y))",
    ];
    for (index, text) in programs.into_iter().enumerate() {
        let origin = if index == 0 { Origin::Fresh } else { Origin::Kept };
        let program = Program { origin, ..program(text, &["get", "final"]) };
        let mut turn = Turn { program: program.clone(), ..Turn::default() };
        let mut next = live.run(program).await.unwrap();
        while let Next::Call(call) = &next {
            if call.function == "final" {
                // Its answer is the end of the matter; the program is not gone on with.
                break;
            }
            let answer = Answer::Value(json!(format!("<{}>", call.args[0])));
            turn.answers.push(Recorded::new(call, answer.clone()));
            next = live.answer(call.number, answer).await.unwrap();
        }
        turns.push(turn);
    }
    let call = called(worker().await.replay(&turns).await.unwrap().unwrap());
    assert_eq!((call.function.as_str(), call.args), ("final", vec![json!(["<3>", "a", "b"])]));
}

#[tokio::test]
async fn exceptions_are_replayed_as_well() {
    let text = "try:\n  f(1)\nexcept TimeoutError:\n  f(2)";
    let mut live = worker().await;
    let call = called(live.run(program(text, &["f"])).await.unwrap());
    let answer = Answer::raise(Exception::TimeoutError, "late");
    let answers = vec![Recorded::new(&call, answer)];
    // Records are data that can be written down.
    let answers = serde_json::from_str(&serde_json::to_string(&answers).unwrap()).unwrap();
    let turn = Turn { program: program(text, &["f"]), answers };
    assert_eq!(called(worker().await.replay(&[turn]).await.unwrap().unwrap()).args, [json!(2)]);
}

#[tokio::test]
async fn an_answer_never_reaches_another_question() {
    let mut live = worker().await;
    let call = called(live.run(program("f(1, n=2)", &["f"])).await.unwrap());
    let answers = vec![Recorded::new(&call, Answer::Value(json!("x")))];
    for (text, found) in [
        ("f(1, n=3)", "`f` of something else"),
        ("f(1, m=2)", "`f` of something else"),
        ("g(1, n=2)", "`g`"),
        ("1", "the end of the program"),
        ("1 / 0", "a failure (ZeroDivisionError: division by zero)"),
    ] {
        let turn = Turn { program: program(text, &["f", "g"]), answers: answers.clone() };
        let mut worker = worker().await;
        match worker.replay(&[turn]).await {
            Err(Error::Diverged { turn: 1, call: 1, expected, found: it }) => {
                assert_eq!((expected.as_str(), it.as_str()), ("`f`", found));
            }
            other => panic!("{text}: {other:?}"),
        }
        // The worker is still good for a program that is not replayed, and saves again.
        let call = called(worker.run(program("f()", &["f"])).await.unwrap());
        assert!(call.paused.is_some());
    }
}

#[tokio::test]
async fn the_same_program_asks_the_same_in_every_process() {
    let text = "words = {'b', 'a', 'zz', 'q', 'lorem'} | {str(n) for n in range(50)}\nf(list(words), {w: 1 for w in words})";
    let mut digests = std::collections::BTreeSet::new();
    for _ in 0..4 {
        digests.insert(called(worker().await.run(program(text, &["f"])).await.unwrap()).digest());
    }
    assert_eq!(digests.len(), 1);
}

#[tokio::test]
async fn what_is_too_large_to_save_is_not_saved_but_goes_on() {
    let limits = Limits { state_bytes: 10_000, ..limits() };
    let mut worker = workers("").start(limits).await.unwrap();
    let call = called(worker.run(program("x = [1] * 100_000\nf()\nlen(x)", &["f"])).await.unwrap());
    assert_eq!(call.paused, None);
    let end = ended(worker.answer(1, Answer::Value(Value::Null)).await.unwrap());
    assert_eq!((end.value, end.session), (json!(100_000), None));
    let call = called(worker.run(program("f()", &["f"])).await.unwrap());
    assert!(call.paused.unwrap().0.len() < 10_000);
}

#[tokio::test]
async fn a_state_of_another_build_is_said_to_be_and_replay_is_left() {
    let (paused, _) = killed_between_two_calls().await;
    let mut other = paused.0.clone();
    // The version of the format comes after the six letters of its name.
    other[6] ^= 1;
    let mut cut = paused.0.clone();
    cut.truncate(cut.len() / 2);
    for bytes in [other, cut, b"nothing".to_vec()] {
        let mut worker = worker().await;
        let outcome = worker.resume(&Paused(bytes), 2, Answer::Value(Value::Null), vec!["llm".into()]).await;
        let failure = convoke_model::Failure::from(outcome.unwrap_err());
        assert_eq!(failure.reason.as_deref(), Some("state_unusable"));
        assert_eq!(ended(worker.run(program("1", &[])).await.unwrap()).value, json!(1));
    }
}
