//! Delegation: the lead gives out tasks, members do them, and the lead merges what comes back.

use super::super::super::workflow::{Requires, Step, StepKind};
use super::super::lower::{Reached, Work};
use super::super::texts::literal;
use super::super::{AgentSpec, agents};
use super::{Roster, ends_alone, need, nothing, shapes};

/// The steps of a delegation.
pub(super) fn work(roster: &Roster<'_>) -> Work {
    let lead = roster.chair.expect("a delegation has a lead");
    let counted = vec![("assignments", "{{ assignments.output | json }}".to_owned())];
    let mut work = nothing(Reached::EndOfAll, roster.sources(&roster.members), roster.shape(counted));
    let split = split(roster, lead);
    work.steps.extend(roster.members.iter().map(|member| part(roster, member, &split)));
    work.steps.insert(0, split);
    work.merger = Some(agents::dressed(roster.manifest, &roster.texts, lead));
    work
}

/// The lead is asked once for the parts of all members.
fn split(roster: &Roster<'_>, lead: &AgentSpec) -> Step {
    let after = format!(
        "\n\nYou lead a team: {}. Do not do the work yourself. Say for each member, by name, what it is to do; together \
         their parts must be all of it. Each member sees its own part only, so say everything that it must know.",
        roster.names()
    );
    let mut step = roster.asks(lead, "assignments", &after);
    let told = |member: &&AgentSpec| {
        let who = member.role.as_ref().map_or(String::new(), |role| format!(" ({})", role.value));
        (member.id.value.clone(), format!("what {}{who} is to do", member.id.value))
    };
    let told: Vec<(String, String)> = roster.members.iter().map(told).collect();
    if let StepKind::Agent(agent) = &mut step.kind {
        // A member without a part of the work would have nothing to do.
        let named = told.iter().map(|(name, about)| (name.as_str(), about.clone()));
        agent.output = Some(shapes::texts(named, roster.span()));
        agent.success_criteria = None;
    }
    step
}

/// A member does its part.
fn part(roster: &Roster<'_>, member: &AgentSpec, split: &Step) -> Step {
    let name = serde_json::Value::from(member.id.value.as_str());
    let lead = literal(roster.chair.map_or("", |lead| &lead.id.value));
    let after = format!(
        "\n\n## YOUR PART\n\n{lead} leads the team and has given you this part of the work:\n\n{{{{ \
         assignments.output[{name}] }}}}\n\nDo this part and no other."
    );
    let mut step = roster.asks(member, &member.id.value, &after);
    step.common.needs = vec![need(&split.name, Requires::Success)];
    step.common.on_error = ends_alone(roster.span());
    step
}
