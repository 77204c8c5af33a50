//! `type: reduce` and `type: verify`.

use super::super::text::Spanned;
use super::super::tree::Value;
use super::super::workflow::{AgentStep, Names, ReduceStep, RlmSettings, VerifyStep, VoteSettings, VoteWord};
use super::Reader;
use super::agent::agent;
use super::asked::{asked, block, refuse_empty};
use super::fields::Fields;
use super::fixed::fixed;
use crate::plan::Strategy;

/// Keys that say something to a model; where none is asked, they say it to nobody.
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

/// Reads a reduce step.
pub(super) fn reduce(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> ReduceStep {
    let strategy = fields.choice(cx, "strategy");
    let strategy = strategy.unwrap_or_else(|| Spanned::new(Strategy::Auto, fields.head.clone()));
    without_effect(cx, fields, strategy.value);
    let merger = agent(cx, fields);
    refuse_empty(cx, fields, merger.prompt.as_ref());
    ReduceStep {
        of: sources(cx, fields),
        titles: Vec::new(),
        strategy,
        ratio: fields.integer(cx, "ratio"),
        group_tokens: fields.integer(cx, "group_tokens"),
        query: fields.template(cx, "query"),
        instructions: fields.template(cx, "instructions"),
        agent: Box::new(merger),
        vote: vote(cx, fields),
        rlm: rlm(cx, fields),
        min_sources: fields.integer(cx, "min_sources"),
        deadline: fields.duration(cx, "deadline"),
    }
}

/// Reads `of`: one name, or several.
fn sources(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Names {
    match fields.take("of") {
        Some(pair) if matches!(pair.value.value, Value::Scalar(_)) => {
            fixed(cx, fields, "of").into_iter().collect()
        }
        Some(_) => fields.names(cx, "of").unwrap_or_default(),
        None => Names::new(),
    }
}

/// Warns of what the strategy makes no use of.
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

/// Reads `vote`.
pub(super) fn vote(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<VoteSettings> {
    let mut fields = fields.object(cx, "vote")?;
    let read = VoteSettings {
        method: fields.choice(cx, "method"),
        threshold: fields.number(cx, "threshold"),
        field: fixed(cx, &mut fields, "field"),
        options: options(cx, &mut fields),
        tie: fields.choice(cx, "tie"),
        quorum: fields.integer(cx, "quorum"),
    };
    let is_threshold = read.method.as_ref().is_some_and(|method| method.value == VoteWord::Threshold);
    if let (false, Some(place)) = (is_threshold, fields.place_of("threshold")) {
        let message = format!("`threshold` of {} goes with `method: threshold` only", fields.owner);
        cx.error("workflow::needs_key", message, place, "has no meaning here");
    }
    fields.finish(cx);
    Some(read)
}

/// Two options of one name could not be told apart when votes are counted.
fn options(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<Spanned<String>> {
    let options = fields.names(cx, "options").unwrap_or_default();
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
    options
}

fn rlm(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<RlmSettings> {
    let mut fields = fields.object(cx, "rlm")?;
    let read = RlmSettings {
        max_turns: fields.integer(cx, "max_turns"),
        max_depth: fields.integer(cx, "max_depth"),
        max_calls: fields.integer(cx, "max_calls"),
        time: fields.duration(cx, "time"),
        memory_mb: fields.integer(cx, "memory_mb"),
        metadata_chars: fields.integer(cx, "metadata_chars"),
        model: fields.template(cx, "model"),
    };
    fields.finish(cx);
    Some(read)
}

/// Reads a verify step.
pub(super) fn verify(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> VerifyStep {
    let both = asked(cx, fields);
    let read = VerifyStep {
        of: fixed(cx, fields, "of"),
        query: fields.template(cx, "query"),
        constraints: fields.template(cx, "constraints"),
        assessor: Box::new(over(block(cx, fields, "assessor").unwrap_or_default(), &both)),
        repairer: Box::new(over(block(cx, fields, "repairer").unwrap_or_default(), &both)),
        rounds: fields.integer(cx, "rounds"),
        severity: fields.choice(cx, "severity"),
        fail_when_open: fields.word(cx, "when_open").is_some_and(|word| word.value == "fail"),
    };
    let never_corrects = read.rounds.as_ref().is_some_and(|rounds| rounds.value == 0);
    if let (true, Some(place)) = (never_corrects, fields.place_of("repairer")) {
        let message = format!("`repairer` of {} has no effect with `rounds: 0`", fields.owner);
        cx.warning("workflow::no_effect", message, place, "corrects nothing");
    }
    read
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
