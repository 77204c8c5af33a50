//! Names of things: runs, tasks, attempts, digests.
//!
//! A task's id is a path such as `research[3]#2/1`: the node, its key in a fan-out, its visit, then `/` down into a
//! group, a sub-workflow or spawned work. Ids sort by their parts, numbers as numbers, so 2 comes before 10. The same
//! plan and inputs give the same ids.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The name of one run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub Arc<str>);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The path id of a task, as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub Arc<str>);

/// One part of a task id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The node's name.
    pub node: String,
    /// The item's key in a fan-out.
    pub key: Option<String>,
    /// Which visit of the node this is, from 1.
    pub visit: u32,
}

impl TaskId {
    /// The id of a node's task, below `parent` if there is one.
    pub fn new(parent: Option<&TaskId>, node: &str, key: Option<&str>, visit: u32) -> TaskId {
        let mut text = String::with_capacity(parent.map_or(0, |p| p.0.len() + 1) + node.len() + 8);
        if let Some(parent) = parent {
            text.push_str(&parent.0);
            text.push('/');
        }
        text.push_str(&escaped(node));
        if let Some(key) = key {
            text.push('[');
            text.push_str(&escaped(key));
            text.push(']');
        }
        if visit > 1 {
            text.push('#');
            text.push_str(&visit.to_string());
        }
        TaskId(text.into())
    }

    /// The id of an item of the for_each that has this id.
    ///
    /// The items of a for_each that is itself an item stand below it, or they would clash with its siblings'.
    pub fn item(&self, node: &str, key: &str) -> TaskId {
        let own = self.0.rfind('/').map_or(0, |at| at + 1);
        let (before, visit) = self.0.split_at(self.0[own..].find('#').map_or(self.0.len(), |at| own + at));
        if before.ends_with(']') {
            return TaskId::new(Some(self), node, Some(key), 1);
        }
        TaskId(joined([before, "[", &escaped(key), "]", visit]))
    }

    /// The id of an item that has no key but its number.
    pub fn numbered_item(&self, node: &str, number: u32) -> TaskId {
        let mut digits = [0; 10];
        self.item(node, decimal(number, &mut digits))
    }

    /// The parts of the path.
    pub fn segments(&self) -> impl Iterator<Item = Segment> {
        self.0.split('/').map(parse_segment)
    }

    /// How many steps down from the root workflow.
    pub fn depth(&self) -> usize {
        self.0.matches('/').count()
    }

    /// The id of the task that this one stands in.
    pub fn parent(&self) -> Option<TaskId> {
        self.0.rsplit_once('/').map(|(parent, _)| TaskId(parent.into()))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Ord for TaskId {
    fn cmp(&self, other: &Self) -> Ordering {
        let mut theirs = other.segments();
        for mine in self.segments() {
            let Some(their) = theirs.next() else { return Ordering::Greater };
            let by_part = cmp_text(&mine.node, &their.node).then_with(|| cmp_key(&mine.key, &their.key));
            let ordering = by_part.then_with(|| mine.visit.cmp(&their.visit));
            if ordering != Ordering::Equal {
                return ordering;
            }
        }
        if theirs.next().is_some() { Ordering::Less } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn cmp_key(mine: &Option<String>, their: &Option<String>) -> Ordering {
    match (mine, their) {
        (Some(a), Some(b)) => cmp_text(a, b),
        _ => mine.is_some().cmp(&their.is_some()),
    }
}

/// Numbers as numbers, also in `2.10`, and before words.
fn cmp_text(a: &str, b: &str) -> Ordering {
    match (numbers(a), numbers(b)) {
        (Some(a_numbers), Some(b_numbers)) => a_numbers.cmp(&b_numbers).then_with(|| a.cmp(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

/// Names and keys are free text, so what has a meaning in a path is written as `%XX`.
fn escaped(text: &str) -> Cow<'_, str> {
    // Nearly every name is of plain characters.
    if text
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'/' | b'[' | b']' | b'#' | b'%'))
    {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '/' | '[' | ']' | '#' | '%' => out.push_str(&format!("%{:02X}", c as u32)),
            c if c.is_control() => out.push_str(&format!("%{:02X}", c as u32 & 0xff)),
            c => out.push(c),
        }
    }
    out.into()
}

/// Parts as one text. Ids are short and made by the thousand, so they are put together on the stack.
fn joined(parts: [&str; 5]) -> Arc<str> {
    let mut short = [0; 64];
    let mut length = 0;
    for part in parts {
        match short.get_mut(length..length + part.len()) {
            Some(room) => room.copy_from_slice(part.as_bytes()),
            None => return parts.concat().into(),
        }
        length += part.len();
    }
    std::str::from_utf8(&short[..length]).expect("texts are UTF-8, one behind the other").into()
}

/// A number in decimal digits.
fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &str {
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return std::str::from_utf8(&digits[first..]).expect("digits are ASCII");
        }
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        match rest.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 3..];
            }
            None => {
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn parse_segment(text: &str) -> Segment {
    let (head, visit) = match text.rsplit_once('#') {
        Some((head, number)) => (head, number.parse().unwrap_or(1)),
        None => (text, 1),
    };
    match head.split_once('[') {
        Some((node, key)) => {
            Segment { node: unescape(node), key: Some(unescape(key.trim_end_matches(']'))), visit }
        }
        None => Segment { node: unescape(head), key: None, visit },
    }
}

/// A blake3 hash: the address of a blob, the identity of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// Reads 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Digest> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(Digest(bytes))
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written in one piece: a report of many sources is mostly digests.
        let mut digits = [0; 64];
        for (byte, pair) in self.0.iter().zip(digits.chunks_exact_mut(2)) {
            pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        f.write_str(std::str::from_utf8(&digits).expect("digits are ASCII"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Digest::parse(&text).ok_or_else(|| serde::de::Error::custom("a digest is 64 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(text: &str) -> TaskId {
        TaskId(text.into())
    }

    #[test]
    fn numbers_sort_as_numbers() {
        let mut ids = [id("r[10]"), id("r[2]#10"), id("r[2]#2"), id("r[2]"), id("r"), id("r[2]/a")];
        ids.sort();
        let text: Vec<_> = ids.iter().map(|i| &*i.0).collect();
        assert_eq!(text, ["r", "r[2]", "r[2]/a", "r[2]#2", "r[2]#10", "r[10]"]);
    }

    #[test]
    fn keys_of_several_numbers_sort_by_each_of_them() {
        let mut ids = [id("p/child[1.10]"), id("p/child[1.2.1]"), id("p/child[1.2]"), id("p/child[2.1]")];
        ids.sort();
        let text: Vec<_> = ids.iter().map(|i| &*i.0).collect();
        assert_eq!(text, ["p/child[1.2]", "p/child[1.2.1]", "p/child[1.10]", "p/child[2.1]"]);
    }

    proptest! {
        #[test]
        fn an_item_is_named_like_its_for_each_with_a_key(
            parent in proptest::option::of("[a-z]{1,3}(\\[[0-9]\\])?(#[2-9])?"),
            node in "\\PC{1,6}|[a-z\u{7}]{1,3}",
            key in "\\PC{0,6}|[/#%a-c\u{7f}]{0,3}",
            visit in 1u32..4,
        ) {
            let parent = parent.map(|text| id(&text));
            let fan_out = TaskId::new(parent.as_ref(), &node, None, visit);
            prop_assert_eq!(fan_out.item(&node, &key), TaskId::new(parent.as_ref(), &node, Some(&key), visit));
            let inner = TaskId::new(parent.as_ref(), &node, Some("k"), visit);
            prop_assert_eq!(inner.item(&node, &key), TaskId::new(Some(&inner), &node, Some(&key), 1));
        }

        #[test]
        fn a_numbered_item_has_its_number_as_key(node in "[a-z]{1,80}", number in any::<u32>(), visit in 1u32..4) {
            let fan_out = TaskId::new(None, &node, None, visit);
            prop_assert_eq!(fan_out.numbered_item(&node, number), fan_out.item(&node, &number.to_string()));
            let plain = fan_out.item(&node, &number.to_string());
            prop_assert_eq!(plain, TaskId::new(None, &node, Some(&number.to_string()), visit));
        }
    }

    #[test]
    fn the_example_of_the_glossary_reads_back() {
        let item = TaskId::new(None, "research", Some("3"), 2);
        assert_eq!(TaskId::new(Some(&item), "1", None, 1).0.as_ref(), "research[3]#2/1");
    }

    proptest! {
        #[test]
        fn any_name_and_key_survive_the_path(node in "[^\\x00-\\x1f]{1,8}", key in "[^\\x00-\\x1f]{0,8}", visit in 1u32..9) {
            let id = TaskId::new(Some(&TaskId::new(None, "up", None, 1)), &node, Some(&key), visit);
            let last = id.segments().last().expect("two parts");
            prop_assert_eq!(last, Segment { node, key: Some(key), visit });
        }

        #[test]
        fn ordering_is_total(a in "[ab/#.0-9\\[\\]]{1,6}", b in "[ab/#.0-9\\[\\]]{1,6}") {
            let (a, b) = (id(&a), id(&b));
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            prop_assert_eq!(a.cmp(&b) == Ordering::Equal, a == b);
        }
    }
}
