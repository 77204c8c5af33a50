//! What the runs of a project share: two processes change it at once and nothing is lost, whichever of them is killed.

use crate::common;

use common::Small;
use convoke_journal::{Error, Key, ProjectFile, Settled};
use convoke_model::{ProjectContext, ProjectPatch};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const FILE: &str = "CONVOKE_TEST_PROJECT_FILE";
const NAME: &str = "CONVOKE_TEST_PROJECT_NAME";
const COUNT: &str = "CONVOKE_TEST_PROJECT_COUNT";

fn patch(value: serde_json::Value) -> ProjectPatch {
    serde_json::from_value(value).expect("a patch")
}

/// Its n-th change: a flag of its own, and a pointer that all write.
fn change(name: &str, n: u32) -> ProjectPatch {
    // The flag of the change before goes: a file of ten thousand flags would measure JSON.
    let mut flags = serde_json::Map::new();
    flags.insert(format!("{name}-{n}"), json!(true));
    if n > 0 {
        flags.insert(format!("{name}-{}", n - 1), json!(null));
    }
    patch(
        json!({"globalFlags": flags, "artifactPointers": {"last": format!("{name}-{n}"), name: n.to_string()}}),
    )
}

/// Not a test by itself: what the processes of the tests below do.
#[test]
fn a_process_that_patches() {
    let Ok(path) = std::env::var(FILE) else { return };
    let (name, count) = (std::env::var(NAME).unwrap(), std::env::var(COUNT).unwrap().parse().unwrap());
    let file = ProjectFile::at(path);
    for n in 0..count {
        let shared = file.patch(None, &change(&name, n)).expect("a patch is taken");
        assert_eq!(shared.context.artifact_pointers["last"], format!("{name}-{n}"));
    }
}

fn start(path: &Path, name: &str, count: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "project::a_process_that_patches", "--nocapture"])
        .envs([(FILE, path.to_str().unwrap()), (NAME, name), (COUNT, &count.to_string())])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this test runs itself")
}

fn has_ended(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_some()
}

fn finish(mut child: Child) {
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
}

/// `CONVOKE_PATCHES` says how often each changes it (1 000 times unless told; 5 000 for the long version).
#[test]
fn two_processes_patch_thousands_of_times_and_nothing_is_lost() {
    let each = std::env::var("CONVOKE_PATCHES").map_or(1_000, |text| text.parse().expect("a number"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("project-context.json");
    let mut children = [start(&path, "a", each), start(&path, "b", each)];
    // A reader sees a whole file meanwhile, and never an older one than before.
    let (file, mut seen) = (ProjectFile::at(&path), 0);
    while children.iter_mut().any(|child| !has_ended(child)) {
        let now = file.load().expect("a whole file").revision;
        assert!(now >= seen, "revision {now} after {seen}");
        seen = now;
        std::thread::yield_now();
    }
    children.into_iter().for_each(finish);
    let shared = file.load().unwrap();
    assert_eq!(shared.revision, 2 * u64::from(each));
    let last = each - 1;
    assert_eq!(shared.context.artifact_pointers["a"], last.to_string());
    assert_eq!(shared.context.artifact_pointers["b"], last.to_string());
    let flags: BTreeSet<_> = shared.context.global_flags.keys().map(String::as_str).collect();
    let newest = ["a", "b"].map(|name| format!("{name}-{last}"));
    assert_eq!(flags, newest.iter().map(String::as_str).collect());
}

#[test]
fn a_process_killed_in_the_middle_leaves_whole_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("project-context.json");
    let file = ProjectFile::at(&path);
    let mut revision = 0;
    for round in 0..20 {
        let mut child = start(&path, "a", 1_000_000);
        while file.load().expect("a whole file").revision < revision + 3 + round {
            assert!(!has_ended(&mut child), "it ended before so many of its changes were there");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let shared = file.load().expect("a whole file");
        let last = &shared.context.artifact_pointers["a"];
        assert_eq!(&shared.context.artifact_pointers["last"], &format!("a-{last}"));
        assert!(shared.context.global_flags.contains_key(&format!("a-{last}")));
        revision = shared.revision;
    }
    // The lock died with its holder.
    assert_eq!(file.patch(None, &change("b", 0)).unwrap().revision, revision + 1);
}

#[test]
fn a_change_of_a_run_is_made_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = ProjectFile::at(dir.path().join("deep/er/project-context.json"));
    let key = |run, key| Some(Key { run, key, settled: &[] });
    let on = patch(json!({"globalFlags": {"ready": true}}));
    let off = patch(json!({"globalFlags": {"ready": false}}));
    assert_eq!(file.patch(key("run-1", "write"), &on).unwrap().revision, 1);
    assert_eq!(file.patch(key("run-2", "write"), &off).unwrap().revision, 2);
    let again = file.patch(key("run-1", "write"), &on).unwrap();
    assert_eq!((again.revision, again.context.global_flags["ready"]), (2, false));
    assert_eq!(file.patch(key("run-1", "copy"), &on).unwrap().revision, 3);
}

#[cfg(unix)]
#[test]
fn a_file_with_several_names_is_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let at = |path: &str| root.join(path);
    for folder in ["a", "b"] {
        std::fs::create_dir(at(folder)).unwrap();
    }
    // Before there is such a file, and after.
    for (link, to) in [("b/link.json", "../a/shared.json"), ("b/further.json", "link.json"), ("c", "a")] {
        std::os::unix::fs::symlink(to, at(link)).unwrap();
    }
    let names = ["b/further.json", "a/shared.json", "b/link.json", "c/shared.json", "b/../a/shared.json"];
    let file = |name: &&str| ProjectFile::at(at(name));
    assert!(names.iter().all(|name| file(name).place() == at("a/shared.json").as_path()));
    for (n, name) in (1..).zip(&names) {
        assert_eq!(file(name).patch(None, &change("a", n)).unwrap().revision, u64::from(n), "{name}");
        assert_eq!(file(name).path(), at(name), "it is called as its user calls it");
    }
    assert!(at("b/link.json").is_symlink() && at("b/further.json").is_symlink());
    let held = |folder: &str| std::fs::read_dir(at(folder)).unwrap().count();
    assert_eq!((held("a"), held("b")), (2, 2), "one lock beside the one file");
    // Links in a circle lead nowhere, which is said.
    std::os::unix::fs::symlink("circle", at("circle")).unwrap();
    assert!(ProjectFile::at(at("circle")).load().is_err());
    assert_eq!(ProjectFile::at(at("new/er/shared.json")).place(), at("new/er/shared.json"));
}

/// What the store remembers of runs, by run.
fn remembered(path: &Path) -> serde_json::Map<String, serde_json::Value> {
    let file: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file["convoke"]["made"].as_object().unwrap().clone()
}

#[test]
fn what_journals_have_is_forgotten_and_what_was_cut_off_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("project-context.json");
    let file = ProjectFile::at(&path);
    fn by<'a>(run: &'a str, key: &'a str, settled: &'a [String]) -> Option<Key<'a>> {
        Some(Key { run, key, settled })
    }
    file.patch(by("cut-off", "write", &[]), &change("c", 0)).unwrap();
    for n in 0..40 {
        let (key, last) = (format!("try-{n}"), [format!("try-{}", n - 1)]);
        file.patch(by("long", &key, &last), &change("a", n as u32)).unwrap();
    }
    assert_eq!(remembered(&path)["long"], json!(["try-39"]), "a run remembers what it has not settled");
    for n in 0..30 {
        let run = format!("short-{n}");
        file.patch(by(&run, "write", &[]), &change("b", n)).unwrap();
        file.settle(&run, Settled::All).unwrap();
    }
    file.settle("long", Settled::Some(&["try-39".to_owned()])).unwrap();
    assert_eq!(remembered(&path).keys().collect::<Vec<_>>(), ["cut-off"]);
    let before = file.load().unwrap();
    assert_eq!(file.patch(by("cut-off", "write", &[]), &change("c", 1)).unwrap(), before);
    let text = std::fs::read_to_string(&path).unwrap();
    file.settle("nobody", Settled::All).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn what_a_person_wrote_is_taken_as_it_is_or_refused_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("project-context.json");
    let file = ProjectFile::at(&path);
    std::fs::write(&path, r#"{"schemaVersion": 1, "globalFlags": {"ready": true}}"#).unwrap();
    assert!(file.load().unwrap().context.global_flags["ready"]);
    for (text, words) in [
        (r#"{"schemaVersion": 1, "globalFlags": {"ready": 1}}"#, "expected a boolean"),
        (r#"{"schemaVersion": 1, "flags": {}}"#, "unknown field `flags`"),
        (r#"{"schemaVersion": 3}"#, "schemaVersion is 3"),
        (r#"{"schemaVersion": 1"#, "EOF"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = file.patch(None, &ProjectPatch::default()).unwrap_err();
        assert!(matches!(&error, Error::Project { why, .. } if why.contains(words)), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "a file that is refused stays");
    }
}

#[test]
fn a_full_disk_is_said_and_leaves_the_old_file() {
    let Some(small) = Small::mount() else { return };
    let file = ProjectFile::at(small.path().join("project-context.json"));
    file.patch(None, &change("a", 0)).unwrap();
    // As much as there is room for.
    let filler = small.path().join("filler");
    std::fs::write(&filler, vec![1; 8 * 1024 * 1024]).unwrap_err();
    let error = file.patch(None, &change("a", 1)).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    assert_eq!(file.load().unwrap().revision, 1);
    std::fs::remove_file(filler).unwrap();
    assert_eq!(file.patch(None, &change("a", 1)).unwrap().revision, 2);
}

fn any_patch() -> impl Strategy<Value = ProjectPatch> {
    let flags = prop::collection::vec(("[ab]", prop::option::of(any::<bool>())), 0..3);
    let tasks = prop::collection::vec(("[xyz]", any::<bool>()), 0..3);
    (flags, tasks, prop::collection::vec("[xyz]", 0..2)).prop_map(|(flags, tasks, remove)| {
        let flags: serde_json::Map<_, _> =
            flags.into_iter().map(|(name, flag)| (name, json!(flag))).collect();
        let upsert: Vec<_> = tasks
            .into_iter()
            .map(|(id, done)| json!({"taskId": id, "status": if done { "completed" } else { "pending" }}))
            .collect();
        patch(json!({"globalFlags": flags, "taskQueue": {"upsert": upsert, "remove": remove}}))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn threads_in_any_order_come_to_the_fold_in_order_of_revision(
        patches in prop::collection::vec(prop::collection::vec(any_patch(), 1..5), 1..4),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let file = ProjectFile::at(dir.path().join("p.json"));
        let made: Vec<(u64, ProjectPatch)> = std::thread::scope(|scope| {
            let threads: Vec<_> = patches.iter().map(|list| {
                let file = &file;
                scope.spawn(move || {
                    let made = list.iter().map(|patch| (file.patch(None, patch).unwrap().revision, patch.clone()));
                    made.collect::<Vec<_>>()
                })
            }).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let mut ordered = made;
        ordered.sort_by_key(|(revision, _)| *revision);
        let mut expected = ProjectContext::default();
        ordered.iter().for_each(|(_, patch)| expected.apply(patch));
        prop_assert_eq!(file.load().unwrap().context, expected);
    }
}
