//! The keys of one mapping, taken by name; what is left is unknown.

use std::rc::Rc;
use std::time::Duration;

use indexmap::IndexMap;

use super::super::keys::step::{STEP_KEYS, StepType, step_key};
use super::super::shape::{Extended, Key, ObjectType, Shape};
use super::super::text::{SecretText, Spanned, Text};
use super::super::tree::{Node, Pair, Value};
use super::super::words::Words;
use super::super::workflow::{Entry, Names, References, Templates};
use super::Reader;
use super::scalars::{Of, head};
use crate::diagnostic::{Label, Span};
use convoke_model::nearest;

/// A mapping that is being read.
pub(in crate::source) struct Fields<'t> {
    keys: KeySet,
    /// How messages call the mapping, such as "step `a`".
    pub owner: String,
    pairs: &'t [Pair],
    /// What each key is read as: itself, or the key that it is a misspelling of. One slip is then one finding: what
    /// stands below it is read, and nothing is missing because of it.
    meant: Vec<&'t str>,
    taken: Vec<bool>,
    /// Where it begins.
    pub head: Span,
    /// All of it.
    pub span: Span,
}

/// Which keys there can be.
#[derive(Clone, Copy)]
enum KeySet {
    Object(&'static ObjectType),
    /// Of a step: all, until its type is known.
    Step(Option<StepType>),
    Extended(&'static Extended),
}

impl KeySet {
    /// The names of all keys.
    fn names(self) -> Vec<&'static str> {
        match self {
            Self::Step(_) => STEP_KEYS.iter().map(|row| row.key.name).collect(),
            _ => self.allowed().into_iter().flat_map(|(keys, _)| keys).map(|key| key.name).collect(),
        }
    }

    fn key(self, name: &str) -> Option<&'static Key> {
        match self {
            Self::Object(object) => object.key(name),
            Self::Step(_) => step_key(name).map(|row| &row.key),
            Self::Extended(extended) => extended.readable(name),
        }
    }

    /// The keys that may be written here, with the title of the mapping; `None` for steps, which judge them elsewhere.
    fn allowed(self) -> Option<(Vec<&'static Key>, &'static str)> {
        match self {
            Self::Object(object) => Some((object.keys.iter().collect(), object.title)),
            Self::Extended(extended) => Some((extended.keys().collect(), extended.own.title)),
            Self::Step(_) => None,
        }
    }

    /// Whether a mapping of this kind can have the key. Readers of steps ask for more than a mapping has.
    fn has(self, name: &str) -> bool {
        match self {
            Self::Object(object) => object.key(name).is_some(),
            Self::Step(kind) => {
                step_key(name).is_some_and(|row| kind.is_none_or(|kind| row.is_used_by(kind)))
            }
            Self::Extended(extended) => extended.keys().any(|key| key.name == name),
        }
    }
}

impl<'t> Fields<'t> {
    /// Opens a mapping of a known kind; `None` when it is no mapping (which is reported).
    pub fn open(
        cx: &mut Reader<'_>,
        node: &'t Node,
        object: &'static ObjectType,
        owner: String,
    ) -> Option<Self> {
        match &node.value {
            Value::Map(pairs) => Some(Self::new(node, pairs, KeySet::Object(object), owner)),
            Value::Broken => None,
            _ => {
                let message = format!("{owner} must be a mapping, found {}", node.describe());
                cx.error("workflow::wrong_type", message, &head(node), "not a mapping");
                None
            }
        }
    }

    /// Opens a mapping that has keys of steps besides its own; `None` when it is no mapping (which is reported).
    pub fn open_extended(
        cx: &mut Reader<'_>,
        node: &'t Node,
        extended: &'static Extended,
        owner: String,
    ) -> Option<Self> {
        let mut fields = Self::open(cx, node, &extended.own, owner)?;
        fields.keys = KeySet::Extended(extended);
        fields.guess(&[]);
        Some(fields)
    }

    /// Opens the mapping of a step.
    pub fn of_step(node: &'t Node, pairs: &'t [Pair], owner: String) -> Self {
        Self::new(node, pairs, KeySet::Step(None), owner)
    }

    /// Leaves the keys of a step that its type uses.
    pub fn of_type(&mut self, kind: StepType) {
        self.keys = KeySet::Step(Some(kind));
    }

    fn new(node: &'t Node, pairs: &'t [Pair], keys: KeySet, owner: String) -> Self {
        let mut fields = Self {
            keys,
            owner,
            pairs,
            meant: Vec::new(),
            taken: vec![false; pairs.len()],
            head: head(node),
            span: node.span.clone(),
        };
        fields.guess(&[]);
        fields
    }

    /// Settles what unknown keys were meant to be: the nearest of the likely keys, else of all, that is not written too.
    pub fn guess(&mut self, likely: &[&'static str]) {
        let names = self.keys.names();
        let mut meant: Vec<&'t str> = self.pairs.iter().map(|pair| pair.key.value.as_str()).collect();
        for at in 0..meant.len() {
            if names.contains(&meant[at]) {
                continue;
            }
            let near = |names: &[&'static str]| nearest(meant[at], names.iter().copied());
            let near = near(likely).or_else(|| near(&names)).filter(|near| !meant.contains(near));
            meant[at] = near.unwrap_or(meant[at]);
        }
        self.meant = meant;
    }

    /// The pair that is read as a key.
    fn written(&self, name: &str) -> Option<&'t Pair> {
        self.pairs.iter().zip(&self.meant).find(|(_, meant)| **meant == name).map(|(pair, _)| pair)
    }

    /// Whether a mapping of this kind can have the key.
    pub fn has(&self, name: &str) -> bool {
        self.keys.has(name)
    }

    /// Takes a key; nothing when it is absent or null.
    pub fn take(&mut self, name: &str) -> Option<&'t Pair> {
        let known = || self.keys.key(name).or_else(|| step_key(name).map(|row| &row.key));
        debug_assert!(known().is_some(), "`{name}` is in no table of keys");
        if !self.keys.has(name) {
            return None;
        }
        let mut found = None;
        for (index, pair) in self.pairs.iter().enumerate().filter(|(index, _)| self.meant[*index] == name) {
            self.taken[index] = true;
            found = found.or(Some(pair));
        }
        found.filter(|pair| !pair.value.is_null())
    }

    /// Whether a key is written, even without a value.
    pub fn place_of(&self, name: &str) -> Option<&'t Span> {
        self.written(name).map(|pair| &pair.key.span)
    }

    /// Whether a key has a value.
    pub fn is_written(&self, name: &str) -> bool {
        self.written(name).is_some_and(|pair| !pair.value.is_null())
    }

    /// The keys, for readers that judge them by themselves.
    pub fn pairs(&self) -> &'t [Pair] {
        self.pairs
    }

    /// What a key holds.
    pub fn shape(&self, name: &str) -> Shape {
        self.keys.key(name).map_or(Shape::Any, |key| key.shape)
    }

    pub fn of<'s>(&'s self, key: &'s str) -> Of<'s> {
        Of { key, owner: &self.owner }
    }

    /// How messages call a mapping below a key of this one.
    pub fn owner_of(&self, key: &str) -> String {
        format!("`{key}` of {}", self.owner)
    }

    pub fn text(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Spanned<String>> {
        let pair = self.take(name)?;
        cx.text(&pair.value, self.of(name))
    }

    pub fn template(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Text> {
        let pair = self.take(name)?;
        cx.template(&pair.value, self.of(name))
    }

    pub fn secret(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<SecretText> {
        let pair = self.take(name)?;
        cx.secret(&pair.value, self.of(name))
    }

    pub fn boolean(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Spanned<bool>> {
        let pair = self.take(name)?;
        cx.boolean(&pair.value, self.of(name)).map(|value| Spanned::new(value, pair.value.span.clone()))
    }

    /// A boolean with the default of the language.
    pub fn flag(&mut self, cx: &mut Reader<'_>, name: &str, default: bool) -> bool {
        self.boolean(cx, name).map_or(default, |flag| flag.value)
    }

    pub fn integer(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Spanned<u64>> {
        let pair = self.take(name)?;
        let Shape::Integer(min, max) = self.shape(name) else { unreachable!("`{name}` is no integer") };
        let value = cx.integer(&pair.value, self.of(name), (min, max))?;
        Some(Spanned::new(value, pair.value.span.clone()))
    }

    pub fn number(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Spanned<f64>> {
        let pair = self.take(name)?;
        let Shape::Number(min, max) = self.shape(name) else { unreachable!("`{name}` is no number") };
        let value = cx.number(&pair.value, self.of(name), (min, max))?;
        Some(Spanned::new(value, pair.value.span.clone()))
    }

    pub fn duration(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Spanned<Duration>> {
        let pair = self.take(name)?;
        cx.duration(&pair.value, self.of(name))
    }

    /// One of the words of the table.
    pub fn word(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Spanned<&'static str>> {
        let pair = self.take(name)?;
        let Shape::Choice(words) = self.shape(name) else { unreachable!("`{name}` is no choice") };
        cx.choice(&pair.value, self.of(name), words)
    }

    /// One of the words of an enum.
    pub fn choice<T: Words>(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Spanned<T>> {
        let word = self.word(cx, name)?;
        T::from_word(word.value).map(|value| Spanned::new(value, word.span))
    }

    /// The elements of a list.
    pub fn list(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<&'t [Rc<Node>]> {
        let pair = self.take(name)?;
        match &pair.value.value {
            Value::Seq(items) => Some(items),
            _ => {
                cx.wrong_type(&pair.value, self.of(name), "a list");
                None
            }
        }
    }

    pub fn names(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Names> {
        let items = self.list(cx, name)?;
        Some(items.iter().filter_map(|item| cx.text(item, self.of(name))).collect())
    }

    pub fn references(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Vec<SecretText>> {
        let items = self.list(cx, name)?;
        Some(items.iter().filter_map(|item| cx.reference(item, self.of(name))).collect())
    }

    pub fn templates(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Vec<Text>> {
        let items = self.list(cx, name)?;
        Some(items.iter().filter_map(|item| cx.template(item, self.of(name))).collect())
    }

    /// The entries of a mapping with free keys.
    pub fn entries(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<&'t [Pair]> {
        let pair = self.take(name)?;
        match &pair.value.value {
            Value::Map(pairs) => Some(pairs),
            _ => {
                cx.wrong_type(&pair.value, self.of(name), "a mapping");
                None
            }
        }
    }

    pub fn template_map(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Templates> {
        self.map(cx, name, |cx, pair, owner| cx.template(&pair.value, Of { key: &pair.key.value, owner }))
    }

    pub fn secret_map(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<References> {
        self.map(cx, name, |cx, pair, owner| cx.secret(&pair.value, Of { key: &pair.key.value, owner }))
    }

    pub fn reference_map(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<References> {
        self.map(cx, name, |cx, pair, owner| cx.reference(&pair.value, Of { key: &pair.key.value, owner }))
    }

    /// A mapping with free keys, each value read by a function that gets the name of the mapping.
    pub fn map<T>(
        &mut self,
        cx: &mut Reader<'_>,
        name: &str,
        mut read: impl FnMut(&mut Reader<'_>, &'t Pair, &str) -> Option<T>,
    ) -> Option<IndexMap<String, Entry<T>>> {
        let pairs = self.entries(cx, name)?;
        let owner = self.owner_of(name);
        let mut map = IndexMap::with_capacity(pairs.len());
        for pair in pairs {
            if let Some(value) = read(cx, pair, &owner) {
                let entry = Entry { key: pair.key.clone(), value };
                map.entry(pair.key.value.clone()).or_insert(entry);
            }
        }
        Some(map)
    }

    /// A mapping of a known kind below a key.
    pub fn object(&mut self, cx: &mut Reader<'_>, name: &str) -> Option<Fields<'t>> {
        let pair = self.take(name)?;
        let Shape::Object(object) = self.shape(name) else { unreachable!("`{name}` is no mapping") };
        Fields::open(cx, &pair.value, object, self.owner_of(name))
    }

    /// Whether exactly one of two keys is there; reports it if not.
    pub fn exactly_one(&self, cx: &mut Reader<'_>, one: &str, other: &str) -> bool {
        let place =
            |name: &str| self.written(name).filter(|pair| !pair.value.is_null()).map(|pair| &pair.key.span);
        match (place(one), place(other)) {
            (Some(first), Some(second)) => {
                let message =
                    format!("{} has both `{one}` and `{other}`, which exclude one another", self.owner);
                let finding = cx.error("workflow::excludes", message, second, "keep one of the two");
                finding.labels.push(Label { span: first.clone(), text: "the other one".into() });
                false
            }
            (None, None) => {
                let message = format!("{} has no `{one}` and no `{other}`", self.owner);
                cx.error("workflow::missing_key", message, &self.head, "one of the two is required here");
                false
            }
            _ => true,
        }
    }

    /// Where the mapping stands.
    pub fn place(&self) -> Span {
        self.span.clone()
    }

    /// Reports what is missing and what is left over.
    pub fn finish(self, cx: &mut Reader<'_>) {
        let Some((keys, title)) = self.keys.allowed() else { return };
        for key in keys.iter().filter(|key| key.required) {
            self.require(cx, key.name);
        }
        let known = keys.iter().map(|key| key.name);
        for (pair, taken) in self.pairs.iter().zip(&self.taken) {
            // A reader of steps takes keys that a mapping of another kind need not have.
            if !taken || !known.clone().any(|name| name == pair.key.value) {
                cx.unknown_key(&pair.key, &self.owner, title, known.clone());
            }
        }
    }

    /// Reports a key that must be there and is not.
    pub fn require(&self, cx: &mut Reader<'_>, name: &str) {
        match self.written(name) {
            None => {
                let message = format!("{} has no `{name}`", self.owner);
                cx.error("workflow::missing_key", message, &self.head, &format!("`{name}` is required here"));
            }
            Some(pair) if pair.value.is_null() => {
                let message = format!("`{name}` of {} has no value", self.owner);
                cx.error("workflow::missing_key", message, &pair.key.span, "a value is required here");
            }
            Some(_) => {}
        }
    }
}

impl Reader<'_> {
    /// Reports a key that is not known, with the nearest one that is known.
    pub fn unknown_key(
        &mut self,
        key: &Spanned<String>,
        owner: &str,
        title: &str,
        known: impl Iterator<Item = &'static str> + Clone,
    ) {
        let message = format!("unknown key `{}` in {owner}", key.value);
        let help = match nearest(&key.value, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known keys: {}", known.collect::<Vec<_>>().join(", ")),
        };
        self.error("workflow::unknown_key", message, &key.span, &format!("not a key of {title}")).help =
            Some(help);
    }
}

/// Whether a text is rendered rather than taken as it is.
pub(super) fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}
