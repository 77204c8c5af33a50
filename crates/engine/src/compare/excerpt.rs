//! The part in which two texts differ, with a little around it.

use convoke_model::excerpt::{first_chars, last_chars, one_line};

/// Characters that are shown before and behind what differs.
const AROUND: usize = 30;
/// Characters of a differing part that are shown.
const MOST: usize = 160;

/// Where two texts part: the words that differ in each, with a little around them; long parts are cut.
pub fn parting(old: &str, new: &str) -> (String, String) {
    let before = at_word(old, common(old.chars(), new.chars()));
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = common(old_rest.chars().rev(), new_rest.chars().rev());
    let after = whole_word(old_rest, new_rest, after);
    (around(old, before, after), around(new, before, after))
}

/// Bytes that two texts have in common at their beginning.
fn common(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    one.zip(other).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// The start of the word that a place lies in.
fn at_word(text: &str, place: usize) -> usize {
    text[..place].char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8())
}

/// The most of a common end that begins between two words in both texts.
fn whole_word(old: &str, new: &str, after: usize) -> usize {
    let end = &old[old.len() - after..];
    let starts_word = |text: &str| {
        let before = text[..text.len() - after].chars().next_back();
        before.is_none_or(char::is_whitespace) || end.starts_with(char::is_whitespace)
    };
    match starts_word(old) && starts_word(new) {
        true => after,
        false => end.find(char::is_whitespace).map_or(0, |at| after - at),
    }
}

fn around(text: &str, before: usize, after: usize) -> String {
    let (middle, rest) = text[before..].split_at(text.len() - after - before);
    let lead = last_chars(&text[..before], AROUND);
    let part = first_chars(middle, MOST);
    let is_cut = part.len() < middle.len();
    let behind = if is_cut { "" } else { first_chars(rest, AROUND) };
    let from = if lead.len() < before { "…" } else { "" };
    let to = if is_cut || behind.len() < rest.len() { "…" } else { "" };
    one_line(&format!("{from}{lead}{part}{behind}{to}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_shown_with_a_little_around_them() {
        let old = "Write a haiku about rain as Basho would";
        let (a, b) = parting(old, "Write a haiku about train as Basho would");
        assert_eq!((a.as_str(), b.as_str()), (old, "Write a haiku about train as Basho would"));
        let long = "word ".repeat(50);
        let (a, b) = parting(&format!("{long}one {long}"), &format!("{long}two {long}"));
        assert!(a.starts_with('…') && a.ends_with('…') && a.contains(" one "), "{a}");
        assert!(b.contains(" two ") && b.chars().count() < 80, "{b}");
    }

    #[test]
    fn texts_of_any_characters_are_cut_between_them() {
        for (old, new) in [("", "é"), ("ää", "äö"), ("x", "x"), ("aé b", "aè b"), ("", ""), ("aa", "aaa")]
        {
            parting(old, new);
        }
        let (a, _) = parting(&"é".repeat(1_000), "x");
        assert_eq!(a.chars().count(), MOST + 1);
    }
}
