use super::*;
use std::collections::BTreeMap;

fn patched(patch: &str, files: &[(&str, &str)]) -> Result<BTreeMap<String, Option<String>>, String> {
    let patches = read(patch).map_err(|error| error.to_string())?;
    let before =
        |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    match apply(&patches, before) {
        Ok(after) => Ok(after.into_iter().map(|(path, bytes)| (path, bytes.map(text))).collect()),
        Err(problems) => Err(problems
            .iter()
            .map(|problem| format!("{}: {}", problem.path, problem.why))
            .collect::<Vec<_>>()
            .join("\n")),
    }
}

fn one(patch: &str, text: &str) -> Result<String, String> {
    patched(patch, &[("f", text)]).map(|mut after| after.remove("f").flatten().unwrap())
}

#[test]
fn a_unified_diff_changes_adds_and_removes() {
    let patch = "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@ fn\n one\n-two\n+2\n+2b\n three\n\
                 diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\
                 diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    let after = patched(patch, &[("f", "one\ntwo\nthree\n"), ("gone", "x\n")]).unwrap();
    assert_eq!(after["f"].as_deref(), Some("one\n2\n2b\nthree\n"));
    assert_eq!(after["new.txt"].as_deref(), Some("a\nb\n"));
    assert_eq!(after["gone"], None);
}

#[test]
fn line_numbers_are_hints_and_counts_may_be_wrong() {
    let text: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let patch = "--- f\n+++ f\n@@ -3,9 +3,1 @@\n line 20\n-line 21\n+LINE 21\n line 22\n";
    assert!(one(patch, &text).unwrap().contains("line 20\nLINE 21\nline 22\n"));
    // Of equal places the one nearest to the number is meant.
    let patch = "--- f\n+++ f\n@@ -5 +5 @@\n-x\n+y\n";
    assert_eq!(one(patch, "x\na\na\na\nx\na\n").unwrap(), "x\na\na\na\ny\na\n");
}

#[test]
fn a_begin_patch_changes_adds_moves_and_removes() {
    let patch = "*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@ def two():\n-    return 1\n+    return 2\n\
                 *** Add File: dir/new.py\n+import os\n+\n+print(1)\n*** Delete File: gone\n*** End Patch";
    let text = "def one():\n    return 1\ndef two():\n    return 1\n";
    let after = patched(patch, &[("f", text), ("gone", "")]).unwrap();
    assert_eq!(after["f"], None);
    assert_eq!(after["g"].as_deref(), Some("def one():\n    return 1\ndef two():\n    return 2\n"));
    assert_eq!(after["dir/new.py"].as_deref(), Some("import os\n\nprint(1)\n"));
    assert_eq!(after["gone"], None);
}

#[test]
fn without_a_number_or_heading_equal_places_are_refused() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-x\n+y\n*** End Patch";
    let why = one(patch, "x\na\nx\n").unwrap_err();
    assert!(why.contains("several places (lines 1, 3)"), "{why}");
    let at_end = "*** Begin Patch\n*** Update File: f\n@@\n-x\n+y\n*** End of File\n*** End Patch";
    assert_eq!(one(at_end, "x\na\nx\n").unwrap(), "x\na\ny\n");
}

#[test]
fn blanks_may_differ_and_those_of_the_file_stay() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n if x:\n-  old()\n+    new()\n end\n*** End Patch";
    assert_eq!(one(patch, "\tif x:  \n\t  old()\nend\n").unwrap(), "\tif x:  \n    new()\nend\n");
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    assert_eq!(one(patch, "a\r\nb\r\n").unwrap(), "a\r\nc\r\n");
}

#[test]
fn the_end_of_a_file_is_as_the_patch_says() {
    let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n";
    assert_eq!(one(patch, "a").unwrap(), "b\n");
    let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
    assert_eq!(one(patch, "a\n").unwrap(), "b");
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n";
    assert_eq!(one(patch, "a\nb").unwrap(), "A\nb");
}

#[test]
fn all_that_does_not_fit_is_told_at_once() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-let x = compute(1)\n+y\n*** Update File: missing\n@@\n-a\n+b\n\
                 *** Add File: there\n+x\n*** End Patch";
    let why = patched(patch, &[("f", "let x = compute(2)\n"), ("there", "")]).unwrap_err();
    assert!(why.contains("f: its lines were not found; the most similar lines begin at line 1"), "{why}");
    assert!(why.contains("missing: it does not exist") && why.contains("there: it exists already"), "{why}");
}

#[test]
fn a_patch_that_was_applied_says_so() {
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    assert!(one(patch, "a\nc\n").unwrap_err().contains("applied already"));
}

#[test]
fn what_is_no_patch_says_what_is_missing() {
    for (text, word) in [
        ("hello", "names no file"),
        ("*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n", "`*** End Patch` is missing"),
        ("*** Begin Patch\n*** Change File: f\n*** End Patch", "line 2 of the patch"),
        ("@@ -1 +1 @@\n-a\n+b\n", "needs `--- a/PATH`"),
        ("--- a/f\n+++ b/f\n", "has no change"),
        ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "binary"),
        (
            "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n",
            "symbolic links",
        ),
    ] {
        let why = read(text).unwrap_err().to_string();
        assert!(why.contains(word), "{text}: {why}");
    }
}

#[test]
fn a_fence_around_a_patch_and_lines_like_headers_inside_are_no_matter() {
    let patch = "```diff\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n a\n```\n";
    assert_eq!(one(patch, "-- x\na\n").unwrap(), "++ y\na\n");
    let two = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-c\n+d\n";
    assert_eq!(patched(two, &[("f", "a\n"), ("g", "c\n")]).unwrap().len(), 2);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "([ +@*\\\\-]{0,3}[a-c ]{0,4}\n){0,12}", file in "([a-c ]{0,4}\n){0,8}") {
        for head in ["*** Begin Patch\n*** Update File: f\n", "--- a/f\n+++ b/f\n"] {
            let _ = one(&format!("{head}{text}*** End Patch"), &file);
        }
    }
}
