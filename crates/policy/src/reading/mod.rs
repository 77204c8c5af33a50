//! Command text to a plain script, or the reason why it is none.
//!
//! Knows the grammar and nothing of programs, paths or policies. Invariant: what comes out as a [`Script`] was read alike by three
//! readers, or has nothing in it that can be read in two ways ([`bare`]), and running its words one by one does what a shell would do
//! with the text.

mod agreement;
mod bare;
mod characters;
mod lexer;
mod parser;
pub mod script;
pub mod word;

pub use characters::forbidden;
use lexer::Stop;
use script::Script;

/// What a text turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading<'a> {
    /// Words, joined by operators.
    Plain(Script<'a>),
    /// The shell would compute something; never allowed without a person.
    Complex(String),
    /// No command, or one that is not read alike: never allowed.
    Refused(String),
}

/// What may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Bytes of a text.
    pub bytes: usize,
    /// Words of a command.
    pub words: usize,
    /// Commands of a text.
    pub commands: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Caps { bytes: 64 << 10, words: 256, commands: 64 }
    }
}

impl Caps {
    /// Words of all commands of a text together.
    pub fn all_words(self) -> usize {
        self.words.saturating_mul(2)
    }
}

/// Brackets and words of the grammar that a text may have before it is not read any further.
const MAX_NESTING: usize = 64;

/// Reads a text.
pub fn read(text: &str, caps: Caps) -> Reading<'_> {
    if text.len() > caps.bytes {
        return Reading::Refused(format!(
            "the command has {} bytes, more than the {} that are read",
            text.len(),
            caps.bytes
        ));
    }
    if let Some((at, what)) = forbidden(text) {
        return Reading::Refused(format!(
            "character {at} of the command is {what}; write the command without it"
        ));
    }
    let stop = match plain(text, caps) {
        Ok(reading) => return reading,
        Err(stop) => stop,
    };
    match stop {
        Stop::Broken(why) => Reading::Refused(format!("this is no command that a shell reads: {why}")),
        Stop::Over(why) => Reading::Refused(why),
        Stop::Complex { what, instead, at } => complex(text, &what, instead, at),
    }
}

fn complex(text: &str, what: &str, instead: &str, at: usize) -> Reading<'static> {
    // The other readers recurse; what is nested deeper than anything that a person writes is not given to them.
    if nesting(text) > MAX_NESTING {
        return Reading::Refused("the command is nested too deeply to be read".to_owned());
    }
    if !agreement::is_readable(text) {
        return Reading::Refused("this is no command that a shell reads: a quote or a bracket is not closed, or a word of the grammar stands alone".to_owned());
    }
    let place = if at > 0 { format!(" (character {at})") } else { String::new() };
    Reading::Complex(format!(
        "the command holds {what}{place}, so what it does is only known when it runs; {instead}"
    ))
}

/// Our own reader first: where it stops, or a cap is exceeded, the others are not asked.
fn plain(text: &str, caps: Caps) -> Result<Reading<'_>, Stop> {
    let tokens = lexer::tokens(text, caps)?;
    let bare = bare::same_tokens(text, &tokens);
    // What the parser refuses is no plain text, whatever another reader cuts it into.
    let same_tokens = bare.unwrap_or_else(|| agreement::same_tokens(text, &tokens));
    let script = parser::parse(tokens)?;
    if script.pipelines.is_empty() {
        return Ok(Reading::Refused("there is no command".to_owned()));
    }
    Ok(match same_tokens && (bare.is_some() || agreement::same_structure(text, &script)) {
        true => Reading::Plain(script),
        false => Reading::Refused(
            "two readers of the shell's grammar read this differently; write it in a simpler way".to_owned(),
        ),
    })
}

fn nesting(text: &str) -> usize {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'(' | b'{' | b'[' | b'`' | b'$')).count();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let grammar = [
        "if", "then", "elif", "else", "for", "while", "until", "do", "case", "select", "function", "coproc",
        "time",
    ];
    brackets
        + words.filter(|word| grammar.contains(word)).count()
        + text.matches('!').count()
        + text.matches("<<").count()
}
