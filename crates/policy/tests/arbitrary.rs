//! Whatever the text is: no panic, and what is allowed is what bash would read.
//!
//! The corpus of the fuzz targets (`fuzz/corpus`) is mutated here as well, from a seed and as bytes. CONVOKE_FUZZ says how often each of
//! its files is (200 unless told); what a fuzzer finds is kept in that folder.

use convoke_policy::{Access, Kind, Lexical, Policy, Verdict};
use proptest::prelude::*;
use std::path::Path;

/// Pieces that commands and attacks are made of.
const PIECES: [&str; 64] = [
    "ls",
    "cat",
    "git",
    "status",
    "log",
    "diff",
    "sed",
    "awk",
    "find",
    "rm",
    "touch",
    "env",
    "timeout",
    "5",
    "echo",
    "cd",
    "src",
    "a.txt",
    ".env",
    "..",
    "/",
    "/etc/passwd",
    " ",
    " ",
    " ",
    " ",
    "\t",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    ">",
    ">>",
    "<",
    "<<",
    "<<<",
    "2>&1",
    "'",
    "\"",
    "\\",
    "\\\n",
    "$",
    "$(",
    "`",
    "(",
    ")",
    "{",
    "}",
    "*",
    "?",
    "[",
    "]",
    "!",
    "#",
    "~",
    "=",
    "-n",
    "--",
    "-o",
    "EOF",
    "\u{200b}",
    "x",
];

fn scrambled() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40).prop_map(|pieces| pieces.concat())
}

fn judge(text: &str) -> Verdict {
    let world = Lexical::new("/w/repo");
    let policy = Policy::parse("extends: develop\nbinaries: {allow: [\"*\"]}\n").unwrap();
    policy.judge(text, Path::new("/w/repo"), &world).verdict
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        judge(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_mixture_of_pieces_makes_it_panic(text in scrambled()) {
        judge(&text);
    }

    #[test]
    fn no_policy_text_makes_it_panic(text in "[a-z:\\[\\]{}\\- \n\"'*&!#|>]{0,200}") {
        let _ = Policy::parse(&text);
    }

    /// What has a sign outside of quotes by which a shell computes is never allowed.
    #[test]
    fn an_expansion_is_never_allowed(before in "[a-z ]{0,8}", after in "[a-z ]{0,8}", sign in prop::sample::select(&["$x", "$(x)", "`x`", "${x}", "$((1))", "<(x)", "{a,b}", " & x", "(x)"][..])) {
        prop_assert_ne!(judge(&format!("echo {before}{sign}{after}")), Verdict::Allow);
    }
}

/// The same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound.max(1) as u64).expect("it is below the bound")
    }
}

/// Files of the corpus of a target.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// Changes bytes, takes some out, doubles some, and puts some of another file in.
fn mutated(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    const SIGNS: &[u8] = b"\0\t\n\r \"#$&'()*-./0;<=>?[\\]`{|}~!^\x7f\x80\xc3\xff";
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len() + 1);
        let to = (at + random.below(24)).min(bytes.len());
        match random.below(5) {
            0 => bytes.insert(at, SIGNS[random.below(SIGNS.len())]),
            1 => drop(bytes.drain(at..to)),
            2 => bytes.splice(at..at, bytes[at..to].to_vec()).for_each(drop),
            3 => {
                let from = random.below(other.len());
                let piece = other[from..(from + random.below(24)).min(other.len())].to_vec();
                bytes.splice(at..at, piece).for_each(drop);
            }
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
        }
    }
    bytes
}

fn each_mutation(target: &str, mut take: impl FnMut(&str)) {
    let rounds = std::env::var("CONVOKE_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let files = corpus(target);
    assert!(!files.is_empty());
    let mut random = Random(7);
    for file in &files {
        take(&String::from_utf8_lossy(file));
        for _ in 0..rounds {
            let other = &files[random.below(files.len())];
            take(&String::from_utf8_lossy(&mutated(file, other, &mut random)));
        }
    }
}

#[test]
fn no_mutation_of_a_command_makes_it_panic() {
    let policies = ["extends: develop\n", "extends: develop\nbinaries: {allow: [\"*\"], deny: [rm]}\n"];
    let policies = policies.map(|text| Policy::parse(text).unwrap());
    let world = Lexical::new("/w")
        .with("src/lib.rs", Kind::File { names: 1 })
        .with(".git", Kind::Folder)
        .link("up", "../x");
    each_mutation("judge", |text| {
        for policy in &policies {
            let judgement = policy.judge(text, Path::new("/w"), &world);
            if let Some(plan) = &judgement.plan {
                assert!(!plan.hash().is_empty() && plan.to_string().lines().count() > 0);
            }
            policy.judge_path(Path::new(text), Access::Write, &world);
            policy.judge_tool(text);
        }
    });
}

#[test]
fn no_mutation_of_a_policy_makes_it_panic() {
    each_mutation("policy", |text| match Policy::parse(text) {
        Ok(policy) => assert!(!policy.explain().is_empty()),
        Err(findings) => assert!(!findings.is_empty()),
    });
}
