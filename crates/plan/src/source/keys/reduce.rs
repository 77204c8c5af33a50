//! Keys of models that a step asks on its way.

use super::super::section::FromNode;
use super::super::settings::{Provider, Timeouts};
use super::super::shape::Shape::{Integer, Number, Seconds, Template, Text};
use super::super::shape::{ObjectType, TEXTS, WINDOW, optional};
use super::super::workflow::Reasoning;

/// A model that a step asks on its way: `assessor`, `repairer`, `repair_input`.
pub static HELPER_MODEL: ObjectType = ObjectType {
    name: "asked_model",
    title: "a model that is asked",
    keys: &[
        optional("prompt", Template, "what it is asked, instead of our words"),
        optional("provider", Provider::SHAPE, "model service: a name, or a name with settings"),
        optional("model", Template, "the model"),
        optional("models", TEXTS, "models: the next one is asked when one cannot answer"),
        optional("system_prompt", Template, "what it is told about itself, instead of our words"),
        optional("temperature", Number(0.0, 2.0), "randomness of the answers (default the workflow's)"),
        optional("max_tokens", Integer(1, 200_000), "output tokens of one answer (default the workflow's)"),
        optional("context_window", WINDOW, "tokens that the model can take in (default the workflow's)"),
        optional("timeouts", Timeouts::SHAPE, "bounds of the parts of a request (default the workflow's)"),
        optional("max_session_seconds", Seconds(1.0), "seconds for one session"),
        optional("reasoning", Reasoning::SHAPE, "how hard to think"),
        optional("repair_model", Text, "model that puts the answer into shape when its own could not"),
    ],
};
