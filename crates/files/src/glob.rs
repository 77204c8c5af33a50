//! Patterns of paths: `*` and `?` within a component, `**` over several, `[a-z]`, `{one,other}`.

use regex::Regex;

/// A pattern of paths from a folder.
#[derive(Debug, Clone)]
pub struct Glob {
    regex: Regex,
}

impl Glob {
    /// Reads a pattern. One without `/` is about names, in whatever folder.
    pub fn new(pattern: &str) -> Result<Glob, String> {
        let pattern = pattern.trim_start_matches("./");
        let anchored = pattern.trim_start_matches('/');
        let text = match pattern.contains('/') {
            true => translated(anchored)?,
            false => format!("(?:.*/)?{}", translated(anchored)?),
        };
        let regex = Regex::new(&format!("(?s)^{text}$")).map_err(|error| error.to_string())?;
        Ok(Glob { regex })
    }

    /// Whether a path fits it.
    pub fn is_match(&self, path: &str) -> bool {
        self.regex.is_match(path)
    }
}

/// The pattern as a regular expression.
pub(crate) fn translated(pattern: &str) -> Result<String, String> {
    let signs: Vec<char> = pattern.chars().collect();
    let (mut text, mut at, mut open) = (String::new(), 0, 0);
    while at < signs.len() {
        let rest = &signs[at..];
        at += 1;
        match rest[0] {
            '*' if rest.starts_with(&['*', '*', '/']) => {
                text.push_str("(?:.*/)?");
                at += 2;
            }
            '*' if rest.starts_with(&['*', '*']) => {
                text.push_str(".*");
                at += 1;
            }
            '*' => text.push_str("[^/]*"),
            '?' => text.push_str("[^/]"),
            '[' => {
                let (class, length) = class(rest)?;
                text.push_str(&class);
                at += length - 1;
            }
            '{' => {
                open += 1;
                text.push_str("(?:");
            }
            '}' if open > 0 => {
                open -= 1;
                text.push(')');
            }
            ',' if open > 0 => text.push('|'),
            '\\' if rest.len() > 1 => {
                text.push_str(&regex::escape(&rest[1].to_string()));
                at += 1;
            }
            sign => text.push_str(&regex::escape(&sign.to_string())),
        }
    }
    if open > 0 { Err("`{` has no `}`".to_owned()) } else { Ok(text) }
}

fn class(rest: &[char]) -> Result<(String, usize), String> {
    let negated = matches!(rest.get(1), Some('!' | '^'));
    let begins = if negated { 2 } else { 1 };
    let ends = rest.iter().skip(begins + 1).position(|sign| *sign == ']').map(|at| at + begins + 1);
    let ends = ends.ok_or("`[` has no `]`")?;
    let inside: String = rest[begins..ends]
        .iter()
        .flat_map(|sign| match sign {
            '\\' | '[' | ']' | '&' | '~' | '^' => vec!['\\', *sign],
            sign => vec![*sign],
        })
        .collect();
    // A class never takes a slash.
    let class = if negated { format!("[^/{inside}]") } else { format!("[{inside}]") };
    Ok((class, ends + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, path: &str) -> bool {
        Glob::new(pattern).unwrap().is_match(path)
    }

    #[test]
    fn patterns_fit_what_people_expect() {
        for (pattern, path) in [
            ("*.rs", "src/a/b.rs"),
            ("src/*.rs", "src/b.rs"),
            ("src/**/*.rs", "src/b.rs"),
            ("src/**/*.rs", "src/a/c/b.rs"),
            ("**/test_*.py", "test_x.py"),
            ("*.{ts,tsx}", "a/b.tsx"),
            ("[a-c]?.txt", "b1.txt"),
            ("./src/**", "src/x/y"),
            ("a+b(c).txt", "a+b(c).txt"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("src/*.rs", "src/a/b.rs"),
            ("*.rs", "a.rsx"),
            ("src/**/*.rs", "lib/src/b.rs"),
            ("[!a]x", "ax"),
            ("?.txt", "/.txt"),
        ] {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
        assert!(Glob::new("{a").is_err() && Glob::new("[a").is_err());
    }
}
