//! Output fields.

use super::super::shape::Shape::{Any, Boolean, Choice, Integer, List, Map, Number, Object, Text};
use super::super::shape::{ObjectType, Shape, optional, required};
use super::super::words::Words;
use super::super::workflow::ValueType;

/// The definition of an output field.
pub static OUTPUT_FIELD: ObjectType = ObjectType {
    name: "output_field",
    title: "an output field",
    keys: &[
        required("type", Choice(ValueType::WORDS), "type of the field"),
        optional("description", Text, "what it is for"),
        optional("items", Object(&OUTPUT_FIELD), "type of the elements of an array"),
        optional("properties", Map(&Object(&OUTPUT_FIELD)), "fields of an object"),
        optional("enum", List(&Any), "the allowed values"),
        optional("pattern", Text, "regular expression that must be found in the text"),
        optional("minimum", Number(f64::MIN, f64::MAX), "smallest number"),
        optional("maximum", Number(f64::MIN, f64::MAX), "largest number"),
        optional("minLength", Integer(0, u64::MAX), "fewest characters"),
        optional("maxLength", Integer(0, u64::MAX), "most characters"),
        optional("required", Boolean, "whether it must be there (default true); inside `properties` only"),
        optional("nullable", Boolean, "whether null is a value (default false)"),
    ],
};

/// `output` of a step.
pub const OUTPUT: Shape = Map(&Object(&OUTPUT_FIELD));
