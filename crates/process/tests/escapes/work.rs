//! Ordinary work goes on in the full sandbox.

use crate::scene::{Scene, ended, sh};
use crate::users::{ordinary, without_namespaces};
use convoke_process::{Launcher, OnDrop};
use convoke_sandbox::Confinement;
use std::fs;
use std::process::Command;

fn said(scene: &Scene, script: &str) -> String {
    let confinement = scene.confinement(true);
    ended(sh(script, &scene.at("root")), &Launcher::new("test", OnDrop::Kill), Some(&confinement)).said
}

#[test]
fn files_pipes_jobs_and_shared_memory_work() {
    ordinary("work::files_pipes_jobs_and_shared_memory_work", || {
        let scene = Scene::new();
        let script = "mkdir -p a/b && echo one >a/b/c && mv a/b/c a/d && chmod 700 a/d && touch a/d && cat a/d | sort; \
            sleep 1000 & kill $!; echo x >/dev/null; echo y >/dev/shm/y && cat /dev/shm/y; (echo z) 2>&1; ls / >/dev/null && echo end";
        assert_eq!(said(&scene, script), "one\ny\nz\nend\n");
    });
}

#[test]
fn a_repository_is_committed_to_and_its_hooks_are_not() {
    ordinary("work::a_repository_is_committed_to_and_its_hooks_are_not", || {
        let scene = Scene::new();
        let root = scene.at("root");
        fs::remove_dir_all(root.join(".git")).unwrap();
        let git = |args: &[&str]| {
            let done =
                Command::new("git").args(args).current_dir(&root).env("HOME", "/nowhere").output().unwrap();
            assert!(done.status.success(), "{done:?}");
            String::from_utf8(done.stdout).unwrap()
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["config", "user.name", "n"]);
        git(&["config", "user.email", "e@example.com"]);
        let script = "echo x >f && git add f && git commit -qm one && git log --format=%s; git config a.b c; echo x >.git/hooks/pre-commit";
        let said = said(&scene, script);
        assert!(said.starts_with("one\n"), "{said}");
        assert_eq!(git(&["log", "--format=%s"]), "one\n");
        assert!(!root.join(".git/hooks/pre-commit").exists() && !git(&["config", "--list"]).contains("a.b"));
        for name in [".vscode", ".claude", ".mcp.json", ".github/workflows"] {
            assert!(!root.join(name).exists(), "{name} is left behind");
        }
    });
}

#[test]
fn many_commands_at_once_leave_no_placeholder() {
    ordinary("work::many_commands_at_once_leave_no_placeholder", || {
        let scene = Scene::new();
        std::thread::scope(|threads| {
            for number in 0..8 {
                let scene = &scene;
                threads.spawn(move || {
                    for _ in 0..5 {
                        let script = format!("mkdir -p .vscode/x; echo x >.vscode/y; echo {number}");
                        assert!(said(scene, &script).ends_with(&format!("{number}\n")));
                    }
                });
            }
        });
        assert!(!scene.at("root/.vscode").exists());
    });
}

/// A folder above what is hidden keeps its name: else a command would put a state of its own where the engine looks for its own.
#[test]
fn what_is_above_the_hidden_in_the_root_is_not_moved() {
    ordinary("work::what_is_above_the_hidden_in_the_root_is_not_moved", || {
        let scene = Scene::new();
        fs::create_dir_all(scene.at("root/.local/state/convoke")).unwrap();
        fs::write(scene.at("root/.local/state/convoke/inbox"), "mine").unwrap();
        fs::create_dir_all(scene.at("root/.config/tool")).unwrap();
        fs::write(scene.at("root/.config/tool/token"), "secret").unwrap();
        let hidden = [scene.at("root/.local/state/convoke"), scene.at("root/.config/tool/token")];
        let confinement = scene.confinement(false).hiding(hidden);
        let script = "mv .local moved; mv .local/state moved; rm -rf .local .config; rename() { python3 -c \"import os; os.rename('$1', '$2')\"; }; \
            rename .local moved; rename .local/state other; rename .config moved; rename .config/tool moved; \
            mkdir -p .local/state/convoke; echo forged >.local/state/convoke/inbox; echo forged >.config/tool/token; \
            echo beside >.local/state/beside; echo done";
        let launcher = Launcher::new("test", OnDrop::Kill);
        let said = ended(sh(script, &scene.at("root")), &launcher, Some(&confinement)).said;
        assert!(said.trim_end().ends_with("done"), "{said}");
        let inbox = fs::read_to_string(scene.at("root/.local/state/convoke/inbox")).unwrap();
        let token = fs::read_to_string(scene.at("root/.config/tool/token")).unwrap();
        assert_eq!((inbox.as_str(), token.as_str()), ("mine", "secret"), "{said}");
        let beside = fs::read_to_string(scene.at("root/.local/state/beside")).unwrap_or_default();
        assert_eq!(beside.trim(), "beside", "beside it there can be written: {said}");
    });
}

/// A state folder may lie in the folder that is worked in.
#[test]
fn beside_what_is_hidden_in_the_root_there_can_be_written() {
    ordinary("work::beside_what_is_hidden_in_the_root_there_can_be_written", || {
        let scene = Scene::new();
        fs::create_dir(scene.at("root/state")).unwrap();
        fs::write(scene.at("root/state/key"), "secret").unwrap();
        fs::write(scene.at("root/token"), "secret").unwrap();
        let hidden = [scene.at("root/state"), scene.at("root/token")];
        let confinement = scene.confinement(true).hiding(hidden);
        let script = "echo x >new && mkdir made && cat new; cat state/key token; echo y >state/key; echo y >token; rm -rf state token; \
            mv state moved; ls state; ln token link; cat link";
        let launcher = Launcher::new("test", OnDrop::Kill);
        let said = ended(sh(script, &scene.at("root")), &launcher, Some(&confinement)).said;
        assert!(said.starts_with("x\n") && !said.contains("secret"), "{said}");
        assert!(scene.at("root/made").is_dir());
        let left = fs::read_dir(scene.at("root/state")).unwrap().count();
        assert_eq!((left, fs::read_to_string(scene.at("root/state/key")).unwrap().as_str()), (1, "secret"));
        assert_eq!(fs::read_to_string(scene.at("root/token")).unwrap(), "secret");
    });
}

/// Where mounts cannot hold names, what exists beside them is written to; a new name in the root is not.
#[test]
fn without_namespaces_what_exists_can_be_changed() {
    without_namespaces("work::without_namespaces_what_exists_can_be_changed", || {
        let scene = Scene::new();
        fs::create_dir(scene.at("root/src")).unwrap();
        let said = said(&scene, "echo x >src/new && cat src/new; echo x >new");
        assert!(said.starts_with("x\n") && !scene.at("root/new").exists(), "{said}");
    });
}

#[test]
fn a_command_that_is_not_there_is_told_from_a_sandbox_that_is_not() {
    let scene = Scene::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let launcher = Launcher::new("test", OnDrop::Kill);
    let confinement = scene.confinement(true);
    let start = |command: Command, confinement: &Confinement| {
        let start = launcher.start_confined(command, confinement, None, std::future::pending(), |_| {});
        runtime.block_on(start).err().expect("it cannot start").kind()
    };
    assert_eq!(start(Command::new("no-such-program"), &confinement), std::io::ErrorKind::NotFound);
    let elsewhere = Confinement { writable: vec!["/no/such/root".into()], ..confinement };
    assert_eq!(start(Command::new("true"), &elsewhere), std::io::ErrorKind::Unsupported);
}
