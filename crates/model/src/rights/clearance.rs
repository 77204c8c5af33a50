//! What an entry of a list of tools stands for, and what two lists have in common.
//!
//! An entry is a tool's name, alone or with its server, and `*` in it stands for anything. Which tools there are is only
//! known once their servers are asked, so what two lists have in common is kept as entries: where one of two says less,
//! that one, else both of them (`a & b`). Everything that narrows or enforces rights reads entries here and nowhere else.

use crate::Contract;

/// What joins server and tool in an entry.
const JOINTS: [&str; 4] = ["__", ".", "/", ":"];

/// Between two entries of which both must stand for a tool. No name of a tool has it.
const AND: &str = " & ";

/// The names that one tool goes by.
#[derive(Debug, Clone, Copy)]
pub struct ToolName<'a> {
    /// Its server.
    pub server: &'a str,
    /// Its own name there.
    pub name: &'a str,
    /// How models know it.
    pub known: &'a str,
}

impl ToolName<'_> {
    /// Whether an entry stands for this tool.
    pub fn is(&self, entry: &str) -> bool {
        let (server, name) = (self.server, self.name);
        let joined = |part: &str| JOINTS.iter().any(|joint| matches(part, &format!("{server}{joint}{name}")));
        let stands = |part: &str| matches(part, name) || matches(part, self.known) || joined(part);
        entry.split(AND).map(str::trim).all(stands)
    }

    /// The same for an entry that may be written in any case.
    pub fn is_in_any_case(&self, entry: &str) -> bool {
        let [server, name, known] = [self.server, self.name, self.known].map(str::to_lowercase);
        ToolName { server: &server, name: &name, known: &known }.is(&entry.to_lowercase())
    }
}

impl Contract {
    /// Whether a tool may be used: once settled, its name is among the allowed ones; before, an entry allows it and none
    /// bans it, in whatever case either is written.
    pub fn admits(&self, tool: ToolName<'_>) -> bool {
        if self.tools_settled {
            return self.allowed_tools.iter().flatten().any(|name| name == tool.known);
        }
        let named = |entries: &[String]| entries.iter().any(|entry| tool.is_in_any_case(entry));
        self.allowed_tools.as_deref().is_none_or(named) && !named(&self.banned_tools)
    }

    /// Whether something may be done of which only words are known: none of them is banned, and one is allowed.
    pub fn admits_words(&self, words: &[&str]) -> bool {
        let is_in =
            |entries: &[String]| entries.iter().any(|entry| words.iter().any(|word| is_word(entry, word)));
        self.allowed_tools.as_deref().is_none_or(is_in) && !is_in(&self.banned_tools)
    }

    /// Whether a ban names this word.
    pub fn bans(&self, word: &str) -> bool {
        self.banned_tools.iter().any(|entry| is_word(entry, word))
    }

    /// Whether entries leave out anything at all.
    pub fn is_limit(&self) -> bool {
        self.allowed_tools.is_some() || !self.banned_tools.is_empty()
    }

    /// Whether no tool may be used, whatever tools there are.
    pub fn allows_nothing(&self) -> bool {
        self.allowed_tools.as_deref().is_some_and(<[String]>::is_empty)
    }
}

fn is_word(entry: &str, word: &str) -> bool {
    ToolName { server: "", name: word, known: word }.is_in_any_case(entry)
}

/// What two lists of entries have in common: a tool is in it if it is in both. Each entry with the place of the one in the
/// first list that it comes from.
pub fn common(one: &[&str], other: &[&str]) -> Vec<(usize, String)> {
    let mut common: Vec<(usize, String)> = Vec::new();
    for (at, entry) in one.iter().enumerate() {
        // What one entry of the other list takes whole needs no other.
        let whole = other.iter().find(|limit| says_less(entry, limit));
        let limits = whole.map_or(other, std::slice::from_ref);
        for both in limits.iter().filter_map(|limit| both(entry, limit)) {
            if !common.iter().any(|(_, known)| known.eq_ignore_ascii_case(&both)) {
                common.push((at, both));
            }
        }
    }
    common
}

/// Whether everything that an entry stands for is also in one of a list.
pub fn is_within(entry: &str, list: &[&str]) -> bool {
    list.iter().any(|limit| says_less(entry, limit))
}

/// The entry for what two entries both stand for; `None` where no tool can be meant by both.
fn both(one: &str, other: &str) -> Option<String> {
    let (one, other) = (one.trim(), other.trim());
    match (says_less(one, other), says_less(other, one)) {
        (true, _) => Some(one.to_owned()),
        (_, true) => Some(other.to_owned()),
        _ if are_apart(one, other) => None,
        _ => Some(format!("{one}{AND}{other}")),
    }
}

/// Whether every tool that one entry stands for is one of the other's. A `*` of the first is only ever taken up by one of
/// the second, so whatever it stands for is too.
fn says_less(one: &str, other: &str) -> bool {
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    let parts = || one.split(AND).map(str::trim);
    other.split(AND).map(str::trim).all(|limit| parts().any(|part| matches(limit, part)))
}

/// Whether two plain names are certainly not those of one tool: neither is the other behind a server's name.
fn are_apart(one: &str, other: &str) -> bool {
    if [one, other].iter().any(|entry| entry.contains(['*', '&'])) {
        return false;
    }
    let plain = |entry: &str| -> String {
        let sign = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '_' };
        let text: String = entry.chars().map(sign).collect();
        text.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
    };
    let (one, other) = (plain(one), plain(other));
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|server| server.ends_with('_'));
    one != other && !ends(&one, &other) && !ends(&other, &one)
}

/// Whether the text fits a pattern in which `*` stands for anything.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(before) else { return false };
    let mut text = text;
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn common_of(one: &[&str], other: &[&str]) -> Vec<String> {
        common(one, other).into_iter().map(|(_, entry)| entry).collect()
    }

    #[test]
    fn of_a_name_and_a_pattern_that_takes_it_in_the_name_is_left() {
        assert_eq!(common_of(&["fs__*"], &["fs__read"]), ["fs__read"]);
        assert_eq!(common_of(&["fs__read"], &["fs__*"]), ["fs__read"]);
        assert_eq!(common_of(&["FS__Read", "git__log"], &["fs__*"]), ["FS__Read", "git__log & fs__*"]);
        assert_eq!(common_of(&["fs__*"], &["fs__re*", "fs__re*"]), ["fs__re*"]);
        assert_eq!(common_of(&["*"], &["a", "b__*"]), ["a", "b__*"]);
    }

    #[test]
    fn names_of_two_tools_have_nothing_in_common() {
        assert_eq!(common_of(&["read", "write"], &["write", "delete"]), ["write"]);
        assert_eq!(common_of(&["read"], &["fs__read"]), ["read & fs__read"]);
        assert_eq!(common_of(&["fs.read"], &["fs__read"]), ["fs.read & fs__read"]);
        assert_eq!(common_of(&["read"], &["thread", "read_file"]), [""; 0]);
        assert_eq!(common_of(&[], &["a"]), [""; 0]);
    }

    #[test]
    fn a_star_stands_for_anything_but_no_part_is_used_twice() {
        assert!(matches("a*a", "aa") && matches("*", "") && matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*a", "a") && !matches("a*b*c", "acb"));
    }

    /// Tools and the entries that could be meant for them, of few letters so that they meet.
    fn entry() -> impl Strategy<Value = String> {
        prop_oneof!["[abAB]{1,2}", "[ab](__|\\.|/|:)[abAB]{1,2}", "[ab]__\\*", "\\*[ab]", "[aB]\\*", "\\*"]
    }

    proptest! {
        #[test]
        fn a_tool_is_in_what_is_common_if_it_is_in_both(
            one in prop::collection::vec(entry(), 0..4), other in prop::collection::vec(entry(), 0..4),
            server in "[ab]", name in "[ab]{1,2}(\\.[ab])?",
        ) {
            let known = format!("{server}__{}", name.replace('.', "_"));
            let tool = ToolName { server: &server, name: &name, known: &known };
            let (one, other): (Vec<&str>, Vec<&str>) =
                (one.iter().map(String::as_str).collect(), other.iter().map(String::as_str).collect());
            let stands = |list: &[&str]| list.iter().any(|entry| tool.is_in_any_case(entry));
            let left = common_of(&one, &other);
            let left: Vec<&str> = left.iter().map(String::as_str).collect();
            prop_assert_eq!(stands(&left), stands(&one) && stands(&other), "{:?}", left);
        }
    }
}
