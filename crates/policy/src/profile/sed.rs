//! `sed`: addresses and the commands that print, change and delete lines. What runs programs or touches files is not in it.

use super::Argument;
use super::arguments::Arguments;
use super::uses::Uses;
use crate::world::Access;

/// Looks at scripts, and at files that are edited in place.
pub fn refine<'a>(found: &Arguments<'a>, uses: &mut Uses<'a>) {
    let given = found.options.iter().filter(|(name, _)| matches!(*name, "e" | "expression"));
    let mut scripts: Vec<&str> = given.filter_map(|(_, value)| *value).collect();
    let mut files = found.operands.as_slice();
    if scripts.is_empty() {
        match found.operands.split_first() {
            Some((script, rest)) => {
                scripts.push(script.text);
                files = rest;
            }
            None => return uses.refuse("`sed` has no script"),
        }
    }
    // Scripts of several options are joined: a text may go on in the next one.
    if scripts.len() > 1
        && scripts.iter().any(|script| script.contains(['a', 'i', 'c', '\\']) && ends_open(script))
    {
        return uses.refuse("a sed script goes on in the next -e; write it as one");
    }
    for script in scripts {
        if let Err(why) = check(script) {
            return uses.refuse(format!("the sed script `{script}` {why}"));
        }
    }
    let in_place = found.options.iter().find(|(name, _)| matches!(*name, "i" | "in-place"));
    if let Some((_, suffix)) = in_place {
        in_place_edit(suffix.unwrap_or(""), files, uses);
    }
}

fn in_place_edit<'a>(suffix: &str, files: &[Argument<'a>], uses: &mut Uses<'a>) {
    if !suffix.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')) {
        return uses.refuse(format!("`{suffix}` as the ending of kept files may name another folder"));
    }
    for file in files {
        if file.is_pattern {
            uses.refuse(format!(
                "`{}` is a pattern, and its files would be changed; name the files",
                file.text
            ));
        }
        uses.path(file.text, Access::Write);
        if !suffix.is_empty() {
            uses.path(format!("{}{suffix}", file.text), Access::Write);
        }
        // The new text is made beside the old one, under a name that nobody knows.
        let folder = file.text.rsplit_once('/').map_or(".", |(folder, _)| folder);
        uses.writes.push(folder.to_owned());
    }
}

fn ends_open(script: &str) -> bool {
    let last = script.rsplit('\n').next().unwrap_or(script);
    last.ends_with('\\')
}

/// Reads a script; the error says which part is refused.
fn check(script: &str) -> Result<(), String> {
    let mut reader = Reader { chars: script.chars().collect(), at: 0 };
    loop {
        reader.skip(|c| matches!(c, ' ' | '\t' | '\n' | ';'));
        if reader.peek().is_none() {
            return Ok(());
        }
        reader.addresses()?;
        reader.command()?;
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn skip(&mut self, of: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&of) {
            self.at += 1;
        }
    }

    fn blanks(&mut self) {
        self.skip(|c| matches!(c, ' ' | '\t'));
    }

    fn addresses(&mut self) -> Result<(), String> {
        if self.address()? {
            self.blanks();
            if self.peek() == Some(',') {
                self.at += 1;
                self.blanks();
                if matches!(self.peek(), Some('+' | '~')) {
                    self.at += 1;
                }
                if !self.address()? {
                    return Err("has an address without an end".to_owned());
                }
            }
        }
        self.skip(|c| matches!(c, ' ' | '\t' | '!'));
        Ok(())
    }

    fn address(&mut self) -> Result<bool, String> {
        match self.peek() {
            Some(c) if c.is_ascii_digit() => {
                self.skip(|c| c.is_ascii_digit());
                if self.peek() == Some('~') {
                    self.at += 1;
                    self.skip(|c| c.is_ascii_digit());
                }
            }
            Some('$') => self.at += 1,
            Some('/') => {
                self.at += 1;
                self.until('/')?;
                self.skip(|c| matches!(c, 'I' | 'M'));
            }
            Some('\\') => {
                self.at += 1;
                let end = self.delimiter()?;
                self.until(end)?;
                self.skip(|c| matches!(c, 'I' | 'M'));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn delimiter(&mut self) -> Result<char, String> {
        match self.take() {
            Some(c) if c.is_ascii_punctuation() && !matches!(c, '\\' | ';' | '[' | ']' | '{' | '}' | '&') => {
                Ok(c)
            }
            _ => Err("has a delimiter that readers take differently; use / or |".to_owned()),
        }
    }

    /// Up to the next delimiter. Readers differ on a delimiter inside brackets, so there is none.
    fn until(&mut self, end: char) -> Result<(), String> {
        let mut bracket = false;
        while let Some(c) = self.take() {
            match c {
                '\n' => break,
                '\\' => {
                    let escaped = self.take();
                    if escaped == Some('\n') {
                        break;
                    }
                }
                c if c == end && bracket => {
                    return Err(format!(
                        "has `{end}` inside brackets, which readers take differently; use another delimiter"
                    ));
                }
                c if c == end => return Ok(()),
                '[' => bracket = true,
                ']' => bracket = false,
                _ => {}
            }
        }
        Err(format!("has a part that `{end}` does not end"))
    }

    fn command(&mut self) -> Result<(), String> {
        let Some(command) = self.take() else { return Err("has an address without a command".to_owned()) };
        match command {
            '{' | '}' => return Ok(()),
            'p' | 'd' | 'n' | 'N' | 'P' | 'D' | 'h' | 'H' | 'g' | 'G' | 'x' | '=' | 'z' | 'F' => {}
            'q' | 'Q' | 'l' | 'L' => {
                self.blanks();
                self.skip(|c| c.is_ascii_digit());
            }
            's' => self.substitute()?,
            'y' => {
                let end = self.delimiter()?;
                self.until(end)?;
                self.until(end)?;
            }
            'a' | 'i' | 'c' => return self.text(),
            'b' | 't' | 'T' | ':' => {
                self.blanks();
                self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
            }
            '#' => {
                self.skip(|c| c != '\n');
                return Ok(());
            }
            'e' => return Err("runs a program (`e`)".to_owned()),
            'w' | 'W' => return Err(format!("writes a file (`{command}`)")),
            'r' | 'R' => return Err(format!("reads another file (`{command}`)")),
            other => {
                return Err(format!(
                    "has `{other}`, which is not among the commands that are known to be harmless"
                ));
            }
        }
        self.end()
    }

    /// A command ends at a separator.
    fn end(&mut self) -> Result<(), String> {
        self.blanks();
        match self.peek() {
            None | Some(';' | '\n' | '}' | '#') => Ok(()),
            Some(c) => Err(format!("has `{c}` where a command should have ended")),
        }
    }

    fn substitute(&mut self) -> Result<(), String> {
        let end = self.delimiter()?;
        self.until(end)?;
        self.until_replacement(end)?;
        while let Some(c) = self.peek() {
            match c {
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => self.at += 1,
                'e' => return Err("runs what it made as a program (`s///e`)".to_owned()),
                'w' => return Err("writes a file (`s///w`)".to_owned()),
                _ => break,
            }
        }
        Ok(())
    }

    fn until_replacement(&mut self, end: char) -> Result<(), String> {
        while let Some(c) = self.take() {
            match c {
                '\n' => break,
                '\\' => {
                    let escaped = self.take();
                    if escaped == Some('\n') {
                        break;
                    }
                }
                c if c == end => return Ok(()),
                _ => {}
            }
        }
        Err(format!("has a replacement that `{end}` does not end"))
    }

    /// The text of `a`, `i` and `c` goes to the end of the line; a backslash at its end would go on.
    fn text(&mut self) -> Result<(), String> {
        let line: String = self.chars[self.at..].iter().take_while(|c| **c != '\n').collect();
        self.at += line.chars().count();
        let after_first = line.trim_start();
        if line.ends_with('\\') || after_first.is_empty() {
            return Err("adds a text of several lines; write it as one line".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_and_substituting_are_known() {
        for script in [
            "1,5p",
            "$p",
            "/a b/,/c/p",
            "s/a/b/g",
            "s|/usr|/opt|;s/x/y/2p",
            "/x/{s/a/b/;p;}",
            "5q",
            "/^$/d",
            "1~2d",
            "/a/,+3p",
            "y/abc/ABC/",
            "\\|x|p",
            "$!N;P;D",
            "s/[a-z]*/X/",
            "1i header",
            "=",
            ":a;s/x/y/;ta",
            "/foo/!d",
            "2,4!p",
            "# comment\np",
            "s/a\\/b/c/",
        ] {
            assert_eq!(check(script), Ok(()), "{script}");
        }
    }

    #[test]
    fn programs_and_files_are_refused() {
        for script in [
            "1e touch x",
            "w out",
            "1w out",
            "s/a/b/w out",
            "s/a/b/e",
            "s/a/b/gw out",
            "r /etc/passwd",
            "R x",
            "W x",
            "p;w x",
            "{w x\n}",
            "e",
            "1!w x",
            "/a/,/b/w x",
            "s/a/b/;e id",
            "y/a/b/;w x",
            "s,a,b,w x",
            "a\\\nx",
            "v",
            "s/[/]/w x/",
            "s\na\nb\nw x",
            "p w x",
            "\\xax w out",
            "0,/x/w y",
            "s/a/b/pw x",
            "s;a;b;w x",
            "sxaxbxw y",
            "}w x",
            "b x;w y\n",
            "#n\nw x",
            "pw x",
            "s/a/b/ w x",
        ] {
            assert!(check(script).is_err(), "{script}");
        }
    }
}
