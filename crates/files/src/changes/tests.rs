use super::*;
use crate::Standing;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

struct World {
    folder: TempDir,
    root: Root,
}

fn world() -> World {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("repo");
    fs::create_dir_all(path.join("src")).unwrap();
    fs::create_dir_all(folder.path().join("other")).unwrap();
    fs::write(path.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(folder.path().join("other/secret.txt"), "secret\n").unwrap();
    World { root: Root::open(&path).unwrap(), folder }
}

impl World {
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("repo").join(name)
    }

    fn write(&self, name: &str, content: &str) -> Result<bool, Refusal> {
        self.root.write(&self.root.place(name)?, content.as_bytes())
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Refusal> {
        self.root.read(name, 1000)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
    let world = world();
    assert!(!world.write("src/deep/er/new.txt", "one").unwrap());
    fs::set_permissions(world.path("src/main.rs"), fs::Permissions::from_mode(0o4751)).unwrap();
    assert!(world.write("src/main.rs", "two").unwrap());
    assert_eq!(fs::read(world.path("src/main.rs")).unwrap(), b"two");
    assert_eq!(fs::metadata(world.path("src/main.rs")).unwrap().permissions().mode() & 0o7777, 0o751);
    assert_eq!(world.names("src"), ["deep", "main.rs"], "nothing else is left");
}

#[test]
fn a_link_is_read_where_it_stays_beneath_and_never_written_through() {
    let world = world();
    symlink("src", world.path("inside")).unwrap();
    symlink("src/main.rs", world.path("file")).unwrap();
    symlink(world.folder.path().join("other"), world.path("out")).unwrap();
    symlink("../other/secret.txt", world.path("out_file")).unwrap();
    symlink("/proc/self/cwd", world.path("magic")).unwrap();
    assert!(world.read("inside/main.rs").is_ok() && world.read("file").is_ok());
    for path in
        ["out/secret.txt", "out_file", "out/../repo/src/main.rs", "magic/Cargo.toml", "../other/secret.txt"]
    {
        assert!(world.read(path).is_err(), "{path}");
        assert!(world.write(path, "x").is_err(), "{path}");
    }
    for path in ["inside/main.rs", "file", "inside/new", "magic/new"] {
        assert!(world.write(path, "x").is_err(), "{path}");
    }
    assert_eq!(fs::read(world.folder.path().join("other/secret.txt")).unwrap(), b"secret\n");
    assert_eq!(fs::read(world.path("src/main.rs")).unwrap(), b"fn main() {}\n");
}

#[test]
fn a_link_to_a_secret_is_one() {
    let world = world();
    fs::write(world.path(".env"), "KEY=1").unwrap();
    symlink(".env", world.path("notes.txt")).unwrap();
    assert!(matches!(world.read("notes.txt"), Err(Refusal::Secret { .. })));
    fs::write(world.path("plain.txt"), "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n").unwrap();
    assert!(matches!(world.read("plain.txt"), Err(Refusal::Secret { .. })), "a key under another name");
    fs::write(world.folder.path().join("other/private"), "x").unwrap();
    fs::set_permissions(world.folder.path().join("other/private"), fs::Permissions::from_mode(0o600))
        .unwrap();
    fs::hard_link(world.folder.path().join("other/private"), world.path("hard")).unwrap();
    assert!(matches!(world.read("hard"), Err(Refusal::Secret { .. })));
}

#[test]
fn protected_names_are_refused_while_nothing_is_there() {
    let world = world();
    fs::create_dir_all(world.path("sub")).unwrap();
    for path in [
        ".git/hooks/pre-commit",
        "sub/../.git/config",
        ".GIT/config",
        ".convoke/policy.yaml",
        ".vscode/settings.json",
        ".env",
        ".github/workflows/ci.yml",
        "sub/.bashrc",
    ] {
        assert!(matches!(world.write(path, "x"), Err(Refusal::Protected { .. })), "{path}");
    }
    assert_eq!(world.names("."), ["src", "sub"], "no folder was made either");
    assert!(!world.write(".gitignore", "x").unwrap() && !world.write("src/git/config.rs", "x").unwrap());
}

#[test]
fn hidden_places_are_out_of_reach_wherever_they_lie() {
    let world = world();
    let state = world.path("state");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("token"), "t").unwrap();
    let root = Root::open(&world.path(".")).unwrap().hiding([state.canonicalize().unwrap()]);
    assert!(root.read("state/token", 10).is_err());
    assert!(root.write(&root.place("state/new").unwrap(), b"x").is_err());
}

#[test]
fn what_is_no_file_is_neither_read_nor_written() {
    let world = world();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap();
    for path in ["pipe", "socket"] {
        assert!(matches!(world.read(path), Err(Refusal::Special { .. })), "{path}");
        assert!(matches!(world.write(path, "x"), Err(Refusal::Special { .. })), "{path}");
    }
    assert!(matches!(world.read("src"), Err(Refusal::Folder(_))));
    assert!(matches!(world.write("src", "x"), Err(Refusal::Folder(_))));
    assert!(Root::open(Path::new("/")).unwrap().read("proc/self/environ", 100).is_err());
    assert!(Root::open(Path::new("/")).unwrap().read("dev/zero", 100).is_err());
}

#[test]
fn a_file_that_is_too_long_or_read_only_stays() {
    let world = world();
    assert!(matches!(world.root.read("src/main.rs", 3), Err(Refusal::TooLarge { size: 13, most: 3, .. })));
    fs::set_permissions(world.path("src/main.rs"), fs::Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(world.write("src/main.rs", "x"), Err(Refusal::ReadOnly(_))));
}

#[test]
fn a_missing_file_is_told_with_its_nearest_neighbour() {
    let world = world();
    let refusal = world.read("src/mian.rs").unwrap_err().to_string();
    assert_eq!(refusal, "`src/mian.rs` does not exist; did you mean `src/main.rs`?");
}

#[test]
fn changes_are_made_all_or_none() {
    let world = world();
    let place = |name: &str| world.root.place(name).unwrap();
    let change = |name: &str, content: Option<&str>| Change {
        place: place(name),
        content: content.map(|content| content.as_bytes().to_vec()),
    };
    let all = |changes: Vec<Change>| {
        let places: Vec<Place> = changes.iter().map(|change| change.place.clone()).collect();
        world.root.change_all::<Refusal>(&places, |_| Ok(changes))
    };
    let refused = all(vec![
        change("src/main.rs", Some("changed")),
        change("a/b/new.txt", Some("new")),
        change(".git/hooks/x", Some("evil")),
    ]);
    assert!(matches!(refused, Err(Refusal::Protected { .. })));
    assert_eq!(fs::read(world.path("src/main.rs")).unwrap(), b"fn main() {}\n");
    assert_eq!(world.names("."), ["src"], "folders that were made are gone");
    all(vec![change("src/main.rs", None), change("a/b/new.txt", Some("new"))]).unwrap();
    assert_eq!(
        (world.names("src").len(), fs::read(world.path("a/b/new.txt")).unwrap()),
        (0, b"new".to_vec())
    );
}

#[test]
fn a_path_is_resolved_to_where_it_lies() {
    let world = world();
    symlink("src", world.path("inside")).unwrap();
    symlink("src/main.rs", world.path("file")).unwrap();
    symlink("../other", world.path("out")).unwrap();
    let resolved = |path: &str, follows: bool| {
        world.root.resolve(path, follows).map(|(place, standing)| (place.as_str().to_owned(), standing))
    };
    let at = |place: &str, standing| Some((place.to_owned(), standing));
    let file = Standing::File { names: 1 };
    assert_eq!(resolved("inside/main.rs", true), at("src/main.rs", file));
    assert_eq!(resolved("inside/main.rs", false), at("src/main.rs", file));
    assert_eq!(resolved("file", true), at("src/main.rs", file));
    assert_eq!(resolved("file", false), at("file", Standing::Link));
    assert_eq!(resolved("inside/new", false), at("src/new", Standing::Nothing));
    assert_eq!(resolved("missing/deep/new", false), at("missing/deep/new", Standing::Nothing));
    assert_eq!(resolved(".", true), at(".", Standing::Folder));
    for outside in ["out/secret.txt", "../other", "/etc/passwd", "out/../repo"] {
        assert_eq!((resolved(outside, true), resolved(outside, false)), (None, None), "{outside}");
    }
    assert_eq!((resolved("out", true), resolved("out", false)), (None, at("out", Standing::Link)));
}

#[test]
fn a_stream_is_written_where_a_file_may_be() {
    let world = world();
    let open = |name: &str, appends| world.root.open_to_write(&world.root.place(name)?, appends);
    let write =
        |name: &str, appends, text: &str| open(name, appends).unwrap().write_all(text.as_bytes()).unwrap();
    write("log", false, "one");
    write("log", false, "1");
    write("log", true, "2");
    assert_eq!(fs::read(world.path("log")).unwrap(), b"12");
    symlink("../other/secret.txt", world.path("out")).unwrap();
    for name in ["out", ".env", ".git/config", "../x", "missing/x", "src"] {
        assert!(open(name, true).is_err(), "{name}");
    }
}

#[test]
fn no_change_of_another_call_is_lost() {
    let world = world();
    fs::write(world.path("count"), "").unwrap();
    let place = world.root.place("count").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let longer = |content: Vec<u8>| Ok::<_, Refusal>(Some([&content[..], b"x"].concat()));
                    world.root.change(&place, longer).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read(world.path("count")).unwrap().len(), 160);
}

#[test]
fn a_swapped_folder_leads_nowhere() {
    let world = world();
    fs::create_dir_all(world.path("dir")).unwrap();
    fs::write(world.path("dir/file"), "inside").unwrap();
    fs::create_dir_all(world.folder.path().join("other/dir")).unwrap();
    fs::write(world.folder.path().join("other/file"), "outside").unwrap();
    let (dir, away) = (world.path("dir"), world.path("away"));
    let other = world.folder.path().join("other");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = fs::rename(&dir, &away);
                let _ = symlink(&other, &dir);
                let _ = fs::remove_file(&dir);
                let _ = fs::rename(&away, &dir);
            }
        });
        for _ in 0..500 {
            if let Ok(content) = world.read("dir/file") {
                assert_ne!(content, b"outside");
            }
            let _ = world.write("dir/file", "inside");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fs::read(world.folder.path().join("other/file")).unwrap(), b"outside");
}

#[test]
fn a_walk_sees_what_is_there_and_follows_no_link() {
    let world = world();
    fs::create_dir_all(world.path("target/debug")).unwrap();
    fs::write(world.path("target/debug/x"), "").unwrap();
    fs::write(world.path(".gitignore"), "/target\n").unwrap();
    symlink("..", world.path("src/up")).unwrap();
    let walked = |with_ignored, most| {
        let mut seen = Vec::new();
        let walk = crate::Walk { depth: 10, with_ignored, most };
        let all = world
            .root
            .walk(".", walk, |at| {
                seen.push(at.path.to_owned());
                true
            })
            .unwrap();
        (seen, all)
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(walked(false, 100), (names(&[".gitignore", "src", "src/main.rs", "src/up"]), true));
    assert_eq!(walked(true, 100).0.len(), 7);
    assert_eq!(walked(false, 2).0.len(), 2);
    assert!(!walked(false, 2).1);
}
