//! Cuts a command text into words and operators, and stops at the first thing that is not plain.
//!
//! This is the whole grammar that is ever allowed without asking: literal words, `;`, `&&`, `||`, `|`, line breaks, redirects and
//! quoted here-documents. It has no recursion. What it does not know is never guessed.

use super::script::{Redirect, RedirectKind};
use super::word::{Pattern, Piece, Word, class};

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A word.
    Word(Word),
    /// A redirect with its target.
    Redirect(Redirect),
    /// `;`
    Semicolon,
    /// A line break.
    Newline,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
}

/// Why a text is not cut into tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The shell would do more with it than run words.
    Complex {
        /// What was met, as a person would say it.
        what: String,
        /// What to write instead.
        instead: &'static str,
        /// Where, in characters from 1.
        at: usize,
    },
    /// It is no command: the shell would refuse it.
    Broken(String),
}

/// Cuts a text.
pub fn tokens(text: &str) -> Result<Vec<Token>, Stop> {
    Lexer { text, at: 0, tokens: Vec::new(), documents: Vec::new() }.run()
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token>,
    /// Here-documents whose text begins at the next line: the places of their tokens.
    documents: Vec<usize>,
}

const QUOTE: &str = "put it in single quotes if it is meant literally";

impl Lexer<'_> {
    fn run(mut self) -> Result<Vec<Token>, Stop> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek(1) == Some(b'\n') => self.at += 2,
                b'\n' => self.newline()?,
                b'#' => self.comment(),
                b';' | b'&' | b'|' => self.operator()?,
                b'<' | b'>' => self.redirect(None)?,
                _ => self.word_or_descriptor()?,
            }
        }
        match self.documents.is_empty() {
            true => Ok(self.tokens),
            false => Err(Stop::Broken("a here-document has no text".to_owned())),
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn complex(&self, what: impl Into<String>, instead: &'static str) -> Stop {
        let at = self.text[..self.at.min(self.text.len())].chars().count() + 1;
        Stop::Complex { what: what.into(), instead, at }
    }

    fn comment(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn operator(&mut self) -> Result<(), Stop> {
        let rest = self.rest();
        let (token, length) = match rest {
            _ if rest.starts_with("&&") => (Token::And, 2),
            _ if rest.starts_with("||") => (Token::Or, 2),
            _ if rest.starts_with("|&") => {
                return Err(self.complex("`|&`", "write 2>&1 | instead"));
            }
            _ if rest.starts_with("&>") => return self.redirect_both(),
            _ if rest.starts_with(";;") || rest.starts_with(";&") => {
                return Err(self.complex("a `case` separator", "write commands one after another"));
            }
            _ if rest.starts_with('|') => (Token::Pipe, 1),
            _ if rest.starts_with(';') => (Token::Semicolon, 1),
            _ => return Err(self.complex("`&`, which leaves a command running", "run it in the foreground")),
        };
        self.at += length;
        self.tokens.push(token);
        Ok(())
    }

    fn newline(&mut self) -> Result<(), Stop> {
        self.at += 1;
        self.tokens.push(Token::Newline);
        for place in std::mem::take(&mut self.documents) {
            self.document(place)?;
        }
        Ok(())
    }

    /// The text of a here-document, which begins here.
    fn document(&mut self, place: usize) -> Result<(), Stop> {
        let Token::Redirect(Redirect { kind: RedirectKind::Document(end, text, strip), .. }) =
            &mut self.tokens[place]
        else {
            unreachable!("only here-documents are put there")
        };
        loop {
            let rest = &self.text[self.at..];
            if rest.is_empty() {
                return Err(Stop::Broken(format!("the here-document has no end: no line is `{}`", end.text)));
            }
            let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
            self.at += (line.len() + 1).min(rest.len());
            let line = if *strip { line.trim_start_matches('\t') } else { line };
            if line == end.text {
                return Ok(());
            }
            text.push_str(line);
            text.push('\n');
        }
    }

    fn word_or_descriptor(&mut self) -> Result<(), Stop> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && matches!(self.peek(digits), Some(b'<' | b'>')) {
            let descriptor = match &self.rest()[..digits] {
                "0" => 0,
                "1" => 1,
                "2" => 2,
                other => {
                    return Err(
                        self.complex(format!("descriptor {other}"), "only 0, 1 and 2 can be redirected")
                    );
                }
            };
            self.at += digits;
            return self.redirect(Some(descriptor));
        }
        let word = self.word()?;
        self.tokens.push(Token::Word(word));
        Ok(())
    }

    fn redirect_both(&mut self) -> Result<(), Stop> {
        let operator = if self.rest().starts_with("&>>") { "&>>" } else { "&>" };
        self.at += operator.len();
        let target = self.target()?;
        self.tokens
            .push(Token::Redirect(Redirect { descriptor: None, kind: RedirectKind::Both(target, operator) }));
        Ok(())
    }

    fn redirect(&mut self, descriptor: Option<u8>) -> Result<(), Stop> {
        let rest = self.rest();
        let operator = ["<<<", "<<-", "<<", "<&", "<>", "<(", "<", ">>", ">|", ">&", ">(", ">!", ">"]
            .into_iter()
            .find(|operator| rest.starts_with(operator))
            .expect("it begins with one of them");
        match operator {
            "<(" | ">(" => {
                return Err(self.complex("a process substitution", "write commands one after another"));
            }
            "<>" | "<&" => return Err(self.complex(format!("`{operator}`"), "use < or > instead")),
            ">!" => return Err(self.complex("`>!`", "put a blank between > and the name")),
            _ => {}
        }
        self.at += operator.len();
        if operator == ">&" {
            return self.copy(descriptor);
        }
        let target = self.target()?;
        let kind = match operator {
            "<<<" => RedirectKind::Text(target),
            "<<-" | "<<" => {
                self.end_word(&target)?;
                self.documents.push(self.tokens.len());
                RedirectKind::Document(target, String::new(), operator == "<<-")
            }
            "<" => RedirectKind::Read(target),
            ">>" => RedirectKind::Append(target),
            ">|" => RedirectKind::Write(target, ">|"),
            _ => RedirectKind::Write(target, ">"),
        };
        if descriptor.is_some_and(|number| number > 0) && matches!(operator, "<<<" | "<<-" | "<<" | "<") {
            return Err(self.complex("input for another descriptor than 0", "use < without a number"));
        }
        if descriptor == Some(0) && matches!(operator, ">>" | ">|" | ">") {
            return Err(self.complex("output on descriptor 0", "use > without a number"));
        }
        self.tokens.push(Token::Redirect(Redirect { descriptor, kind }));
        Ok(())
    }

    /// What follows `>&`: a descriptor, or `-`.
    fn copy(&mut self, descriptor: Option<u8>) -> Result<(), Stop> {
        let kind = match self.peek(0) {
            Some(b'1') => RedirectKind::Copy(1),
            Some(b'2') => RedirectKind::Copy(2),
            Some(b'-') => RedirectKind::Close,
            _ => {
                return Err(self.complex("`>&` with something else than 1, 2 or -", "write &> FILE, or 2>&1"));
            }
        };
        if !matches!(self.peek(1), None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'<' | b'>')) {
            return Err(self.complex("`>&` with something else than 1, 2 or -", "write &> FILE, or 2>&1"));
        }
        if descriptor == Some(0) {
            return Err(self.complex("output on descriptor 0", "use > without a number"));
        }
        self.at += 1;
        self.tokens.push(Token::Redirect(Redirect { descriptor, kind }));
        Ok(())
    }

    fn target(&mut self) -> Result<Word, Stop> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek(1) == Some(b'\n') => self.at += 2,
                _ => break,
            }
        }
        if matches!(self.peek(0), None | Some(b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'#')) {
            return Err(Stop::Broken("a redirect has no target".to_owned()));
        }
        let word = self.word()?;
        match &word.pattern {
            Some(_) => Err(self.complex("a pattern as the target of a redirect", QUOTE)),
            None => Ok(word),
        }
    }

    /// The end word of a here-document must be quoted as a whole, and simple: then every reader finds the same end.
    fn end_word(&self, word: &Word) -> Result<(), Stop> {
        let simple = !word.text.is_empty()
            && word
                .text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        let whole = word.raw == format!("'{}'", word.text) || word.raw == format!("\"{}\"", word.text);
        match simple && whole {
            true => Ok(()),
            false => Err(self.complex(
                "a here-document whose end word is not quoted as a whole",
                "quote the end word, as in <<'EOF', so that nothing in the text is expanded",
            )),
        }
    }

    fn word(&mut self) -> Result<Word, Stop> {
        let start = self.at;
        let mut word = Building::default();
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' => break,
                b'\'' => self.single_quoted(&mut word)?,
                b'"' => self.double_quoted(&mut word)?,
                b'\\' => self.escaped(&mut word)?,
                _ => self.unquoted(&mut word, start)?,
            }
        }
        let raw = word.raw.clone();
        if matches!(self.peek(0), Some(b'<' | b'>')) && raw.ends_with('}') {
            return Err(self.complex("a named descriptor", "use 1 or 2"));
        }
        Ok(word.finish())
    }

    fn unquoted(&mut self, word: &mut Building, start: usize) -> Result<(), Stop> {
        let c = self.rest().chars().next().expect("there is one");
        match c {
            '$' => return Err(self.expansion()),
            '`' => return Err(self.complex("a command substitution", "run the inner command on its own")),
            '(' | ')' => {
                return Err(self.complex(format!("`{c}`"), "write commands one after another, or quote it"));
            }
            '~' if self.at == start || word.raw.ends_with(['=', ':']) => {
                return Err(self.complex("`~`, which stands for a home folder", "write the path"));
            }
            '!' if self.at == start && !matches!(self.peek(1), None | Some(b' ' | b'\t' | b'\n' | b'=')) => {
                return Err(self.complex("`!`, which may stand for an earlier command", QUOTE));
            }
            '^' if self.at == start && self.tokens.is_empty() => {
                return Err(self.complex("`^`, which may stand for an earlier command", QUOTE));
            }
            '{' => return self.brace(word),
            '*' | '?' => word.wildcard(c, if c == '*' { Piece::Many } else { Piece::One }),
            '[' => return self.bracket(word, start),
            _ => word.plain(c),
        }
        self.at += c.len_utf8();
        Ok(())
    }

    fn expansion(&self) -> Stop {
        let rest = self.rest();
        let what = match rest.as_bytes().get(1) {
            Some(b'(') => "a command substitution",
            Some(b'\'' | b'"') => "a quoting that writes characters by number or by language",
            Some(b'{') => "a parameter expansion",
            _ => "`$`, which stands for a value that is only known when it runs",
        };
        self.complex(what, "write the value itself, or put it in single quotes if it is meant literally")
    }

    /// `{}` and `{word}` without a comma and without `..` are themselves; everything else is expanded, or is grammar.
    fn brace(&mut self, word: &mut Building) -> Result<(), Stop> {
        let rest = self.rest();
        let inside =
            rest[1..].bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
        let closed = rest.as_bytes().get(1 + inside) == Some(&b'}');
        let after = rest.as_bytes().get(2 + inside);
        let alone = word.raw.is_empty();
        let literal = closed
            && !matches!(after, Some(b'<' | b'>'))
            && (!alone
                || (inside == 0 && matches!(after, None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&'))));
        if !literal {
            return Err(self.complex("`{`, which may stand for several words", QUOTE));
        }
        let text = rest[..inside + 2].to_owned();
        text.chars().for_each(|c| word.plain(c));
        self.at += text.len();
        Ok(())
    }

    fn bracket(&mut self, word: &mut Building, start: usize) -> Result<(), Stop> {
        let rest = self.rest();
        let end = rest.find([' ', '\t', '\n', ';', '&', '|', '<', '>']).unwrap_or(rest.len());
        let inside: Vec<char> = rest[..end].chars().collect();
        // `[` alone is a command, and its name is no pattern.
        if inside.len() == 1 && self.at == start {
            word.plain('[');
            self.at += 1;
            return Ok(());
        }
        if inside.iter().any(|c| matches!(c, '\'' | '"' | '\\' | '$' | '`')) {
            return Err(self.complex("a pattern with quotes in its brackets", QUOTE));
        }
        match class(&inside) {
            Some((piece, length)) => {
                let raw: String = inside[..length].iter().collect();
                self.at += raw.len();
                word.class(&raw, piece);
                Ok(())
            }
            None => Err(self.complex("a bracket that is not closed", QUOTE)),
        }
    }

    fn single_quoted(&mut self, word: &mut Building) -> Result<(), Stop> {
        let inner = &self.text[self.at + 1..];
        let Some(end) = inner.find('\'') else {
            return Err(Stop::Broken("a single quote is not closed".to_owned()));
        };
        word.quoted(&inner[..end], &self.text[self.at..self.at + end + 2]);
        self.at += end + 2;
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Building) -> Result<(), Stop> {
        let (mut text, mut raw) = (String::new(), String::from("\""));
        self.at += 1;
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err(Stop::Broken("a double quote is not closed".to_owned()));
            };
            match (c, self.peek(1)) {
                ('"', _) => break,
                ('$', _) => return Err(self.expansion()),
                ('`', _) => {
                    return Err(self.complex("a command substitution", "run the inner command on its own"));
                }
                ('\\', Some(b'\n')) => {
                    return Err(self.complex("a continued line inside quotes", "write it in one line"));
                }
                ('\\', Some(next @ (b'"' | b'\\' | b'$' | b'`'))) => {
                    text.push(char::from(next));
                    raw.push('\\');
                    raw.push(char::from(next));
                    self.at += 2;
                }
                _ => {
                    text.push(c);
                    raw.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
        self.at += 1;
        raw.push('"');
        word.quoted(&text, &raw);
        Ok(())
    }

    fn escaped(&mut self, word: &mut Building) -> Result<(), Stop> {
        let mut chars = self.rest().chars();
        chars.next();
        match chars.next() {
            None => Err(Stop::Broken("the text ends with a backslash".to_owned())),
            Some('\n') if matches!(self.peek(2), None | Some(b' ' | b'\t' | b'\n')) => {
                self.at += 2;
                Ok(())
            }
            Some('\n') => {
                Err(self.complex("a line continued in the middle of a word", "write the word in one line"))
            }
            Some(c) => {
                word.quoted(&c.to_string(), &format!("\\{c}"));
                self.at += 1 + c.len_utf8();
                Ok(())
            }
        }
    }
}

/// A word that is being read.
#[derive(Default)]
struct Building {
    text: String,
    raw: String,
    quoted: bool,
    pieces: Vec<Piece>,
    has_wildcard: bool,
}

impl Building {
    fn plain(&mut self, c: char) {
        self.text.push(c);
        self.raw.push(c);
        self.pieces.push(Piece::Literal(c));
    }

    fn wildcard(&mut self, c: char, piece: Piece) {
        self.has_wildcard = true;
        self.text.push(c);
        self.raw.push(c);
        self.pieces.push(piece);
    }

    fn class(&mut self, raw: &str, piece: Piece) {
        self.has_wildcard = true;
        self.text.push_str(raw);
        self.raw.push_str(raw);
        self.pieces.push(piece);
    }

    fn quoted(&mut self, text: &str, raw: &str) {
        self.quoted = true;
        self.text.push_str(text);
        self.raw.push_str(raw);
        self.pieces.extend(text.chars().map(Piece::Literal));
    }

    fn finish(self) -> Word {
        let pattern = self.has_wildcard.then_some(Pattern(self.pieces));
        Word { text: self.text, raw: self.raw, quoted: self.quoted, pattern }
    }
}
