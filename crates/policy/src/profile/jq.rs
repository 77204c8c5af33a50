//! `jq`: filters over what is read. The environment and other files of filters are not in it.

use super::Argument;
use super::arguments::Arguments;
use super::uses::Uses;

/// Names that reach out of the filter.
const REACHING: [&str; 5] = ["env", "import", "include", "modulemeta", "get_search_list"];

/// The arguments without the texts that are given to the filter by name.
pub fn without_values<'a>(words: &[Argument<'a>]) -> Vec<Argument<'a>> {
    let (mut left, mut at) = (Vec::new(), 0);
    while let Some(word) = words.get(at) {
        let literal = |ahead: usize| words.get(at + ahead).is_some_and(|word| !word.is_pattern);
        if matches!(word.text, "--arg" | "--argjson") && literal(1) && literal(2) {
            at += 3;
            continue;
        }
        left.push(*word);
        at += 1;
    }
    left
}

/// Looks at the filter.
pub fn refine(found: &Arguments<'_>, uses: &mut Uses<'_>) {
    if found.has(&["L"]) {
        uses.refuse("`jq -L` reads filters from another folder");
    }
    match found.operands.first() {
        Some(filter) => {
            if let Err(why) = check(filter.text) {
                uses.refuse(format!("the jq filter {why}"));
            }
        }
        None if found.has(&["version", "help"]) => {}
        None => uses.refuse("`jq` has no filter"),
    }
}

/// Reads a filter. Texts may hold filters: `"\(env)"`.
fn check(filter: &str) -> Result<(), String> {
    let chars: Vec<char> = filter.chars().collect();
    // For every open `\(`, how many parentheses are open in it; a text is being read if `in_text`.
    let (mut open, mut in_text, mut at) = (Vec::new(), false, 0_usize);
    let mut before = ' ';
    while let Some(c) = chars.get(at).copied() {
        if in_text {
            match (c, chars.get(at + 1)) {
                ('\\', Some('(')) => {
                    open.push(0_u32);
                    in_text = false;
                    at += 1;
                }
                ('\\', Some(_)) => at += 1,
                ('"', _) => in_text = false,
                _ => {}
            }
            at += 1;
            continue;
        }
        match c {
            '"' => in_text = true,
            '(' => {
                if let Some(inner) = open.last_mut() {
                    *inner += 1;
                }
            }
            ')' => match open.last_mut() {
                Some(0) => {
                    open.pop();
                    in_text = true;
                }
                Some(inner) => *inner -= 1,
                None => {}
            },
            '#' => return Err("has a comment, which readers end differently".to_owned()),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let word: String =
                    chars[at..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
                if before == '$' && matches!(word.as_str(), "ENV" | "__prog_args" | "__prog_name") {
                    return Err(format!("uses `${word}`, the environment"));
                }
                let key = chars[at + word.len()..].iter().find(|c| !c.is_whitespace()) == Some(&':')
                    && before != ':';
                if !matches!(before, '.' | '$' | '@') && !key && REACHING.contains(&word.as_str()) {
                    return Err(format!("uses `{word}`, which reaches out of the filter"));
                }
                before = 'a';
                at += word.len();
                continue;
            }
            _ => {}
        }
        if !c.is_whitespace() {
            before = c;
        }
        at += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_known_and_the_environment_is_not() {
        for filter in [
            ".a.b",
            ".[] | {name, env: .x}",
            ".env",
            "map(select(.a > 1)) | length",
            "\"\\(.a) and \\(.b)\"",
            "to_entries[] | .key",
        ] {
            assert_eq!(check(filter), Ok(()), "{filter}");
        }
        for filter in [
            "env",
            "$ENV",
            "$ENV.HOME",
            "\"\\(env)\"",
            "\"\\(\"\\($ENV)\")\"",
            "include \"x\"; .",
            "import \"a\" as a; .",
            ".a | env",
            "[env]",
            "$ ENV",
        ] {
            assert!(check(filter).is_err(), "{filter}");
        }
    }
}
