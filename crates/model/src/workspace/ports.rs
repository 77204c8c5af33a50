//! Blocks of ports.

use serde::{Deserialize, Serialize};

/// Ports one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ports {
    /// The first.
    pub first: u16,
    /// How many.
    pub count: u16,
}

impl Ports {
    /// Each of them.
    pub fn each(self) -> impl Iterator<Item = u16> {
        (0..self.count).filter_map(move |n| self.first.checked_add(n))
    }

    /// Whether the two have one in common.
    pub fn meets(self, other: Ports) -> bool {
        u32::from(self.first) < u32::from(other.first) + u32::from(other.count)
            && u32::from(other.first) < u32::from(self.first) + u32::from(self.count)
    }

    /// Whether all of the other are among these.
    pub fn covers(self, other: Ports) -> bool {
        self.first <= other.first
            && u32::from(other.first) + u32::from(other.count)
                <= u32::from(self.first) + u32::from(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_ports_meet_and_cover() {
        let block = |first, count| Ports { first, count };
        assert!(block(10, 4).meets(block(13, 1)) && !block(10, 4).meets(block(14, 1)));
        assert!(block(10, 4).covers(block(12, 2)) && !block(10, 4).covers(block(12, 3)));
        assert_eq!(block(65_534, 2).each().collect::<Vec<_>>(), [65_534, 65_535]);
    }
}
