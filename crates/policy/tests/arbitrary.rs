//! Whatever the text is: no panic, and what is allowed is what bash would read.

use convoke_policy::{Lexical, Policy, Verdict};
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
