//! A section of the language: a struct from which the table of its keys and its reader are made.
//!
//! A key is said once, as a field: its documentation is the line that the schema has about it, its type says what it holds
//! and how it is read. `shape` and `schema` look at the tables, `read` at the readers; neither knows a single key.
//!
//! ```ignore
//! section! {
//!     /// `retry` of a step.
//!     #[derive(Debug, Clone)]
//!     pub struct Retry = "retry", "`retry`" {
//!         /// attempts in all (default 1)
//!         pub max_attempts: u32 = 1 => Integer(1, 10),
//!         /// the first pause
//!         pub delay as "delay_seconds": Option<Spanned<Duration>> => Seconds(0.0),
//!         /// the model that is asked then
//!         #[by(fixed)]
//!         pub model: Option<Spanned<String>>,
//!         /// step to go to
//!         pub to: Spanned<String>,
//!     } with {
//!         /// Place of the block.
//!         pub span: Span = Fields::place,
//!     } judge judge_retry
//! }
//! ```
//!
//! - `= "retry", "`retry`"`: the section's name in the schema, and what messages call a mapping of its kind.
//! - `name as "key": Type`: the key has another name than the field.
//! - `T` must be there: without it a finding is reported, and there is no value of the section. `Option<T>` may be absent, and
//!   `T = default` is the default when it is absent or wrong; with `#[required = true]` their absence is reported too.
//! - `=> shape` where the type alone does not say everything: bounds of numbers, several forms. Names of [`Shape`] need no import.
//! - `#[by(reader)]` calls `reader(cx, fields, key)` instead of the type's own reader, for rules about one value.
//! - `with { … }` are fields that no key stands for; each is made by a function of the mapping.
//! - A struct `of steps` has no mapping of its own: its keys stand on steps. `#[on(AGENT | GOAL)]` names the types of steps that
//!   use the key, `#[required_on(…)]` those that cannot do without it, `#[ignored_on(…)]` those that take it without effect, and
//!   `#[instead("…")]` says what to write elsewhere. A field without `#[on]` is a key whose row another struct has.
//! - `judge f` calls `f(cx, &mut fields, &mut section)`, for rules between keys.
//!
//! [`Shape`]: super::shape::Shape

use super::keys::step::StepKey;
use super::read::{Fields, Of, Reader};
use super::shape::{ObjectType, Shape};
use super::tree::Node;

/// A struct whose fields are keys.
pub(in crate::source) trait Keys: Sized {
    /// Reads its keys from a mapping that may have others; `None` without a key that must be there.
    fn take(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Self>;
}

/// A struct whose fields are the keys of one kind of mapping.
pub(in crate::source) trait Section: Keys {
    /// Its keys.
    const TABLE: &'static ObjectType;

    /// Reads a mapping that has these keys and no others. `owner` is what messages call it.
    fn at(cx: &mut Reader<'_>, node: &Node, owner: String) -> Option<Self> {
        let mut fields = Fields::open(cx, node, Self::TABLE, owner)?;
        let read = Self::take(cx, &mut fields);
        fields.finish(cx);
        read
    }
}

/// A struct whose fields are keys of steps; some of them may be other structs' too, which then have their rows.
pub(in crate::source) trait OfSteps: Keys {
    /// A row for each key, or none where another struct has it.
    const ROWS: &'static [&'static [StepKey]];
}

/// A type that one value of a file is read into.
pub(in crate::source) trait FromNode: Sized {
    /// What such a value looks like, where its key says nothing else.
    const SHAPE: Shape;

    /// Reads the value; `None` when it is not what it must be (which is reported).
    fn from_node(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, shape: Shape) -> Option<Self>;
}

/// A type that a field of a section may have.
pub(in crate::source) trait Value: Sized {
    /// What its key holds, where the key says nothing else.
    const SHAPE: Shape;
    /// Whether the key must be there.
    const REQUIRED: bool;

    /// Takes the key; `None` when the section cannot do without it.
    fn take(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Self>;
}

impl<T: FromNode> Value for T {
    const SHAPE: Shape = T::SHAPE;
    const REQUIRED: bool = true;

    fn take(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Self> {
        fields.value(cx, key)
    }
}

impl<T: FromNode> Value for Option<T> {
    const SHAPE: Shape = T::SHAPE;
    const REQUIRED: bool = false;

    fn take(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Self> {
        Some(fields.value(cx, key))
    }
}

/// What a reader of one key gives: the value of a field, or nothing where the section cannot do without it.
pub(in crate::source) trait Settled<T> {
    /// The value, if there is one.
    fn settled(self) -> Option<T>;
}

impl<T> Settled<T> for T {
    fn settled(self) -> Option<T> {
        Some(self)
    }
}

impl<T> Settled<T> for Option<T> {
    fn settled(self) -> Option<T> {
        self
    }
}

/// Makes a struct, the table of its keys and its reader; the module says how it is written.
macro_rules! section {
    (
        $(#[$meta:meta])*
        pub struct $Type:ident = $name:literal, $title:literal {
            $(
                $(#[doc = $doc:literal])+
                $(#[by($by:path)])?
                $(#[required = $required:literal])?
                pub $field:ident $(as $key:literal)?: $type:ty $(= $default:expr)? $(=> $shape:expr)?,
            )*
        }
        $(with { $( $(#[$extra_meta:meta])* pub $extra:ident: $extra_type:ty = $made:expr, )+ })?
        $(judge $judge:path)?
    ) => {
        section! {
            @keys [$(#[$meta])*] $Type
            { $( [$($doc)+] $field [$($key)?] [$type] [$($by)?] [$($default)?] )* }
            { $( $( [$(#[$extra_meta])*] $extra [$extra_type] [$made] )+ )? }
            [$($judge)?]
        }

        impl $crate::source::section::Section for $Type {
            const TABLE: &'static $crate::source::shape::ObjectType = &$crate::source::shape::ObjectType {
                name: $name,
                title: $title,
                keys: &[$(
                    $crate::source::shape::Key {
                        name: section!(@name $field [$($key)?]),
                        shape: section!(@shape [$type] [$($shape)?]),
                        doc: concat!($($doc),+).trim_ascii(),
                        required: section!(@required [$type] [$($by)?] [$($default)?] [$($required)?]),
                    },
                )*],
            };
        }

        impl $crate::source::section::FromNode for $Type {
            const SHAPE: $crate::source::shape::Shape =
                $crate::source::shape::Shape::Object(<Self as $crate::source::section::Section>::TABLE);

            fn from_node(
                cx: &mut $crate::source::read::Reader<'_>,
                node: &$crate::source::tree::Node,
                of: $crate::source::read::Of<'_>,
                _: $crate::source::shape::Shape,
            ) -> Option<Self> {
                <Self as $crate::source::section::Section>::at(cx, node, of.to_string())
            }
        }
    };

    (
        $(#[$meta:meta])*
        pub struct $Type:ident of steps {
            $(
                $(#[doc = $doc:literal])+
                $(#[by($by:path)])?
                $(#[on($on:expr)])?
                $(#[required_on($must:expr)])?
                $(#[ignored_on($ignored:expr)])?
                $(#[instead($instead:literal)])?
                pub $field:ident $(as $key:literal)?: $type:ty $(= $default:expr)? $(=> $shape:expr)?,
            )*
        }
        $(with { $( $(#[$extra_meta:meta])* pub $extra:ident: $extra_type:ty = $made:expr, )+ })?
        $(judge $judge:path)?
    ) => {
        section! {
            @keys [$(#[$meta])*] $Type
            { $( [$($doc)+] $field [$($key)?] [$type] [$($by)?] [$($default)?] )* }
            { $( $( [$(#[$extra_meta])*] $extra [$extra_type] [$made] )+ )? }
            [$($judge)?]
        }

        impl $crate::source::section::OfSteps for $Type {
            const ROWS: &'static [&'static [$crate::source::keys::step::StepKey]] = &[$(
                section!(
                    @row [$($on)?] [$($must)?] [$($ignored)?] [$($instead)?]
                    [$($doc)+] $field [$($key)?] [$type] [$($shape)?]
                ),
            )*];
        }
    };

    // The struct itself, and what reads its keys.
    (
        @keys [$($meta:tt)*] $Type:ident
        { $( [$($doc:literal)+] $field:ident [$($key:literal)?] [$type:ty] [$($by:path)?] [$($default:expr)?] )* }
        { $( [$($extra_meta:tt)*] $extra:ident [$extra_type:ty] [$made:expr] )* }
        [$($judge:path)?]
    ) => {
        $($meta)*
        pub struct $Type {
            $( $(#[doc = $doc])+ pub $field: $type, )*
            $( $($extra_meta)* pub $extra: $extra_type, )*
        }

        impl $crate::source::section::Keys for $Type {
            fn take(
                cx: &mut $crate::source::read::Reader<'_>,
                fields: &mut $crate::source::read::Fields<'_>,
            ) -> Option<Self> {
                $(
                    let $field: Option<$type> = section!(
                        @take cx, fields, section!(@name $field [$($key)?]), [$type] [$($by)?] [$($default)?]
                    );
                )*
                #[allow(unused_mut)]
                let mut read = Self {
                    $( $field: $field?, )*
                    $( $extra: ($made)(&*fields), )*
                };
                $( $judge(cx, fields, &mut read); )?
                Some(read)
            }
        }
    };

    (@row [] [] [] [] [$($doc:literal)+] $field:ident [$($key:literal)?] [$type:ty] [$($shape:expr)?]) => { &[] };
    (
        @row [$on:expr] [$($must:expr)?] [$($ignored:expr)?] [$($instead:literal)?]
        [$($doc:literal)+] $field:ident [$($key:literal)?] [$type:ty] [$($shape:expr)?]
    ) => {{
        #[allow(unused_imports)]
        use $crate::source::keys::step::types::*;
        &[$crate::source::keys::step::StepKey {
            key: $crate::source::shape::Key {
                name: section!(@name $field [$($key)?]),
                shape: section!(@shape [$type] [$($shape)?]),
                doc: concat!($($doc),+).trim_ascii(),
                required: false,
            },
            used: $on,
            must: 0 $(| ($must))?,
            ignored: 0 $(| ($ignored))?,
            instead: concat!($($instead)?),
        }]
    }};

    (@name $field:ident []) => { stringify!($field) };
    (@name $field:ident [$key:literal]) => { $key };

    (@required [$type:ty] [] [] []) => { <$type as $crate::source::section::Value>::REQUIRED };
    (@required [$type:ty] [$($by:path)?] [$($default:expr)?] []) => { false };
    (@required [$type:ty] [$($by:path)?] [$($default:expr)?] [$required:literal]) => { $required };

    (@shape [$type:ty] []) => { <$type as $crate::source::section::Value>::SHAPE };
    (@shape [$type:ty] [$shape:expr]) => {{
        #[allow(unused_imports)]
        use $crate::source::shape::Shape::*;
        $shape
    }};

    (@take $cx:ident, $fields:ident, $key:expr, [$type:ty] [] []) => {
        <$type as $crate::source::section::Value>::take($cx, $fields, $key)
    };
    (@take $cx:ident, $fields:ident, $key:expr, [$type:ty] [] [$default:expr]) => {
        <$type as $crate::source::section::Value>::take($cx, $fields, $key).or_else(|| Some($default))
    };
    (@take $cx:ident, $fields:ident, $key:expr, [$type:ty] [$by:path] []) => {
        $crate::source::section::Settled::<$type>::settled($by($cx, $fields, $key))
    };
}

pub(in crate::source) use section;
