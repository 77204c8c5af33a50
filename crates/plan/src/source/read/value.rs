//! What each type of field is read from.

use std::time::Duration;

use indexmap::IndexMap;

use super::super::section::FromNode;
use super::super::shape::Shape;
use super::super::text::{SecretText, Spanned, Text};
use super::super::tree::{Node, Value};
use super::super::words::Words;
use super::super::workflow::Entry;
use super::Reader;
use super::fields::{Fields, is_template};
use super::scalars::Of;

impl Fields<'_> {
    /// The value of a key; `None` when it is absent, null or not what it must be (which is reported).
    pub fn value<T: FromNode>(&mut self, cx: &mut Reader<'_>, key: &str) -> Option<T> {
        let pair = self.take(key)?;
        T::from_node(cx, &pair.value, self.of(key), self.shape(key))
    }
}

impl<T: FromNode> FromNode for Spanned<T> {
    const SHAPE: Shape = T::SHAPE;

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        T::from_node(cx, node, of, shape).map(|value| Spanned::new(value, node.span.clone()))
    }
}

/// One of the words of an enum.
impl<T: Words> FromNode for T {
    const SHAPE: Shape = Shape::Choice(T::WORDS);

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        let Shape::Choice(words) = shape else { unreachable!("{of} is no choice") };
        T::from_word(cx.choice(node, of, words)?.value)
    }
}

impl FromNode for String {
    const SHAPE: Shape = Shape::Text;

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        match shape {
            Shape::Choice(words) => cx.choice(node, of, words).map(|word| word.value.to_owned()),
            _ => cx.text(node, of).map(|text| text.value),
        }
    }
}

impl FromNode for Text {
    const SHAPE: Shape = Shape::Template;

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        let text = cx.template(node, of)?;
        match shape {
            Shape::ChoiceOrTemplate(words)
                if !is_template(&text.value) && !words.contains(&text.value.as_str()) =>
            {
                cx.unknown_word(&Spanned::new(text.value, text.span), of, words);
                None
            }
            _ => Some(text),
        }
    }
}

impl FromNode for SecretText {
    const SHAPE: Shape = Shape::Secret;

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, _: Shape) -> Option<Self> {
        cx.secret(node, of)
    }
}

impl FromNode for bool {
    const SHAPE: Shape = Shape::Boolean;

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, _: Shape) -> Option<Self> {
        cx.boolean(node, of)
    }
}

impl FromNode for f64 {
    const SHAPE: Shape = Shape::Number(f64::MIN, f64::MAX);

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        let Shape::Number(min, max) = shape else { unreachable!("{of} is no number") };
        cx.number(node, of, (min, max))
    }
}

impl FromNode for u64 {
    const SHAPE: Shape = Shape::Integer(1, u64::MAX);

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        let Shape::Integer(min, max) = shape else { unreachable!("{of} is no integer") };
        cx.integer(node, of, (min, max))
    }
}

impl FromNode for u32 {
    const SHAPE: Shape = Shape::Integer(1, u32::MAX as u64);

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        u64::from_node(cx, node, of, shape).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    }
}

impl FromNode for u8 {
    const SHAPE: Shape = Shape::Integer(1, u8::MAX as u64);

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        u64::from_node(cx, node, of, shape).map(|number| u8::try_from(number).unwrap_or(u8::MAX))
    }
}

impl FromNode for Duration {
    const SHAPE: Shape = Shape::Duration;

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        match shape {
            Shape::Number(min, max) => cx.number(node, of, (min, max)).map(Duration::from_secs_f64),
            Shape::Seconds(min) => cx.seconds(node, of, min).map(|duration| duration.value),
            _ => cx.duration(node, of).map(|duration| duration.value),
        }
    }
}

impl FromNode for serde_json::Value {
    const SHAPE: Shape = Shape::Any;

    fn from_node(cx: &mut Reader<'_>, node: &Node, _: Of<'_>, _: Shape) -> Option<Self> {
        Some(cx.json(node))
    }
}

impl<T: FromNode> FromNode for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        let Shape::List(element) = shape else { unreachable!("{of} is no list") };
        let Value::Seq(items) = &node.value else {
            cx.wrong_type(node, of, "a list");
            return None;
        };
        Some(items.iter().filter_map(|item| T::from_node(cx, item, of, *element)).collect())
    }
}

impl<T: FromNode> FromNode for IndexMap<String, Entry<T>> {
    const SHAPE: Shape = Shape::Map(&T::SHAPE);

    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self> {
        let Shape::Map(value) = shape else { unreachable!("{of} is no mapping") };
        let Value::Map(pairs) = &node.value else {
            cx.wrong_type(node, of, "a mapping");
            return None;
        };
        let owner = of.to_string();
        let mut map = IndexMap::with_capacity(pairs.len());
        for pair in pairs {
            let of = Of { key: &pair.key.value, owner: &owner };
            if let Some(value) = T::from_node(cx, &pair.value, of, *value) {
                map.entry(pair.key.value.clone()).or_insert(Entry { key: pair.key.clone(), value });
            }
        }
        Some(map)
    }
}
