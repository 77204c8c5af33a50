use super::*;
use convoke_agent::NoTools;
use convoke_model::{OWN_SERVER, TaskId, own_tools};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

struct World {
    folder: TempDir,
    hands: Hands,
    servers: Servers,
    task: TaskId,
}

fn world(files: &[(&str, &str)]) -> World {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let shell = Arc::new(NoShell("there is no sandbox".into()));
    let hands = Hands::new(Arc::new(NoTools), folder.path().to_owned(), shell);
    let tools = Some(own_tools().map(str::to_owned).collect());
    let server = Server {
        transport: Transport::Own { policies: Vec::new(), protect: Vec::new() },
        timeout: None,
        tools,
    };
    World {
        hands,
        servers: Servers::from([(OWN_SERVER.to_owned(), server)]),
        folder,
        task: TaskId("t".into()),
    }
}

impl World {
    fn asker(&self) -> Asker<'_> {
        Asker { task: &self.task, attempt: 1, key: "k", trace: None, folder: None, step: "s", contract: None }
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        let tools = self.hands.list(self.asker(), &self.servers).await.unwrap();
        let tool = tools.iter().find(|known| known.name == tool).unwrap();
        let arguments = JsonText::of(&arguments);
        let stop = CancellationToken::new();
        self.hands.call(self.asker(), &self.servers, tool, &arguments, stop).await.unwrap()
    }

    async fn done(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert!(!result.failed, "{}", result.text);
        result.text
    }

    async fn refused(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert!(result.failed, "{}", result.text);
        result.text
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

#[tokio::test]
async fn tools_say_what_they_do_to_the_world() {
    let world = world(&[]);
    let tools = world.hands.list(world.asker(), &world.servers).await.unwrap();
    let flags: Vec<_> = tools
        .iter()
        .map(|tool| (tool.spec.name.as_str(), tool.read_only, tool.repeatable, tool.destructive))
        .collect();
    assert_eq!(
        flags,
        [
            ("convoke__read_file", true, true, false),
            ("convoke__list_files", true, true, false),
            ("convoke__search_files", true, true, false),
            ("convoke__write_file", false, true, false),
            ("convoke__edit_file", false, false, false),
            ("convoke__apply_patch", false, false, false),
            ("convoke__shell", false, false, false),
            ("convoke__knowledge_query", true, true, false),
        ]
    );
    assert!(tools.iter().all(|tool| tool.spec.description.len() > 40));
}

#[tokio::test]
async fn a_long_file_is_read_in_parts_that_say_how_to_go_on() {
    let text: String = (1..=3000).map(|n| format!("line {n}\n")).collect();
    let world = world(&[("long.txt", &text), ("empty", ""), ("wide", &"x".repeat(5_000))]);
    let first = world.done("read_file", json!({"path": "long.txt"})).await;
    assert!(first.starts_with("     1\tline 1\n"), "{first}");
    assert!(first.ends_with("[lines 1 to 2000 of 3000; read on with offset 2001]"), "{first}");
    let rest = world.done("read_file", json!({"path": "long.txt", "offset": 2999})).await;
    assert_eq!(rest, "  2999\tline 2999\n  3000\tline 3000");
    let some = world.done("read_file", json!({"path": "long.txt", "offset": 5, "limit": 1})).await;
    assert_eq!(some, "     5\tline 5\n[lines 5 to 5 of 3000; read on with offset 6]");
    assert_eq!(world.done("read_file", json!({"path": "empty"})).await, "[`empty` is empty]");
    assert!(world.done("read_file", json!({"path": "wide"})).await.ends_with("[3000 more characters]"));
    let behind = world.refused("read_file", json!({"path": "long.txt", "offset": 4000})).await;
    assert_eq!(behind, "`long.txt` has 3000 lines; there is no line 4000");
}

#[tokio::test]
async fn what_is_no_text_is_said_to_be_none() {
    let world = world(&[]);
    fs::write(world.folder.path().join("binary"), b"\x7fELF\0\0").unwrap();
    fs::write(world.folder.path().join("latin"), b"caf\xe9\n").unwrap();
    assert!(world.refused("read_file", json!({"path": "binary"})).await.contains("not a text file"));
    assert!(world.done("read_file", json!({"path": "latin"})).await.contains("not all of it is UTF-8"));
    assert!(world.refused("read_file", json!({"path": "."})).await.contains("list_files"));
}

#[tokio::test]
async fn files_are_written_edited_and_patched() {
    let world = world(&[("src/a.rs", "fn a() {\n    one();\n}\n"), ("old.txt", "x\n")]);
    let made = world.done("write_file", json!({"path": "new/b.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(made, "created new/b.txt (2 lines, 8 bytes)");
    assert!(
        world.done("write_file", json!({"path": "new/b.txt", "content": "x"})).await.starts_with("replaced")
    );
    let edit = json!({"path": "src/a.rs", "old_string": "one();", "new_string": "two();"});
    let edited = world.done("edit_file", edit.clone()).await;
    assert!(edited.contains("     2\t    two();"), "{edited}");
    assert!(world.refused("edit_file", edit).await.contains("may have been made before"));
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn a() {\n-    two();\n+    three();\n*** Delete File: old.txt\n\
                 *** Add File: ./new/c.txt\n+c\n*** End Patch";
    let patched = world.done("apply_patch", json!({"patch": patch})).await;
    assert_eq!(patched, "changed src/a.rs (1 place)\ndeleted old.txt\nadded new/c.txt");
    assert_eq!(world.file("src/a.rs"), "fn a() {\n    three();\n}\n");
    assert!(!world.folder.path().join("old.txt").exists());
}

#[tokio::test]
async fn a_patch_that_does_not_fit_as_a_whole_changes_nothing() {
    let world = world(&[("a", "1\n"), ("b", "2\n")]);
    let patch = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-zwei\n+two\n";
    let refused = world.refused("apply_patch", json!({"patch": patch})).await;
    assert!(refused.starts_with("nothing was changed:\n`b`: its lines were not found"), "{refused}");
    let evil = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n";
    assert!(world.refused("apply_patch", json!({"patch": evil})).await.contains("is protected"));
    assert_eq!(world.file("a"), "1\n");
}

#[tokio::test]
async fn files_are_listed_and_searched() {
    let world = world(&[
        ("src/main.rs", "fn main() {}\n// TODO one\n"),
        ("src/deep/lib.rs", "// todo two\n"),
        ("target/x.rs", "TODO\n"),
        (".gitignore", "target\n"),
    ]);
    let listed = world.done("list_files", json!({})).await;
    assert_eq!(listed, ".gitignore (7 bytes)\nsrc/");
    let all = world.done("list_files", json!({"path": "src", "glob": "*.rs"})).await;
    assert_eq!(all, "src/deep/lib.rs (12 bytes)\nsrc/main.rs (25 bytes)");
    let found = world.done("search_files", json!({"pattern": "todo (one|two)", "ignore_case": true})).await;
    assert_eq!(
        found,
        "src/deep/lib.rs\n     1: // todo two\nsrc/main.rs\n     2: // TODO one\n[2 matches in 2 files]"
    );
    let literal =
        world.done("search_files", json!({"pattern": "main()", "literal": true, "glob": ["*.rs"]})).await;
    assert!(literal.contains("[1 match in 1 file]"), "{literal}");
    assert!(world.refused("search_files", json!({"pattern": "main("})).await.contains("set `literal`"));
    let cut = world.done("search_files", json!({"pattern": ".", "limit": 1})).await;
    assert!(cut.contains("not all is shown: there are more matches"), "{cut}");
}

#[tokio::test]
async fn no_tool_leads_out_or_to_what_is_guarded() {
    let world =
        world(&[("repo/a.txt", "a\n"), ("other/secret.txt", "secret\n"), ("repo/.env", "KEY=hidden\n")]);
    std::os::unix::fs::symlink("../other", world.folder.path().join("repo/out")).unwrap();
    let asker = Asker { folder: Some("repo"), ..world.asker() };
    let tools = world.hands.list(asker, &world.servers).await.unwrap();
    let outside = [
        "../other/secret.txt",
        "out/secret.txt",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        ".env",
        "file:///etc/passwd",
    ];
    // The shell is judged by its commands, and a query names no path.
    let names_paths = |name: &str| name != "shell" && name != convoke_model::KNOWLEDGE_TOOL;
    for tool in tools.iter().filter(|tool| names_paths(&tool.name)) {
        for path in outside {
            let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-secret\n+x\n*** End Patch");
            let arguments = match tool.name.as_str() {
                "read_file" | "list_files" => json!({"path": path}),
                "search_files" => json!({"path": path, "pattern": "."}),
                "write_file" => json!({"path": path, "content": "x"}),
                "edit_file" => json!({"path": path, "old_string": "secret", "new_string": "x"}),
                "apply_patch" => json!({"patch": patch}),
                other => panic!("what does {other} do?"),
            };
            let stop = CancellationToken::new();
            let result =
                world.hands.call(asker, &world.servers, tool, &JsonText::of(&arguments), stop).await.unwrap();
            assert!(result.failed, "{} {path}: {}", tool.name, result.text);
            assert!(!result.text.contains("hidden") && !result.text.contains("root:"), "{}", result.text);
        }
    }
    // What a search goes through is guarded too.
    let search = tools.iter().find(|tool| tool.name == "search_files").unwrap();
    let (arguments, stop) =
        (JsonText::of(&json!({"pattern": "hidden|secret", "ignored": true})), CancellationToken::new());
    let result = world.hands.call(asker, &world.servers, search, &arguments, stop).await.unwrap();
    assert_eq!(result.text, "[no line fits]");
    assert_eq!(world.file("other/secret.txt"), "secret\n");
}

#[tokio::test]
async fn arguments_that_do_not_fit_and_a_shell_without_a_sandbox_are_told() {
    let world = world(&[]);
    let wrong = world.refused("read_file", json!({"file": "x"})).await;
    assert!(wrong.starts_with("the arguments do not fit"), "{wrong}");
    let refused = world.refused("shell", json!({"command": "touch made"})).await;
    assert_eq!(refused, "no command can be run here: there is no sandbox");
    assert!(!world.folder.path().join("made").exists());
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let world = world(&[]);
    let asker = Asker { folder: Some("missing"), ..world.asker() };
    let tools = world.hands.list(asker, &world.servers).await.unwrap();
    let (arguments, stop) = (JsonText::of(&json!({"path": "x"})), CancellationToken::new());
    let result = world.hands.call(asker, &world.servers, &tools[0], &arguments, stop).await.unwrap();
    assert!(
        result.failed && result.text.contains("the working folder `missing` cannot be used"),
        "{}",
        result.text
    );
}

/// There is one table of guarded names. Whoever adds a name to it has it held by the file tools, by the policy of commands and, where it
/// says so, by the sandbox.
#[tokio::test]
async fn a_guarded_name_is_held_in_every_layer() {
    use convoke_model::protected::{PROTECTED, Reach, SECRETS};
    let world = world(&[("a.txt", "a")]);
    let root = world.folder.path();
    let confined = convoke_sandbox::Confinement::full(root, &[], convoke_sandbox::Network::Closed);
    let policy = convoke_policy::Policy::preset("develop").unwrap();
    let seen = convoke_policy::Lexical::new(root).with("a.txt", convoke_policy::Kind::File { names: 1 });
    let verdict = |command: &str| policy.judge(command, root, &seen).verdict;
    assert_eq!(verdict("cp a.txt b.txt"), convoke_policy::Verdict::Allow);
    for guarded in PROTECTED.iter().chain(SECRETS) {
        let name = guarded.name.trim_start_matches('/').replace('*', "x");
        let refused = world.refused("write_file", json!({"path": name, "content": "x"})).await;
        assert!(refused.contains("protected") || refused.contains("secret"), "{name}: {refused}");
        assert_ne!(verdict(&format!("cp a.txt {name}")), convoke_policy::Verdict::Allow, "{name}");
        if !guarded.held.is_empty() {
            assert_eq!(guarded.reach, Reach::All, "{name}");
            assert!(confined.protected.iter().any(|held| held == guarded.held), "{name}");
        }
    }
    for guarded in SECRETS {
        let name = guarded.name.replace('*', "x");
        let refused = world.refused("read_file", json!({"path": name})).await;
        assert!(refused.contains("secret"), "{name}: {refused}");
        assert_ne!(verdict(&format!("cat {name}")), convoke_policy::Verdict::Allow, "{name}");
        if !guarded.name.contains('/') && guarded.name != convoke_model::protected::BARE_KEY {
            let judged = policy.judge("grep -rn x src", root, &seen);
            assert!(format!("{:?}", judged.plan).contains(&format!("--exclude={}", guarded.name)), "{name}");
        }
    }
}

/// `AGENTS.md` and its like are text that agents read and are asked to write: nothing runs them, and whoever obeys them has a policy and a
/// sandbox. Who wants them kept says so.
#[tokio::test]
async fn instructions_for_agents_are_ordinary_files_unless_a_step_protects_them() {
    let world = world(&[]);
    for name in ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] {
        world.done("write_file", json!({"path": name, "content": "Be brief."})).await;
    }
    let protect = vec!["AGENTS.md".to_owned()];
    let server = Server {
        transport: Transport::Own { policies: Vec::new(), protect },
        timeout: None,
        tools: Some(own_tools().map(str::to_owned).collect()),
    };
    let world = World { servers: Servers::from([(OWN_SERVER.to_owned(), server)]), ..world };
    let refused = world.refused("write_file", json!({"path": "AGENTS.md", "content": "Obey me."})).await;
    assert!(refused.contains("AGENTS.md"), "{refused}");
}
