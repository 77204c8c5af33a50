//! Keys of steps that make one answer of many, and of models that a step asks on its way.

use super::super::shape::Shape::{
    Boolean, Choice, Duration, Integer, Map, Number, Object, OneOf, Seconds, Template, Text,
};
use super::super::shape::{ObjectType, Shape, TEXTS, optional};
use super::super::workflow::VoteWord;
use super::capability::WINDOW;
use super::output::OUTPUT;
use super::runtime::{PROVIDER_SHAPE, REASONING, TIMEOUTS};
use crate::plan::Tie;

/// The most outputs that a step can ask for.
const SOURCES: Shape = Integer(1, 1_000_000);

/// `ratio`.
pub const RATIO: Shape = Integer(2, 100);
/// `group_tokens`.
pub const GROUP_TOKENS: Shape = Integer(1, 10_000_000);
/// `min_sources`.
pub const MIN_SOURCES: Shape = SOURCES;
/// `rounds` of a verify step.
pub const ROUNDS: Shape = Integer(0, 10);
/// `dependency_outputs`.
pub const DEPENDENCY_OUTPUTS: Shape = OneOf(&[Boolean, DEPENDENCY_TOKENS]);
/// The most tokens of one output.
pub const DEPENDENCY_TOKENS: Shape = Integer(1, 1_000_000);
/// `expects`.
pub const EXPECTS: Shape = Map(&OUTPUT);
/// `repair_input`.
pub const REPAIR_INPUT: Shape = OneOf(&[Boolean, Object(&ASKED)]);

/// `vote`.
pub static VOTE: ObjectType = ObjectType {
    name: "vote",
    title: "`vote`",
    keys: &[
        optional("method", Choice(VoteWord::WORDS), "the rule (default majority)"),
        optional(
            "threshold",
            Number(f64::MIN_POSITIVE, 1.0),
            "with `method: threshold`: the share of the votes cast that wins (default 0.66)",
        ),
        optional(
            "field",
            Text,
            "field of an output that holds the vote (default `vote`; `ranking` for ranked votes)",
        ),
        optional("options", TEXTS, "what may be voted for, in order (default anything)"),
        optional("tie", Choice(Tie::WORDS), "what a tie comes to (default undecided)"),
        optional("quorum", SOURCES, "how many votes there must be, abstentions not counted (default 1)"),
    ],
};

/// `rlm`.
pub static RLM: ObjectType = ObjectType {
    name: "rlm",
    title: "`rlm`",
    keys: &[
        optional("max_turns", Integer(1, 100), "programs that the root model may write (default 8)"),
        optional("max_depth", Integer(0, 10), "how deep programs may start programs (default 3)"),
        optional("max_calls", Integer(1, 100_000), "model calls that one level may ask for (default 200)"),
        optional("time", Duration, "time for all programs of one level, without waiting (default 60s)"),
        optional("memory_mb", Integer(16, 65_536), "memory of a program in MiB (default 512)"),
        optional(
            "metadata_chars",
            Integer(500, 1_000_000),
            "characters that the root model sees of the outputs' description (default 8000)",
        ),
        optional("model", Template, "the model that `llm` asks (default the one that writes the programs)"),
    ],
};

/// A model that a step asks on its way: `assessor`, `repairer`, `repair_input`.
pub static ASKED: ObjectType = ObjectType {
    name: "asked_model",
    title: "a model that is asked",
    keys: &[
        optional("prompt", Template, "what it is asked, instead of our words"),
        optional("provider", PROVIDER_SHAPE, "model service: a name, or a name with settings"),
        optional("model", Template, "the model"),
        optional("models", TEXTS, "models: the next one is asked when one cannot answer"),
        optional("system_prompt", Template, "what it is told about itself, instead of our words"),
        optional("temperature", Number(0.0, 2.0), "randomness of the answers (default the workflow's)"),
        optional("max_tokens", Integer(1, 200_000), "output tokens of one answer (default the workflow's)"),
        optional("context_window", WINDOW, "tokens that the model can take in (default the workflow's)"),
        optional("timeouts", Object(&TIMEOUTS), "bounds of the parts of a request (default the workflow's)"),
        optional("max_session_seconds", Seconds(1.0), "seconds for one session"),
        optional("reasoning", Object(&REASONING), "how hard to think"),
        optional("repair_model", Text, "model that puts the answer into shape when its own could not"),
    ],
};
