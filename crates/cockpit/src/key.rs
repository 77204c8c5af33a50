//! The keys that mean something here, whatever a terminal calls them.

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// A character that is typed.
    Char(char),
    /// Open, choose, hand in.
    Enter,
    /// Back, or away with what lies on top.
    Escape,
    /// Takes back the last character.
    Backspace,
    /// The next part.
    Tab,
    /// One up.
    Up,
    /// One down.
    Down,
    /// One to the left.
    Left,
    /// One to the right.
    Right,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// The first.
    Home,
    /// The last.
    End,
    /// Ctrl-C: leave, whatever is open.
    Leave,
}
