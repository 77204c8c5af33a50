//! Plain programs: values, prints, calls, several turns.

use crate::support;

use convoke_interpreter::{Answer, Exception, Kind, Limits, Next, Origin, Program};
use serde_json::{Value, json};
use support::*;

#[tokio::test]
async fn the_value_of_the_last_line_is_given() {
    assert_eq!(value("x = 20\nx * 2 + 2").await, json!(42));
    assert_eq!(value("x = 20").await, Value::Null);
    assert_eq!(value("").await, Value::Null);
}

#[tokio::test]
async fn what_is_printed_is_given_in_pieces() {
    let mut worker = worker().await;
    let next = worker.run(program("print('a', 1)\nf()\nprint('b')", &["f"])).await.unwrap();
    let call = called(next);
    assert_eq!(call.printed.text, "a 1\n");
    let end = ended(worker.answer(1, Answer::Value(Value::Null)).await.unwrap());
    assert_eq!(end.printed.text, "b\n");
}

#[tokio::test]
async fn values_are_the_same_on_both_sides() {
    let mut worker = worker().await;
    let sent = json!([null, true, 3, -7, u64::MAX, 1.5, "täxt\u{0}", [1, [2]], {"a": {"b": []}},
        {"$int": "1267650600228229401496703205376"}, {"$float": "nan"}]);
    let next = worker.run(program("x = get()\nput(x, named=x)", &["get", "put"])).await.unwrap();
    assert_eq!(called(next).function, "get");
    let call = called(worker.answer(1, Answer::Value(sent.clone())).await.unwrap());
    assert_eq!(call.args, std::slice::from_ref(&sent));
    assert_eq!(call.kwargs["named"], sent);
}

#[tokio::test]
async fn a_given_function_goes_over_one_of_python_in_every_program() {
    let mut worker = worker().await;
    let call = called(worker.run(program("slice('a', 1)", &["slice", "f"])).await.unwrap());
    assert_eq!((call.function.as_str(), call.args), ("slice", vec![json!("a"), json!(1)]));
    ended(worker.answer(1, Answer::Value(Value::Null)).await.unwrap());
    ended(worker.run(next_program("slice = f = 1", &["slice", "f"])).await.unwrap());
    let call = called(worker.run(next_program("f(2)", &["slice", "f"])).await.unwrap());
    assert_eq!((call.function.as_str(), call.args), ("f", vec![json!(2)]));
}

#[tokio::test]
async fn python_values_become_json() {
    let text =
        "put(None, True, 2**63, -2**70, 1.0, 'x', (1, 2), {3}, {1: 'a', None: 'b', 2.5: 'c', False: 'd'})";
    let call = called(worker().await.run(program(text, &["put"])).await.unwrap());
    let expected = json!([null, true, 9223372036854775808u64, {"$int": "-1180591620717411303424"}, 1.0, "x", [1, 2],
        [3], {"1": "a", "null": "b", "2.5": "c", "false": "d"}]);
    assert_eq!(Value::Array(call.args), expected);
}

#[tokio::test]
async fn what_is_no_data_cannot_leave_and_the_program_may_catch_that() {
    for thing in ["put", "lambda: 1", "b'x'", "{(1, 2): 3}", "int", "ValueError('x')", "10 ** 5000"] {
        let text = format!("try:\n  put({thing})\nexcept TypeError as error:\n  print(error)\n'went on'");
        let end = ended(worker().await.run(program(&text, &["put"])).await.unwrap());
        assert_eq!(end.value, json!("went on"), "{thing}");
        assert!(end.printed.text.starts_with("put(): "), "{thing}: {}", end.printed.text);
    }
    let text = "a = []\na.append(a)\nput(a)";
    let failure = failed(worker().await.run(program(text, &["put"])).await.unwrap());
    assert_eq!((failure.kind, failure.line), (Kind::Exception, Some(3)));
}

#[tokio::test]
async fn a_value_that_is_no_data_is_shown_as_python_does() {
    assert_eq!(value("b'ab'").await, json!("b'ab'"));
    assert_eq!(
        value("from datetime import date\ndate(2024, 2, 3)").await,
        json!("datetime.date(2024, 2, 3)")
    );
}

#[tokio::test]
async fn inputs_are_variables() {
    let inputs = json!({"ids": ["a", "b"], "n": 2}).as_object().unwrap().clone();
    let mut worker = worker().await;
    let end = ended(worker.run(Program { inputs, ..program("ids[1] * n", &[]) }).await.unwrap());
    assert_eq!(end.value, json!("bb"));
}

#[tokio::test]
async fn variables_and_functions_live_on_to_the_next_program() {
    let mut worker = worker().await;
    let next = worker.run(program("def twice(x):\n  return x * 2\nx = get(3)", &["get"])).await.unwrap();
    assert_eq!(called(next).args, [json!(3)]);
    ended(worker.answer(1, Answer::Value(json!(21))).await.unwrap());
    let end = ended(worker.run(next_program("twice(x)", &["get"])).await.unwrap());
    assert_eq!(end.value, json!(42));
    // Calls are counted anew in each program.
    let call = called(worker.run(next_program("get(twice(1))", &["get"])).await.unwrap());
    assert_eq!((call.number, call.args.as_slice()), (1, [json!(2)].as_slice()));
}

#[tokio::test]
async fn a_fresh_program_finds_nothing() {
    let mut worker = worker().await;
    ended(worker.run(program("x = 1", &[])).await.unwrap());
    let failure = failed(worker.run(program("x", &[])).await.unwrap());
    assert_eq!(failure.message, "NameError: name 'x' is not defined");
}

#[tokio::test]
async fn variables_survive_a_failure_and_a_program_that_is_given_up() {
    let mut worker = worker().await;
    failed(worker.run(program("x = 1\n1 / 0", &[])).await.unwrap());
    called(worker.run(next_program("y = x + 1\nf()\ny = 0", &["f"])).await.unwrap());
    let end = ended(worker.run(next_program("[x, y]", &[])).await.unwrap());
    assert_eq!(end.value, json!([1, 2]));
}

#[tokio::test]
async fn saved_variables_are_found_by_another_worker() {
    let end = ended(alone("x = {'a': [1, 2.5, 'x']}\nf = lambda n: n + 1").await);
    let origin = Origin::Saved(end.session.unwrap());
    let end = ended(worker().await.run(Program { origin, ..program("f(x['a'][0])", &[]) }).await.unwrap());
    assert_eq!(end.value, json!(2));
}

#[tokio::test]
async fn saved_variables_bring_no_bounds_with_them() {
    let wide = Limits { recursion: 400, ..limits() };
    let mut worker = workers("").start(wide).await.unwrap();
    let text = "def down(n):\n  return n and down(n - 1)\ndown(300)";
    let origin = Origin::Saved(ended(worker.run(program(text, &[])).await.unwrap()).session.unwrap());
    let mut worker = workers("").start(Limits { recursion: 100, ..limits() }).await.unwrap();
    let failure = failed(worker.run(Program { origin, ..program("down(300)", &[]) }).await.unwrap());
    assert_eq!(failure.kind, Kind::Recursion);
}

#[tokio::test]
async fn an_exception_of_the_host_can_be_caught() {
    let text = "try:\n  f()\nexcept KeyError as error:\n  print('no', error)\nf()";
    let mut worker = worker().await;
    called(worker.run(program(text, &["f"])).await.unwrap());
    let call = called(worker.answer(1, Answer::raise(Exception::KeyError, "nothing")).await.unwrap());
    assert_eq!((call.number, call.printed.text.as_str()), (2, "no 'nothing'\n"));
    let failure = failed(worker.answer(2, Answer::raise(Exception::ValueError, "bad")).await.unwrap());
    assert_eq!((failure.kind, failure.line), (Kind::Exception, Some(5)));
    assert_eq!(failure.message, "ValueError: bad");
    assert!(failure.traceback.contains("line 5, in <module>\n    f()"), "{}", failure.traceback);
}

#[tokio::test]
async fn functions_that_are_not_named_are_not_there() {
    for text in ["g()", "x = g", "eval('1')", "exec('1')", "__import__('os')", "input()", "exit()"] {
        let failure = failed(worker().await.run(program(text, &["f"])).await.unwrap());
        let is_told =
            failure.message.starts_with("NameError") || failure.message.contains("is not supported");
        assert!(is_told, "{text}: {}", failure.message);
    }
}

#[tokio::test]
async fn the_wrong_call_is_not_answered() {
    let mut worker = worker().await;
    assert!(worker.answer(1, Answer::Value(Value::Null)).await.is_err());
    called(worker.run(program("f()", &["f"])).await.unwrap());
    assert!(worker.answer(2, Answer::Value(Value::Null)).await.is_err());
    assert!(matches!(worker.answer(1, Answer::Value(json!(5))).await.unwrap(), Next::Ended(_)));
}
