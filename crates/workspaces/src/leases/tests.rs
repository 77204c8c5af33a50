//! On real repositories in folders that go away.

use super::*;
use convoke_model::TaskId;
use std::process::Command;
use tempfile::TempDir;

struct World {
    folder: TempDir,
}

impl World {
    /// A repository with one commit on `main`.
    fn new() -> World {
        let world = World { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(world.repository()).unwrap();
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world.commit("a.txt", "one\ntwo\nthree\n");
        world
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repository(), args)
    }

    fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let named = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
        let ran = Command::new("git").arg("-C").arg(folder).args(named).args(args).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
    }

    fn commit(&self, file: &str, text: &str) {
        fs::write(self.repository().join(file), text).unwrap();
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", file]);
    }

    fn leases(&self, run: &str) -> Leases {
        let surroundings = Surroundings::of(std::env::vars_os());
        Leases::new(self.folder.path().join("state/workspaces"), run, surroundings)
    }

    fn call(&self, task: &str, merge: MergeMode) -> WorkspaceCall {
        let worktree = WorktreeCall {
            repository: self.repository().display().to_string(),
            base: "HEAD".to_owned(),
            merge,
            ..WorktreeCall::default()
        };
        WorkspaceCall {
            owner: TaskId(task.into()),
            folder: self.repository().display().to_string(),
            worktree: Some(worktree),
            ports: 0,
            parent: None,
            shared: false,
            judged: false,
            known: false,
            survives: false,
            sealed: None,
            resolver: None,
            resolve_attempts: 2,
        }
    }

    /// Branches of ours, worktrees besides the checkout, records.
    fn left(&self, leases: &Leases) -> (String, usize, usize) {
        let trees = self.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count() - 1;
        (self.git(&["branch", "--list", "convoke/*", "--format=%(refname:short)"]), trees, leases.all().len())
    }

    fn work(&self, leases: &Leases, call: &WorkspaceCall, file: &str, text: &str) -> Lease {
        let lease = leases.acquire(call).unwrap();
        fs::write(lease.path().unwrap().join(file), text).unwrap();
        leases.seal(&lease, "work").unwrap();
        lease
    }
}

fn nothing() -> (String, usize, usize) {
    (String::new(), 0, 0)
}

#[test]
fn what_has_nothing_of_value_is_gone_and_what_is_in_no_commit_stays() {
    let world = World::new();
    let leases = world.leases("r");
    let call = world.call("build[a/b]", MergeMode::None);
    let lease = leases.acquire(&call).unwrap();
    let path = lease.path().unwrap().to_path_buf();
    assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(leases.release("build[a/b]").unwrap(), None);
    assert_eq!(world.left(&leases), nothing());

    leases.acquire(&call).unwrap();
    fs::write(path.join("new.txt"), "work").unwrap();
    let kept = leases.release("build[a/b]").unwrap().expect("it stays");
    assert_eq!(kept.path.as_deref(), path.to_str());
    assert!(kept.why.contains("in no commit"), "{kept:?}");
    assert_eq!(leases.clean(|_| false).gone, 0, "no cleaning takes it");
    assert_eq!(fs::read_to_string(path.join("new.txt")).unwrap(), "work");
    // Another attempt goes on in it.
    let again = leases.acquire(&call).unwrap();
    assert_eq!(fs::read_to_string(again.path().unwrap().join("new.txt")).unwrap(), "work");
    leases.discard(&leases.all()[0]).unwrap();
    assert_eq!(world.left(&leases), nothing());
}

#[test]
fn commits_that_no_branch_has_keep_their_branch_and_go_on_from_it() {
    let world = World::new();
    let leases = world.leases("r");
    let call = world.call("build", MergeMode::None);
    world.work(&leases, &call, "new.txt", "work");
    let kept = leases.release("build").unwrap().expect("the branch stays");
    assert_eq!((kept.path, kept.branch.as_str()), (None, "convoke/r/build"));
    assert_eq!(world.git(&["show", "convoke/r/build:new.txt"]), "work");
    let again = leases.acquire(&call).unwrap();
    assert_eq!(fs::read_to_string(again.path().unwrap().join("new.txt")).unwrap(), "work");
}

#[test]
fn half_of_a_worktree_is_cleaned_by_the_next_process_wherever_the_first_was_killed() {
    let world = World::new();
    let leases = world.leases("r");
    let call = world.call("build", MergeMode::None);
    let whole = leases.acquire(&call).unwrap();
    let path = whole.path().unwrap().to_path_buf();
    let own = whole.record.tree.as_ref().unwrap().common.join("worktrees").join(path.file_name().unwrap());
    let damages: [&dyn Fn(); 4] = [
        &|| {},
        &|| fs::remove_file(path.join(".git")).unwrap(),
        &|| fs::remove_dir_all(&path).unwrap(),
        &|| fs::remove_dir_all(&own).unwrap(),
    ];
    for standing in [Standing::Making, Standing::Removing] {
        for damage in damages {
            let lease = leases.acquire(&call).unwrap();
            leases.records.write(&Record { standing, ..lease.record }).unwrap();
            damage();
            let cleaned = world.leases("other").clean(|run| run != "r");
            assert!(cleaned.troubles.is_empty(), "{:?}", cleaned.troubles);
            assert_eq!(world.left(&leases), nothing(), "{standing:?}");
        }
    }
    // A folder that was worked in is not taken for half of one.
    leases.acquire(&call).unwrap();
    fs::remove_file(path.join(".git")).unwrap();
    let kept = leases.release("build").unwrap().expect("it stays");
    assert_eq!(kept.path.as_deref(), path.to_str());
}

#[test]
fn a_lock_that_a_killed_git_left_does_not_stop_the_next_attempt() {
    let world = World::new();
    let leases = world.leases("r");
    let call = world.call("build", MergeMode::FastForward);
    let lease = leases.acquire(&call).unwrap();
    let tree = lease.tree().unwrap();
    let own = tree.common.join("worktrees").join(tree.path.file_name().unwrap());
    fs::write(own.join("index.lock"), "").unwrap();
    world.work(&world.leases("r"), &call, "new.txt", "work");
}

#[test]
fn a_git_of_a_killed_process_is_waited_for() {
    let world = World::new();
    let leases = world.leases("r");
    let call = world.call("build", MergeMode::FastForward);
    leases.acquire(&call).unwrap();
    let held = lock(&alive(&leases.root, "r")).unwrap();
    let (sent, heard) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            world.leases("r").acquire(&call).unwrap();
            sent.send(()).unwrap();
        });
        assert!(
            heard.recv_timeout(std::time::Duration::from_millis(200)).is_err(),
            "it goes on while a git runs"
        );
        drop(held);
        heard.recv().unwrap();
    });
}

#[test]
fn ignored_files_are_seeded_and_others_refused() {
    let world = World::new();
    world.commit(".gitignore", ".env\nbuild/\n");
    fs::write(world.repository().join(".env"), "KEY=1").unwrap();
    fs::create_dir(world.repository().join("build")).unwrap();
    fs::write(world.repository().join("build/out"), "o").unwrap();
    fs::write(world.repository().join("stray"), "s").unwrap();
    let leases = world.leases("r");
    let with = |seed: &[&str]| {
        let mut call = world.call("build", MergeMode::None);
        call.worktree.as_mut().unwrap().seed = seed.iter().map(|path| path.to_string()).collect();
        leases.acquire(&call).map(|lease| lease.path().unwrap().to_path_buf())
    };
    for bad in ["stray", "../outside", "/etc/passwd", "a.txt"] {
        if let Ok(path) = with(&[bad]) {
            // What is not there is left out; nothing from outside ever is.
            assert!(bad == "../outside" && !path.join(bad).exists(), "{bad}");
        }
        leases.discard(&leases.all()[0]).unwrap();
    }
    let path = with(&[".env", "build", "missing"]).unwrap();
    assert_eq!(fs::read_to_string(path.join(".env")).unwrap(), "KEY=1");
    assert_eq!(fs::read_to_string(path.join("build/out")).unwrap(), "o");
    assert_eq!(leases.release("build").unwrap(), None, "what git ignores is no work");
}

#[test]
fn only_the_paths_that_are_asked_for_are_checked_out_and_the_repository_is_not_reconfigured() {
    let world = World::new();
    fs::create_dir(world.repository().join("src")).unwrap();
    world.commit("src/lib.txt", "lib\n");
    let before = fs::read_to_string(world.repository().join(".git/config")).unwrap();
    let leases = world.leases("r");
    let mut call = world.call("build", MergeMode::FastForward);
    call.worktree.as_mut().unwrap().sparse = vec!["src".to_owned()];
    let lease = leases.acquire(&call).unwrap();
    let path = lease.path().unwrap();
    assert!(path.join("src/lib.txt").exists() && !path.join("a.txt").exists());
    assert_eq!(fs::read_to_string(world.repository().join(".git/config")).unwrap(), before);
    fs::write(path.join("src/lib.txt"), "changed\n").unwrap();
    leases.seal(&lease, "work").unwrap();
    world.commit("a.txt", "moved\n");
    assert!(matches!(leases.bring_back(&lease, MergeMode::FastForward, false).unwrap(), Merged::Done { .. }));
    assert_eq!(world.git(&["show", "main:src/lib.txt"]), "changed");
    assert_eq!(world.git(&["show", "main:a.txt"]), "moved");
}

#[test]
fn work_comes_back_by_merge_or_rebase_and_only_once() {
    for mode in [MergeMode::FastForward, MergeMode::Rebase] {
        let world = World::new();
        let leases = world.leases("r");
        let call = world.call("build", mode);
        let lease = world.work(&leases, &call, "new.txt", "work");
        world.commit("b.txt", "elsewhere\n");
        let Merged::Done { commit } = leases.bring_back(&lease, mode, false).unwrap() else {
            panic!("nothing contradicts it")
        };
        assert_eq!(world.git(&["rev-parse", "main"]), commit);
        assert_eq!(
            fs::read_to_string(world.repository().join("new.txt")).unwrap(),
            "work",
            "the checkout has it"
        );
        let parents = world.git(&["show", "-s", "--format=%P", "main"]).split(' ').count();
        assert_eq!(parents, if mode == MergeMode::Rebase { 1 } else { 2 });
        // Cut off before that was on disk, it is found to be done.
        let again = leases.bring_back(&lease, mode, false).unwrap();
        assert_eq!(again, Merged::Done { commit: commit.clone() });
        assert_eq!(world.git(&["rev-parse", "main"]), commit);
        assert_eq!(leases.release("build").unwrap(), None);
        assert_eq!(world.left(&leases), nothing());
    }
}

#[test]
fn a_conflict_is_shown_and_what_was_resolved_goes_on() {
    for mode in [MergeMode::FastForward, MergeMode::Rebase] {
        let world = World::new();
        let leases = world.leases("r");
        let call = world.call("build", mode);
        let lease = world.work(&leases, &call, "a.txt", "one\nours\nthree\n");
        world.commit("a.txt", "one\ntheirs\nthree\n");
        let Merged::Conflict { paths, shown } = leases.bring_back(&lease, mode, false).unwrap() else {
            panic!("the same line was changed")
        };
        assert_eq!(paths, ["a.txt"]);
        assert!(shown.contains("ours") && shown.contains("theirs"), "{shown}");
        // One that resolves nothing is seen.
        assert!(matches!(leases.bring_back(&lease, mode, true).unwrap(), Merged::Conflict { .. }));
        let kept = leases.release("build").unwrap().expect("what stands in its middle stays");
        assert!(kept.why.contains("in its middle"), "{kept:?}");
        let lease = leases.acquire(&call).unwrap();
        fs::write(lease.path().unwrap().join("a.txt"), "one\nboth\nthree\n").unwrap();
        assert!(matches!(leases.bring_back(&lease, mode, true).unwrap(), Merged::Done { .. }));
        assert_eq!(world.git(&["show", "main:a.txt"]), "one\nboth\nthree");
        assert_eq!(leases.release("build").unwrap(), None);
    }
}

#[test]
fn a_rebase_that_was_killed_in_its_middle_is_begun_anew() {
    let world = World::new();
    let leases = world.leases("r");
    let call = world.call("build", MergeMode::Rebase);
    let lease = world.work(&leases, &call, "a.txt", "one\nours\nthree\n");
    world.commit("a.txt", "one\ntheirs\nthree\n");
    let again = || leases.bring_back(&lease, MergeMode::Rebase, true).unwrap();
    assert!(matches!(again(), Merged::Conflict { .. }));
    let tree = lease.tree().unwrap();
    let own = tree.common.join("worktrees").join(tree.path.file_name().unwrap());
    fs::remove_file(own.join("rebase-merge/author-script")).unwrap();
    fs::write(tree.path.join("a.txt"), "one\nboth\nthree\n").unwrap();
    assert!(matches!(again(), Merged::Conflict { .. }), "the conflict is there again, and no failure");
    fs::write(tree.path.join("a.txt"), "one\nboth\nthree\n").unwrap();
    assert!(matches!(again(), Merged::Done { .. }));
    assert_eq!(world.git(&["show", "main:a.txt"]), "one\nboth\nthree");
}

#[test]
fn a_checkout_with_changes_is_left_alone() {
    let world = World::new();
    let leases = world.leases("r");
    let lease = world.work(&leases, &world.call("build", MergeMode::Rebase), "new.txt", "work");
    fs::write(world.repository().join("a.txt"), "in the middle of something").unwrap();
    let before = world.git(&["rev-parse", "main"]);
    let refused = leases.bring_back(&lease, MergeMode::Rebase, false).unwrap_err();
    assert!(matches!(refused, Trouble::DirtyCheckout { .. }), "{refused}");
    assert_eq!(world.git(&["rev-parse", "main"]), before);
    assert_eq!(fs::read_to_string(world.repository().join("a.txt")).unwrap(), "in the middle of something");
    // A file that git does not know, where one of the work would stand.
    world.git(&["checkout", "--quiet", "a.txt"]);
    fs::write(world.repository().join("new.txt"), "mine").unwrap();
    assert!(leases.bring_back(&lease, MergeMode::Rebase, false).is_err());
    assert_eq!(fs::read_to_string(world.repository().join("new.txt")).unwrap(), "mine");
    fs::remove_file(world.repository().join("new.txt")).unwrap();
    assert!(matches!(leases.bring_back(&lease, MergeMode::Rebase, false).unwrap(), Merged::Done { .. }));
}

#[test]
fn a_branch_that_is_not_checked_out_moves_by_itself() {
    let world = World::new();
    world.git(&["branch", "release"]);
    let leases = world.leases("r");
    let mut call = world.call("build", MergeMode::FastForward);
    call.worktree.as_mut().unwrap().into = Some("release".to_owned());
    let lease = world.work(&leases, &call, "new.txt", "work");
    assert!(matches!(leases.bring_back(&lease, MergeMode::FastForward, false).unwrap(), Merged::Done { .. }));
    assert_eq!(world.git(&["show", "release:new.txt"]), "work");
    assert!(!world.repository().join("new.txt").exists());
}

#[test]
fn many_tasks_of_two_runs_come_back_at_once_and_none_is_lost() {
    let world = World::new();
    let each = 6;
    std::thread::scope(|scope| {
        for run in ["r1", "r2"] {
            let leases = Arc::new(world.leases(run));
            for task in 0..each {
                let (leases, world) = (leases.clone(), &world);
                scope.spawn(move || {
                    let name = format!("t{task}");
                    let call = world.call(&name, MergeMode::Rebase);
                    let lease = world.work(&leases, &call, &format!("{run}-{name}"), "work");
                    assert!(matches!(
                        leases.bring_back(&lease, MergeMode::Rebase, false).unwrap(),
                        Merged::Done { .. }
                    ));
                    assert_eq!(leases.release(&name).unwrap(), None);
                });
            }
        }
    });
    assert_eq!(world.git(&["ls-tree", "--name-only", "main"]).lines().count(), 1 + 2 * each);
    assert_eq!(world.left(&world.leases("r1")), nothing());
}

#[test]
fn parts_begin_at_their_parents_branch_and_come_back_to_it() {
    let world = World::new();
    let leases = world.leases("r");
    let parent = WorkspaceCall { ports: 6, ..world.call("all", MergeMode::FastForward) };
    let part = |name: &str, ports| {
        let mut part = world.call(name, MergeMode::Rebase);
        (part.parent, part.ports) = (Some(Box::new(parent.clone())), ports);
        part
    };
    let one = world.work(&leases, &part("one", 3), "one.txt", "1");
    assert!(matches!(leases.bring_back(&one, MergeMode::Rebase, false).unwrap(), Merged::Done { .. }));
    let two = leases.acquire(&part("two", 3)).unwrap();
    assert!(two.path().unwrap().join("one.txt").exists(), "it begins where the parent stands");
    assert!(!world.repository().join("one.txt").exists(), "and the target has nothing yet");
    let whole = two.parent.as_ref().unwrap().ports().unwrap();
    let (one, two) = (one.ports().unwrap(), two.ports().unwrap());
    assert!(whole.covers(one) && whole.covers(two) && !one.meets(two), "{whole:?} {one:?} {two:?}");
    assert!(matches!(leases.acquire(&part("three", 1)), Err(Trouble::NoPorts { .. })));
    for task in ["one", "two", "three"] {
        assert_eq!(leases.release(task).unwrap(), None);
    }
    let told = leases.settle("all", Some(MergeMode::FastForward)).unwrap().unwrap();
    assert!(matches!(told[..], [WorkspaceTold::Merged { .. }, WorkspaceTold::Released]), "{told:?}");
    assert_eq!(world.git(&["show", "main:one.txt"]), "1");
    assert_eq!(world.left(&leases), nothing());
}

#[test]
fn ports_are_never_given_twice_and_are_free_again_after_their_lease() {
    let world = World::new();
    let given: Mutex<Vec<Ports>> = Mutex::default();
    let ports = |task: String, count| WorkspaceCall {
        worktree: None,
        ports: count,
        ..world.call(&task, MergeMode::None)
    };
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let (leases, given, ports) = (world.leases(&format!("r{thread}")), &given, &ports);
            scope.spawn(move || {
                for task in 0..5 {
                    let lease = leases.acquire(&ports(format!("t{task}"), 1 + thread)).unwrap();
                    given.lock().unwrap().push(lease.ports().unwrap());
                }
            });
        }
    });
    let given = given.into_inner().unwrap();
    assert_eq!(given.len(), 40);
    for (at, one) in given.iter().enumerate() {
        assert!(given[at + 1..].iter().all(|other| !one.meets(*other)), "{given:?}");
    }
    let others = world.leases("later");
    assert_eq!(others.clean(|_| false).gone, 40);
    assert_eq!(
        others.acquire(&ports("t".to_owned(), 2)).unwrap().ports().unwrap().first,
        given.iter().map(|one| one.first).min().unwrap()
    );
}

#[test]
fn two_that_change_the_same_lines_are_foreseen() {
    let world = World::new();
    let leases = world.leases("r");
    let trees: Vec<TreeRecord> = [
        ("one", "a.txt", "1\ntwo\nthree\n"),
        ("two", "a.txt", "one\ntwo\n3\n"),
        ("three", "a.txt", "I\ntwo\nthree\n"),
    ]
    .into_iter()
    .map(|(task, file, text)| {
        let lease = leases.acquire(&world.call(task, MergeMode::Rebase)).unwrap();
        fs::write(lease.path().unwrap().join(file), text).unwrap();
        lease.tree().unwrap().clone()
    })
    .collect();
    assert_eq!(leases.forecast(&trees), [(0, 2, vec!["a.txt".to_owned()])]);
}

#[test]
fn work_for_a_pull_request_is_described() {
    let world = World::new();
    let leases = world.leases("r");
    let lease = world.work(&leases, &world.call("build", MergeMode::PullRequestFile), "new.txt", "work");
    let file = leases.describe(&lease, "Build it").unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# Build it") && text.contains("convoke/r/build") && text.contains("new.txt"),
        "{text}"
    );
    let patch = fs::read_to_string(file.with_extension("patch")).unwrap();
    assert!(patch.contains("+work"), "{patch}");
}

#[test]
fn nonsense_is_found_before_anything_is_made() {
    let world = World::new();
    let leases = world.leases("r");
    let wanted = world.call("t", MergeMode::Rebase).worktree.unwrap();
    let judge = |wanted: &WorktreeCall| leases.judge(&world.repository(), wanted);
    assert!(judge(&wanted).is_ok());
    let with_base = |base: &str| WorktreeCall { base: base.to_owned(), ..wanted.clone() };
    assert!(matches!(judge(&with_base("nowhere")), Err(Trouble::NoBase { .. })));
    assert!(matches!(judge(&with_base("--all")), Err(Trouble::NoBase { .. })));
    let into = WorktreeCall { into: Some("nowhere".to_owned()), ..wanted.clone() };
    assert!(matches!(judge(&into), Err(Trouble::NoTarget { .. })));
    let elsewhere = WorktreeCall { repository: world.folder.path().display().to_string(), ..wanted.clone() };
    assert!(matches!(judge(&elsewhere), Err(Trouble::NoRepository { .. })));
    world.git(&["checkout", "--quiet", "--detach"]);
    assert!(matches!(judge(&wanted), Err(Trouble::Detached { .. })));
}
