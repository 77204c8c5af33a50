//! The program in a reply: all its Python blocks, in order, are one.
//!
//! A block that names another language is no program. Where no block names a language, all of them are taken.

use crate::judge::without_thoughts;

/// How blocks say that they are programs.
const PYTHON: [&str; 4] = ["python", "py", "python3", "repl"];

/// The program that a reply holds, if it holds one.
pub(super) fn program(reply: &str) -> Option<String> {
    let blocks = blocks(without_thoughts(reply));
    let is_python = |block: &&Block<'_>| PYTHON.iter().any(|name| block.language.eq_ignore_ascii_case(name));
    let mut chosen: Vec<&Block<'_>> = blocks.iter().filter(is_python).collect();
    if chosen.is_empty() {
        chosen = blocks.iter().filter(|block| block.language.is_empty()).collect();
    }
    let texts: Vec<String> = chosen.iter().map(|block| block.lines.join("\n")).collect();
    let text = texts.join("\n\n");
    (!text.trim().is_empty()).then_some(text)
}

struct Block<'a> {
    language: &'a str,
    lines: Vec<&'a str>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    // The block that is open, its fence and how far that is indented.
    let mut open: Option<(Block<'_>, &str, usize)> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        open = match open {
            None => {
                opening(bare).map(|(fence, language)| (Block { language, lines: Vec::new() }, fence, indent))
            }
            Some((block, fence, _)) if closes(bare, fence) => {
                blocks.push(block);
                None
            }
            Some((mut block, fence, by)) => {
                block.lines.push(unindented(line, by));
                Some((block, fence, by))
            }
        };
    }
    // A reply that ends before its fence: what was cut off by a limit is not brought here.
    blocks.extend(open.map(|(block, ..)| block));
    blocks
}

/// The fence that a line begins, and the language that it names.
fn opening(line: &str) -> Option<(&str, &str)> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.bytes().take_while(|byte| *byte == mark as u8).count();
    let (fence, rest) = line.split_at(length);
    let language = rest.trim().split([' ', '{', ',']).next().unwrap_or_default();
    (length >= 3 && !rest.contains('`')).then_some((fence, language))
}

fn closes(line: &str, fence: &str) -> bool {
    line.starts_with(fence) && line.trim_end().trim_start_matches(['`', '~']).is_empty()
}

/// A block in a list is indented as a whole.
fn unindented(line: &str, by: usize) -> &str {
    let spaces = line.len() - line.trim_start_matches(' ').len();
    &line[spaces.min(by)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        program(text)
    }

    #[test]
    fn all_python_blocks_in_order_are_one_program() {
        let reply =
            "First:\n```python\na = 1\n```\nthen\n```Py\nif a:\n    b = a\n```\nand\n```json\n{}\n```\n";
        assert_eq!(read(reply).as_deref(), Some("a = 1\n\nif a:\n    b = a"));
    }

    #[test]
    fn a_block_without_a_language_is_taken_only_where_none_is_python() {
        assert_eq!(read("```\na = 1\n```").as_deref(), Some("a = 1"));
        assert_eq!(read("```\nnot this\n```\n```python\na = 1\n```").as_deref(), Some("a = 1"));
        assert_eq!(read("```json\n{}\n```"), None);
        assert_eq!(read("The answer is 4."), None);
        assert_eq!(read("```python\n\n```"), None);
    }

    #[test]
    fn longer_fences_hold_shorter_ones_and_lists_are_unindented() {
        let reply = "````python\nx = '''\n```\n'''\n````";
        assert_eq!(read(reply).as_deref(), Some("x = '''\n```\n'''"));
        let listed = "1. so:\n   ```python\n   if a:\n       b()\n   ```";
        assert_eq!(read(listed).as_deref(), Some("if a:\n    b()"));
    }

    #[test]
    fn what_is_only_thought_is_not_run() {
        let reply = "<think>\n```python\nbad()\n```\n</think>\n```python\ngood()\n```";
        assert_eq!(read(reply).as_deref(), Some("good()"));
    }
}
