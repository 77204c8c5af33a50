//! Templates that only fill in names: `Do item {{ item }} of {{ workflow.input.count }}.`
//!
//! Most prompts of a fan-out are of this kind. They are filled in without the virtual machine, which takes some 11 000
//! instructions for a text of two names (callgrind, release build).
//!
//! Invariant: gives what minijinja gives, or nothing. A name that is not there, a list, a text beyond the bound on
//! outputs: all of them are left to minijinja, which knows the limits and the words for what is wrong.

use minijinja::value::{Value, ValueKind};

use super::super::limits::OUTPUT_BYTES;
use super::super::python::write_text;
use super::super::renderer::with_newlines;

/// A template in its pieces.
#[derive(Debug)]
pub(in crate::template) struct Plain {
    pieces: Vec<Piece>,
    /// About as long as the text gets, so that it rarely grows while it is filled in.
    room: usize,
}

/// As long as most values are that are filled in.
const VALUE_ROOM: usize = 16;

#[derive(Debug)]
enum Piece {
    /// Words, with the line ends that templates have.
    Words(Box<str>),
    /// A name, and the keys below it.
    Path(Box<[Box<str>]>),
}

/// Words of Jinja2 that are no names.
const RESERVED: [&str; 19] = [
    "true", "True", "false", "False", "none", "None", "and", "or", "not", "in", "is", "if", "else", "loop",
    "self", "super", "caller", "varargs", "kwargs",
];

impl Plain {
    /// The pieces of a text, if it is of this kind.
    pub fn of(text: &str) -> Option<Plain> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = super::super::first_tag(rest) {
            let tag = rest[at..].strip_prefix("{{")?;
            let end = tag.find("}}")?;
            let path = path(tag[..end].trim_matches([' ', '\t', '\n', '\r']))?;
            pieces.extend(words(&rest[..at]));
            pieces.push(Piece::Path(path));
            rest = &tag[end + 2..];
        }
        pieces.extend(words(rest));
        let room = pieces.iter().map(Piece::room).sum();
        Some(Plain { pieces, room })
    }

    /// The names that it fills in, each with the keys below it.
    pub fn paths(&self) -> impl Iterator<Item = &[Box<str>]> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Words(_) => None,
            Piece::Path(path) => Some(&**path),
        })
    }

    /// The text with every name filled in.
    pub fn fill(&self, context: &Value) -> Option<String> {
        let mut out = String::with_capacity(self.room);
        for piece in &self.pieces {
            match piece {
                Piece::Words(words) => out.push_str(words),
                Piece::Path(path) => write_text(&mut out, &found(context, path)?),
            }
            if out.len() > OUTPUT_BYTES {
                return None;
            }
        }
        Some(out)
    }
}

impl Piece {
    fn room(&self) -> usize {
        match self {
            Piece::Words(words) => words.len(),
            Piece::Path(_) => VALUE_ROOM,
        }
    }
}

fn words(text: &str) -> Option<Piece> {
    (!text.is_empty()).then(|| Piece::Words(with_newlines(text).into()))
}

fn path(text: &str) -> Option<Box<[Box<str>]>> {
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !RESERVED.contains(&name)
    };
    text.split('.').map(|name| is_name(name).then(|| name.into())).collect()
}

/// A text, number, truth value or `None` at the end of a path of maps.
fn found(context: &Value, path: &[Box<str>]) -> Option<Value> {
    let mut value = context.get_attr(path.first()?).ok()?;
    for name in &path[1..] {
        if value.kind() != ValueKind::Map {
            return None;
        }
        value = value.get_attr(name).ok()?;
    }
    let is_scalar =
        matches!(value.kind(), ValueKind::String | ValueKind::Number | ValueKind::Bool | ValueKind::None);
    is_scalar.then_some(value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::super::{Renderer, TemplateId, TemplateSource, from_json};
    use super::*;

    fn context() -> Value {
        from_json(&json!({
            "who": "Ann", "n": 2, "f": 1.5, "big": 1e20, "yes": true, "nothing": null, "list": [1, "x"],
            "map": {"who": "Bob", "map": {"who": "Cid"}, "items": 7, "loop": 3, "": 4}, "items": 8,
        }))
    }

    #[test]
    fn only_names_are_plain() {
        for text in ["", "words", "{{ a }}", "{{a.b.c}}x{{\n d\t}}", "{ {a} }"] {
            assert!(Plain::of(text).is_some(), "{text}");
        }
        for text in [
            "{{ a | upper }}",
            "{{- a }}",
            "{{ a -}}",
            "{{ a.0 }}",
            "{{ a['b'] }}",
            "{{ a() }}",
            "{{ True }}",
            "{{ 'a' }}",
            "{{ a . b }}",
            "{{ }}",
            "{{ a",
            "{% if a %}{% endif %}",
            "{# a #}",
            "{{ loop.index }}",
            "{{ a if b }}",
            "{{ é }}",
        ] {
            assert!(Plain::of(text).is_none(), "{text}");
        }
    }

    proptest! {
        /// What a plain text refers to is known without parsing it.
        #[test]
        fn plain_texts_refer_to_what_the_parser_finds_in_them(
            parts in proptest::collection::vec(
                r"[a-z \r\n{}%é-]{0,6}|\{\{[ \n]{0,2}(who|state|range|dict|namespace|lipsum|workflow)(\.(who|map|items|range)){0,3}[ \n]{0,2}\}\}",
                0..7,
            )
        ) {
            let text = parts.concat();
            let Some(plain) = Plain::of(&text) else { return Ok(()) };
            let Ok(parsed) = super::super::super::parse_template(&text, None, &BTreeMap::new()) else {
                return Err(TestCaseError::fail(text));
            };
            let of_plain = |path: &[Box<str>]| path.iter().map(|name| name.to_string()).collect::<Vec<_>>();
            let mut plain: Vec<_> = plain.paths().map(of_plain).collect();
            let mut parsed: Vec<_> = parsed.references().into_iter().map(|reference| reference.path).collect();
            plain.sort();
            plain.dedup();
            parsed.sort();
            parsed.dedup();
            prop_assert_eq!(plain, parsed);
        }

        /// The short way changes the time, not the text. A comment keeps a text from being plain.
        #[test]
        fn plain_texts_are_what_minijinja_makes_of_them(
            parts in proptest::collection::vec(
                r"[a-z \r\n{}%é-]{0,6}|\{\{[ \n]{0,2}(who|n|f|big|yes|nothing|list|map|items|gone)(\.(who|map|items|loop|gone)){0,3}[ \n]{0,2}\}\}",
                0..7,
            )
        ) {
            let text = parts.concat();
            let sources = [text.clone(), format!("{{##}}{text}")];
            let sources = sources.map(|text| TemplateSource { text: text.into(), base: None });
            let renderer = Renderer::new(&sources, &[], &BTreeMap::new());
            let [short, long] = [0, 1].map(|at| renderer.render(TemplateId(at), context()));
            prop_assert_eq!(short.is_ok(), long.is_ok(), "{}", text);
            prop_assert_eq!(short.ok(), long.ok());
        }
    }
}
