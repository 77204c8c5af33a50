//! Which characters a terminal or an editor obeys instead of showing them.
//!
//! One definition for everything that prints: the command line shows such characters as escapes, and generated files
//! quote them. How they are shown is decided there.

/// Whether a character is obeyed or hides how the text around it reads: C0 and C1 control characters, DEL, the
/// bidirectional controls of Unicode, and its separators of lines and paragraphs.
///
/// Line breaks and tabs are control characters too; a caller that prints several lines lets those two pass.
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a text has letters, digits and signs of ASCII and ends of lines, and nothing else. Quick: every byte is looked at, none is decoded.
pub fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |plain, byte| plain & ((b' '..=b'~').contains(&byte) | (byte == b'\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_told_from_letters() {
        for c in
            ['\0', '\t', '\n', '\r', '\x1b', '\x7f', '\u{80}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{2029}']
        {
            assert!(is_control(c), "{c:?}");
        }
        assert!(
            is_plain("a ~\n") && ["\t", "\x7f", "ä", "\r", "\x1b"].into_iter().all(|text| !is_plain(text))
        );
        // Joiners make letters of Persian and pictures of families; they move nothing.
        for c in ['a', ' ', 'ä', 'ש', 'م', '漢', '\u{200d}', '\u{a0}', '🏳'] {
            assert!(!is_control(c), "{c:?}");
        }
    }
}
