//! What attempts are told whose calls may not be made.

use convoke_agent::CallDemand;
use convoke_govern::Refused;
use convoke_model::{Class, Failure, reason};
use convoke_plan::{Kind, Node};

pub(super) fn unpaid(budget: &str, word: &str) -> Failure {
    let hint =
        "raise the budget, shorten the prompt or lower max_tokens; then: convoke resume RUN --accept-changes";
    Failure::new(Class::Budget, format!("the {budget} cannot pay another call")).reason(word).hint(hint)
}

/// Whether a workflow says what follows where a step cannot be done for want of capacity.
pub(crate) fn has_another_way(node: &Node) -> bool {
    node.on_error.iter().any(|route| route.classes.contains(Class::Capacity))
}

pub(super) fn has_further_models(node: &Node) -> bool {
    matches!(&node.kind, Kind::Agent(agent) if agent.settings.fallback.is_some())
}

/// Why something is not tried: it has failed too often in a row, and is left alone for a while.
pub(crate) fn left_alone(step: &str, breaker: &str) -> Failure {
    let message = format!("step `{step}` is left alone after failures in a row: `{breaker}` is open");
    Failure::new(Class::Capacity, message)
        .reason(reason::BREAKER_OPEN)
        .hint("convoke capacity shows until when; limits.breaker of the configuration says when it opens")
}

/// The failure of a call whose price is unknown. Models whose names are rendered become known only here.
pub(super) fn without_price(budget: &str, demand: &CallDemand) -> Failure {
    let name = if demand.model.is_empty() { &demand.provider } else { &demand.model };
    let message = format!("the {budget} cannot be kept: no price of `{name}` ({}) is known", demand.provider);
    let hint =
        format!("set `input_per_mtok` and `output_per_mtok` in [pricing.\"{name}\"] of the configuration");
    Failure::new(Class::Budget, message).reason(reason::UNPRICED).hint(hint)
}

/// What an attempt is told whose call can never be made.
pub(crate) fn too_much(refused: &Refused) -> Failure {
    let hint = match refused {
        Refused::NeverFits { .. } => "shorten the prompt or lower max_tokens, or raise the limit",
        _ => "raise `limits.queue`, or start fewer tasks at once",
    };
    Failure::new(Class::Budget, format!("the call can never be made: {refused}"))
        .reason("never_fits")
        .hint(hint)
}
