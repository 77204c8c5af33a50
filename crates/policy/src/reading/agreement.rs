//! Two other readers of the shell's grammar must read the same.
//!
//! Nearly every published bypass is a difference between what a checker read and what the shell read. A text is only plain if three
//! programs of different authors cut it into the same words and operators.

use super::lexer::Token;
use super::script::{Join, Redirect, RedirectKind, Script, Simple};
use brush_parser::{Token as Brush, TokenizerOptions, uncached_tokenize_str};
use rable::{ListOperator, Node, NodeKind, PipeSep};

/// Whether both can read a text that is not plain. Only for texts of bounded nesting.
pub fn is_readable(text: &str) -> bool {
    rable::parse(text, false).is_ok() && uncached_tokenize_str(text, &options()).is_ok()
}

fn options() -> TokenizerOptions {
    TokenizerOptions { enable_extended_globbing: false, posix_mode: false, sh_mode: false }
}

// --- words and operators -------------------------------------------------------------------------------------------

/// Whether brush-parser cuts a text into the same words and operators.
pub fn same_tokens(text: &str, tokens: &[Token<'_>]) -> bool {
    let Ok(theirs) = uncached_tokenize_str(text, &options()) else { return false };
    let mut theirs = theirs.iter().map(|token| match token {
        Brush::Word(word, _) => (false, word.as_str()),
        Brush::Operator(operator, _) => (true, operator.as_str()),
    });
    // Line breaks of empty lines are counted differently, and are nothing.
    let mut theirs = std::iter::from_fn(move || theirs.next()).filter(|token| *token != (true, "\n"));
    let mut same = true;
    let mut expect = |is_operator: bool, text: &str| same &= theirs.next() == Some((is_operator, text));
    for token in tokens {
        match token {
            Token::Word(word) => expect(false, word.raw),
            Token::Redirect(redirect) => redirect_as_tokens(redirect, &mut expect),
            Token::Semicolon => expect(true, ";"),
            Token::And => expect(true, "&&"),
            Token::Or => expect(true, "||"),
            Token::Pipe => expect(true, "|"),
            Token::Newline => {}
        }
    }
    same && theirs.next().is_none()
}

fn redirect_as_tokens(redirect: &Redirect<'_>, expect: &mut impl FnMut(bool, &str)) {
    if let Some(descriptor) = redirect.descriptor {
        expect(false, ["0", "1", "2"][usize::from(descriptor)]);
    }
    match &redirect.kind {
        RedirectKind::Read(word) => pair(expect, "<", word.raw),
        RedirectKind::Write(word, operator) | RedirectKind::Both(word, operator) => {
            pair(expect, operator, word.raw)
        }
        RedirectKind::Append(word) => pair(expect, ">>", word.raw),
        RedirectKind::Text(word) => pair(expect, "<<<", word.raw),
        RedirectKind::Copy(to) => pair(expect, ">&", ["0", "1", "2"][usize::from(*to)]),
        RedirectKind::Close => pair(expect, ">&", "-"),
        RedirectKind::Document(end, text, strip) => {
            pair(expect, if *strip { "<<-" } else { "<<" }, end.raw);
            expect(false, text);
            expect(false, &end.text);
        }
    }
}

fn pair(expect: &mut impl FnMut(bool, &str), operator: &str, word: &str) {
    expect(true, operator);
    expect(false, word);
}

// --- structure -----------------------------------------------------------------------------------------------------

/// Whether rable puts a text together to the same commands.
pub fn same_structure(text: &str, script: &Script<'_>) -> bool {
    let Ok(nodes) = rable::parse(text, false) else { return false };
    let mut flat = Vec::new();
    let read = nodes.iter().all(|node| flatten(node, Join::Then, &mut flat, 0));
    read && flat.len() == script.pipelines.len()
        && flat.iter().zip(&script.pipelines).all(|((join, commands), own)| {
            *join == own.join
                && commands.len() == own.commands.len()
                && commands.iter().zip(&own.commands).all(|(theirs, own)| same_command(theirs, own))
        })
}

/// Lists are trees that lean to one side, as high as they are long.
const MAX_LIST: usize = 512;

fn flatten<'a>(node: &'a Node, join: Join, into: &mut Vec<(Join, Vec<&'a Node>)>, depth: usize) -> bool {
    if depth > MAX_LIST {
        return false;
    }
    match &node.kind {
        NodeKind::Command { .. } => {
            into.push((join, vec![node]));
            true
        }
        NodeKind::Pipeline { commands, separators } => {
            into.push((join, commands.iter().collect()));
            separators.iter().all(|separator| *separator == PipeSep::Pipe)
        }
        NodeKind::List { items } => {
            let mut join = join;
            items.iter().all(|item| {
                let read = flatten(&item.command, join, into, depth + 1);
                join = match item.operator {
                    Some(ListOperator::And) => Join::And,
                    Some(ListOperator::Or) => Join::Or,
                    Some(ListOperator::Semi) | None => Join::Then,
                    Some(ListOperator::Background) => return false,
                };
                read
            })
        }
        NodeKind::Comment { .. } | NodeKind::Empty => true,
        _ => false,
    }
}

fn same_command(node: &Node, own: &Simple<'_>) -> bool {
    let NodeKind::Command { assignments, words, redirects } = &node.kind else { return false };
    let raws = |nodes: &[Node], own: &mut dyn Iterator<Item = &str>| {
        nodes.iter().all(|node| raw(node).is_some_and(|text| own.next() == Some(text)))
            && own.next().is_none()
    };
    raws(assignments, &mut own.assignments.iter().map(|(_, word)| word.raw))
        && raws(words, &mut own.words.iter().map(|word| word.raw))
        && redirects.len() == own.redirects.len()
        && redirects.iter().zip(&own.redirects).all(|(node, own)| same_redirect(node, own))
}

fn raw(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Word { value, .. } => Some(value),
        _ => None,
    }
}

fn same_redirect(node: &Node, own: &Redirect<'_>) -> bool {
    let written = own.descriptor.map_or(-1, i32::from);
    match (&node.kind, &own.kind) {
        (NodeKind::HereDoc { delimiter, content, strip_tabs, quoted, fd, complete }, kind) => {
            let RedirectKind::Document(end, text, strip) = kind else { return false };
            *complete
                && *quoted
                && *delimiter == end.text
                && content == text
                && strip_tabs == strip
                && *fd == written
        }
        (NodeKind::Redirect { op, target, fd, varfd: None }, kind) => {
            let word = raw(target).unwrap_or_default();
            let same = match kind {
                RedirectKind::Read(own) => op == "<" && own.raw == word,
                RedirectKind::Write(own, operator) | RedirectKind::Both(own, operator) => {
                    op == operator && own.raw == word
                }
                RedirectKind::Append(own) => op == ">>" && own.raw == word,
                RedirectKind::Text(own) => op == "<<<" && own.raw == word,
                RedirectKind::Copy(to) => op == ">&" && word == to.to_string(),
                RedirectKind::Close => op == ">&-",
                RedirectKind::Document(..) => false,
            };
            same && *fd == written
        }
        _ => false,
    }
}
