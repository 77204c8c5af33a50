//! The plan's table of texts: equal templates and conditions are kept once.

use crate::plan::Text;
use crate::source;
use crate::template::{ConditionId, ConditionSource, TemplateId, TemplateSource, is_literal};
use std::collections::HashMap;
use std::sync::Arc;

/// Collects the texts of a plan while it is built.
#[derive(Default)]
pub(in crate::compile) struct Texts {
    templates: Vec<TemplateSource>,
    conditions: Vec<ConditionSource>,
    template_ids: HashMap<TemplateSource, TemplateId>,
    condition_ids: HashMap<Arc<str>, ConditionId>,
}

impl Texts {
    /// The plan's form of a text.
    pub fn text(&mut self, text: &source::Text) -> Text {
        if is_literal(&text.value) {
            return Text::Literal(text.value.as_str().into());
        }
        let source =
            TemplateSource { text: text.value.as_str().into(), base: text.base.as_deref().map(Arc::from) };
        Text::Template(self.template(source))
    }

    /// A template that no file holds.
    pub fn own(&mut self, text: &str) -> Text {
        Text::Template(self.template(TemplateSource { text: text.into(), base: None }))
    }

    /// The same for a text that may be absent.
    pub fn optional(&mut self, text: Option<&source::Text>) -> Option<Text> {
        text.map(|text| self.text(text))
    }

    /// The same for named texts.
    pub fn named(&mut self, texts: &source::workflow::Templates) -> Vec<(String, Text)> {
        texts.iter().map(|(name, entry)| (name.clone(), self.text(&entry.value))).collect()
    }

    /// The plan's form of a `when`.
    pub fn condition(&mut self, text: &source::Text) -> ConditionId {
        let key: Arc<str> = text.value.as_str().into();
        let next = ConditionId(self.conditions.len() as u32);
        let id = *self.condition_ids.entry(key.clone()).or_insert(next);
        if id == next {
            self.conditions.push(ConditionSource { text: key });
        }
        id
    }

    /// Everything that was collected, in the order of its ids.
    pub fn finish(self) -> (Vec<TemplateSource>, Vec<ConditionSource>) {
        (self.templates, self.conditions)
    }

    fn template(&mut self, source: TemplateSource) -> TemplateId {
        let next = TemplateId(self.templates.len() as u32);
        let id = *self.template_ids.entry(source.clone()).or_insert(next);
        if id == next {
            self.templates.push(source);
        }
        id
    }
}
