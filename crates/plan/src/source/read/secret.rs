//! `secrets`: named secrets, and references to them.
//!
//! A reference to a secret stays a reference. So it may stand only where references are kept: in `env`, headers and keys. In a text that
//! becomes part of the plan it is refused, because the value would be written down.

use super::super::section::Section;
use super::super::text::{Spanned, Text};
use super::super::tree::{Node, Pair, Value};
use super::super::workflow::{Entry, SecretEntry};
use super::Reader;
use super::fields::Fields;
use crate::diagnostic::Span;
use convoke_model::{is_secret_name, reference};
use indexmap::IndexMap;
use std::collections::HashSet;

/// Reads secrets by name.
pub fn secrets(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> IndexMap<String, Entry<SecretEntry>> {
    let read = |cx: &mut Reader<'_>, pair: &Pair, _: &str| {
        let name = &pair.key.value;
        if !is_secret_name(name) {
            let message = format!("a secret cannot be called `{name}`");
            let finding = cx.error("workflow::bad_name", message, &pair.key.span, "not a name");
            finding.help = Some("letters, digits and `_`, as in `SHOP_TOKEN`".to_owned());
            return None;
        }
        SecretEntry::at(cx, &pair.value, format!("secret `{name}`"))
    };
    fields.map(cx, "secrets", read).unwrap_or_default()
}

/// Exactly one source; a variable that is not set is told of before the run.
pub fn judge_secret(cx: &mut Reader<'_>, fields: &Fields<'_>, secret: &mut SecretEntry) {
    let written: Vec<&str> =
        ["env", "file", "command", "vault"].into_iter().filter(|key| fields.is_written(key)).collect();
    match written[..] {
        [] => {
            let message = format!("{} says nowhere where it comes from", fields.owner);
            let finding = cx.error("workflow::missing_key", message, &fields.head, "no source");
            finding.help = Some("one of `env`, `file`, `command` and `vault`".to_owned());
        }
        [_] => {}
        [first, second, ..] => {
            let message = format!("{} has both `{first}` and `{second}`", fields.owner);
            let place = fields.place_of(second).cloned().unwrap_or_else(|| fields.place());
            cx.error("workflow::excludes", message, &place, "one source alone");
        }
    }
    if secret.command.as_ref().is_some_and(|command| command.first().is_none_or(|word| word.value.is_empty()))
    {
        let message = format!("`command` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &fields.place(), "no program");
    }
    if let (None, Some(place)) = (&secret.command, fields.place_of("inherit")) {
        let message = format!("`inherit` of {} has no effect without `command`", fields.owner);
        cx.warning("workflow::no_effect", message, &place.clone(), "not used");
    }
    let unset = |name: &&Spanned<String>| cx.sources.env(&name.value).is_none_or(|value| value.is_empty());
    if let Some(name) = secret.env.as_ref().filter(unset) {
        let message = format!("environment variable `{}` for {} is not set", name.value, fields.owner);
        cx.warning("env::unset_secret", message, &name.span, "needed when the run starts");
    }
}

impl Reader<'_> {
    /// Takes note of the secrets that a file declares, before anything of it is read.
    pub fn know_secrets(&mut self, root: &Node) {
        self.secrets.extend(declared(root));
    }

    /// Reports references to secrets in a text that becomes part of the plan.
    pub(super) fn refuse_secrets(&mut self, text: &Text) {
        let mut done = 0;
        while let Some(found) = reference::next(&text.value, done) {
            done = found.range.end;
            for name in reference::names(&text.value[found.range.clone()]) {
                if self.is_secret(&name) {
                    self.secret_in_text(&name, &text.place_of(found.range.clone()));
                }
            }
        }
    }

    fn secret_in_text(&mut self, name: &str, span: &Span) {
        let message =
            format!("the secret `{name}` stands in a text, which would be written down with its value");
        let finding = self.error("workflow::secret_in_text", message, span, "no place for a secret");
        finding.help = Some(format!(
            "give it as a variable (`secrets: [{name}]`, or `env: {{NAME: \"${{{name}}}\"}}`), a header or a key"
        ));
    }

    /// Whether a name stands for a secret, whose value no text may hold.
    pub(super) fn is_secret(&self, name: &str) -> bool {
        self.secrets.contains(name) || self.sources.is_secret(name)
    }

    /// What a name stands for where references are kept: a secret has a value that is not known yet.
    pub(super) fn value_or_secret(&self, name: &str) -> Option<String> {
        if self.is_secret(name) { Some("secret".to_owned()) } else { self.sources.env(name) }
    }
}

/// The names of secrets in a file, and of the variables that they come from.
fn declared(root: &Node) -> HashSet<String> {
    let Some(Value::Map(pairs)) = root.get("secrets").map(|node| &node.value) else { return HashSet::new() };
    let variable = |pair: &Pair| match &pair.value.get("env")?.value {
        Value::Scalar(scalar) => Some(scalar.raw.to_string()),
        _ => None,
    };
    let names = pairs.iter().map(|pair| pair.key.value.clone());
    names.chain(pairs.iter().filter_map(variable)).collect()
}
