//! `type: goal`: rules about its keys.

use std::collections::BTreeMap;

use super::super::check_text;
use super::super::escape::template as literal;
use super::super::section::Keys;
use super::super::text::{Spanned, Text};
use super::super::tree::{Node, Value};
use super::super::words::{ACTIONS, ANY_CLASS, CLASSES, Words};
use super::super::workflow::{AgentStep, ErrorClass, GoalStep, Policies, RoleProof};
use super::Reader;
use super::ensure;
use super::fields::Fields;
use super::goal_plan;
use super::helper_model::block;
use super::reduce::over;
use super::scalars::Of;
use crate::goal_plan::Terms;
use crate::plan::Action;
use convoke_model::{Approvals, Role};

/// The name of a plan that is a text of a step, until its places are those of the file.
const PLAN: &str = "plan";

/// What the step says of models holds for every role, and what it says of tasks for a plan that it gives.
pub fn judge_goal(cx: &mut Reader<'_>, fields: &mut Fields<'_>, step: &mut GoalStep) {
    let everyone = AgentStep::take(cx, fields).unwrap_or_default();
    for (role, own) in &mut step.roles {
        *own = for_role(*role, std::mem::take(own), &everyone);
    }
    let terms = Terms::for_a_person(step.most_tasks() as u32, step.skips_from() as u8);
    step.plan = given_plan(cx, fields, &terms);
    without_effect(cx, fields, step);
}

/// A plan is judged by what else the step says, so it is read after everything else.
pub fn plan_below(_: &mut Reader<'_>, _: &mut Fields<'_>, _: &str) -> Option<Text> {
    None
}

/// A plan that is the answer is not carried out, so it needs no approval.
fn without_effect(cx: &mut Reader<'_>, fields: &Fields<'_>, goal: &GoalStep) {
    let Some(place) = fields.place_of("approve").filter(|_| goal.approve && goal.plan_only) else { return };
    let message = format!("`approve` of {} has no effect with `plan_only`", fields.owner);
    cx.warning("workflow::no_effect", message, place, "nothing is carried out");
}

/// Every role, as its own block has it.
pub fn roles(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> BTreeMap<Role, AgentStep> {
    let mut roles = fields.object(cx, key);
    let read = Role::ALL.map(|role| {
        let own = roles.as_mut().and_then(|roles| block(cx, roles, role.word())).unwrap_or_default();
        (role, own)
    });
    if let Some(roles) = roles {
        roles.finish(cx);
    }
    read.into()
}

/// What the roles that do tasks must prove. What makes up for a failed task must prove the same, unless its own role says otherwise.
pub fn proofs(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> BTreeMap<Role, RoleProof> {
    let mut proofs = BTreeMap::new();
    let Some(Value::Map(blocks)) = fields.take(key).map(|pair| &pair.value.value) else { return proofs };
    for pair in blocks {
        let (word, owner) = (&pair.key.value, format!("`{}` of {}", pair.key.value, fields.owner_of(key)));
        let role = Role::ALL.into_iter().find(|role| role.word() == word);
        let (Some(role), Value::Map(keys)) = (role, &pair.value.value) else { continue };
        let stated = |name: &str| keys.iter().find(|stated| stated.key.value == name);
        let (said, kept) = (stated("ensure"), stated("protect"));
        for stated in said.iter().chain(&kept).filter(|_| !role.works()) {
            let message =
                format!("`{}` of {owner}: only roles that do tasks prove something", stated.key.value);
            cx.error("workflow::not_allowed_here", message, &stated.key.span, "not allowed here").help =
                Some("say it on `execute`, whose conditions hold for `rescue` too".to_owned());
        }
        if said.is_none() && kept.is_none() {
            continue;
        }
        let of = Of { key: "protect", owner: &owner };
        let protect = kept.map_or_else(Vec::new, |pair| match &pair.value.value {
            Value::Seq(items) => items.iter().filter_map(|item| cx.text(item, of)).collect(),
            _ => {
                cx.wrong_type(&pair.value, of, "a list of patterns");
                Vec::new()
            }
        });
        let owner = format!("`ensure` of {owner}");
        let ensure = said.and_then(|pair| ensure::of_node(cx, &pair.value, &owner));
        proofs.insert(role, RoleProof { ensure, protect });
    }
    if let (Some(own), false) = (proofs.get(&Role::Execute).cloned(), proofs.contains_key(&Role::Rescue)) {
        proofs.insert(Role::Rescue, own);
    }
    proofs
}

/// Only roles that do tasks work with tools and in a folder.
fn for_role(role: Role, own: AgentStep, everyone: &AgentStep) -> AgentStep {
    let system_prompt = own.system_prompt.clone().or_else(|| everyone.system_prompt.clone());
    let works = role.works();
    let shared = if role == Role::Rescue { halved(everyone) } else { everyone.clone() };
    AgentStep {
        system_prompt,
        tools: everyone.tools.clone(),
        policy: everyone.policy.clone(),
        approve: stricter(own.approve.as_ref(), everyone.approve.as_ref()),
        capabilities: everyone.capabilities.clone(),
        skills: everyone.skills.clone(),
        max_agent_iterations: everyone.max_agent_iterations.clone().filter(|_| works),
        working_dir: everyone.working_dir.clone().filter(|_| works),
        ..over(own, &shared)
    }
}

/// Of what the role and the step say about approvals, the stricter.
fn stricter(own: Option<&Approvals>, everyone: Option<&Approvals>) -> Option<Approvals> {
    let stated = || own.into_iter().chain(everyone);
    stated().next().is_some().then(|| Approvals::holding(stated()))
}

/// What makes up for a failure costs no more than half of what failed, unless its own role says so. Its rounds are halved
/// where their default is put in (`compile/goal`).
fn halved(everyone: &AgentStep) -> AgentStep {
    let mut half = everyone.clone();
    half.max_tokens.iter_mut().for_each(|most| most.value = (most.value / 2).max(1));
    half.max_session.iter_mut().for_each(|most| most.value /= 2);
    half
}

/// Reads `policies`.
pub fn policies(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Policies {
    let Some(mut fields) = fields.object(cx, key) else { return Policies::default() };
    let mut read = Policies::default();
    for word in CLASSES {
        if let (Some(class), Some(actions)) = (ErrorClass::from_word(word), policy(cx, &mut fields, word)) {
            read.by_class.insert(class, actions);
        }
    }
    read.other = policy(cx, &mut fields, ANY_CLASS);
    fields.finish(cx);
    read
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
fn given_plan(cx: &mut Reader<'_>, fields: &mut Fields<'_>, terms: &Terms) -> Option<Text> {
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
fn judge_literal(cx: &mut Reader<'_>, text: &Text, owner: &str, terms: &Terms) {
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
