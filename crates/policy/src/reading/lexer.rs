//! Cuts a command text into words and operators, and stops at the first thing that is not plain.
//!
//! This is the whole grammar that is ever allowed without asking: literal words, `;`, `&&`, `||`, `|`, line breaks, redirects and
//! quoted here-documents. It has no recursion. What it does not know is never guessed.

use super::Caps;
use super::script::{Redirect, RedirectKind};
use super::word::{Pattern, Piece, Word, class};
use std::borrow::Cow;
use std::ops::Range;

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token<'a> {
    /// A word.
    Word(Word<'a>),
    /// A redirect with its target.
    Redirect(Redirect<'a>),
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
    /// A cap is exceeded.
    Over(String),
}

/// Cuts a text.
pub fn tokens(text: &str, caps: Caps) -> Result<Vec<Token<'_>>, Stop> {
    // Most words are a few letters and a blank.
    let tokens = Vec::with_capacity((text.len() / 4).min(1024));
    let counts = Counts { commands: 1, words: 0, in_command: 0 };
    Lexer { text, at: 0, tokens, documents: Vec::new(), caps, counts }.run()
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token<'a>>,
    /// Here-documents whose text begins at the next line: the places of their tokens.
    documents: Vec<usize>,
    caps: Caps,
    counts: Counts,
}

/// What was read so far, of that which has a cap.
struct Counts {
    commands: usize,
    words: usize,
    in_command: usize,
}

const QUOTE: &str = "put it in single quotes if it is meant literally";

impl<'a> Lexer<'a> {
    fn run(mut self) -> Result<Vec<Token<'a>>, Stop> {
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

    fn rest(&self) -> &'a str {
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
        self.next_command();
        Ok(())
    }

    /// Another command begins. What is too much ends the reading at once, so that a long list costs no more than a short one.
    fn next_command(&mut self) {
        if std::mem::take(&mut self.counts.in_command) > 0 {
            self.counts.commands += 1;
        }
    }

    fn count_word(&mut self) -> Result<(), Stop> {
        let Caps { words, commands, .. } = self.caps;
        self.counts.words += 1;
        self.counts.in_command += 1;
        if self.counts.commands > commands {
            return Err(Stop::Over(format!(
                "the text has more than the {commands} commands that are read; run them in parts"
            )));
        }
        if self.counts.in_command > words {
            return Err(Stop::Over(format!(
                "a command has more than the {words} words that are read; run it in parts"
            )));
        }
        if self.counts.words > self.caps.all_words() {
            let all = self.caps.all_words();
            return Err(Stop::Over(format!(
                "the text has more than the {all} words that are read of all its commands; run them in parts"
            )));
        }
        Ok(())
    }

    fn newline(&mut self) -> Result<(), Stop> {
        self.at += 1;
        self.tokens.push(Token::Newline);
        self.next_command();
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

    fn target(&mut self) -> Result<Word<'a>, Stop> {
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
    fn end_word(&self, word: &Word<'_>) -> Result<(), Stop> {
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

    fn word(&mut self) -> Result<Word<'a>, Stop> {
        self.count_word()?;
        let mut word = Building::new(self.text, self.at);
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' => break,
                b'\'' => self.single_quoted(&mut word)?,
                b'"' => self.double_quoted(&mut word)?,
                b'\\' => self.escaped(&mut word)?,
                _ => self.unquoted(&mut word)?,
            }
        }
        let word = word.finish(self.at);
        if matches!(self.peek(0), Some(b'<' | b'>')) && word.raw.ends_with('}') {
            return Err(self.complex("a named descriptor", "use 1 or 2"));
        }
        Ok(word)
    }

    fn unquoted(&mut self, word: &mut Building<'a>) -> Result<(), Stop> {
        let bytes = self.text.as_bytes();
        let plain = bytes[self.at..].iter().take_while(|byte| !MEANS_MORE[usize::from(**byte)]).count();
        if plain > 0 {
            word.literal(self.at..self.at + plain);
            self.at += plain;
            return Ok(());
        }
        let is_first = self.at == word.start;
        match bytes[self.at] {
            b'$' => return Err(self.expansion()),
            b'`' => return Err(self.complex("a command substitution", "run the inner command on its own")),
            sign @ (b'(' | b')') => {
                let what = format!("`{}`", char::from(sign));
                return Err(self.complex(what, "write commands one after another, or quote it"));
            }
            b'~' if is_first || matches!(bytes[self.at - 1], b'=' | b':') => {
                return Err(self.complex("`~`, which stands for a home folder", "write the path"));
            }
            b'!' if is_first && !matches!(self.peek(1), None | Some(b' ' | b'\t' | b'\n' | b'=')) => {
                return Err(self.complex("`!`, which may stand for an earlier command", QUOTE));
            }
            b'^' if is_first && self.tokens.is_empty() => {
                return Err(self.complex("`^`, which may stand for an earlier command", QUOTE));
            }
            b'{' => return self.brace(word),
            b'*' => word.wildcard(self.at..self.at + 1, Piece::Many),
            b'?' => word.wildcard(self.at..self.at + 1, Piece::One),
            b'[' => return self.bracket(word),
            _ => word.literal(self.at..self.at + 1),
        }
        self.at += 1;
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
    fn brace(&mut self, word: &mut Building<'a>) -> Result<(), Stop> {
        let rest = self.rest().as_bytes();
        let inside =
            rest[1..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
        let closed = rest.get(1 + inside) == Some(&b'}');
        let after = rest.get(2 + inside);
        let alone = self.at == word.start;
        let literal = closed
            && !matches!(after, Some(b'<' | b'>'))
            && (!alone
                || (inside == 0 && matches!(after, None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&'))));
        if !literal {
            return Err(self.complex("`{`, which may stand for several words", QUOTE));
        }
        word.literal(self.at..self.at + inside + 2);
        self.at += inside + 2;
        Ok(())
    }

    fn bracket(&mut self, word: &mut Building<'a>) -> Result<(), Stop> {
        let ahead = *word.ahead.get_or_insert_with(|| Ahead::of(self.text, self.at));
        // `[` alone is a command, and its name is no pattern.
        if ahead.end == self.at + 1 && self.at == word.start {
            word.literal(self.at..self.at + 1);
            self.at += 1;
            return Ok(());
        }
        if ahead.last_quote.is_some_and(|quote| quote > self.at) {
            return Err(self.complex("a pattern with quotes in its brackets", QUOTE));
        }
        match class(&self.text[self.at..ahead.end]) {
            Ok((piece, length)) => {
                word.wildcard(self.at..self.at + length, piece);
                self.at += length;
                Ok(())
            }
            Err(_) => Err(self.complex("a bracket that is not closed", QUOTE)),
        }
    }

    fn single_quoted(&mut self, word: &mut Building<'a>) -> Result<(), Stop> {
        let from = self.at + 1;
        let Some(length) = self.text[from..].find('\'') else {
            return Err(Stop::Broken("a single quote is not closed".to_owned()));
        };
        word.quoted(from..from + length);
        self.at = from + length + 1;
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Building<'a>) -> Result<(), Stop> {
        self.at += 1;
        word.quoted(self.at..self.at);
        loop {
            let run = self.rest().bytes().take_while(|b| !matches!(b, b'"' | b'$' | b'`' | b'\\')).count();
            word.quoted(self.at..self.at + run);
            self.at += run;
            match (self.peek(0), self.peek(1)) {
                (None, _) => return Err(Stop::Broken("a double quote is not closed".to_owned())),
                (Some(b'"'), _) => break,
                (Some(b'$'), _) => return Err(self.expansion()),
                (Some(b'`'), _) => {
                    return Err(self.complex("a command substitution", "run the inner command on its own"));
                }
                (_, Some(b'\n')) => {
                    return Err(self.complex("a continued line inside quotes", "write it in one line"));
                }
                (_, Some(b'"' | b'\\' | b'$' | b'`')) => {
                    word.quoted(self.at + 1..self.at + 2);
                    self.at += 2;
                }
                _ => {
                    word.quoted(self.at..self.at + 1);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Ok(())
    }

    fn escaped(&mut self, word: &mut Building<'a>) -> Result<(), Stop> {
        match self.text[self.at + 1..].chars().next() {
            None => Err(Stop::Broken("the text ends with a backslash".to_owned())),
            Some('\n') if matches!(self.peek(2), None | Some(b' ' | b'\t' | b'\n')) => {
                word.continues(self.at);
                self.at += 2;
                Ok(())
            }
            Some('\n') => {
                Err(self.complex("a line continued in the middle of a word", "write the word in one line"))
            }
            Some(c) => {
                word.quoted(self.at + 1..self.at + 1 + c.len_utf8());
                self.at += 1 + c.len_utf8();
                Ok(())
            }
        }
    }
}

/// Bytes that end an unquoted run of a word: quotes, operators, and signs that the shell may read as more than themselves.
const MEANS_MORE: [bool; 256] = {
    let mut table = [false; 256];
    let signs = b" \t\n;&|<>'\"\\$`()~!^{*?[";
    let mut at = 0;
    while at < signs.len() {
        table[signs[at] as usize] = true;
        at += 1;
    }
    table
};

/// What is known of the rest of a word that has brackets, found out once.
#[derive(Clone, Copy)]
struct Ahead {
    /// Where the word ends at the latest.
    end: usize,
    /// The last sign in it that begins a quote or an expansion.
    last_quote: Option<usize>,
}

impl Ahead {
    fn of(text: &str, at: usize) -> Ahead {
        let rest = &text[at..];
        let end = rest.find([' ', '\t', '\n', ';', '&', '|', '<', '>']).unwrap_or(rest.len());
        let last_quote = rest[..end].rfind(['\'', '"', '\\', '$', '`']);
        Ahead { end: at + end, last_quote: last_quote.map(|quote| at + quote) }
    }
}

/// A word that is being read. Its text stays a part of what was written as long as it is one.
struct Building<'a> {
    source: &'a str,
    start: usize,
    /// Where the word ends, if its line is continued behind it.
    end: Option<usize>,
    text: Text,
    quoted: bool,
    /// The pieces of a pattern, from the first wildcard on.
    pieces: Option<Vec<Piece>>,
    ahead: Option<Ahead>,
}

enum Text {
    Slice(Range<usize>),
    Owned(String),
}

impl<'a> Building<'a> {
    fn new(source: &'a str, start: usize) -> Building<'a> {
        let text = Text::Slice(start..start);
        Building { source, start, end: None, text, quoted: false, pieces: None, ahead: None }
    }

    fn literal(&mut self, range: Range<usize>) {
        if let Some(pieces) = &mut self.pieces {
            pieces.extend(self.source[range.clone()].chars().map(Piece::Literal));
        }
        self.append(range);
    }

    fn quoted(&mut self, range: Range<usize>) {
        self.quoted = true;
        self.literal(range);
    }

    fn wildcard(&mut self, range: Range<usize>, piece: Piece) {
        let mut pieces =
            self.pieces.take().unwrap_or_else(|| self.text().chars().map(Piece::Literal).collect());
        pieces.push(piece);
        self.pieces = Some(pieces);
        self.append(range);
    }

    fn append(&mut self, range: Range<usize>) {
        match &mut self.text {
            _ if range.start == range.end => {}
            Text::Slice(slice) if slice.start == slice.end => *slice = range,
            Text::Slice(slice) if slice.end == range.start => slice.end = range.end,
            Text::Slice(slice) => {
                let mut text = self.source[slice.clone()].to_owned();
                text.push_str(&self.source[range]);
                self.text = Text::Owned(text);
            }
            Text::Owned(text) => text.push_str(&self.source[range]),
        }
    }

    /// The line goes on behind the word.
    fn continues(&mut self, at: usize) {
        self.end.get_or_insert(at);
    }

    fn text(&self) -> &str {
        match &self.text {
            Text::Slice(slice) => &self.source[slice.clone()],
            Text::Owned(text) => text,
        }
    }

    fn finish(self, at: usize) -> Word<'a> {
        let text = match self.text {
            Text::Slice(slice) => Cow::Borrowed(&self.source[slice]),
            Text::Owned(text) => Cow::Owned(text),
        };
        let raw = &self.source[self.start..self.end.unwrap_or(at)];
        Word { text, raw, quoted: self.quoted, pattern: self.pieces.map(Pattern) }
    }
}
