//! How long a decision takes. Only when asked for: `cargo nextest run -p convoke-policy --cargo-profile dist --run-ignored only -- speed`

use convoke_policy::{Lexical, Policy};
use std::path::Path;
use std::time::{Duration, Instant};

/// The time within which 99 of 100 decisions on 4 KiB are made.
const BOUND: Duration = Duration::from_micros(200);

/// Commands of about 4 KiB, of several shapes.
fn commands() -> Vec<(&'static str, String)> {
    let searches = (0..40)
        .map(|at| format!("grep -rn 'a pattern of some length {at}' src/lib.rs \"another file {at}.rs\""));
    let document =
        format!("cat <<'EOF' > notes.md\n{}EOF\n", "a line of a document, as agents write them\n".repeat(94));
    let names = (0..200).map(|at| format!("src/module_{at:03}.rs"));
    vec![
        ("searches", searches.collect::<Vec<_>>().join(" && ")),
        ("one text", format!("echo '{}'", "x".repeat(4080))),
        ("a document", document),
        ("many files", format!("wc -l {}", names.collect::<Vec<_>>().join(" "))),
        ("complex", format!("for f in {}; do echo \"$f\"; done", "file.rs ".repeat(500))),
        ("a message", format!("git commit -m '{}'", "word ".repeat(800))),
    ]
}

#[test]
#[ignore = "a measurement, of the optimised program"]
fn a_decision_takes_less_than_a_fifth_of_a_millisecond() {
    let policy = Policy::preset("develop").unwrap();
    let world = Lexical::new("/w/repo");
    let mut figures = Vec::new();
    for (name, command) in commands() {
        let mut times: Vec<Duration> = (0..2_000)
            .map(|_| {
                let begin = Instant::now();
                std::hint::black_box(policy.judge(&command, Path::new("/w/repo"), &world));
                begin.elapsed()
            })
            .collect();
        times.sort();
        figures.push((name, command.len(), times[times.len() / 2], times[times.len() * 99 / 100]));
    }
    let slow: Vec<_> = figures.iter().filter(|(.., p99)| *p99 > BOUND).collect();
    assert!(slow.is_empty(), "p99 above {BOUND:?}: {slow:?}\nall: {figures:?}");
    report(&figures);
}

/// Figures are kept where the test is run by hand.
fn report(figures: &[(&str, usize, Duration, Duration)]) {
    use std::io::Write;
    let mut out = std::io::stdout();
    for (name, bytes, median, p99) in figures {
        let _ = writeln!(out, "{name:<12} {bytes} bytes  median {median:?}  p99 {p99:?}");
    }
}
