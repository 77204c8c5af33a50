//! Top level and `workflow:`.

use super::super::section::FromNode;
use super::super::settings::Runtime;
use super::super::shape::Shape::{Any, Choice, List, Map, Object, OneOf, Step, Text};
use super::super::shape::{ObjectType, TEMPLATE_MAP, TEMPLATES, TEXTS, optional, required};
use super::super::words::FRONT_ENDS;
use super::super::workflow::{ContextSettings, Cost, Hooks, InputField, Labels, Limits};
use super::group::{FOR_EACH, PARALLEL};
use super::head;

/// The whole file.
pub static FILE: ObjectType = ObjectType {
    name: "file",
    title: "a workflow file",
    keys: &[
        optional(
            "kind",
            Choice(FRONT_ENDS),
            "which kind of file this is, where it cannot be told by its keys",
        ),
        required("workflow", Object(&WORKFLOW), "name, entry point and settings of the workflow"),
        head::SECRETS,
        optional("tools", TEXTS, "the names of all tools that agents may use"),
        required("agents", List(&Step), "the steps"),
        optional("parallel", List(&Object(&PARALLEL)), "groups of steps that run at the same time"),
        optional("for_each", List(&Object(&FOR_EACH)), "fan-outs: one step per item of a list"),
        optional("output", TEMPLATE_MAP, "the final output: templates by name"),
    ],
};

/// The header.
pub static WORKFLOW: ObjectType = ObjectType {
    name: "workflow",
    title: "`workflow`",
    keys: &[
        required("name", Text, "name of the workflow"),
        optional("description", Text, "what it is for"),
        optional("version", Text, "version of the workflow, in quotes"),
        optional(
            "entry_point",
            OneOf(&[Text, TEXTS]),
            "the step or group to start with, or several; not needed with `needs`",
        ),
        optional("runtime", Runtime::SHAPE, "provider, models and tools of all agents"),
        optional("input", Map(&InputField::SHAPE), "the declared inputs"),
        optional("context", ContextSettings::SHAPE, "what a step sees of the steps before it"),
        optional("limits", Limits::SHAPE, "bounds of the run"),
        optional("cost", Cost::SHAPE, "prices and how they are shown"),
        optional("hooks", Hooks::SHAPE, "what happens at the start and the end"),
        optional("metadata", Map(&Any), "anything, copied into the events of the run"),
        optional("instructions", TEMPLATES, "texts that are put before every prompt"),
        optional("labels", Labels::SHAPE, "priority, class and tenant of all steps"),
    ],
};
