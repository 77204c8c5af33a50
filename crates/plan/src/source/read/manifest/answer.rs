//! `synthesis` and `verify`: what makes the answer, and what examines it.

use serde_json::{Map, Value as Json};

use super::super::super::keys::manifest::{SYNTHESIS, VERIFY};
use super::super::super::manifest::{Synthesis, Verification};
use super::super::super::section::Keys;
use super::super::super::text::Spanned;
use super::super::super::tree::Value;
use super::super::super::tree::scalar::{Typed, typed};
use super::super::super::words::{STRATEGIES, Words};
use super::super::super::workflow::{AgentStep, Common, ReduceStep, VerifyStep};
use super::super::Reader;
use super::super::fields::Fields;
use super::super::scalars::Of;
use super::output_schema::output_schema;
use super::{Defaults, models, one_of};
use crate::diagnostic::Span;
use crate::plan::Strategy;

/// Reads `synthesis`: a strategy, or settings.
pub(super) fn synthesis(cx: &mut Reader<'_>, fields: &mut Fields<'_>, defaults: &Defaults) -> Synthesis {
    let Some(pair) = fields.take("synthesis") else { return unstated(Strategy::Auto, &fields.head, false) };
    if !matches!(pair.value.value, Value::Map(_)) {
        let of = Of { key: "synthesis", owner: &fields.owner };
        let word = cx.choice(&pair.value, of, STRATEGIES);
        let strategy = word.and_then(|word| Strategy::from_word(word.value)).unwrap_or(Strategy::Auto);
        return unstated(strategy, &pair.value.span, true);
    }
    let owner = fields.owner_of("synthesis");
    let Some(mut fields) = Fields::open_extended(cx, &pair.value, &SYNTHESIS, owner) else {
        return unstated(Strategy::Auto, &pair.value.span, true);
    };
    let states_strategy = fields.place_of("strategy").is_some();
    let read = ReduceStep::take(cx, &mut fields).zip(Common::take(cx, &mut fields));
    let Some((mut step, common)) = read else { return unstated(Strategy::Auto, &pair.value.span, true) };
    models::choose(cx, &mut fields, &mut step.agent, &defaults.roles);
    one_of(cx, &fields, &["output_schema", "output"]);
    step.agent.output = output_schema(cx, &mut fields, "output_schema").or(step.agent.output.take());
    fields.finish(cx);
    Synthesis { step, common, states_strategy, progressive: false }
}

fn unstated(strategy: Strategy, span: &Span, states_strategy: bool) -> Synthesis {
    let step = ReduceStep {
        of: Vec::new(),
        titles: Vec::new(),
        strategy: Spanned::new(strategy, span.clone()),
        ratio: None,
        group_tokens: None,
        query: None,
        instructions: None,
        agent: Box::default(),
        vote: None,
        rlm: None,
        min_sources: None,
        deadline: None,
    };
    Synthesis { step, common: Common::at(span), states_strategy, progressive: false }
}

/// Reads `verify`, or `metadata.verify` of the original, which is about criteria only.
pub(super) fn verification(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    metadata: &Map<String, Json>,
    defaults: &Defaults,
) -> Verification {
    let Some(pair) = fields.take("verify") else {
        return Verification { criteria: metadata.get("verify") == Some(&Json::Bool(true)), answer: None };
    };
    let of = Of { key: "verify", owner: &fields.owner };
    match &pair.value.value {
        Value::Map(_) => examined(cx, fields, &pair.value, defaults),
        Value::Scalar(scalar) if scalar.raw == "criteria" => Verification { criteria: true, answer: None },
        Value::Scalar(scalar) if !matches!(typed(scalar), Typed::Bool(_)) => {
            cx.wrong_type(&pair.value, of, "true, false, `criteria` or settings");
            Verification { criteria: false, answer: None }
        }
        _ => {
            let wanted = cx.boolean(&pair.value, of).unwrap_or(false);
            let plain = || (plain_verify(), Common::at(&pair.value.span));
            Verification { criteria: wanted, answer: wanted.then(plain) }
        }
    }
}

fn examined(
    cx: &mut Reader<'_>,
    fields: &Fields<'_>,
    node: &super::super::super::tree::Node,
    defaults: &Defaults,
) -> Verification {
    let Some(mut fields) = Fields::open_extended(cx, node, &VERIFY, fields.owner_of("verify")) else {
        return Verification { criteria: true, answer: None };
    };
    let read = VerifyStep::take(cx, &mut fields).zip(Common::take(cx, &mut fields));
    let Some((mut step, common)) = read else { return Verification { criteria: true, answer: None } };
    models::examiners(cx, &mut fields, &mut step, &defaults.roles);
    let criteria = fields.flag(cx, "criteria", true);
    fields.finish(cx);
    Verification { criteria, answer: Some((step, common)) }
}

fn plain_verify() -> VerifyStep {
    VerifyStep {
        of: None,
        query: None,
        constraints: None,
        assessor: Box::new(AgentStep::default()),
        repairer: Box::new(AgentStep::default()),
        rounds: None,
        severity: None,
        fail_when_open: false,
    }
}
