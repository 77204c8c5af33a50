//! Reads lines that have a greatest length: a program that never ends one must not fill the memory.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// A longer line is no message.
const MOST: usize = 64 << 20;

/// The lines of a stream.
pub struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// The lines of this stream.
    pub fn new(stream: R) -> Lines<R> {
        Lines { reader: BufReader::with_capacity(64 << 10, stream), line: Vec::new() }
    }

    /// The next line without its end; what is no UTF-8 is replaced. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            let buffer = self.reader.fill_buf().await?;
            if buffer.is_empty() {
                return Ok((!self.line.is_empty()).then(|| self.take()));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let (length, taken) = end.map_or((buffer.len(), buffer.len()), |end| (end, end + 1));
            self.line.extend_from_slice(&buffer[..length]);
            self.reader.consume(taken);
            if self.line.len() > MOST {
                return Err(io::Error::other(format!("a line is longer than {MOST} bytes")));
            }
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> String {
        let mut line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        line.truncate(line.trim_end_matches('\r').len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_one_by_one_and_the_last_needs_no_end() {
        let mut lines = Lines::new(&b"one\r\n\ntw\xffo\nlast"[..]);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            read.push(line);
        }
        assert_eq!(read, ["one", "", "tw\u{fffd}o", "last"]);
    }
}
