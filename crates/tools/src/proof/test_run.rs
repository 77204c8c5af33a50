//! How the tests of a project are run, and whether any was.

use convoke_files::Root;

/// Why there is nothing to run.
pub(super) const NONE_KNOWN: &str =
    "it is not known how this project is tested; say so: `tests_pass: COMMAND`";

/// The command by which a project is tested, by the files that it has; the first that fits.
pub(super) fn command(root: &Root) -> Option<&'static str> {
    let text =
        |path: &str| root.read(path, 1 << 20).ok().map(|text| String::from_utf8_lossy(&text).into_owned());
    let has = |path: &str| text(path).is_some();
    if has("Cargo.toml") {
        return Some("cargo test");
    }
    if text("package.json").is_some_and(|text| names_script(&text)) {
        return Some("npm test");
    }
    if has("go.mod") {
        return Some("go test ./...");
    }
    if ["pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "conftest.py"].into_iter().any(has) {
        return Some("python3 -m pytest");
    }
    let is_target = |line: &str| line.starts_with("test:");
    ["Makefile", "makefile"]
        .into_iter()
        .filter_map(text)
        .any(|text| text.lines().any(is_target))
        .then_some("make test")
}

fn names_script(package: &str) -> bool {
    let package: serde_json::Value = serde_json::from_str(package).unwrap_or_default();
    package["scripts"]["test"].is_string()
}

/// Whether what a test run printed says that there was no test, though it ended well.
pub(super) fn ran_none(output: &str) -> bool {
    let has = |says: fn(&str) -> Option<u64>, some: bool| {
        output.lines().filter_map(|line| says(line.trim())).any(|count| (count > 0) == some)
    };
    for says in [of_cargo as fn(&str) -> Option<u64>, of_unittest, of_node] {
        if has(says, false) && !has(says, true) {
            return true;
        }
    }
    let of_go = |line: &str| line.contains("[no test files]");
    let packages =
        || output.lines().filter(|line| line.starts_with("ok ") || of_go(line) || line.starts_with("?"));
    packages().next().is_some() && packages().all(of_go)
}

/// `running 3 tests`, by cargo.
fn of_cargo(line: &str) -> Option<u64> {
    line.strip_prefix("running ")?
        .strip_suffix(" tests")
        .or(line.strip_prefix("running ")?.strip_suffix(" test"))?
        .parse()
        .ok()
}

/// `Ran 3 tests in 0.1s`, by Python's unittest.
fn of_unittest(line: &str) -> Option<u64> {
    let (count, rest) = line.strip_prefix("Ran ")?.split_once(' ')?;
    rest.starts_with("test").then(|| count.parse().ok())?
}

/// `# tests 3` or `ℹ tests 3`, by node.
fn of_node(line: &str) -> Option<u64> {
    line.strip_prefix("# tests ").or_else(|| line.strip_prefix("ℹ tests "))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_tests_is_told_from_one_with_some() {
        for none in [
            "running 0 tests\n\ntest result: ok. 0 passed",
            "Ran 0 tests in 0.000s\n\nOK",
            "# tests 0\n# pass 0",
            "?   \texample.com/x\t[no test files]",
        ] {
            assert!(ran_none(none), "{none}");
        }
        for some in [
            "running 0 tests\nrunning 3 tests\nok",
            "running 1 test\nok",
            "Ran 1 test in 0.1s",
            "# tests 4",
            "ok  \texample.com/x\t0.1s\n?   \texample.com/y\t[no test files]",
            "3 passed in 0.1s",
            "",
        ] {
            assert!(!ran_none(some), "{some}");
        }
    }

    #[test]
    fn a_project_is_tested_as_its_files_say() {
        let of = |files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
            command(&Root::open(folder.path()).unwrap())
        };
        assert_eq!(of(&[("Cargo.toml", ""), ("Makefile", "test:\n")]), Some("cargo test"));
        assert_eq!(of(&[("package.json", "{\"scripts\": {\"test\": \"x\"}}")]), Some("npm test"));
        assert_eq!(of(&[("package.json", "{}"), ("go.mod", "")]), Some("go test ./..."));
        assert_eq!(of(&[("pyproject.toml", "")]), Some("python3 -m pytest"));
        assert_eq!(of(&[("Makefile", "all:\n\ntest: all\n")]), Some("make test"));
        assert_eq!(of(&[("Makefile", "all:\n")]), None);
    }
}
