//! What a trusted file starts has the person's rights, without what is hidden and protected.

use crate::scene::{Scene, ended, sh};
use crate::users::{ordinary, without_namespaces};
use convoke_process::{Launcher, OnDrop};
use convoke_sandbox::{Ground, Level};
use std::fs;

fn ground(scene: &Scene) -> Ground {
    let own = format!("{}/", scene.at("home/.ssh").display());
    Ground { hidden: vec![scene.at("state")], protected: vec![own], ..Ground::default() }
}

/// What a script says.
fn said(scene: &Scene, ground: Ground, script: &str) -> String {
    ended(sh(script, &scene.at("root")), &Launcher::new("test", OnDrop::Kill).on(ground), None).said
}

#[test]
fn hidden_paths_are_not_seen_and_everything_else_is() {
    let body = || {
        let scene = Scene::new();
        let script = "ls ../state/*; cat ../state/journal; echo x >../state/new; echo y >../outside/new; cat ../outside/new";
        let said = said(&scene, ground(&scene), script);
        assert!(!said.contains("secret") && said.ends_with("y\n"), "{said}");
        assert_eq!(fs::read_dir(scene.at("state")).unwrap().count(), 1, "nothing was written there");
    };
    body();
    ordinary("trusted::hidden_paths_are_not_seen_and_everything_else_is", body);
}

#[test]
fn protected_paths_are_read_and_not_written() {
    let body = || {
        let scene = Scene::new();
        let said = said(
            &scene,
            ground(&scene),
            "cat ../home/.ssh/id; echo x >../home/.ssh/id; echo x >../home/.ssh/new",
        );
        assert!(said.starts_with("secret") && said.contains("Read-only"), "{said}");
        assert_eq!(fs::read_to_string(scene.at("home/.ssh/id")).unwrap(), "secret");
    };
    body();
    ordinary("trusted::protected_paths_are_read_and_not_written", body);
}

#[test]
fn a_command_is_the_same_user_and_may_act_on_others() {
    let body = || {
        let scene = Scene::new();
        let user = rustix::process::geteuid().as_raw();
        let said = said(
            &scene,
            ground(&scene),
            "id -u; sleep 1000 & kill $! && echo killed; unshare -U true && echo new",
        );
        assert!(said.starts_with(&format!("{user}\nkilled\n")), "{said}");
    };
    body();
    ordinary("trusted::a_command_is_the_same_user_and_may_act_on_others", body);
}

/// A worktree in the state folder is worked in, and what is beside it stays hidden.
#[test]
fn a_folder_below_a_hidden_one_can_be_worked_in() {
    let body = || {
        let scene = Scene::new();
        let inner = scene.at("state/trees/one");
        fs::create_dir_all(&inner).unwrap();
        let command =
            sh("echo x >new && cat new; pwd; ls ..; cat ../../journal; cat ../../../state/journal", &inner);
        let said = ended(command, &Launcher::new("test", OnDrop::Kill).on(ground(&scene)), None).said;
        assert!(said.starts_with("x\n") && said.contains(&inner.display().to_string()), "{said}");
        assert!(!said.contains("secret") && inner.join("new").exists(), "{said}");
    };
    body();
    ordinary("trusted::a_folder_below_a_hidden_one_can_be_worked_in", body);
}

#[test]
fn a_hidden_path_is_not_uncovered_from_within() {
    ordinary("trusted::a_hidden_path_is_not_uncovered_from_within", || {
        let scene = Scene::new();
        let state = scene.at("state").display().to_string();
        let script = format!(
            "umount {state}; unshare -Urm sh -c 'umount {state}; cat {state}/journal'; cat /proc/$PPID/root{state}/journal; cat /proc/1/root{state}/journal"
        );
        let said = said(&scene, ground(&scene), &script);
        assert!(!said.contains("secret"), "{said}");
    });
}

/// Without namespaces a trusted command runs as it is; whoever starts it says so.
#[test]
fn where_no_sandbox_can_be_had_a_trusted_command_runs() {
    without_namespaces("trusted::where_no_sandbox_can_be_had_a_trusted_command_runs", || {
        let scene = Scene::new();
        assert!(convoke_sandbox::means().trusted().is_err());
        assert_eq!(said(&scene, ground(&scene), "cat ../state/journal"), "secret");
    });
}

#[test]
fn a_ground_that_was_given_up_confines_nothing() {
    let scene = Scene::new();
    let given_up = Ground { hidden: vec![scene.at("state")], ..Ground::given_up() };
    assert_eq!(said(&scene, given_up, "cat ../state/journal"), "secret");
    let full = Ground { level: Some(Level::Full), ..ground(&scene) };
    let said =
        said(&scene, full, "cat ../state/journal; echo x >../outside/new; echo x >new && echo written");
    assert!(said.ends_with("written\n") && !said.contains("secret"), "{said}");
    assert!(!scene.at("outside/new").exists());
}
