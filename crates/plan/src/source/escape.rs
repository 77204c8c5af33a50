//! Texts of others inside texts of ours: they stand for themselves, whatever they look like.

use serde_json::Value;

/// What stands for the dollar sign of a text that is no reference: a variable that is never set, with the sign as its
/// default.
const DOLLAR: &str = "${CONVOKE_DOLLAR:-$}";

/// A text that a template gives back as it is, also after references to the environment were followed.
pub(crate) fn template(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '$']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match () {
            () if ["{{", "{%", "{#", "${"].iter().any(|pair| rest.starts_with(pair)) => 2,
            // Alone it means nothing, but before something of ours it would.
            () if rest.starts_with("{${") => 1,
            () => 0,
        };
        match taken {
            0 => out.push_str(&rest[..1]),
            taken => out.push_str(&format!("{{{{ '{}' }}}}", &rest[..taken])),
        }
        rest = &rest[taken.max(1)..];
    }
    out.push_str(rest);
    out
}

/// A text without references to the environment, where no template is rendered.
pub(crate) fn data(text: &str) -> String {
    text.replace("${", &format!("{DOLLAR}{{"))
}

/// A value whose texts have no references to the environment.
pub(crate) fn references(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(data(text)),
        Value::Array(items) => items.iter().map(references).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), references(value))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{Renderer, TemplateId, TemplateSource, from_json};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn rendered(text: &str) -> String {
        let source = TemplateSource { text: text.into(), base: None };
        let renderer = Renderer::new(&[source], &[], &BTreeMap::new());
        renderer.render(TemplateId(0), from_json(&serde_json::json!({}))).expect("it renders")
    }

    fn followed(text: &str) -> String {
        let mut out = String::new();
        let mut done = 0;
        while let Some(found) = convoke_model::reference::next(text, done) {
            out.push_str(&text[done..found.range.start]);
            done = found.range.end;
            out.push_str(&found.follow(&|_| None).expect("a default"));
        }
        out + &text[done..]
    }

    #[test]
    fn dollars_and_braces_stand_for_themselves() {
        for text in [
            "${HOME}",
            "${A:-b}",
            "$${x}",
            "${",
            "a $ b {",
            "{{ x }} ${y} {% z %} {# w #}",
            "${#",
            "{${a}",
            "{{{",
        ] {
            assert_eq!(followed(&data(text)), text);
            assert_eq!(rendered(&template(text)), text);
        }
    }

    proptest! {
        #[test]
        fn a_template_of_a_text_is_the_text(text in "[a-z {}%#$\\n]{0,30}") {
            // A line break at the very end is the template language's own affair.
            let text = format!("{text}.");
            let escaped = template(&text);
            prop_assert_eq!(followed(&escaped), escaped.clone());
            prop_assert_eq!(rendered(&escaped), text);
        }
    }
}
