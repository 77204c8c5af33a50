use super::*;
use convoke_model::PolicySource;
use serde_json::json;
use std::fs;
use tempfile::TempDir;

fn world(files: &[(&str, &str)]) -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let root = Root::open(folder.path()).unwrap();
    (folder, root)
}

fn shell() -> Sandboxed {
    Sandboxed::new(Environment::new(std::env::vars_os().filter(|(name, _)| name == "PATH"), &[]))
}

fn policy(text: &str) -> Held {
    Held::stated(&[PolicySource { name: "policy.yaml".into(), text: Some(text.into()), cedar: None }])
}

async fn run(root: Root, arguments: Value) -> ToolResult {
    shell().run(root, &Held::stated(&[]), &arguments, None, CancellationToken::new()).await.unwrap()
}

#[tokio::test]
async fn a_command_is_handed_the_span_of_its_attempt() {
    if !has_sandbox() {
        return;
    }
    for (trace, seen) in [(Some("00-1-2-01"), "00-1-2-01.\n[exit code 0]"), (None, ".\n[exit code 0]")] {
        let (_folder, root) = world(&[]);
        let arguments = json!({"command": "echo $TRACEPARENT."});
        let result =
            shell().run(root, &Held::stated(&[]), &arguments, trace, CancellationToken::new()).await.unwrap();
        assert_eq!(result.text, seen);
    }
}

/// Whether this machine has a sandbox; a test that cannot run says so.
#[allow(clippy::print_stderr, reason = "a test that cannot run must say so")]
fn has_sandbox() -> bool {
    let available = convoke_sandbox::available();
    if let Err(missing) = &available {
        eprintln!("skipped: {missing}");
    }
    available.is_ok()
}

#[tokio::test]
async fn pipes_joins_and_redirects_are_the_engines() {
    if !has_sandbox() {
        return;
    }
    for (command, output, code) in [
        ("echo one two", "one two", 0),
        ("cat a.txt | sort | head -n 2", "a\nb", 0),
        ("cat < a.txt", "c\na\nb", 0),
        ("echo x > made.txt && cat made.txt", "x", 0),
        ("echo x >> a.txt; tail -n 1 a.txt", "x", 0),
        ("ls missing || echo none", "none", 0),
        ("ls missing 2>/dev/null && echo there", "", 2),
        ("grep nothing a.txt", "", 1),
        ("cat a.txt | head -n 1", "c", 0),
    ] {
        let (_folder, root) = world(&[("a.txt", "c\na\nb\n")]);
        let result = run(root, json!({ "command": command })).await;
        let shown = result.text.strip_suffix(&format!("[exit code {code}]"));
        let shown = shown.unwrap_or_else(|| panic!("{command}: {}", result.text));
        assert!(shown.trim_end().ends_with(output), "{command}: {}", result.text);
        assert_eq!(result.failed, code != 0, "{command}");
    }
}

#[tokio::test]
async fn what_the_policy_denies_is_not_run_and_what_it_asks_about_is_shown_whole() {
    let (folder, root) = world(&[]);
    let denied = run(root, json!({"command": "echo x > .git/hooks/pre-commit"})).await;
    assert!(denied.failed && denied.text.contains("the policy denies this command"), "{}", denied.text);
    assert!(!folder.path().join(".git").exists());
    let root = Root::open(folder.path()).unwrap();
    let review = |command: &str| shell().review(&root, &Held::stated(&[]), &json!({ "command": command }));
    assert_eq!(review("ls -la"), Review::Allow);
    assert!(matches!(review("cat /etc/../etc/shadow"), Review::Ask { .. } | Review::Deny { .. }));
    let Review::Ask { action, reason } = review("for f in *; do touch \"$f\"; done") else {
        panic!("a loop is asked about")
    };
    assert!(action.contains("for f in") && reason.starts_with("policy develop: "), "{action} {reason}");
    assert!(matches!(
        shell().review(&root, &policy("extends: nothing-known"), &json!({"command": "ls"})),
        Review::Allow
    ));
}

#[tokio::test]
async fn the_strictest_of_several_policies_counts() {
    let (_folder, root) = world(&[]);
    let presets =
        ["develop", "read-only"].map(|name| PolicySource { name: name.into(), text: None, cedar: None });
    let review = shell().review(&root, &Held::stated(&presets), &json!({"command": "touch made"}));
    assert!(matches!(review, Review::Deny { .. }), "{review:?}");
    let unknown = [PolicySource { name: "nothing".into(), text: None, cedar: None }];
    let arguments = json!({"command": "ls"});
    let result =
        shell().run(root, &Held::stated(&unknown), &arguments, None, CancellationToken::new()).await.unwrap();
    assert_eq!(result.text, "there is no policy `nothing`");
}

#[tokio::test]
async fn a_command_ends_in_time_with_everything_that_it_started() {
    if !has_sandbox() {
        return;
    }
    let (_folder, root) = world(&[("wait.py", "import time\ntime.sleep(600)\n")]);
    let result = run(root, json!({"command": "python3 wait.py", "timeout_seconds": 1})).await;
    assert!(result.failed && result.text.contains("longer than 1 s"), "{}", result.text);
}

#[tokio::test]
async fn long_output_is_cut_in_its_middle() {
    if !has_sandbox() {
        return;
    }
    let (_folder, root) = world(&[]);
    let result = run(root, json!({"command": "seq 1 400000"})).await;
    assert!(result.text.contains("bytes left out") && result.text.contains("\n400000\n[exit code 0]"));
    assert!(result.text.len() < (1 << 20) + 1000, "{}", result.text.len());
}

#[tokio::test]
async fn what_a_person_allowed_runs_in_the_sandbox_too() {
    if !has_sandbox() {
        return;
    }
    let (folder, root) = world(&[]);
    let outside = folder.path().with_extension("outside");
    let command = format!(
        "for n in 1 2; do echo $n; done; echo x > {}; cat /proc/net/tcp | wc -l; echo $((1+1)) > in",
        outside.display()
    );
    let result = run(root, json!({ "command": command })).await;
    assert!(result.text.starts_with("1\n2\n"), "{}", result.text);
    assert!(!outside.exists(), "{}", result.text);
    assert_eq!(fs::read_to_string(folder.path().join("in")).unwrap(), "2\n");
}
