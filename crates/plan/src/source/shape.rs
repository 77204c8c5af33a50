//! What a key may hold: one table per kind of mapping, shared by the readers, the messages and the JSON Schema.

use super::keys::step::step_key;

/// A key of a mapping.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// One line for the editor.
    pub doc: &'static str,
    /// Whether it must be there.
    pub required: bool,
}

/// A kind of mapping with a fixed set of keys.
#[derive(Debug)]
pub struct ObjectType {
    /// Its name in the schema, such as `retry`.
    pub name: &'static str,
    /// How a message calls it, such as `an output field`.
    pub title: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A kind of mapping that has keys of steps besides its own.
#[derive(Debug)]
pub struct Extended {
    /// Its own keys.
    pub own: ObjectType,
    /// Names of the keys of steps that it has too.
    pub of_steps: &'static [&'static str],
}

impl Extended {
    /// Every key that may be written, its own first.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        let own = self.own.keys;
        own.iter().chain(self.of_steps.iter().filter_map(|name| step_key(name).map(|row| &row.key)))
    }

    /// The key of this name, whether or not it may be written: readers of steps ask for more than a mapping has.
    pub fn readable(&self, name: &str) -> Option<&'static Key> {
        self.own.key(name).or_else(|| step_key(name).map(|row| &row.key))
    }
}

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Text that is taken as it is.
    Text,
    /// Text that is rendered later.
    Template,
    /// A credential that stays a reference.
    Secret,
    /// True or false.
    Boolean,
    /// A whole number between two bounds.
    Integer(u64, u64),
    /// A number between two bounds.
    Number(f64, f64),
    /// A number of seconds, at least this many.
    Seconds(f64),
    /// A number of seconds, or a text such as `5m`.
    Duration,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, or a template.
    ChoiceOrTemplate(&'static [&'static str]),
    /// A list.
    List(&'static Shape),
    /// A mapping with any keys.
    Map(&'static Shape),
    /// A mapping with known keys.
    Object(&'static ObjectType),
    /// A mapping with known keys, some of them those of steps.
    Extended(&'static Extended),
    /// A mapping of a step, whose keys depend on its type.
    Step,
    /// One of several.
    OneOf(&'static [Shape]),
    /// Anything.
    Any,
}

/// A key that may be left out.
pub const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, required: false }
}

/// A key that must be there.
pub const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, required: true }
}

impl ObjectType {
    /// The key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// A list of texts.
pub const TEXTS: Shape = Shape::List(&Shape::Text);
/// A list of templates.
pub const TEMPLATES: Shape = Shape::List(&Shape::Template);
/// Templates by name.
pub const TEMPLATE_MAP: Shape = Shape::Map(&Shape::Template);
/// Credentials by name.
pub const SECRET_MAP: Shape = Shape::Map(&Shape::Secret);
/// Money: counted in millionths, so less than one of them is nothing.
pub const DOLLARS: Shape = Shape::Number(f64::MIN_POSITIVE, f64::MAX);
/// Tokens that a model can take in.
pub const WINDOW: Shape = Shape::Integer(1000, u64::MAX);
/// A whole number from one.
pub const COUNT: Shape = Shape::Integer(1, u64::MAX);
