//! Texts that must be known before the run: names of models, servers and tools, criteria.

use super::super::text::Spanned;
use super::super::workflow::Names;
use super::Reader;
use super::fields::{Fields, is_template};

/// Reads a text that says something and is no template.
pub fn fixed(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Spanned<String>> {
    let text = fields.text(cx, key)?;
    judge_fixed(cx, &fields.owner, key, text)
}

/// The text, unless it is empty or a template (which is reported).
pub(super) fn judge_fixed(
    cx: &mut Reader<'_>,
    owner: &str,
    key: &str,
    text: Spanned<String>,
) -> Option<Spanned<String>> {
    let why = match () {
        () if text.value.trim().is_empty() => "is empty",
        () if is_template(&text.value) => "must be a fixed text, found a template",
        () => return Some(text),
    };
    let message = format!("`{key}` of {owner} {why}");
    cx.error("workflow::empty_value", message, &text.span, "a fixed text is required here");
    None
}

/// A model that could not answer is not asked again under the same name.
fn judge_repeats(cx: &mut Reader<'_>, owner: &str, models: &Names) {
    for (index, model) in models.iter().enumerate() {
        if models[..index].contains(model) {
            let message = format!("`{}` stands twice in `models` of {owner}", model.value);
            let finding = cx.warning("workflow::no_effect", message, &model.span, "has had its turn");
            finding.help = Some("`retry` asks the same model again".to_owned());
        }
    }
}

/// Reads `models`; `other` is the key for a single model, which it excludes.
pub(super) fn models(cx: &mut Reader<'_>, fields: &mut Fields<'_>, other: &str) -> Option<Names> {
    let place = fields.place_of("models")?.clone();
    if fields.place_of(other).is_some() {
        let message = format!("`{other}` and `models` of {} exclude one another", fields.owner);
        cx.error("workflow::excludes", message, &place, "keep one of the two");
    }
    let models = fields.names(cx, "models")?;
    let odd = models.iter().find(|model| model.value.trim().is_empty() || is_template(&model.value));
    let why = match odd {
        Some(model) if is_template(&model.value) => "must name fixed models, found a template",
        Some(_) => "has an empty name",
        None if models.is_empty() => "is empty",
        None => {
            judge_repeats(cx, &fields.owner, &models);
            return Some(models);
        }
    };
    let message = format!("`models` of {} {why}", fields.owner);
    cx.error("workflow::empty_value", message, odd.map_or(&place, |model| &model.span), "not a model");
    None
}
