//! The list of names against the sources: each name is used, and at one place only.

use convoke_failpoint::NAMES;
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn each_name_marks_one_place_of_the_sources() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it lies in `crates`");
    let mut used: BTreeMap<String, u32> = BTreeMap::new();
    for entry in std::fs::read_dir(crates).expect("a folder").flatten() {
        // The crate itself has the list, and an example in its words.
        if entry.file_name() != "failpoint" {
            count_in(&entry.path().join("src"), &mut used);
        }
    }
    for name in NAMES {
        assert_eq!(used.remove(*name), Some(1), "`{name}` marks one place");
    }
    assert_eq!(used, BTreeMap::new(), "every name is listed");
    assert!(NAMES.is_sorted(), "the list has an order");
    assert!(NAMES.len() >= 150, "{} names", NAMES.len());
}

fn count_in(folder: &Path, used: &mut BTreeMap<String, u32>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            count_in(&path, used);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source is text");
            for rest in text.split("failpoint!(\"").skip(1) {
                *used.entry(rest.split('"').next().unwrap_or_default().to_owned()).or_default() += 1;
            }
        }
    }
}
