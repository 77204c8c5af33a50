//! `curl`: a request that only reads, to an address that is judged by its parts, with the answer on standard output.

use super::Argument;
use super::uses::{Use, Uses};

/// Options without a value.
const FLAGS: [&str; 24] = [
    "-s",
    "-S",
    "-f",
    "-i",
    "-I",
    "-v",
    "-G",
    "-g",
    "-4",
    "-6",
    "-k0",
    "--silent",
    "--show-error",
    "--fail",
    "--fail-with-body",
    "--include",
    "--head",
    "--verbose",
    "--get",
    "--compressed",
    "--globoff",
    "--no-progress-meter",
    "--ipv4",
    "--ipv6",
];

/// Options with a value that only bounds or names something.
const WITH_VALUE: [&str; 10] = [
    "-m",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "--retry-delay",
    "--retry-max-time",
    "-A",
    "--user-agent",
    "--limit-rate",
    "--max-filesize",
];

/// Headers that may be set: none of them names a host, and none is a credential.
const HEADERS: [&str; 9] = [
    "accept",
    "accept-language",
    "accept-encoding",
    "user-agent",
    "cache-control",
    "if-none-match",
    "if-modified-since",
    "range",
    "content-type",
];

/// Looks at the words behind `curl`.
pub fn examine(words: &[Argument<'_>], uses: &mut Uses<'_>) {
    // Else curl would read options from a file of the user.
    uses.added.push((1, "--disable".into()));
    let mut rest = words.iter();
    let mut addresses = 0;
    while let Some(word) = rest.next() {
        let text = word.text;
        if word.is_pattern && !text.starts_with("http") {
            return uses.refuse(format!("`{text}` is a pattern; put it in single quotes"));
        }
        if !text.starts_with('-') {
            addresses += 1;
            address(text, word.is_pattern, uses);
            continue;
        }
        let (name, attached) = match text.split_once('=') {
            // curl takes no values after `=`; the whole word would be an unknown option.
            Some(_) if text.starts_with("--") => return uses.refuse(unknown(text)),
            _ => split(text),
        };
        if FLAGS.contains(&name) && attached.is_none() {
            continue;
        }
        if attached.is_some() && !name.starts_with("--") && cluster(text) {
            continue;
        }
        let value = || attached.map(str::to_owned);
        let mut next = || value().or_else(|| rest.next().map(|word| word.text.to_owned()));
        let value = match name {
            name if WITH_VALUE.contains(&name) => {
                next();
                continue;
            }
            "-H" | "--header" | "-X" | "--request" | "-o" | "--output" | "-w" | "--write-out" | "--url" => {
                next()
            }
            _ => return uses.refuse(unknown(name)),
        };
        let Some(value) = value else { return uses.refuse(format!("`curl {name}` has no value")) };
        match name {
            "-H" | "--header" => header(&value, uses),
            "-X" | "--request" if !matches!(value.as_str(), "GET" | "HEAD") => {
                uses.refuse(format!("`curl -X {value}` does more than read"));
            }
            "-o" | "--output" if value != "-" && value != "/dev/null" => {
                uses.refuse(format!("`curl -o {value}` writes a file; let the answer go to standard output"));
            }
            "-w" | "--write-out"
                if value.starts_with('@') || value.contains("%output") || value.contains("%{header") =>
            {
                uses.refuse("`curl -w` with a file reads or writes it");
            }
            "--url" => {
                addresses += 1;
                address(&value, false, uses);
            }
            _ => {}
        }
    }
    if addresses == 0 && !words.iter().any(|word| matches!(word.text, "--version" | "-V")) {
        uses.refuse("`curl` has no address");
    }
}

/// `-sSf` is a cluster of flags; `-m5` has its value attached.
fn split(text: &str) -> (&str, Option<&str>) {
    if text.starts_with("--") || text.len() <= 2 || !text.is_char_boundary(2) {
        return (text, None);
    }
    (&text[..2], Some(&text[2..]))
}

fn cluster(text: &str) -> bool {
    text[1..].chars().all(|letter| FLAGS.contains(&format!("-{letter}").as_str()))
}

fn unknown(name: &str) -> String {
    let why = match name {
        "-L" | "--location" => "follows redirects to other hosts",
        "-d" | "--data" | "--data-binary" | "--data-raw" | "--data-urlencode" | "-F" | "--form" | "-T"
        | "--upload-file" | "--json" => "sends data",
        "-o" | "-O" | "--output" | "--remote-name" => "writes a file",
        "-K" | "--config" => "reads options from a file",
        "-x" | "--proxy" | "--resolve" | "--connect-to" | "--unix-socket" | "--doh-url" | "--interface"
        | "--dns-servers" => "goes another way than the address says",
        "-u" | "--user" | "-b" | "--cookie" | "--netrc" | "-n" | "-E" | "--cert" => {
            "sends credentials or files"
        }
        _ => "is not among the options that are known to be harmless",
    };
    format!("`curl {name}` {why}; fetch the address itself, to standard output")
}

fn header(value: &str, uses: &mut Uses<'_>) {
    let name = value.split([':', ';']).next().unwrap_or("").trim().to_ascii_lowercase();
    if value.starts_with('@') || !HEADERS.contains(&name.as_str()) || value.contains(['\n', '\r']) {
        uses.refuse(format!(
            "`curl -H` may not set `{name}`: it could name another host, or send a credential"
        ));
    }
}

/// An address. What curl would expand to several is no address.
fn address(text: &str, is_pattern: bool, uses: &mut Uses<'_>) {
    // An unquoted `?` or `*` only matters where files are named like the address; nothing is.
    let _ = is_pattern;
    if text.contains(['{', '}', '[', ']', '*']) {
        uses.refuse(format!("`{text}` stands for several addresses; write them out"));
        return;
    }
    uses.touched.push(Use::Url(text.to_owned()));
}
