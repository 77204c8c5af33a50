//! `parallel` and `for_each`.

use super::super::section::FromNode;
use super::super::shape::Shape::{Any, Choice, Integer, List, Step, Text};
use super::super::shape::{COUNT, ObjectType, Shape, TEXTS, optional, required};
use super::super::words::FAILURE_MODES;
use super::super::workflow::ensure::ENSURE;
use super::super::workflow::workspace::{PORTS, WORKSPACE};
use super::super::workflow::{Budget, Labels};
use super::flow::{JOIN, NEEDS, ON_ERROR, ROUTES, TIMEOUT};
use convoke_model::MergeMode;

const CONCURRENT: Shape = Integer(1, 100_000);

/// An entry of `parallel`.
pub static PARALLEL: ObjectType = ObjectType {
    name: "parallel_group",
    title: "a parallel group",
    keys: &[
        required("name", Text, "name of the group"),
        optional("description", Text, "what it is for"),
        required("agents", TEXTS, "the members: steps or groups, at least two"),
        optional(
            "failure_mode",
            Choice(FAILURE_MODES),
            "what the failure of a member means (default fail_fast)",
        ),
        optional("min", COUNT, "with `failure_mode: quorum`: how many must succeed"),
        optional("max_concurrent", CONCURRENT, "members at one time"),
        optional("routes", ROUTES, "where to go afterwards; the first that fits is taken"),
        optional("needs", NEEDS, "steps that must have ended before"),
        optional("join", JOIN, "how many of the needs must be met (default all)"),
        optional("on_error", ON_ERROR, "where to go when it fails"),
        optional("timeout", TIMEOUT, "bound of the whole group"),
        optional("max_wait", TIMEOUT, "how long an attempt of a member may wait for its permit"),
        optional("labels", Labels::SHAPE, "priority, class and tenant"),
        optional("workspace", WORKSPACE, "a git worktree of its own, which its members come back to"),
        optional("ports", PORTS, "so many ports of its own, which its members get theirs from"),
        optional("merge", MergeMode::SHAPE, "how the work in its worktree comes back (default none)"),
        optional("ensure", ENSURE, "what must hold once all have ended for the group to count as done"),
        optional("protect", TEXTS, "patterns of files that its work must leave as they are: what proves it"),
        optional("budget", Budget::SHAPE, "what all its members together may spend"),
    ],
};

/// An entry of `for_each`.
pub static FOR_EACH: ObjectType = ObjectType {
    name: "for_each_group",
    title: "a for_each group",
    keys: &[
        required("name", Text, "name of the group"),
        required("type", Choice(&["for_each"]), "always `for_each`"),
        optional("description", Text, "what it is for"),
        optional("source", Text, "path of the list, such as `finder.output.items` or `workflow.input.items`"),
        optional("items", List(&Any), "the list itself, instead of `source`; its texts are not rendered"),
        required("as", Text, "name of the loop variable"),
        optional("agent", Step, "the step that runs per item"),
        optional("run", Text, "a step or group of the file that runs per item, instead of `agent`"),
        optional("max_concurrent", CONCURRENT, "items at one time (default 10)"),
        optional(
            "failure_mode",
            Choice(FAILURE_MODES),
            "what the failure of an item means (default fail_fast)",
        ),
        optional("min", COUNT, "with `failure_mode: quorum`: how many must succeed"),
        optional("key_by", Text, "path below the item whose value names its result; `.` is the item itself"),
        optional("routes", ROUTES, "where to go afterwards; the first that fits is taken"),
        optional("needs", NEEDS, "steps that must have ended before"),
        optional("join", JOIN, "how many of the needs must be met (default all)"),
        optional("on_error", ON_ERROR, "where to go when it fails"),
        optional("timeout", TIMEOUT, "bound of the whole group"),
        optional("max_wait", TIMEOUT, "how long an attempt of a member may wait for its permit"),
        optional("labels", Labels::SHAPE, "priority, class and tenant"),
        optional("workspace", WORKSPACE, "a git worktree of its own, which its members come back to"),
        optional("ports", PORTS, "so many ports of its own, which its members get theirs from"),
        optional("merge", MergeMode::SHAPE, "how the work in its worktree comes back (default none)"),
        optional("ensure", ENSURE, "what must hold once all have ended for the group to count as done"),
        optional("protect", TEXTS, "patterns of files that its work must leave as they are: what proves it"),
        optional("budget", Budget::SHAPE, "what all its members together may spend"),
    ],
};
