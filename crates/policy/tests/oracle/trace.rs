//! Lines of strace, as far as they say what was executed and what was changed.

use std::collections::HashMap;
use std::iter::Peekable;
use std::path::PathBuf;

/// What a traced call did.
#[derive(Debug, PartialEq)]
pub enum Did {
    /// A program was started.
    Execute(String),
    /// An entry was made, opened for writing, changed or removed.
    Change(PathBuf),
}

/// What one line says that was done; nothing for a call that failed.
pub fn did(line: &str) -> Vec<Did> {
    let Some((call, rest)) = line.split_once('(') else { return Vec::new() };
    let name = call.rsplit(' ').next().unwrap_or(call);
    let failed = line
        .rsplit_once(" = ")
        .is_some_and(|(_, result)| result.starts_with("-1") || result.starts_with('?'));
    if failed {
        return Vec::new();
    }
    let texts = strings(rest);
    match name {
        "execve" => texts.first().map(|program| Did::Execute(program.clone())).into_iter().collect(),
        "open" | "openat" | "openat2"
            if !["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| rest.contains(flag)) =>
        {
            Vec::new()
        }
        _ => {
            let folder = rest
                .split_once("AT_FDCWD<")
                .or_else(|| rest.split_once('<'))
                .and_then(|(_, path)| path.split_once('>'));
            let folder = folder.map_or_else(PathBuf::new, |(path, _)| PathBuf::from(path));
            texts.iter().map(|path| Did::Change(folder.join(path))).collect()
        }
    }
}

/// Texts between quotes, as they are without the signs by which strace shows them.
fn strings(line: &str) -> Vec<String> {
    let (mut found, mut current, mut bytes) = (Vec::new(), None::<Vec<u8>>, line.bytes().peekable());
    while let Some(byte) = bytes.next() {
        match (byte, &mut current) {
            (b'"', None) => current = Some(Vec::new()),
            (b'"', Some(_)) => {
                found.extend(current.take().map(|text| String::from_utf8_lossy(&text).into_owned()));
            }
            (b'\\', Some(text)) => text.extend(escaped(&mut bytes)),
            (byte, Some(text)) => text.push(byte),
            (b'[', None) => break,
            _ => {}
        }
    }
    found
}

/// What stands behind a backslash: a letter for a control character, or up to three digits of base eight.
fn escaped(bytes: &mut Peekable<impl Iterator<Item = u8>>) -> Option<u8> {
    Some(match bytes.next()? {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'v' => 11,
        b'f' => 12,
        first @ b'0'..=b'7' => {
            let mut value = first - b'0';
            for _ in 0..2 {
                let Some(digit) = bytes.next_if(|byte| matches!(byte, b'0'..=b'7')) else { break };
                value = value.wrapping_mul(8).wrapping_add(digit - b'0');
            }
            value
        }
        other => other,
    })
}

/// The lines of a trace, each call in one: where another process comes between, strace cuts it in two.
pub fn whole_lines(trace: &str) -> Vec<String> {
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let mut lines = Vec::new();
    for line in trace.lines() {
        let (pid, said) = line.split_once(' ').unwrap_or(("", line));
        if let Some(head) = said.strip_suffix("<unfinished ...>") {
            begun.insert(pid, head);
        } else if let Some((_, tail)) =
            said.split_once("resumed>").filter(|_| said.trim_start().starts_with("<..."))
        {
            lines.push(format!("{pid} {}{tail}", begun.remove(pid).unwrap_or_default()));
        } else {
            lines.push(line.to_owned());
        }
    }
    // What never came back may have been done.
    lines.extend(begun.into_iter().map(|(pid, head)| format!("{pid} {head}")));
    lines
}
