//! Top level and `workflow:`.

use super::super::shape::Shape::{
    Any, Boolean, Choice, Integer, List, Map, Number, Object, OneOf, Seconds, Step, Template, Text,
};
use super::super::shape::{COUNT, ObjectType, Shape, TEMPLATE_MAP, TEMPLATES, TEXTS, optional, required};
use super::super::words::FRONT_ENDS;
use super::super::workflow::{BudgetMode, ContextMode, Spent, TrimStrategy, ValueType};
use super::flow::{DEGRADE_TO, DOLLARS, LABELS, WHEN_SPENT};
use super::group::{FOR_EACH, PARALLEL};
use super::runtime::RUNTIME;

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
        optional("runtime", Object(&RUNTIME), "provider, models and tools of all agents"),
        optional("input", Map(&Object(&INPUT)), "the declared inputs"),
        optional("context", Object(&CONTEXT), "what a step sees of the steps before it"),
        optional("limits", Object(&LIMITS), "bounds of the run"),
        optional("cost", Object(&COST), "prices and how they are shown"),
        optional("hooks", Object(&HOOKS), "what happens at the start and the end"),
        optional("metadata", Map(&Any), "anything, copied into the events of the run"),
        optional("instructions", TEMPLATES, "texts that are put before every prompt"),
        optional("labels", Object(&LABELS), "priority, class and tenant of all steps"),
    ],
};

/// One declared input.
pub static INPUT: ObjectType = ObjectType {
    name: "input",
    title: "an input",
    keys: &[
        required("type", Choice(ValueType::WORDS), "type of the value"),
        optional("required", Boolean, "whether it must be given (default true)"),
        optional("default", Any, "value when it is not given"),
        optional("description", Text, "what it is for"),
        optional(
            "files",
            Boolean,
            "a list of files, folders and patterns, which are read before the run (default false)",
        ),
    ],
};

/// `context`.
pub static CONTEXT: ObjectType = ObjectType {
    name: "context",
    title: "`context`",
    keys: &[
        optional(
            "mode",
            Choice(ContextMode::WORDS),
            "which earlier outputs a step sees (default accumulate)",
        ),
        optional("max_tokens", COUNT, "bound of the context in tokens"),
        optional(
            "trim_strategy",
            Choice(TrimStrategy::WORDS),
            "how a context is made smaller (default drop_oldest)",
        ),
    ],
};

/// `limits`.
pub static LIMITS: ObjectType = ObjectType {
    name: "limits",
    title: "`limits`",
    keys: &[
        optional(
            "max_iterations",
            Integer(1, 1_000_000),
            "steps started by routes and members of parallel groups (default 10)",
        ),
        optional("timeout_seconds", Seconds(1.0), "wall time of the run"),
        optional("budget_usd", DOLLARS, "money that the run may spend"),
        optional("budget_tokens", COUNT, "tokens that the run may use, sent and received"),
        optional("budget_mode", Choice(BudgetMode::WORDS), "what reaching the budget means (default audit)"),
        optional("when_spent", Choice(Spent::WORDS), WHEN_SPENT),
        optional("degrade_to", Text, DEGRADE_TO),
        optional("max_tasks", COUNT, "tasks of the run in all (default 100000)"),
        optional("max_concurrency", COUNT, "tasks of the run at one time"),
        optional(
            "breaker_failures",
            Integer(0, 1_000_000),
            "failures in a row that open the circuit breaker, 0 for none (default the configured ones)",
        ),
    ],
};

/// `cost`.
pub static COST: ObjectType = ObjectType {
    name: "cost",
    title: "`cost`",
    keys: &[
        optional("show_per_agent", Boolean, "show what each agent cost (default true)"),
        optional("show_summary", Boolean, "show the sum (default true)"),
        optional("pricing", Map(&Object(&PRICING)), "prices by model"),
    ],
};

const PRICE: Shape = Number(0.0, f64::MAX);

/// Prices of one model.
pub static PRICING: ObjectType = ObjectType {
    name: "pricing",
    title: "a price list",
    keys: &[
        required("input_per_mtok", PRICE, "dollars per million input tokens"),
        required("output_per_mtok", PRICE, "dollars per million output tokens"),
        optional("cache_read_per_mtok", PRICE, "dollars per million tokens read from the cache"),
        optional("cache_write_per_mtok", PRICE, "dollars per million tokens written to the cache"),
    ],
};

/// `hooks`.
pub static HOOKS: ObjectType = ObjectType {
    name: "hooks",
    title: "`hooks`",
    keys: &[
        optional("on_start", HOOK_SHAPE, "before the first step"),
        optional("on_complete", HOOK_SHAPE, "after success; sees `result`"),
        optional("on_error", HOOK_SHAPE, "after failure; sees `error`"),
    ],
};

const HOOK_SHAPE: Shape = OneOf(&[Template, Object(&HOOK)]);

/// A hook that runs something.
pub static HOOK: ObjectType = ObjectType {
    name: "hook",
    title: "a hook",
    keys: &[
        optional("command", Template, "program to run"),
        optional("args", TEMPLATES, "its arguments"),
        optional("run", Text, "step to run"),
    ],
};
