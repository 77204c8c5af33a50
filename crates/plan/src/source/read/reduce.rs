//! `type: reduce` and `type: verify`: rules about their keys.

use super::super::section::Keys;
use super::super::text::Spanned;
use super::super::tree::Value;
use super::super::workflow::{AgentStep, Names, ReduceStep, VerifyStep, VoteSettings, VoteWord};
use super::Reader;
use super::fields::Fields;
use super::fixed::fixed;
use super::helper_model::refuse_empty;
use crate::plan::Strategy;

/// Keys that say something to a model; where no model is asked, they mean nothing.
const TO_A_MODEL: &[&str] = &[
    "provider",
    "model",
    "models",
    "system_prompt",
    "output",
    "output_schema",
    "model_id",
    "model_role",
    "timeouts",
    "max_session_seconds",
    "capabilities",
    "context_window",
    "temperature",
    "max_tokens",
    "success_criteria",
    "repair_model",
    "reasoning",
    "validator",
    "skills",
    "ratio",
    "group_tokens",
    "instructions",
    "prompt",
];

/// Reads `strategy`.
pub fn strategy(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Spanned<Strategy> {
    fields.value(cx, key).unwrap_or_else(|| Spanned::new(Strategy::Auto, fields.head.clone()))
}

/// Warns of what the strategy makes no use of.
pub fn judge_reduce(cx: &mut Reader<'_>, fields: &Fields<'_>, step: &mut ReduceStep) {
    without_effect(cx, fields, step.strategy.value);
    refuse_empty(cx, fields, step.agent.prompt.as_ref());
}

/// Reads `of`: one name, or several.
pub fn sources(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Names {
    match fields.take(key) {
        Some(pair) if matches!(pair.value.value, Value::Scalar(_)) => {
            fixed(cx, fields, key).into_iter().collect()
        }
        Some(_) => fields.names(cx, key).unwrap_or_default(),
        None => Names::new(),
    }
}

fn without_effect(cx: &mut Reader<'_>, fields: &Fields<'_>, strategy: Strategy) {
    if !strategy.may_ask() {
        let help = "no model is asked; `hierarchical`, `progressive`, `judge` and others ask one";
        TO_A_MODEL.iter().for_each(|key| no_effect(cx, fields, key, strategy, help));
    }
    match strategy {
        Strategy::Vote => no_effect(cx, fields, "min_sources", strategy, "`vote.quorum` counts votes"),
        _ => no_effect(cx, fields, "vote", strategy, "`vote` goes with `strategy: vote`"),
    }
    if strategy == Strategy::Tournament {
        no_effect(cx, fields, "ratio", strategy, "a tournament goes by pairs");
    }
    if !matches!(strategy, Strategy::Rlm | Strategy::Auto) {
        no_effect(cx, fields, "rlm", strategy, "`rlm` goes with `strategy: rlm` and `auto`");
    }
    if matches!(strategy, Strategy::Judge | Strategy::Tournament) {
        for key in ["output", "output_schema"] {
            no_effect(cx, fields, key, strategy, "what is chosen keeps the shape that it has");
        }
    }
}

fn no_effect(cx: &mut Reader<'_>, fields: &Fields<'_>, key: &str, strategy: Strategy, help: &str) {
    let Some(place) = fields.place_of(key) else { return };
    let message = format!("`{key}` of {} has no effect with `strategy: {}`", fields.owner, strategy.word());
    cx.warning("workflow::no_effect", message, place, "has no effect").help = Some(help.to_owned());
}

/// A threshold goes with its method, and options can be told apart.
pub fn judge_vote(cx: &mut Reader<'_>, fields: &Fields<'_>, vote: &mut VoteSettings) {
    let is_threshold = vote.method.as_ref().is_some_and(|method| method.value == VoteWord::Threshold);
    if let (false, Some(place)) = (is_threshold, fields.place_of("threshold")) {
        let message = format!("`threshold` of {} goes with `method: threshold` only", fields.owner);
        cx.error("workflow::needs_key", message, place, "has no meaning here");
    }
    judge_options(cx, fields, &vote.options);
}

/// Two options of one name could not be told apart when votes are counted.
fn judge_options(cx: &mut Reader<'_>, fields: &Fields<'_>, options: &Names) {
    for (index, option) in options.iter().enumerate() {
        if option.value.trim().is_empty() {
            let message = format!("an option in {} is empty", fields.owner);
            cx.error("workflow::empty_value", message, &option.span, "nothing to vote for");
        } else if option.value.trim().eq_ignore_ascii_case("abstain") {
            let message =
                format!("`{}` in {} is no option: it is the word for abstaining", option.value, fields.owner);
            cx.error("workflow::reserved_name", message, &option.span, "no vote could name it");
        } else if options[..index]
            .iter()
            .any(|other| other.value.to_lowercase() == option.value.to_lowercase())
        {
            let message = format!("option `{}` stands twice in {}", option.value, fields.owner);
            cx.error("workflow::duplicate", message, &option.span, "the second time");
        }
    }
}

/// Reads `when_open`.
pub fn fails(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> bool {
    fields.word(cx, key).is_some_and(|word| word.value == "fail")
}

/// What the step says of a model holds for both that it asks.
pub fn judge_verify(cx: &mut Reader<'_>, fields: &mut Fields<'_>, step: &mut VerifyStep) {
    let both = AgentStep::take(cx, fields).unwrap_or_default();
    for model in [&mut step.assessor, &mut step.repairer] {
        **model = over(std::mem::take(&mut **model), &both);
    }
    let never_corrects = step.rounds.as_ref().is_some_and(|rounds| rounds.value == 0);
    if let (true, Some(place)) = (never_corrects, fields.place_of("repairer")) {
        let message = format!("`repairer` of {} has no effect with `rounds: 0`", fields.owner);
        cx.warning("workflow::no_effect", message, place, "corrects nothing");
    }
}

/// What a block says, over what the step says for both.
pub(super) fn over(own: AgentStep, both: &AgentStep) -> AgentStep {
    let names_a_model = own.model.is_some() || own.models.is_some();
    let (model, models) =
        if names_a_model { (own.model, own.models) } else { (both.model.clone(), both.models.clone()) };
    AgentStep {
        provider: own.provider.or_else(|| both.provider.clone()),
        model,
        models,
        temperature: own.temperature.or_else(|| both.temperature.clone()),
        max_tokens: own.max_tokens.or_else(|| both.max_tokens.clone()),
        context_window: own.context_window.or_else(|| both.context_window.clone()),
        timeouts: own.timeouts.or(&both.timeouts),
        max_session: own.max_session.or_else(|| both.max_session.clone()),
        reasoning_effort: own.reasoning_effort.or_else(|| both.reasoning_effort.clone()),
        repair_model: own.repair_model.or_else(|| both.repair_model.clone()),
        ..own
    }
}
