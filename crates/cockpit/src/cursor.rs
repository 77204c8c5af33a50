//! A place in a list that changes: it stays with its item, and in sight.

/// A chosen row and the first row that is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The chosen row.
    pub at: usize,
    /// The first row that is shown.
    pub top: usize,
}

impl Cursor {
    /// Moves by so many rows; ends where the list does.
    pub fn step(&mut self, by: isize, length: usize) {
        self.at = self.at.saturating_add_signed(by).min(length.saturating_sub(1));
    }

    /// To the first row.
    pub fn jump_to_start(&mut self) {
        self.at = 0;
    }

    /// To the last row.
    pub fn jump_to_end(&mut self, length: usize) {
        self.at = length.saturating_sub(1);
    }

    /// Follows an item to its new place; where it is gone, the cursor stays in the list.
    pub fn follow(&mut self, place: Option<usize>, length: usize) {
        self.at = place.unwrap_or(self.at).min(length.saturating_sub(1));
    }

    /// The rows that are shown, so that the chosen one is among them.
    pub fn window(&mut self, length: usize, height: usize) -> std::ops::Range<usize> {
        let height = height.max(1);
        self.at = self.at.min(length.saturating_sub(1));
        self.top = self.top.min(self.at).max((self.at + 1).saturating_sub(height));
        self.top = self.top.min(length.saturating_sub(height));
        self.top..length.min(self.top + height)
    }
}
