//! `type: goal`.

use std::collections::BTreeMap;

use super::super::check_text;
use super::super::escape::template as literal;
use super::super::keys::goal::ROLES;
use super::super::text::{Spanned, Text};
use super::super::tree::{Node, Value};
use super::super::words::{ACTIONS, ANY_CLASS, CLASSES, Words};
use super::super::workflow::{AgentStep, ErrorClass, GoalStep, SpawnSettings};
use super::Reader;
use super::asked::{asked, block};
use super::capability::capabilities;
use super::fields::Fields;
use super::goal_plan::{self, PlanTerms};
use super::reduce::over;
use super::scalars::Of;
use crate::plan::Action;
use convoke_model::Role;

/// The name of a plan that is a text of a step, until its places are those of the file.
const PLAN: &str = "plan";

/// Reads a goal.
pub(super) fn goal(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> GoalStep {
    let everyone = AgentStep {
        tools: fields.names(cx, "tools"),
        max_agent_iterations: fields.integer(cx, "max_agent_iterations"),
        capabilities: capabilities(cx, fields),
        working_dir: fields.template(cx, "working_dir"),
        skills: fields.names(cx, "skills"),
        ..asked(cx, fields)
    };
    let (policies, other_policy) = policies(cx, fields);
    let mut read = GoalStep {
        goal: sentence(cx, fields),
        context: fields.template(cx, "context"),
        roles: roles(cx, fields, &everyone),
        max_depth: fields.integer(cx, "max_depth"),
        max_children: fields.integer(cx, "max_children"),
        max_tasks: fields.integer(cx, "max_tasks"),
        max_rounds: fields.integer(cx, "max_rounds"),
        max_subagents: fields.integer(cx, "max_subagents"),
        max_recoveries: fields.integer(cx, "max_recoveries"),
        skip_threshold: fields.integer(cx, "skip_threshold"),
        spawn: spawn(cx, fields),
        policies,
        other_policy,
        backoff: fields.duration(cx, "backoff"),
        approve: fields.flag(cx, "approve", false),
        plan_only: fields.flag(cx, "plan_only", false),
        results: fields.flag(cx, "results", false),
        plan: None,
    };
    let terms = PlanTerms { max_tasks: read.most_tasks(), skip_threshold: read.skips_from() };
    read.plan = given_plan(cx, fields, terms);
    without_effect(cx, fields, &read);
    read
}

fn sentence(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Text> {
    let text = fields.template(cx, "goal")?;
    if text.value.trim().is_empty() {
        let message = format!("`goal` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &text.span, "say what is to be reached");
        return None;
    }
    Some(text)
}

/// A plan that is the answer is not carried out, so nobody need approve it.
fn without_effect(cx: &mut Reader<'_>, fields: &Fields<'_>, goal: &GoalStep) {
    let Some(place) = fields.place_of("approve").filter(|_| goal.approve && goal.plan_only) else { return };
    let message = format!("`approve` of {} has no effect with `plan_only`", fields.owner);
    cx.warning("workflow::no_effect", message, place, "nothing is carried out");
}

/// Every role: its own block over what the step says for all.
fn roles(cx: &mut Reader<'_>, fields: &mut Fields<'_>, everyone: &AgentStep) -> BTreeMap<Role, AgentStep> {
    let mut roles =
        fields.take("roles").and_then(|pair| Fields::open(cx, &pair.value, &ROLES, fields.owner_of("roles")));
    let read = Role::ALL.map(|role| {
        let own = roles.as_mut().and_then(|roles| own_role(cx, roles, role)).unwrap_or_default();
        (role, for_role(role, own, everyone))
    });
    if let Some(roles) = roles {
        roles.finish(cx);
    }
    read.into()
}

fn own_role(cx: &mut Reader<'_>, roles: &mut Fields<'_>, role: Role) -> Option<AgentStep> {
    block(cx, roles, role.word())
}

/// Only whoever does tasks works with tools and in a folder.
fn for_role(role: Role, own: AgentStep, everyone: &AgentStep) -> AgentStep {
    let system_prompt = own.system_prompt.clone().or_else(|| everyone.system_prompt.clone());
    let works = role.works();
    let shared = if role == Role::Rescue { halved(everyone) } else { everyone.clone() };
    AgentStep {
        system_prompt,
        tools: everyone.tools.clone(),
        capabilities: everyone.capabilities.clone(),
        skills: everyone.skills.clone(),
        max_agent_iterations: everyone.max_agent_iterations.clone().filter(|_| works),
        working_dir: everyone.working_dir.clone().filter(|_| works),
        ..over(own, &shared)
    }
}

/// What makes up for a failure costs no more than half of what failed, unless its own role says so. Its rounds are halved
/// with those that nobody states.
fn halved(everyone: &AgentStep) -> AgentStep {
    let mut half = everyone.clone();
    half.max_tokens.iter_mut().for_each(|most| most.value = (most.value / 2).max(1));
    half.max_session.iter_mut().for_each(|most| most.value /= 2);
    half
}

fn spawn(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> SpawnSettings {
    let Some(mut fields) = fields.object(cx, "spawn") else { return SpawnSettings::default() };
    let read = SpawnSettings {
        tokens: fields.integer(cx, "tokens"),
        seconds: fields.integer(cx, "seconds"),
        tools: fields.integer(cx, "tools"),
    };
    fields.finish(cx);
    read
}

type Policies = BTreeMap<ErrorClass, Vec<Spanned<Action>>>;

fn policies(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> (Policies, Option<Vec<Spanned<Action>>>) {
    let Some(mut fields) = fields.object(cx, "policies") else { return (Policies::new(), None) };
    let mut read = Policies::new();
    for word in CLASSES {
        if let (Some(class), Some(actions)) = (ErrorClass::from_word(word), policy(cx, &mut fields, word)) {
            read.insert(class, actions);
        }
    }
    let other = policy(cx, &mut fields, ANY_CLASS);
    fields.finish(cx);
    (read, other)
}

/// One line: actions in order, none of them twice.
fn policy(cx: &mut Reader<'_>, fields: &mut Fields<'_>, class: &str) -> Option<Vec<Spanned<Action>>> {
    let items = fields.list(cx, class)?;
    let owner = fields.owner.clone();
    let mut actions: Vec<Spanned<Action>> = Vec::new();
    for item in items {
        let of = Of { key: class, owner: &owner };
        let Some(word) = cx.choice(item, of, ACTIONS) else { continue };
        let Some(action) = Action::from_word(word.value) else { continue };
        if actions.iter().any(|earlier| earlier.value == action) {
            let message = format!("`{}` stands twice in `{class}` of {owner}", word.value);
            cx.error("workflow::duplicate", message, &word.span, "nothing is tried twice");
        } else {
            actions.push(Spanned::new(action, word.span));
        }
    }
    Some(actions)
}

/// Reads `plan`: a text, or the plan itself, which is taken as it stands.
fn given_plan(cx: &mut Reader<'_>, fields: &mut Fields<'_>, terms: PlanTerms) -> Option<Text> {
    let node = &fields.take("plan")?.value;
    match &node.value {
        Value::Scalar(_) => {
            let text = cx.template(node, fields.of("plan"))?;
            judge_literal(cx, &text, &fields.owner_of("plan"), terms);
            Some(text)
        }
        Value::Broken => None,
        Value::Map(_) | Value::Seq(_) => {
            goal_plan::plan(cx, node, &fields.owner_of("plan"), terms);
            Some(as_it_stands(cx, node))
        }
    }
}

/// A text that no run will change is judged where it stands; what a template gives is known when it is rendered.
fn judge_literal(cx: &mut Reader<'_>, text: &Text, owner: &str, terms: PlanTerms) {
    let is_template = ["{{", "{%", "{#"].iter().any(|mark| text.value.contains(mark));
    if is_template || text.value.trim().is_empty() {
        return;
    }
    let mut found = check_text(PLAN, &text.value, owner, terms);
    for label in found.iter_mut().flat_map(|one| &mut one.labels) {
        label.span = text.place_of(label.span.range.clone());
    }
    cx.diagnostics.append(&mut found);
}

fn as_it_stands(cx: &mut Reader<'_>, node: &Node) -> Text {
    let value = cx.json(node);
    Text::opaque(literal(&value.to_string()), node.span.clone())
}
