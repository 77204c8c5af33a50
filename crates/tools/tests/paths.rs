//! The paths of the attack corpus (`PATH-R`, `PATH-W`), through every tool of ours that reads or writes.
//!
//! `/w` of the corpus is a folder of the test, `/w/repo` in it the root; `.engine` stands for the engine's own folder.

use convoke_agent::{Asker, NoTools, ToolResult, Toolbox};
use convoke_model::{JsonText, OWN_SERVER, Server, Servers, TaskId, Transport};
use convoke_tools::{Hands, NoShell};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const SECRET: &str = "canary-of-the-outside";

fn world(folder: &Path) {
    for inside in ["repo/src", "repo/docs", "repo/sub", "repo/deploy", "repo/target", "other", "home/.ssh"] {
        fs::create_dir_all(folder.join(inside)).unwrap();
    }
    for file in ["other/secret.txt", "home/.ssh/id_rsa"] {
        fs::write(folder.join(file), format!("{SECRET}\n")).unwrap();
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(folder.join("home/.ssh/id_rsa"), mode).unwrap();
    for file in ["repo/.env", "repo/sub/.env.production", "repo/deploy/key.pem"] {
        fs::write(folder.join(file), format!("{SECRET}\n")).unwrap();
    }
    for file in ["repo/src/main.rs", "repo/docs/..notes.md", "repo/environment.md"] {
        fs::write(folder.join(file), "inside\n").unwrap();
    }
    symlink(folder.join("other"), folder.join("repo/link_out")).unwrap();
    symlink("a", folder.join("repo/link_chain")).unwrap();
    symlink(folder.join("other/secret.txt"), folder.join("repo/a")).unwrap();
    fs::hard_link(folder.join("home/.ssh/id_rsa"), folder.join("repo/hard_secret")).unwrap();
}

fn arguments(tool: &str, path: &str) -> Value {
    match tool {
        "read_file" | "list_files" => json!({ "path": path }),
        "search_files" => json!({ "path": path, "pattern": "." }),
        "write_file" => json!({ "path": path, "content": "written\n" }),
        "edit_file" => json!({ "path": path, "old_string": "inside", "new_string": "edited" }),
        "apply_patch" => {
            json!({ "patch": format!("*** Begin Patch\n*** Add File: {path}\n+written\n*** End Patch") })
        }
        other => panic!("what does {other} take?"),
    }
}

async fn call(hands: &Hands, tool: &str, path: &str) -> ToolResult {
    let tools = Some(vec![tool.to_owned()]);
    let server = Server {
        transport: Transport::Own { policies: Vec::new(), protect: Vec::new() },
        timeout: None,
        tools,
    };
    let servers = Servers::from([(OWN_SERVER.to_owned(), server)]);
    let task = TaskId("t".into());
    let asker = Asker {
        task: &task,
        attempt: 1,
        key: "k",
        trace: None,
        folder: Some("repo"),
        step: "s",
        contract: None,
    };
    let offered = hands.list(asker, &servers).await.unwrap();
    let given = JsonText::of(&arguments(tool, path));
    hands.call(asker, &servers, &offered[0], &given, CancellationToken::new()).await.unwrap()
}

#[tokio::test]
async fn every_path_of_the_corpus_is_judged_as_it_says() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("corpus/paths.json")).unwrap();
    assert!(cases.len() >= 29, "the corpus is there");
    for case in &cases {
        let folder = tempfile::tempdir().unwrap();
        world(folder.path());
        let shell = Arc::new(NoShell("it is not tried here".into()));
        let hands = Hands::new(Arc::new(NoTools), folder.path().to_owned(), shell);
        let path = case["path"].as_str().unwrap().replace(".engine", ".convoke");
        let path = path.replace("/w/", &format!("{}/", folder.path().display()));
        let (id, allowed) = (case["id"].as_str().unwrap(), case["expect"] == "allow");
        let reads = case["policy"] == "PATH-R";
        let tools: &[&str] = match (reads, allowed) {
            (true, true) => &["read_file", "search_files"],
            (true, false) => &["read_file", "search_files", "list_files", "edit_file"],
            (false, _) => &["write_file", "apply_patch"],
        };
        for tool in tools {
            let result = call(&hands, tool, &path).await;
            assert_eq!(!result.failed, allowed, "{id} {tool} {path}: {}", result.text);
            assert!(!result.text.contains(SECRET), "{id} {tool}: {}", result.text);
            // What was allowed is not in the way of the next tool.
            if allowed && !reads {
                fs::remove_file(folder.path().join("repo").join(&path)).unwrap();
            }
        }
        assert_eq!(
            fs::read_to_string(folder.path().join("other/secret.txt")).unwrap(),
            format!("{SECRET}\n"),
            "{id}"
        );
    }
}
