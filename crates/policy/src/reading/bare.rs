//! Texts in which there is nothing to read differently, and a second, much smaller reader for them.
//!
//! Readers of the shell's grammar differ on escapes, expansions, patterns, redirects, here-documents, comments and quotes inside of
//! words. A text is bare if it has none of these: words of letters, digits and the signs of [`is_bare`], words that are quoted as a
//! whole with nothing in them that a quote does not take as it stands, blanks, `;`, `&&`, `||`, `|` and line breaks. Such a text is not
//! given to the two readers of others, which take longer for a dense list of commands than everything else together; it is cut once
//! more here, by other means than the lexer's. The tests below ask all of them about bare texts made at random.

use super::lexer::Token;

/// Whether a bare text is cut as the lexer cut it; nothing for a text that is not bare.
pub fn same_tokens(text: &str, tokens: &[Token<'_>]) -> Option<bool> {
    let mut rest = text;
    let mut own = tokens.iter();
    let mut same = true;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            return Some(same && own.next().is_none());
        }
        let (piece, inner) = first(rest)?;
        rest = &rest[piece.len()..];
        same &= match (own.next(), piece) {
            (Some(Token::Word(word)), _) => word.raw == piece && Some(&*word.text) == inner,
            (Some(Token::Newline), "\n") | (Some(Token::Semicolon), ";") => inner.is_none(),
            (Some(Token::And), "&&") | (Some(Token::Or), "||") | (Some(Token::Pipe), "|") => inner.is_none(),
            _ => false,
        };
    }
}

/// The first piece of a text, and what a word says; nothing if it is not bare.
fn first(text: &str) -> Option<(&str, Option<&str>)> {
    let operator = |piece: &'static str| text.starts_with(piece).then_some((piece, None));
    let quoted = |quote: char, forbidden: &[char]| {
        let inner = &text[1..1 + text[1..].find(quote)?];
        let after = text[inner.len() + 2..].chars().next();
        let fine = !inner.contains(forbidden) && ends_word(after);
        fine.then_some((&text[..inner.len() + 2], Some(inner)))
    };
    match text.chars().next()? {
        '\n' => operator("\n"),
        ';' if !text.starts_with(";;") && !text.starts_with(";&") => operator(";"),
        '&' => operator("&&"),
        '|' if text.starts_with("||") => operator("||"),
        '|' if !text.starts_with("|&") => operator("|"),
        '\'' => quoted('\'', &['\n']),
        '"' => quoted('"', &['\n', '\\', '$', '`', '!']),
        _ => {
            let length = text.find(|c| !is_bare(c)).unwrap_or(text.len());
            let word = &text[..length];
            (length > 0 && ends_word(text[length..].chars().next())).then_some((word, Some(word)))
        }
    }
}

/// What stands for itself wherever it is.
fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ',' | ':' | '@' | '%' | '+' | '=')
}

fn ends_word(next: Option<char>) -> bool {
    matches!(next, None | Some(' ' | '\t' | '\n' | ';' | '&' | '|'))
}

#[cfg(test)]
mod tests {
    use super::super::{Caps, agreement, lexer, parser};
    use super::*;
    use proptest::prelude::*;

    const PIECES: [&str; 46] = [
        "ls",
        "cat",
        "echo",
        "if",
        "do",
        "src/lib.rs",
        "a=b",
        "-n",
        "--all",
        "-",
        "--",
        "1",
        "2",
        "a:b",
        "x@y",
        "50%",
        "a,b",
        "+x",
        "_",
        "=",
        "=a",
        "./a",
        "../b",
        "''",
        "'a b'",
        "\"a b\"",
        "'; rm x'",
        "\"&& | #\"",
        "'~$`!{*?['",
        "\"it's\"",
        "'a\"b'",
        " ",
        " ",
        "  ",
        "\t",
        ";",
        ";",
        "&&",
        "&&",
        "||",
        "|",
        "|",
        "\n",
        "'",
        "\"",
        "&",
    ];

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(&PIECES[..]), 0..48).prop_map(|pieces| pieces.concat())
    }

    /// What this reader says, and what both others say of the same text; nothing where it is not bare or no command.
    fn asked(text: &str) -> Option<(bool, bool, bool)> {
        let tokens = lexer::tokens(text, Caps::default()).ok()?;
        let own = same_tokens(text, &tokens)?;
        let brush = agreement::same_tokens(text, &tokens);
        let script = parser::parse(tokens).ok()?;
        Some((own, brush, agreement::same_structure(text, &script)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn a_bare_text_is_read_alike_by_all(text in text()) {
            prop_assert!(asked(&text).is_none_or(|said| said == (true, true, true)), "{:?}", asked(&text));
        }
    }

    #[test]
    fn what_may_be_read_in_two_ways_is_not_bare() {
        for text in [
            "echo a\\ b",
            "echo 'a'b",
            "echo a\"b\"",
            "echo $x",
            "echo \"$x\"",
            "echo \"a\\b\"",
            "ls > x",
            "ls 2>&1",
            "cat <<'E'\nE\n",
            "ls *",
            "ls # x",
            "echo {}",
            "echo ~",
            "! ls",
            "echo gr\u{fc}n",
            "echo 'a\nb'",
            "echo \"!x\"",
            "ls |& cat",
            "ls &",
            "a;;b",
            "[ -f x ]",
        ] {
            let tokens = lexer::tokens(text, Caps::default()).unwrap_or_default();
            assert_eq!(same_tokens(text, &tokens), None, "{text}");
        }
        for text in ["ls -la; cat a.txt | head -n 3 && echo 'a b' || echo \"it's\"\nls", "A=1 ls"] {
            assert_eq!(asked(text), Some((true, true, true)), "{text}");
        }
    }
}
