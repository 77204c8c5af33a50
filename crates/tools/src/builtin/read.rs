//! `read_file`: a part of a text file, line by line.

use super::arguments::{number, text};
use super::{Call, Done, numbered};
use convoke_files::{Kind, is_binary};
use std::io::{BufRead, BufReader};

/// Lines where nothing is said.
const LINES: usize = 2_000;
/// Characters of one part, below what an agent is shown of a result.
const MOST: usize = 40_000;
/// Bytes of one line that are kept.
const LONGEST: usize = 64 << 10;
/// Lines are counted up to here; what comes behind is not counted any more.
const COUNTED: u64 = 256 << 20;

pub(super) fn perform(call: &Call) -> Done {
    let given = text(&call.arguments, "path").unwrap_or_default();
    let found = call.root.find(given).map_err(|refusal| refusal.to_string())?;
    if found.kind == Kind::Folder {
        return Err(format!("`{given}` is a folder; list_files says what is in it"));
    }
    let file = found.open().map_err(|refusal| refusal.to_string())?;
    let from = number(&call.arguments, "offset").unwrap_or(1);
    let limit = number(&call.arguments, "limit").unwrap_or(LINES);
    let mut part = Part::new(from, limit);
    part.read(BufReader::with_capacity(64 << 10, file)).map_err(|why| format!("`{given}` {why}"))?;
    part.shown(given, found.size)
}

struct Part {
    from: usize,
    limit: usize,
    lines: String,
    /// The line after the last that is shown.
    next: usize,
    total: usize,
    /// Whether all lines were counted.
    is_whole: bool,
    is_full: bool,
    is_utf8: bool,
}

impl Part {
    fn new(from: usize, limit: usize) -> Part {
        let (lines, next) = (String::new(), from);
        Part { from, limit, lines, next, total: 0, is_whole: true, is_full: false, is_utf8: true }
    }

    fn read(&mut self, mut reader: impl BufRead) -> Result<(), String> {
        let (mut bytes, mut line) = (0, Vec::new());
        while let Some(length) = next_line(&mut reader, &mut line).map_err(|error| error.to_string())? {
            if bytes == 0 && is_binary(&line) {
                return Err("is not a text file, and cannot be shown".to_owned());
            }
            bytes += length;
            self.total += 1;
            self.take(&line);
            if bytes > COUNTED {
                self.is_whole = false;
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, line: &[u8]) {
        if self.total < self.from || self.total >= self.from.saturating_add(self.limit) || self.is_full {
            return;
        }
        let text = String::from_utf8_lossy(line);
        self.is_utf8 &= !text.contains('\u{fffd}');
        let shown = numbered::line(self.total, text.trim_end_matches(['\n', '\r']));
        if self.lines.len() + shown.len() > MOST && !self.lines.is_empty() {
            self.is_full = true;
            return;
        }
        self.lines.push_str(&shown);
        self.lines.push('\n');
        self.next = self.total + 1;
    }

    fn shown(mut self, path: &str, size: u64) -> Done {
        if self.total == 0 {
            return Ok(format!("[`{path}` is empty]"));
        }
        if self.lines.is_empty() {
            return Err(format!("`{path}` has {} lines; there is no line {}", self.total, self.from));
        }
        if !self.is_utf8 {
            self.lines.push_str("[not all of it is UTF-8; what is not is shown as \u{fffd}]\n");
        }
        if self.next <= self.total || !self.is_whole {
            let of = if self.is_whole {
                self.total.to_string()
            } else {
                format!("more than {} ({size} bytes)", self.total)
            };
            self.lines.push_str(&format!(
                "[lines {} to {} of {of}; read on with offset {}]",
                self.from,
                self.next - 1,
                self.next
            ));
        }
        Ok(self.lines.trim_end_matches('\n').to_owned())
    }
}

/// Reads one line; of a very long one the beginning. Gives how many bytes it really has, `None` at the end.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Option<u64>> {
    line.clear();
    let mut length = 0;
    loop {
        let read = reader.fill_buf()?;
        if read.is_empty() {
            return Ok((length > 0).then_some(length));
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(read.len(), |end| end + 1);
        let room = LONGEST.saturating_sub(line.len()).min(taken);
        line.extend_from_slice(&read[..room]);
        reader.consume(taken);
        length += taken as u64;
        if end.is_some() {
            return Ok(Some(length));
        }
    }
}
