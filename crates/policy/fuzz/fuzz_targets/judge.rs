//! Any bytes as a command, a path and a tool: no panic. `cargo +nightly fuzz run judge` in `crates/policy`.
#![no_main]

use convoke_policy::{Access, Kind, Lexical, Policy};
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::LazyLock;

static POLICIES: LazyLock<Vec<Policy>> = LazyLock::new(|| {
    let all = Policy::parse("extends: develop\nbinaries: {allow: [\"*\"], deny: [rm]}\n").expect("it is one");
    vec![Policy::preset("develop").expect("there is one"), all]
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let world = Lexical::new("/w").with("src/lib.rs", Kind::File { names: 1 }).with(".git", Kind::Folder).link("up", "../x");
    for policy in &*POLICIES {
        let judgement = policy.judge(&text, Path::new("/w"), &world);
        if let Some(plan) = &judgement.plan {
            let _ = (plan.to_string(), plan.hash());
        }
        policy.judge_path(Path::new(&*text), Access::Write, &world);
        policy.judge_tool(&text);
    }
});
