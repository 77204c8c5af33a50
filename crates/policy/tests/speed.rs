//! How long a decision takes. Only when asked for: `cargo nextest run -p convoke-policy --cargo-profile dist --run-ignored only -- speed`

use convoke_policy::{Lexical, Policy, Verdict};
use std::path::Path;
use std::time::Duration;

/// The time within which 99 of 100 decisions on 4 KiB are made.
const BOUND: Duration = Duration::from_micros(200);

/// Commands of about 4 KiB, of several shapes.
fn commands() -> Vec<(&'static str, String)> {
    let searches = (0..40)
        .map(|at| format!("grep -rn 'a pattern of some length {at}' src/lib.rs \"another file {at}.rs\""));
    let document =
        format!("cat <<'EOF' > notes.md\n{}EOF\n", "a line of a document, as agents write them\n".repeat(94));
    let dense =
        (0..56).map(|at| format!("cat a{at:02}.txt b.txt c.txt src/d.rs notes/e.md f.txt g.txt h.txt"));
    let short = (0..64).map(|_| "ls a b c d e f/g-of-some-length src/and-another-name/of-a-file");
    let history = (0..56).map(|at| format!("git log -n {at:02} --oneline -- src/main_file.rs b notes/e.md"));
    let pipes = (0..9).map(|at| {
        format!("grep -rn 'fn main {at}' src | grep -v tests | sort -u | head -n {at}; cat src/module_{at}.rs notes/a_page.md | wc -l; git show HEAD~{at}")
    });
    let quoted =
        (0..60).map(|at| format!("echo 'some words {at}' \"and others\" 'x' \"y\" 'z' 'the end of it'"));
    let escaped = (0..30).map(|at| format!("cat a\\ file\\ {at}.txt 'b'.txt c.txt 2>/dev/null || echo no\\ such\\ file, as was said before in the text of the task"));
    let redirects = (0..31).map(|at| format!("sort -u notes/list_{at:02}.txt > notes/sorted_{at:02}.txt 2>&1 && wc -l notes/a_longer_name.md notes/another_one_{at}.md notes/list_{at}.md"));
    let outside =
        (0..8).map(|at| format!("cat /etc/passwd{at} ../x /root/y ../../z /a /b /c/{at} /d/e/f/g/h"));
    let unknown =
        (0..60).map(|at| format!("frobnicate --level={at} --quickly input.txt output.txt and more"));
    let names = (0..200).map(|at| format!("src/module_{at:03}.rs"));
    vec![
        ("searches", searches.collect::<Vec<_>>().join(" && ")),
        ("dense reads", dense.collect::<Vec<_>>().join("; ")),
        ("short words", short.collect::<Vec<_>>().join(";")),
        ("git", history.collect::<Vec<_>>().join("; ")),
        ("pipelines", pipes.collect::<Vec<_>>().join("; ")),
        ("quoted", quoted.collect::<Vec<_>>().join("; ")),
        ("outside", outside.collect::<Vec<_>>().join("; ")),
        ("unknown", unknown.collect::<Vec<_>>().join("; ")),
        ("too many", "a;".repeat(2_048)),
        ("too many words", format!("ls{}", " a".repeat(2_047))),
        ("wildcards", format!("ls {}", "src/a*b*c*.rs ".repeat(250))),
        ("brackets", format!("find . -name '{}'", "[".repeat(4_070))),
        ("one text", format!("echo '{}'", "x".repeat(4080))),
        ("a document", document),
        ("many files", format!("wc -l {}", names.collect::<Vec<_>>().join(" "))),
        ("complex", format!("for f in {}; do echo \"$f\"; done", "file.rs ".repeat(500))),
        ("escaped", escaped.collect::<Vec<_>>().join("; ")),
        ("redirects", redirects.collect::<Vec<_>>().join("; ")),
        ("a message", format!("git commit -m '{}'", "word ".repeat(800))),
    ]
}

/// The time for which this thread was computing: what other programs of the machine do is not in it.
fn worked() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(now).expect("it is past its beginning")
}

/// Shapes that are not allowed, or need not be. The others are: what is refused early is no measure of what is not.
const OTHER: [&str; 8] =
    ["complex", "outside", "unknown", "wildcards", "brackets", "too many", "too many words", "a whole text"];

#[test]
#[ignore = "a measurement, of the optimised program"]
fn a_decision_takes_less_than_a_fifth_of_a_millisecond() {
    let policy = Policy::preset("develop").unwrap();
    let world = Lexical::new("/w/repo");
    let mut figures = Vec::new();
    for (name, command) in commands() {
        let verdict = policy.judge(&command, Path::new("/w/repo"), &world).verdict;
        let is_work = !OTHER.contains(&name);
        assert!(!is_work || verdict == Verdict::Allow, "{name}: {verdict:?}");
        let mut times: Vec<Duration> = (0..2_000)
            .map(|_| {
                let begin = worked();
                std::hint::black_box(policy.judge(&command, Path::new("/w/repo"), &world));
                worked() - begin
            })
            .collect();
        times.sort();
        figures.push((name, command.len(), times[times.len() / 2], times[times.len() * 99 / 100]));
    }
    report(&figures);
    let slow: Vec<_> = figures.iter().filter(|(.., p99)| *p99 > BOUND).collect();
    assert!(slow.is_empty(), "p99 above {BOUND:?}: {slow:?}");
}

/// Figures are kept where the test is run by hand.
fn report(figures: &[(&str, usize, Duration, Duration)]) {
    use std::io::Write;
    let mut out = std::io::stdout();
    for (name, bytes, median, p99) in figures {
        let _ = writeln!(out, "{name:<12} {bytes} bytes  median {median:?}  p99 {p99:?}");
    }
}
