//! What bounds an agent's conversation, and what its answer must meet.

use super::super::shape::Shape::{Boolean, Choice, Integer, List, Object, OneOf, Text};
use super::super::shape::{ObjectType, Shape, optional, required};
use super::super::words::{PLACEHOLDERS, STUCK_ACTIONS};

/// Tokens that a model can take in.
pub const WINDOW: Shape = Integer(1000, u64::MAX);

/// `capabilities` of an agent or of the runtime.
pub static CAPABILITIES: ObjectType = ObjectType {
    name: "capabilities",
    title: "`capabilities`",
    keys: &[
        optional(
            "stuck_loop",
            OneOf(&[Boolean, Object(&STUCK_LOOP)]),
            "finds an agent that does the same thing over and over (default on)",
        ),
        optional(
            "tool_output",
            OneOf(&[Boolean, CHARACTERS]),
            "characters of a tool's result that the model is shown (default 50000)",
        ),
        optional(
            "compaction",
            OneOf(&[Boolean, Object(&COMPACTION)]),
            "leaves out the oldest turns of a long conversation (default on)",
        ),
        optional(
            "context_warnings",
            OneOf(&[Boolean, List(&PERCENT)]),
            "tells the agent when so many percent of its context are used (default 70 and 90)",
        ),
        optional("max_iterations", Integer(1, 500), "rounds of tool calls (default 50)"),
        optional(
            "parallel_tools",
            Integer(1, 100),
            "tool calls of one turn that run at the same time (default 8)",
        ),
        optional(
            "placeholders",
            Choice(PLACEHOLDERS),
            "what follows when an answer has the right shape and says nothing (default note)",
        ),
    ],
};

/// A bound of tool results.
pub const CHARACTERS: Shape = Integer(1000, u64::MAX);
/// A part of the window.
pub const PERCENT: Shape = Integer(1, 100);

/// `stuck_loop` with settings.
pub static STUCK_LOOP: ObjectType = ObjectType {
    name: "stuck_loop",
    title: "`stuck_loop`",
    keys: &[
        optional("repeats", Integer(2, 1000), "how often the same thing is too often (default 3)"),
        optional("action", Choice(STUCK_ACTIONS), "a word to the agent first, or failure (default warn)"),
    ],
};

/// `compaction` with settings.
pub static COMPACTION: ObjectType = ObjectType {
    name: "compaction",
    title: "`compaction`",
    keys: &[
        optional("at", PERCENT, "begins when so many percent of the window are used (default 80)"),
        optional("to", PERCENT, "leaves so many percent (default 50)"),
    ],
};

/// `success_criteria` with settings.
pub static SUCCESS_CRITERIA: ObjectType = ObjectType {
    name: "success_criteria",
    title: "`success_criteria`",
    keys: &[
        required("criteria", Text, "what the answer must meet"),
        optional("model", Text, "the model that judges"),
        optional("max_retries", Integer(0, 10), "how often a rejected answer is asked for again (default 1)"),
    ],
};

/// `capabilities` of an agent or of the runtime.
pub const CAPABILITIES_SHAPE: Shape = Object(&CAPABILITIES);
/// `success_criteria` of an agent.
pub const CRITERIA: Shape = OneOf(&[Text, Object(&SUCCESS_CRITERIA)]);
