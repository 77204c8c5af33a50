//! The last events of a run as they are sent: written once for all that listen, and no more of them than fit.

use convoke_model::Stamped;
use std::collections::VecDeque;
use std::sync::Arc;

/// Events that are kept.
const MOST: usize = 2_048;

/// Bytes that they may take.
const ROOM: usize = 4 << 20;

/// One event as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its number.
    pub seq: u64,
    /// As JSON: `{"seq": …, "at": …, "event": …}`.
    pub json: Arc<str>,
}

impl Piece {
    /// Of an event.
    pub fn of(stamped: &Stamped) -> Piece {
        let json = serde_json::to_string(stamped).unwrap_or_else(|_| "null".to_owned());
        Piece { seq: stamped.seq, json: json.into() }
    }
}

/// The last events, without gaps.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    pieces: VecDeque<Piece>,
    bytes: usize,
}

impl Recent {
    /// Keeps the next one; the oldest give way.
    pub fn push(&mut self, piece: Piece) {
        self.bytes += piece.json.len();
        self.pieces.push_back(piece);
        while self.pieces.len() > MOST || self.bytes > ROOM {
            let Some(oldest) = self.pieces.pop_front() else { break };
            self.bytes -= oldest.json.len();
        }
    }

    /// Those from this number on, unless older ones are asked for than there are.
    pub fn from(&self, from: u64, most: usize) -> Option<Vec<Piece>> {
        let first = self.pieces.front()?.seq;
        let skip = usize::try_from(from.checked_sub(first)?).ok()?;
        Some(self.pieces.iter().skip(skip).take(most).cloned().collect())
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(seq: u64, length: usize) -> Piece {
        Piece { seq, json: "x".repeat(length).into() }
    }

    #[test]
    fn what_is_kept_has_a_bound_and_no_gap() {
        let mut recent = Recent::default();
        (1..=5_000).for_each(|seq| recent.push(piece(seq, 10)));
        assert_eq!(recent.from(1, 10), None, "older ones are in the journal");
        let last = recent.from(4_990, 100).unwrap();
        assert_eq!(
            last.iter().map(|piece| piece.seq).collect::<Vec<_>>(),
            (4_990..=5_000).collect::<Vec<_>>()
        );
        assert_eq!(recent.from(5_001, 10), Some(Vec::new()));
        recent.push(piece(5_001, ROOM));
        assert_eq!(recent.from(5_000, 10), None);
        assert!(recent.bytes <= ROOM);
    }
}
