use super::*;
use convoke_agent::{Message, Purpose, Role, Timeouts};
use convoke_model::TaskId;
use std::sync::Mutex;
use std::time::Duration;

#[derive(Default)]
struct Reports(Mutex<Vec<Report>>);

impl Sink for Reports {
    fn report(&self, report: Report) {
        self.0.lock().unwrap().push(report);
    }
}

/// What a command's output makes: the reply, what was shown, and the tools that were called.
fn heard(output: &str) -> (Reply, String, Vec<(String, bool)>) {
    let (reports, mut heard) = (Reports::default(), Heard::default());
    output.lines().for_each(|line| heard.take(line.to_owned(), &reports));
    heard.finish();
    assert_eq!(heard.fault(true), None);
    let (mut shown, mut tools) = (String::new(), Vec::new());
    for report in reports.0.into_inner().unwrap() {
        match report {
            Report::Progress { text } => shown.push_str(&text),
            Report::ToolCalled { tool, failed, .. } => tools.push((tool, failed)),
            _ => {}
        }
    }
    (reply(heard), shown, tools)
}

fn reply(heard: Heard) -> Reply {
    let (task, messages) = (TaskId("a".into()), [Message::new(Role::User, "How many?")]);
    heard.reply(&Request {
        model: "asked",
        meant: "asked",
        messages: &messages,
        schema: None,
        native_schema: false,
        tools: &[],
        temperature: None,
        max_tokens: None,
        reasoning_effort: None,
        left_out: &[],
        timeouts: Timeouts::within(Duration::from_secs(1)),
        answered: None,
        working_dir: None,
        contract: None,
        secrets: &[],
        mask: None,
        trace: None,
        step: "a",
        purpose: Purpose::Answer,
        task: &task,
        attempt: 1,
        cut_off: 0,
        call: 1,
        seed: 0,
    })
}

fn fault(output: &str, ended_well: bool) -> Option<Wrong> {
    let mut heard = Heard::default();
    output.lines().for_each(|line| heard.take(line.to_owned(), &convoke_agent::Silent));
    heard.finish();
    heard.fault(ended_well)
}

fn used(input: u64, output: u64, read: u64, written: u64, cost_micros: u64) -> Usage {
    Usage {
        calls: 1,
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: written,
        cost_micros,
        unpriced_calls: 0,
        estimated: false,
    }
}

#[test]
fn codex_is_understood() {
    let (reply, shown, tools) = heard(
        r#"{"type":"thread.started","thread_id":"0199"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"Hm."}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"I will look."}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"ls","status":"in_progress"}}
{"type":"error","message":"Reconnecting... 1/5"}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"ls","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"three"}}
{"type":"turn.completed","usage":{"input_tokens":24763,"cached_input_tokens":24448,"output_tokens":122}}"#,
    );
    assert_eq!((reply.text.as_str(), shown.as_str()), ("three", "I will look.three"));
    assert_eq!(reply.usage, used(24763, 122, 24448, 0, 0));
    assert_eq!(tools, [("command_execution".to_owned(), false)]);
    let failed = r#"{"type":"error","message":"gone"}
{"type":"turn.failed","error":{"message":"stream disconnected"}}"#;
    let wanted = Wrong {
        class: Class::Transient,
        reason: "agent_failed".into(),
        message: "stream disconnected".into(),
        retry_after_ms: None,
    };
    assert_eq!(fault(failed, false), Some(wanted));
}

#[test]
fn claude_is_understood() {
    let output = r#"{"type":"system","subtype":"init","session_id":"x","model":"claude-m","tools":[]}
{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"t1","name":"Bash","input":{}}],"usage":{"input_tokens":3}}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no"}]}}
{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"three"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"three","total_cost_usd":0.0123,"usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11,"output_tokens":13}}"#;
    let (reply, shown, tools) = heard(output);
    assert_eq!((reply.text.as_str(), reply.model.as_str()), ("three", "claude-m"));
    assert_eq!(shown, "Let me see.three");
    assert_eq!(reply.usage, used(23, 13, 11, 7, 12_300));
    assert_eq!(tools, [("Bash".to_owned(), true)]);
    let shaped =
        r#"{"type":"result","subtype":"success","is_error":false,"result":"","structured_output":{"n":3}}"#;
    assert_eq!(heard(shaped).0.text, "{\"n\":3}");
    let limit = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3}"#;
    assert_eq!(fault(limit, true).map(|wrong| wrong.class), Some(Class::Transient));
}

#[test]
fn opencode_is_understood() {
    let output = r#"{"type":"step_start","timestamp":1,"sessionID":"s","part":{"type":"step-start"}}
{"type":"tool_use","timestamp":1,"sessionID":"s","part":{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed"}}}
{"type":"step_finish","timestamp":1,"sessionID":"s","part":{"reason":"tool-calls","cost":0.001,"tokens":{"input":10,"output":2,"reasoning":1,"cache":{"read":4,"write":0}}}}
{"type":"text","timestamp":1,"sessionID":"s","part":{"type":"text","text":"three"}}
{"type":"step_finish","timestamp":1,"sessionID":"s","part":{"reason":"stop","cost":0.002,"tokens":{"input":20,"output":3,"reasoning":0,"cache":{"read":0,"write":5}}}}"#;
    let (reply, _, tools) = heard(output);
    assert_eq!((reply.text.as_str(), reply.usage), ("three", used(39, 6, 4, 5, 3_000)));
    assert_eq!(tools, [("bash".to_owned(), false)]);
    let limited = r#"{"type":"error","timestamp":1,"sessionID":"s","error":{"name":"APIError","data":{"message":"slow down","statusCode":429}}}"#;
    let wanted = Wrong {
        class: Class::RateLimit,
        reason: "status_429".into(),
        message: "slow down".into(),
        retry_after_ms: None,
    };
    assert_eq!(fault(limited, true), Some(wanted));
}

#[test]
fn pi_is_understood() {
    let output = r#"{"type":"session","version":3,"id":"x"}
{"type":"agent_start"}
{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"How many?"}]}}
{"type":"message_update","message":{},"assistantMessageEvent":{"type":"text_delta","delta":"thr"}}
{"type":"message_update","message":{},"assistantMessageEvent":{"type":"text_delta","delta":"ee"}}
{"type":"message_end","message":{"role":"assistant","model":"m","stopReason":"stop","content":[{"type":"text","text":"three"}],"usage":{"input":9,"output":4,"cacheRead":1,"cacheWrite":0,"cost":{"total":0.5}}}}
{"type":"agent_end","messages":[]}
{"type":"compaction_start","message":"not an answer"}"#;
    let (reply, shown, _) = heard(output);
    assert_eq!((reply.text.as_str(), shown.as_str(), reply.model.as_str()), ("three", "three", "m"));
    assert_eq!(reply.usage, used(10, 4, 1, 0, 500_000));
    let failed = r#"{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"no","content":[]}}"#;
    assert_eq!(fault(failed, true).map(|wrong| wrong.message), Some("no".into()));
}

#[test]
fn gemini_is_understood_in_both_its_forms() {
    let output = r#"{"type":"init","session_id":"x","model":"gem"}
{"type":"message","role":"user","content":"How many?"}
{"type":"message","role":"assistant","content":"Let me ","delta":true}
{"type":"message","role":"assistant","content":"see.","delta":true}
{"type":"tool_use","tool_name":"ls","tool_id":"t"}
{"type":"tool_result","tool_id":"t","status":"success"}
{"type":"message","role":"assistant","content":"three","delta":true}
{"type":"result","status":"success","stats":{"total_tokens":12,"input_tokens":9,"output_tokens":3,"cached":2}}"#;
    let (reply, shown, tools) = heard(output);
    assert_eq!(
        (reply.text.as_str(), shown.as_str(), reply.model.as_str()),
        ("three", "Let me see.three", "gem")
    );
    assert_eq!(tools, [("ls".to_owned(), false)]);
    assert_eq!(reply.usage, used(9, 3, 2, 0, 0));
    let whole = "{\n  \"response\": \"three\",\n  \"stats\": {\"models\": {\"gem\": {\"tokens\": {\"prompt\": 9, \"candidates\": 2, \"thoughts\": 1, \"cached\": 2}}}}\n}";
    let (reply, _, _) = heard(whole);
    assert_eq!((reply.text.as_str(), reply.usage), ("three", used(9, 3, 2, 0, 0)));
    let denied = "{\"error\": {\"type\": \"ApiError\", \"message\": \"no\", \"code\": 401}, \"stats\": {}}";
    assert_eq!(fault(denied, true).map(|wrong| wrong.class), Some(Class::Permission));
}

#[test]
fn any_other_output_is_an_answer_too() {
    for (output, answer) in [
        ("plain text\nin two lines\n", "plain text\nin two lines"),
        ("{\"step\": 1}\n{\"text\": \"first\"}\nnoise\n{\"result\": \"last\"}\n{\"done\": true}", "last"),
        ("[1, 2]", "[1, 2]"),
        ("", ""),
    ] {
        let (reply, _, _) = heard(output);
        assert_eq!(reply.text, answer, "{output}");
        assert!(reply.usage.estimated && reply.usage.calls == 1 && reply.model == "asked");
    }
}

#[test]
fn words_decide_nothing() {
    let words = r#"{"message": "rate limit 429 exceeded"}"#;
    assert_eq!(fault(words, true), None);
    let wanted = Wrong {
        class: Class::Transient,
        reason: "agent_failed".into(),
        message: String::new(),
        retry_after_ms: None,
    };
    assert_eq!(fault(words, false), Some(wanted));
}
