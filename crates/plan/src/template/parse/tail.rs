//! What is left of a template behind the words before its first tag.
//!
//! Many texts of one plan end alike (three hundred tasks, and behind each the same words about the context): what begins
//! with the first tag is compiled once for all of them, and the words before it are never looked at again.
//!
//! Invariant: the words before the tail, and then the tail rendered, are the whole rendered.

use std::collections::HashMap;

use super::super::first_tag;
use super::super::renderer::{TemplateId, TemplateSource};

/// The environment's names of tails begin with this.
pub(in crate::template) const PREFIX: u8 = b'~';

/// Which tail a template has, and where to cut if others have it too.
#[derive(Debug)]
pub(in crate::template) struct Tail {
    /// The first template that has this tail.
    pub first: TemplateId,
    /// Where it begins, in bytes of the text; none where no other template ends alike, which is rendered whole.
    pub cut: Option<usize>,
}

impl Tail {
    /// The environment's name of the tail.
    pub fn name(&self) -> String {
        format!("{}{}", char::from(PREFIX), self.first.0)
    }
}

/// The tails of all templates; two are the same if they also include files beside the same file.
pub(in crate::template) fn of_all(templates: &[TemplateSource]) -> Vec<Tail> {
    let mut known: HashMap<(&str, Option<&str>), (u32, u32)> = HashMap::new();
    for (at, source) in templates.iter().enumerate() {
        let key = (&source.text[start(&source.text)..], source.base.as_deref());
        known.entry(key).or_insert((at as u32, 0)).1 += 1;
    }
    let tail = |source: &TemplateSource| {
        let start = start(&source.text);
        let (first, count) = known[&(&source.text[start..], source.base.as_deref())];
        Tail { first: TemplateId(first), cut: (count > 1).then_some(start) }
    };
    templates.iter().map(tail).collect()
}

/// Where the tail of a text begins. A tag that takes the white space before it away is no place to cut.
pub(in crate::template) fn start(text: &str) -> usize {
    let trims = |at: &usize| text.as_bytes().get(at + 2) == Some(&b'-');
    first_tag(text).filter(|at| !trims(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::super::{Renderer, from_json, parse_template};
    use super::*;

    fn source(text: &str, base: Option<&str>) -> TemplateSource {
        TemplateSource { text: text.into(), base: base.map(Into::into) }
    }

    fn firsts(sources: &[TemplateSource]) -> Vec<u32> {
        of_all(sources).iter().map(|tail| tail.first.0).collect()
    }

    #[test]
    fn texts_that_end_alike_share_a_tail() {
        let texts = [
            "one {{ a }}.",
            "two {{ a }}.",
            "{{ a }}.",
            "one {{ b }}.",
            "one {{- a }}.",
            "plain",
            "one { a }}",
        ];
        assert_eq!(firsts(&texts.map(|text| source(text, None))), [0, 0, 0, 3, 4, 5, 6]);
    }

    #[test]
    fn a_text_that_ends_like_no_other_is_not_cut() {
        let texts = ["one {{ a }}", "two {{ a }}", "one {{ b }}"].map(|text| source(text, None));
        let cuts: Vec<_> = of_all(&texts).iter().map(|tail| tail.cut).collect();
        assert_eq!(cuts, [Some(4), Some(4), None]);
    }

    #[test]
    fn the_same_tail_of_another_file_includes_other_files() {
        let texts = ["x/m.md", "y/m.md"].map(|base| source("see {% include 'a.md' %}", Some(base)));
        assert_eq!(firsts(&texts), [0, 1]);
        let partials: BTreeMap<_, _> =
            ["x", "y"].map(|folder| (format!("{folder}/a.md"), folder.to_owned())).into();
        let renderer = Renderer::new(&texts, &[], &partials);
        let rendered = [0, 1].map(|at| renderer.render(TemplateId(at), from_json(&json!({}))).unwrap());
        assert_eq!(rendered, ["see x", "see y"]);
    }

    #[test]
    fn what_fails_is_told_of_the_text_as_written() {
        let texts = ["one {{ gone.x }}", "and é two {{ gone.x }}"].map(|text| source(text, None));
        let renderer = Renderer::new(&texts, &[], &BTreeMap::new());
        for (at, text) in texts.iter().enumerate() {
            let error = renderer.render(TemplateId(at as u32), from_json(&json!({}))).unwrap_err();
            assert_eq!(error.expression, "{{ gone.x }}");
            assert!(text.text[error.range.unwrap()].contains("gone"), "{}", text.text);
        }
    }

    proptest! {
        /// Cut or not, a text comes to the same: a comment at its very beginning keeps it whole.
        #[test]
        fn the_words_before_and_the_tail_are_the_whole(
            before in "[a-z \\r\\n{}%é-]{0,12}",
            tag in r"\{\{-? who -?\}\}|\{%-? if n > 1 -?%\} yes \{% endif %\}|\{#-? c -?#\}|\{% raw %\}\{\{ x \}\}\{% endraw %\}",
            after in "[a-z \\r\\n{}%é-]{0,12}",
        ) {
            let cut = format!("{before}{tag}{after}");
            // The third ends like the first, which is what makes the first one cut.
            let tail = &cut[start(&cut)..];
            let sources = [cut.as_str(), &format!("{{##}}{cut}"), &format!("twin{tail}")].map(|text| source(text, None));
            let renderer = Renderer::new(&sources, &[], &BTreeMap::new());
            let context = from_json(&json!({"who": "Ann", "n": 2}));
            let [parts, whole] = [0, 1].map(|at| renderer.render(TemplateId(at), context.clone()));
            prop_assert_eq!(parts.is_ok(), whole.is_ok());
            prop_assert_eq!(parts.ok(), whole.ok());
            let names = |at: usize| parse_template(&sources[at].text, None, &BTreeMap::new()).map(|parsed| parsed.references().len());
            prop_assert_eq!(names(0).ok(), names(1).ok());
        }
    }
}
