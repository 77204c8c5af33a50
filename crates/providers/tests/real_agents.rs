//! Real coding agents against a loopback model server, which is a program of a third party.
//!
//! Runs where `CONVOKE_CODING_AGENTS` names a folder that `scripts/coding-agents` has filled; says that it was skipped
//! elsewhere. The agents get a home of their own, a key that opens nothing, and no way to look for updates.
#![allow(missing_docs, clippy::print_stderr)]

mod common;

use common::{Asked, Heard};
use convoke_agent::{Answered, Finish, Message, Provider, Providers, Report, Role};
use convoke_model::{Answer, Ask, Permissions, Program, ProviderSettings};
use convoke_providers::{Options, Registry};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Has the agent ask before it does anything, and leaves it to us what it may do.
const ASKING: [&str; 4] =
    ["-c", "approval_policy=\"untrusted\"", "-c", "sandbox_mode=\"danger-full-access\""];

/// A model server with its fixtures. It ends with this.
struct Model {
    process: Child,
    port: u16,
    home: tempfile::TempDir,
    programs: PathBuf,
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Model {
    /// Starts the server, where it is installed.
    fn start() -> Option<Model> {
        let Some(folder) = std::env::var_os("CONVOKE_CODING_AGENTS") else {
            eprintln!("skipped: CONVOKE_CODING_AGENTS names no folder that scripts/coding-agents has filled");
            return None;
        };
        let programs = Path::new(&folder).join("node_modules/.bin");
        // Codex refuses to keep its helpers in the folder for temporary files.
        let home = tempfile::Builder::new().prefix("home-").tempdir_in(&folder).unwrap();
        let fixtures = home.path().join("fixtures.json");
        std::fs::write(&fixtures, fixtures_text()).unwrap();
        let port = free_port();
        let mut command = Command::new(programs.join("llmock"));
        command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-f"]).arg(&fixtures);
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let is_up = lines.any(|line| line.is_ok_and(|line| line.contains("listening")));
        // The rest is read, so that the server never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let model = Model { process, port, home, programs };
        assert!(is_up, "the model server does not start");
        std::fs::create_dir(model.work()).unwrap();
        for (path, text) in model.configurations() {
            let path = model.home.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Some(model)
    }

    fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// What each agent reads to find the model.
    fn configurations(&self) -> [(&'static str, String); 4] {
        let address = format!("http://127.0.0.1:{}/v1", self.port);
        let service = json!({"npm": "@ai-sdk/openai-compatible", "name": "loopback",
            "options": {"baseURL": address, "apiKey": "x"}, "models": {"m": {"name": "m"}}});
        let opencode = json!({"autoupdate": false, "share": "disabled", "model": "loopback/m",
            "small_model": "loopback/m", "provider": {"loopback": service}});
        let model = json!({"id": "m", "name": "m", "reasoning": false, "input": ["text"], "contextWindow": 200_000,
            "maxTokens": 1000, "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}});
        let service =
            json!({"baseUrl": address, "apiKey": "x", "api": "openai-completions", "models": [model]});
        let pi = json!({"providers": {"loopback": service}});
        let gemini = json!({"security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}});
        [
            ("config.toml", self.codex()),
            (".config/opencode/opencode.json", opencode.to_string()),
            (".pi/agent/models.json", pi.to_string()),
            (".gemini/settings.json", gemini.to_string()),
        ]
    }

    fn codex(&self) -> String {
        format!(
            r#"model = "gpt-5"
model_provider = "loopback"
check_for_update_on_startup = false
[model_providers.loopback]
name = "loopback"
base_url = "http://127.0.0.1:{}/v1"
env_key = "LOOPBACK_KEY"
wire_api = "responses"
[analytics]
enabled = false
"#,
            self.port
        )
    }

    fn provider(
        &self,
        name: &str,
        program: &str,
        args: &[&str],
        permissions: Permissions,
    ) -> Arc<dyn Provider> {
        let home = self.home.path().display().to_string();
        let address = format!("http://127.0.0.1:{}", self.port);
        let env = [
            ("HOME", home.as_str()),
            ("CODEX_HOME", &home),
            ("LOOPBACK_KEY", "${NO_REAL_KEY}"),
            ("OPENAI_API_KEY", "${NO_REAL_KEY}"),
            ("GEMINI_API_KEY", "${NO_REAL_KEY}"),
            ("GOOGLE_GEMINI_BASE_URL", &address),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("PI_OFFLINE", "1"),
        ];
        let program = Program {
            command: self.programs.join(program).display().to_string(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            permissions,
        };
        let settings = ProviderSettings {
            name: name.into(),
            program: Some(Box::new(program)),
            ..ProviderSettings::default()
        };
        let path = std::env::var_os("PATH").unwrap();
        let lookup = Arc::new(|_: &str| Some("opens-nothing".to_owned()));
        let registry =
            Registry::new(Options::default(), lookup).with_child_environment(vec![("PATH".into(), path)]);
        registry.get(&settings).unwrap()
    }

    fn asked(&self, text: &str) -> Asked {
        Asked {
            messages: vec![Message::new(Role::User, text)],
            timeouts: convoke_agent::Timeouts::within(Duration::from_secs(90)),
            working_dir: Some(self.work().display().to_string()),
            ..Asked::default()
        }
    }
}

fn fixtures_text() -> String {
    let command = json!({"cmd": "touch made-by-agent"}).to_string();
    let fixtures = json!({"fixtures": [
        {"match": {"userMessage": "How many moons"}, "response": {"content": "Mars has two moons."}},
        {"match": {"userMessage": "Make a file", "hasToolResult": true}, "response": {"content": "It is there."}},
        {"match": {"userMessage": "Make a file"}, "response": {"toolCalls": [{"name": "exec_command", "arguments": command}]}}
    ]});
    fixtures.to_string()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn codex_answers_over_the_protocol() {
    let Some(model) = Model::start() else { return };
    let provider = model.provider("acp", "codex-acp", &ASKING, Permissions::Deny);
    let (asked, heard) = (model.asked("How many moons has Mars?"), Heard::default());
    let reply = provider.complete(&asked.request(), &heard).await.unwrap();
    // Before it, the agent complains that it does not know the model.
    assert!(reply.text.ends_with("Mars has two moons.") && reply.finish == Finish::Stop, "{}", reply.text);
    assert!(heard.text().contains("two moons"), "{}", heard.text());
}

#[tokio::test]
async fn codex_is_let_in_with_a_key() {
    let Some(model) = Model::start() else { return };
    // Its own service, which wants a key, at the address of the loopback.
    let address = format!(
        "check_for_update_on_startup = false\nopenai_base_url = \"http://127.0.0.1:{}/v1\"\n",
        model.port
    );
    std::fs::write(model.home.path().join("config.toml"), address + "[analytics]\nenabled = false\n")
        .unwrap();
    let provider = model.provider("acp", "codex-acp", &[], Permissions::Deny);
    let reply = model.asked("How many moons has Mars?").of(&*provider).await.unwrap();
    assert_eq!(reply.text, "Mars has two moons.");
}

#[tokio::test]
async fn codex_asks_before_it_runs_a_command() {
    let Some(model) = Model::start() else { return };
    let provider = model.provider("acp", "codex-acp", &ASKING, Permissions::Ask);
    let mut asked = model.asked("Make a file.");
    let asks = asked.of(&*provider).await.unwrap().asks.expect("it asks");
    let Ask::Choice { prompt, options, .. } = &asks.ask else { panic!("{:?}", asks.ask) };
    assert!(prompt.contains("touch made-by-agent"), "{prompt}");
    assert!(!model.work().join("made-by-agent").exists());
    let answer = Answer::Choice { value: options[0].value.clone(), input: Default::default() };
    asked.answered = Some(Answered { state: asks.state, answer });
    let reply = asked.of(&*provider).await.unwrap();
    assert_eq!(reply.text, "It is there.");
    assert!(model.work().join("made-by-agent").exists());
}

/// Has an agent that is installed only on demand answer; says so where it is not.
async fn answers(name: &str, program: &str, args: &[&str]) {
    let Some(model) = Model::start() else { return };
    if !model.programs.join(program).exists() {
        eprintln!("skipped: {program} comes with `scripts/coding-agents DIR all`");
        return;
    }
    let provider = model.provider(name, program, args, Permissions::Deny);
    let reply = model.asked("How many moons has Mars?").of(&*provider).await.unwrap();
    assert_eq!((reply.text.trim(), reply.usage.calls), ("Mars has two moons.", 1));
}

#[tokio::test]
async fn opencode_answers_over_the_protocol() {
    answers("acp", "opencode", &["acp"]).await;
}

#[tokio::test]
async fn opencode_answers_as_a_command() {
    answers("cli", "opencode", &["run", "--format", "json", "{prompt}"]).await;
}

#[tokio::test]
async fn gemini_answers_over_the_protocol() {
    answers("acp", "gemini", &["-m", "gemini-2.5-flash", "--acp", "--skip-trust"]).await;
}

#[tokio::test]
async fn gemini_answers_as_a_command() {
    let args = ["-m", "gemini-2.5-flash", "--output-format", "stream-json", "--skip-trust", "-p", "{prompt}"];
    answers("cli", "gemini", &args).await;
}

#[tokio::test]
async fn pi_answers_as_a_command() {
    let args = ["-p", "--mode", "json", "--provider", "loopback", "--model", "m", "{prompt}"];
    answers("cli", "pi", &args).await;
}

#[tokio::test]
async fn codex_answers_as_a_command() {
    let Some(model) = Model::start() else { return };
    let args = ["exec", "--json", "--skip-git-repo-check", "{prompt}"];
    let provider = model.provider("cli", "codex", &args, Permissions::Ask);
    let (asked, heard) = (model.asked("How many moons has Mars?"), Heard::default());
    let reply = provider.complete(&asked.request(), &heard).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.calls), ("Mars has two moons.", 1));
    let started = |report: &Report| matches!(report, Report::ProcessStarted { .. });
    assert!(heard.0.lock().unwrap().iter().any(started));
}
