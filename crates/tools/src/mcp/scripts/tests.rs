use super::*;
use crate::environment::Environment;
use std::sync::Arc;

fn script(name: &str, program: &str, output: Option<Value>) -> ScriptTool {
    let input = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    ScriptTool {
        name: name.into(),
        description: "counts".into(),
        command: "/bin/sh".into(),
        args: vec!["-c".into(), program.into()],
        input: JsonText::of(&input),
        output: output.as_ref().map(JsonText::of),
        repeatable: false,
    }
}

fn server(scripts: Vec<ScriptTool>, timeout: Option<Duration>) -> Server {
    Server {
        transport: Transport::Scripts { scripts, env: Vec::new(), working_dir: None },
        timeout,
        tools: None,
    }
}

fn means() -> Means {
    let path = std::env::var_os("PATH").into_iter().map(|path| ("PATH".into(), path));
    let nobody = Arc::new(|| Err(Failure::new(Class::Fatal, "no network here")));
    Means::new(Environment::new(path, &[]), Arc::new(|_| None), nobody)
}

async fn called(server: &Server, tool: &str, arguments: Value) -> ToolResult {
    let scripts = Scripts::of(server).expect("these are scripts");
    let given = JsonText::of(&arguments);
    scripts.call("scripts", tool, &given, "k", &means(), CancellationToken::new()).await.expect("a result")
}

#[tokio::test]
async fn arguments_come_on_standard_input_and_never_on_the_command_line() {
    let server = server(vec![script("echo", "cat; echo; echo $#", None)], None);
    let result = called(&server, "echo", json!({"n": 1, "x": "'; touch /nowhere; '"})).await;
    assert_eq!(result.text, "{\"n\":1,\"x\":\"'; touch /nowhere; '\"}\n\n0");
    assert!(!result.failed);
}

#[tokio::test]
async fn arguments_that_do_not_fit_start_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let server = server(vec![script("touch", &format!("touch {}", mark.display()), None)], None);
    let result = called(&server, "touch", json!({"n": "one"})).await;
    assert!(result.failed && result.text.contains("/n"), "{}", result.text);
    assert!(!mark.exists());
}

#[tokio::test]
async fn what_does_not_fit_its_schema_is_no_result() {
    let shape = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
    let tools = vec![
        script("good", "echo '{\"sum\": 3}'", Some(shape.clone())),
        script("bad", "echo '{\"sum\": \"three\"}'", Some(shape.clone())),
        script("words", "echo three", Some(shape.clone())),
        script("silent", "true", Some(shape)),
    ];
    let server = server(tools, None);
    let good = called(&server, "good", json!({"n": 1})).await;
    assert_eq!(good.structured.unwrap().value(), json!({"sum": 3}));
    for (tool, words) in [("bad", "/sum"), ("words", "no JSON"), ("silent", "no response")] {
        let result = called(&server, tool, json!({"n": 1})).await;
        assert!(result.failed && result.text.contains(words), "{tool}: {}", result.text);
    }
}

#[tokio::test]
async fn failures_are_results_that_say_what_was_wrong() {
    let mut missing = script("missing", "", None);
    missing.command = "/no/such/program".into();
    let server = server(vec![script("fails", "echo oh >&2; exit 3", None), missing], None);
    let result = called(&server, "fails", json!({"n": 1})).await;
    assert_eq!((result.failed, result.text.as_str()), (true, "it ended with exit code 3: oh"));
    let result = called(&server, "missing", json!({"n": 1})).await;
    assert!(result.failed && result.text.contains("not found"), "{}", result.text);
    let result = called(&server, "unknown", json!({})).await;
    assert!(result.failed && result.text.contains("`unknown` was not found"), "{}", result.text);
}

#[tokio::test]
async fn a_command_whose_time_is_over_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let program = format!("sleep 1000 & echo $! > {}; wait", pid.display());
    let server = server(vec![script("slow", &program, None)], Some(Duration::from_secs(3)));
    let result = called(&server, "slow", json!({"n": 1})).await;
    assert!(result.failed && result.text.contains("took longer than 3 s"), "{}", result.text);
    let pid = std::fs::read_to_string(&pid).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap_or_default();
    assert!(status.is_empty() || status.contains("State:\tZ"), "{status}");
}

#[tokio::test]
async fn only_what_is_allowed_is_listed_or_run() {
    let mut server = server(vec![script("a", "echo a", None), script("b", "echo b", None)], None);
    server.tools = Some(vec!["a".into()]);
    let scripts = Scripts::of(&server).unwrap();
    assert_eq!(scripts.catalogue("s").expect("its schemas are good").names(), "a");
    assert!(called(&server, "b", json!({"n": 1})).await.failed);
}

#[tokio::test]
async fn a_script_whose_schema_checks_nothing_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let run = format!("touch {}", mark.display());
    let broken = json!({"type": "object", "properties": {"n": {"type": "nubmer"}}});
    let input = ScriptTool { input: JsonText::of(&broken), ..script("a", &run, None) };
    for script in [input, script("a", &run, Some(broken))] {
        let server = server(vec![script], None);
        let scripts = Scripts::of(&server).expect("these are scripts");
        let given = JsonText::of(&json!({"n": 1}));
        let called = scripts.call("s", "a", &given, "k", &means(), CancellationToken::new()).await;
        let failure = called.expect_err("nothing would be checked");
        assert_eq!((failure.class, failure.reason.as_deref()), (Class::Fatal, Some("bad_schema")));
        assert!(failure.message.contains("nubmer"), "{}", failure.message);
    }
    assert!(!mark.exists());
}
