//! Which characters a command may hold at all.
//!
//! A character that is not seen, or that moves what is seen, makes the approved text another one than the text that runs. Such a
//! command is denied, never cleaned: a cleaned text is a text that nobody wrote. Invariant: what passes here has no byte below
//! space but tab and newline.

/// The first character that may not stand in a command: its place in characters from 1, and the word for it.
pub fn forbidden(text: &str) -> Option<(usize, String)> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n')) {
        return None;
    }
    let found = text.chars().enumerate().find_map(|(at, c)| describe(c).map(|word| (at + 1, word)));
    found.map(|(at, word)| (at, word.to_owned()))
}

/// What is wrong with a character, if anything is.
fn describe(c: char) -> Option<&'static str> {
    match c {
        '\t' | '\n' | ' '..='~' => None,
        '\0' => Some("a NUL character"),
        '\r' => Some("a carriage return"),
        '\u{1b}' => Some("an escape character, which a terminal obeys"),
        c if c.is_control() => Some("a control character"),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some("a character that changes the direction of text")
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Some("a character that is not seen"),
        '\u{2028}' | '\u{2029}' => Some("a line separator that is none to the shell"),
        c if c.is_whitespace() => Some("a blank that is none to the shell"),
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => Some("a character without a meaning"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseen_characters_are_found_with_their_place() {
        for text in [
            "ls\u{200b}",
            "ls\u{202e}",
            "ls\u{feff}",
            "ls\r",
            "ls\0",
            "ls\u{1b}",
            "ls\u{a0}",
            "ls\u{85}",
            "ls\u{e0041}",
        ] {
            assert_eq!(forbidden(text).map(|(at, _)| at), Some(3), "{text:?}");
        }
        assert_eq!(forbidden("echo 'grüße, 世界 → ok'\n\tls"), None);
    }
}
