//! Attempts in workspaces, performed by a stand-in that edits files.

use super::*;
use crate::git::Surroundings;
use convoke_agent::{Admission, Admitted, CallDemand, CallPermit, Report, Sink, TurnLog, TurnRecord};
use convoke_model::{Digest, Retry, ScriptCall, Sealed, TaskId, WorktreeCall};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use tempfile::TempDir;

/// Says what is told, in words.
#[derive(Default)]
struct Link(Mutex<Vec<String>>);

impl Admission for Link {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        convoke_agent::Unlimited.admit(call)
    }

    fn settle(&self, _: CallPermit, _: &Usage, _: Option<&Failure>) {}
}

impl Sink for Link {
    fn report(&self, report: Report) {
        if let Report::Noted { code, .. } = report {
            self.0.lock().unwrap().push(code.to_owned());
        }
    }
}

impl TurnLog for Link {
    fn record(&self, _: TurnRecord) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn settle_tools(&self, _: Vec<String>) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn recall(&self, _: Digest) -> BoxFuture<'_, Option<JsonText>> {
        Box::pin(std::future::ready(None))
    }

    fn workspace(&self, owner: TaskId, told: WorkspaceTold) -> BoxFuture<'_, Result<(), Failure>> {
        let word = match told {
            WorkspaceTold::Leased(_) => "leased".to_owned(),
            WorkspaceTold::Sealed { .. } => "sealed".to_owned(),
            WorkspaceTold::Conflicted { round, resolver, .. } => {
                format!("conflict {round} {}", resolver.unwrap_or_default())
            }
            WorkspaceTold::Merged { .. } => "merged".to_owned(),
            WorkspaceTold::Kept(_) => "kept".to_owned(),
            WorkspaceTold::Released => "released".to_owned(),
        };
        self.0.lock().unwrap().push(format!("{owner} {word}"));
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What stands in for an attempt: given the folder that it works in and whether it is to resolve.
type Act = Box<dyn Fn(&Path, bool) -> Option<Failure> + Send + Sync>;

struct StandIn(Act);

impl Executor for StandIn {
    fn attempt(
        &self,
        assignment: Assignment,
        _: Arc<dyn EngineLink>,
        _: CancellationToken,
    ) -> BoxFuture<'static, AttemptEnd> {
        let Work::Script(call) = &assignment.work else { panic!("only scripts stand in") };
        let resolves = call.env.iter().any(|(name, _)| name == "CONVOKE_CONFLICTS");
        let folder = call.working_dir.clone().expect("it has a folder");
        assert!(
            call.env.iter().any(|(name, value)| name == "CONVOKE_WORKSPACE" && folder.starts_with(value))
        );
        let usage = Usage { calls: 1, ..Usage::default() };
        let end = match (self.0)(Path::new(&folder), resolves) {
            None => AttemptEnd::Finished { output: JsonText::of(&"done"), usage },
            Some(failure) => AttemptEnd::Failed { failure, usage, partial: None },
        };
        Box::pin(std::future::ready(end))
    }
}

struct World {
    folder: TempDir,
    leases: Arc<Leases>,
    link: Arc<Link>,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::of(std::env::vars_os());
        let leases = Arc::new(Leases::new(folder.path().join("state"), "r", surroundings));
        let world = World { folder, leases, link: Arc::default() };
        std::fs::create_dir_all(world.repository().join("sub")).unwrap();
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world.commit("none\n");
        world
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn git(&self, args: &[&str]) -> String {
        let named = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
        let ran =
            Command::new("git").arg("-C").arg(self.repository()).args(named).args(args).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
    }

    fn commit(&self, text: &str) {
        std::fs::write(self.repository().join("sub/line"), text).unwrap();
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", "elsewhere"]);
    }

    fn script() -> Work {
        Work::Script(Box::new(ScriptCall {
            command: "c".into(),
            args: vec![],
            env: vec![],
            working_dir: None,
            stdin: None,
            schema: None,
            idle: None,
            key: None,
            survival: None,
        }))
    }

    fn assignment(&self, sealed: Option<Sealed>) -> Assignment {
        let worktree =
            WorktreeCall { base: "HEAD".into(), merge: MergeMode::Rebase, ..WorktreeCall::default() };
        let resolver = convoke_model::Resolver { name: "put".into(), work: World::script(), contract: None };
        let call = WorkspaceCall {
            owner: TaskId("a".into()),
            folder: self.repository().join("sub").display().to_string(),
            worktree: Some(worktree),
            ports: 1,
            parent: None,
            shared: false,
            judged: false,
            known: false,
            survives: false,
            sealed: sealed.map(Box::new),
            resolver: Some(Box::new(resolver)),
            resolve_attempts: 2,
        };
        Assignment {
            trace: None,
            task: TaskId("a".into()),
            attempt: 1,
            key: "k".into(),
            step: "a".into(),
            work: World::script(),
            seed: 0,
            continues: vec![],
            past: vec![],
            answer: None,
            retry: Retry::once(),
            failures: 0,
            cut_off: 0,
            known_results: vec![],
            remembered: vec![],
            guidance: vec![],
            contract: None,
            workspace: Some(Box::new(call)),
        }
    }

    async fn attempt(&self, assignment: Assignment, act: Act) -> AttemptEnd {
        let executor = WorkspaceExecutor::over(Arc::new(StandIn(act)), self.leases.clone(), FORECAST_PERIOD);
        executor.attempt(assignment, self.link.clone(), CancellationToken::new()).await
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.link.0.lock().unwrap())
    }
}

fn edits(text: &'static str) -> Act {
    Box::new(move |folder, _| {
        std::fs::write(folder.join("line"), text).unwrap();
        None
    })
}

#[tokio::test]
async fn work_is_done_where_the_run_would_stand_and_is_back_before_the_attempt_ends() {
    let world = World::new();
    let end = world.attempt(world.assignment(None), edits("done\n")).await;
    assert!(matches!(&end, AttemptEnd::Finished { usage, .. } if usage.calls == 1), "{end:?}");
    assert_eq!(world.git(&["show", "main:sub/line"]), "done");
    assert_eq!(world.told(), ["a leased", "a sealed", "a merged", "a released"]);
    assert_eq!(world.leases.all(), []);
}

#[tokio::test]
async fn an_attempt_that_changes_nothing_leaves_nothing() {
    let world = World::new();
    world.attempt(world.assignment(None), Box::new(|_, _| None)).await;
    assert_eq!(world.told(), ["a leased", "a released"]);
    assert_eq!(world.git(&["rev-list", "--count", "main"]), "1");
}

#[tokio::test]
async fn a_failed_attempt_keeps_its_workspace_for_the_next_one() {
    let world = World::new();
    let fails: Act = Box::new(|folder, _| {
        std::fs::write(folder.join("half"), "h").unwrap();
        Some(Failure::new(Class::Fatal, "no"))
    });
    world.attempt(world.assignment(None), fails).await;
    assert_eq!(world.told(), ["a leased"]);
    let goes_on: Act = Box::new(|folder, _| {
        assert_eq!(std::fs::read_to_string(folder.join("half")).unwrap(), "h");
        None
    });
    world.attempt(world.assignment(None), goes_on).await;
    assert_eq!(world.git(&["show", "main:sub/half"]), "h");
}

#[tokio::test]
async fn a_conflict_goes_to_the_resolver_as_often_as_that_is_allowed() {
    for (resolves_at, rounds) in [(1, 1), (2, 2), (9, 2_u64)] {
        let world = World::new();
        let asked = Arc::new(Mutex::new(0));
        let (count, repository) = (asked.clone(), world.repository());
        let act: Act = Box::new(move |folder, resolves| {
            if !resolves {
                std::fs::write(folder.join("line"), "ours\n").unwrap();
                std::fs::write(repository.join("sub/line"), "theirs\n").unwrap();
                let commit =
                    ["-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-qam", "theirs"];
                assert!(
                    Command::new("git").arg("-C").arg(&repository).args(commit).status().unwrap().success()
                );
                return None;
            }
            let mut asked = count.lock().unwrap();
            *asked += 1;
            if *asked == resolves_at {
                std::fs::write(folder.join("sub/line"), "both\n").unwrap();
            }
            None
        });
        let end = world.attempt(world.assignment(None), act).await;
        assert_eq!(*asked.lock().unwrap(), rounds);
        let told = world.told();
        assert_eq!(told.iter().filter(|told| told.ends_with(" put")).count() as u64, rounds, "{told:?}");
        match end {
            AttemptEnd::Finished { usage, .. } => {
                assert_eq!(usage.calls, 1 + rounds);
                assert_eq!(world.git(&["show", "main:sub/line"]), "both");
            }
            AttemptEnd::Failed { failure, usage, .. } => {
                assert!(resolves_at > rounds, "{failure:?}");
                assert_eq!(
                    (failure.class, failure.reason.as_deref()),
                    (Class::Conflict, Some(reason::MERGE_CONFLICT))
                );
                assert_eq!(usage.calls, 1 + rounds);
                assert!(failure.message.contains("sub/line"), "{failure:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn sealed_work_is_not_done_again() {
    let world = World::new();
    // The work was done and committed; then the process died.
    let call = world.assignment(None).workspace.unwrap();
    let lease = world.leases.acquire(&call).unwrap();
    std::fs::write(lease.path().unwrap().join("sub/line"), "before the crash\n").unwrap();
    let usage = Usage { calls: 7, ..Usage::default() };
    let sealed = |settled| Sealed { output: JsonText::of(&"as it was"), usage, rounds: 0, settled };
    let never: fn() -> Act = || Box::new(|_, _| panic!("it is not made again"));
    for settled in [false, true, true] {
        let end = world.attempt(world.assignment(Some(sealed(settled))), never()).await;
        let AttemptEnd::Finished { output, usage } = end else { panic!("{end:?}") };
        assert_eq!((output.as_str(), usage.calls), ("\"as it was\"", 7));
        assert_eq!(world.git(&["show", "main:sub/line"]), "before the crash");
        assert_eq!(world.leases.all(), []);
    }
    assert_eq!(world.git(&["rev-list", "--count", "main"]), "2", "it came back once");
}
