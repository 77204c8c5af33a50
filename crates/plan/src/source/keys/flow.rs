//! What leads from step to step, and what happens when one fails.

use super::super::shape::Shape::{
    Choice, Duration, Integer, List, Map, Number, Object, OneOf, Template, Text,
};
use super::super::shape::{COUNT, ObjectType, Shape, TEMPLATE_MAP, optional, required};
use super::super::words::{CLASSES, JOINS, RETRY_ON};
use super::super::workflow::{Backoff, Priority, QueueClass, Requires, Spent};

/// An entry of `routes`.
pub static ROUTE: ObjectType = ObjectType {
    name: "route",
    title: "a route",
    keys: &[
        required("to", Text, "step or group to go to, or `$end`"),
        optional("when", Template, "condition; without one the route is always taken"),
        optional("output", TEMPLATE_MAP, "merged over the final output on a `$end` route"),
    ],
};

/// An entry of `needs` that is not just a name.
pub static NEED: ObjectType = ObjectType {
    name: "need",
    title: "a need",
    keys: &[
        required("step", Text, "step or group that must have ended"),
        optional("requires", Choice(Requires::WORDS), "which ends are good enough (default success)"),
    ],
};

/// `join` with a number.
pub static QUORUM: ObjectType = ObjectType {
    name: "quorum",
    title: "`join`",
    keys: &[required("quorum", COUNT, "how many of the needs must be met")],
};

/// An entry of `on_error`.
pub static ERROR_ROUTE: ObjectType = ObjectType {
    name: "error_route",
    title: "an entry of `on_error`",
    keys: &[
        optional(
            "class",
            OneOf(&[CLASS, List(&CLASS), Choice(&["any"])]),
            "classes of failures that it catches (default any)",
        ),
        required("to", Text, "step or group to go to, or `$end`"),
    ],
};

const CLASS: Shape = Choice(CLASSES);

/// `retry`.
pub static RETRY: ObjectType = ObjectType {
    name: "retry",
    title: "`retry`",
    keys: &[
        optional("max_attempts", Integer(1, 10), "attempts in all (default 1)"),
        optional("backoff", Choice(Backoff::WORDS), "how the pause grows (default exponential)"),
        optional("delay_seconds", Number(0.0, 300.0), "the first pause in seconds (default 2)"),
        optional(
            "retry_on",
            List(&Choice(RETRY_ON)),
            "failures that are worth another attempt (default provider_error and timeout)",
        ),
        optional(
            "max_parse_recovery_attempts",
            Integer(0, 10),
            "further attempts to get an answer that can be read",
        ),
    ],
};

/// `labels`.
pub static LABELS: ObjectType = ObjectType {
    name: "labels",
    title: "`labels`",
    keys: &[
        optional("priority", Choice(Priority::WORDS), "order within a class (default normal)"),
        optional("class", Choice(QueueClass::WORDS), "which queue (default standard)"),
        optional("tenant", Text, "whose work it is"),
    ],
};

/// `budget` of a step or a group.
pub static BUDGET: ObjectType = ObjectType {
    name: "budget",
    title: "`budget`",
    keys: &[
        optional("usd", DOLLARS, "dollars that all its tasks together may spend"),
        optional("tokens", COUNT, "tokens that all its tasks together may use, sent and received"),
        optional("when_spent", Choice(Spent::WORDS), WHEN_SPENT),
        optional("degrade_to", Text, DEGRADE_TO),
    ],
};

/// What `when_spent` is for.
pub const WHEN_SPENT: &str = "what happens to work that cannot be paid any more (default stop)";
/// What `degrade_to` is for.
pub const DEGRADE_TO: &str = "with `when_spent: degrade`: the cheaper model that is asked instead";
/// Money: counted in millionths, so less than one of them is nothing.
pub const DOLLARS: Shape = Number(f64::MIN_POSITIVE, f64::MAX);

/// `resources` of a step.
pub const RESOURCES: Shape = Map(&Integer(1, 1_000_000_000));
/// `routes`.
pub const ROUTES: Shape = List(&Object(&ROUTE));
/// `needs`.
pub const NEEDS: Shape = List(&OneOf(&[Text, Object(&NEED)]));
/// `join`.
pub const JOIN: Shape = OneOf(&[Choice(JOINS), Object(&QUORUM)]);
/// `on_error`.
pub const ON_ERROR: Shape = List(&Object(&ERROR_ROUTE));
/// `timeout` of any step or group.
pub const TIMEOUT: Shape = Duration;
