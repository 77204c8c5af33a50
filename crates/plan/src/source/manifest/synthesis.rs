//! The steps that make the answer: one that merges, and one that examines what came out.

use super::super::text::{Spanned, Text};
use super::super::workflow::{AgentStep, Names, Need, ReduceStep, Requires, Route, Step, StepKind};
use super::lower::{LeadsBack, Reached, Source, Work};
use super::texts::Texts;
use super::{Manifest, agents};
use crate::diagnostic::{Diagnostic, Span};
use crate::plan::Strategy;

/// The step that merges.
pub(super) const MERGED: &str = "synthesis";
/// The step that examines.
pub(super) const VERIFIED: &str = "verification";

/// The steps that the answer is read from.
pub(super) struct Answer {
    /// The step that merges.
    pub merged: String,
    /// The step that examined it.
    pub verified: Option<String>,
    /// Whether votes were counted.
    pub votes: bool,
    /// Whether a judge chooses one of the outputs.
    pub chooses: bool,
    /// Where the manifest begins.
    pub span: Span,
}

/// Adds the step that merges, and the one that examines.
pub(super) fn add(manifest: &Manifest, work: &mut Work, findings: &mut Vec<Diagnostic>) -> Answer {
    unknown_sources(manifest, work, findings);
    let texts = Texts::new(manifest);
    let merged = work.free_name(MERGED);
    let verified = manifest.verify.answer.as_ref().map(|_| work.free_name(VERIFIED));
    let mut step = merge(manifest, work, &texts, &merged);
    let StepKind::Reduce(reduce) = &step.kind else { unreachable!("a merge is a reduce step") };
    let strategy = reduce.strategy.value;
    findings.extend(shape_of_nothing(manifest, strategy));
    let votes = strategy == Strategy::Vote;
    let chooses = matches!(strategy, Strategy::Judge | Strategy::Tournament);
    if let Some(back) = &work.leads_back {
        step.common.routes = routes(back, verified.as_deref(), &step.common.span);
    }
    work.steps.push(step);
    if let Some(name) = &verified {
        let step = examine(manifest, work.leads_back.is_none(), &texts, name, &merged);
        work.steps.push(step);
    }
    Answer { merged, verified, votes, chooses, span: manifest.head.span.clone() }
}

/// A shape that no model is asked for, because `auto` came to a strategy without a model or the team decides otherwise.
fn shape_of_nothing(manifest: &Manifest, strategy: Strategy) -> Option<Diagnostic> {
    let stated = &manifest.synthesis.step;
    let shape = stated.agent.output.as_ref()?;
    if strategy.may_ask() || !stated.strategy.value.may_ask() {
        return None;
    }
    let message =
        format!("the shape of the answer in `synthesis` has no effect with `strategy: {}`", strategy.word());
    let found =
        Diagnostic::warning("workflow::no_effect", message, shape.span.clone(), "no model is asked for it");
    Some(found.help(
        "`strategy: hierarchical` has a model make the answer; an agent's own shape is its `output_schema`",
    ))
}

fn merge(manifest: &Manifest, work: &Work, texts: &Texts, name: &str) -> Step {
    let stated = &manifest.synthesis;
    let count: Option<usize> = work.sources.iter().map(|source| source.count).sum();
    let mut reduce = stated.step.clone();
    if let Some(count) = count {
        let stated = reduce.strategy.value;
        reduce.strategy.value = match stated.resolve(count) {
            Strategy::Hierarchical if manifest.synthesis.progressive && stated == Strategy::Auto => {
                Strategy::Progressive
            }
            resolved => resolved,
        };
    }
    let is_vote = reduce.strategy.value == Strategy::Vote || work.vote.is_some();
    if let Some(rule) = &work.vote {
        (reduce.strategy.value, reduce.vote) = (Strategy::Vote, Some(rule.clone()));
    }
    if let Some(merger) = &work.merger {
        led(&mut reduce, merger);
    }
    reduce.of = work.sources.iter().map(|source| source.name.clone()).collect();
    // Votes are told by name: two members may have one role.
    reduce.titles =
        if is_vote { Vec::new() } else { work.sources.iter().map(|source| source.title.clone()).collect() };
    reduce.query =
        Some(with_names(texts, reduce.query.take()).unwrap_or_else(|| texts.query(&stated.common.span)));
    reduce.instructions = with_names(texts, reduce.instructions.take());
    reduce.agent.system_prompt = with_names(texts, reduce.agent.system_prompt.take());
    reduce.agent.success_criteria = agents::judged(manifest, reduce.agent.success_criteria.take());
    let mut common = stated.common.clone();
    common.needs = needs(work);
    common
        .description
        .get_or_insert_with(|| Spanned::new("the answer of all".to_owned(), common.span.clone()));
    step(name, reduce, common)
}

/// The lead of a team merges what comes back, unless the synthesis says otherwise.
fn led(reduce: &mut ReduceStep, lead: &AgentStep) {
    if reduce.strategy.value == Strategy::Flat {
        reduce.strategy.value = Strategy::Hierarchical;
    }
    let own = std::mem::take(&mut *reduce.agent);
    let asked = |step: &AgentStep| step.model.is_some() || step.models.is_some();
    let (model, models) =
        if asked(&own) { (own.model, own.models) } else { (lead.model.clone(), lead.models.clone()) };
    *reduce.agent = AgentStep {
        model,
        models,
        provider: own.provider.or_else(|| lead.provider.clone()),
        system_prompt: own.system_prompt.or_else(|| lead.system_prompt.clone()),
        output: own.output.or_else(|| lead.output.clone()),
        temperature: own.temperature.or_else(|| lead.temperature.clone()),
        max_tokens: own.max_tokens.or_else(|| lead.max_tokens.clone()),
        max_session: own.max_session.or_else(|| lead.max_session.clone()),
        reasoning_effort: own.reasoning_effort.or_else(|| lead.reasoning_effort.clone()),
        success_criteria: own.success_criteria.or_else(|| lead.success_criteria.clone()),
        ..own
    };
}

/// Back while nothing is decided, then on.
fn routes(back: &LeadsBack, on: Option<&str>, span: &Span) -> Vec<Route> {
    let route = |to: &str, when: Option<&str>| Route {
        to: Spanned::new(to.to_owned(), span.clone()),
        when: when.map(|when| Text::opaque(when, span.clone())),
        output: None,
        span: span.clone(),
    };
    vec![route(&back.to, Some(&back.when)), route(on.unwrap_or("$end"), None)]
}

fn step(name: &str, reduce: ReduceStep, common: super::super::workflow::Common) -> Step {
    let name = Spanned::new(name.to_owned(), common.span.clone());
    Step { name, kind: StepKind::Reduce(Box::new(reduce)), common }
}

fn with_names(texts: &Texts, text: Option<Text>) -> Option<Text> {
    text.map(|text| texts.written(&text))
}

fn needs(work: &Work) -> Vec<Need> {
    let requires = match work.reached {
        Reached::EndOfAll => Requires::Any,
        Reached::SuccessOfOne => Requires::Success,
        Reached::Route => return Vec::new(),
    };
    let need = |source: &Source| Need {
        step: source.name.clone(),
        requires,
        order: false,
        item: None,
        span: source.name.span.clone(),
    };
    work.sources.iter().map(need).collect()
}

/// Nothing may need a step that lies on a loop; a route leads from there.
fn examine(manifest: &Manifest, by_need: bool, texts: &Texts, name: &str, merged: &str) -> Step {
    let (stated, common) = manifest.verify.answer.as_ref().expect("asked for");
    let of = Spanned::new(merged.to_owned(), common.span.clone());
    let mut verify = stated.clone();
    verify.query = Some(with_names(texts, verify.query.take()).unwrap_or_else(|| texts.query(&common.span)));
    verify.constraints = with_names(texts, verify.constraints.take());
    verify.of = Some(of.clone());
    let mut common = common.clone();
    if by_need {
        common.needs = vec![Need {
            span: of.span.clone(),
            step: of,
            requires: Requires::Success,
            order: false,
            item: None,
        }];
    }
    let name = Spanned::new(name.to_owned(), common.span.clone());
    Step { name, kind: StepKind::Verify(Box::new(verify)), common }
}

/// `of` of the synthesis names agents of the manifest.
fn unknown_sources(manifest: &Manifest, work: &Work, findings: &mut Vec<Diagnostic>) {
    let named: &Names = &manifest.synthesis.step.of;
    let ids: Vec<&str> = manifest.agents.iter().map(|spec| spec.id.value.as_str()).collect();
    for name in named {
        let known = ids.contains(&name.value.as_str())
            || work.sources.iter().any(|source| source.name.value == name.value);
        if !known {
            let message = format!("`of` of `synthesis`: no agent is called `{}`", name.value);
            let found =
                Diagnostic::error("workflow::unknown_value", message, name.span.clone(), "no such agent");
            findings.push(match convoke_model::nearest(&name.value, ids.iter().copied()) {
                Some(near) => found.help(format!("did you mean `{near}`?")),
                None => found.help(format!("agents are {}", ids.join(", "))),
            });
        }
    }
}
