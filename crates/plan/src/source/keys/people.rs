//! What asks a person: gate options, questions, dialogs.

use super::super::shape::Shape::{Boolean, Template, Text};
use super::super::shape::{ObjectType, TEMPLATES, optional, required};

/// An option of a gate.
pub static OPTION: ObjectType = ObjectType {
    name: "gate_option",
    title: "an option",
    keys: &[
        required("label", Template, "what the person reads"),
        required("value", Text, "what becomes `selected`"),
        optional("route", Text, "step or group to go to, or `$end`; not inside a group"),
        optional("prompt_for", Text, "name of a further text to ask for"),
        optional("multiline", Boolean, "whether that text may have several lines (default false)"),
    ],
};

/// A question.
pub static QUESTION: ObjectType = ObjectType {
    name: "question",
    title: "a question",
    keys: &[
        optional("id", Text, "name of the answer (default q1, q2, …)"),
        required("text", Template, "the question"),
        optional("hint", Template, "further help"),
        optional("choices", TEMPLATES, "answers to choose from"),
        optional("allow_free_text", Boolean, "whether any text may be answered (default true)"),
        optional("default", Template, "answer when nothing is entered"),
        optional("required", Boolean, "whether it must be answered (default false)"),
        optional("multiline", Boolean, "whether the answer may have several lines (default true)"),
    ],
};

/// `dialog`.
pub static DIALOG: ObjectType = ObjectType {
    name: "dialog",
    title: "`dialog`",
    keys: &[required("trigger_prompt", Template, "decides whether a chat is opened")],
};
