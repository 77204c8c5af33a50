//! The walk over the tokens that finds operands and writes the edits.
//!
//! One method per level of the grammar, lowest precedence first; each leaves `at` behind what it read.

use std::ops::Range;

use minijinja::machinery::Token;

use super::{CLOSE, Edit, OPEN, REPLACE};

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

/// What the literals of a template have to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Literals {
    /// Nothing special.
    Plain,
    /// Checked for depth: a namespace carries values from one round of a loop to the next.
    Checked,
    /// Able to change.
    Changing,
}

/// A token and where it stands.
pub(super) type Spot<'a> = (Token<'a>, Range<usize>);

/// The edits that a template needs.
pub(super) fn edits(tokens: &[Spot<'_>]) -> Vec<Edit> {
    let repeats = tokens.iter().any(|(token, _)| matches!(token, Token::Ident("for" | "macro" | "include")));
    let mut walk = Walk { tokens, at: 0, edits: Vec::new(), literals: literals(tokens), repeats };
    walk.template();
    walk.edits
}

fn literals(tokens: &[Spot<'_>]) -> Literals {
    let keeps_state = tokens.iter().any(|(token, _)| matches!(token, Token::Ident("namespace")));
    match (calls_a_changing_method(tokens), keeps_state) {
        (true, _) => Literals::Changing,
        (false, true) => Literals::Checked,
        (false, false) => Literals::Plain,
    }
}

fn calls_a_changing_method(tokens: &[Spot<'_>]) -> bool {
    tokens.windows(3).any(|three| {
        matches!((&three[0].0, &three[1].0, &three[2].0),
            (Token::Dot, Token::Ident(name), Token::ParenOpen) if CHANGING.contains(name))
    })
}

/// One step of a path: how many tokens it has, and the key as text.
struct Link {
    tokens: usize,
    key: String,
}

struct Walk<'t, 'a> {
    tokens: &'t [Spot<'a>],
    at: usize,
    edits: Vec<Edit>,
    literals: Literals,
    /// Whether something may be done more than once.
    repeats: bool,
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
            return self.metered(start, links);
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

    /// `==` and `in` mean here what they mean in Python. In a template that repeats itself they still become calls,
    /// because only calls pay for what they read.
    fn metered(&mut self, start: usize, mut links: Vec<(Range<usize>, &'static str)>) {
        let (Some((range, operator)), true) = (links.pop().filter(|_| links.is_empty()), self.repeats) else {
            return;
        };
        let function = match operator {
            "==" => "__equal",
            "!=" => "__unequal",
            "in" => "__in",
            _ => "__not_in",
        };
        self.insert(start, OPEN, "((");
        self.replace(range, format!(")|{function}("));
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
    ///
    /// Calls that follow each other stay beside each other, `((a)|__add(b)|__add(c))`: the parser bounds how deeply
    /// brackets nest, and a sum may be long.
    fn binary(&mut self, level: usize) {
        let start = self.start();
        self.operand(level);
        let mut calls = false;
        loop {
            let before = self.end();
            let Some((range, function)) = self.operator(level) else { break };
            match function {
                Some(function) if calls => self.replace(range, format!("|{function}(")),
                Some(function) => {
                    self.insert(start, OPEN, "((");
                    self.replace(range, format!(")|{function}("));
                }
                None if calls => self.insert(before, CLOSE, ")"),
                None => {}
            }
            calls = function.is_some();
            self.operand(level);
            if calls {
                let end = self.end();
                self.insert(end, CLOSE, ")");
            }
        }
        if calls {
            let end = self.end();
            self.insert(end, CLOSE, ")");
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
        if !self.forgiven_path(start) {
            self.primary();
            self.postfix(start);
        }
        self.filters();
    }

    /// `step.output.x | default('')`: a path whose absence the text copes with may end anywhere on its way, so each part
    /// is looked up by a call that gives nothing where nothing is.
    fn forgiven_path(&mut self, start: usize) -> bool {
        let Some(links) = self.path_ahead() else { return false };
        if !self.is_forgiven(self.at + 1 + links.iter().map(|link| link.tokens).sum::<usize>()) {
            return false;
        }
        self.insert(start, OPEN, "(");
        self.at += 1;
        for link in links {
            let from = self.start();
            self.at += link.tokens;
            self.replace(from..self.end(), format!("|__part({})", link.key));
        }
        let end = self.end();
        self.insert(end, CLOSE, ")");
        true
    }

    /// A name with attributes and constant keys behind it, up to whatever is neither.
    fn path_ahead(&self) -> Option<Vec<Link>> {
        let token = |at: usize| self.tokens.get(at).map(|(token, _)| token);
        let Some(Token::Ident(name)) = token(self.at) else { return None };
        if matches!(*name, "not" | "self") {
            return None;
        }
        let mut at = self.at + 1;
        let mut links = Vec::new();
        loop {
            let link = match (token(at), token(at + 1), token(at + 2)) {
                (Some(Token::Dot), Some(Token::Ident(name)), _) => {
                    Link { tokens: 2, key: format!("{name:?}") }
                }
                (Some(Token::Dot), Some(Token::Int(index)), _) => Link { tokens: 2, key: index.to_string() },
                (Some(Token::BracketOpen), Some(Token::Int(index)), Some(Token::BracketClose)) => {
                    Link { tokens: 3, key: index.to_string() }
                }
                (Some(Token::BracketOpen), Some(Token::Str(key)), Some(Token::BracketClose))
                    if !key.contains(['"', '\\', '\n', '\r']) =>
                {
                    Link { tokens: 3, key: format!("\"{key}\"") }
                }
                _ => break,
            };
            at += link.tokens;
            links.push(link);
        }
        (!links.is_empty()).then_some(links)
    }

    /// Whether what stands at this token copes with what is missing.
    fn is_forgiven(&self, at: usize) -> bool {
        let word = |at: usize| match self.tokens.get(at) {
            Some((Token::Ident(word), _)) => *word,
            _ => "",
        };
        match self.tokens.get(at) {
            Some((Token::Pipe, _)) => matches!(word(at + 1), "default" | "d"),
            Some((Token::Ident("is"), _)) => {
                let test = if word(at + 1) == "not" { word(at + 2) } else { word(at + 1) };
                matches!(test, "defined" | "undefined")
            }
            _ => false,
        }
    }

    fn primary(&mut self) {
        match self.peek() {
            Some(Token::ParenOpen) => self.parentheses(),
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

    fn literal(&mut self, changing: &str) {
        let start = self.start();
        self.enclosed();
        match self.literals {
            Literals::Plain => {}
            Literals::Checked => self.wrap(start, "|__checked)"),
            Literals::Changing => self.wrap(start, changing),
        }
    }

    /// Parentheses around one expression, or a tuple.
    fn parentheses(&mut self) {
        let start = self.start();
        let is_tuple = self.enclosed();
        if is_tuple && self.literals != Literals::Plain {
            self.wrap(start, "|__checked)");
        }
    }

    fn wrap(&mut self, start: usize, close: &str) {
        self.insert(start, OPEN, "(");
        let end = self.end();
        self.insert(end, CLOSE, close);
    }

    /// Everything up to the bracket that closes the one at hand, as expressions with whatever stands between them.
    ///
    /// Says whether there was a comma.
    fn enclosed(&mut self) -> bool {
        self.at += 1;
        let mut comma = false;
        while let Some(token) = self.peek() {
            let closes = matches!(token, Token::ParenClose | Token::BracketClose | Token::BraceClose);
            comma |= matches!(token, Token::Comma);
            if matches!(token, Token::BlockEnd | Token::VariableEnd) {
                break;
            }
            let before = self.at;
            if !closes {
                self.conditional();
            }
            if self.at == before {
                self.at += 1;
            }
            if closes {
                break;
            }
        }
        comma
    }

    fn postfix(&mut self, start: usize) {
        loop {
            match self.peek() {
                Some(Token::Dot) => self.at += 2,
                Some(Token::ParenOpen) => {
                    self.enclosed();
                }
                Some(Token::BracketOpen) => self.subscript(start),
                _ => return,
            }
        }
    }

    /// `[key]` stays, and is paid for where it may be repeated; `[start:stop:step]` becomes a call.
    fn subscript(&mut self, start: usize) {
        let open = self.start()..self.start() + 1;
        self.at += 1;
        let first = self.at;
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
            return self.metered_lookup(start, first, open.start..close.start);
        }
        self.insert(start, OPEN, "((");
        self.replace(open, ")|__slice(".to_owned());
        for (range, text) in edits {
            self.replace(range, text.to_owned());
        }
        self.replace(close, if missing { "none))" } else { "))" }.to_owned());
    }

    /// A lookup whose key is not written out, in a template that repeats itself: the key and a text that is indexed are
    /// paid for, each by a call that gives back what it gets. The argument of `__key` is for the error of a missing entry:
    /// minijinja takes a name two instructions before the lookup for the map's, and would say the key's.
    fn metered_lookup(&mut self, start: usize, first: usize, brackets: Range<usize>) {
        let written_out = matches!(
            (self.tokens.get(first), self.tokens.get(first + 1)),
            (Some((Token::Int(_) | Token::Str(_), _)), Some((Token::BracketClose, _)))
        );
        if !self.repeats || written_out {
            return;
        }
        self.insert(start, OPEN, "((");
        self.insert(brackets.start, CLOSE, "|__subject)");
        self.insert(brackets.start + 1, OPEN, "(");
        self.insert(brackets.end, CLOSE, ")|__key(0)");
        let end = self.end();
        self.insert(end, CLOSE, ")");
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
            Some(Token::ParenOpen) => {
                self.enclosed();
            }
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
