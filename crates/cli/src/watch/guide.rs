//! Lines that a person types while a goal is worked on: each becomes guidance for the next call.

use crate::gate::read_typed;
use convoke_engine::Handle;

/// Passes on what is typed.
pub struct Guide {
    handle: Handle,
    /// Recorded with the words.
    by: String,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    closed: bool,
}

impl Guide {
    /// Speaks to a run.
    pub fn new(handle: Handle, by: String) -> Guide {
        Guide { handle, by, begun: Vec::new(), closed: false }
    }

    /// Takes the lines that are there, without waiting for any.
    pub fn listen(&mut self) {
        while !self.closed
            && let Some(piece) = read_typed()
        {
            self.closed = piece.is_empty();
            self.begun.extend(piece);
            for line in lines(&mut self.begun, self.closed) {
                self.handle.guide(line, &self.by);
            }
        }
    }
}

/// The whole lines of what was typed, without empty ones; at the end of the input the last needs no end of its own.
fn lines(begun: &mut Vec<u8>, closed: bool) -> Vec<String> {
    let whole = match closed {
        true => begun.len(),
        false => begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1),
    };
    let text: Vec<u8> = begun.drain(..whole).collect();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_come_in_pieces_or_several_at_once() {
        let mut begun = b"\nfirst\n second \nthi".to_vec();
        assert_eq!(lines(&mut begun, false), ["first", "second"]);
        assert_eq!(lines(&mut begun, false), [""; 0]);
        begun.extend(b"rd");
        assert_eq!(lines(&mut begun, true), ["third"]);
    }
}
