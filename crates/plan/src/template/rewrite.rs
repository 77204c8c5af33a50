//! Turns operators whose meaning differs from Python's into calls of our own (`operators`), in the text itself.
//!
//! Minijinja has no hook for operators and compiles only text, so `a < b` becomes `((a)|__compare("<", b))` and so on.
//! A walk over the tokens, shaped like minijinja's own grammar, finds where operands begin and end. Texts that do not
//! parse come out in some state: the caller parses the original first and reports that.
//!
//! Invariant: only insertions and replacements within a line, each remembered, so that a place in the rewritten text
//! can be led back to the original.

use std::ops::Range;

use minijinja::machinery::{Token, tokenize};

use super::environment::syntax;

/// Methods that change their object; a template that calls one gets literals which can change.
const CHANGING: [&str; 11] = [
    "append",
    "extend",
    "insert",
    "pop",
    "remove",
    "clear",
    "update",
    "setdefault",
    "reverse",
    "sort",
    "popitem",
];

/// A text and how it came about.
pub(super) struct Rewritten {
    /// The text for minijinja.
    pub text: String,
    edits: Vec<Edit>,
}

#[derive(Debug)]
struct Edit {
    from: usize,
    to: usize,
    order: u8,
    text: String,
}

/// What ends goes before what begins, and both before what is replaced at the same place.
const CLOSE: u8 = 0;
const OPEN: u8 = 1;
const REPLACE: u8 = 2;

impl Rewritten {
    /// The range of the original text that a range of the rewritten one stands for.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        let start = self.original_offset(range.start);
        start..self.original_offset(range.end).max(start)
    }

    fn original_offset(&self, offset: usize) -> usize {
        let mut shift = 0isize;
        for edit in &self.edits {
            let begins = edit.from.saturating_add_signed(shift);
            if offset < begins {
                break;
            }
            if offset < begins + edit.text.len() {
                return edit.from;
            }
            shift += edit.text.len() as isize - (edit.to - edit.from) as isize;
        }
        offset.saturating_add_signed(-shift)
    }
}

/// Rewrites a whole template.
pub(super) fn rewrite(text: &str) -> Rewritten {
    let mut tokens = Vec::new();
    for token in tokenize(text, false, syntax()) {
        match token {
            Ok((token, span)) => tokens.push((token, span.start_offset as usize..span.end_offset as usize)),
            Err(_) => return Rewritten { text: text.to_owned(), edits: Vec::new() },
        }
    }
    let mut walk =
        Walk { tokens: &tokens, at: 0, edits: Vec::new(), changing: calls_a_changing_method(&tokens) };
    walk.template();
    apply(text, walk.edits)
}

fn apply(text: &str, mut edits: Vec<Edit>) -> Rewritten {
    edits.sort_by_key(|edit| (edit.from, edit.order));
    let mut out = String::with_capacity(text.len() + edits.len() * 12);
    let mut copied = 0;
    for edit in &edits {
        out.push_str(&text[copied..edit.from]);
        out.push_str(&edit.text);
        copied = edit.to;
    }
    out.push_str(&text[copied..]);
    Rewritten { text: out, edits }
}

type Spot<'a> = (Token<'a>, Range<usize>);

fn calls_a_changing_method(tokens: &[Spot<'_>]) -> bool {
    tokens.windows(3).any(|three| {
        matches!((&three[0].0, &three[1].0, &three[2].0),
            (Token::Dot, Token::Ident(name), Token::ParenOpen) if CHANGING.contains(name))
    })
}

struct Walk<'t, 'a> {
    tokens: &'t [Spot<'a>],
    at: usize,
    edits: Vec<Edit>,
    changing: bool,
}

impl<'a> Walk<'_, 'a> {
    /// Tags one after the other; a statement's keyword is skipped, whatever follows is read as expressions.
    fn template(&mut self) {
        while let Some((token, _)) = self.tokens.get(self.at) {
            let block = matches!(token, Token::BlockStart);
            let variable = matches!(token, Token::VariableStart);
            self.at += 1;
            if block {
                self.statement();
            }
            if block || variable {
                self.tag();
            }
        }
    }

    /// A statement's keyword; what a loop runs over is checked.
    fn statement(&mut self) {
        let is_loop = self.is_word("for");
        self.at += 1;
        if !is_loop {
            return;
        }
        while self.peek().is_some_and(|token| !matches!(token, Token::Ident("in") | Token::BlockEnd)) {
            self.at += 1;
        }
        if !self.skip_word("in") {
            return;
        }
        let start = self.start();
        self.either();
        if !matches!(self.peek(), Some(Token::Comma)) {
            self.insert(start, OPEN, "((");
            let end = self.end();
            self.insert(end, CLOSE, ")|__iterable)");
        }
    }

    fn tag(&mut self) {
        while let Some(token) = self.peek() {
            if matches!(token, Token::BlockEnd | Token::VariableEnd | Token::TemplateData(_)) {
                return;
            }
            let before = self.at;
            self.conditional();
            if self.at == before {
                self.at += 1;
            }
        }
    }

    fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Ident(name)) if *name == word)
    }

    fn skip_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// The offset at which the next token begins.
    fn start(&self) -> usize {
        self.tokens.get(self.at).map_or_else(|| self.end(), |(_, range)| range.start)
    }

    /// The offset at which the last token ended.
    fn end(&self) -> usize {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(0, |(_, range)| range.end)
    }

    fn insert(&mut self, at: usize, order: u8, text: &str) {
        self.edits.push(Edit { from: at, to: at, order, text: text.to_owned() });
    }

    fn replace(&mut self, range: Range<usize>, text: String) {
        self.edits.push(Edit { from: range.start, to: range.end, order: REPLACE, text });
    }

    fn conditional(&mut self) {
        self.either();
        while self.skip_word("if") {
            self.either();
            if self.skip_word("else") {
                self.conditional();
            }
        }
    }

    fn either(&mut self) {
        self.both();
        while self.skip_word("or") {
            self.both();
        }
    }

    fn both(&mut self) {
        self.negation();
        while self.skip_word("and") {
            self.negation();
        }
    }

    fn negation(&mut self) {
        while self.skip_word("not") {}
        self.comparison();
    }

    /// A comparison is rewritten whole if any of its links asks for an order.
    fn comparison(&mut self) {
        let start = self.start();
        self.binary(0);
        let mut links: Vec<(Range<usize>, &'static str)> = Vec::new();
        while let Some(link) = self.comparator() {
            links.push(link);
            self.binary(0);
        }
        if !links.iter().any(|(_, operator)| operator.starts_with(['<', '>'])) {
            return;
        }
        self.insert(start, OPEN, "((");
        for (at, (range, operator)) in links.into_iter().enumerate() {
            let text =
                if at == 0 { format!(")|__compare(\"{operator}\", ") } else { format!(", \"{operator}\", ") };
            self.replace(range, text);
        }
        let end = self.end();
        self.insert(end, CLOSE, "))");
    }

    fn comparator(&mut self) -> Option<(Range<usize>, &'static str)> {
        let start = self.start();
        let operator = match self.peek()? {
            Token::Eq => "==",
            Token::Ne => "!=",
            Token::Lt => "<",
            Token::Lte => "<=",
            Token::Gt => ">",
            Token::Gte => ">=",
            Token::Ident("in") => "in",
            Token::Ident("not") if matches!(self.tokens.get(self.at + 1), Some((Token::Ident("in"), _))) => {
                "not in"
            }
            _ => return None,
        };
        self.at += if operator == "not in" { 2 } else { 1 };
        Some((start..self.end(), operator))
    }

    /// Sums, joins, products and powers, by level of precedence.
    fn binary(&mut self, level: usize) {
        let start = self.start();
        self.operand(level);
        while let Some((range, function)) = self.operator(level) {
            self.operand(level);
            if let Some(function) = function {
                self.insert(start, OPEN, "((");
                self.replace(range, format!(")|{function}("));
                let end = self.end();
                self.insert(end, CLOSE, "))");
            }
        }
    }

    fn operand(&mut self, level: usize) {
        if level < 3 { self.binary(level + 1) } else { self.unary() }
    }

    /// The operator at this level of precedence, and what it becomes if Python means something else by it.
    fn operator(&mut self, level: usize) -> Option<(Range<usize>, Option<&'static str>)> {
        let start = self.start();
        let function = match (level, self.peek()?) {
            (0, Token::Plus) => Some("__add"),
            (0, Token::Minus) => None,
            (1, Token::Tilde) => Some("__concat"),
            (2, Token::Mul) => Some("__multiply"),
            (2, Token::Mod) => Some("__modulo"),
            (2, Token::Div | Token::FloorDiv) => None,
            (3, Token::Pow) => None,
            _ => return None,
        };
        self.at += 1;
        Some((start..self.end(), function))
    }

    fn unary(&mut self) {
        while matches!(self.peek(), Some(Token::Minus)) {
            self.at += 1;
        }
        let start = self.start();
        self.primary();
        self.postfix(start);
        self.filters();
    }

    fn primary(&mut self) {
        match self.peek() {
            Some(Token::ParenOpen) => self.enclosed(),
            Some(Token::BracketOpen) => self.literal("|__list)"),
            Some(Token::BraceOpen) => self.literal("|__dict)"),
            Some(Token::Str(_) | Token::String(_)) => {
                while matches!(self.peek(), Some(Token::Str(_) | Token::String(_))) {
                    self.at += 1;
                }
            }
            Some(Token::Ident(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_)) => self.at += 1,
            _ => {}
        }
    }

    fn literal(&mut self, close: &str) {
        let start = self.start();
        self.enclosed();
        if self.changing {
            self.insert(start, OPEN, "(");
            let end = self.end();
            self.insert(end, CLOSE, close);
        }
    }

    /// Everything up to the bracket that closes the one at hand, as expressions with whatever stands between them.
    fn enclosed(&mut self) {
        self.at += 1;
        while let Some(token) = self.peek() {
            let closes = matches!(token, Token::ParenClose | Token::BracketClose | Token::BraceClose);
            if matches!(token, Token::BlockEnd | Token::VariableEnd) {
                return;
            }
            let before = self.at;
            if !closes {
                self.conditional();
            }
            if self.at == before {
                self.at += 1;
            }
            if closes {
                return;
            }
        }
    }

    fn postfix(&mut self, start: usize) {
        loop {
            match self.peek() {
                Some(Token::Dot) => self.at += 2,
                Some(Token::ParenOpen) => self.enclosed(),
                Some(Token::BracketOpen) => self.subscript(start),
                _ => return,
            }
        }
    }

    /// `[key]` stays; `[start:stop:step]` becomes a call.
    fn subscript(&mut self, start: usize) {
        let open = self.start()..self.start() + 1;
        self.at += 1;
        let mut edits = Vec::new();
        let mut missing = true;
        while let Some(token) = self.peek() {
            let range = self.start()..self.start() + 1;
            match token {
                Token::BracketClose => break,
                Token::Colon => {
                    edits.push((range, if missing { "none, " } else { ", " }));
                    missing = true;
                    self.at += 1;
                }
                Token::BlockEnd | Token::VariableEnd => return,
                _ => {
                    let before = self.at;
                    self.conditional();
                    missing = false;
                    self.at += usize::from(self.at == before);
                }
            }
        }
        let close = self.start()..self.start() + 1;
        self.at += 1;
        if edits.is_empty() {
            return;
        }
        self.insert(start, OPEN, "((");
        self.replace(open, ")|__slice(".to_owned());
        for (range, text) in edits {
            self.replace(range, text.to_owned());
        }
        self.replace(close, if missing { "none))" } else { "))" }.to_owned());
    }

    fn filters(&mut self) {
        loop {
            match self.peek() {
                Some(Token::Pipe) => {
                    self.at += 1;
                    self.dotted_name();
                    if matches!(self.peek(), Some(Token::ParenOpen)) {
                        self.enclosed();
                    }
                }
                Some(Token::Ident("is")) => self.test(),
                _ => return,
            }
        }
    }

    fn dotted_name(&mut self) {
        self.at += 1;
        while matches!(self.peek(), Some(Token::Dot)) {
            self.at += 2;
        }
    }

    fn test(&mut self) {
        self.at += 1;
        self.skip_word("not");
        self.dotted_name();
        match self.peek() {
            Some(Token::ParenOpen) => self.enclosed(),
            Some(Token::Ident("and" | "or" | "else" | "is" | "if" | "in" | "not")) => {}
            Some(
                Token::Ident(_)
                | Token::Str(_)
                | Token::String(_)
                | Token::Int(_)
                | Token::Int128(_)
                | Token::Float(_)
                | Token::BracketOpen
                | Token::BraceOpen,
            ) => {
                let start = self.start();
                self.primary();
                self.postfix(start);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_become_calls_with_whole_operands() {
        let cases = [
            ("{{ a < b }}", r#"{{ ((a )|__compare("<",  b)) }}"#),
            ("{{ 1 < x <= 3 }}", r#"{{ ((1 )|__compare("<",  x , "<=",  3)) }}"#),
            ("{{ a == b }}", "{{ a == b }}"),
            ("{{ (a + b) % c }}", "{{ (((((a )|__add( b))) )|__modulo( c)) }}"),
            ("{{ x[1:] }}", "{{ ((x)|__slice(1, none)) }}"),
            ("{{ x[::-1] }}", "{{ ((x)|__slice(none, none, -1)) }}"),
            ("{{ x[0] }}", "{{ x[0] }}"),
            (
                "{% for x in a if x > 1 %}{% endfor %}",
                r#"{% for x in ((a)|__iterable) if ((x )|__compare(">",  1)) %}{% endfor %}"#,
            ),
            ("no { tags } % here", "no { tags } % here"),
            ("{% raw %}{{ a < b }}{% endraw %}", "{% raw %}{{ a < b }}{% endraw %}"),
        ];
        for (text, expected) in cases {
            let normal = |text: &str| text.replace("( (", "((").replace("( ", "(");
            assert_eq!(normal(&rewrite(text).text), normal(expected), "{text}");
        }
    }

    #[test]
    fn a_place_in_the_rewritten_text_leads_back() {
        let text = "x {{ pp + qq }} {{ rr < ss }} é {{ zz }}";
        let rewritten = rewrite(text);
        for name in ["pp", "qq", "rr", "ss", "zz"] {
            let at = rewritten.text.find(name).unwrap();
            assert_eq!(&text[rewritten.original(at..at + 2)], name);
        }
    }

    #[test]
    fn literals_change_only_where_something_changes_them() {
        assert_eq!(rewrite("{% set l = [1] %}").text, "{% set l = [1] %}");
        assert_eq!(
            rewrite("{% set l = [] %}{% do l.append(1) %}").text,
            "{% set l = ([]|__list) %}{% do l.append(1) %}"
        );
    }
}
